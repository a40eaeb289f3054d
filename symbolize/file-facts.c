/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a symbol file tells about itself, for those who do not look anything up in it. */
#include "symbolize/finder.h"

size_t sym_files(const struct symbolizer *s, struct sym_file_info **infos)
{
	const struct finder *fi = s->finder;
	size_t i, n = 0;

	*infos = xcalloc(fi->files.n + fi->debug_files.n + 1, sizeof(**infos));
	for (i = 0; i < fi->files.n; i++) {
		const struct symfile *f = fi->files.v[i].f;
		struct sym_file_info *info = &(*infos)[n];

		if (!f)
			continue;
		info->path = f->path;
		info->kind = fi->files.v[i].kind == FILE_KSYMS ? SYM_FILE_TABLE
			     : fi->files.v[i].kind != FILE_ELF ? SYM_FILE_JIT
			     : elf_has_code(f->path)           ? SYM_FILE_ELF
							       : SYM_FILE_ELF_DEBUG;
		info->build_id_len = f->build_id_len;
		memcpy(info->build_id, f->build_id, f->build_id_len);
		n++;
	}
	for (i = 0; i < fi->debug_files.n; i++, n++) {
		(*infos)[n] = (struct sym_file_info){ .path = fi->debug_files.v[i].path,
						      .kind = fi->debug_files.v[i].alt
								      ? SYM_FILE_ELF_ALT
								      : SYM_FILE_ELF_DEBUG,
						      .build_id_len = fi->debug_files.v[i].len };
		memcpy((*infos)[n].build_id, fi->debug_files.v[i].id, fi->debug_files.v[i].len);
	}
	return n;
}

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
