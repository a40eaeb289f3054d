/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The seam inside symbolize/: a symbol file, opened once, asked for addresses in its own
 * (link-time) address space.  A source is one file with one const struct symfile_ops: ELF with
 * DWARF and symbol table (elf.c, dwarf.c, line.c), kallsyms/System.map/xensyms/.map text (ksyms.c),
 * perf-PID.map (perfmap.c), jit-PID.dump (jitdump.c).
 *
 * Who finds files and knows processes (space.c, find.c, symbolize.c) never looks inside one; a
 * symbol file knows nothing of processes.
 */
#ifndef XENFLAME_SYMFILE_H
#define XENFLAME_SYMFILE_H

#include "symbolize/symbolize.h"

/* Frames of one address while they are gathered, innermost first. */
struct symframes {
	VEC(struct frame) frames; /* function, file, line, FRAME_INLINED set; space and module by
				     the caller */
};

struct symfile_opts {
	struct strtab *strings; /* borrowed */
	struct diag *diag;      /* borrowed */
	bool no_inline, no_lines, raw_names;
	bool no_alt; /* do not look for a dwz or .dwo file outside this one */
	/*
	 * Path (to be freed, or NULL) of the file into which dwz has put what several have in
	 * common: `path` refers to it by a name and by its build id.  NULL: libdw looks for it.
	 */
	char *(*find_alt)(void *ctx, const char *path, const char *name, const u8 *id, size_t n);
	void *ctx;
};

struct symfile;

struct symfile_ops {
	const char *source; /* "DWARF", "symtab", "dynsym"; "kallsyms", "System.map", "map" (Xen's),
			       "xensyms"; "perf map": what is told to the user */
	/*
	 * Appends the frames of `addr`, which is looked up as it is (the caller has subtracted 1
	 * from return addresses).  Returns false, with nothing appended, when nothing covers it.
	 */
	bool (*lookup)(struct symfile *f, u64 addr, struct symframes *out);
	void (*free)(struct symfile *f);
};

struct symfile {
	const struct symfile_ops *ops;
	struct symfile_opts opts;
	char *path;
	u8 build_id[32];
	u8 build_id_len;          /* 0: the file has none */
	u64 text_start, text_end; /* lowest and highest code address it has symbols for */
};

static inline bool symfile_lookup(struct symfile *f, u64 addr, struct symframes *out)
{
	return f->ops->lookup(f, addr, out);
}
static inline void symfile_free(struct symfile *f)
{
	if (f)
		f->ops->free(f);
}

/* ---- ELF (elf.c): symbol table, DWARF, MiniDebugInfo, dwz, split DWARF ---- */

/*
 * Opens an ELF file (executable, shared object, .ko, separate debug file, xen-syms, xen.efi.elf,
 * kernel image with symbols).  .ko.xz, .ko.zst and .gz are unpacked.  NULL with err when it is
 * none.
 *
 * A kernel module has no addresses of its own: its space begins with 0 where the kernel puts its
 * code, i.e. at the start of its mapping, sections with code in their order; .init sections lie
 * apart, from 0x40000000 on.
 *
 * Frames of an address, in this order: the DWARF function that holds it, with what is inlined
 * there; else the symbol with a size that holds it; else the nearest label before it, up to the
 * next symbol or the end of the section. A stub of the PLT is "callee@plt". The file of a local
 * symbol without DWARF is a hint, without a line.
 */
struct symfile *symfile_open_elf(const char *path, const struct symfile_opts *opts,
				 struct error *err) MUST_CHECK;
/*
 * Gives an ELF file its separate debug file (found by build id or debuglink): DWARF and the symbol
 * table are then taken from there, addresses adjusted when the two differ by a constant (prelink).
 * Taken over, also on error.
 */
int symfile_elf_add_debug(struct symfile *f, struct symfile *debug, struct error *err) MUST_CHECK;
bool symfile_elf_has_dwarf(const struct symfile *f);
bool symfile_elf_has_symtab(const struct symfile *f); /* .symtab, not only .dynsym */
/* .gnu_debuglink: name (borrowed) and CRC; NULL when there is none. */
const char *symfile_elf_debuglink(const struct symfile *f, u32 *crc);
/* Program headers that are read of a file: Linux loads none with more than 64 KiB of them
 * (load_elf_phdrs() in fs/binfmt_elf.c), of 32 bytes at least. */
#define ELF_MAX_PHDRS ((size_t)2048)
/*
 * Link-time address of a file offset, by the PT_LOAD segment that holds it (perf-data.md A4.10); -1
 * when none does.  For separate debug files, whose offsets mean nothing, ask the main file.
 */
int symfile_elf_offset_to_vaddr(const struct symfile *f, u64 offset, u64 *vaddr) MUST_CHECK;
/* Value of a symbol by its exact name: 0, or -1 when absent. For KASLR (_text, _stext) and Xen
 * (_stext, _etext). */
int symfile_elf_symbol(struct symfile *f, const char *name, u64 *value) MUST_CHECK;
/* Code bytes at a link-time address, or NULL (separate debug files have none). Borrowed. */
const u8 *symfile_elf_bytes(struct symfile *f, u64 vaddr, size_t n);
/* Build id of a file on disk without opening it for lookups: GNU note, or the GUID in .buildid.
 * Length, 0 when none, -1 when unreadable. */
int elf_read_build_id(const char *path, u8 id[32]);
/* Share (0-1) of functions of 16 bytes and more that set up a frame pointer; < 0 when the file has
 * no code. (xen-users.md section 1) */
double symfile_elf_frame_pointer_share(struct symfile *f);

/* ---- tables in text (ksyms.c) ---- */

/*
 * kallsyms, System.map, Xen's .map (old and new form), /proc/xen/xensyms: by content.  Only text
 * symbols (t, T, w, W, and i where Xen has it) are kept.  `shift` is added to every address.  An
 * all-zero table (kptr_restrict) is an error that says so.
 */
struct symfile *symfile_open_ksyms(const char *path, s64 shift, const struct symfile_opts *opts,
				   struct error *err) MUST_CHECK;
int symfile_ksyms_symbol(struct symfile *f, const char *name, u64 *value) MUST_CHECK;
/* Module of the symbol at an address ("[nf_tables]" in kallsyms), or 0 for the core. */
str_id symfile_ksyms_module(struct symfile *f, u64 addr);

/* perf-PID.map (perf's jit-interface.txt). */
struct symfile *symfile_open_perfmap(const char *path, const struct symfile_opts *opts,
				     struct error *err) MUST_CHECK;
/* jit-PID.dump (perf's jitdump-specification.txt), of either byte order. */
struct symfile *symfile_open_jitdump(const char *path, const struct symfile_opts *opts,
				     struct error *err) MUST_CHECK;

/* ---- names (demangle.c) ---- */

/*
 * Display name of a linker name: demangled (Itanium, Rust legacy and v0, D), clone suffixes folded;
 * with raw_names as it is. Cached.
 */
str_id demangle(struct strtab *strings, str_id raw, bool raw_names);

#endif
