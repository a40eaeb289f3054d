/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flame graphs as pictures, read back into stacks.
 *
 * Ours (SVG and HTML) hold a data block: exact.  Those of flamegraph.pl and inferno
 * are read from their boxes: the title of a box ("name (1,234 samples, 5.67%)") has name
 * and count, its place says what it stands on.  Boxes too narrow to be drawn are
 * not there: what they counted stays with the box below.  The oldest flamegraph.pl
 * has the title in onmouseover="s('…')".
 *
 * XML goes through libxml2's push parser: no network, no DTD, no entities but
 * the five of XML, bounded numbers of boxes and bytes.
 */
#include <math.h>
#include <stdlib.h>
#ifdef HAVE_LIBXML2
#include <libxml/parser.h>
#endif

#include "perf/svg.h"
#include "perf/text.h"

/* A small file can hold a tree whose stacks, written out, are endless: nodes times depth. */
#define FRAMES_MAX ((u64)1 << 30)

struct svg {
	struct svg_tree tree;
	size_t at;
	u64 frames;    /* given out so far */
	VEC(u32) path; /* frame by depth - 1 */
	VEC(u32) chain;
	struct error damage; /* told behind the last sample */
	u32 event;
};

#ifdef HAVE_LIBXML2
#define XML_FUNCTIONS(F)             \
	F(xml, CreatePushParserCtxt) \
	F(xml, CtxtUseOptions)       \
	F(xml, FreeDoc)              \
	F(xml, FreeParserCtxt)       \
	F(xml, GetPredefinedEntity)  \
	F(xml, ParseChunk)
LIBRARY(xml, SONAME_LIBXML2, "an SVG that another program drew", XML_FUNCTIONS);

#define BOXES_MAX      ((size_t)8 << 20)
#define NAME_MAX_BYTES ((size_t)1 << 20)
#define STRINGS_MAX    ((size_t)1 << 30)

struct box {
	double x, w, y;
	u64 count;
	str_id name;
	u32 depth;
	u32 parent;            /* index of a box, or UINT32_MAX */
	u32 first, last, next; /* children and sibling, in order of x */
	u64 self;
};

struct scan {
	struct perf_reader *r;
	VEC(struct box) boxes;
	struct buf title, group_title;
	bool in_title, has_rect;
	int group; /* nesting of g and a with a title of their own */
	struct box rect;
	size_t name_bytes;
	u64 unreadable; /* titles without a count */
	bool full;
	char *unit;
};

static double number(const char *p)
{
	double v = p ? strtod(p, NULL) : NAN;

	return isfinite(v) ? v : NAN;
}

/* "name (1,234 samples, 5.67%)" into box and unit. */
static bool read_title(struct scan *s, const char *p, size_t n, struct box *b)
{
	size_t i = n, unit;
	u64 v = 0;
	bool digits = false;

	while (i > 1 && !(p[i - 1] == '(' && p[i - 2] == ' '))
		i--;
	if (i <= 1)
		return false;
	b->name = 0;
	unit = i - 2; /* end of the name */
	for (; i < n && ((p[i] >= '0' && p[i] <= '9') || p[i] == ','); i++) {
		if (p[i] == ',') {
			if (i + 1 < n && p[i + 1] == ' ')
				break;
			continue;
		}
		if (v > (UINT64_MAX - (u64)(p[i] - '0')) / 10)
			return false;
		v = v * 10 + (u64)(p[i] - '0');
		digits = true;
	}
	if (digits && i + 1 < n && p[i] == '.') {
		/* --factor: the picture rounds, and so do we */
		v += p[i + 1] >= '5' && p[i + 1] <= '9';
		for (i++; i < n && p[i] >= '0' && p[i] <= '9'; i++)
			;
	}
	if (!digits)
		return false;
	b->count = v;
	b->name = strtab_add(s->r->strings, p, unit);
	if (!s->unit && i < n && p[i] == ' ') {
		const char *comma = memchr(p + i, ',', n - i);

		if (comma)
			s->unit = xstrndup(p + i + 1, (size_t)(comma - p) - i - 1);
	}
	return true;
}

static void add_box(struct scan *s, const struct buf *title)
{
	struct box b = s->rect;

	s->has_rect = false;
	if (!title->n || isnan(b.x) || isnan(b.w) || isnan(b.y) || b.w < 0)
		return;
	if (!read_title(s, title->p, title->n, &b)) {
		s->unreadable++;
		return;
	}
	s->name_bytes += title->n;
	if (s->boxes.n >= BOXES_MAX || s->name_bytes > STRINGS_MAX) {
		s->full = true;
		return;
	}
	vec_push(&s->boxes, b);
}

/* s('…') with backslashes before quotes. */
static void take_mouseover(struct buf *b, const char *p)
{
	const char *start = strstr(p, "s('");

	if (!start || start != p)
		return;
	buf_clear(b);
	for (p = start + 3; *p && *p != '\''; p++) {
		if (*p == '\\' && p[1])
			p++;
		buf_putc(b, *p);
	}
}

/* An ampersand comes as "&#38;" when entities are not replaced. */
static void put_attr(struct buf *b, const char *p, size_t n)
{
	const char *end = p + n, *amp;

	while ((amp = memmem(p, (size_t)(end - p), "&#38;", 5))) {
		buf_put(b, p, (size_t)(amp - p) + 1);
		p = amp + 5;
	}
	buf_put(b, p, (size_t)(end - p));
}

/* libxml2 gives attributes as runs of five pointers; the value is not terminated. */
static bool attr(const xmlChar **attrs, int n, const char *name, const char *prefix,
		 struct buf *value)
{
	int i;

	for (i = 0; i < n; i++, attrs += 5) {
		if (strcmp((const char *)attrs[0], name))
			continue;
		if (prefix ? !attrs[1] || strcmp((const char *)attrs[1], prefix) : attrs[1] != NULL)
			continue;
		buf_clear(value);
		put_attr(value, (const char *)attrs[3],
			 MIN((size_t)(attrs[4] - attrs[3]), NAME_MAX_BYTES));
		buf_str(value);
		return true;
	}
	return false;
}

static void on_start(void *ctx, const xmlChar *local, const xmlChar *prefix, const xmlChar *uri,
		     int n_ns, const xmlChar **ns, int n_attrs, int n_defaulted,
		     const xmlChar **attrs)
{
	const char *name = (const char *)local;
	struct buf v = BUF_INIT;
	struct scan *s = ctx;

	(void)prefix;
	(void)uri;
	(void)n_ns;
	(void)ns;
	(void)n_defaulted;
	if (!strcmp(name, "title")) {
		s->in_title = true;
		buf_clear(&s->title);
	} else if (!strcmp(name, "g") || !strcmp(name, "a")) {
		buf_clear(&s->group_title);
		s->has_rect = false;
		if (attr(attrs, n_attrs, "onmouseover", NULL, &v))
			take_mouseover(&s->group_title, buf_str(&v));
	} else if (!strcmp(name, "rect")) {
		s->rect = (struct box){ .x = NAN, .w = NAN, .y = NAN };
		if (attr(attrs, n_attrs, "x", NULL, &v))
			s->rect.x = number(buf_str(&v));
		if (attr(attrs, n_attrs, "width", NULL, &v))
			s->rect.w = number(buf_str(&v));
		if (attr(attrs, n_attrs, "y", NULL, &v))
			s->rect.y = number(buf_str(&v));
		/* inferno's exact places, in samples */
		if (attr(attrs, n_attrs, "x", "fg", &v))
			s->rect.x = number(buf_str(&v));
		if (attr(attrs, n_attrs, "w", "fg", &v))
			s->rect.w = number(buf_str(&v));
		s->has_rect = true;
		buf_clear(&v);
		if (attr(attrs, n_attrs, "onmouseover", NULL, &v)) {
			take_mouseover(&s->title, buf_str(&v));
			add_box(s, &s->title);
		} else if (s->group_title.n) {
			add_box(s, &s->group_title);
			buf_clear(&s->group_title);
		}
	}
	buf_release(&v);
}

static void on_end(void *ctx, const xmlChar *local, const xmlChar *prefix, const xmlChar *uri)
{
	const char *name = (const char *)local;
	struct scan *s = ctx;

	(void)prefix;
	(void)uri;
	if (!strcmp(name, "title") && s->in_title) {
		s->in_title = false;
		buf_clear(&s->group_title);
		/* The title comes before the box, or in it. */
		if (s->has_rect)
			add_box(s, &s->title);
		else
			buf_put(&s->group_title, s->title.p, s->title.n);
	} else if (!strcmp(name, "g") || !strcmp(name, "a")) {
		buf_clear(&s->group_title);
		s->has_rect = false;
	}
}

static void on_text(void *ctx, const xmlChar *p, int n)
{
	struct scan *s = ctx;

	if (s->in_title && s->title.n < NAME_MAX_BYTES)
		buf_put(&s->title, p, (size_t)n);
}

static xmlEntityPtr on_entity(void *ctx, const xmlChar *name)
{
	(void)ctx;
	return xml.GetPredefinedEntity(name);
}

/* Messages of libxml2 go nowhere; its state tells. */
static void on_error(void *ctx, const char *fmt, ...)
{
	(void)ctx;
	(void)fmt;
}

static int parse_xml(struct scan *s, const char *p, size_t n, struct error *damage,
		     struct error *err)
{
	xmlSAXHandler sax = {
		.initialized = XML_SAX2_MAGIC,
		.startElementNs = on_start,
		.endElementNs = on_end,
		.characters = on_text,
		.ignorableWhitespace = on_text,
		.cdataBlock = on_text,
		.getEntity = on_entity,
		.warning = on_error,
		.error = on_error,
		.fatalError = on_error,
	};
	xmlParserCtxtPtr x;
	size_t at = 0, part;
	int r = 0;

	if (library_open(&xml_library, err))
		return -1;
	x = xml.CreatePushParserCtxt(&sax, s, NULL, 0, NULL);
	if (!x)
		return error_set(err, "'%s': cannot start reading XML", input_name(&s->r->in));
	xml.CtxtUseOptions(x, XML_PARSE_NONET | XML_PARSE_HUGE | XML_PARSE_NOERROR |
				      XML_PARSE_NOWARNING);
	/* xmlCtxtUseOptions() leaves the context's own handler; the context is the user data. */
	x->userData = s;
	while (at < n && !r && !s->full) {
		part = MIN(n - at, (size_t)64 << 10);
		r = xml.ParseChunk(x, p + at, (int)part, at + part == n);
		at += part;
	}
	if (s->full)
		error_set(damage, "'%s': more than %zu boxes: the rest was not read",
			  input_name(&s->r->in), BOXES_MAX);
	else if (!x->wellFormed)
		error_set(damage, "'%s': line %d: not well-formed XML", input_name(&s->r->in),
			  x->input ? x->input->line : 0);
	if (x->myDoc)
		xml.FreeDoc(x->myDoc);
	x->myDoc = NULL;
	xml.FreeParserCtxt(x);
	return 0;
}

/* ---- places -> tree ---- */

static int cmp_double(const void *pa, const void *pb)
{
	double a = *(const double *)pa, b = *(const double *)pb;

	return (a > b) - (a < b);
}

/* By row from the root on, then from left to right, then as they came. */
static int cmp_box(const void *pa, const void *pb)
{
	const struct box *a = pa, *b = pb;

	if (a->depth != b->depth)
		return a->depth < b->depth ? -1 : 1;
	if (a->x != b->x)
		return a->x < b->x ? -1 : 1;
	if (a->w != b->w)
		return a->w > b->w ? -1 : 1;
	return (a->first > b->first) - (a->first < b->first); /* `first` is the number here */
}

static bool is_root_name(const struct strtab *st, str_id name)
{
	const char *p = strtab_get(st, name);

	return !strcmp(p, "all") || !strcmp(p, "root") || !*p;
}

/* The row at one end of the picture. */
struct end_row {
	double w;
	size_t n;
	bool root; /* some box has the name of one */
};

static void add_to_row(struct end_row *r, const struct scan *s, const struct box *b)
{
	r->w += b->w;
	r->n++;
	r->root |= is_root_name(s->r->strings, b->name);
}

/* Whether the root is at the top: the wider end; when all stacks are of one depth, the end that
 * looks like a root, else the one with fewer boxes. */
static bool is_icicle(const struct end_row *top, const struct end_row *bottom)
{
	if (top->w > bottom->w * 1.001 || bottom->w > top->w * 1.001)
		return top->w > bottom->w;
	if ((top->root && top->n == 1) != (bottom->root && bottom->n == 1))
		return top->root && top->n == 1;
	return top->n < bottom->n;
}

/* Rows by y; depth 0 is that of the root. */
static void find_rows(struct scan *s)
{
	struct end_row top = { 0 }, bottom = { 0 };
	double *y = xcalloc(s->boxes.n, sizeof(*y));
	size_t n = 0, i;
	bool upside;

	for (i = 0; i < s->boxes.n; i++)
		y[i] = s->boxes.v[i].y;
	qsort(y, s->boxes.n, sizeof(*y), cmp_double);
	for (i = 0; i < s->boxes.n; i++)
		if (!n || y[i] - y[n - 1] > 0.5)
			y[n++] = y[i];
	for (i = 0; i < s->boxes.n; i++) {
		struct box *b = &s->boxes.v[i];
		size_t lo = 0, hi = n;

		while (hi - lo > 1) {
			size_t mid = (lo + hi) / 2;

			if (b->y >= y[mid])
				lo = mid;
			else
				hi = mid;
		}
		b->depth = (u32)lo;
		b->first = (u32)i;
		if (!lo)
			add_to_row(&top, s, b);
		if (lo == n - 1)
			add_to_row(&bottom, s, b);
	}
	upside = is_icicle(&top, &bottom);
	for (i = 0; i < s->boxes.n && !upside; i++)
		s->boxes.v[i].depth = (u32)(n - 1) - s->boxes.v[i].depth;
	free(y);
	qsort(s->boxes.v, s->boxes.n, sizeof(*s->boxes.v), cmp_box);
}

/* Parents, and what is left of each count when the children's are taken off. */
static void find_parents(struct scan *s, u64 *orphans, u64 *over)
{
	size_t row = 0, above = 0, above_end = 0, i, p = 0;

	for (i = 0; i < s->boxes.n; i++) {
		s->boxes.v[i].parent = s->boxes.v[i].first = s->boxes.v[i].last =
			s->boxes.v[i].next = UINT32_MAX;
		s->boxes.v[i].self = s->boxes.v[i].count;
	}
	for (i = 0; i < s->boxes.n; i++) {
		struct box *b = &s->boxes.v[i], *parent;
		double mid = b->x + b->w / 2;

		if (b->depth != s->boxes.v[row].depth) {
			bool next = s->boxes.v[row].depth + 1 == b->depth;

			above = next ? row : i;
			above_end = i;
			row = i;
			p = above;
		}
		if (!b->depth)
			continue;
		while (p < above_end && s->boxes.v[p].x + s->boxes.v[p].w < mid)
			p++;
		if (p >= above_end || s->boxes.v[p].x > mid) {
			(*orphans)++;
			continue;
		}
		parent = &s->boxes.v[p];
		b->parent = (u32)p;
		if (parent->last == UINT32_MAX)
			parent->first = (u32)i;
		else
			s->boxes.v[parent->last].next = (u32)i;
		parent->last = (u32)i;
		if (parent->self < b->count) {
			(*over)++;
			parent->self = 0;
		} else {
			parent->self -= b->count;
		}
	}
}

static void make_tree(struct scan *s, struct svg_tree *tree)
{
	bool skip_root = s->boxes.n && is_root_name(s->r->strings, s->boxes.v[0].name) &&
			 (s->boxes.n == 1 || s->boxes.v[1].depth > 0);
	u32 i, root;

	for (root = 0; root < s->boxes.n; root++) {
		u32 depth = 0;

		if (s->boxes.v[root].parent != UINT32_MAX)
			continue;
		for (i = root;;) {
			struct box *b = &s->boxes.v[i];
			u32 d = depth + 1;

			/* Stacks that are too narrow from the root on have no other place. */
			if (skip_root && !root && (i != root || !b->self))
				d--;
			if (d) {
				struct perf_text_frame f = { .symbol = b->name,
							     .space = d == 1 ? SPACE_NONE
									     : SPACE_USER };
				const char *name = strtab_get(s->r->strings, b->name);
				struct span sym = { name, strtab_len(s->r->strings, b->name) };

				if (d == 1)
					f.flags = TEXT_ROOT;
				else if (text_strip_annotation(&sym, &f.space, &f.flags))
					f.symbol = strtab_add(s->r->strings, sym.p, sym.n);
				vec_push(&tree->nodes,
					 ((struct svg_node){ d, text_frames_add(s->r->text, &f),
							     b->self, 0 }));
			}
			if (b->first != UINT32_MAX) {
				i = b->first;
				depth++;
				continue;
			}
			while (i != root && s->boxes.v[i].next == UINT32_MAX) {
				i = s->boxes.v[i].parent;
				depth--;
			}
			if (i == root)
				break;
			i = s->boxes.v[i].next;
		}
	}
}

static int read_picture(struct perf_reader *r, const char *p, size_t n, struct svg *sv,
			struct error *err)
{
	struct scan s = { .r = r };
	u64 orphans = 0, over = 0;
	int ret = -1;

	if (parse_xml(&s, p, n, &sv->damage, err))
		goto out;
	if (!s.boxes.n) {
		error_set(err,
			  "'%s': no flame graph in this SVG: no boxes with titles like 'name (12 "
			  "samples, 3%%)'",
			  input_name(&r->in));
		goto out;
	}
	find_rows(&s);
	find_parents(&s, &orphans, &over);
	make_tree(&s, &sv->tree);
	sv->tree.unit = s.unit;
	s.unit = NULL;
	diag_add(r->diag, DIAG_NOTE, 1,
		 "read back from a picture: frames that were too narrow to draw are counted for "
		 "their callers");
	diag_note(r->diag,
		  "%n box{ stands|es stand} on nothing and became {a stack|stacks} of {its|their} "
		  "own",
		  orphans, "");
	diag_note(r->diag, "%n box{ counts|es count} more than the one below: the picture rounds",
		  over, "");
	diag_note(r->diag, "%n box{|es} without a count in the title {was|were} left out",
		  s.unreadable, "");
	ret = 0;
out:
	vec_release(&s.boxes);
	buf_release(&s.title);
	buf_release(&s.group_title);
	free(s.unit);
	return ret;
}
#else
static int read_picture(struct perf_reader *r, const char *p, size_t n, struct svg *sv,
			struct error *err)
{
	(void)p;
	(void)n;
	(void)sv;
	return error_set(
		err,
		"'%s': an SVG that another program drew, but xenflame was built without libxml2",
		input_name(&r->in));
}
#endif

/* ---- the format ---- */

static int svg_probe(const u8 *head, size_t n, bool is_dir)
{
	const char *p = (const char *)head;

	if (is_dir)
		return 0;
	p = skip_to_text(p, p + n);
	n -= (size_t)(p - (const char *)head);
	if (n < 5 || *p != '<')
		return 0;
	if (memmem(p, n, "<script id=\"xenflame-data\"", 26))
		return 100;
	return memmem(p, MIN(n, 4096), "<svg", 4) ? 90 : 0;
}

static int svg_open(struct perf_reader *r, struct error *err)
{
	const char *p, *data;
	bool encoded;
	struct svg *sv;
	size_t n, len;

	if (r->in.is_dir)
		return error_set(err, "'%s': is a directory", input_name(&r->in));
	sv = xcalloc(1, sizeof(*sv));
	r->priv = sv;
	if (!r->in.map && input_map(&r->in, &sv->damage, err))
		return -1;
	p = (const char *)r->in.map;
	n = (size_t)r->in.size;
	r->text = text_frames_new();
	data = svg_find_data(p, n, &len, &encoded);
	if (data ? svg_read_data(r, data, len, encoded, &sv->tree, err)
		 : read_picture(r, p, n, sv, err))
		return -1;
	r->in.consumed = r->in.size;
	if (!sv->tree.unit || !*sv->tree.unit || !strcmp(sv->tree.unit, "sample"))
		sv->event = text_event(r, "samples", 7);
	else
		sv->event = text_event(r, sv->tree.unit, strlen(sv->tree.unit));
	input_drop(&r->in, r->in.size);
	return 0;
}

static int svg_next(struct perf_reader *r, struct perf_item *item, struct error *err)
{
	struct svg *sv = r->priv;

	while (sv->at < sv->tree.nodes.n) {
		const struct svg_node *node = &sv->tree.nodes.v[sv->at++];
		u32 i;

		/* Preorder: a node is at most one deeper than the one before it. */
		sv->path.n = MIN(sv->path.n, (size_t)node->depth - 1);
		vec_push(&sv->path, node->frame);
		if (!node->self && !node->base)
			continue;
		sv->frames += sv->path.n;
		if (sv->frames > FRAMES_MAX)
			return error_set(err, "'%s': stacks of more than %" PRIu64 " frames in all",
					 input_name(&r->in), FRAMES_MAX);
		sv->chain.n = 0;
		vec_reserve(&sv->chain, sv->path.n);
		for (i = (u32)sv->path.n; i-- > 0;)
			sv->chain.v[sv->chain.n++] = sv->path.v[i];
		text_give_stack(r, item, node->self, node->base, sv->event, sv->chain.v,
				(u32)sv->chain.n);
		return 1;
	}
	return sv->damage.msg[0] ? error_set(err, "%s", sv->damage.msg) : 0;
}

static void svg_close(struct perf_reader *r)
{
	struct svg *sv = r->priv;

	if (!sv)
		return;
	vec_release(&sv->tree.nodes);
	free(sv->tree.unit);
	vec_release(&sv->path);
	vec_release(&sv->chain);
	text_frames_free(r->text);
	free(sv);
}

const struct perf_format format_svg = {
	.name = "svg",
	.title = "flame graph SVG",
	.probe = svg_probe,
	.open = svg_open,
	.next = svg_next,
	.close = svg_close,
};
