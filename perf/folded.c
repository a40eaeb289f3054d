/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Folded stacks: "root;caller;callee count", one a line, root first.
 *
 * The count is behind the last blank: digits up to 2^128 - 1, or a number with
 * decimals, which are for files whose counts fit into 64 bits; with two counts on every line of the
 * file they are before and after (difffolded), and end at 2^64 - 1.  Both are decided for the file
 * as a whole, by a look at the ends of all its lines.  Lines that start with '#' are comments.
 * Names come through folded_unescape(), which undoes what render/folded.c writes for bytes that the
 * format would take for its own ("%3b"); annotations (`_[k]` …) give the space
 * and set meta.annotated.
 *
 * Speed: stacks mostly come sorted, so what a line has in common with the one
 * before it is not looked at again; other frames are found by their bytes.
 */
#include <stdlib.h>

#include "perf/text.h"

struct folded {
	struct text_pipe *pipe; /* first, for text_reader_next() */
	unsigned decimals;      /* weights are scaled by 10^decimals */
	bool two;
};

struct entry {
	struct entry *next[2]; /* those that followed last, the later one first, or NULL */
	u32 id;
	u32 len;
	char raw[];
};

struct folded_worker {
	VEC(struct entry *) entries;
	struct index index, roots; /* of frames, of first frames */
	/* the line before: where its frames end and what they are */
	VEC(u32) ends, ids;
	struct buf name;
};

/* A number as it is written: mantissa * 10^-decimals. */
struct number {
	u64 mantissa;
	int decimals;
	u64 high; /* of a whole number with more than 64 bits; else 0 */
	bool cut; /* it had more digits than fit, which were no zeros */
};

static const u64 pow10_u64[] = {
	1ULL,
	10ULL,
	100ULL,
	1000ULL,
	10000ULL,
	100000ULL,
	1000000ULL,
	10000000ULL,
	100000000ULL,
	1000000000ULL,
	10000000000ULL,
	100000000000ULL,
	1000000000000ULL,
	10000000000000ULL,
	100000000000000ULL,
	1000000000000000ULL,
	10000000000000000ULL,
	100000000000000000ULL,
	1000000000000000000ULL,
	10000000000000000000ULL,
};
#define DECIMALS_MAX 9

/* The end of a number: nothing, or an exponent. */
static bool take_exponent(const char *p, const char *end, int *decimals)
{
	bool minus;
	u64 e;

	if (p == end)
		return true;
	if (*p != 'e' && *p != 'E')
		return false;
	p++;
	minus = p < end && *p == '-';
	if (p < end && (*p == '-' || *p == '+'))
		p++;
	if (parse_dec(&p, end, &e) || e > 400 || p != end)
		return false;
	*decimals += minus ? (int)e : -(int)e;
	return true;
}

static void strip_zeros(struct number *n)
{
	while (n->decimals > 0 && n->mantissa % 10 == 0) {
		n->mantissa /= 10;
		n->decimals--;
	}
}

/* A number with more digits than 64 bits hold. */
static bool scan_wide(struct span s, struct number *n)
{
	const u128 most = ~(u128)0;
	const char *p = s.p, *end = s.p + s.n;
	bool point = false, full = false;
	unsigned first = 0; /* of the digits that are cut off */
	u128 m = 0;

	n->decimals = 0;
	for (; p < end && (is_digit(*p) || (*p == '.' && !point)); p++) {
		unsigned digit = (unsigned)(*p - '0');

		if (*p == '.') {
			point = true;
		} else if (full || m > (most - digit) / 10) {
			if (!point)
				return false;
			first = full ? first : digit;
			full = true;
			n->cut |= digit > 0;
		} else {
			m = m * 10 + digit;
			n->decimals += point;
		}
	}
	/* What was cut off must be decimals. */
	if (!take_exponent(p, end, &n->decimals) || (full && n->decimals < 0))
		return false;
	for (; n->decimals < 0; n->decimals++) {
		if (m > most / 10)
			return false;
		m *= 10;
	}
	for (; n->decimals > 0 && m > UINT64_MAX; n->decimals--) {
		first = (unsigned)(m % 10);
		n->cut |= first > 0;
		m /= 10;
	}
	/* Where decimals are left scale() is to round, and once is enough. */
	if (!n->decimals && first >= 5 && !++m)
		return false;
	n->mantissa = (u64)m;
	n->high = (u64)(m >> 64);
	strip_zeros(n);
	return true;
}

/* Digits, perhaps a point and digits, perhaps an exponent; the whole span. */
static bool scan_number(struct span s, struct number *n)
{
	const char *p = s.p, *end = s.p + s.n;
	bool digits = false, point = false;

	*n = (struct number){ 0 };
	for (; p < end && (is_digit(*p) || (*p == '.' && !point)); p++) {
		if (*p == '.') {
			point = true;
			continue;
		}
		digits = true;
		if (n->mantissa > (UINT64_MAX - (u64)(*p - '0')) / 10)
			return scan_wide(s, n);
		n->mantissa = n->mantissa * 10 + (u64)(*p - '0');
		n->decimals += point;
	}
	if (!digits || !take_exponent(p, end, &n->decimals))
		return false;
	strip_zeros(n);
	while (n->decimals < 0) {
		if (n->mantissa > UINT64_MAX / 10)
			return scan_wide(s, n);
		n->mantissa *= 10;
		n->decimals++;
	}
	return true;
}

/* Scaled by 10^decimals; false: it does not fit. */
static bool scale(struct number n, unsigned decimals, u64 *v, bool *rounded)
{
	unsigned up;
	u64 q;

	*rounded |= n.cut;
	if (UNLIKELY(n.high)) {
		/* survey() leaves no decimals where there are such. */
		*v = n.mantissa;
		return !decimals;
	}
	if (n.decimals > (int)decimals) {
		unsigned down = (unsigned)n.decimals - decimals;

		*rounded = true;
		if (down >= ARRAY_SIZE(pow10_u64)) {
			*v = 0;
			return true;
		}
		q = pow10_u64[down];
		*v = n.mantissa / q + (n.mantissa % q >= q / 2);
		return true;
	}
	up = decimals - (unsigned)n.decimals;
	if (n.mantissa > UINT64_MAX / pow10_u64[up])
		return false;
	*v = n.mantissa * pow10_u64[up];
	return true;
}

/* The last word of *s, which then ends before the one blank that sets it off. False: there is no
 * blank. */
static bool take_word(struct span *s, struct span *word)
{
	size_t i = s->n;

	while (i && !is_blank(s->p[i - 1]))
		i--;
	if (!i)
		return false;
	*word = (struct span){ s->p + i, s->n - i };
	s->n = i - 1;
	return true;
}

/* A line without its end: no CR, no blanks behind the count. */
static struct span tidy(const char *p, const char *nl)
{
	while (nl > p && (nl[-1] == '\r' || is_blank(nl[-1])))
		nl--;
	return (struct span){ p, (size_t)(nl - p) };
}

/* ---- frames ---- */

struct frame_key {
	const char *p;
	u32 n;
};

static bool entry_eq(const void *ctx, u32 id, const void *key)
{
	const struct entry *e = ((const struct folded_worker *)ctx)->entries.v[id];
	const struct frame_key *k = key;

	return e->len == k->n && !memcmp(e->raw, k->p, k->n);
}

static struct entry *entry_new(struct text_worker *w, struct text_piece *piece, struct frame_key k,
			       bool root)
{
	struct folded_worker *fw = w->priv;
	struct entry *e = arena_alloc(&w->arena, sizeof(*e) + k.n);
	struct text_def d = { .space = root ? SPACE_NONE : SPACE_USER };

	e->next[0] = e->next[1] = NULL;
	e->id = w->n_defs++;
	e->len = k.n;
	memcpy(e->raw, k.p, k.n);
	d.symbol = (struct span){ e->raw, k.n };
	if (memchr(k.p, '%', k.n)) {
		buf_clear(&fw->name);
		folded_unescape(&fw->name, k.p, k.n);
		d.symbol = (struct span){ arena_strndup(&w->arena, fw->name.p, fw->name.n),
					  fw->name.n };
	}
	if (root)
		d.flags |= TEXT_ROOT;
	else if (text_strip_annotation(&d.symbol, &d.space, &d.flags) && d.space != SPACE_HV)
		piece->annotated = true;
	if (!d.symbol.n)
		d.flags |= TEXT_UNKNOWN;
	vec_push(&fw->entries, e);
	vec_push(&piece->defs, d);
	return e;
}

static struct entry *find(struct text_worker *w, struct text_piece *piece, const char *p, u32 n,
			  bool root)
{
	struct folded_worker *fw = w->priv;
	struct index *ix = root ? &fw->roots : &fw->index;
	struct frame_key k = { p, n };
	u64 hash = hash_bytes(p, n, 0);
	u32 id = index_find(ix, hash, entry_eq, fw, &k);
	struct entry *e;

	if (id != INDEX_NONE)
		return fw->entries.v[id];
	e = entry_new(w, piece, k, root);
	index_add(ix, hash, e->id);
	return e;
}

/* Whether the frame at p is that of `e`, which may be NULL. */
static inline bool is_frame(const struct entry *e, const char *p, const char *end)
{
	return e && (size_t)(end - p) >= e->len && (p + e->len == end || p[e->len] == ';') &&
	       !memcmp(p, e->raw, e->len);
}

/* Ids of the frames of `stack` into fw->ids, root first; `last` is the stack whose ids are there.
 */
static void split(struct text_worker *w, struct text_piece *piece, struct span stack,
		  struct span last)
{
	struct folded_worker *fw = w->priv;
	size_t same = mem_common(stack.p, last.p, MIN(stack.n, last.n)), keep = fw->ends.n, at = 0;
	struct entry *prev = NULL, *e;
	const char *p, *end = stack.p + stack.n, *semi;

	/* A frame counts as the same when its semicolon is within what is common. */
	while (keep && fw->ends.v[keep - 1] >= same)
		keep--;
	fw->ends.n = fw->ids.n = keep;
	if (keep) {
		at = fw->ends.v[keep - 1] + 1;
		prev = fw->entries.v[fw->ids.v[keep - 1]];
	}
	p = stack.p + at;
	for (;;) {
		e = prev ? prev->next[0] : NULL;
		if (is_frame(e, p, end)) {
			semi = p + e->len;
		} else {
			if (prev && is_frame(prev->next[1], p, end)) {
				e = prev->next[1];
				semi = p + e->len;
			} else {
				semi = memchr(p, ';', (size_t)(end - p));
				if (!semi)
					semi = end;
				e = find(w, piece, p, (u32)(semi - p), !fw->ids.n);
			}
			if (prev) {
				prev->next[1] = prev->next[0];
				prev->next[0] = e;
			}
		}
		vec_push(&fw->ids, e->id);
		vec_push(&fw->ends, (u32)(semi - stack.p));
		prev = e;
		if (semi == end)
			break;
		p = semi + 1;
	}
}

/* ---- a piece ---- */

static void parse(struct text_worker *w, struct text_piece *piece)
{
	const struct folded *f = w->ctx;
	struct folded_worker *fw = w->priv;
	const char *p = piece->p, *end = piece->end, *nl;
	struct span last = { "", 0 };
	bool rounded;
	size_t i;

	fw->ends.n = fw->ids.n = 0;
	if (!piece->start)
		p = skip_bom(p, end);
	for (; p < end; p = nl + 1, piece->lines++) {
		struct text_sample s = {
			.time = PERF_NO_TIME,
			.period = 1,
			.pid = PERF_NO_PID,
			.tid = PERF_NO_PID,
			.cpu = PERF_NO_CPU,
			.vcpu = PERF_NO_CPU,
			.comm = TEXT_NO_NAME,
			.event = TEXT_NO_NAME,
		};
		struct span stack, word;
		struct number n, before = { 0 };

		nl = memchr(p, '\n', (size_t)(end - p));
		if (!nl)
			nl = end;
		if (*p == '#')
			continue;
		stack = tidy(p, nl);
		if (!stack.n)
			continue;
		rounded = false;
		if (!take_word(&stack, &word) || !scan_number(word, &n) ||
		    !scale(n, f->decimals, &s.count, &rounded)) {
			text_piece_bad(piece, piece->lines, p, nl);
			continue;
		}
		if (f->two && take_word(&stack, &word) && scan_number(word, &before) &&
		    !scale(before, f->decimals, &s.base, &rounded)) {
			text_piece_bad(piece, piece->lines, p, nl);
			continue;
		}
		if (UNLIKELY(n.high | before.high)) {
			if (f->two) {
				s.count = n.high ? UINT64_MAX : s.count;
				s.base = before.high ? UINT64_MAX : s.base;
			} else {
				s.base = n.high;
			}
		}
		piece->rounded += rounded;
		split(w, piece, stack, last);
		last = stack;
		s.chain = (u32)piece->chain.n;
		s.chain_nr = (u32)fw->ids.n;
		vec_reserve(&piece->chain, fw->ids.n);
		for (i = fw->ids.n; i-- > 0;)
			piece->chain.v[piece->chain.n++] = fw->ids.v[i] * TEXT_VARIANTS;
		vec_push(&piece->samples, s);
	}
	/* The line before is not there any more when the next piece comes. */
	fw->ends.n = fw->ids.n = 0;
}

static size_t cut(const void *ctx, const char *text, size_t n)
{
	const char *nl = memrchr(text, '\n', n);

	(void)ctx;
	return nl ? (size_t)(nl - text) + 1 : 0;
}

static void worker_init(struct text_worker *w)
{
	struct folded_worker *fw = xcalloc(1, sizeof(*fw));

	index_init(&fw->index);
	index_init(&fw->roots);
	w->priv = fw;
}

static void worker_release(struct text_worker *w)
{
	struct folded_worker *fw = w->priv;

	index_release(&fw->index);
	index_release(&fw->roots);
	vec_release(&fw->entries);
	vec_release(&fw->ends);
	vec_release(&fw->ids);
	buf_release(&fw->name);
	free(fw);
}

static const struct text_ops ops = {
	.cut = cut,
	.worker_init = worker_init,
	.worker_release = worker_release,
	.parse = parse,
};

/* ---- the format ---- */

/* Decimals and columns of the whole file, from the ends of its lines. */
static void survey(struct perf_reader *r, struct folded *f)
{
	const char *p = (const char *)(r->in.map ? r->in.map : r->in.head), *start = p;
	const char *end = p + (r->in.map ? (size_t)r->in.size : r->in.head_n), *nl;
	u64 sum = 0, dropped = 0, lines = 0;
	int decimals = 0;
	bool two = true;

	for (; p < end; p = nl + 1) {
		struct span stack, word;
		struct number n;
		int i;

		nl = memchr(p, '\n', (size_t)(end - p));
		if (!nl)
			nl = end;
		/* Not input_drop(): the second reading is to drop them again. */
		if (r->in.map && (u64)(nl - start) - dropped > (8 << 20)) {
			input_drop_range(&r->in, dropped, (u64)(nl - start));
			dropped = (u64)(nl - start);
		}
		if (*p == '#')
			continue;
		stack = tidy(p, nl);
		if (!take_word(&stack, &word) || !scan_number(word, &n))
			continue;
		lines++;
		for (i = 0; i < 2; i++) {
			u64 whole = n.high ? UINT64_MAX
				    : n.decimals < (int)ARRAY_SIZE(pow10_u64)
					    ? n.mantissa / pow10_u64[n.decimals]
					    : 0;

			decimals = MAX(decimals, n.decimals);
			sum = sum + whole + 1 > sum ? sum + whole + 1 : UINT64_MAX;
			if (!i && two)
				two = take_word(&stack, &word) && stack.n && scan_number(word, &n);
			if (!two)
				break;
		}
	}
	f->two = two && lines;
	/* No more decimals than leave room for the sum of all. */
	f->decimals = (unsigned)MIN(decimals, DECIMALS_MAX);
	while (f->decimals && sum > UINT64_MAX / pow10_u64[f->decimals])
		f->decimals--;
	r->meta.weight_scale = (double)pow10_u64[f->decimals];
	r->meta.two_columns = f->two;
}

static int folded_probe(const u8 *head, size_t n, bool is_dir)
{
	const char *p = (const char *)head, *end = p + n, *nl;
	unsigned good = 0, bad = 0, lines = 0, semis = 0;

	if (is_dir || memchr(head, 0, n))
		return 0;
	for (p = skip_bom(p, end); p < end && lines < 400; p = nl + 1) {
		struct span stack, word;
		struct number num;

		nl = memchr(p, '\n', (size_t)(end - p));
		if (!nl) {
			if (n == INPUT_HEAD)
				break;
			nl = end;
		}
		lines++;
		if (*p == '#')
			continue;
		stack = tidy(p, nl);
		if (!stack.n)
			continue;
		if (*p != '\t' && take_word(&stack, &word) && stack.n && scan_number(word, &num)) {
			good++;
			semis += memchr(stack.p, ';', stack.n) != NULL;
		} else {
			bad++;
		}
	}
	/* A single stack longer than the head. */
	if (!lines && n == INPUT_HEAD && memchr(head, ';', n))
		return 3;
	if (!good || bad > good)
		return 0;
	return semis ? 45 : bad ? 2 : 10;
}

static int folded_open(struct perf_reader *r, struct error *err)
{
	struct error damage = { "" };
	struct folded *f;

	if (r->in.is_dir)
		return error_set(err, "'%s': is a directory", input_name(&r->in));
	/* Two looks are needed. A short stream is all in its head. */
	if (!r->in.map && r->in.head_n == INPUT_HEAD && input_map(&r->in, &damage, err))
		return -1;
	f = xcalloc(1, sizeof(*f));
	r->priv = f;
	survey(r, f);
	f->pipe = text_pipe_new(r, &ops, f, "samples");
	if (damage.msg[0])
		text_pipe_fail_at_end(f->pipe, &damage);
	return 0;
}

const struct perf_format format_folded = {
	.name = "folded",
	.title = "folded",
	.probe = folded_probe,
	.open = folded_open,
	.next = text_reader_next,
	.close = text_reader_close,
};
