/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Places of the code and weights of stacks. */
#include "render/places.h"

/* ---- places ---- */

static bool place_eq(const void *ctx, u32 id, const void *key)
{
	const struct place *a = &((const struct places *)ctx)->v.v[id], *b = key;

	return a->frame == b->frame && a->outer == b->outer;
}

static u32 place(struct places *p, frame_id frame, u32 outer)
{
	struct place x = { .frame = frame, .outer = outer };
	u64 hash = hash_u64((u64)outer << 32 | frame);
	u32 id = index_find(&p->index, hash, place_eq, p, &x);

	if (id == INDEX_NONE) {
		id = (u32)p->v.n;
		vec_push(&p->v, x);
		index_add(&p->index, hash, id);
	}
	return id;
}

void places_init(struct places *p, const struct view *v)
{
	u32 i;

	memset(p, 0, sizeof(*p));
	p->of = xcalloc(v->nodes.n, sizeof(*p->of));
	p->up = xcalloc(v->nodes.n, sizeof(*p->up));
	for (i = 1; i < v->nodes.n; i++) {
		const struct view_node *n = &v->nodes.v[i];
		bool inlined = export_is_inlined(v, i);

		p->of[i] = place(p, n->frame, inlined ? p->of[n->parent] + 1 : 0);
		p->up[i] = inlined ? p->up[n->parent] : n->parent;
	}
}

void places_release(struct places *p)
{
	vec_release(&p->v);
	vec_release(&p->used);
	vec_release(&p->modules);
	vec_release(&p->functions);
	index_release(&p->index);
	index_release(&p->module_index);
	free(p->of);
	free(p->up);
	free(p->function);
}

static bool module_eq(const void *ctx, u32 id, const void *key)
{
	const struct place_module *a = &((const struct places *)ctx)->modules.v[id], *b = key;

	return a->name == b->name && a->space == b->space;
}

static u32 module(struct places *p, const struct frame *f)
{
	struct place_module m = { f->module, f->space };
	u64 hash = hash_u64((u64)m.space << 32 | m.name);
	u32 id = index_find(&p->module_index, hash, module_eq, p, &m);

	if (id == INDEX_NONE) {
		id = (u32)p->modules.n;
		vec_push(&p->modules, m);
		index_add(&p->module_index, hash, id);
	}
	return id;
}

u32 places_use(struct places *p, u32 node)
{
	struct place *x = &p->v.v[p->of[node]];

	if (!x->number) {
		vec_push(&p->used, p->of[node]);
		x->number = (u32)p->used.n;
	}
	return x->number;
}

void places_number(struct places *p, const struct profile *profile)
{
	size_t i;
	u32 k;

	p->function = xcalloc(profile->frames.n, sizeof(*p->function));
	for (i = 0; i < p->used.n; i++) {
		struct place *x = &p->v.v[p->used.v[i]];
		const struct frame *f = &profile->frames.v[x->frame];

		if (f->module)
			x->module = module(p, f) + 1;
		for (k = p->used.v[i] + 1; k; k = p->v.v[k - 1].outer) {
			frame_id id = p->v.v[k - 1].frame;

			if (!p->function[id]) {
				vec_push(&p->functions, id);
				p->function[id] = (u32)p->functions.n;
			}
		}
	}
}

/* ---- samples ---- */

static int cmp_sample(const void *pa, const void *pb)
{
	const struct place_sample *a = pa, *b = pb;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	if (a->cpu != b->cpu)
		return a->cpu < b->cpu ? -1 : 1;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return (a->tid > b->tid) - (a->tid < b->tid);
}

static void add_kept(struct place_samples *s, const struct view *v)
{
	const struct profile *p = v->profile;
	size_t i, n = 0;

	for (i = 0; i < p->samples.n; i++) {
		const struct profile_sample *x = &p->samples.v[i];
		u32 node = view_place(v, x->event, x->node);

		if (node != UINT32_MAX && x->weight)
			vec_push(&s->v, ((struct place_sample){ node, 0, x->cpu, x->pid, x->tid,
								x->weight }));
	}
	if (s->v.n)
		qsort(s->v.v, s->v.n, sizeof(*s->v.v), cmp_sample);
	for (i = 0; i < s->v.n; i++)
		if (n && !cmp_sample(&s->v.v[n - 1], &s->v.v[i]))
			s->v.v[n - 1].weight += s->v.v[i].weight;
		else
			s->v.v[n++] = s->v.v[i];
	s->v.n = n;
}

void place_samples_init(struct place_samples *s, const struct view *v,
			const struct export_parts *parts)
{
	u32 part = 0, k;
	size_t i;

	memset(s, 0, sizeof(*s));
	if (export_has_samples(v)) {
		add_kept(s, v);
	} else {
		for (k = 0; k < v->nodes.n; k++)
			if (v->nodes.v[k].self)
				vec_push(&s->v,
					 ((struct place_sample){ k, 0, UINT32_MAX, UINT32_MAX,
								 UINT32_MAX, v->nodes.v[k].self }));
	}
	for (i = 0; i < v->profile->frames.n && !s->xen; i++)
		s->xen = v->profile->frames.v[i].space == SPACE_HV;
	for (i = 0; i < s->v.n; i++) {
		while (s->v.v[i].node >= v->nodes.v[parts->v.v[part].top].end)
			part++;
		s->v.v[i].part = part;
	}
}

/* "cpu 3" -> 3 */
static u32 number_of(const struct strtab *t, str_id id)
{
	const char *s = strtab_get(t, id), *end = s + strtab_len(t, id), *p = strchr(s, ' ');
	u64 v;

	if (!p++ || parse_dec(&p, end, &v) || v >= UINT32_MAX)
		return UINT32_MAX;
	return (u32)v;
}

#define MAX_ROOTS 8 /* --group takes five, the comm is one more */

struct place_root place_root(const struct view *v, const struct export_parts *parts,
			     const struct place_samples *samples, struct place_sample *s)
{
	const struct profile *p = v->profile;
	const struct view_node *nodes = v->nodes.v;
	u32 below = parts->v.v[s->part].depth, i, n = 0, k;
	str_id names[MAX_ROOTS] = { 0 };
	struct place_root root = { 0, NULL };
	bool idle = false;
	const char *comm;

	for (i = s->node; nodes[i].depth > below; i = nodes[i].parent) {
		const struct frame *f = &p->frames.v[nodes[i].frame];
		u32 depth = nodes[i].depth - below;

		idle |= f->space == SPACE_HV &&
			!strcmp(strtab_get(p->strings, f->function), "idle_loop");
		if (!(f->flags & FRAME_GROUP))
			n = 0;
		else if (depth <= MAX_ROOTS)
			names[depth - 1] = f->function;
		if (f->flags & FRAME_GROUP && !n)
			n = MIN(depth, (u32)MAX_ROOTS);
	}
	for (k = 0; p->groups && p->groups[k] && k < n; k++) {
		if (!strcmp(p->groups[k], "domain"))
			root.domain = strtab_get(p->strings, names[k]);
		else if (!strcmp(p->groups[k], "cpu"))
			s->cpu = number_of(p->strings, names[k]);
		else if (!strcmp(p->groups[k], "pid"))
			s->pid = number_of(p->strings, names[k]);
		else if (!strcmp(p->groups[k], "tid"))
			s->tid = number_of(p->strings, names[k]);
	}
	if (k == n)
		return root;
	comm = strtab_get(p->strings, names[k]);
	if (!strcmp(comm, "[guest]") || !strcmp(comm, "[xen]")) {
		if (!root.domain)
			root.domain = idle ? "idle" : "other domains";
		return root;
	}
	root.comm = names[k];
	if (!root.domain && samples->xen)
		root.domain = "dom0";
	return root;
}

void place_samples_release(struct place_samples *s)
{
	vec_release(&s->v);
}
