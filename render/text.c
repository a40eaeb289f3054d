/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text for a terminal or a mail: shares by space, the widest part of the tree, the functions with
 * the largest self, and the remarks on quality.  Lines fit opts->columns.  A call that has one
 * caller and one callee does not move to the right, so deep stacks stay readable.
 */
#include "render/export.h"
#include "render/graph.h"

#define TREE_LINES 60
#define TREE_SHARE 0.5 /* percent; narrower boxes are left out, and told */
#define TOP_LINES  20

static const char *const class_ansi[CLASS_NR] = {
	[CLASS_HV] = "38;5;208",  [CLASS_KERNEL] = "38;5;74",       [CLASS_USER] = "38;5;142",
	[CLASS_JIT] = "38;5;176", [CLASS_GUEST_KERNEL] = "38;5;72", [CLASS_GUEST_USER] = "38;5;79",
	[CLASS_OTHER] = "1",
};

/* Appends at most `room` characters of s, with "..." where it is cut. The number written. */
static size_t put_clean(struct buf *b, const char *s, size_t n, size_t room)
{
	size_t i = 0, chars = 0, total = 0, keep;

	for (i = 0; i < n; total++) {
		u32 cp;
		int len = utf8_next(s + i, n - i, &cp);

		i += len ? (size_t)len : 1;
	}
	keep = total <= room ? total : room > 3 ? room - 3 : room;
	for (i = 0; i < n && chars < keep; chars++) {
		u32 cp;
		int len = utf8_next(s + i, n - i, &cp);

		if (!len || utf8_is_unsafe(cp))
			buf_putc(b, '?');
		else
			buf_put(b, s + i, (size_t)len);
		i += len ? (size_t)len : 1;
	}
	if (keep < total && room > 3) {
		buf_puts(b, "...");
		chars += 3;
	}
	return chars;
}

/* "  12.34%", or as many blanks when there is nothing. */
static void put_share(struct buf *b, u64 part, u64 whole)
{
	if (part)
		buf_printf(b, "%7.2f%%", whole ? 100.0 * (double)part / (double)whole : 0);
	else
		buf_puts(b, "        ");
}

static void put_name(struct buf *b, const struct render_input *in, const struct render_opts *opts,
		     frame_id id, size_t room, struct buf *tmp)
{
	const struct frame *f = &in->profile->frames.v[id];
	const struct strtab *t = in->profile->strings;
	size_t used, module = strtab_len(t, f->module);

	buf_clear(tmp);
	profile_frame_name(in->profile, id, opts->annotate_all, tmp);
	if (opts->color)
		buf_printf(b, "\033[%sm", class_ansi[color_class_of(f)]);
	used = put_clean(b, tmp->p, tmp->n, room);
	if (opts->color)
		buf_puts(b, "\033[0m");
	if (module && used + 2 + module <= room) {
		buf_puts(b, "  ");
		put_clean(b, strtab_get(t, f->module), module, module);
	}
	buf_putc(b, '\n');
}

static void put_head(struct buf *b, const struct render_input *in, const struct render_opts *opts,
		     size_t columns)
{
	const struct view *v = in->view;
	u64 by_class[CLASS_NR], total = opt_total(opts, v);
	struct buf line = BUF_INIT;
	size_t at = 0;
	int c;

	buf_puts(&line, opt_title(opts));
	if (v->event >= 0 && (size_t)v->event < in->profile->events.n) {
		buf_puts(&line, ": ");
		buf_puts(&line,
			 strtab_get(in->profile->strings, in->profile->events.v[v->event].name));
	}
	buf_puts(&line, ", ");
	buf_weight(&line, total, opts, in->profile);
	put_clean(b, line.p, line.n, columns);
	buf_putc(b, '\n');
	if (opts->subtitle) {
		put_clean(b, opts->subtitle, strlen(opts->subtitle), columns);
		buf_putc(b, '\n');
	}
	view_weight_by_class(v, by_class);
	for (c = 0; c < CLASS_NR; c++) {
		if (!by_class[c])
			continue;
		buf_clear(&line);
		buf_printf(&line, "%s ", color_class_name((enum color_class)c));
		buf_share(&line, by_class[c], total);
		if (at && at + 2 + line.n > columns) {
			buf_putc(b, '\n');
			at = 0;
		} else if (at) {
			buf_puts(b, "  ");
			at += 2;
		}
		if (opts->color)
			buf_printf(b, "\033[%sm", class_ansi[c]);
		buf_put(b, line.p, line.n);
		if (opts->color)
			buf_puts(b, "\033[0m");
		at += line.n;
	}
	buf_puts(b, at ? "\n\n" : "\n");
	buf_release(&line);
}

static void put_tree(struct buf *b, const struct render_input *in, const struct render_opts *opts,
		     size_t columns)
{
	const struct view *v = in->view;
	u64 total = opt_total(opts, v);
	/* By box: how many boxes stand on it, and how far to the right it is. */
	u32 *children, *indent, *last;
	struct buf tmp = BUF_INIT;
	struct layout l;
	size_t i;

	layout_init(&l, v, 100, TREE_SHARE);
	layout_keep(&l, v, TREE_SHARE, TREE_LINES);
	children = xcalloc(l.boxes.n + 1, sizeof(*children));
	indent = xcalloc(l.boxes.n + 1, sizeof(*indent));
	last = xcalloc((size_t)l.rows + 1, sizeof(*last));
	for (i = 0; i < l.boxes.n; i++) {
		u32 d = l.boxes.v[i].depth;

		last[d] = (u32)i;
		if (d)
			children[last[d - 1]]++;
	}
	buf_puts(b, "   Total    Self  Calls\n");
	for (i = 1; i < l.boxes.n; i++) {
		const struct view_node *n = &v->nodes.v[l.boxes.v[i].node];
		u32 d = l.boxes.v[i].depth, up;

		last[d] = (u32)i;
		up = last[d - 1];
		indent[i] = indent[up] + (d > 1 && (children[up] > 1 ||
						    v->nodes.v[l.boxes.v[up].node].self || d == 2));
		/* No deeper than a third of the line. */
		indent[i] = MIN(indent[i], (u32)(columns / 6));
		put_share(b, n->total, total);
		put_share(b, n->self, total);
		buf_printf(b, "  %*s", (int)indent[i] * 2, "");
		put_name(b, in, opts, n->frame, columns - 18 - indent[i] * 2, &tmp);
	}
	if (l.left_out) {
		buf_puts(b, "                  (");
		buf_count(b, l.left_out, &(struct render_opts){ .factor = 1 });
		buf_plural(b, " narrower {one is|ones are} left out)\n", l.left_out, "");
	}
	buf_putc(b, '\n');
	free(children);
	free(indent);
	free(last);
	layout_release(&l);
	buf_release(&tmp);
}

struct top {
	frame_id frame;
	u64 self, total;
};

static int cmp_top(const void *pa, const void *pb)
{
	const struct top *a = pa, *b = pb;

	if (a->self != b->self)
		return a->self < b->self ? 1 : -1;
	if (a->total != b->total)
		return a->total < b->total ? 1 : -1;
	return (a->frame > b->frame) - (a->frame < b->frame);
}

static void put_top(struct buf *b, const struct render_input *in, const struct render_opts *opts,
		    size_t columns)
{
	const struct profile *p = in->profile;
	const struct view *v = in->view;
	struct top *t = xcalloc(p->frames.n + 1, sizeof(*t));
	u32 *open = xcalloc(p->frames.n + 1, sizeof(*open));
	u32 *path = xcalloc((size_t)v->max_depth + 2, sizeof(*path));
	u64 total = opt_total(opts, v);
	struct buf tmp = BUF_INIT;
	u32 depth = 0;
	size_t i;

	for (i = 0; i < p->frames.n; i++)
		t[i].frame = (frame_id)i;
	for (i = 1; i < v->nodes.n; i++) {
		const struct view_node *n = &v->nodes.v[i];

		while (depth >= n->depth)
			open[path[depth--]]--;
		path[++depth] = n->frame;
		t[n->frame].self += n->self;
		/* Recursion: only the outermost one. */
		if (!open[n->frame]++)
			t[n->frame].total += n->total;
	}
	qsort(t, p->frames.n, sizeof(*t), cmp_top);
	buf_puts(b, "    Self   Total  Functions\n");
	for (i = 0; i < p->frames.n && i < TOP_LINES && t[i].self; i++) {
		put_share(b, t[i].self, total);
		put_share(b, t[i].total, total);
		buf_puts(b, "  ");
		put_name(b, in, opts, t[i].frame, columns - 18, &tmp);
	}
	free(t);
	free(open);
	free(path);
	buf_release(&tmp);
}

static int write_text(struct out *o, const struct render_input *in, const struct render_opts *opts,
		      struct error *err)
{
	size_t columns = opts->columns ? MAX(opts->columns, 40) : 80, i;
	struct buf *b = &o->buf;

	(void)err;
	if (in->view->diff) {
		export_diff_table(b, in->view, opts);
	} else {
		put_head(b, in, opts, columns);
		put_tree(b, in, opts, columns);
		put_top(b, in, opts, columns);
	}
	for (i = 0; i < in->nr_quality; i++) {
		buf_puts(b, i ? "" : "\n");
		put_clean(b, in->quality[i].text, strlen(in->quality[i].text), SIZE_MAX);
		buf_putc(b, '\n');
	}
	out_flush_if_full(o);
	return 0;
}

const struct render_writer writer_text = {
	.name = "text",
	.suffixes = ".txt",
	.help = "shares, tree and top functions as text",
	.decimals = true,
	.write = write_text,
};
