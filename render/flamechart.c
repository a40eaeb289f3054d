/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A flame chart: stacks from left to right in order of time instead of by name; only neighbours are
 * merged.  It is a view like others, made from the samples that the profile has kept.
 */
#include <stdlib.h>

#include "render/graph.h"

struct when {
	u64 time;
	size_t order; /* of samples at one time: as they came */
	u32 node;     /* of the view */
};

static int cmp_when(const void *pa, const void *pb)
{
	const struct when *a = pa, *b = pb;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return (a->order > b->order) - (a->order < b->order);
}

void placed_samples(struct placed *p, const struct view *v)
{
	const struct profile *pr = v->profile;
	VEC(struct when) w = { NULL, 0, 0 };
	size_t i;

	memset(p, 0, sizeof(*p));
	for (i = 0; pr->keep_samples && v->place.n && i < pr->samples.n; i++) {
		const struct profile_sample *s = &pr->samples.v[i];
		u32 node = view_place(v, s->event, s->node);

		if (node == UINT32_MAX)
			continue;
		if (s->time == UINT64_MAX)
			p->timeless++;
		else
			vec_push(&w, ((struct when){ s->time, i, node }));
	}
	if (w.n)
		qsort(w.v, w.n, sizeof(*w.v), cmp_when);
	vec_reserve(&p->v, w.n);
	for (i = 0; i < w.n; i++) {
		const struct profile_sample *s = &pr->samples.v[w.v[i].order];

		vec_push(&p->v, ((struct placed_sample){ .time = s->time,
							 .weight = s->weight,
							 .node = w.v[i].node,
							 .cpu = s->cpu,
							 .pid = s->pid,
							 .tid = s->tid,
							 .machine = s->machine }));
	}
	vec_release(&w);
}

void placed_release(struct placed *p)
{
	vec_release(&p->v);
}

/* The nodes of the chart that are open, by depth. */
struct open_node {
	u32 node; /* of the chart */
	u32 of;   /* of the view */
};

static int build(struct view *chart, const struct view *v, struct error *err)
{
	struct open_node *open = xcalloc((size_t)v->max_depth + 2, sizeof(*open));
	u32 *path = xcalloc((size_t)v->max_depth + 2, sizeof(*path));
	struct view_node root = { .end = 1 };
	struct placed samples;
	u32 depth = 0, d, n;
	size_t i;
	int ret = -1;

	memset(chart, 0, sizeof(*chart));
	placed_samples(&samples, v);
	if (!samples.v.n) {
		error_set(err, "a flame chart needs a recording whose samples have times");
		goto out;
	}
	chart->profile = v->profile;
	chart->event = v->event;
	chart->left_out = v->left_out;
	vec_push(&chart->nodes, root);
	for (i = 0; i < samples.v.n; i++) {
		u32 at = samples.v.v[i].node, want = v->nodes.v[at].depth;

		for (d = want; d; d--, at = v->nodes.v[at].parent)
			path[d] = at;
		for (d = 1; d <= MIN(want, depth) && open[d].of == path[d]; d++)
			;
		for (; d <= want; d++) {
			struct view_node node = { .frame = v->nodes.v[path[d]].frame,
						  .depth = d,
						  .parent = open[d - 1].node };

			if (chart->nodes.n >= UINT32_MAX - 1) {
				error_set(err, "a flame chart of more than %u boxes",
					  UINT32_MAX - 2);
				goto out;
			}
			open[d].node = (u32)chart->nodes.n;
			open[d].of = path[d];
			vec_push(&chart->nodes, node);
			chart->max_depth = MAX(chart->max_depth, d);
		}
		depth = want;
		chart->nodes.v[open[depth].node].self += samples.v.v[i].weight;
	}
	n = (u32)chart->nodes.n;
	for (i = 0; i < n; i++) {
		chart->nodes.v[i].total = chart->nodes.v[i].self;
		chart->nodes.v[i].end = (u32)i + 1;
	}
	for (i = n - 1; i > 0; i--) {
		struct view_node *p = &chart->nodes.v[chart->nodes.v[i].parent];

		p->total += chart->nodes.v[i].total;
		p->end = MAX(p->end, chart->nodes.v[i].end);
	}
	ret = 0;
out:
	placed_release(&samples);
	free(open);
	free(path);
	return ret;
}

int picture_begin(struct picture_input *pi, const struct render_input *in,
		  const struct render_opts *opts, struct error *err)
{
	pi->in = *in;
	memset(&pi->chart, 0, sizeof(pi->chart));
	if (!opts->flamechart)
		return 0;
	pi->in.view = &pi->chart;
	return build(&pi->chart, in->view, err);
}

void picture_end(struct picture_input *pi)
{
	view_release(&pi->chart);
}
