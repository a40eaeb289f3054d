/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Conditions on a comparison, for continuous integration: --fail-if and --fail-if-regressed. */
#include <errno.h>
#include <math.h>

#include "profile/profile.h"

static bool starts(const char **s, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(*s, word, n))
		return false;
	*s += n;
	return true;
}

int gate_parse(struct gate *g, const char *text, struct error *err)
{
	static const char expected[] =
		"expected [self:|total:]FRAME>+N%, FRAME>N%, FRAME>xN, or < in place of >";
	const char *s = text, *op = NULL, *p;
	char *end;

	memset(g, 0, sizeof(*g));
	g->text = text;
	if (starts(&s, "self:"))
		g->self = true;
	else
		(void)starts(&s, "total:");
	/* Names hold < and > (templates, "operator>"): the last one that a number follows is ours.
	 */
	for (p = s; *p; p++)
		if ((*p == '<' || *p == '>') && p[1] && strchr("+-x.0123456789", p[1]))
			op = p;
	if (!op || op == s)
		return error_set(err, "--fail-if=%s: %s", text, expected);
	g->name = s;
	g->name_len = (size_t)(op - s);
	g->below = *op == '<';
	s = op + 1;
	if (starts(&s, "x"))
		g->what = GATE_RATIO;
	else if (*s == '+' || *s == '-')
		g->what = GATE_DIFFERENCE;
	else
		g->what = GATE_SHARE;
	errno = 0;
	g->limit = strtod(s, &end);
	if (end == s || errno || !isfinite(g->limit) || (g->what != GATE_RATIO && *end++ != '%') ||
	    *end || (g->what == GATE_RATIO && g->limit < 0))
		return error_set(err, "--fail-if=%s: %s", text, expected);
	return 0;
}

static bool name_matches(const struct gate *g, const struct view *v, frame_id f, struct buf *name)
{
	const struct frame *frame = &v->profile->frames.v[f];
	const struct strtab *t = v->profile->strings;

	if (g->name_len == 1 && *g->name == '*')
		return !(frame->flags & FRAME_GROUP);
	if (strtab_len(t, frame->function) == g->name_len &&
	    !memcmp(strtab_get(t, frame->function), g->name, g->name_len))
		return true;
	buf_clear(name);
	profile_frame_name(v->profile, f, false, name);
	return name->n == g->name_len && !memcmp(name->p, g->name, g->name_len);
}

static double percent(double x, double whole)
{
	return whole > 0 ? 100 * x / whole : 0;
}

static void put_function(struct buf *text, const struct view *v, const struct diff_function *f,
			 const char *what, double was, double is, const struct diff_noise *noise)
{
	double whole = (double)v->nodes.v[0].total;

	profile_frame_name(v->profile, f->frame, false, text);
	buf_printf(text, ": %s %.2f %% -> %.2f %% (%+.2f %%, +/- %.2f %%%s)", what,
		   percent(was, whole), percent(is, whole), percent(is - was, whole),
		   percent(noise->half, whole), noise->changed ? "" : ", within noise");
}

u32 gate_check(const struct gate *g, const struct view *v, struct buf *text, u32 *matched)
{
	double whole = (double)v->nodes.v[0].total;
	struct buf name = BUF_INIT;
	u32 failed = 0;
	size_t i;

	*matched = 0;
	for (i = 0; v->diff && i < v->diff->functions.n; i++) {
		const struct diff_function *f = &v->diff->functions.v[i];
		const struct diff_noise *noise = g->self ? &f->self_noise : &f->total_noise;
		double is = g->self ? f->self : f->total,
		       was = g->self ? f->base_self : f->base_total, value = 0;

		if (!name_matches(g, v, f->frame, &name))
			continue;
		++*matched;
		switch (g->what) {
		case GATE_SHARE: value = percent(is, whole); break;
		case GATE_DIFFERENCE: value = percent(is - was, whole); break;
		case GATE_RATIO: value = was > 0 ? is / was : is > 0 ? HUGE_VAL : 1; break;
		}
		if (g->below ? !(value < g->limit) : !(value > g->limit))
			continue;
		/* What chance alone makes fails nothing; a share is what it is. */
		if (g->what != GATE_SHARE && !noise->changed)
			continue;
		failed++;
		put_function(text, v, f, g->self ? "self" : "total", was, is, noise);
		buf_printf(text, ", against --fail-if=%s\n", g->text);
	}
	buf_release(&name);
	return failed;
}

u32 gate_regressed(const struct view *v, double min_percent, struct buf *text)
{
	double whole = (double)v->nodes.v[0].total;
	u32 failed = 0;
	size_t i;

	for (i = 0; v->diff && i < v->diff->functions.n; i++) {
		const struct diff_function *f = &v->diff->functions.v[i];

		if (v->profile->frames.v[f->frame].flags & FRAME_GROUP || !f->self_noise.changed ||
		    !(percent(f->self - f->base_self, whole) >= min_percent) ||
		    f->self <= f->base_self)
			continue;
		failed++;
		put_function(text, v, f, "self", f->base_self, f->self, &f->self_noise);
		buf_putc(text, '\n');
	}
	return failed;
}
