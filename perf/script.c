/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text as `perf script` prints it.
 *
 *	[VM:n ][VCPU:n ][comm ][pid/]tid [[cpu] ][misc ][date ][time: ][period ][event: ][payload]
 *[frame] TAB address symbol[+0xoffset] (module | inlined) source file:line [(inlined)] empty line
 *
 * Each field can be absent (`-F`), the comm can hold any byte, and without
 * call chains the frame stands at the end of the first line and no empty line
 * follows.  So a first line is read from its anchors: the time with what stands
 * before it, else the event's colon.  Facts: tools/perf/builtin-script.c and
 * util/evsel_fprintf.c of Linux, and the output of perf 3.2 to 6.12.
 *
 * Speed: a line of a stack is looked up as bytes.  The line that followed the
 * same line last time is tried first, which does not need its end.  Programs have
 * more lines than the processor's caches hold, so what is looked at for each one
 * is small: of its bytes a hash with the seed of the run stands for all but eight.
 */
#include <endian.h>
#include <stdlib.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "perf/text.h"

/* What a line of a stack says, by its bytes. Quick ones may be compared without looking for the
 * line's end. */
struct entry {
	u64 key, hash; /* of a quick one: load_key() and hash_line() */
	u32 next[2];   /* the two that followed last and are quick, the last first, or NO_ENTRY */
	u16 len;       /* of a quick one, with its newline; else 0 */
	u8 middle;     /* line_middle() of it */
	u8 kind;       /* its space; OWN_KIND where more is to be done than to add the frame */
	u8 space;
	u8 flags; /* enum perf_text_flag */
	u8 lines;
	bool addr_only; /* its space was told by the address alone */
};
#define NO_ENTRY UINT32_MAX
#define OWN_KIND 0xff
#define NO_KIND  0xfe

/*
 * Where the last digits of the address stand, for a first comparison and for the cache: "\t%16x". A
 * line that looks otherwise is only found more slowly.
 */
#define KEY_START 9
#define KEY_END   17
/* Longer lines are not expected: a text could be made in which they all are, and never come. */
#define QUICK_MAX      4096
#define CACHE_BITS_MIN 8
#define CACHE_BITS_MAX 17

#define TASK_MAX  48
#define TASK_BITS 11

#define LINE_MAX_KNOWN 128

/* ---- the first line of a sample ---- */

enum head_kind {
	HEAD_NONE, /* not understood */
	HEAD_SAMPLE,
	HEAD_OTHER, /* a record that is no sample, a metric: understood and passed over */
};

struct head {
	struct span comm, event, frame; /* n 0: none */
	u64 time, period, lost;
	u32 pid, tid, cpu, machine_pid, vcpu;
	/* Where the names of comm and event are kept, or NULL. */
	u32 *comm_name, *event_name;
};

/* What stands before the processor or the time, and what it says: all lines of a thread have the
 * same bytes there. */
struct known_task {
	char raw[TASK_MAX];
	u8 n, comm_at, comm_n; /* n 0: nothing yet */
	bool has_tid, has_colon;
	u32 pid, tid, machine_pid, vcpu;
	u32 name; /* of the comm, of the worker; TEXT_NO_NAME: not asked for yet */
};

/* A first line as perf prints them unless told otherwise, "comm tid [008] 7707.000102: 1003009
 * cycles: ": the next ones differ in the thread and in digits. */
struct known_line {
	char raw[LINE_MAX_KNOWN];
	u32 n;                                 /* 0: nothing yet */
	u32 cpu_at, time_at, dot_at, colon_at; /* in raw */
	u32 event_at, event_n;
	u32 event_name; /* of the worker; TEXT_NO_NAME: not asked for yet */
	u64 period;
};

struct known_heads {
	struct known_task tasks[1 << TASK_BITS]; /* by hash */
	struct known_line lines[4];              /* by length */
};

struct script_worker {
	struct known_heads heads;
	VEC(struct entry) entries;
	VEC(struct span) lines; /* of the entries */
	struct index index;     /* by all bytes */
	u32 *cache;             /* entries of quick lines by key, or NO_ENTRY, in pairs; grows with
				   them */
	unsigned cache_bits;
	u64 seed[2];
	bool aes;
};

struct script {
	struct text_pipe *pipe; /* first, for text_reader_next() */
	bool no_hv_range; /* of another architecture than x86: addresses do not tell the hypervisor
			   */
};

/* ---- small things ---- */

/* An address of 1-16 hexadecimal digits with a blank or the end behind it. NULL, or what is behind
 * it. */
static const char *scan_addr(const char *p, const char *end, u64 *addr)
{
	const char *start = p;
	u64 v = 0;
	int d;

	while (p < end && (d = hex_digit(*p)) >= 0) {
		v = v << 4 | (u64)d;
		p++;
	}
	if (p == start || p - start > 16 || (p < end && *p != ' ' && *p != '\r'))
		return NULL;
	*addr = v;
	return p;
}

static const char *skip_blanks(const char *p, const char *end)
{
	while (p < end && is_blank(*p))
		p++;
	return p;
}

static bool all_digits(struct span s)
{
	size_t i;

	for (i = 0; i < s.n; i++)
		if (!is_digit(s.p[i]))
			return false;
	return s.n > 0;
}

static bool span_u64(struct span s, u64 *v)
{
	const char *p = s.p;

	return !parse_dec(&p, s.p + s.n, v) && p == s.p + s.n;
}

/* The last word of [p, *end), which then ends before it and its blanks. */
static struct span last_word(const char *p, const char **end)
{
	const char *e = *end, *s;

	while (e > p && is_blank(e[-1]))
		e--;
	s = e;
	while (s > p && !is_blank(s[-1]))
		s--;
	*end = s;
	return (struct span){ s, (size_t)(e - s) };
}

/* ---- a frame ---- */

/* "(…)" at the end, balanced; else from the last " (" when the name of the module holds a lone
 * parenthesis. */
static bool take_module(struct span *s, struct span *module)
{
	size_t i = s->n;
	int depth = 0;

	if (!s->n || s->p[s->n - 1] != ')')
		return false;
	while (i) {
		i--;
		if (s->p[i] == ')')
			depth++;
		else if (s->p[i] == '(' && !--depth)
			break;
	}
	if (depth || (i && !is_blank(s->p[i - 1]))) {
		/* "f(int)" without a module is balanced but not set off. */
		if (!depth)
			return false;
		for (i = s->n - 1; i; i--)
			if (s->p[i] == '(' && is_blank(s->p[i - 1]))
				break;
		if (!i)
			return false;
	}
	*module = (struct span){ s->p + i + 1, s->n - i - 2 };
	s->n = i;
	*s = span_trim(*s);
	return true;
}

/* "+0x…" at the very end. */
static void drop_offset(struct span *s)
{
	size_t i = s->n;

	while (i && hex_digit(s->p[i - 1]) >= 0)
		i--;
	if (i < s->n && i > 3 && s->p[i - 1] == 'x' && s->p[i - 2] == '0' && s->p[i - 3] == '+')
		s->n = i - 3;
}

/* "file:line", with "(inlined)" behind it; "??:0" and "module[address]" say nothing. */
static void take_srcline(struct span s, struct text_def *d)
{
	u64 line;
	size_t i;

	s = span_trim(s);
	if (span_ends(s, " (inlined)")) {
		d->flags |= TEXT_INLINED;
		s.n -= strlen(" (inlined)");
	}
	if (span_ends(s, " (discriminator)"))
		s.n -= strlen(" (discriminator)");
	for (i = s.n; i && is_digit(s.p[i - 1]); i--)
		;
	if (i < 2 || i == s.n || s.p[i - 1] != ':' || span_starts(s, "??"))
		return;
	if (!span_u64((struct span){ s.p + i, s.n - i }, &line) || line > UINT32_MAX || !line)
		return;
	d->file = (struct span){ s.p, i - 1 };
	d->line = (u32)line;
}

/* "symbol (module) file:line" on one line, as scripts around perf print it. */
static void take_tail_srcline(struct span *s, struct text_def *d)
{
	const char *e = s->p + s->n;
	struct span word;

	if (!s->n || !is_digit(e[-1]))
		return;
	word = last_word(s->p, &e);
	while (e > s->p && is_blank(e[-1]))
		e--;
	if (e == s->p || e[-1] != ')' || !memchr(word.p, '/', word.n))
		return;
	take_srcline(word, d);
	if (d->line)
		s->n = (size_t)(e - s->p);
}

static u8 address_space(const struct script *sc, u64 addr)
{
	if (space_is_hv_reserved(addr) && !sc->no_hv_range)
		return SPACE_HV;
	/* The upper half, without what can only be a small negative number. */
	if (addr >> 55 == 0x1ff && addr < (u64)-4096)
		return SPACE_KERNEL;
	return SPACE_USER;
}

/* Reads "address symbol (module)"; *addr_only: the space comes from the address alone. */
static bool read_frame(const struct script *sc, struct span line, struct text_def *d,
		       bool *addr_only)
{
	const char *end = line.p + line.n, *p;
	struct span s;
	u8 space = SPACE_NONE;

	memset(d, 0, sizeof(*d));
	p = scan_addr(skip_blanks(line.p, end), end, &d->addr);
	if (!p)
		return false;
	d->flags = TEXT_HAS_ADDR;
	s = span_trim((struct span){ p, (size_t)(end - p) });
	take_tail_srcline(&s, d);
	if (take_module(&s, &d->module)) {
		if (span_is(d->module, "inlined")) {
			d->flags |= TEXT_INLINED;
			d->module.n = 0;
		} else {
			drop_offset(&d->module);
			d->module = span_trim(d->module);
		}
	}
	drop_offset(&s);
	d->symbol = s;
	text_strip_annotation(&d->symbol, &space, &d->flags);
	if (span_is(d->symbol, "[unknown]")) {
		d->symbol.n = 0;
		d->flags |= TEXT_UNKNOWN;
	}
	if (span_is(d->module, "[unknown]"))
		d->module.n = 0;
	*addr_only = false;
	if (space == SPACE_NONE)
		space = (u8)text_module_space(d->module);
	if (space == SPACE_NONE ||
	    (space == SPACE_KERNEL && space_is_hv_text(d->addr) && !sc->no_hv_range)) {
		*addr_only = space == SPACE_NONE;
		space = address_space(sc, d->addr);
	}
	d->space = space;
	return true;
}

/* ---- lines of a stack ---- */

static bool entry_eq(const void *ctx, u32 id, const void *key)
{
	const struct span *a = &((const struct script_worker *)ctx)->lines.v[id], *b = key;

	return a->n == b->n && !memcmp(a->p, b->p, b->n);
}

static inline u64 load_u64(const char *p)
{
	u64 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline u64 load_key(const char *p)
{
	return load_u64(p + KEY_START);
}

/*
 * A line's bytes are hashed by rounds of AES where the processor has them, which are faster, else
 * by products.  Whose text it is might make lines that are taken for each other, but could as well
 * have written the other line.  `n`: 16 at least.
 */
#define NO_MIDDLE 0xff

/* Of a line of n bytes: where, besides the first 32 and the last 32, three more rounds reach all of
 * them; NO_MIDDLE: so many are not enough, or too many. */
static u8 line_middle(u32 n)
{
	return n < 48 || n > 112 ? NO_MIDDLE : (u8)MIN(n - 48, 32u);
}

#ifdef __x86_64__
static inline __m128i load_128(const void *p)
{
	return _mm_loadu_si128(p);
}

#define ROUND(to, at) (to) = _mm_aesenc_si128(_mm_xor_si128(to, load_128(at)), key)

/* How long it is does not go in: it is compared with lines of the same length. */
TARGET_AES static inline u64 hash_line_aes(const u64 seed[2], const char *p, u32 n, u8 middle)
{
	__m128i key = load_128(seed), a = key, b = key;
	const char *end = p + n;

	if (LIKELY(middle != NO_MIDDLE)) {
		/* Nearly all: no branch depends on how long it is. */
		ROUND(a, p);
		ROUND(b, p + 16);
		ROUND(a, p + middle);
		ROUND(b, p + middle + 16);
		ROUND(a, p + middle + 32);
		ROUND(b, end - 32);
	} else {
		for (; end - p > 16; p += 16)
			ROUND(b, p);
	}
	ROUND(a, end - 16);
	a = _mm_aesenc_si128(_mm_aesenc_si128(a, b), key);
	return (u64)_mm_cvtsi128_si64(_mm_aesenc_si128(a, key));
}
#undef ROUND
#else
#define hash_line_aes(seed, p, n, middle) ((u64)0)
#endif

static inline u64 hash_line_any(const u64 seed[2], const char *p, u32 n)
{
	u64 a = seed[0], b = seed[1] ^ n, h = 0;
	u32 i;

	for (i = 0; i + 16 < n; i += 16)
		h += hash_fold(load_u64(p + i) ^ a, load_u64(p + i + 8) ^ (b + i));
	return h + hash_fold(load_u64(p + n - 16) ^ b, load_u64(p + n - 8) ^ a);
}

TARGET_AES static u64 hash_with_aes(const struct script_worker *sw, const char *p, u32 n)
{
	return hash_line_aes(sw->seed, p, n, line_middle(n));
}

static u64 hash_line(const struct script_worker *sw, const char *p, u32 n)
{
	return sw->aes ? hash_with_aes(sw, p, n) : hash_line_any(sw->seed, p, n);
}

/* Whether the line at p can be that of `e`, which is quick; nobody has looked for its end yet. */
static inline bool entry_may_be(const struct entry *e, const char *p, const char *end)
{
	return end - p > e->len && load_key(p) == e->key && p[e->len] != ' ';
}

static inline u32 *cache_slot(struct script_worker *sw, u64 key)
{
	return &sw->cache[(key * 0x9e3779b97f4a7c15ULL) >> (64 - sw->cache_bits)];
}

/* The other one of the pair that a slot is in. */
static inline u32 *other_slot(const struct script_worker *sw, const u32 *slot)
{
	return &sw->cache[(size_t)(slot - sw->cache) ^ 1];
}

/* The one before in its slot goes to the other one of the pair. */
static void cache_put(struct script_worker *sw, u64 key, u32 id)
{
	u32 *slot = cache_slot(sw, key);

	if (*slot == id)
		return;
	if (*slot != NO_ENTRY)
		*other_slot(sw, slot) = *slot;
	*slot = id;
}

static void cache_make(struct script_worker *sw, unsigned bits)
{
	size_t n = (size_t)1 << bits;
	u32 i;

	free(sw->cache);
	sw->cache_bits = bits;
	sw->cache = xreallocarray(NULL, n, sizeof(*sw->cache));
	memset(sw->cache, 0xff, n * sizeof(*sw->cache));
	for (i = 0; i < sw->entries.n; i++)
		if (sw->entries.v[i].len)
			cache_put(sw, sw->entries.v[i].key, i);
}

/* A second line that belongs to the frame before it: two blanks and a source line. */
static bool is_srcline(const char *p, const char *end)
{
	const char *q;
	u64 addr;

	if (end - p < 4 || p[0] != ' ' || p[1] != ' ' || is_blank(p[2]) || p[2] == '\n' ||
	    p[2] == '\r')
		return false;
	/* A frame with blanks for its tab has an address there, of 14 digits. */
	q = scan_addr(p + 2, end, &addr);
	return !q || q - p < 8;
}

static const char *line_end(const char *p, const char *end)
{
	const char *nl = memchr(p, '\n', (size_t)(end - p));

	return nl ? nl : end;
}

/* False: it is none. The entry is the last one then. */
static bool entry_new(struct text_worker *w, struct text_piece *piece, struct span key, u64 hash,
		      struct span line, struct span src)
{
	struct script_worker *sw = w->priv;
	struct entry e = { .next = { NO_ENTRY, NO_ENTRY } };
	char *raw = arena_alloc(&w->arena, key.n);
	struct text_def d;

	memcpy(raw, key.p, key.n);
	/* The strings are to live as long as the worker. */
	line.p = raw + (line.p - key.p);
	if (!read_frame(w->ctx, line, &d, &e.addr_only))
		return false;
	if (src.n) {
		src.p = raw + (src.p - key.p);
		take_srcline(src, &d);
	}
	key.p = raw;
	if (key.n >= KEY_END && key.n <= QUICK_MAX && raw[key.n - 1] == '\n') {
		e.len = (u16)key.n;
		e.middle = line_middle(e.len);
		e.key = load_key(raw);
		e.hash = hash_line(sw, raw, e.len);
	}
	e.lines = src.p ? 2 : 1;
	e.space = d.space;
	e.flags = d.flags;
	e.kind = d.space;
	if (src.p || d.flags & TEXT_INLINED || (e.addr_only && d.space == SPACE_KERNEL))
		e.kind = OWN_KIND;
	vec_push(&sw->entries, e);
	vec_push(&sw->lines, key);
	vec_push(&piece->defs, d);
	index_add(&sw->index, hash, w->n_defs++);
	if (sw->entries.n > (size_t)1 << (sw->cache_bits - 2) && sw->cache_bits < CACHE_BITS_MAX)
		cache_make(sw, sw->cache_bits + 1);
	return true;
}

/*
 * The entry of the frame in the line(s) at *p, which then stands behind them; NO_ENTRY: none is
 * there.  Lines over 4 GiB cannot be: pieces are smaller.
 */
static u32 entry_at(struct text_worker *w, struct text_piece *piece, const char **p,
		    const char *end)
{
	struct script_worker *sw = w->priv;
	const char *nl = line_end(*p, end), *stop = nl;
	struct span line = { *p, (size_t)(nl - *p) }, src = { NULL, 0 }, key;
	const struct entry *e;
	u64 hash, addr;
	u32 id;

	if (stop < end)
		stop++;
	if (is_srcline(stop, end)) {
		nl = line_end(stop, end);
		src = (struct span){ stop, (size_t)(nl - stop) };
		stop = nl < end ? nl + 1 : nl;
	}
	key = (struct span){ *p, (size_t)(stop - *p) };
	hash = hash_bytes(key.p, key.n, w->seed);
	id = index_find(&sw->index, hash, entry_eq, sw, &key);
	if (id == INDEX_NONE) {
		/* Cheap refusal before anything is copied. */
		if (!scan_addr(skip_blanks(line.p, line.p + line.n), line.p + line.n, &addr))
			return NO_ENTRY;
		id = w->n_defs;
		if (!entry_new(w, piece, key, hash, line, src))
			return NO_ENTRY;
	}
	e = &sw->entries.v[id];
	if (e->len)
		cache_put(sw, e->key, id);
	piece->lines += e->lines;
	*p = stop;
	return id;
}

/* What the frames of a stack so far say of the next one. */
struct walk {
	u8 space; /* of the last one */
	u8 kind;  /* of a frame that adds nothing: one like the last one */
	bool first, inlined, exact, user;
};

static void walk_init(struct walk *k)
{
	*k = (struct walk){ .kind = NO_KIND, .first = true };
}

/*
 * Which frames show an interrupted instruction: the first one, the first user
 * one behind kernel ones, and the first one outside Xen behind Xen's.  Inlined
 * frames share the address of the one that they are in.
 */
static u32 walk_add(struct walk *k, const struct script_worker *sw, u32 id)
{
	const struct entry *e = &sw->entries.v[id];
	u32 variant = 0;
	u8 space = e->space;

	if (k->user && e->addr_only && space == SPACE_KERNEL) {
		variant = TEXT_V_USER;
		space = SPACE_USER;
	}
	if (!k->inlined)
		k->exact = k->first ||
			   (space != k->space && (k->space == SPACE_HV || space == SPACE_USER ||
						  space == SPACE_GUEST_USER));
	k->inlined = (e->flags & TEXT_INLINED) != 0;
	k->first = false;
	k->space = space;
	k->user |= space == SPACE_USER;
	k->kind = e->kind == OWN_KIND ? NO_KIND : space;
	if (k->exact)
		variant |= TEXT_V_EXACT;
	return id * TEXT_VARIANTS + variant;
}

/* ---- reading a first line ---- */

/* "pid/tid", "tid", "-1"; tid alone leaves pid unknown. */
static bool scan_tid(struct span s, u32 *pid, u32 *tid)
{
	const char *slash = memchr(s.p, '/', s.n);
	struct span a = s, b = { NULL, 0 };
	u64 v;

	if (slash) {
		a.n = (size_t)(slash - s.p);
		b = (struct span){ slash + 1, s.n - a.n - 1 };
	}
	*pid = *tid = PERF_NO_PID;
	if (span_is(a, "-1")) {
		if (!slash || span_is(b, "-1"))
			return true;
	} else {
		if (!span_u64(a, &v) || v > INT32_MAX)
			return false;
		if (!slash) {
			*tid = (u32)v;
			return true;
		}
		*pid = (u32)v;
		if (span_is(b, "-1"))
			return true;
	}
	if (!span_u64(b, &v) || v > INT32_MAX)
		return false;
	*tid = (u32)v;
	return true;
}

/* Digits as perf's misc column has them: letters for the mode and flags. */
static bool is_misc(struct span s)
{
	size_t i;

	if (!s.n || s.n > 6)
		return false;
	for (i = 0; i < s.n; i++)
		if (!(s.p[i] >= 'A' && s.p[i] <= 'Z') && !(s.p[i] >= 'a' && s.p[i] <= 'z') &&
		    s.p[i] != '-')
			return false;
	return true;
}

static bool scan_cpu(struct span s, u32 *cpu)
{
	u64 v;

	if (s.n < 3 || s.p[0] != '[' || s.p[s.n - 1] != ']' ||
	    !span_u64((struct span){ s.p + 1, s.n - 2 }, &v) || v >= PERF_NO_CPU)
		return false;
	*cpu = (u32)v;
	return true;
}

/* "12:34:56.789012" behind "2026-11-29". */
static bool is_clock(struct span s)
{
	return s.n >= 8 && is_digit(s.p[0]) && s.p[2] == ':' && s.p[5] == ':';
}
static bool is_date(struct span s)
{
	return s.n == 10 && is_digit(s.p[0]) && s.p[4] == '-' && s.p[7] == '-';
}

/* Guests: "VM:  123 VCPU:001 comm". */
static struct span take_guest(struct span comm, struct head *h)
{
	const char *end = comm.p + comm.n, *q;
	u64 v;

	h->machine_pid = 0;
	h->vcpu = PERF_NO_CPU;
	if (span_starts(comm, "VM:")) {
		q = skip_blanks(comm.p + 3, end);
		if (!parse_dec(&q, end, &v) && v <= INT32_MAX && (q == end || is_blank(*q))) {
			h->machine_pid = (u32)v;
			q = skip_blanks(q, end);
			comm = (struct span){ q, (size_t)(end - q) };
		}
	}
	if (span_starts(comm, "VCPU:")) {
		q = comm.p + 5;
		if (!parse_dec(&q, end, &v) && v < PERF_NO_CPU && (q == end || is_blank(*q))) {
			h->vcpu = (u32)v;
			q = skip_blanks(q, end);
			comm = (struct span){ q, (size_t)(end - q) };
		}
	}
	return comm;
}

/* [VM][VCPU][comm][tid] */
static void scan_task(const char *p, const char *end, struct head *h, bool *has_tid)
{
	const char *e = end;
	struct span word = last_word(p, &e);

	h->pid = h->tid = PERF_NO_PID;
	*has_tid = word.n && scan_tid(word, &h->pid, &h->tid);
	if (!*has_tid)
		e = word.p + word.n;
	h->comm = take_guest(span_trim((struct span){ p, (size_t)(e - p) }), h);
}

/* Where a task of n bytes, 16 to TASK_MAX, is kept. */
static struct known_task *task_slot(struct known_heads *known, const char *p, size_t n)
{
	u64 a, b, c;

	memcpy(&a, p, 8);
	memcpy(&b, p + n - 16, 8);
	memcpy(&c, p + n - 8, 8);
	return &known->tasks[hash_u64(c ^ hash_u64(b ^ hash_u64(a))) >> (64 - TASK_BITS)];
}

/* For few bytes, so a call is not worth it. */
static inline bool same_bytes(const char *a, const char *b, size_t n)
{
	u64 diff = 0;
	size_t i;

	if (n < 8) {
		for (i = 0; i < n; i++)
			diff |= (u8)(a[i] ^ b[i]);
		return !diff;
	}
	for (i = 0; i + 8 < n; i += 8)
		diff |= load_u64(a + i) ^ load_u64(b + i);
	return !(diff | (load_u64(a + n - 8) ^ load_u64(b + n - 8)));
}

static bool task_is(const struct known_task *k, const char *p, size_t n)
{
	return k->n == n && same_bytes(k->raw, p, n);
}

static void take_task(struct known_task *k, const char *p, struct head *h)
{
	h->comm = (struct span){ p + k->comm_at, k->comm_n };
	h->pid = k->pid;
	h->tid = k->tid;
	h->machine_pid = k->machine_pid;
	h->vcpu = k->vcpu;
	h->comm_name = &k->name;
}

/* The same, which depends on these bytes alone. `known` may be NULL. */
static void scan_task_again(struct known_heads *known, const char *p, const char *end,
			    struct head *h, bool *has_tid)
{
	size_t n = (size_t)(end - p);
	struct known_task *k;

	if (!known || n < 16 || n > TASK_MAX) {
		scan_task(p, end, h, has_tid);
		return;
	}
	k = task_slot(known, p, n);
	if (task_is(k, p, n)) {
		take_task(k, p, h);
		*has_tid = k->has_tid;
		return;
	}
	scan_task(p, end, h, has_tid);
	memcpy(k->raw, p, n);
	k->n = (u8)n;
	k->comm_at = (u8)(h->comm.p - p);
	k->comm_n = (u8)h->comm.n;
	k->pid = h->pid;
	k->tid = h->tid;
	k->machine_pid = h->machine_pid;
	k->vcpu = h->vcpu;
	k->has_tid = *has_tid;
	k->has_colon = memchr(p, ':', n) != NULL;
	k->name = TEXT_NO_NAME;
}

/*
 * What stands before the time or the event: [VM][VCPU][comm][tid][cpu][misc][date].  False: no tid
 * and nothing that could be a comm.
 */
static bool scan_front(struct known_heads *known, const char *p, const char *end, struct head *h,
		       bool *has_tid)
{
	const char *e = end, *before;
	struct span word, next;

	h->cpu = PERF_NO_CPU;
	word = last_word(p, &e);
	if (is_clock(word)) {
		word = last_word(p, &e);
		if (is_date(word))
			word = last_word(p, &e);
	}
	before = e;
	if (is_misc(word)) {
		u32 pid, tid;

		next = last_word(p, &before);
		if (scan_cpu(next, &h->cpu) || scan_tid(next, &pid, &tid)) {
			e = before;
			word = next;
		}
		h->cpu = PERF_NO_CPU;
	}
	e = word.p + word.n;
	if (scan_cpu(word, &h->cpu))
		for (e = word.p; e > p && is_blank(e[-1]); e--)
			;
	scan_task_again(known, p, e, h, has_tid);
	return *has_tid || h->comm.n > 0;
}

/* "=>" of a branch event: the frame is the branch's start, or its end when the start is not known.
 */
static struct span branch_frame(struct span s)
{
	const char *end = s.p + s.n, *arrow, *p = s.p, *q;
	u64 addr = 0;

	arrow = memmem(s.p, s.n, " => ", 4);
	if (!arrow)
		return s;
	/* Words before the address name the kind of branch. */
	for (;;) {
		p = skip_blanks(p, arrow);
		if (p == arrow)
			return (struct span){ s.p, 0 };
		if (scan_addr(p, arrow, &addr))
			break;
		q = memchr(p, ' ', (size_t)(arrow - p));
		if (!q)
			return (struct span){ s.p, 0 };
		p = q;
	}
	if (addr)
		return (struct span){ p, (size_t)(arrow - p) };
	p = skip_blanks(arrow + 4, end);
	return (struct span){ p, (size_t)(end - p) };
}

/* A frame at the end of the line: "address[ symbol …]"; payloads of tracepoints are not taken for
 * one. */
static struct span flat_frame(struct span rest)
{
	const char *end = rest.p + rest.n, *p, *q, *r;
	u64 addr, addr2;

	rest = branch_frame(span_trim(rest));
	p = rest.p;
	end = rest.p + rest.n;
	q = scan_addr(p, end, &addr);
	if (!q)
		return (struct span){ p, 0 };
	/* A data address before the instruction's (`-F +addr`). */
	q = skip_blanks(q, end);
	r = q < end ? scan_addr(q, end, &addr2) : NULL;
	if (r && r - q >= 8 && r < end)
		rest = (struct span){ q, (size_t)(end - q) };
	return rest;
}

/* A colon with a blank or the end behind it. */
static bool has_event(const char *p, const char *end)
{
	for (; (p = memchr(p, ':', (size_t)(end - p))); p++)
		if (p + 1 == end || is_blank(p[1]))
			return true;
	return false;
}

/*
 * Behind the time: [period] [event:] [rest].  `strict`: false unless there is an event.
 */
static enum head_kind scan_back(const char *p, const char *end, struct head *h, bool strict)
{
	const char *e;
	struct span word;
	u64 v;

	h->period = 1;
	h->event.n = h->frame.n = 0;
	p = skip_blanks(p, end);
	if (p > h->comm.p && p[-1] == '\t' &&
	    span_starts((struct span){ p, (size_t)(end - p) }, "metric:"))
		return HEAD_OTHER;
	if (p == end)
		return strict ? HEAD_NONE : HEAD_SAMPLE;
	for (e = p; e < end && !is_blank(*e); e++)
		;
	word = (struct span){ p, (size_t)(e - p) };
	if (all_digits(word)) {
		const char *n = skip_blanks(e, end);
		const char *ne = n;

		/* A number is the period when an event, an address or nothing follows; else it is
		 * an address in digits. */
		while (ne < end && !is_blank(*ne))
			ne++;
		if (n == end || ne[-1] == ':' ||
		    (scan_addr(n, end, &v) ? ne - n >= 8 : has_event(n, end))) {
			if (!span_u64(word, &h->period))
				return HEAD_NONE;
			p = n;
			e = ne;
			word = (struct span){ p, (size_t)(e - p) };
			if (n == end)
				return strict ? HEAD_NONE : HEAD_SAMPLE;
		}
	}
	if (word.n > 1 && word.p[word.n - 1] == ':' && !is_digit(word.p[0])) {
		h->event = (struct span){ word.p, word.n - 1 };
		p = e;
	} else if (strict || !scan_addr(word.p, end, &v)) {
		/* A name with blanks ends at the first ": ". */
		const char *c = p;

		while ((c = memchr(c, ':', (size_t)(end - c))) && c + 1 < end && !is_blank(c[1]))
			c++;
		if (!c || is_digit(*p))
			return strict ? HEAD_NONE : HEAD_SAMPLE;
		h->event = (struct span){ p, (size_t)(c - p) };
		p = c + 1;
	}
	h->frame = flat_frame((struct span){ p, (size_t)(end - p) });
	return HEAD_SAMPLE;
}

/* "seconds.fraction" before the colon; nanoseconds. */
static bool scan_time(const char *start, const char *colon, const char **first, u64 *ns)
{
	const char *p = colon, *dot, *q;
	u64 sec, frac;
	ptrdiff_t digits;

	while (p > start && is_digit(p[-1]))
		p--;
	digits = colon - p;
	if (!digits || digits > 9 || p == start || p[-1] != '.')
		return false;
	dot = p - 1;
	for (q = dot; q > start && is_digit(q[-1]); q--)
		;
	if (q == dot || (q > start && !is_blank(q[-1])))
		return false;
	*first = q;
	if (parse_dec(&q, dot, &sec) || q != dot || parse_dec(&p, colon, &frac) || p != colon)
		return false;
	for (; digits < 9; digits++)
		frac *= 10;
	if (sec > UINT64_MAX / 1000000000 - 1)
		return false;
	*ns = sec * 1000000000 + frac;
	return true;
}

/* "[comm] event:" without a tid: the event goes into *h, what is left of the front is returned. */
static struct span take_bare_event(struct span front, struct head *h)
{
	const char *e = front.p + front.n;
	struct span word = last_word(front.p, &e);

	h->event.n = 0;
	if (word.n < 2 || word.p[word.n - 1] != ':' || is_digit(word.p[0]))
		return front;
	h->event = (struct span){ word.p, word.n - 1 };
	return (struct span){ front.p, (size_t)(e - front.p) };
}

/*
 * Whether an address that ends at `end` is in its place behind a column that ends at q: set to the
 * right in 16 columns, with the misc column (6) or empty flags (24) before it perhaps.
 */
static bool is_in_column(const char *p, const char *q, const char *end)
{
	const char *word = q;

	while (word > p && !is_blank(word[-1]))
		word--;
	return (end - q >= 17 && end - q <= 18) || end - q == 42 ||
	       (end - word == 23 && is_misc((struct span){ word, (size_t)(q - word) }));
}

/* "comm tid  address symbol", "cpu  address", "event:  address": no time to hold on to. */
static bool scan_bare_flat(const char *p, const char *end, struct head *h)
{
	const char *q = p, *w, *we;
	struct span front;
	bool has_tid;
	u64 addr;

	while (q < end) {
		w = skip_blanks(q, end);
		for (we = w; we < end && !is_blank(*we); we++)
			;
		if (w > q && w > p && we > w && scan_addr(w, end, &addr) &&
		    is_in_column(p, q, we)) {
			front = take_bare_event((struct span){ p, (size_t)(q - p) }, h);
			if (scan_front(NULL, front.p, front.p + front.n, h, &has_tid) ||
			    h->cpu != PERF_NO_CPU || h->event.n) {
				h->time = PERF_NO_TIME;
				h->period = 1;
				h->frame = (struct span){ w, (size_t)(end - w) };
				return true;
			}
		}
		q = we;
	}
	return false;
}

/*
 * A number alone is a tid (set in 5 or 7 columns) or a period (in 10): which, the blanks before it
 * tell.
 */
static bool is_wide_number(const char *p, struct span word)
{
	const char *q = word.p;

	if (!all_digits(word))
		return false;
	while (q > p && q[-1] == ' ')
		q--;
	/* One blank goes with the comm. */
	return word.p + word.n - q >= (q > p ? 11 : 10);
}

/* Without a time: the event's colon with a tid, and perhaps a period, before it. */
static enum head_kind scan_no_time(const char *p, const char *end, struct head *h)
{
	const char *c = p;

	while ((c = memchr(c, ':', (size_t)(end - c)))) {
		const char *e = c, *f;
		struct span name, word;
		bool has_tid, has_period = false;

		if (c + 1 < end && !is_blank(c[1])) {
			c++;
			continue;
		}
		name = last_word(p, &e);
		f = e;
		word = last_word(p, &f);
		h->period = 1;
		if (name.n && !is_digit(name.p[0]) && all_digits(word)) {
			struct head probe = *h;

			/* Two numbers: tid and period. */
			if (scan_front(NULL, p, f, &probe, &has_tid) && has_tid) {
				if (!span_u64(word, &h->period))
					return HEAD_NONE;
				e = f;
				has_period = true;
			}
		}
		if (!has_period && name.n && is_wide_number(p, word) &&
		    span_u64(word, &h->period)) {
			e = f;
			has_period = true;
		}
		if (name.n && !is_digit(name.p[0]) &&
		    (scan_front(NULL, p, e, h, &has_tid) || skip_blanks(p, e) == e) &&
		    (has_tid || has_period)) {
			h->time = PERF_NO_TIME;
			h->event = (struct span){ name.p, (size_t)(c - name.p) };
			h->frame = flat_frame((struct span){ c + 1, (size_t)(end - c - 1) });
			return HEAD_SAMPLE;
		}
		c++;
	}
	return HEAD_NONE;
}

/* "comm tid", "tid", "comm period" … and nothing else (`-F comm,tid,ip,sym`). */
static bool scan_bare(const char *p, const char *end, struct head *h)
{
	struct span word;
	const char *e;
	bool has_tid;
	u64 v;

	h->period = 1;
	h->comm_name = h->event_name = NULL;
	while (end > p && (is_blank(end[-1]) || end[-1] == '\r'))
		end--;
	e = end;
	word = last_word(p, &e);
	if (is_wide_number(p, word) && span_u64(word, &v)) {
		h->period = v;
		if (!scan_front(NULL, p, e, h, &has_tid) && skip_blanks(p, e) < e)
			return false;
	} else if (!scan_front(NULL, p, end, h, &has_tid) || !has_tid) {
		return false;
	}
	h->time = PERF_NO_TIME;
	h->event.n = h->frame.n = 0;
	return true;
}

static u64 lost_of(const char *p, const char *end)
{
	const char *l = memmem(p, (size_t)(end - p), "lost ", 5);
	u64 v = 0;

	if (l)
		l += 5;
	return l && !parse_dec(&l, end, &v) ? v : 0;
}

/* Most lines have no 'P': then a search for the whole word costs more than it finds. */
static const char *find_record(const char *p, const char *end)
{
	while ((p = memchr(p, 'P', (size_t)(end - p))) &&
	       !span_starts((struct span){ p, (size_t)(end - p) }, "PERF_RECORD_"))
		p++;
	return p;
}

#define EACH_BYTE 0x0101010101010101ULL

/* The number that n digits are, 1 to 9, with 8 bytes of the same line before them: 8 digits are one
 * word, in which neighbours become numbers of 2, 4 and 8 digits. */
static ALWAYS_INLINE bool take_digits(const char *p, u32 n, u64 *v)
{
	u64 first = n > 8 ? (u8)(p[0] - '0') : 0, x;

	/* The first digit is the lowest byte; bytes that are none of them count as 0. */
	x = le64toh(load_u64(p + n - 8)) ^ '0' * EACH_BYTE;
	if (n < 8)
		x &= UINT64_MAX << (64 - 8 * n);
	/* Above 9, or above 127? */
	if (first > 9 || ((x + (127 - 9) * EACH_BYTE) | x) & 128 * EACH_BYTE)
		return false;
	x = x * 10 + (x >> 8);
	x = (x & 0x00ff00ff00ff00ff) * 100 + (x >> 16 & 0x00ff00ff00ff00ff);
	x = (x & 0xffff) * 10000 + (x >> 32 & 0xffff);
	*v = first * 100000000 + x;
	return true;
}

/* A line like one before: what scan_head() would say of it.  False: it has to be asked. */
static bool scan_known(struct known_heads *known, const char *p, const char *end, struct head *h)
{
	size_t n = (size_t)(end - p), task_n;
	struct known_line *k = &known->lines[n % ARRAY_SIZE(known->lines)];
	struct known_task *t;
	u64 cpu, sec, frac;
	static const u32 pow10[] = {
		1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000
	};
	u32 digits;

	if (k->n != n || p[k->cpu_at] != '[' || p[k->dot_at] != '.' ||
	    !same_bytes(p + k->colon_at, k->raw + k->colon_at, n - k->colon_at) ||
	    !same_bytes(p + k->cpu_at + 4, k->raw + k->cpu_at + 4, k->time_at - k->cpu_at - 4))
		return false;
	digits = k->colon_at - k->dot_at - 1;
	if (!take_digits(p + k->cpu_at + 1, 3, &cpu) ||
	    !take_digits(p + k->time_at, k->dot_at - k->time_at, &sec) ||
	    !take_digits(p + k->dot_at + 1, digits, &frac))
		return false;
	for (task_n = k->cpu_at; task_n && is_blank(p[task_n - 1]); task_n--)
		;
	/* Without a blank before it, it is part of a word. */
	if (task_n == k->cpu_at || task_n < 16 || task_n > TASK_MAX)
		return false;
	t = task_slot(known, p, task_n);
	/* Another colon could be taken for the time's. */
	if (!task_is(t, p, task_n) || !t->has_tid || t->has_colon)
		return false;
	take_task(t, p, h);
	h->time = sec * 1000000000 + frac * pow10[9 - digits];
	h->period = k->period;
	h->cpu = (u32)cpu;
	h->event = (struct span){ p + k->event_at, k->event_n };
	h->event_name = &k->event_name;
	h->frame.n = 0;
	return true;
}

/* Keeps a line for scan_known(), if its processor has three digits and its time has no more than
 * fit for sure. */
static void keep_line(struct known_heads *known, const char *p, const char *end, const char *time,
		      const char *colon, const struct head *h)
{
	size_t n = (size_t)(end - p);
	struct known_line *k = &known->lines[n % ARRAY_SIZE(known->lines)];
	const char *dot = memchr(time, '.', (size_t)(colon - time)), *q = time;

	while (q > p && is_blank(q[-1]))
		q--;
	if (n > sizeof(k->raw) || !dot || dot - time > 9 || q - p < 5 + 16 || q[-1] != ']' ||
	    q[-5] != '[')
		return;
	memcpy(k->raw, p, n);
	k->n = (u32)n;
	k->cpu_at = (u32)(q - 5 - p);
	k->time_at = (u32)(time - p);
	k->dot_at = (u32)(dot - p);
	k->colon_at = (u32)(colon - p);
	k->event_at = (u32)(h->event.p - p);
	k->event_n = (u32)h->event.n;
	k->event_name = TEXT_NO_NAME;
	k->period = h->period;
}

/*
 * The first line of a sample.  Of several things that look like a time the first one with an event
 * behind it is taken (a comm can look like one, a payload too), else the last one.
 */
static enum head_kind scan_head(struct known_heads *known, const char *p, const char *end,
				struct head *h)
{
	const char *c, *first, *whole = end;
	enum head_kind kind, best = HEAD_NONE;
	struct head t;
	bool has_tid;
	u64 ns;

	h->lost = 0;
	if (known && scan_known(known, p, end, h))
		return HEAD_SAMPLE;
	h->comm_name = h->event_name = NULL;
	c = find_record(p, end);
	if (c && (c == p || c[-1] == ' ')) {
		/* In dumps (`-D`) "0x1f40 [0x30]: " stands before it, and the record may be told
		 * again. */
		if (!strncmp(c + 12, "LOST", 4) && !(c >= p + 3 && c[-3] == ']'))
			h->lost = lost_of(c, end);
		return HEAD_OTHER;
	}
	/* scan_known() does not look for it. */
	if (c)
		known = NULL;
	while (end > p && (is_blank(end[-1]) || end[-1] == '\r'))
		end--;
	for (c = p; (c = memchr(c, ':', (size_t)(end - c))); c++) {
		if (c + 1 < end && !is_blank(c[1]))
			continue;
		if (!scan_time(p, c, &first, &ns))
			continue;
		t = (struct head){ .time = ns };
		if (skip_blanks(p, first) < first && !scan_front(known, p, first, &t, &has_tid))
			continue;
		if (skip_blanks(p, first) == first) {
			t.pid = t.tid = PERF_NO_PID;
			t.cpu = t.vcpu = PERF_NO_CPU;
		}
		kind = scan_back(c + 1, end, &t, true);
		if (kind != HEAD_NONE) {
			*h = t;
			if (known && kind == HEAD_SAMPLE && !t.frame.n)
				keep_line(known, p, whole, first, c, &t);
			return kind;
		}
		kind = scan_back(c + 1, end, &t, false);
		if (kind != HEAD_NONE) {
			*h = t;
			best = kind;
		}
	}
	if (best != HEAD_NONE)
		return best;
	kind = scan_no_time(p, end, h);
	if (kind != HEAD_NONE)
		return kind;
	if (scan_bare_flat(p, end, h))
		return HEAD_SAMPLE;
	return HEAD_NONE;
}

/* ---- a piece ---- */

/* The entry of the frame in the line(s) at *p, by its key if it has been there before; as
 * entry_at(). */
static u32 entry_by_key(struct text_worker *w, struct text_piece *piece, const char **p,
			const char *end)
{
	struct script_worker *sw = w->priv;
	const u32 *slot = cache_slot(sw, end - *p > KEY_END ? load_key(*p) : 0);
	unsigned tries;

	for (tries = 0; tries < 2 && *slot != NO_ENTRY; tries++, slot = other_slot(sw, slot)) {
		const struct entry *e = &sw->entries.v[*slot];

		if (entry_may_be(e, *p, end) && hash_line(sw, *p, e->len) == e->hash) {
			piece->lines += e->lines;
			*p += e->len;
			return *slot;
		}
	}
	return entry_at(w, piece, p, end);
}

/* What followed this time is expected first the next time. */
static inline void expect(struct entry *e, u32 id)
{
	if (e->next[0] == id)
		return;
	e->next[1] = e->next[0];
	e->next[0] = id;
}

/* Whether the line at p is that of `e`, which is no longer than what is there. */
static ALWAYS_INLINE bool entry_is(const u64 seed[2], const struct entry *e, const char *p,
				   bool aes)
{
	return (aes ? hash_line_aes(seed, p, e->len, e->middle) : hash_line_any(seed, p, e->len)) ==
	       e->hash;
}

/*
 * The lines behind that of an entry, as long as each is one that is expected; returns the last
 * one's entry.  All begin with a tab, since the first one does.
 */
static ALWAYS_INLINE u32 read_expected(struct script_worker *sw, struct text_piece *piece,
				       struct walk *k, u32 id, const char **at, const char *end,
				       bool aes)
{
	struct entry *const entries = sw->entries.v;
	const u64 seed[2] = { sw->seed[0], sw->seed[1] };
	/* Before it, any entry's line is shorter than what is there. */
	const char *p = *at, *safe = end - MIN(end - p, QUICK_MAX + 1);
	u32 *chain, *first, start = id, to;
	u8 kind = k->kind;
	u64 more = 0;

	/* No line here is shorter. */
	vec_reserve(&piece->chain, (size_t)(end - p) / KEY_END + 1);
	chain = first = piece->chain.v + piece->chain.n;
	for (;; id = to) {
		struct entry *e = &entries[id];
		const struct entry *next;

		to = e->next[0];
		if (to == NO_ENTRY)
			break;
		next = &entries[to];
		if (UNLIKELY(p >= safe) && end - p <= next->len)
			break;
		/* The key alone tells of most that it is not, and much sooner. */
		if (UNLIKELY(load_key(p) != next->key || !entry_is(seed, next, p, aes))) {
			to = e->next[1];
			if (to == NO_ENTRY)
				break;
			next = &entries[to];
			if (!entry_may_be(next, p, end) || !entry_is(seed, next, p, aes))
				break;
			expect(e, to);
		}
		if (LIKELY(next->kind == kind)) {
			*chain++ = to * TEXT_VARIANTS;
		} else {
			if (p[next->len] == ' ')
				break;
			*chain++ = walk_add(k, sw, to);
			more += next->lines - 1u;
			kind = k->kind;
		}
		p += next->len;
		/* The processor does not look beyond the page on its own. */
		__builtin_prefetch(p + 1024);
	}
	/* The line behind the last one may belong to it; that of others is known to begin with a
	 * tab. */
	if (chain > first && *p == ' ') {
		p -= entries[id].len;
		chain--;
		id = chain > first ? chain[-1] / TEXT_VARIANTS : start;
	}
	piece->lines += (u64)(chain - first) + more;
	piece->chain.n += (size_t)(chain - first);
	*at = p;
	return id;
}

TARGET_AES static u32 expected_with_aes(struct script_worker *sw, struct text_piece *piece,
					struct walk *k, u32 id, const char **at, const char *end)
{
	return read_expected(sw, piece, k, id, at, end, true);
}

static u32 expected_without(struct script_worker *sw, struct text_piece *piece, struct walk *k,
			    u32 id, const char **at, const char *end)
{
	return read_expected(sw, piece, k, id, at, end, false);
}

/* All frame lines at p; returns the first byte behind them. */
static const char *read_stack(struct text_worker *w, struct text_piece *piece, const char *p,
			      const char *end)
{
	struct script_worker *sw = w->priv;
	u32 id, prev = NO_ENTRY;
	const char lead = *p;
	struct head h;
	struct walk k;

	walk_init(&k);
	while (p < end && *p == lead) {
		if (lead == ' ' && !k.first &&
		    scan_head(&sw->heads, p, line_end(p, end), &h) != HEAD_NONE)
			break;
		id = entry_by_key(w, piece, &p, end);
		if (id == NO_ENTRY)
			break;
		if (prev != NO_ENTRY && sw->entries.v[id].len)
			expect(&sw->entries.v[prev], id);
		vec_push(&piece->chain, walk_add(&k, sw, id));
		prev = id;
		/* A line that begins with a blank has to be looked at first. */
		if (lead != ' ')
			prev = sw->aes ? expected_with_aes(sw, piece, &k, id, &p, end)
				       : expected_without(sw, piece, &k, id, &p, end);
	}
	return p;
}

/* Lines beside samples that are understood: dumps (`-D`), registers, source text, errors of the
 * trace decoder. */
static bool is_known_line(const char *p, const char *end)
{
	struct span s = span_trim((struct span){ p, (size_t)(end - p) });

	switch (s.n ? s.p[0] : 0) {
	case '.': return s.n == 1 || s.p[1] == '.' || s.p[1] == ' ';
	case '0': return span_starts(s, "0x") && memmem(s.p, s.n, "]: event: ", 10);
	case '|':
	case '#': return true;
	case 'A': return *p == ' ' && span_starts(s, "ABI:");
	case 'i':
		return *p == ' ' && (span_starts(s, "instruction trace error") ||
				     span_starts(s, "insn: ") || span_starts(s, "ilen: "));
	default: return false;
	}
}

/* Whether the line at p, which `end` may be far behind, is one of a stack. */
static bool is_frame_line(const char *p, const char *end)
{
	u64 addr;

	if (p >= end || !is_blank(*p))
		return false;
	end = line_end(p, end);
	return scan_addr(skip_blanks(p, end), end, &addr) != NULL;
}

/* What `-F` puts behind a stack on a line of its own: a physical address, sizes of pages. */
static bool is_tail_line(const char *p, const char *end)
{
	struct span s = span_trim((struct span){ p, (size_t)(end - p) });
	size_t i;

	if (*p != ' ' || !s.n)
		return false;
	if (is_frame_line(p, end) || span_starts(s, "N/A"))
		return true;
	for (i = 0; i < s.n && is_digit(s.p[i]); i++)
		;
	return i && i < s.n && memchr("KMGTPE", s.p[i], 6) &&
	       (i + 1 == s.n || is_blank(s.p[i + 1]));
}

struct open_sample {
	struct text_sample s;
	bool open;
	bool headed; /* it has a first line */
	bool tabs;   /* its frames start with a tab, as perf prints them */
};

static void sample_close(struct text_piece *piece, struct open_sample *o)
{
	if (!o->open)
		return;
	o->s.chain_nr = (u32)(piece->chain.n - o->s.chain);
	vec_push(&piece->samples, o->s);
	o->open = false;
}

static const struct head no_head = {
	.time = PERF_NO_TIME,
	.period = 1,
	.pid = PERF_NO_PID,
	.tid = PERF_NO_PID,
	.cpu = PERF_NO_CPU,
	.vcpu = PERF_NO_CPU,
};

static u32 name_of(struct text_worker *w, struct text_piece *piece, struct span s, u32 *known)
{
	if (!known)
		return text_worker_name(w, piece, s.p, s.n);
	if (*known == TEXT_NO_NAME)
		*known = text_worker_name(w, piece, s.p, s.n);
	return *known;
}

static void sample_open(struct text_worker *w, struct text_piece *piece, struct open_sample *o,
			const struct head *h)
{
	sample_close(piece, o);
	o->s = (struct text_sample){
		.time = h->time,
		.period = h->period,
		.count = 1,
		.pid = h->pid,
		.tid = h->tid,
		.cpu = h->cpu,
		.machine_pid = h->machine_pid,
		.vcpu = h->vcpu,
		.comm = TEXT_NO_NAME,
		.event = TEXT_NO_NAME,
		.chain = (u32)piece->chain.n,
	};
	if (h->comm.n)
		o->s.comm = name_of(w, piece, h->comm, h->comm_name);
	if (h->event.n)
		o->s.event = name_of(w, piece, h->event, h->event_name);
	o->open = true;
	o->headed = h != &no_head;
	o->tabs = false;
}

/* A single frame at the end of the first line, with a source line perhaps below it. */
static const char *flat_stack(struct text_worker *w, struct text_piece *piece, struct span frame,
			      const char *behind, const char *end)
{
	const char *p = frame.p, *stop = frame.p + frame.n;
	struct head next;
	struct walk k;
	u32 id;

	walk_init(&k);
	/* The frame need not go on to the end of the line. */
	if (stop < behind && memchr(stop, '=', (size_t)(behind - stop))) {
		id = entry_at(w, piece, &p, stop);
		if (id != NO_ENTRY) {
			piece->lines--;
			vec_push(&piece->chain, walk_add(&k, w->priv, id));
		}
		return behind;
	}
	/* A first line can begin like a source line: its comm is set to the right. */
	if (is_srcline(behind, end) &&
	    scan_head(NULL, behind, line_end(behind, end), &next) == HEAD_NONE)
		behind = end;
	id = entry_at(w, piece, &p, behind);
	if (id == NO_ENTRY)
		return behind;
	piece->lines--; /* the first line has been counted */
	vec_push(&piece->chain, walk_add(&k, w->priv, id));
	return p;
}

static void parse(struct text_worker *w, struct text_piece *piece)
{
	struct script_worker *sw = w->priv;
	struct open_sample o = { .open = false };
	const char *p = piece->p, *end = piece->end, *e, *next;
	enum head_kind kind;
	struct head h;

	while (p < end) {
		if (*p == '\n') {
			/* A payload that ends in a newline: the stack is still to come. */
			if (!(o.open && o.headed && o.s.chain == piece->chain.n && p + 1 < end &&
			      p[1] == '\t' && is_frame_line(p + 1, end)))
				sample_close(piece, &o);
			piece->lines++;
			p++;
			continue;
		}
		if (o.open && is_blank(*p)) {
			next = p;
			/* With blanks instead of a tab it can as well be a first line, its comm set
			 * to the right. */
			if (*p == '\t' || (!o.tabs && scan_head(&sw->heads, p, line_end(p, end),
								&h) == HEAD_NONE)) {
				o.tabs |= *p == '\t';
				next = read_stack(w, piece, p, end);
			}
			if (next != p) {
				p = next;
				continue;
			}
		}
		e = line_end(p, end);
		next = e < end ? e + 1 : e;
		if (e - p == 1 && *p == '\r') {
			sample_close(piece, &o);
			piece->lines++;
			p = next;
			continue;
		}
		/* A comm can begin so, too: then frames stand below. */
		if (*p == '#' && (e - p == 1 || p[1] == ' ' || p[1] == '\r') &&
		    !(next < end && *next == '\t' && e - p > 2 && is_frame_line(next, end) &&
		      scan_head(&sw->heads, p, e, &h) == HEAD_SAMPLE)) {
			buf_put(&piece->notes, p, (size_t)(e - p));
			buf_putc(&piece->notes, '\n');
			piece->lines++;
			p = next;
			continue;
		}
		if ((*p == '.' || *p == ' ' || *p == '0') && is_known_line(p, e)) {
			/* Registers stand behind the frames, dumps before the sample. */
			if (*p == ' ')
				sample_close(piece, &o);
			piece->lines++;
			p = next;
			continue;
		}
		/* Its innermost frame is not expected: what is to be looked up for it is fetched.
		 */
		if (end - next > KEY_END)
			__builtin_prefetch(cache_slot(sw, load_key(next)));
		kind = *p == '\t' ? HEAD_NONE : scan_head(&sw->heads, p, e, &h);
		if (kind == HEAD_NONE && *p != '\t' && next < end &&
		    (!is_blank(*p) || *next == '\t') && is_frame_line(next, end) &&
		    !is_known_line(p, e)) {
			/* What stands above frames is a first line, be it a comm alone. */
			if (!scan_bare(p, e, &h)) {
				h = no_head;
				h.comm = span_trim((struct span){ p, (size_t)(e - p) });
				h.comm = span_trim(take_bare_event(h.comm, &h));
			}
			kind = HEAD_SAMPLE;
		}
		if (kind == HEAD_SAMPLE) {
			sample_open(w, piece, &o, &h);
			piece->lines++;
			/* Frames below mean that the rest of the line is something else. */
			if (h.frame.n &&
			    !(next < end && *next == '\t' && is_frame_line(next, end))) {
				next = flat_stack(w, piece, h.frame, next, end);
				sample_close(piece, &o);
			}
			p = next;
			continue;
		}
		if (kind == HEAD_OTHER) {
			sample_close(piece, &o);
			piece->lost += h.lost;
			piece->lines++;
			p = next;
			continue;
		}
		if (!o.open && is_frame_line(p, e)) {
			/* Frames without a first line (`-F ip,sym`): a stack, or one frame a line.
			 */
			sample_open(w, piece, &o, &no_head);
			if (*p == '\t') {
				p = read_stack(w, piece, p, end);
			} else {
				piece->lines++;
				p = flat_stack(w, piece, (struct span){ p, (size_t)(e - p) }, next,
					       end);
				sample_close(piece, &o);
			}
			continue;
		}
		if (is_known_line(p, e)) {
			/* passed over */
		} else if (o.open && o.tabs && is_tail_line(p, e)) {
			sample_close(piece, &o);
		} else if (!o.open && !is_blank(*p) && scan_bare(p, e, &h)) {
			/* A sample without any frame, by its tid. */
			sample_open(w, piece, &o, &h);
		} else {
			text_piece_bad(piece, piece->lines, p, e);
		}
		piece->lines++;
		p = next;
	}
	sample_close(piece, &o);
}

/*
 * Behind the last empty line, but not where it is the newline that a payload ends in, with the
 * stack still to come; else before the last line that is a first line for sure.
 */
static size_t cut(const void *ctx, const char *text, size_t n)
{
	const char *p = text + n, *e, *line;
	unsigned tries = 0;
	struct head h;

	(void)ctx;
	while ((p = memrchr(text, '\n', (size_t)(p - text)))) {
		e = p > text && p[-1] == '\r' ? p - 1 : p;
		if (e == text || e[-1] != '\n')
			continue;
		/* What comes behind the last byte is not known here. */
		if (p + 1 < text + n && p[1] != '\t')
			return (size_t)(p - text) + 1;
		/* A frame before it: the end of its stack for sure. */
		line = memrchr(text, '\n', (size_t)(e - 1 - text));
		line = line ? line + 1 : text;
		if (is_blank(*line))
			return (size_t)(p - text) + 1;
	}
	p = memrchr(text, '\n', n);
	while (p && tries++ < 4096) {
		e = p;
		p = memrchr(text, '\n', (size_t)(e - text));
		if (p && p[1] != '\t' && p[1] != '|' && scan_head(NULL, p + 1, e, &h) != HEAD_NONE)
			return (size_t)(p - text) + 1;
	}
	return 0;
}

static void worker_init(struct text_worker *w)
{
	struct script_worker *sw = xcalloc(1, sizeof(*sw));

	cache_make(sw, CACHE_BITS_MIN);
	sw->aes = have_aes() && !w->portable;
	sw->seed[0] = hash_u64(w->seed);
	sw->seed[1] = hash_u64(sw->seed[0]);
	index_init(&sw->index);
	w->priv = sw;
}

static void worker_release(struct text_worker *w)
{
	struct script_worker *sw = w->priv;

	index_release(&sw->index);
	vec_release(&sw->entries);
	vec_release(&sw->lines);
	free(sw->cache);
	free(sw);
}

/* "# hostname : x" */
static bool note_value(struct span note, const char *key, struct span *value)
{
	struct span s = { note.p + 1, note.n - 1 };

	s = span_trim(s);
	if (!span_starts(s, key))
		return false;
	s.p += strlen(key);
	s.n -= strlen(key);
	s = span_trim(s);
	if (!s.n || s.p[0] != ':')
		return false;
	s.p++;
	s.n--;
	*value = span_trim(s);
	return true;
}

static void note(struct perf_reader *r, struct span n)
{
	struct perf_meta *m = &r->meta;
	struct {
		const char *key;
		char **value;
	} texts[] = {
		{ "hostname", &m->hostname }, { "os release", &m->release },
		{ "arch", &m->arch },         { "cpudesc", &m->cpudesc },
		{ "cpuid", &m->cpuid },       { "perf version", &m->version },
		{ "cmdline", &m->cmdline },
	};
	struct span v;
	size_t i;
	u64 u;

	for (i = 0; i < ARRAY_SIZE(texts); i++)
		if (!*texts[i].value && note_value(n, texts[i].key, &v) && v.n)
			*texts[i].value = xstrndup(v.p, v.n);
	if (note_value(n, "nrcpus online", &v) && span_u64(v, &u) && u < UINT32_MAX)
		m->nrcpus_online = (u32)u;
	if (note_value(n, "nrcpus avail", &v) && span_u64(v, &u) && u < UINT32_MAX)
		m->nrcpus_avail = (u32)u;
}

static const struct text_ops ops = {
	.cut = cut,
	.worker_init = worker_init,
	.worker_release = worker_release,
	.parse = parse,
	.note = note,
	.repeats = true,
};

/* ---- the format ---- */

/* A whole address behind blanks, set to the right: `-G -F ip,sym`. */
static bool is_bare_frame(const char *p, const char *end)
{
	const char *q = skip_blanks(p, end), *r;
	u64 addr;

	r = *p == ' ' ? scan_addr(q, end, &addr) : NULL;
	return r && r - q >= 10 && r - p == 17;
}

/* Of the first lines: those that only perf script has against those that it has not. */
static int script_probe(const u8 *head, size_t n, bool is_dir)
{
	const char *p = (const char *)head, *end = p + n, *e;
	unsigned good = 0, notes = 0, bad = 0, lines = 0;
	struct head h;

	if (is_dir || memchr(head, 0, MIN(n, 4096)))
		return 0;
	for (; p < end && lines < 400; p = e + 1) {
		e = line_end(p, end);
		if (e == end && n == INPUT_HEAD)
			break;
		lines++;
		if (e == p || (e - p == 1 && *p == '\r'))
			continue;
		if (*p == '#' && (e - p == 1 || p[1] == ' '))
			notes++;
		else if ((*p == '\t' && is_frame_line(p, e)) || is_bare_frame(p, e) ||
			 (*p != '\t' && scan_head(NULL, p, e, &h) != HEAD_NONE))
			good++;
		else if (!is_srcline(p, e) && !is_known_line(p, e) && !is_frame_line(e + 1, end))
			bad++;
	}
	if (good && good >= bad)
		return 50;
	if (!good && notes && !bad && n >= 10 && !memcmp(head, "# ========", 10))
		return 40;
	return good ? 5 : 0;
}

static int script_open(struct perf_reader *r, struct error *err)
{
	const char *head = (const char *)(r->in.map ? r->in.map : r->in.head), *p, *e;
	size_t n = r->in.map ? (size_t)MIN(r->in.size, (u64)INPUT_HEAD) : r->in.head_n;
	struct script *sc;
	struct span v;

	if (r->in.is_dir)
		return error_set(err, "'%s': is a directory", input_name(&r->in));
	sc = xcalloc(1, sizeof(*sc));
	r->priv = sc;
	for (p = head; n && p < head + n && *p == '#'; p = MIN(e + 1, head + n)) {
		e = line_end(p, head + n);
		if (note_value((struct span){ p, (size_t)(e - p) }, "arch", &v))
			sc->no_hv_range = !span_starts(v, "x86") && !span_starts(v, "i386") &&
					  !span_starts(v, "i686");
	}
	sc->pipe = text_pipe_new(r, &ops, sc, "samples");
	return 0;
}

const struct perf_format format_perf_script = {
	.name = "perf-script",
	.title = "perf script",
	.probe = script_probe,
	.open = script_open,
	.next = text_reader_next,
	.close = text_reader_close,
};
