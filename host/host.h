/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * host: facts of a Xen host and of a recording's surroundings.
 *
 * The only header of host/ that others include.
 */
#ifndef XENFLAME_HOST_H
#define XENFLAME_HOST_H

#include "base/base.h"

/* ---- where facts come from (facts.c) ---- */

/*
 * A root folder: this machine's "/", or a tree that holds the files of another one (a bug report, a
 *bundle, a test). In such a tree
 *
 *	commands/NAME		is what a command printed there (names: see enum host_command)
 *	PATH.errno		says that reading PATH fails: "EOPNOTSUPP", "EACCES" …
 *	PATH.write-errno	says that writing PATH fails: lines "VALUE ERRNO", VALUE "*" for any
 *
 * and symbolic links do not lead out of it.  Nothing is run and nothing of this machine is looked
 *at.
 */
struct host;

enum host_command {
	HOST_XL_INFO,      /* commands/xl-info: xl info */
	HOST_XL_LIST,      /* commands/xl-list: xl list */
	HOST_XL_VCPU_LIST, /* commands/xl-vcpu-list: xl vcpu-list */
	HOST_XL_DMESG,     /* commands/xl-dmesg: xl dmesg, or a log of the serial console */
	HOST_DMESG,        /* commands/dmesg: dmesg of dom0 */
	HOST_XEN_CONFIG,   /* commands/xen-config: xenhypfs cat /buildinfo/config */
	HOST_UNAME,        /* commands/uname: uname -a */
	HOST_PERF_VERSION, /* commands/perf-version: perf version */
	HOST_COMMAND_NR
};

/* `root` NULL: this machine. NULL with err when it is no folder. */
struct host *host_new(const char *root, struct error *err) MUST_CHECK;
void host_free(struct host *h);
bool host_is_tree(const struct host *h);
/* Path of a file in the tree, for those who open it by name; free it. */
char *host_path(const struct host *h, const char *path);

/* Contents of a file (at most 64 MiB) resp. of what a command prints, into `b`. 0, or why not as an
 * errno value. */
int host_read(struct host *h, const char *path, struct buf *b) MUST_CHECK;
int host_command(struct host *h, enum host_command c, struct buf *b) MUST_CHECK;
const char *host_command_name(enum host_command c); /* "xl-info" …; static */
const char *host_command_line(enum host_command c); /* "xl info" …; static */
/* Writes an existing file in one piece. 0, or an errno value. */
int host_write(struct host *h, const char *path, const char *text) MUST_CHECK;
bool host_exists(struct host *h, const char *path);
/* Names in a folder, sorted, NULL-terminated, in one block of memory; free it. NULL when there is
 * none. */
char **host_list(struct host *h, const char *dir);

#define HOST_PMU_MODE       "/sys/hypervisor/pmu/pmu_mode"
#define HOST_PMU_FEATURES   "/sys/hypervisor/pmu/pmu_features"
#define HOST_FEATURE_STACKS (1 << 3) /* XENPMU_FEATURE_HV_STACKTRACE */
#define HOST_FEATURE_TIMER  (1 << 4) /* XENPMU_FEATURE_TIMER */

/* ---- is this host ready? (doctor.c, distro.c) ---- */

enum host_verdict {
	HOST_OK,
	HOST_BAD,     /* no hypervisor stacks while this stays */
	HOST_WARN,    /* they come, but something is missing or wrong */
	HOST_UNKNOWN, /* cannot be told from here */
};

struct host_check {
	const char *id; /* stable: "vpmu", "frame-pointers" …; static */
	enum host_verdict verdict;
	bool needed;          /* unknown is not good enough for being ready */
	const char *text;     /* what was found */
	const char *remedy;   /* what to do, or NULL */
	const char *commands; /* to type, one a line, or NULL */
};

/* What can be recorded as things are. */
enum host_level {
	HOST_NOTHING,   /* not in dom0 of a Xen host */
	HOST_KEYS,      /* call traces by the debug key d, from Xen's console */
	HOST_DOM0,      /* dom0 with a software clock: the hypervisor shows as named hypercalls */
	HOST_ADDRESSES, /* one hypervisor function a sample */
	HOST_STACKS,    /* the hypervisor's call chains */
};

struct host_facts {
	struct arena arena;
	const char *distro;            /* "Debian", "XCP-ng" …, "this system" */
	const char *xen;               /* "4.17.7", or NULL */
	const char *kernel;            /* release, or NULL */
	VEC(struct host_check) checks; /* in the order of a user's way */
	enum host_level level;
	bool ready; /* level is HOST_STACKS and nothing needed is unknown */
};

/* Looks at everything; reads only, unless `probe`: that writes pmu_features (and puts it back). */
void host_doctor(struct host_facts *f, struct host *h, bool probe);
void host_facts_release(struct host_facts *f);
const struct host_check *host_check_by_id(const struct host_facts *f, const char *id);
const char *host_verdict_name(enum host_verdict v); /* "ok", "bad", "warn", "unknown" */
const char *
host_level_name(enum host_level l); /* "nothing", "debug-keys", "dom0", "addresses", "stacks" */
const char *host_level_text(enum host_level l); /* a sentence: what can be recorded */
/* The same as JSON, two spaces of indentation, newline at the end. */
void host_doctor_json(const struct host_facts *f, struct buf *b);

/* ---- Xen's performance counters for the time of a recording (pmu.c) ---- */

struct host_pmu {
	struct host *host;           /* borrowed */
	char mode[16], features[24]; /* as they were; "" where nothing was changed */
	const char *now;             /* mode that is set: "all" or "hv"; static */
};

/*
 * Sets mode all (hv where Xen is busy with guests that use counters), and with `stacks` the feature
 * bit.  On failure nothing stays changed.  host_pmu_restore() puts back what was; calling it twice
 * does no harm.
 */
int host_pmu_set(struct host_pmu *p, struct host *h, bool stacks, struct error *err) MUST_CHECK;
int host_pmu_restore(struct host_pmu *p, struct error *err) MUST_CHECK;

/* ---- bundles (bundle.c): a recording and all that reading it takes, in one compressed tar ---- */

#define BUNDLE_MANIFEST    "manifest.json" /* always the first entry */
#define BUNDLE_MAX_ENTRIES 100000
#define BUNDLE_MAX_BYTES   ((u64)64 << 30) /* unpacked */

struct bundle_entry {
	char *name;      /* in the archive: relative, clean */
	char *path;      /* file to copy, or NULL */
	struct buf data; /* contents without path */
	char *link;      /* target of a symbolic link, relative; or NULL */
	u64 size;
	u8 sha256[32];
};

struct bundle {
	VEC(struct bundle_entry) entries;
	s64 mtime; /* of all entries, seconds since 1970 */
};

void bundle_release(struct bundle *b);
/* Each adds an entry; false, and nothing added, when the name is there already or cannot stand in
 * the archive. */
bool bundle_add_file(struct bundle *b, const char *name, const char *path);
bool bundle_add_data(struct bundle *b, const char *name, const void *p, size_t n);
bool bundle_add_link(struct bundle *b, const char *name, const char *target);
/*
 * Writes all entries, sorted by name, behind a manifest: `about` is JSON text, members of an
 * object, that stands in it.  The name of the file decides: .tar.zst, .tar.gz or .tar.
 */
int bundle_write(struct bundle *b, const char *path, const char *about,
		 struct error *err) MUST_CHECK;
/* Suffix of the best compression that this build has: ".tar.zst" or ".tar.gz". */
const char *bundle_suffix(void);

/*
 * Blanks the host's name and the command line in the header of a perf.data file.  -1 when it is not
 * one of this machine's byte order with its header at the front (a pipe's, a text).
 */
int bundle_blank_recording(struct buf *b, const char *path, struct error *err) MUST_CHECK;

/* Whether a file is a bundle, by its first bytes. */
bool bundle_is(const char *path);
/*
 * Unpacks into a new private folder below $TMPDIR or /tmp: regular files and links that stay
 * inside, sums checked.  *dir is its path, *recording the path of the recording in it; free both,
 * and temp_remove(*dir) when done; it is removed at a SIGINT, SIGTERM or SIGHUP too.
 */
int bundle_unpack(const char *path, char **dir, char **recording, struct error *err) MUST_CHECK;

/* ---- handing on over HTTP (push.c) ---- */

struct host_push {
	const char *url; /* http:// or https://; nothing else is spoken, redirections are not
			    followed */
	const char *content_type;
	const void *body;
	size_t n;
	bool gzip;                  /* the body is sent gzipped */
	const char *const *headers; /* "Name: value", NULL-terminated; or NULL */
	const char *ca_file;        /* certificates to trust, PEM; NULL: the system's */
	u32 timeout_ms;             /* for each try */
	u32 retries;                /* tries after the first one */
	u32 wait_ms; /* before the first of them; doubled for each, at most a minute, the server may
			ask for more */
	/* Before each wait: why, one line, and for how long; or NULL. */
	void (*told)(void *ctx, const char *why, u32 wait_ms);
	/* Statuses after which it is tried again, 0 at the end; NULL: 408, 429, and 5xx other than
	 * 501 and 505. */
	const u16 *retry;
	/* Appends what an answer that is no success says; NULL: its first line. */
	void (*words)(const void *answer, size_t n, struct buf *text);
	/* Whether a success is one by the answer's own words; or NULL. */
	int (*taken)(void *ctx, const void *answer, size_t n, struct error *err);
	void *ctx;
};

/* Whether this build can (libcurl). */
bool host_push_available(void);
/* POSTs the body until the server has taken it (2xx). Errors name the address, without user and
 * password, and the server's words. */
int host_push(const struct host_push *req, struct error *err) MUST_CHECK;

/* ---- what to type, by distribution (distro.c) ---- */

enum host_advice {
	ADVICE_BOOT_OPTION,    /* give Xen's command line an option (%o) */
	ADVICE_NO_OPTION,      /* take one away */
	ADVICE_FRAME_POINTERS, /* a hypervisor with frame pointers */
	ADVICE_SYMBOLS,        /* the file xen-syms */
	ADVICE_PERF,
	ADVICE_NR
};

struct host_distro;
/* By the text of /etc/os-release; never NULL. */
const struct host_distro *host_distro_find(const char *os_release);
const char *host_distro_name(const struct host_distro *d);
/* Commands, one a line; `version` is Xen's ("4.17.7", or NULL), `option` for those that take one.
 * Memory from `a`. */
const char *host_distro_advice(const struct host_distro *d, enum host_advice what,
			       const char *version, const char *option, struct arena *a);

#endif
