/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which boxes a picture shows and where; the same for SVG, PNG and PDF. */
#include "render/graph.h"

struct candidate {
	double width;
	size_t index; /* in boxes */
};

/* Widest first; of equals the first in preorder, so that parents come before their children. */
static int cmp_candidate(const void *pa, const void *pb)
{
	const struct candidate *a = pa, *b = pb;

	if (a->width < b->width || a->width > b->width)
		return a->width < b->width ? 1 : -1;
	return (a->index > b->index) - (a->index < b->index);
}

/* A parent is never narrower than its child, so none loses its parent. */
void layout_keep(struct layout *l, const struct view *v, double min_width, size_t max_boxes)
{
	struct candidate *c = xcalloc(l->boxes.n + 1, sizeof(*c));
	bool *keep = xcalloc(l->boxes.n + 1, sizeof(*keep));
	size_t i, k;

	for (i = 0; i < l->boxes.n; i++) {
		c[i].width = view_width(v, l->boxes.v[i].node);
		c[i].index = i;
	}
	qsort(c, l->boxes.n, sizeof(*c), cmp_candidate);
	for (i = 0; i < MIN(max_boxes, l->boxes.n); i++)
		keep[c[i].index] = true;
	for (i = k = 0; i < l->boxes.n; i++)
		if (keep[i] && (l->boxes.v[i].w >= min_width || !l->boxes.v[i].node))
			l->boxes.v[k++] = l->boxes.v[i];
	l->left_out += l->boxes.n - k;
	l->boxes.n = k;
	free(c);
	free(keep);
}

void layout_init(struct layout *l, const struct view *v, double width, double min_width)
{
	u32 n = (u32)v->nodes.n, i;
	/* Weight to the left of the next child, by depth. */
	double *at = xcalloc((size_t)v->max_depth + 2, sizeof(*at)), scale, start, weight;

	memset(l, 0, sizeof(*l));
	scale = n && view_width(v, 0) > 0 ? width / view_width(v, 0) : 0;
	for (i = 0; i < n;) {
		const struct view_node *d = &v->nodes.v[i];
		struct box b = { .node = i, .depth = d->depth };

		start = at[d->depth];
		weight = view_width(v, i);
		b.x = start * scale;
		b.w = weight * scale;
		at[d->depth] = start + weight;
		if (i && (b.w < min_width || !(weight > 0))) {
			/* What has vanished is not too narrow: it is named elsewhere. */
			if (weight > 0)
				l->left_out += d->end - i;
			i = d->end;
			continue;
		}
		at[d->depth + 1] = start;
		vec_push(&l->boxes, b);
		i++;
	}
	free(at);
	for (i = 0; i < l->boxes.n; i++)
		l->rows = MAX(l->rows, l->boxes.v[i].depth + 1);
}

void layout_release(struct layout *l)
{
	vec_release(&l->boxes);
}

/* ---- the picture around them ---- */

void picture_init(struct frame_of_picture *f, const struct view *v, const struct render_opts *opts)
{
	struct buf note = BUF_INIT;
	double y;

	memset(f, 0, sizeof(*f));
	f->font_size = opt_font_size(opts);
	f->row = opt_frame_height(opts);
	f->width = opts->width ? MAX(opts->width, 100) : PICTURE_WIDTH;
	f->left = 10;
	f->inner = f->width - 2 * f->left;
	f->icicle = opts->icicle;
	y = f->title_y = f->font_size + 14;
	if (opts->subtitle && *opts->subtitle)
		y = f->subtitle_y = y + f->font_size + 6;
	y = f->legend_y = y + f->font_size + 10;
	if (diff_note(&note, v))
		y = f->note_y = y + f->font_size + 6;
	f->top = y + 10;
	buf_release(&note);
}

void picture_rows(struct frame_of_picture *f, u32 rows)
{
	f->foot_y = f->top + f->row * rows + f->font_size + 8;
	f->height = f->foot_y + 10;
}

double picture_y(const struct frame_of_picture *f, u32 rows, u32 depth)
{
	return f->top + f->row * (f->icicle ? depth : rows - 1 - depth);
}
