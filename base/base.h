/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * base: what every stage stands on.
 *
 * This header is the only one of base/ that others include.  Memory: running
 * out of it aborts (x*() functions); everything else that can fail returns
 * 0/-1 and says why in a struct error.
 */
#ifndef XENFLAME_BASE_H
#define XENFLAME_BASE_H

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
__extension__ typedef unsigned __int128 u128;
typedef int64_t s64;

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b)     ((a) < (b) ? (a) : (b))
#define MAX(a, b)     ((a) > (b) ? (a) : (b))
#define MUST_CHECK    __attribute__((warn_unused_result))
#define PRINTF(f, a)  __attribute__((format(printf, f, a)))
#define LIKELY(x)     __builtin_expect(!!(x), 1)
#define UNLIKELY(x)   __builtin_expect(!!(x), 0)
#define ALWAYS_INLINE inline __attribute__((always_inline))

/* Sum, at most UINT64_MAX: counts of the input can be anything. */
static inline u64 add_saturated(u64 a, u64 b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

/* ---- heap: never NULL; abort when there is no memory or n * size overflows ---- */

/* Large blocks go back to the system when they are freed. Before the first is allocated. */
void mem_give_back(void);
void *xmalloc(size_t size);
void *xcalloc(size_t n, size_t size);
/* The C library's memset(), for some 100 bytes again and again: what a compiler that knows how many
 * they are puts in its place takes several times as long. */
void mem_zero(void *p, size_t n);
/* Bytes that both start with, of n. */
static inline size_t mem_common(const void *a, const void *b, size_t n)
{
	const char *p = a, *q = b;
	size_t i = 0;

	while (i + 8 <= n) {
		u64 x, y;

		memcpy(&x, p + i, 8);
		memcpy(&y, q + i, 8);
		if (x != y)
			break;
		i += 8;
	}
	while (i < n && p[i] == q[i])
		i++;
	return i;
}

void *xreallocarray(void *p, size_t n, size_t size);
/* libiberty takes its memory from functions of these names: with all of them here it takes it from
 * us. */
void *xrealloc(void *p, size_t size);
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t n);
/* printf into a fresh string, to be freed by the caller. */
char *xasprintf(const char *fmt, ...) PRINTF(1, 2);

/* ---- error: why a call failed, one line ---- */

struct error {
	char msg[600]; /* "" while nothing has failed */
};

/*
 * Sets the message, unless one is set already (the first cause is the one
 * told).  `err` may be NULL.  Control characters in the message are replaced
 * by '?', since names come from the input.  Returns -1, for `return error_set(…)`.
 */
int error_set(struct error *err, const char *fmt, ...) PRINTF(2, 3);
/* The same, with ": " and the text of errno at the end. */
int error_errno(struct error *err, const char *fmt, ...) PRINTF(2, 3);

/* ---- vector: struct NAME { T *v; size_t n, cap; } ---- */

/* Grows *v so that it holds at least `need` items of `size` bytes. */
void vec_grow(void **v, size_t *cap, size_t need, size_t size);

#define VEC(T)                 \
	struct {               \
		T *v;          \
		size_t n, cap; \
	}
#define vec_push(vec, item)                                                     \
	do {                                                                    \
		if ((vec)->n == (vec)->cap)                                     \
			vec_grow((void **)&(vec)->v, &(vec)->cap, (vec)->n + 1, \
				 sizeof(*(vec)->v));                            \
		(vec)->v[(vec)->n++] = (item);                                  \
	} while (0)
/* Makes room for `k` more items without changing n. */
#define vec_reserve(vec, k)                                                       \
	do {                                                                      \
		if ((vec)->cap - (vec)->n < (k))                                  \
			vec_grow((void **)&(vec)->v, &(vec)->cap, (vec)->n + (k), \
				 sizeof(*(vec)->v));                              \
	} while (0)
#define vec_release(vec)                   \
	do {                               \
		free((vec)->v);            \
		(vec)->v = NULL;           \
		(vec)->n = (vec)->cap = 0; \
	} while (0)

/* ---- arena: memory with one common end ---- */

struct arena_chunk;
struct arena {
	struct arena_chunk *chunks; /* newest first */
	char *p, *end;              /* free part of the newest one */
	size_t total;               /* bytes handed out since init or clear */
};

void arena_init(struct arena *a);
/* Never NULL; aligned for any type; contents undefined. */
void *arena_alloc(struct arena *a, size_t size);
void *arena_zalloc(struct arena *a, size_t size);
char *arena_strndup(struct arena *a, const char *s, size_t n);
/* Frees all that was handed out, the arena can be used again. */
void arena_clear(struct arena *a);
void arena_release(struct arena *a);

/* ---- hashing ---- */

/* 64-bit hash of bytes, the same on every machine of one byte order; not for use against attackers'
 * floods. */
u64 hash_bytes(const void *p, size_t n, u64 seed);
/* A hash, and in *check a second one that differs where the first does not, for keys not kept. By
 * AES instructions where the processor has them, so not the same on every machine. */
u64 hash_bytes_checked(const void *p, size_t n, u64 seed, u64 *check);
/* The same without them. */
u64 hash_bytes_checked_portable(const void *p, size_t n, u64 seed, u64 *check);
/* Functions that use them are to be called only where they are. */
#ifdef __x86_64__
#define TARGET_AES __attribute__((target("aes,avx")))
static inline bool have_aes(void)
{
	return __builtin_cpu_supports("aes") && __builtin_cpu_supports("avx");
}
#else
#define TARGET_AES
#define have_aes() false
#endif
/* Makes a pair of hash and check one of what they are of and one more word. */
void hash_extend(u64 key[2], u64 word);
/* Multiply-and-fold: both halves of the 128-bit product are mixed. */
static inline u64 hash_fold(u64 a, u64 b)
{
	__extension__ unsigned __int128 r = (unsigned __int128)a * b;

	return (u64)r ^ (u64)(r >> 64);
}

#define HASH_K0 0x9e3779b97f4a7c15ULL /* 2^64 / golden ratio */
#define HASH_K1 0xd1342543de82ef95ULL /* odd, no structure */
static inline u64 hash_u64(u64 x)
{
	return hash_fold(x ^ HASH_K0, HASH_K1);
}

/*
 * index: a hash table from caller's items to their u32 ids.  The items stay
 * where they are (an array of the caller); the table holds id and 32 bits of
 * the hash.  Id 0xffffffff is reserved.
 */
#define INDEX_NONE UINT32_MAX
struct index_slot {
	u32 id, hash;
};
struct index {
	struct index_slot *slots;
	u32 mask; /* number of slots - 1, or 0 while empty */
	u32 n;
};
typedef bool (*index_eq_fn)(const void *ctx, u32 id, const void *key);

void index_init(struct index *ix);
void index_release(struct index *ix);
void index_clear(struct index *ix);
/* Id of the item for which eq(ctx, id, key) holds, or INDEX_NONE. */
u32 index_find(const struct index *ix, u64 hash, index_eq_fn eq, const void *ctx, const void *key);
/* Adds an id; the caller knows that no equal item is in. */
void index_add(struct index *ix, u64 hash, u32 id);

/* SHA-256 of n bytes. */
void sha256(const void *data, size_t n, u8 out[32]);

/* ---- interned strings ---- */

typedef u32 str_id; /* 0 is the empty string; equal ids mean equal strings */

struct strtab {
	struct arena arena;
	struct index index;
	VEC(const char *) str;
	VEC(u32) len;
};

void strtab_init(struct strtab *t);
void strtab_release(struct strtab *t);
/* Copies the bytes (NULs inside are kept, one is added at the end). `len` below 4 GiB. */
str_id strtab_add(struct strtab *t, const char *s, size_t len);
str_id strtab_adds(struct strtab *t, const char *s);
str_id strtab_addf(struct strtab *t, const char *fmt, ...) PRINTF(2, 3);
/* Id when the string is in, else 0. */
str_id strtab_find(const struct strtab *t, const char *s, size_t len);
/* Borrowed, valid until strtab_release(). */
static inline const char *strtab_get(const struct strtab *t, str_id id)
{
	return t->str.v[id];
}
static inline u32 strtab_len(const struct strtab *t, str_id id)
{
	return t->len.v[id];
}

/* ---- buf: growing bytes ---- */

struct buf {
	char *p;
	size_t n, cap;
};

#define BUF_INIT           \
	{                  \
		NULL, 0, 0 \
	}
void buf_release(struct buf *b);
static inline void buf_clear(struct buf *b)
{
	b->n = 0;
}
void buf_reserve(struct buf *b, size_t more);
void buf_put(struct buf *b, const void *p, size_t n);
void buf_puts(struct buf *b, const char *s);
void buf_putc(struct buf *b, char c);
void buf_printf(struct buf *b, const char *fmt, ...) PRINTF(2, 3);
void buf_u64(struct buf *b, u64 v);
void buf_u128(struct buf *b, u128 v);
/* Lower-case hexadecimal without leading zeros or prefix. */
void buf_hex(struct buf *b, u64 v);
extern const char base64_digits[];
/* Base64 (RFC 4648) of n bytes, without line breaks, padded. */
void buf_base64(struct buf *b, const void *p, size_t n);
/* `v` with at most `digits` (0-9) decimals, trailing zeros and a trailing point left out; never
 * "-0", never an exponent. */
void buf_f(struct buf *b, double v, int digits);
/* A text about `n` things: %n is the number, %s `subject`, {one|many} the form that fits the
 * number: "%n sample{ was|s were} lost". No other %, {, | or } in it. */
void buf_plural(struct buf *b, const char *text, u64 n, const char *subject);
/* NUL-terminated view, borrowed until the next change. */
const char *buf_str(struct buf *b);

/* ---- cursor: reading bytes that nobody vouches for ---- */

/*
 * Reads past the end return 0 and set `bad`; once bad, a cursor stays where it
 * is, so that one test at the end of a structure is enough.
 */
struct cursor {
	const u8 *start, *p, *end;
	bool swap; /* the data is of the other byte order */
	bool bad;
};

void cursor_init(struct cursor *c, const void *p, size_t n, bool swap);
static inline size_t cursor_left(const struct cursor *c)
{
	return (size_t)(c->end - c->p);
}
u8 cursor_u8(struct cursor *c);
u16 cursor_u16(struct cursor *c);
u32 cursor_u32(struct cursor *c);
u64 cursor_u64(struct cursor *c);
/* Borrowed bytes, or NULL when fewer than n are left. */
const u8 *cursor_bytes(struct cursor *c, size_t n);
void cursor_skip(struct cursor *c, size_t n);
/* String up to NUL or to the end; the cursor stands behind the NUL. Never NULL. */
const char *cursor_str(struct cursor *c, size_t *len);

/* ---- protocol buffers: the wire format (protobuf.c) ---- */

struct pb_part {
	const u8 *p;
	size_t n;
};

struct pb_field {
	u32 number, wire;
	u64 value;            /* of wire types 0, 1, 5 */
	struct pb_part bytes; /* of 2, borrowed */
};

/* Takes the next field off a message: 1, 0 at the end, -1 when this is no message. */
int pb_take(struct pb_part *b, struct pb_field *f);
bool pb_take_varint(struct pb_part *b, u64 *v);

/* These append. Numbers that are 0 are the default and left out. */
void pb_put_varint(struct buf *b, u64 v);
void pb_put_number(struct buf *b, u32 field, u64 v);
void pb_put_fixed64(struct buf *b, u32 field, u64 v);
void pb_put_bytes(struct buf *b, u32 field, const void *p, size_t n);

/* ---- address spaces and frames ---- */

/* Whose code an address belongs to; perf's cpumode and context markers say it at the input. */
enum space {
	SPACE_USER,
	SPACE_KERNEL,
	SPACE_HV,
	SPACE_GUEST_USER,
	SPACE_GUEST_KERNEL,
	SPACE_NONE, /* frames that are not code: comms, groups, [guest] … */
	SPACE_NR
};

/* "user", "kernel", "hypervisor", "guest user", "guest kernel", "none"; static. */
const char *space_name(enum space s);

/*
 * Whether an x86-64 address lies in the part of the address space that the ABI
 * reserves for the hypervisor (0xffff800000000000-0xffff87ffffffffff; Linux
 * Documentation/arch/x86/x86_64/mm.rst, Xen asm-x86/config.h), resp. in the
 * GiB windows that Xen's image is linked into (up to 4.13 0xffff82d080000000,
 * since 4.14 0xffff82d040000000).
 */
static inline bool space_is_hv_reserved(u64 addr)
{
	return addr >> 43 == 0xffff800000000000ULL >> 43;
}
static inline bool space_is_hv_text(u64 addr)
{
	return addr >= 0xffff82d040000000ULL && addr <= 0xffff82d0bfffffffULL;
}

/* How an address of a call chain came to be; decides where it is looked up. */
enum addr_kind {
	ADDR_EXACT,    /* an interrupted instruction: looked up as it is */
	ADDR_RETURN,   /* return address: looked up at address - 1 */
	ADDR_ADJUSTED, /* the caller subtracted already: looked up as it is */
};

enum frame_flag {
	FRAME_INLINED = 1 << 0, /* has no address of its own: inlined into the next outer frame */
	FRAME_UNRESOLVED = 1 << 1, /* `function` is "[module+0xoffset]" */
	FRAME_JIT = 1 << 2,
	FRAME_BROKEN = 1 << 3,   /* "[broken stack]" */
	FRAME_DOUBTFUL = 1 << 4, /* guessed, e.g. by a stack scan */
	FRAME_GROUP = 1 << 5,    /* no code: comm, pid, event, [guest] … */
};

/* A frame as it is shown. Identity: space, module, function, flags, and file:line where wanted. */
struct frame {
	str_id function; /* never 0 */
	str_id module;   /* base name as perf prints it: "vmlinux", "libc.so.6", "xen-syms"; 0 for
			    groups */
	str_id file;     /* source file as DWARF has it, or 0 */
	u32 line;        /* 0 = unknown */
	u8 space;        /* enum space */
	u8 flags;        /* enum frame_flag */
};

/* ---- diag: what is degraded but not failed ---- */

/* The text, the remedy and whether --strict minds each stand in diag.c, in this order. */
enum diag_kind {
	DIAG_UNKNOWN_RECORD, /* subject: record type; count: records */
	DIAG_BAD_RECORD,     /* subject: "'f': record at 0x…: what"; count: records */
	DIAG_TRUNCATED,      /* subject: where; count: bytes not read */
	DIAG_DAMAGED,        /* subject: "'f': where and why"; what came before is used */
	DIAG_UNKNOWN_FEATURE,
	DIAG_LOST,              /* count: samples that the kernel reports as lost */
	DIAG_UNKNOWN_ID,        /* samples whose event id no event has */
	DIAG_OUT_OF_ORDER,      /* records older than an already flushed round */
	DIAG_BAD_LINE,          /* text: subject "'f': line N: …", count: lines */
	DIAG_NO_CHAIN,          /* samples without any address */
	DIAG_IP_ZERO,           /* samples with ip 0 and no chain */
	DIAG_IP_ZERO_GUEST,     /* such samples that are marked as a guest's */
	DIAG_BROKEN_STACK,      /* samples with a run of addresses outside every mapping */
	DIAG_GARBAGE_CONTEXT,   /* chain entries >= -4095 that are no context marker */
	DIAG_TRUNCATED_STACK,   /* unwound from a stack dump that ends too early */
	DIAG_HV_DEPTH_1,        /* hypervisor samples with a single hypervisor frame */
	DIAG_HV_SOFTWARE_EVENT, /* subject: event; a software clock cannot hold hypervisor frames */
	DIAG_IMPOSSIBLE_PERIOD,
	DIAG_UNRESOLVED_HV, /* subject: module; count: samples' frames */
	DIAG_UNRESOLVED_KERNEL,
	DIAG_UNRESOLVED_USER,
	DIAG_UNRESOLVED_GUEST,
	DIAG_BUILD_ID_MISMATCH, /* subject: file and both ids */
	DIAG_SYMBOL_FILE,       /* subject: "'f': why it cannot be used" */
	DIAG_OTHER_EVENTS,      /* subject: event not drawn; count: its samples */
	DIAG_GUEST_SAMPLES,     /* samples of guests, shown under [guest] */
	DIAG_CPU_UNSEEN,        /* count: CPUs without a sample */
	DIAG_SUM_LIMIT,         /* subject: which sums came to the most there can be */
	DIAG_NOTE,              /* subject: the whole text; count: how often */
	DIAG_NR
};

struct diag_entry {
	enum diag_kind kind;
	str_id subject;
	u64 count;
};

/* Counts by (kind, subject); at most 64 subjects a kind are kept apart, the rest is added to the
 * subject "…". */
struct diag {
	struct strtab strings;
	VEC(struct diag_entry) entries; /* in order of first appearance */
	u32 subjects[DIAG_NR];
};

void diag_init(struct diag *d);
void diag_release(struct diag *d);
/* `subject` may be "", or NULL: counted with the kind's first one. Control characters in it are
 * replaced by '?'. */
void diag_add(struct diag *d, enum diag_kind kind, u64 count, const char *subject);
void diag_addf(struct diag *d, enum diag_kind kind, u64 count, const char *fmt, ...) PRINTF(4, 5);
/* One note whose text is about `n` things, as by buf_plural(); none when `n` is 0. */
void diag_note(struct diag *d, const char *text, u64 n, const char *subject);
/* Sum over all subjects of a kind. */
u64 diag_count(const struct diag *d, enum diag_kind kind);
/* One line without newline: "12 samples lost …; remedy". Appends to `b`. */
void diag_format(const struct diag *d, const struct diag_entry *e, struct buf *b);
/* Whether --strict makes this kind an error (notes and pure information do not). */
bool diag_is_strict(enum diag_kind kind);
/* Stable lower-case identifier for JSON: "lost", "build_id_mismatch" …; static. */
const char *diag_name(enum diag_kind kind);

/* ---- threads that help the main one (thread.c) ---- */

/* How many threads are to work: as many as were asked for, 0: as the process may use processors. */
unsigned threads_for(unsigned asked);
/* Starts one, which gets no signals; -1 when the system gives none. */
int thread_start(pthread_t *t, void *(*run)(void *), void *arg) MUST_CHECK;

/* ---- temporary files, removed when SIGINT, SIGTERM or SIGHUP ends the program ----
 *
 * Signals that are ignored or caught stay so. The list changes only while there is one thread.
 */

/* mkstemps() and mkdtemp(): the descriptor or 0; -1 with errno. */
int temp_file(char *template, int suffix);
int temp_folder(char *template);
/* `path` has been made, in a folder of temp_folder() for example. */
void temp_note(const char *path);
/* It stays, or is gone. */
void temp_forget(const char *path);
/* Removes it, and what has been noted in it. */
void temp_remove(const char *path);
/* All of them; for handlers of signals that end the program. */
void temp_remove_all(void);

/* ---- out: buffered writing; a file appears whole or not at all ---- */

struct out {
	int fd;
	bool failed; /* sticky; told by out_close() */
	int saved_errno;
	char *path, *tmp; /* NULL for standard output and memory */
	struct buf buf;
	struct buf *mem; /* out_open_mem(): everything goes here */
};

/*
 * path "-" is standard output; else a file beside `path` is written and renamed
 * over it by out_close(); a symbolic link is followed.  A path that exists and
 * is no regular file (a device, a FIFO) is written in place, and so is standard
 * output under another name (/dev/stdout).
 */
int out_open(struct out *o, const char *path, struct error *err) MUST_CHECK;
/* Writes into `mem` (borrowed). Cannot fail. */
void out_open_mem(struct out *o, struct buf *mem);
void out_write(struct out *o, const void *p, size_t n);
void out_puts(struct out *o, const char *s);
void out_printf(struct out *o, const char *fmt, ...) PRINTF(2, 3);
/*
 * For writers that format straight into o->buf: call now and then to flush
 * when it has grown past its limit.
 */
void out_flush_if_full(struct out *o);
/* The same while what is behind the first n bytes is not done: when these are many they are
 * flushed, and the rest moves to the front. Whether it did. */
bool out_flush_before(struct out *o, size_t n);
/* Flushes, renames, releases. -1 when anything could not be written: then the old file is
 * untouched. */
int out_close(struct out *o, struct error *err) MUST_CHECK;
/* Gives up: removes the temporary file, releases. */
void out_abort(struct out *o);

/* ---- libraries that few runs need: loaded at the first use ----
 *
 * Loading one, with all those that it needs itself, costs more than many a run does.  configure
 * finds out the names (XF_LATE in m4/); without LATE_LIBRARIES these libraries are linked as any
 * other, and nothing else changes.
 *
 *	#define CAIRO_FUNCTIONS(F) F(cairo_, create) F(cairo_, destroy)
 *	LIBRARY(cairo, SONAME_CAIRO, "PNG or PDF", CAIRO_FUNCTIONS);
 *	…
 *	if (library_open(&cairo_library, err))
 *		return -1;
 *	cr = cairo.create(surface);
 *
 * The pointers have the types of the library's own header, so the compiler checks each call.
 */
struct library {
	const char *soname;
	const char *purpose;      /* what needs it */
	const char *const *names; /* of the functions, NULL at the end */
	void *functions;          /* a pointer for each, in the same order */
	bool open;
};

#ifdef LATE_LIBRARIES
#define LIBRARY_VALUE(prefix, name) NULL,
#else
#define LIBRARY_VALUE(prefix, name) prefix##name,
#endif
#define LIBRARY_POINTER(prefix, name) __typeof__(prefix##name) *name;
#define LIBRARY_NAME(prefix, name)    #prefix #name,
#define LIBRARY(id, soname_, purpose_, FUNCTIONS)                                                 \
	static struct {                                                                           \
		FUNCTIONS(LIBRARY_POINTER)                                                        \
	} id = { FUNCTIONS(LIBRARY_VALUE) };                                                      \
	static const char *const id##_names[] = { FUNCTIONS(LIBRARY_NAME) NULL };                 \
	static struct library id##_library = {                                                    \
		.soname = (soname_), .purpose = (purpose_), .names = id##_names, .functions = &id \
	}

/*
 * Loads it, unless that is done; it stays for the rest of the run.  -1 when it is not there or
 * lacks a function; one thread at a time.
 */
int library_open(struct library *l, struct error *err) MUST_CHECK;

/* ---- files ---- */

/* A whole file, mapped (regular file) or read (anything else). */
struct file_map {
	const u8 *p;
	size_t n;
	bool mapped;
};

/*
 * Errors name the path; a directory, an unreadable file, more than `max` bytes
 * (0: no bound) are errors.  An empty file gives n == 0.
 */
int file_map_open(struct file_map *m, const char *path, u64 max, struct error *err) MUST_CHECK;
void file_map_close(struct file_map *m);
/* From here on the program says so and exits with 1 when it comes to a part of any mapped file that
 * is no longer there. */
void file_map_guard(void);
bool file_exists(const char *path);
/* Base name, borrowed from path. */
const char *path_base(const char *path);
/* "DIR/NAME"; free it. */
char *path_join(const char *dir, const char *name);

/* ---- text ---- */

/*
 * Parses digits at *p (before end) and moves *p behind them.  0 when there is
 * at least one digit and the value fits in 64 bits, else -1 (*p unchanged).
 */
int parse_dec(const char **p, const char *end, u64 *v) MUST_CHECK;
int parse_hex(const char **p, const char *end, u64 *v) MUST_CHECK;

extern const u8 hex_digits[256]; /* values of digits and 1; 0: none */

/* Value of a hexadecimal digit; -1: it is none. */
static inline int hex_digit(char c)
{
	return (int)hex_digits[(u8)c] - 1;
}

/* Whether s[0..n) is valid UTF-8 without overlong forms and surrogates (RFC 3629). */
bool utf8_valid(const char *s, size_t n);
/*
 * Length of the character at s (1-4) and its code point, or 0 when the bytes
 * there are not valid UTF-8.
 */
int utf8_next(const char *s, size_t n, u32 *cp);

/* Appends s[0..n); each byte that is no part of valid UTF-8 becomes U+FFFD. */
void buf_utf8(struct buf *b, const char *s, size_t n);
/* Whether a terminal obeys it as a control character, or writes text backwards from it on. */
bool utf8_is_unsafe(u32 cp);
/* As buf_utf8(), with '?' for each unsafe character. */
void buf_safe(struct buf *b, const char *s, size_t n);
/* In place, where bytes that are no part of valid UTF-8 become '?', too. */
void make_safe(char *s);
/*
 * Appends s[0..n) as a JSON string with its quotes.  Invalid UTF-8 becomes U+FFFD; control
 * characters, `<`, U+2028 and U+2029 are escaped, so that the text can stand in a <script> element.
 */
void buf_json(struct buf *b, const char *s, size_t n);

/*
 * Names in folded stacks ("a;b;c 12").  Bytes that the format would take for its own (`;`, control
 * characters, a leading space or `#`, the space before a last word that looks like a count) and
 * bytes that are not UTF-8 are written as %XX, and so is a `%` before two hexadecimal digits.  Any
 * other name stays as it is, so other tools read what they always did.  unescape(escape(x)) == x
 * for all x.
 */
void folded_escape(struct buf *b, const char *s, size_t n);
void folded_unescape(struct buf *b, const char *s, size_t n);

/* Build id as lower-case hex into out (at least 2 * n + 1 bytes). */
void build_id_hex(const u8 *id, size_t n, char *out);

#endif
