/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a symbol file tells about itself, for those who do not look anything up in it. */
#include "symbolize/symfile.h"

int sym_file_build_id(const char *path, u8 id[32])
{
	return elf_read_build_id(path, id);
}

double sym_file_frame_pointers(const char *path)
{
	struct symfile_opts opts = { .no_inline = true, .raw_names = true, .no_alt = true };
	struct strtab strings;
	struct symfile *f;
	struct diag diag;
	double share = -1;

	strtab_init(&strings);
	diag_init(&diag);
	opts.strings = &strings;
	opts.diag = &diag;
	f = symfile_open_elf(path, &opts, NULL);
	if (f) {
		share = symfile_elf_frame_pointer_share(f);
		symfile_free(f);
	}
	diag_release(&diag);
	strtab_release(&strings);
	return share;
}
