/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz target: a symbol file of any kind.  Everything that the seam declares is called, and some
 * hundred addresses are asked for; what comes back must keep its promises.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbolize/symfile.h"
#include "tests/fuzz/fuzz.h"

static u64 sum;

static void ask(struct symfile *f, u64 addr)
{
	struct symframes frames = { { NULL, 0, 0 } };
	struct strtab *t = f->opts.strings;
	size_t i, n;

	if (!symfile_lookup(f, addr, &frames)) {
		must(!frames.frames.n);
		vec_release(&frames.frames);
		return;
	}
	n = frames.frames.n;
	must(n);
	for (i = 0; i < n; i++) {
		const struct frame *fr = &frames.frames.v[i];

		must(fr->function && fr->function < t->str.n && fr->file < t->str.n);
		must(!(fr->flags & FRAME_INLINED) == (i + 1 == n));
		sum += strlen(strtab_get(t, fr->function)) + strlen(strtab_get(t, fr->file));
	}
	/* Frames that are there already stay. */
	must(symfile_lookup(f, addr, &frames) && frames.frames.n == 2 * n);
	for (i = 0; i < n; i++)
		must(!memcmp(&frames.frames.v[i], &frames.frames.v[n + i], sizeof(struct frame)));
	vec_release(&frames.frames);
}

static void ask_all(struct symfile *f)
{
	u64 lo = f->text_start, hi = f->text_end, step = hi > lo ? (hi - lo) / 256 + 1 : 1, addr, i;

	for (addr = lo, i = 0; i < 258 && addr <= hi; addr += step, i++)
		ask(f, addr);
	ask(f, lo - 1);
	ask(f, hi);
	ask(f, 0);
	ask(f, UINT64_MAX);
}

static void look_at_elf(struct symfile *f, const char *path)
{
	struct error err = { "" };
	u64 v = 0, i;
	u32 crc = 0;
	const char *link = symfile_elf_debuglink(f, &crc);
	const u8 *p;
	double share;
	u8 id[32];

	must(!link || *link);
	must(elf_read_build_id(path, id) == f->build_id_len &&
	     !memcmp(id, f->build_id, f->build_id_len));
	for (i = 0; i < 64; i++)
		if (!symfile_elf_offset_to_vaddr(f, i * 0x123, &v))
			sum += v;
	sum += symfile_elf_has_dwarf(f) + symfile_elf_has_symtab(f);
	for (i = 0; i < 16; i++) {
		p = symfile_elf_bytes(f, f->text_start + i * 5, 16);
		if (p)
			sum += p[0] + p[15];
	}
	if (!symfile_elf_symbol(f, "_start", &v))
		sum += v;
	ask_all(f);
	share = symfile_elf_frame_pointer_share(f);
	must(share <= 1);
	/* Too late for a debug file: refused, and freed. */
	must(symfile_elf_add_debug(f, symfile_open_elf(path, &f->opts, &err), &err));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = { "" };
	struct symfile_opts opts = { .no_alt = true };
	struct strtab strings;
	struct diag diag;
	struct symfile *f, *d;
	char path[64];
	int fd = memfd_create("seed", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	strtab_init(&strings);
	diag_init(&diag);
	opts.strings = &strings;
	opts.diag = &diag;
	opts.raw_names = size & 1;

	f = symfile_open_elf(path, &opts, &err);
	must(f || *err.msg);
	if (f) {
		look_at_elf(f, path);
		symfile_free(f);
		/* The same file as another one's debug file. */
		err.msg[0] = '\0';
		f = symfile_open_elf(path, &opts, &err);
		d = symfile_open_elf(path, &opts, &err);
		must(f && d);
		if (!symfile_elf_add_debug(f, d, &err))
			ask_all(f);
		symfile_free(f);
	} else {
		err.msg[0] = '\0';
		f = symfile_open_ksyms(path, 4096, &opts, &err);
		must(f || *err.msg);
		if (f) {
			u64 v = 0;

			ask_all(f);
			sum += symfile_ksyms_module(f, f->text_start);
			if (!symfile_ksyms_symbol(f, "_text", &v))
				sum += v;
			symfile_free(f);
		}
		err.msg[0] = '\0';
		f = symfile_open_perfmap(path, &opts, &err);
		must(f || *err.msg);
		if (f)
			ask_all(f);
		symfile_free(f);
		err.msg[0] = '\0';
		f = symfile_open_jitdump(path, &opts, &err);
		must(f || *err.msg);
		if (f)
			ask_all(f);
		symfile_free(f);
	}
	strtab_release(&strings);
	diag_release(&diag);
	close(fd);
	if (sum == 1)
		fputs("", stderr); /* what was summed up is used */
	return 0;
}
