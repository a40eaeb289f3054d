/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The data block of SVG and HTML: the whole view, nothing left out.
 *
 * An element <script id="xenflame-data" type="application/json"> whose text is a JSON object, or,
 * with the attribute data-encoding="gzip+base85", the gzip of that text: each four bytes as a
 * number of five digits to the base of 85, highest first, the one to three bytes that are left as
 * the first two to four digits of what they would be with zeros behind them.  digits85 are the
 * digits.  JSON strings have `<`, `>` and `&` escaped as \u00XX, so the text is the same in XML and
 * in HTML.
 * A damaged gzip is told by its own sum.  The plain text has none: it is what people and programs
 * may change, and a sum would refuse a file for a line that ends in CR LF since it was mailed.
 *
 * A column of whole numbers is a list of strings of one length: character i of string k is digit k
 * of item i to the base of 64, lowest first, as base64 writes digits.  Numbers that stand in one
 * string have one kind of distribution, which is what gzip packs best: two thirds of what the same
 * numbers take in decimal, and read several times as fast.  Members:
 *
 * - format: "xenflame"; version: 2
 * - title, subtitle, notes, event, unit, countname, nametype: strings
 * - total: what is 100 %, in `unit`; normally the sum of all self
 * - spaces: names of spaces; frames.space are indices in it
 * - strings: strings[0] is ""; each without the characters that it has in common with the start of
 *   the one before, of which there are as many as the column `shared` says
 * - bytes: {number in strings: the whole string as folded_escape() writes it}, for those that are
 *   not UTF-8; left out when there are none
 * - frames: columns with one item a frame, sorted by function, space, module:
 *   - name: index in strings, each less the one before (the first less 0)
 *   - suffix: title of a box is strings[name] + strings[suffix] ("_[h]", ":file.c:12" ...)
 *   - module, file: indices in strings, 0: not known
 *   - line: 0: not known
 *   - space
 *   - flags: bits of enum frame_flag (base/base.h)
 *   - color: index in palette
 * - nodes: a tree in preorder; node 0 is the root (no frame).  It is cut into chains: the first
 *   node of a chain is a further child of a node that there is, every other one is the first child
 *   of the one before, and the last one has no child.
 *   - run: by chain, nodes behind its first one
 *   - up: by chain, levels from its last node down to the first node of the next chain
 *   - callee: which callee of its parent's frame a node is: 0, one that has not stood on that
 *     frame before, namely the next item of fresh; k > 0, the k-th one that has.  The root counts
 *     as a frame of its own here.  The same calls come again and again, so this takes half the
 *     space of frames' numbers.  Left out for nodes on whose parent's frame none has stood yet,
 *     since these are 0.  Two nodes a digit, the first one in its upper three bits; 7 is 7 and the
 *     next item of more.
 *   - fresh: indices in frames
 *   - self_leaf: by chain, weight of the stack that ends at its last node
 *   - self_inner: the same of the other nodes, where it is not 0
 *   - self_gap: which nodes these are, as gaps: nodes between it and the one before
 *   - base_leaf, base_inner, base_gap: only when two profiles are compared: in the one compared
 *     with
 *   - sure: the same: nodes whose total differs beyond noise, as gaps
 *   - idle: HTML only, when there are any: nodes whose self waits for work, as gaps
 * - base_scale: only when two profiles are compared: base times this is comparable with self
 * - diff: the same:
 *   - terms, only_before, only_after: texts, how it was made and what only one of them has
 *   - normalize: "total" ...
 *   - width: "after", "before", "union"
 *   - samples, base_samples
 *   - half_self, half_total: by frame, half of the interval of the difference of its own weight
 *     and of that with callees, of all its places
 *   - factor: node, own, total: differences of that many halves are beyond noise
 * - by_event: true, HTML only: the view is of all events and the root's children are the events
 * - times: only when the profile has kept its samples, in order of time:
 *   - unit: ns of a tick
 *   - start: ns, of the first sample (a string of digits)
 *   - step: ticks since the sample before
 *   - node: number of the node that the sample belongs to
 *   - weight: left out when all are 1
 *   - merged: true when samples of a tick that differ in nothing else are one item here
 *   - and, HTML only, each pair where known, the second one a column:
 *     - machines, machine: numbers of guests, the first one 0: none; by sample an index in them
 *     - cpus, cpu: numbers of processors, null: not known; by sample an index in them
 *     - pids, tids, thread: of each thread, null: not known; by sample 0 when it is of the same
 *       thread as the sample before on its processor, else 1 more than an index in them
 * - palette: pairs of colours ["#rrggbb" on light paper, "#rrggbb" on dark paper]
 * - class_color, root_color: indices in palette: legend (hypervisor, kernel, user, JIT, guest
 *   kernel, guest user, other) and the box of all
 * - share_steps: only where colours tell the share of a box: index in palette of its colour is the
 *   square root of its share times this
 * - facts: pairs of strings
 * - quality: objects {name, text, count, strict}
 * - options: palette, height, font, fontsize, icicle, negate, factor, minwidth, background (null:
 *   none)
 *
 * Outside of columns, numbers over 2^53 are written as strings of digits, since JSON readers keep
 * no more; these can be total and count.
 */
#include <math.h>
#include <zlib.h>

#include "render/graph.h"

/* ---- the element: JSON, gzip, base85 ---- */

#define GZIP_FROM  (8 * 1024)   /* bytes of JSON from which on it is compressed */
#define BEST_UNTIL (512 * 1024) /* bytes of JSON until which it is compressed as well as can be */
#define GOOD_UNTIL (4u << 20)   /* bytes of JSON behind which it is compressed fast */
#define PIECE      (256 * 1024) /* bytes that are compressed at once when there are more */
#define TRIAL      (64 * 1024)  /* bytes of every fourth piece that are compressed to see how */

/* What becomes of the JSON.  Nothing is written before it is over or BEST_UNTIL long: then how is
 * known. */
struct sink {
	struct out *o;
	bool plain; /* no compression, whatever its length is */
	bool started, pieces;
	u64 chosen_until;  /* bytes of JSON */
	size_t limit;      /* bytes of text from which on sink_pass() is to be called */
	struct buf text;   /* JSON that has not been passed on */
	struct buf packed; /* gzip that is not yet base85: less than four bytes between calls */
	z_stream z;
};

/* Printable ASCII without what XML, HTML or JSON would have to escape. */
static const char digits85[] =
	"!#$%()*+,-./0123456789:;=?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`abcdefghijklmnopqrstuvwxyz{";

/* All whole groups of four bytes, with `end` the rest too. */
static void put_base85(struct sink *s, bool end)
{
	const u8 *p = (const u8 *)s->packed.p;
	size_t n = s->packed.n, i;
	struct buf *b = &s->o->buf;
	u32 k;

	buf_reserve(b, n / 4 * 5 + 5);
	for (i = 0; i + 4 <= n || (end && i < n); i += 4) {
		u32 bytes = n - i < 4 ? (u32)(n - i) : 4, v = 0;
		char *t = b->p + b->n;

		for (k = 0; k < 4; k++)
			v = v << 8 | (k < bytes ? p[i + k] : 0);
		for (k = 5; k-- > 0; v /= 85)
			t[k] = digits85[v % 85];
		b->n += bytes + 1;
	}
	i = MIN(i, n);
	if (i)
		memmove(s->packed.p, p + i, n - i);
	s->packed.n = n - i;
	out_flush_if_full(s->o);
}

static void sink_start(struct sink *s)
{
	s->started = true;
	s->limit = PIECE;
	if (s->text.n < GZIP_FROM)
		s->plain = true;
	if (s->plain) {
		out_puts(s->o, "<script id=\"xenflame-data\" type=\"application/json\">");
		return;
	}
	out_puts(s->o, "<script id=\"xenflame-data\" type=\"application/gzip\" "
		       "data-encoding=\"gzip+base85\">");
	/*
	 * 15 + 16: a gzip header, without name and time.  Level 9 saves 5 % over 6 and takes ten
	 * times as long on columns of numbers: worth it for what is mailed, not for a million
	 * nodes.  Level 4 takes a quarter of the time of 6 for 7 % more.
	 */
	s->pieces = s->text.n >= BEST_UNTIL;
	if (deflateInit2(&s->z, s->pieces ? 6 : 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) !=
	    Z_OK)
		abort();
}

/* The length that it comes out with. */
static size_t try_strategy(const char *p, size_t n, int strategy)
{
	z_stream z = { .next_in = (Bytef *)p, .avail_in = (uInt)n };
	u8 out[4096];
	size_t all;
	int r;

	if (deflateInit2(&z, 4, Z_DEFLATED, -15, 9, strategy) != Z_OK)
		abort();
	do {
		z.next_out = out;
		z.avail_out = sizeof(out);
		r = deflate(&z, Z_FINISH);
	} while (r == Z_OK);
	if (r != Z_STREAM_END)
		abort();
	all = z.total_out;
	deflateEnd(&z);
	return all;
}

/*
 * Columns that repeat nothing, as those of numbers by chance, come out smaller and in a fifth of
 * the time when nothing but runs is looked for.
 */
static void choose(struct sink *s, const char *p, size_t n)
{
	int level = s->z.total_in < GOOD_UNTIL ? 6 : 4, strategy = Z_DEFAULT_STRATEGY, r;

	n = MIN(n, (size_t)TRIAL);
	if (try_strategy(p, n, Z_RLE) <= try_strategy(p, n, Z_DEFAULT_STRATEGY))
		strategy = Z_RLE;
	s->z.avail_in = 0;
	do {
		buf_reserve(&s->packed, 1 << 16);
		s->z.next_out = (Bytef *)(s->packed.p + s->packed.n);
		s->z.avail_out = 1 << 16;
		r = deflateParams(&s->z, level, strategy);
		s->packed.n += (1 << 16) - s->z.avail_out;
		put_base85(s, false);
		if (r != Z_OK && r != Z_BUF_ERROR)
			abort();
	} while (r != Z_OK);
}

/* Passes on what there is. */
static void sink_pass(struct sink *s, bool end)
{
	size_t done = 0, n;
	int r;

	if (!s->started)
		sink_start(s);
	if (s->plain) {
		out_write(s->o, s->text.p, s->text.n);
		buf_clear(&s->text);
		return;
	}
	for (;;) {
		if (!s->z.avail_in && done < s->text.n) {
			n = MIN(s->text.n - done, s->pieces ? (size_t)PIECE : (size_t)1 << 30);
			if (s->pieces && s->z.total_in >= s->chosen_until) {
				choose(s, s->text.p + done, n);
				s->chosen_until = s->z.total_in + 4 * PIECE;
			}
			s->z.next_in = (Bytef *)(s->text.p + done);
			s->z.avail_in = (uInt)n;
			done += n;
		}
		buf_reserve(&s->packed, 1 << 16);
		s->z.next_out = (Bytef *)(s->packed.p + s->packed.n);
		s->z.avail_out = 1 << 16;
		r = deflate(&s->z, end && done == s->text.n ? Z_FINISH : Z_NO_FLUSH);
		if (r == Z_STREAM_ERROR)
			abort();
		s->packed.n += (1 << 16) - s->z.avail_out;
		put_base85(s, false);
		if (end ? r == Z_STREAM_END : s->z.avail_out && done == s->text.n)
			break;
	}
	buf_clear(&s->text);
	if (end) {
		put_base85(s, true);
		deflateEnd(&s->z);
	}
}

/* To be called now and then in columns by node. */
static inline void sink_look(struct sink *s)
{
	if (UNLIKELY(s->text.n >= s->limit))
		sink_pass(s, false);
}

/* A JSON string for XML too: buf_json() and `>`, `&`, and U+FFFE, U+FFFF escaped. */
static void put_str(struct buf *b, const char *s, size_t n)
{
	size_t at = b->n, i;
	struct buf tail = BUF_INIT;

	buf_json(b, s, n);
	for (i = at; i < b->n; i++)
		if (b->p[i] == '>' || b->p[i] == '&' || (u8)b->p[i] == 0xef)
			break;
	if (i == b->n)
		return;
	buf_put(&tail, b->p + i, b->n - i);
	b->n = i;
	for (i = 0; i < tail.n; i++) {
		u8 c = (u8)tail.p[i];

		if (c == '>' || c == '&') {
			buf_printf(b, "\\u%04x", c);
		} else if (c == 0xef && i + 2 < tail.n && (u8)tail.p[i + 1] == 0xbf &&
			   (u8)tail.p[i + 2] >= 0xbe) {
			buf_printf(b, "\\uff%02x", (u8)tail.p[i + 2] + 0x40);
			i += 2;
		} else {
			buf_putc(b, (char)c);
		}
	}
	buf_release(&tail);
}

static void put_cstr(struct buf *b, const char *s)
{
	put_str(b, s, strlen(s));
}

static void put_member(struct buf *b, const char *name, const char *value)
{
	buf_printf(b, "\"%s\":", name);
	put_cstr(b, value ? value : "");
	buf_puts(b, ",\n");
}

static void put_num(struct buf *b, u64 v)
{
	bool big = v > 1ULL << 53;

	if (big)
		buf_putc(b, '"');
	buf_u64(b, v);
	if (big)
		buf_putc(b, '"');
}

typedef VEC(u64) column;

#define COLUMN_STEP ((size_t)1 << 16) /* items between two looks at the sink */

static void put_column(struct sink *s, const char *name, const column *c)
{
	struct buf *b = &s->text;
	u64 all = 0;
	u32 shift;
	size_t i, stop;

	for (i = 0; i < c->n; i++)
		all |= c->v[i];
	buf_printf(b, "\"%s\":[", name);
	for (shift = 0; !shift || (shift < 64 && all >> shift); shift += 6) {
		buf_puts(b, shift ? ",\n\"" : "\"");
		for (i = 0; i < c->n;) {
			char *t;

			stop = MIN(c->n, i + COLUMN_STEP);
			buf_reserve(b, stop - i);
			t = b->p + b->n;
			b->n += stop - i;
			while (i < stop)
				*t++ = base64_digits[c->v[i++] >> shift & 63];
			sink_look(s);
		}
		buf_putc(b, '"');
	}
	buf_puts(b, "]");
}

/* Numbers that rise, each as what lies between it and the one before. */
struct gaps {
	column c;
	u64 next;
};

static void gaps_add(struct gaps *g, u64 v)
{
	vec_push(&g->c, v - g->next);
	g->next = v + 1;
}

/* ---- frames that are used, in the order of the view's children ---- */

static _Thread_local const struct profile *sort_profile;

static int cmp_str(str_id a, str_id b)
{
	const struct strtab *t = sort_profile->strings;
	size_t na = strtab_len(t, a), nb = strtab_len(t, b);
	int c;

	if (a == b)
		return 0;
	c = memcmp(strtab_get(t, a), strtab_get(t, b), MIN(na, nb));
	return c ? c : (na > nb) - (na < nb);
}

static int cmp_frame(const void *pa, const void *pb)
{
	frame_id ia = *(const frame_id *)pa, ib = *(const frame_id *)pb;
	const struct frame *a = &sort_profile->frames.v[ia], *b = &sort_profile->frames.v[ib];
	int c = cmp_str(a->function, b->function);

	if (!c)
		c = (a->space > b->space) - (a->space < b->space);
	if (!c)
		c = cmp_str(a->module, b->module);
	if (!c)
		c = (a->flags > b->flags) - (a->flags < b->flags);
	if (!c)
		c = cmp_str(a->file, b->file);
	if (!c)
		c = (a->line > b->line) - (a->line < b->line);
	return c ? c : (ia > ib) - (ia < ib);
}

/* A string of the block: of the profile, or a suffix. */
struct string_ref {
	const struct strtab *of;
	str_id id;
};

struct used {
	VEC(frame_id) frames;
	u32 *number; /* by frame_id */
	VEC(struct string_ref) strings;
	u32 *string;            /* by str_id: index in strings, or UINT32_MAX */
	struct strtab suffixes; /* ids are indices in suffix_string */
	VEC(u32) suffix_string;
};

static void used_init(struct used *u, const struct view *v)
{
	const struct profile *p = v->profile;
	size_t i;

	memset(u, 0, sizeof(*u));
	u->number = xcalloc(p->frames.n + 1, sizeof(*u->number));
	for (i = 1; i < v->nodes.n; i++) {
		frame_id id = v->nodes.v[i].frame;

		if (!u->number[id]) {
			u->number[id] = 1;
			vec_push(&u->frames, id);
		}
	}
	sort_profile = p;
	if (u->frames.n)
		qsort(u->frames.v, u->frames.n, sizeof(*u->frames.v), cmp_frame);
	for (i = 0; i < u->frames.n; i++)
		u->number[u->frames.v[i]] = (u32)i;
	u->string = xreallocarray(NULL, p->strings->str.n + 1, sizeof(*u->string));
	memset(u->string, 0xff, (p->strings->str.n + 1) * sizeof(*u->string));
	u->string[0] = 0;
	vec_push(&u->strings, ((struct string_ref){ p->strings, 0 }));
	strtab_init(&u->suffixes);
}

static void used_release(struct used *u)
{
	vec_release(&u->frames);
	vec_release(&u->strings);
	vec_release(&u->suffix_string);
	free(u->number);
	free(u->string);
	strtab_release(&u->suffixes);
}

static u32 string_of(struct used *u, const struct profile *p, str_id id)
{
	if (u->string[id] == UINT32_MAX) {
		u->string[id] = (u32)u->strings.n;
		vec_push(&u->strings, ((struct string_ref){ p->strings, id }));
	}
	return u->string[id];
}

/* Suffixes are what profile_frame_name() puts behind the function. */
static u32 suffix_of(struct used *u, const struct profile *p, frame_id f, bool all,
		     struct buf *name)
{
	u32 skip = strtab_len(p->strings, p->frames.v[f].function);
	str_id id;

	buf_clear(name);
	profile_frame_name(p, f, all, name);
	if (name->n <= skip)
		return 0;
	id = strtab_add(&u->suffixes, name->p + skip, name->n - skip);
	while (u->suffix_string.n <= id)
		vec_push(&u->suffix_string, UINT32_MAX);
	if (u->suffix_string.v[id] == UINT32_MAX) {
		u->suffix_string.v[id] = (u32)u->strings.n;
		vec_push(&u->strings, ((struct string_ref){ &u->suffixes, id }));
	}
	return u->suffix_string.v[id];
}

/* Modules and suffixes are few and come first, so that their numbers are small. */
static void put_frames(struct sink *s, struct used *u, const struct profile *p,
		       const struct palette *pal, bool all)
{
	enum { MODULE, SUFFIX, FILE_NAME, NAME, LINE, SPACE, FLAGS, COLOR, NR };
	static const char *const names[NR] = { "module", "suffix", "file",  "name",
					       "line",   "space",  "flags", "color" };
	struct buf name = BUF_INIT;
	column c = { NULL, 0, 0 };
	u32 before = 0, col;
	size_t i;

	buf_puts(&s->text, "\"frames\":{\n");
	for (col = 0; col < NR; col++) {
		c.n = 0;
		for (i = 0; i < u->frames.n; i++) {
			frame_id id = u->frames.v[i];
			const struct frame *f = &p->frames.v[id];
			u64 v = 0;

			switch (col) {
			case MODULE: v = string_of(u, p, f->module); break;
			case SUFFIX: v = suffix_of(u, p, id, all, &name); break;
			case FILE_NAME: v = string_of(u, p, f->file); break;
			case NAME:
				/* Frames are sorted by it: equal ones are neighbours. */
				if (!i || f->function != p->frames.v[u->frames.v[i - 1]].function) {
					v = u->strings.n - before;
					before = (u32)u->strings.n;
					vec_push(&u->strings,
						 ((struct string_ref){ p->strings, f->function }));
				}
				break;
			case LINE: v = f->line; break;
			case SPACE: v = f->space; break;
			case FLAGS: v = f->flags; break;
			case COLOR: v = pal->frame[id]; break;
			default: break;
			}
			vec_push(&c, v);
		}
		put_column(s, names[col], &c);
		buf_puts(&s->text, col + 1 < NR ? ",\n" : "},\n");
	}
	vec_release(&c);
	buf_release(&name);
}

/* Those that JSON cannot hold, for the reader that gives the names back as they were. */
static void put_odd(struct buf *b, const struct used *u, const column *odd)
{
	struct buf escaped = BUF_INIT;
	size_t i;

	buf_puts(b, "\"bytes\":{");
	for (i = 0; i < odd->n; i++) {
		const struct string_ref *r = &u->strings.v[odd->v[i]];

		buf_clear(&escaped);
		folded_escape(&escaped, strtab_get(r->of, r->id), strtab_len(r->of, r->id));
		buf_puts(b, i ? ",\n\"" : "\"");
		buf_u64(b, odd->v[i]);
		buf_puts(b, "\":");
		put_str(b, escaped.p, escaped.n);
	}
	buf_puts(b, "},\n");
	buf_release(&escaped);
}

/* Each without the start that it shares with the one before; cut between ASCII characters only, so
 * that a character is the same number of bytes and of a script's units. */
static void put_strings(struct sink *s, const struct used *u)
{
	struct buf *b = &s->text;
	const char *before = "";
	size_t before_n = 0, i;
	column shared = { NULL, 0, 0 }, odd = { NULL, 0, 0 };

	buf_puts(b, "\"strings\":[");
	for (i = 0; i < u->strings.n; i++) {
		const struct string_ref *r = &u->strings.v[i];
		const char *p = strtab_get(r->of, r->id);
		size_t n = strtab_len(r->of, r->id), k = 0;

		while (k < n && k < before_n && p[k] == before[k] && !((u8)p[k] & 0x80))
			k++;
		vec_push(&shared, k);
		if (i)
			buf_puts(b, ",\n");
		put_str(b, p + k, n - k);
		if (!utf8_valid(p, n))
			vec_push(&odd, i);
		before = p;
		before_n = n;
		sink_look(s);
	}
	buf_puts(b, "],\n");
	put_column(s, "shared", &shared);
	buf_puts(b, ",\n");
	if (odd.n)
		put_odd(b, u, &odd);
	vec_release(&shared);
	vec_release(&odd);
}

/* A call that has been seen: frame below frame (the root: number of frames). */
struct call {
	u32 caller, callee;
	u32 rank; /* 1: the first callee of that caller */
};

struct calls {
	VEC(struct call) v;
	struct index index;
};

static bool call_eq(const void *ctx, u32 id, const void *key)
{
	const struct calls *c = ctx;
	const struct call *k = key;

	return c->v.v[id].caller == k->caller && c->v.v[id].callee == k->callee;
}

#define RANK_MORE 7 /* what three bits hold at most */

static void put_callees(struct sink *s, const struct view *v, const struct used *u)
{
	struct buf *b = &s->text;
	u32 nf = (u32)u->frames.n, *callees = xcalloc((size_t)nf + 1, sizeof(*callees)), half = 0;
	column fresh = { NULL, 0, 0 }, more = { NULL, 0, 0 };
	bool second = false;
	struct calls calls;
	size_t i;

	memset(&calls, 0, sizeof(calls));
	index_init(&calls.index);
	buf_puts(b, "\"callee\":[\"");
	for (i = 1; i < v->nodes.n; i++) {
		u32 parent = v->nodes.v[i].parent;
		struct call c = { parent ? u->number[v->nodes.v[parent].frame] : nf,
				  u->number[v->nodes.v[i].frame], 0 };
		u64 hash = hash_u64((u64)c.caller << 32 | c.callee);
		u32 id = index_find(&calls.index, hash, call_eq, &calls, &c), rank = 0;
		bool first = !callees[c.caller];

		if (id == INDEX_NONE) {
			c.rank = ++callees[c.caller];
			index_add(&calls.index, hash, (u32)calls.v.n);
			vec_push(&calls.v, c);
			vec_push(&fresh, c.callee);
		} else {
			rank = calls.v.v[id].rank;
		}
		if (first)
			continue;
		if (rank >= RANK_MORE) {
			vec_push(&more, rank - RANK_MORE);
			rank = RANK_MORE;
		}
		if (second)
			buf_putc(b, base64_digits[half << 3 | rank]);
		else
			half = rank;
		second = !second;
		sink_look(s);
	}
	if (second)
		buf_putc(b, base64_digits[half << 3]);
	buf_puts(b, "\"],\n");
	put_column(s, "more", &more);
	buf_puts(b, ",\n");
	put_column(s, "fresh", &fresh);
	vec_release(&more);
	vec_release(&fresh);
	vec_release(&calls.v);
	index_release(&calls.index);
	free(callees);
}

static bool ends_chain(const struct view *v, size_t i)
{
	return i + 1 >= v->nodes.n || v->nodes.v[i + 1].depth <= v->nodes.v[i].depth;
}

static void put_chains(struct sink *s, const struct view *v)
{
	column run = { NULL, 0, 0 }, up = { NULL, 0, 0 };
	size_t first = 1, i;

	for (i = 1; i < v->nodes.n; i++) {
		if (!ends_chain(v, i))
			continue;
		vec_push(&run, i - first);
		vec_push(&up,
			 i + 1 < v->nodes.n ? v->nodes.v[i].depth - v->nodes.v[i + 1].depth : 0);
		first = i + 1;
	}
	put_column(s, "run", &run);
	buf_puts(&s->text, ",\n");
	put_column(s, "up", &up);
	buf_puts(&s->text, ",\n");
	vec_release(&run);
	vec_release(&up);
}

static void put_weights(struct sink *s, const char *name, const struct view *v, bool base)
{
	column leaf = { NULL, 0, 0 }, inner = { NULL, 0, 0 };
	struct gaps gaps = { .next = 0 };
	const struct {
		const char *name;
		const column *c;
	} parts[] = { { "leaf", &leaf }, { "inner", &inner }, { "gap", &gaps.c } };
	char full[32];
	size_t i;

	for (i = 0; i < v->nodes.n; i++) {
		u64 w = base ? view_base_self(v, i) : v->nodes.v[i].self;

		if (i && ends_chain(v, i)) {
			vec_push(&leaf, w);
		} else if (w) {
			gaps_add(&gaps, i);
			vec_push(&inner, w);
		}
	}
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		buf_puts(&s->text, ",\n");
		snprintf(full, sizeof(full), "%s_%s", name, parts[i].name);
		put_column(s, full, parts[i].c);
	}
	vec_release(&leaf);
	vec_release(&inner);
	vec_release(&gaps.c);
}

/* A column of those nodes that are so; left out when there are none, unless always. */
static void put_those(struct sink *s, const char *name, const struct view *v,
		      bool (*is_so)(const struct view *, u32), bool always)
{
	struct gaps gaps = { .next = 0 };
	size_t i;

	for (i = 0; i < v->nodes.n; i++)
		if (is_so(v, (u32)i))
			gaps_add(&gaps, i);
	if (gaps.c.n || always) {
		buf_puts(&s->text, ",\n");
		put_column(s, name, &gaps.c);
	}
	vec_release(&gaps.c);
}

static bool is_idle(const struct view *v, u32 i)
{
	return i && (v->nodes.v[i].self || view_base_self(v, i)) && view_is_idle(v, i);
}

static void put_nodes(struct sink *s, const struct view *v, const struct used *u, bool regroup)
{
	buf_puts(&s->text, "\"nodes\":{\n");
	put_chains(s, v);
	put_callees(s, v, u);
	put_weights(s, "self", v, false);
	if (v->is_diff) {
		put_weights(s, "base", v, true);
		put_those(s, "sure", v, diff_is_sure, true);
	}
	if (regroup)
		put_those(s, "idle", v, is_idle, false);
	buf_puts(&s->text, "}");
}

#define TIMES_MAX 2000000 /* items; more are not worth their bytes in a page */
#define TICKS_MIN 100000  /* of the whole time: that fine is enough for any window */

/* ---- who and where, by sample ---- */

/* Pairs of numbers, each once, in order of appearance. */
struct pairs {
	VEC(u64) v;
	struct index index;
};

static bool pair_eq(const void *ctx, u32 id, const void *key)
{
	return ((const struct pairs *)ctx)->v.v[id] == *(const u64 *)key;
}

static u32 pair_number(struct pairs *p, u32 high, u32 low)
{
	u64 key = (u64)high << 32 | low, hash = hash_u64(key);
	u32 id = index_find(&p->index, hash, pair_eq, p, &key);

	if (id == INDEX_NONE) {
		id = (u32)p->v.n;
		index_add(&p->index, hash, id);
		vec_push(&p->v, key);
	}
	return id;
}

static void pairs_init(struct pairs *p)
{
	memset(p, 0, sizeof(*p));
	index_init(&p->index);
}

static void pairs_release(struct pairs *p)
{
	vec_release(&p->v);
	index_release(&p->index);
}

/* One half of the pairs; UINT32_MAX is what nobody knows. */
static void put_halves(struct buf *b, const char *name, const struct pairs *p, u32 shift)
{
	size_t i;

	buf_printf(b, ",\n\"%s\":[", name);
	for (i = 0; i < p->v.n; i++) {
		u32 v = (u32)(p->v.v[i] >> shift);

		if (i)
			buf_putc(b, ',');
		if (v == UINT32_MAX)
			buf_puts(b, "null");
		else
			buf_u64(b, v);
	}
	buf_putc(b, ']');
}

static void put_who(struct sink *s, const struct placed *p)
{
	column cpu = { NULL, 0, 0 }, thread = { NULL, 0, 0 }, machine = { NULL, 0, 0 };
	struct pairs cpus, threads, machines;
	bool known = false;
	size_t i;
	u32 *last;

	pairs_init(&cpus);
	pairs_init(&threads);
	pairs_init(&machines);
	pair_number(&machines, 0, 0);
	for (i = 0; i < p->v.n; i++) {
		vec_push(&machine, pair_number(&machines, 0, p->v.v[i].machine));
		vec_push(&cpu, pair_number(&cpus, 0, p->v.v[i].cpu));
		known = known || p->v.v[i].cpu != UINT32_MAX;
	}
	if (known) {
		put_halves(&s->text, "cpus", &cpus, 0);
		buf_puts(&s->text, ",\n");
		put_column(s, "cpu", &cpu);
	}
	if (machines.v.n > 1) {
		put_halves(&s->text, "machines", &machines, 0);
		buf_puts(&s->text, ",\n");
		put_column(s, "machine", &machine);
	}
	last = xcalloc(cpus.v.n, sizeof(*last));
	for (i = 0, known = false; i < p->v.n; i++) {
		const struct placed_sample *sample = &p->v.v[i];
		u32 id = pair_number(&threads, sample->pid, sample->tid) + 1;

		vec_push(&thread, last[cpu.v[i]] == id ? 0 : id);
		last[cpu.v[i]] = id;
		known = known || sample->pid != UINT32_MAX || sample->tid != UINT32_MAX;
	}
	if (known) {
		put_halves(&s->text, "pids", &threads, 32);
		put_halves(&s->text, "tids", &threads, 0);
		buf_puts(&s->text, ",\n");
		put_column(s, "thread", &thread);
	}
	pairs_release(&cpus);
	pairs_release(&threads);
	pairs_release(&machines);
	vec_release(&machine);
	vec_release(&cpu);
	vec_release(&thread);
	free(last);
}

/* ---- when ---- */

/* By time, and of one time those that can be one item side by side. */
static int cmp_placed(const void *pa, const void *pb)
{
	const struct placed_sample *a = pa, *b = pb;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	if (a->cpu != b->cpu)
		return a->cpu < b->cpu ? -1 : 1;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	if (a->machine != b->machine)
		return a->machine < b->machine ? -1 : 1;
	return (a->node > b->node) - (a->node < b->node);
}

/* Times become ticks of `unit`; samples of a tick that differ in nothing else become one. */
static void merge_times(struct placed *p, u64 start, u64 unit)
{
	size_t i, k = 0;

	for (i = 0; i < p->v.n; i++)
		p->v.v[i].time = start + (p->v.v[i].time - start) / unit * unit;
	qsort(p->v.v, p->v.n, sizeof(*p->v.v), cmp_placed);
	for (i = 1; i < p->v.n; i++) {
		if (cmp_placed(&p->v.v[i], &p->v.v[k]))
			p->v.v[++k] = p->v.v[i];
		else
			p->v.v[k].weight += p->v.v[i].weight;
	}
	p->v.n = k + 1;
}

static void put_times(struct sink *s, const struct view *v, bool regroup)
{
	column step = { NULL, 0, 0 }, node = { NULL, 0, 0 }, weight = { NULL, 0, 0 };
	bool plain = true, merged = false;
	struct placed p;
	u64 start, span, unit, before = 0;
	size_t i;

	placed_samples(&p, v);
	if (p.v.n < 2 || p.v.v[p.v.n - 1].time <= p.v.v[0].time)
		goto out;
	start = p.v.v[0].time;
	span = p.v.v[p.v.n - 1].time - start;
	for (unit = 1; unit <= span / TICKS_MIN / 10; unit *= 10)
		;
	/* Coarser when there are very many, down to one tick for all. */
	for (; p.v.n > TIMES_MAX && unit <= span; unit *= 10) {
		merge_times(&p, start, unit);
		merged = true;
		if (p.v.n <= TIMES_MAX)
			break;
	}
	if (p.v.n > TIMES_MAX)
		goto out;
	for (i = 0; i < p.v.n; i++) {
		u64 tick = (p.v.v[i].time - start) / unit;

		vec_push(&step, tick - before);
		vec_push(&node, p.v.v[i].node);
		vec_push(&weight, p.v.v[i].weight);
		before = tick;
		plain = plain && p.v.v[i].weight == 1;
	}
	buf_printf(&s->text, "\"times\":{\"unit\":%" PRIu64 ",\"start\":\"%" PRIu64 "\",%s\n", unit,
		   start, merged ? "\"merged\":true," : "");
	put_column(s, "step", &step);
	buf_puts(&s->text, ",\n");
	put_column(s, "node", &node);
	if (!plain) {
		buf_puts(&s->text, ",\n");
		put_column(s, "weight", &weight);
	}
	if (regroup)
		put_who(s, &p);
	buf_puts(&s->text, "},\n");
out:
	vec_release(&step);
	vec_release(&node);
	vec_release(&weight);
	placed_release(&p);
}

/* How many halves of its interval a difference has, over which it is sure: what of many is looked
 * at decides. */
struct factor {
	double least_sure, most_unsure;
};

static void factor_add(struct factor *f, double difference, const struct diff_noise *n)
{
	double halves;

	if (n->few || !(n->half > 0))
		return;
	halves = fabs(difference) / n->half;
	if (n->changed && (halves < f->least_sure || !(f->least_sure > 0)))
		f->least_sure = halves;
	if (!n->changed && halves > f->most_unsure)
		f->most_unsure = halves;
}

static double factor_of(const struct factor *f)
{
	/* Numbers are rounded on the way. */
	return f->least_sure > 0    ? f->least_sure * 0.998
	       : f->most_unsure > 1 ? f->most_unsure * 1.01
				    : 1.01;
}

static void put_halves_of(struct buf *b, const char *name, const double *half, size_t n)
{
	size_t i;

	buf_printf(b, ",\n\"%s\":[", name);
	for (i = 0; i < n; i++)
		buf_printf(b, i ? ",%.4g" : "%.4g", half[i]);
	buf_putc(b, ']');
}

static void put_diff(struct buf *b, const struct view *v, const struct used *u)
{
	static const char *const norms[] = { "total", "time", "none" };
	static const char *const widths[] = { "after", "before", "union" };
	const struct view_diff *d = v->diff;
	double *self = xcalloc(u->frames.n, sizeof(*self)),
	       *total = xcalloc(u->frames.n, sizeof(*total)), scale = d->base_scale;
	struct factor node = { 0 }, own = { 0 }, all = { 0 };
	struct buf text = BUF_INIT;
	size_t i;

	buf_printf(b,
		   "\"diff\":{\"normalize\":\"%s\",\"width\":\"%s\",\"samples\":%" PRIu64
		   ",\"base_samples\":%" PRIu64 ",\n\"terms\":",
		   norms[d->norm], widths[d->width], d->samples, d->base_samples);
	render_diff_terms(&text, v);
	put_str(b, text.p, text.n);
	for (i = 0; i < 2; i++) {
		buf_puts(b, i ? ",\n\"only_after\":" : ",\n\"only_before\":");
		buf_clear(&text);
		diff_one_sided(&text, v, !i);
		put_str(b, text.p, text.n);
	}
	for (i = 0; i < v->nodes.n; i++)
		factor_add(&node,
			   (double)v->nodes.v[i].total - scale * (double)view_base_total(v, i),
			   &d->total.v[i]);
	for (i = 0; i < d->functions.n; i++) {
		const struct diff_function *f = &d->functions.v[i];

		self[u->number[f->frame]] = f->self_noise.half;
		total[u->number[f->frame]] = f->total_noise.half;
		factor_add(&own, f->self - f->base_self, &f->self_noise);
		factor_add(&all, f->total - f->base_total, &f->total_noise);
	}
	buf_printf(b, ",\n\"factor\":{\"node\":%.4g,\"own\":%.4g,\"total\":%.4g}", factor_of(&node),
		   factor_of(&own), factor_of(&all));
	put_halves_of(b, "half_self", self, u->frames.n);
	put_halves_of(b, "half_total", total, u->frames.n);
	buf_puts(b, "},\n");
	buf_release(&text);
	free(self);
	free(total);
}

static void put_palette(struct buf *b, const struct palette *p)
{
	size_t i;

	buf_puts(b, "\"palette\":[");
	for (i = 0; i < p->colors.n; i++) {
		buf_puts(b, i ? ",[\"" : "[\"");
		buf_rgb(b, p->colors.v[i].light);
		buf_puts(b, "\",\"");
		buf_rgb(b, p->colors.v[i].dark);
		buf_puts(b, "\"]");
	}
	buf_puts(b, "],\n\"class_color\":[");
	for (i = 0; i < CLASS_NR; i++) {
		if (i)
			buf_putc(b, ',');
		buf_u64(b, p->classes[i]);
	}
	buf_puts(b, "],\n\"root_color\":");
	buf_u64(b, p->root);
	buf_puts(b, ",\n");
	if (p->by_share)
		buf_printf(b, "\"share_steps\":%d,\n", SHARE_STEPS);
}

static void put_remarks(struct buf *b, const struct render_input *in)
{
	size_t i;

	buf_puts(b, "\"facts\":[");
	for (i = 0; i < in->nr_facts; i++) {
		buf_puts(b, i ? ",\n[" : "[");
		put_cstr(b, in->facts[i].key);
		buf_putc(b, ',');
		put_cstr(b, in->facts[i].value);
		buf_putc(b, ']');
	}
	buf_puts(b, "],\n\"quality\":[");
	for (i = 0; i < in->nr_quality; i++) {
		const struct render_quality *q = &in->quality[i];

		buf_puts(b, i ? ",\n{\"name\":" : "{\"name\":");
		put_cstr(b, q->name);
		buf_puts(b, ",\"text\":");
		put_cstr(b, q->text);
		buf_puts(b, ",\"count\":");
		put_num(b, q->count);
		buf_printf(b, ",\"strict\":%s}", q->strict ? "true" : "false");
	}
	buf_puts(b, "],\n");
}

static void put_options(struct buf *b, const struct render_opts *opts, const struct palette *p)
{
	buf_printf(b, "\"options\":{\"height\":%u,\"font\":", (unsigned int)opt_frame_height(opts));
	put_cstr(b, opt_font(opts));
	buf_puts(b, ",\"fontsize\":");
	buf_f(b, opt_font_size(opts), 2);
	buf_printf(b, ",\"icicle\":%s,\"negate\":%s,\"factor\":", opts->icicle ? "true" : "false",
		   opts->negate ? "true" : "false");
	buf_f(b, opts->factor > 0 ? opts->factor : 1, 9);
	buf_puts(b, ",\"palette\":");
	put_cstr(b, opts->colors ? opts->colors : "xen");
	buf_puts(b, ",\"minwidth\":");
	buf_f(b, opt_min_width(opts), 4);
	buf_puts(b, ",\"background\":");
	if (p->plain) {
		buf_puts(b, "null");
	} else if (!memcmp(&p->paper[0], &p->paper[1], sizeof(p->paper[0]))) {
		buf_putc(b, '"');
		buf_rgb(b, p->paper[0]);
		buf_putc(b, '"');
	} else {
		buf_puts(b, "\"linear-gradient(");
		buf_rgb(b, p->paper[0]);
		buf_putc(b, ',');
		buf_rgb(b, p->paper[1]);
		buf_puts(b, ")\"");
	}
	buf_puts(b, "},\n");
}

static void put_json(struct sink *s, const struct render_input *in, const struct render_opts *opts,
		     const struct palette *palette, bool regroup)
{
	const struct view *v = in->view;
	const struct profile *p = in->profile;
	struct buf *b = &s->text;
	struct used u;
	size_t i;

	used_init(&u, v);
	buf_puts(b, "{\"format\":\"xenflame\",\"version\":2,\n");
	put_member(b, "title", opts->title);
	put_member(b, "subtitle", opts->subtitle);
	put_member(b, "notes", opts->notes);
	buf_puts(b, "\"event\":");
	if (v->event >= 0 && (size_t)v->event < p->events.n)
		put_str(b, strtab_get(p->strings, p->events.v[v->event].name),
			strtab_len(p->strings, p->events.v[v->event].name));
	else
		buf_puts(b, "\"\"");
	buf_puts(b, ",\n");
	put_member(b, "unit", p->unit ? p->unit : "samples");
	put_member(b, "countname", opt_count_name(opts, p));
	put_member(b, "nametype", opts->name_type ? opts->name_type : "Function:");
	buf_puts(b, "\"total\":");
	put_num(b, opt_total(opts, v));
	buf_puts(b, ",\n\"spaces\":[");
	for (i = 0; i < SPACE_NR; i++) {
		if (i)
			buf_putc(b, ',');
		put_cstr(b, space_name((enum space)i));
	}
	buf_puts(b, "],\n");
	if (v->is_diff && v->nodes.n) {
		buf_puts(b, "\"base_scale\":");
		buf_printf(b, "%.17g,\n", diff_scale(v));
		if (v->diff)
			put_diff(b, v, &u);
	}
	put_options(b, opts, palette);
	put_palette(b, palette);
	put_remarks(b, in);

	put_frames(s, &u, p, palette, opts->annotate_all);
	put_strings(s, &u);
	if (regroup && v->event < 0)
		buf_puts(b, "\"by_event\":true,\n");
	put_times(s, v, regroup);
	put_nodes(s, v, &u, regroup);
	buf_puts(b, "}\n");
	used_release(&u);
}

void data_block(struct out *o, const struct render_input *in, const struct render_opts *opts,
		const struct palette *palette, bool regroup)
{
	struct sink s = { .o = o, .plain = opts->plain_data, .limit = BEST_UNTIL };

	put_json(&s, in, opts, palette, regroup);
	sink_pass(&s, true);
	out_puts(o, "</script>\n");
	buf_release(&s.text);
	buf_release(&s.packed);
}
