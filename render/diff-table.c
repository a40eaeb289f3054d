/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A comparison as text: what changed, by how much and how surely, a line a function.  The surest
 * and largest changes of a function's own weight come first; changes within noise are counted, and
 * the largest of them listed.
 */
#include <math.h>

#include "render/export.h"
#include "render/graph.h"

#define CHANGED_LINES 60
#define NOISE_LINES   10

static double percent(double x, double whole)
{
	return whole > 0 ? 100 * x / whole : 0;
}

static void put_change(struct buf *b, double was, double is, const struct diff_noise *noise,
		       double whole)
{
	buf_printf(b, "%7.2f %7.2f %+8.2f %7.2f %c ", percent(was, whole), percent(is, whole),
		   percent(is - was, whole), percent(noise->half, whole),
		   noise->changed ? '*' : ' ');
}

static bool is_changed(const struct diff_function *f)
{
	return f->self_noise.changed || f->total_noise.changed;
}

static void put_function(struct buf *b, struct buf *tmp, const struct view *v,
			 const struct diff_function *f, const struct render_opts *opts)
{
	const struct frame *frame = &v->profile->frames.v[f->frame];
	double whole = diff_whole(v);
	bool more = f->self_noise.changed ? f->self > f->base_self : f->total > f->base_total;
	const char *color = !opts->color || !is_changed(f) ? "" : more ? "\033[31m" : "\033[34m";

	put_change(b, f->base_self, f->self, &f->self_noise, whole);
	put_change(b, f->base_total, f->total, &f->total_noise, whole);
	buf_puts(b, color);
	buf_clear(tmp);
	profile_frame_name(v->profile, f->frame, opts->annotate_all, tmp);
	buf_safe(b, tmp->p, tmp->n);
	if (*color)
		buf_puts(b, "\033[0m");
	if (frame->module) {
		buf_puts(b, "  ");
		buf_safe(b, strtab_get(v->profile->strings, frame->module),
			 strtab_len(v->profile->strings, frame->module));
	}
	buf_putc(b, '\n');
}

static void put_head(struct buf *b, struct buf *tmp, const struct view *v,
		     const struct render_opts *opts)
{
	const struct view_diff *d = v->diff;
	int gone;

	if (opts->title) {
		buf_safe(b, opts->title, strlen(opts->title));
		buf_putc(b, '\n');
	}
	buf_plural(b, "before: %n sample{|s}, ", d->base_samples, "");
	buf_plural(b, "after: %n sample{|s}\ncompared: ", d->samples, "");
	render_diff_terms(b, v);
	buf_printf(b,
		   "\n*: beyond noise; among equal recordings that shows in %.4g %% of comparisons "
		   "at most\n",
		   100 * d->rate);
	for (gone = 1; gone >= 0; gone--) {
		buf_clear(tmp);
		if (diff_one_sided(tmp, v, gone)) {
			buf_safe(b, tmp->p, tmp->n);
			buf_putc(b, '\n');
		}
	}
	buf_putc(b, '\n');
}

void export_diff_table(struct buf *b, const struct view *v, const struct render_opts *opts)
{
	const struct view_diff *d = v->diff;
	struct buf tmp = BUF_INIT;
	size_t i, changed = 0, shown = 0, within = 0, within_shown = 0;

	put_head(b, &tmp, v, opts);
	for (i = 0; i < d->functions.n; i++)
		changed += is_changed(&d->functions.v[i]);
	if (changed)
		buf_puts(b, "     own, % of the whole               with what it calls\n"
			    " before   after   change     +/-     before   after   change     +/-  "
			    " function\n");
	else
		buf_puts(b, "Nothing has changed beyond noise.\n");
	for (i = 0; i < d->functions.n && shown < CHANGED_LINES; i++)
		if (is_changed(&d->functions.v[i])) {
			put_function(b, &tmp, v, &d->functions.v[i], opts);
			shown++;
		}
	if (shown < changed)
		buf_printf(b, "... and %zu more\n", changed - shown);
	for (i = 0; i < d->functions.n; i++) {
		const struct diff_function *f = &d->functions.v[i];

		if (is_changed(f) || v->profile->frames.v[f->frame].flags & FRAME_GROUP)
			continue;
		if (!within++)
			buf_puts(b, "\nWithin noise, the largest:\n");
		if (within_shown < NOISE_LINES) {
			put_function(b, &tmp, v, f, opts);
			within_shown++;
		}
	}
	if (within_shown < within)
		buf_printf(b, "... and %zu more\n", within - within_shown);
	buf_release(&tmp);
}
