/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symbolize: an address in a process, kernel or hypervisor -> frames;
 * unwinding of saved stacks.
 *
 * The only header of symbolize/ that others include.  Keeps the mappings of
 * every process as the recording tells them, finds symbol files, opens each
 * once, indexes what is touched, and resolves each unique (module, address)
 * once.  Nothing here reads a recording.
 */
#ifndef XENFLAME_SYMBOLIZE_H
#define XENFLAME_SYMBOLIZE_H

#include "base/base.h"

#define SYM_KERNEL_PID UINT32_MAX /* mappings of the kernel itself */

struct sym_opts {
	const char *const *dirs; /* searched first: the recording's folder, a bundle's;
				    NULL-terminated or NULL */
	const char *const *
		symfs; /* roots that stand for the recorded system's "/"; NULL-terminated or NULL */
	const char *const
		*debug_dirs;  /* more folders like /usr/lib/debug; NULL-terminated or NULL */
	const char *xen_syms; /* --xen-syms: xen-syms, xen.efi.elf, .map or xensyms; NULL: search */
	const char *kallsyms; /* --kallsyms: kallsyms or System.map */
	const char *vmlinux;  /* --vmlinux */
	const char *guest_kallsyms; /* NULL: a file of this name beside the recording */
#define SYM_GUEST_KALLSYMS "guest-kallsyms"
	const char *hostname; /* of the recording, to tell another host's data from this one's; may
				 be NULL */
	const char *release;  /* kernel release of the recording; may be NULL */
	u8 xen_build_id[20];  /* known beforehand (a bundle, xen.buildid beside the recording); len
				 0: not known */
	u8 xen_build_id_len;
	s64 mtime;  /* when the recording was made, seconds since 1970 (its file's mtime); 0: not
		       known */
	bool force; /* use files whose build id differs */
	bool no_inline;
	bool no_lines;     /* frames need no file and line */
	bool raw_names;    /* no demangling, keep .isra.0, .part.0, .cold */
	bool debuginfod;   /* may ask a server (DEBUGINFOD_URLS) */
	bool libdwfl;      /* every stack is unwound by it, plain ones too (tests) */
	bool offline_only; /* nothing of this machine's own system: only dirs and symfs (tests) */
};

struct symbolizer;

/* `strings` and `diag` are borrowed until sym_free(); strings of `opts` are copied. */
struct symbolizer *sym_new(const struct sym_opts *opts, struct strtab *strings, struct diag *diag);
void sym_free(struct symbolizer *s);

/* ---- what the recording says, in time order ---- */

struct sym_mapping {
	u32 pid;       /* SYM_KERNEL_PID: the kernel */
	u8 space;      /* SPACE_KERNEL, SPACE_USER, SPACE_HV, SPACE_GUEST_* */
	u64 addr, len; /* [addr, addr + len) */
	u64 pgoff; /* file offset; for the kernel the run-time address of its reference symbol */
	u32 maj, min;
	u64 ino;
	const char *filename; /* "[kernel.kallsyms]_text", "/usr/lib/libc.so.6", "[vdso]" … */
	const u8 *build_id;
	size_t build_id_len; /* 0: not known */
};

/* A mapping replaces what it overlaps. */
void sym_map(struct symbolizer *s, const struct sym_mapping *m);
/* Build id for files of that name which have none in their mapping (HEADER_BUILD_ID). */
void sym_build_id(struct symbolizer *s, const char *filename, const u8 *id, size_t len);
void sym_fork(struct symbolizer *s, u32 pid, u32 ppid);
void sym_exec(struct symbolizer *s, u32 pid);
void sym_exit(struct symbolizer *s, u32 pid);
void sym_ksymbol(struct symbolizer *s, u64 addr, u32 len, const char *name, bool unregister);

/*
 * Identifies the present state of a process' mappings and the kernel's: as long
 * as it is the same, so is every answer of sym_resolve() for that pid.
 * Never reused within a run.
 */
u64 sym_generation(const struct symbolizer *s, u32 pid);

/* ---- resolving ---- */

/*
 * Frames of one address, innermost (inlined) first, outermost function last:
 * at least one, always.  *frames is borrowed until sym_free().  Unresolved: one
 * frame "[module+0xoffset]" with FRAME_UNRESOLVED.  An address outside every
 * mapping of its process: one frame with FRAME_BROKEN ("[broken stack]"; the
 * caller joins runs of them).  Returns the number of frames.
 */
size_t sym_resolve(struct symbolizer *s, enum space space, u32 pid, u64 addr, enum addr_kind kind,
		   const struct frame **frames);
/*
 * The same in two steps, for callers that remember what they made of an answer: its id (they count
 * from 0 upwards without gaps, and addresses may share one), and its frames.
 */
u32 sym_answer(struct symbolizer *s, enum space space, u32 pid, u64 addr, enum addr_kind kind);
size_t sym_answer_frames(const struct symbolizer *s, u32 answer, const struct frame **frames);

/*
 * Whether a call instruction ends at this hypervisor address, i.e. whether it can be a
 * return address; if not, it is an exception frame's exact rip (symbols.md C2 f).
 * True when the file has no code to look at.
 */
bool sym_hv_is_return(struct symbolizer *s, u64 addr);

/* Name of a module as frames show it, from its name in a mapping or in text ("/usr/lib/libc.so.6"
 * -> "libc.so.6"). */
str_id sym_module_name(struct symbolizer *s, enum space space, const char *filename);

/* For text: frames of a name that the input gives (demangled, clone suffix handled as opts say). */
str_id sym_display_name(struct symbolizer *s, str_id raw);

/*
 * For text: resolves offset `off` in a file that is not mapped anywhere
 * ("ip relative to the module", as perf 6.1 prints user frames). Same answer as sym_resolve().
 */
size_t sym_resolve_in_file(struct symbolizer *s, enum space space, const char *filename, u64 off,
			   enum addr_kind kind, const struct frame **frames);

/* What was found, for the details of a picture and for report; all borrowed until sym_free(). */
struct sym_module_info {
	const char *name;        /* as shown in frames */
	const char *filename;    /* as mapped */
	const char *symbol_file; /* what names were taken from, or NULL */
	const char *source;      /* "DWARF", "symtab", "kallsyms" …; static, or NULL */
	u8 space;
	u8 build_id_len;
	u8 build_id[20];
	u64 resolved, unresolved; /* unique addresses */
};
size_t sym_modules(const struct symbolizer *s, const struct sym_module_info **infos);

/* Symbol files that were opened, each once; what a bundle has to hold. */
enum sym_file_kind {
	SYM_FILE_ELF,
	SYM_FILE_ELF_DEBUG,
	SYM_FILE_ELF_ALT, /* what dwz has put apart for several debug files */
	SYM_FILE_TABLE,
	SYM_FILE_JIT
};
struct sym_file_info {
	const char *path;        /* may be /proc/self/fd/N; borrowed until sym_free() */
	enum sym_file_kind kind; /* ELF_DEBUG: without code */
	u8 build_id_len;
	u8 build_id[32];
};
/* The number of files; *infos is to be freed. */
size_t sym_files(const struct symbolizer *s, struct sym_file_info **infos);

/* Build id of a file: GNU note, or the GUID in .buildid. Its length, 0 when there is none, -1 when
 * the file cannot be read. */
int sym_file_build_id(const char *path, u8 id[32]);
/* Share (0-1) of functions of a file that set up a frame pointer: about 0.6 in a build with them,
 * 0.02 without; < 0: no code. */
double sym_file_frame_pointers(const char *path);

/* ---- unwinding of saved user stacks (perf record --call-graph=dwarf) ---- */

struct sym_regs {
	u64 abi;           /* PERF_SAMPLE_REGS_ABI_32 = 1, _64 = 2 */
	u64 mask;          /* attr.sample_regs_user */
	const u64 *values; /* one a set bit, lowest bit first */
	const char *arch;  /* of the recording: "x86_64", "aarch64" …; NULL: x86_64 */
};

struct sym_unwound {
	u64 pc;
	u8 kind; /* ADDR_EXACT for activations, else ADDR_RETURN */
};

/*
 * User addresses from the innermost outwards, at most `max`, from saved registers
 * and the piece of stack that starts at the stack pointer.  *truncated when the walk ended because
 * the piece did.  Returns the number of addresses (0 when nothing could be done).
 */
size_t sym_unwind(struct symbolizer *s, u32 pid, u32 tid, const struct sym_regs *regs,
		  const u8 *stack, size_t stack_size, struct sym_unwound *pcs, size_t max,
		  bool *truncated);

#endif
