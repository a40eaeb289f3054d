/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the find*.c files share among themselves. */
#ifndef XENFLAME_FINDER_H
#define XENFLAME_FINDER_H

#include <sys/types.h>

#include "symbolize/internal.h"

/* What is known of where the recording was made. */
struct find_host {
	bool same_host;   /* the host name equals this machine's */
	bool same_kernel; /* and the kernel release, and its build id where both are known */
	bool same_boot;   /* and the recording was made since this machine was booted */
	u8 kernel_id[20]; /* of this machine's kernel */
	u8 kernel_id_len;
};

/* A folder with .build-id in it. */
struct find_root {
	char *path;
	bool host; /* of this machine, not given by the user */
};

enum file_kind { FILE_ELF, FILE_KSYMS, FILE_PERFMAP, FILE_JITDUMP };

struct find_file {
	dev_t dev;
	ino_t ino;
	u8 kind;
	bool debug_searched;
	struct symfile *f; /* NULL: unusable */
};

struct find_id {
	char *path;
	u8 id[32];
	u8 len;
	bool alt; /* of dwz */
};

struct finder {
	struct find_host host;
	bool host_known, ids_known;
	VEC(struct find_root) roots;
	VEC(struct find_file) files;
	VEC(struct find_id) debug_files; /* separate ones that were attached: path and the id of
					    their main file; those of dwz: their own */
	VEC(struct find_id) ids;         /* ELF files in the given folders */
	char *perf_cache;                /* ~/.debug, or NULL */
	int vdso_fd;
	void *debuginfod;    /* client, or NULL */
	bool debuginfod_off; /* the server could not be reached: not asked again */
};

const struct find_host *find_host(const struct symbolizer *s);

/* The kernel's build id in a copy of /sys/kernel/notes; its length, 0: none. */
size_t find_notes_build_id(const char *path, u8 id[20]);

struct symfile_opts find_symfile_opts(const struct symbolizer *s);
/* Opened once per file however often it is asked for; NULL when unusable, which is told when
 * `tell`. */
struct symfile *find_open_elf(struct symbolizer *s, const char *path, bool tell);
struct symfile *find_open_ksyms(struct symbolizer *s, const char *path, bool tell);
void find_add_source(struct module *m, struct symfile *f, s64 bias, bool is_elf);
/* Gives `f` (opened from `path`) its separate debug file when it has no DWARF itself. */
void find_add_debug(struct symbolizer *s, struct module *m, struct symfile *f, const char *path);

/* Of differing length: equal when the longer one goes on with zeros, or was cut to perf's 20 bytes.
 */
bool build_ids_equal(const u8 *a, size_t an, const u8 *b, size_t bn);
void find_tell_mismatch(struct symbolizer *s, const char *path, const u8 *file_id, int file_len,
			const u8 *id, size_t len);

/* Names of the files of a folder, sorted, hidden ones left out. */
struct find_list {
	VEC(char *) v;
};
void find_list(struct find_list *l, const char *dir);
void find_list_free(struct find_list *l);

/* A file by build id below the folders that are searched. Free it. NULL: none. */
char *find_by_build_id(struct symbolizer *s, const u8 *id, size_t len, bool debug);
/* NAME/<id>/LEAF in perf's build-id cache, the user's or one in a given folder. Free it. NULL:
 * none. */
char *find_in_perf_cache(struct symbolizer *s, const char *name, const u8 *id, size_t len,
			 const char *leaf);

/* The parts of find_module() in files of their own. */
void find_kernel(struct symbolizer *s, struct module *m);
void find_kmod(struct symbolizer *s, struct module *m);
void find_guest(struct symbolizer *s, struct module *m);
void find_hv(struct symbolizer *s, struct module *m);

/* find-debuginfod.c: path of the fetched file in the client's cache. Free it. NULL: none. */
char *find_debuginfod(struct symbolizer *s, const u8 *id, size_t len, bool debug);
void find_debuginfod_end(struct finder *fi);

#endif
