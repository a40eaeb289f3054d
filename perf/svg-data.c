/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The data block of our own SVG and HTML (its members are described in
 * render/data.c): all stacks, with spaces and modules, exactly as they were.
 *
 * The JSON is read by hand: only this one form comes, columns of millions of
 * numbers, and a tree of objects would take ten times their size.
 */
#include <stdlib.h>
#include <zlib.h>

#include "perf/svg.h"

#define BLOCK_VERSION 2
#define JSON_MAX      ((size_t)1 << 30) /* unpacked */
#define DEPTH_MAX     64                /* nesting of JSON that is passed over */

const char *svg_find_data(const char *p, size_t n, size_t *len, bool *encoded)
{
	static const char mark[] = "<script id=\"xenflame-data\"";
	const char *start = memmem(p, n, mark, sizeof(mark) - 1), *end = p + n, *gt, *close;

	if (!start)
		return NULL;
	gt = memchr(start, '>', (size_t)(end - start));
	if (!gt)
		return NULL;
	*encoded = memmem(start, (size_t)(gt - start), "gzip+base85", 11) != NULL;
	gt++;
	close = memmem(gt, (size_t)(end - gt), "</script", 8);
	*len = (size_t)((close ? close : end) - gt);
	return gt;
}

/* ---- base85 and gzip ---- */

static int base64_digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* The digits are printable ASCII without \" & ' < > \\ and the last three. */
static int base85_digit(char c)
{
	static const char left_out[] = "\"&'<>\\";
	int v = c - '!';
	size_t i;

	if (c < '!' || c > '{')
		return -1;
	for (i = 0; i < sizeof(left_out) - 1; i++) {
		if (c == left_out[i])
			return -1;
		v -= c > left_out[i];
	}
	return v;
}

/* Five digits are four bytes; of what is left at the end, one byte less than digits. */
static void base85_decode(const char *p, size_t n, struct buf *out)
{
	u64 v = 0;
	int digits = 0, d, k;
	size_t i;

	buf_reserve(out, n / 5 * 4 + 8);
	for (i = 0; i < n || digits; i++) {
		d = i < n ? base85_digit(p[i]) : 84;
		if (d < 0)
			continue;
		v = v * 85 + (u64)d;
		if (++digits < 5)
			continue;
		k = i < n ? 4 : (int)(4 - (i - n + 1));
		for (d = 0; d < k; d++)
			buf_putc(out, (char)(v >> (24 - 8 * d)));
		v = 0;
		digits = 0;
	}
}

static int gunzip(const struct buf *in, struct buf *out, const char *name, struct error *err)
{
	z_stream z = { .next_in = (Bytef *)in->p };
	size_t done = 0;
	int r = Z_OK;

	if (inflateInit2(&z, 15 + 16) != Z_OK)
		return error_set(err, "'%s': cannot start unpacking the data block", name);
	while (r == Z_OK && out->n <= JSON_MAX) {
		if (!z.avail_in) {
			size_t part = MIN(in->n - done, (size_t)1 << 30);

			z.next_in = (Bytef *)in->p + done;
			z.avail_in = (uInt)part;
			done += part;
		}
		buf_reserve(out, 1 << 18);
		z.next_out = (Bytef *)out->p + out->n;
		z.avail_out = 1 << 18;
		r = inflate(&z, Z_NO_FLUSH);
		out->n += (1 << 18) - z.avail_out;
	}
	inflateEnd(&z);
	if (out->n > JSON_MAX)
		return error_set(err, "'%s': data block larger than 1 GiB", name);
	if (r != Z_STREAM_END)
		return error_set(err, "'%s': data block damaged: cannot be unpacked", name);
	return 0;
}

/* ---- JSON ---- */

struct json {
	const char *start, *p, *end;
	bool bad;
};

static char peek(struct json *j)
{
	while (j->p < j->end && (*j->p == ' ' || *j->p == '\n' || *j->p == '\t' || *j->p == '\r'))
		j->p++;
	return j->p < j->end ? *j->p : 0;
}

static bool eat(struct json *j, char c)
{
	if (j->bad || peek(j) != c)
		return false;
	j->p++;
	return true;
}

static void want(struct json *j, char c)
{
	if (!eat(j, c))
		j->bad = true;
}

static u32 hex4(struct json *j)
{
	u32 v = 0;
	int i;

	for (i = 0; i < 4; i++) {
		char c = j->p < j->end ? *j->p++ : 0;

		if (c >= '0' && c <= '9')
			v = v << 4 | (u32)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v << 4 | (u32)(c - 'a' + 10);
		else if (c >= 'A' && c <= 'F')
			v = v << 4 | (u32)(c - 'A' + 10);
		else
			j->bad = true;
	}
	return v;
}

static void put_cp(struct buf *b, u32 cp)
{
	if (cp < 0x80) {
		buf_putc(b, (char)cp);
	} else if (cp < 0x800) {
		buf_putc(b, (char)(0xc0 | cp >> 6));
		buf_putc(b, (char)(0x80 | (cp & 63)));
	} else if (cp < 0x10000) {
		buf_putc(b, (char)(0xe0 | cp >> 12));
		buf_putc(b, (char)(0x80 | (cp >> 6 & 63)));
		buf_putc(b, (char)(0x80 | (cp & 63)));
	} else {
		buf_putc(b, (char)(0xf0 | cp >> 18));
		buf_putc(b, (char)(0x80 | (cp >> 12 & 63)));
		buf_putc(b, (char)(0x80 | (cp >> 6 & 63)));
		buf_putc(b, (char)(0x80 | (cp & 63)));
	}
}

/* A string into b, which is cleared. */
static void get_string(struct json *j, struct buf *b)
{
	u32 cp, low;

	buf_clear(b);
	want(j, '"');
	while (!j->bad) {
		const char *s = j->p;

		while (j->p < j->end && *j->p != '"' && *j->p != '\\')
			j->p++;
		buf_put(b, s, (size_t)(j->p - s));
		if (j->p == j->end) {
			j->bad = true;
			break;
		}
		if (*j->p++ == '"')
			break;
		switch (j->p < j->end ? *j->p++ : 0) {
		case '"':
		case '\\':
		case '/': buf_putc(b, j->p[-1]); break;
		case 'b': buf_putc(b, '\b'); break;
		case 'f': buf_putc(b, '\f'); break;
		case 'n': buf_putc(b, '\n'); break;
		case 'r': buf_putc(b, '\r'); break;
		case 't': buf_putc(b, '\t'); break;
		case 'u':
			cp = hex4(j);
			if (cp >= 0xd800 && cp < 0xdc00 && j->end - j->p >= 6 && j->p[0] == '\\' &&
			    j->p[1] == 'u') {
				j->p += 2;
				low = hex4(j);
				if (low < 0xdc00 || low > 0xdfff)
					j->bad = true;
				else
					cp = 0x10000 + ((cp - 0xd800) << 10) + (low - 0xdc00);
			}
			put_cp(b, cp);
			break;
		default: j->bad = true;
		}
	}
}

/* A whole number, as it is or in quotes. */
static u64 get_u64(struct json *j)
{
	bool quoted = eat(j, '"');
	u64 v = 0;

	if (j->bad || !peek(j) || parse_dec(&j->p, j->end, &v))
		j->bad = true;
	if (quoted)
		want(j, '"');
	return v;
}

/* Any value, without keeping it. */
static void skip_value(struct json *j)
{
	struct buf b = BUF_INIT;
	int depth = 0;
	char c;

	do {
		c = peek(j);
		if (c == '"') {
			get_string(j, &b);
		} else if (c == '[' || c == '{') {
			j->p++;
			if (++depth > DEPTH_MAX)
				j->bad = true;
		} else if (c == ']' || c == '}') {
			j->p++;
			depth--;
		} else if (c == ',' || c == ':') {
			if (!depth)
				j->bad = true;
			j->p++;
		} else if (c) {
			while (j->p < j->end && !strchr(",:]}\"[{ \t\r\n", *j->p))
				j->p++;
		} else {
			j->bad = true;
		}
	} while (!j->bad && depth > 0);
	if (depth < 0)
		j->bad = true;
	buf_release(&b);
}

/* ---- the block ---- */

typedef VEC(u64) u64_column;

/* Strings of digits to the base of 64: the lowest ones of all items, then the next ones … */
static void get_column(struct json *j, u64_column *c)
{
	u32 shift = 0;
	size_t i;

	c->n = 0;
	want(j, '[');
	do {
		want(j, '"');
		for (i = 0; !j->bad && j->p < j->end && *j->p != '"'; i++, j->p++) {
			int d = base64_digit(*j->p);

			if (d < 0 || shift > 60 || (shift == 60 && d > 15))
				j->bad = true;
			else if (!shift)
				vec_push(c, (u64)d);
			else if (i < c->n)
				c->v[i] |= (u64)d << shift;
			else
				j->bad = true;
		}
		want(j, '"');
		if (shift && i != c->n)
			j->bad = true;
		shift += 6;
	} while (eat(j, ','));
	want(j, ']');
}

struct member {
	const char *name;
	u64_column *column;
};

static void get_columns(struct json *j, const struct member *members, size_t n)
{
	struct buf key = BUF_INIT;
	size_t i;

	want(j, '{');
	if (!eat(j, '}')) {
		do {
			get_string(j, &key);
			want(j, ':');
			for (i = 0; i < n; i++)
				if (!strcmp(buf_str(&key), members[i].name))
					break;
			if (i < n)
				get_column(j, members[i].column);
			else
				skip_value(j);
		} while (!j->bad && eat(j, ','));
		want(j, '}');
	}
	buf_release(&key);
}

/* A weight by node: of chains' last nodes, and of others where it is not 0. */
struct weights {
	u64_column leaf, inner, gap;
};

struct block {
	u64 version;
	struct buf texts; /* strings without the starts that they share, one behind the other */
	VEC(size_t) text_ends;
	u64_column shared;
	struct buf odd_texts; /* whole strings that are not UTF-8, escaped as in folded stacks */
	VEC(size_t) odd_ends;
	u64_column odd; /* which strings these are */
	VEC(str_id) strings;
	VEC(u8) spaces;
	u64_column name, suffix, module, file, line, space, flags; /* of frames */
	u64_column run, up, callee, more, fresh;                   /* of nodes */
	struct weights self, base;
	VEC(struct svg_node) nodes; /* behind the root */
	struct buf unit, event;
	double factor;
};

/* Numbers are shown multiplied by options.factor: 0.01 for a picture of weights with two decimals.
 */
static void get_options(struct json *j, struct block *b)
{
	struct buf key = BUF_INIT;

	want(j, '{');
	if (!eat(j, '}')) {
		do {
			get_string(j, &key);
			want(j, ':');
			if (!strcmp(buf_str(&key), "factor") && peek(j)) {
				char digits[32];
				size_t n = MIN((size_t)(j->end - j->p), sizeof(digits) - 1);

				memcpy(digits, j->p, n);
				digits[n] = 0;
				b->factor = strtod(digits, NULL);
			}
			skip_value(j);
		} while (!j->bad && eat(j, ','));
		want(j, '}');
	}
	buf_release(&key);
}

static void get_strings(struct json *j, struct block *b)
{
	struct buf s = BUF_INIT;

	want(j, '[');
	if (!eat(j, ']')) {
		do {
			get_string(j, &s);
			buf_put(&b->texts, s.p, s.n);
			vec_push(&b->text_ends, b->texts.n);
		} while (!j->bad && eat(j, ','));
		want(j, ']');
	}
	buf_release(&s);
}

static void get_odd_strings(struct json *j, struct block *b)
{
	struct buf s = BUF_INIT;

	want(j, '{');
	if (!eat(j, '}')) {
		do {
			vec_push(&b->odd, get_u64(j));
			want(j, ':');
			get_string(j, &s);
			buf_put(&b->odd_texts, s.p, s.n);
			vec_push(&b->odd_ends, b->odd_texts.n);
		} while (!j->bad && eat(j, ','));
		want(j, '}');
	}
	buf_release(&s);
}

static void get_spaces(struct json *j, struct block *b)
{
	struct buf s = BUF_INIT;
	int i;

	want(j, '[');
	if (!eat(j, ']')) {
		do {
			get_string(j, &s);
			for (i = 0; i < SPACE_NR - 1; i++)
				if (!strcmp(buf_str(&s), space_name((enum space)i)))
					break;
			vec_push(&b->spaces, (u8)i); /* SPACE_NONE for a name that we do not know */
		} while (!j->bad && eat(j, ','));
		want(j, ']');
	}
	buf_release(&s);
}

static void get_block(struct json *j, struct block *b)
{
	const struct member frames[] = {
		{ "name", &b->name },   { "suffix", &b->suffix }, { "module", &b->module },
		{ "file", &b->file },   { "line", &b->line },     { "space", &b->space },
		{ "flags", &b->flags },
	};
	const struct member nodes[] = {
		{ "run", &b->run },
		{ "up", &b->up },
		{ "callee", &b->callee },
		{ "more", &b->more },
		{ "fresh", &b->fresh },
		{ "self_leaf", &b->self.leaf },
		{ "self_inner", &b->self.inner },
		{ "self_gap", &b->self.gap },
		{ "base_leaf", &b->base.leaf },
		{ "base_inner", &b->base.inner },
		{ "base_gap", &b->base.gap },
	};
	struct buf key = BUF_INIT;

	want(j, '{');
	do {
		get_string(j, &key);
		want(j, ':');
		if (!strcmp(buf_str(&key), "strings"))
			get_strings(j, b);
		else if (!strcmp(buf_str(&key), "shared"))
			get_column(j, &b->shared);
		else if (!strcmp(buf_str(&key), "bytes"))
			get_odd_strings(j, b);
		else if (!strcmp(buf_str(&key), "version"))
			b->version = get_u64(j);
		else if (!strcmp(buf_str(&key), "spaces"))
			get_spaces(j, b);
		else if (!strcmp(buf_str(&key), "frames"))
			get_columns(j, frames, ARRAY_SIZE(frames));
		else if (!strcmp(buf_str(&key), "nodes"))
			get_columns(j, nodes, ARRAY_SIZE(nodes));
		else if (!strcmp(buf_str(&key), "options"))
			get_options(j, b);
		else if (!strcmp(buf_str(&key), "unit"))
			get_string(j, &b->unit);
		else if (!strcmp(buf_str(&key), "event"))
			get_string(j, &b->event);
		else
			skip_value(j);
	} while (!j->bad && eat(j, ','));
	want(j, '}');
	buf_release(&key);
}

static u8 text_flags(u64 flags)
{
	u8 f = 0;

	if (flags & FRAME_INLINED)
		f |= TEXT_INLINED;
	if (flags & (FRAME_UNRESOLVED | FRAME_BROKEN))
		f |= TEXT_UNKNOWN;
	if (flags & FRAME_JIT)
		f |= TEXT_JIT;
	if (flags & FRAME_DOUBTFUL)
		f |= TEXT_DOUBTFUL;
	if (flags & FRAME_GROUP)
		f |= TEXT_ROOT;
	return f;
}

/* "_[k]", "_[i]", "_[j]", "_[g]": marks that only --annotate=all writes. */
static bool is_mark(const struct strtab *st, str_id s)
{
	const char *p = strtab_get(st, s);

	return p[0] == '_' && p[1] == '[' && p[2] != 'h' && p[2] && p[3] == ']';
}

static int damaged(struct perf_reader *r, const char *what, size_t at, struct error *err)
{
	return error_set(err, "'%s': data block damaged: %s %zu", input_name(&r->in), what, at);
}

/* Puts the shared starts before the strings. */
static int make_strings(struct perf_reader *r, struct block *b, struct error *err)
{
	struct buf s = BUF_INIT;
	size_t done = 0, all = 0, i;
	int ret = -1;

	for (i = 0; i < b->text_ends.n; i++) {
		size_t n = b->text_ends.v[i] - done;

		/* Short items can stand for strings without end. */
		if (i >= b->shared.n || b->shared.v[i] > s.n ||
		    (all += b->shared.v[i] + n) > JSON_MAX) {
			damaged(r, "string", i, err);
			goto out;
		}
		s.n = b->shared.v[i];
		buf_put(&s, b->texts.p + done, n);
		done += n;
		vec_push(&b->strings, strtab_add(r->strings, s.p, s.n));
	}
	for (i = done = 0; i < b->odd.n; i++) {
		if (b->odd.v[i] >= b->strings.n) {
			damaged(r, "string", (size_t)b->odd.v[i], err);
			goto out;
		}
		buf_clear(&s);
		folded_unescape(&s, b->odd_texts.p + done, b->odd_ends.v[i] - done);
		done = b->odd_ends.v[i];
		b->strings.v[b->odd.v[i]] = strtab_add(r->strings, s.p, s.n);
	}
	ret = 0;
out:
	buf_release(&s);
	return ret;
}

/* Which callee the next node is, where any has stood on its parent's frame before; two a digit. */
struct ranks {
	const struct block *b;
	size_t taken, taken_more;
};

/* UINT64_MAX: there are no more. */
static u64 next_rank(struct ranks *k)
{
	const struct block *b = k->b;
	size_t at = k->taken++;
	u64 pair, rank;

	if (at / 2 >= b->callee.n)
		return UINT64_MAX;
	pair = b->callee.v[at / 2];
	rank = at % 2 ? pair & 7 : pair >> 3 & 7;
	if (rank < 7)
		return rank;
	return k->taken_more < b->more.n ? rank + b->more.v[k->taken_more++] : UINT64_MAX;
}

/*
 * Depth and frame of the nodes.  Each is the callee of its parent's frame that `callee` numbers,
 * from 1 in order of first appearance, or with 0 the next one of `fresh`; where none has stood on
 * that frame before it is that too.  Every node takes an item of one of these columns, so there
 * cannot be more than the block pays for.
 */
static int make_nodes(struct perf_reader *r, struct block *b, struct error *err)
{
	typedef VEC(u32) u32_column;
	size_t n = b->name.n, fresh = 0, chain, i;
	u32_column *callees = xcalloc(n + 1, sizeof(*callees)), path = { NULL, 0, 0 };
	struct ranks ranks = { b, 0, 0 };
	u64 depth = 0, left;
	int ret = -1;

	vec_push(&path, (u32)n); /* the root counts as a frame of its own */
	for (chain = 0; chain < b->run.n; chain++) {
		for (left = b->run.v[chain];; left--) {
			u32_column *c = &callees[path.v[depth]];
			u64 rank = c->n ? next_rank(&ranks) : 0, f = UINT64_MAX;

			if (rank && rank <= c->n)
				f = c->v[rank - 1];
			else if (!rank && fresh < b->fresh.n)
				f = b->fresh.v[fresh++];
			if (f >= n || b->nodes.n >= UINT32_MAX - 1) {
				damaged(r, "node", b->nodes.n + 1, err);
				goto out;
			}
			if (!rank)
				vec_push(c, (u32)f);
			path.n = ++depth;
			vec_push(&path, (u32)f);
			vec_push(&b->nodes, ((struct svg_node){ (u32)depth, (u32)f, 0, 0 }));
			if (!left)
				break;
		}
		if (b->up.v[chain] >= depth) {
			damaged(r, "chain", chain, err);
			goto out;
		}
		depth -= b->up.v[chain] + 1;
	}
	ret = 0;
out:
	for (i = 0; i <= n; i++)
		vec_release(&callees[i]);
	free(callees);
	vec_release(&path);
	return ret;
}

/* A weight of all nodes.  Those of the root belong to no stack. */
static int set_weights(struct perf_reader *r, struct block *b, const struct weights *w, bool base,
		       struct error *err)
{
	size_t node = 0, i;
	u64 at = 0;

	for (i = 0; i < w->leaf.n; i++) {
		node += b->run.v[i] + 1;
		*(base ? &b->nodes.v[node - 1].base : &b->nodes.v[node - 1].self) = w->leaf.v[i];
	}
	for (i = 0; i < w->inner.n; i++, at++) {
		if (w->gap.v[i] > b->nodes.n || (at += w->gap.v[i]) > b->nodes.n)
			return damaged(r, "weight", i, err);
		if (at)
			*(base ? &b->nodes.v[at - 1].base
			       : &b->nodes.v[at - 1].self) = w->inner.v[i];
	}
	return 0;
}

/* The columns as a tree; every index is checked here. */
static int make_tree(struct perf_reader *r, struct block *b, struct svg_tree *tree,
		     struct error *err)
{
	VEC(u32) ids = { NULL, 0, 0 };
	size_t n = b->name.n, m = b->run.n, i;
	bool two = b->base.leaf.n || b->base.inner.n;
	u64 name = 0, scale;
	int ret = -1;

	if (b->version != BLOCK_VERSION) {
		error_set(err,
			  "'%s': data block of version %" PRIu64 ", this program reads version %d",
			  input_name(&r->in), b->version, BLOCK_VERSION);
		goto out;
	}
	if (b->suffix.n != n || b->module.n != n || b->file.n != n || b->line.n != n ||
	    b->space.n != n || b->flags.n != n || n >= UINT32_MAX || b->up.n != m ||
	    b->self.leaf.n != m || b->self.inner.n != b->self.gap.n ||
	    (two && (b->base.leaf.n != m || b->base.inner.n != b->base.gap.n))) {
		error_set(err, "'%s': data block damaged: columns differ in length",
			  input_name(&r->in));
		goto out;
	}
	if (make_strings(r, b, err) || make_nodes(r, b, err) ||
	    set_weights(r, b, &b->self, false, err) ||
	    (two && set_weights(r, b, &b->base, true, err)))
		goto out;
	for (i = 0; i < n; i++) {
		struct perf_text_frame f;

		/* Each is written less the one before. */
		name = b->name.v[i] < b->strings.n ? name + b->name.v[i] : UINT64_MAX / 2;
		if (name >= b->strings.n || b->module.v[i] >= b->strings.n ||
		    b->file.v[i] >= b->strings.n || b->suffix.v[i] >= b->strings.n ||
		    b->space.v[i] >= b->spaces.n || b->line.v[i] > UINT32_MAX) {
			damaged(r, "frame", i, err);
			goto out;
		}
		f = (struct perf_text_frame){
			.symbol = b->strings.v[name],
			.module = b->strings.v[b->module.v[i]],
			.file = b->strings.v[b->file.v[i]],
			.line = (u32)b->line.v[i],
			.space = b->spaces.v[b->space.v[i]],
			.flags = text_flags(b->flags.v[i]),
		};
		r->meta.annotated |= is_mark(r->strings, b->strings.v[b->suffix.v[i]]);
		vec_push(&ids, text_frames_add(r->text, &f));
	}
	vec_reserve(&tree->nodes, b->nodes.n);
	for (i = 0; i < b->nodes.n; i++) {
		b->nodes.v[i].frame = ids.v[b->nodes.v[i].frame];
		vec_push(&tree->nodes, b->nodes.v[i]);
	}
	r->meta.two_columns = two;
	for (scale = 10; scale <= 1000000000; scale *= 10)
		if (b->factor > 0.9999 / (double)scale && b->factor < 1.0001 / (double)scale)
			r->meta.weight_scale = (double)scale;
	tree->unit = xstrdup(buf_str(b->event.n ? &b->event : &b->unit));
	ret = 0;
out:
	vec_release(&ids);
	return ret;
}

int svg_read_data(struct perf_reader *r, const char *p, size_t n, bool encoded,
		  struct svg_tree *tree, struct error *err)
{
	struct buf packed = BUF_INIT, text = BUF_INIT;
	struct block b;
	u64_column *const columns[] = {
		&b.shared,     &b.odd,      &b.name,      &b.suffix,     &b.module,
		&b.file,       &b.line,     &b.space,     &b.flags,      &b.run,
		&b.up,         &b.callee,   &b.more,      &b.fresh,      &b.self.leaf,
		&b.self.inner, &b.self.gap, &b.base.leaf, &b.base.inner, &b.base.gap,
	};
	struct json j;
	size_t i;
	int ret = -1;

	memset(&b, 0, sizeof(b));
	if (encoded) {
		base85_decode(p, n, &packed);
		if (gunzip(&packed, &text, input_name(&r->in), err))
			goto out;
		buf_release(&packed);
		p = text.p;
		n = text.n;
	}
	j = (struct json){ p, p, p + n, false };
	get_block(&j, &b);
	if (j.bad) {
		error_set(err, "'%s': data block damaged at its offset 0x%zx", input_name(&r->in),
			  (size_t)(j.p - j.start));
		goto out;
	}
	ret = make_tree(r, &b, tree, err);
out:
	buf_release(&packed);
	buf_release(&text);
	buf_release(&b.unit);
	buf_release(&b.event);
	buf_release(&b.texts);
	vec_release(&b.text_ends);
	buf_release(&b.odd_texts);
	vec_release(&b.odd_ends);
	vec_release(&b.strings);
	vec_release(&b.spaces);
	vec_release(&b.nodes);
	for (i = 0; i < ARRAY_SIZE(columns); i++)
		vec_release(columns[i]);
	return ret;
}
