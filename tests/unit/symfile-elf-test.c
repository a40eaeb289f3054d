/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An ELF file held against the truth about it: this program opens itself.  Where its functions are
 * it knows from pointers, where it was loaded from the loader, what is mapped where from
 * /proc/self/maps, and its lines from __LINE__.
 */
#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <unistd.h>

#include "symbolize/symfile.h"
#include "tests/unit/tap.h"

static struct strtab strings;
static struct diag diag;
static struct symfile_opts opts = { .strings = &strings, .diag = &diag };

static u64 base;
static u8 note_id[64];
static size_t note_id_len;

/* Where an instruction is, as the processor has it. */
static __attribute__((noinline)) u64 here(void)
{
	__asm__ volatile("" ::: "memory"); /* two calls are two calls */
	return (u64)(uintptr_t)__builtin_return_address(0);
}

static volatile int one = 1;
static u64 inlined_pc;

static inline __attribute__((always_inline)) int inlined_one(int x)
{
	inlined_pc = here(); /* INLINED_LINE */
	return x + one;
}
enum { INLINED_LINE = __LINE__ - 3 };

static u64 outer_pc;

static __attribute__((noinline)) int outer_one(int x)
{
	int y = inlined_one(x); /* CALL_LINE */

	outer_pc = here(); /* OUTER_LINE */
	return y + one;
}
enum { CALL_LINE = __LINE__ - 5, OUTER_LINE = __LINE__ - 3 };

static int find_base(struct dl_phdr_info *info, size_t size, void *arg)
{
	int i;

	base = info->dlpi_addr;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		const u8 *p = (const u8 *)(uintptr_t)(base + ph->p_vaddr), *end = p + ph->p_memsz;

		if (ph->p_type != PT_NOTE)
			continue;
		while (end - p >= 12) {
			u32 namesz, descsz, type;

			memcpy(&namesz, p, 4);
			memcpy(&descsz, p + 4, 4);
			memcpy(&type, p + 8, 4);
			if (type == NT_GNU_BUILD_ID && namesz == 4 && descsz <= sizeof(note_id)) {
				memcpy(note_id, p + 16, descsz);
				note_id_len = descsz;
			}
			p += 12 + ((namesz + 3) & ~3u) + ((descsz + 3) & ~3u);
		}
	}
	return 1; /* the first object is the program */
}

/* Offset in the file of an address of ours, by /proc/self/maps. */
static bool file_offset(u64 addr, u64 *off)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[4096];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		unsigned long long lo, hi, pgoff;

		if (sscanf(line, "%llx-%llx %*s %llx", &lo, &hi, &pgoff) == 3 && addr >= lo &&
		    addr < hi) {
			*off = addr - lo + pgoff;
			found = true;
		}
	}
	if (f)
		fclose(f);
	return found;
}

static void test_frames(struct symfile *f)
{
	struct symframes frames = { { NULL, 0, 0 } };
	struct symfile *flat;
	struct error err = { "" };

	OK(outer_one(one) > 0);
	STR_EQ(f->ops->source, "DWARF");
	if (OK(symfile_lookup(f, inlined_pc - 1 - base, &frames)) && OK(frames.frames.n == 2)) {
		const struct frame *fr = frames.frames.v;

		STR_EQ(strtab_get(&strings, fr[0].function), "inlined_one");
		STR_EQ(path_base(strtab_get(&strings, fr[0].file)), "symfile-elf-test.c");
		EQ(fr[0].line, INLINED_LINE);
		EQ(fr[0].flags, FRAME_INLINED);
		STR_EQ(strtab_get(&strings, fr[1].function), "outer_one");
		EQ(fr[1].line, CALL_LINE);
		EQ(fr[1].flags, 0);
	}
	/* Frames are appended. */
	OK(symfile_lookup(f, outer_pc - 1 - base, &frames));
	EQ(frames.frames.n, 3);
	STR_EQ(strtab_get(&strings, frames.frames.v[2].function), "outer_one");
	EQ(frames.frames.v[2].line, OUTER_LINE);
	OK(!symfile_lookup(f, 1, &frames));
	OK(!symfile_lookup(f, UINT64_MAX, &frames));
	EQ(frames.frames.n, 3);

	/* Without inlined frames: the function that is there, and the line of the call in it. */
	opts.no_inline = true;
	flat = symfile_open_elf("/proc/self/exe", &opts, &err);
	frames.frames.n = 0;
	if (OK(flat) && OK(symfile_lookup(flat, inlined_pc - 1 - base, &frames)) &&
	    OK(frames.frames.n == 1)) {
		STR_EQ(strtab_get(&strings, frames.frames.v[0].function), "outer_one");
		EQ(frames.frames.v[0].line, CALL_LINE);
	}
	symfile_free(flat);
	opts.no_inline = false;

	/* Without lines: the same functions. */
	opts.no_lines = true;
	flat = symfile_open_elf("/proc/self/exe", &opts, &err);
	frames.frames.n = 0;
	if (OK(flat) && OK(symfile_lookup(flat, inlined_pc - 1 - base, &frames)) &&
	    OK(frames.frames.n == 2)) {
		STR_EQ(strtab_get(&strings, frames.frames.v[0].function), "inlined_one");
		EQ(frames.frames.v[0].file, 0);
		STR_EQ(strtab_get(&strings, frames.frames.v[1].function), "outer_one");
		EQ(frames.frames.v[1].line, 0);
	}
	symfile_free(flat);
	opts.no_lines = false;
	vec_release(&frames.frames);
}

static void test_addresses(struct symfile *f)
{
	u64 addr = (u64)(uintptr_t)outer_one, off = 0, vaddr = 0;
	const u8 *p;

	OK(file_offset(addr, &off));
	EQ(symfile_elf_offset_to_vaddr(f, off, &vaddr), 0);
	EQ(vaddr, addr - base);
	EQ(symfile_elf_offset_to_vaddr(f, UINT64_MAX - 5, &vaddr), -1);
	EQ(symfile_elf_symbol(f, "outer_one", &vaddr), 0);
	EQ(vaddr, addr - base);
	EQ(symfile_elf_symbol(f, "main", &vaddr), 0);
	EQ(symfile_elf_symbol(f, "outer_on", &vaddr), -1);
	p = symfile_elf_bytes(f, addr - base, 32);
	OK(p && !memcmp(p, (const void *)(uintptr_t)addr, 32));
	OK(!symfile_elf_bytes(f, addr - base, (size_t)1 << 40));
	OK(!symfile_elf_bytes(f, UINT64_MAX - 4, 8));
	OK(f->text_start <= addr - base && addr - base < f->text_end);
	OK(symfile_elf_has_symtab(f));
	OK(symfile_elf_has_dwarf(f));
}

static void test_build_id(struct symfile *f)
{
	u8 id[32];

	EQ(f->build_id_len, note_id_len);
	OK(!memcmp(f->build_id, note_id, MIN(note_id_len, sizeof(f->build_id))));
	EQ(elf_read_build_id("/proc/self/exe", id), note_id_len);
	OK(!memcmp(id, note_id, MIN(note_id_len, sizeof(id))));
	EQ(elf_read_build_id("/proc/self/maps", id), -1);
	EQ(elf_read_build_id("/no/such/file", id), -1);
	EQ(elf_read_build_id("/proc/self", id), -1);
}

static bool refused(const char *path, const char *why)
{
	struct error err = { "" };
	struct symfile *f = symfile_open_elf(path, &opts, &err);

	symfile_free(f);
	if (f || !strstr(err.msg, why))
		printf("# '%s', expected '%s'\n", err.msg, why);
	return !f && strstr(err.msg, why);
}

static void test_refused(void)
{
	char path[] = "/tmp/xenflame-elf-XXXXXX";
	int fd = mkstemp(path);

	OK(refused("/no/such/file", "No such file"));
	OK(refused("/dev/null", "not a regular file"));
	OK(refused("/proc/self", "not a regular file"));
	OK(fd >= 0 && refused(path, "'"));
	OK(fd >= 0 &&
	   write(fd,
		 "\x7f"
		 "ELF\2\1\1",
		 7) == 7 &&
	   refused(path, "'"));
	OK(fd >= 0 && !ftruncate(fd, 0) && pwrite(fd, "\x1f\x8b\b\0\0\0", 6, 0) == 6 &&
	   refused(path, "gzip"));
	if (fd >= 0)
		close(fd);
	unlink(path);
}

int main(void)
{
	struct error err = { "" };
	struct symfile *f;

	strtab_init(&strings);
	diag_init(&diag);
	dl_iterate_phdr(find_base, NULL);
	f = symfile_open_elf("/proc/self/exe", &opts, &err);
	if (!OK(f)) {
		printf("# %s\n", err.msg);
		return tap_done();
	}
	test_addresses(f);
	test_frames(f);
	test_build_id(f);
	OK(symfile_elf_frame_pointer_share(f) <= 1);
	test_refused();
	symfile_free(f);
	strtab_release(&strings);
	diag_release(&diag);
	return tap_done();
}
