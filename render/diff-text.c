/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Comparisons in words: how they were made, what colours mean, what has changed in a box. */
#include <math.h>

#include "render/graph.h"

/* What is 100 %: AFTER, or BEFORE at the same size when nothing is in AFTER. */
double diff_whole(const struct view *v)
{
	double after = (double)v->nodes.v[0].total;

	return after > 0 ? after : (double)view_base_total(v, 0) * diff_scale(v);
}

static double percent(const struct view *v, double x)
{
	double whole = diff_whole(v);

	return whole > 0 ? 100 * x / whole : 0;
}

double diff_scale(const struct view *v)
{
	return v->diff ? v->diff->base_scale : 1;
}

bool diff_is_sure(const struct view *v, u32 node)
{
	return !v->diff || node >= v->diff->total.n || v->diff->total.v[node].changed;
}

void render_diff_terms(struct buf *b, const struct view *v)
{
	static const char *const norms[] = { "shares of the whole", "weight a second",
					     "weights as they are" };
	const struct view_diff *d = v->diff;

	buf_puts(b, norms[d->norm]);
	if (d->by_name)
		buf_puts(b, "; functions by name alone, since not all have modules");
	if (d->norm == DIFF_NONE && d->recordings + d->base_recordings > 2)
		buf_puts(b, ", the mean of a recording");
	if (d->by_files)
		buf_printf(b, "; noise from the spread of %u and %u recordings", d->base_recordings,
			   d->recordings);
	else if (d->slices)
		buf_printf(b, "; noise from %u slices of time", d->slices);
	else
		buf_puts(b, "; noise from the number of samples alone");
	buf_printf(b, ", intervals of %.4g %%", 100 * d->confidence);
}

bool diff_key(const struct view *v, bool negate, size_t i, const char **text,
	      struct color_pair *color)
{
	static const char *const texts[] = { "more in AFTER", "less in AFTER", "within noise" };
	static const char *const widths[] = { NULL, "widths: BEFORE",
					      "widths: the larger of BEFORE and AFTER" };

	if (i < ARRAY_SIZE(texts)) {
		*text = texts[i];
		*color = palette_delta(i == 0 ? 1 : i == 1 ? -1 : 0, negate);
		return true;
	}
	*text = v->diff ? widths[v->diff->width] : NULL;
	return i == ARRAY_SIZE(texts) && *text;
}

static void put_change(struct buf *b, const struct view *v, const char *what, double was, double is,
		       const struct diff_noise *noise)
{
	buf_printf(b, "%s %.2f%% -> %.2f%% (%+.2f%%", what, percent(v, was), percent(v, is),
		   percent(v, is - was));
	if (noise)
		buf_printf(b, " +/- %.2f%%, %s noise", percent(v, noise->half),
			   noise->changed ? "beyond" : "within");
	buf_putc(b, ')');
}

void diff_tip(struct buf *b, const struct view *v, u32 node)
{
	const struct view_node *n = &v->nodes.v[node];
	const struct view_diff *d = v->diff && node < v->diff->total.n ? v->diff : NULL;
	double scale = diff_scale(v);

	put_change(b, v, "total", scale * (double)view_base_total(v, node), (double)n->total,
		   d ? &d->total.v[node] : NULL);
	if (n->self || view_base_self(v, node)) {
		buf_puts(b, "; ");
		put_change(b, v, "self", scale * (double)view_base_self(v, node), (double)n->self,
			   d ? &d->self.v[node] : NULL);
	}
}

#define NAMED 3 /* functions in a remark */

static double side_total(const struct diff_function *f, bool before)
{
	return before ? f->base_total : f->total;
}

/* The functions that only one side has, those first that are most of it. */
static void put_one_sided(struct buf *b, const struct view *v, bool before)
{
	const struct diff_function *best[NAMED];
	size_t n = 0, i, k, others = 0;

	for (i = 0; i < v->diff->functions.n; i++) {
		const struct diff_function *f = &v->diff->functions.v[i];

		if (side_total(f, !before) > 0 || !(side_total(f, before) > 0) ||
		    v->profile->frames.v[f->frame].flags & FRAME_GROUP)
			continue;
		if (n == NAMED)
			others++;
		for (k = n; k && side_total(f, before) > side_total(best[k - 1], before); k--)
			if (k < NAMED)
				best[k] = best[k - 1];
		if (k < NAMED)
			best[k] = f;
		n = MIN(n + 1, NAMED);
	}
	for (i = 0; i < n; i++) {
		buf_puts(b, i ? ", " : "");
		profile_frame_name(v->profile, best[i]->frame, false, b);
		buf_printf(b, " %.2f%%", percent(v, side_total(best[i], before)));
	}
	if (others)
		buf_printf(b, " and %zu more function%s", others, others > 1 ? "s" : "");
	if (n)
		buf_puts(b, "; ");
}

bool diff_one_sided(struct buf *b, const struct view *v, bool before)
{
	const struct view_diff *d = v->diff;
	u32 nodes = d ? (before ? d->gone_nodes : d->come_nodes) : 0;

	if (!nodes)
		return false;
	buf_puts(b, before ? "only in BEFORE: " : "only in AFTER: ");
	put_one_sided(b, v, before);
	buf_printf(b, "%u box%s with %.2f%% of it", nodes, nodes > 1 ? "es" : "",
		   percent(v, before ? d->gone : d->come));
	return true;
}

bool diff_note(struct buf *b, const struct view *v)
{
	if (!v->diff || v->diff->width == DIFF_WIDTH_UNION)
		return false;
	return diff_one_sided(b, v, v->diff->width == DIFF_WIDTH_AFTER);
}
