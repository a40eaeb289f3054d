/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What symbolize.c (resolving), find.c, find-xen.c, find-kernel.c (files) and unwind.c share;
 * private to symbolize/.
 */
#ifndef XENFLAME_SYMBOLIZE_INTERNAL_H
#define XENFLAME_SYMBOLIZE_INTERNAL_H

#include "symbolize/space.h"
#include "symbolize/symbolize.h"
#include "symbolize/symfile.h"

enum module_kind {
	MODULE_NONE, /* nothing can be found for it: [vsyscall], [stack], unknown processes */
	MODULE_USER,
	MODULE_VDSO,
	MODULE_JIT, /* anonymous executable memory of one process */
	MODULE_KERNEL,
	MODULE_KMOD,
	MODULE_HV,
	MODULE_GUEST, /* a guest's kernel */
};

/* A symbol file and where its code lies. */
struct source {
	struct symfile *f; /* owned by the finder */
	s64 bias; /* what is asked for = the file's address + bias; not used for user modules with
		     their main file */
	bool is_elf;
	bool core_only; /* symbols of loadable modules in it are of another boot */
};

/*
 * One file as mapped, in whatever processes.  User modules are looked up by file
 * offset, all others by run-time address.
 */
struct module {
	enum module_kind kind;
	u8 space;
	bool searched;   /* find_module() was here */
	bool debug_only; /* src[0] is a separate debug file without its main file */
	u32 pid;         /* MODULE_JIT */
	str_id jitdump;  /* MODULE_JIT: the marker with which it was searched, 0: none */
	str_id name;     /* as shown */
	str_id filename; /* as mapped, a kernel's without the reference symbol */
	u32 maj, min;
	u64 ino;
	u8 build_id[20];
	u8 build_id_len; /* 0: not known */
	str_id ref_name; /* kernels: reference symbol and its run-time address; 0: not known */
	u64 ref_addr;
	u64 start;     /* kernel modules: lowest mapped address */
	u32 same_name; /* next module of that filename, INDEX_NONE: none */
	struct source src[4];
	u32 src_n;
	u64 image_end; /* hypervisor: end of the image, 0: not known */

	/* for unwinding: the file with the code */
	bool elf_searched, elf_failed;
	char *elf_path;
	struct elf_file *elf; /* unwind.c's */

	u64 resolved, unresolved;
};

struct known_build_id {
	str_id filename;
	u8 id[20];
	u8 len;
};

/*
 * A process that writes a jitdump maps that file as code, never to run it: the mapping in the
 * recording tells the file's name, in which the pid may be that of a container.
 */
struct jit_marker {
	u32 pid;
	str_id filename; /* 0: not any more */
};

struct answer {
	const struct frame *frames;
	u32 n;
};

/* Open addressing, key (addr, what), no removal. */
struct cache_slot {
	u64 addr;
	u32 what;   /* module << 1 | return address */
	u32 answer; /* number + 1; 0: empty */
};

struct finder;
struct unwinders;

struct symbolizer {
	struct sym_opts opts;   /* strings are ours */
	VEC(char *) own;        /* all of them, for freeing */
	struct strtab *strings; /* borrowed */
	struct diag *diag;      /* borrowed */
	struct spaces spaces;
	VEC(struct module) modules;
	struct index module_index;
	struct index name_index;                    /* filename -> the first module of that name */
	VEC(struct known_build_id) build_ids;       /* HEADER_BUILD_ID */
	struct index build_id_index;                /* by filename */
	VEC(struct jit_marker) markers;             /* one a process */
	struct index marker_index;                  /* by pid */
	u32 kernel, hv, guest, guest_user, unknown; /* module numbers: guest: of which no mapping is
						       known; unknown: process without mappings */

	struct arena arena; /* answers' frames */
	VEC(struct answer) answers;
	struct cache_slot *cache;
	size_t cache_n, cache_size; /* size: a power of two */
	struct symframes scratch;

	struct finder *finder;
	struct unwinders *unwinders;
	VEC(struct sym_module_info) infos;
};

static inline const char *module_filename(const struct symbolizer *s, const struct module *m)
{
	return strtab_get(s->strings, m->filename);
}

/* ---- find.c ---- */

struct finder *finder_new(struct symbolizer *s);
void finder_free(struct finder *fi);
/* Finds and opens what names can be taken from; m->src, m->src_n. Tells in diag what does not fit.
 * Once per module. */
void find_module(struct symbolizer *s, struct module *m);
/* Finds the file with the code, for unwinding; m->elf_path. Once per module. */
void find_code(struct symbolizer *s, struct module *m);
/* A build id that comes after the module was searched. */
void find_late_build_id(struct symbolizer *s, struct module *m, const u8 *id, size_t len);

bool str_starts(const char *s, const char *prefix);
bool str_ends(const char *s, const char *suffix);

/* ---- unwind.c ---- */

struct unwinders *unwinders_new(struct symbolizer *s);
void unwinders_free(struct unwinders *u);
void unwinder_drop(void *unwinder);
void module_release_elf(struct module *m);
/* Link-time address of the first page of what is loaded from an ELF file. Whether there is any. */
bool elf_first_vaddr(const char *path, u64 *vaddr);
/* Whether the file holds code, as against a separate debug file. */
bool elf_has_code(const char *path);

#endif
