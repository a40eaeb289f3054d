/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A view in a few lists: who, where, and which hypercalls. */
#include "profile/profile.h"

/* ---- lists by name ---- */

static void count(struct summary_part *parts, u32 *slot, size_t *n, str_id name, u64 weight,
		  u64 idle)
{
	if (slot[name] == UINT32_MAX) {
		slot[name] = (u32)*n;
		parts[(*n)++] = (struct summary_part){ .name = name };
	}
	parts[slot[name]].weight = add_saturated(parts[slot[name]].weight, weight);
	parts[slot[name]].idle = add_saturated(parts[slot[name]].idle, idle);
}

struct order {
	const struct view *v;
	bool by_total;
};

static int by_name(const struct view *v, str_id a, str_id b)
{
	return strcmp(strtab_get(v->profile->strings, a), strtab_get(v->profile->strings, b));
}

static int cmp_part(const void *pa, const void *pb, void *ctx)
{
	const struct summary_part *a = pa, *b = pb;

	return a->weight != b->weight ? (a->weight < b->weight ? 1 : -1)
				      : by_name(((struct order *)ctx)->v, a->name, b->name);
}

static int cmp_entry(const void *pa, const void *pb, void *ctx)
{
	const struct summary_entry *a = pa, *b = pb;
	int c;

	if (a->weight != b->weight)
		return a->weight < b->weight ? 1 : -1;
	c = by_name(((struct order *)ctx)->v, a->name, b->name);
	return c ? c : (int)a->kind - (int)b->kind;
}

static int cmp_hypercall(const void *pa, const void *pb, void *ctx)
{
	const struct summary_hypercall *a = pa, *b = pb;
	int c;

	if (a->weight != b->weight)
		return a->weight < b->weight ? 1 : -1;
	c = by_name(((struct order *)ctx)->v, a->caller, b->caller);
	return c ? c : by_name(((struct order *)ctx)->v, a->name, b->name);
}

static int cmp_frames(const struct profile *p, frame_id a, frame_id b)
{
	const struct frame *fa = &p->frames.v[a], *fb = &p->frames.v[b];
	int c = strcmp(strtab_get(p->strings, fa->function), strtab_get(p->strings, fb->function));

	if (!c)
		c = strcmp(strtab_get(p->strings, fa->module), strtab_get(p->strings, fb->module));
	if (!c && fa->space != fb->space)
		c = fa->space < fb->space ? -1 : 1;
	return c ? c : (a > b) - (a < b);
}

static int cmp_function(const void *pa, const void *pb, void *ctx)
{
	const struct summary_function *a = pa, *b = pb;
	const struct order *o = ctx;
	u64 a1 = o->by_total ? a->total : a->self, b1 = o->by_total ? b->total : b->self;
	u64 a2 = o->by_total ? a->self : a->total, b2 = o->by_total ? b->self : b->total;

	if (a1 != b1)
		return a1 < b1 ? 1 : -1;
	if (a2 != b2)
		return a2 < b2 ? 1 : -1;
	return cmp_frames(o->v->profile, a->frame, b->frame);
}

/* Preorder is by name, so the place in it decides between equal ones. */
static int cmp_stack(const void *pa, const void *pb, void *ctx)
{
	const struct view *v = ((struct order *)ctx)->v;
	u32 a = *(const u32 *)pa, b = *(const u32 *)pb;
	u64 sa = v->nodes.v[a].self, sb = v->nodes.v[b].self;

	return sa != sb ? (sa < sb ? 1 : -1) : (a > b) - (a < b);
}

/* ---- the hypervisor ---- */

static enum space space_of(const struct view *v, u32 node)
{
	return (enum space)v->profile->frames.v[v->nodes.v[node].frame].space;
}

static bool hypercall_eq(const void *ctx, u32 id, const void *key)
{
	const struct summary_hypercall *a = &((const struct summary *)ctx)->hypercalls.v[id],
				       *b = key;

	return a->caller == b->caller && a->name == b->name;
}

static void add_hypercall(struct summary *s, struct index *ix, const struct entry *e, u64 weight)
{
	struct summary_hypercall h = {
		.caller = e->caller, .name = e->hypercall, .weight = weight, .idle = e->caller_idle
	};
	u64 hash = hash_u64((u64)h.caller << 32 | h.name);
	u32 id = index_find(ix, hash, hypercall_eq, s, &h);

	if (id != INDEX_NONE) {
		s->hypercalls.v[id].weight = add_saturated(s->hypercalls.v[id].weight, h.weight);
		return;
	}
	index_add(ix, hash, (u32)s->hypercalls.n);
	vec_push(&s->hypercalls, h);
}

static bool entry_eq(const void *ctx, u32 id, const void *key)
{
	const struct summary_entry *a = &((const struct summary *)ctx)->entries.v[id];
	const struct entry *b = key;

	return a->kind == b->kind && a->name == b->name;
}

static void add_entry(struct summary *s, struct index *ix, const struct entry *e, u64 weight,
		      u64 idle)
{
	u64 hash = hash_u64((u64)e->kind << 32 | e->name);
	u32 id = index_find(ix, hash, entry_eq, s, e);

	if (id == INDEX_NONE) {
		id = (u32)s->entries.n;
		index_add(ix, hash, id);
		vec_push(&s->entries, ((struct summary_entry){ .kind = e->kind, .name = e->name }));
	}
	s->entries.v[id].weight = add_saturated(s->entries.v[id].weight, weight);
	s->entries.v[id].idle = add_saturated(s->entries.v[id].idle, idle);
}

/* Hypercalls and entries: all stacks that end in the hypervisor or in a stub. */
static void count_entries(struct summary *s, const struct view *v)
{
	frame_id *path = xcalloc((size_t)v->max_depth + 2, sizeof(*path));
	struct index hypercalls, entries;
	struct entry e;
	size_t i;

	index_init(&hypercalls);
	index_init(&entries);
	for (i = 1; i < v->nodes.n; i++) {
		const struct view_node *node = &v->nodes.v[i];

		path[node->depth - 1] = node->frame;
		if (!node->self || !entry_of_path(v->profile, path, node->depth, &e))
			continue;
		if (e.stub)
			add_hypercall(s, &hypercalls, &e, node->self);
		if (space_of(v, (u32)i) == SPACE_HV)
			add_entry(s, &entries, &e, node->self,
				  view_is_idle(v, (u32)i) ? node->self : 0);
	}
	index_release(&hypercalls);
	index_release(&entries);
	free(path);
}

void summary_build(struct summary *s, const struct view *v, size_t max_stacks)
{
	const struct profile *p = v->profile;
	struct order order = { .v = v };
	u32 *open = xcalloc(p->frames.n + 1, sizeof(*open)), *path, *slot, depth = 0, top = 0;
	struct summary_part *parts;
	size_t i, n = 0, names;

	memset(s, 0, sizeof(*s));
	s->total = v->nodes.v[0].total;
	path = xcalloc((size_t)v->max_depth + 2, sizeof(*path));
	vec_reserve(&s->functions, p->frames.n + 1);
	for (i = 0; i < p->frames.n; i++)
		vec_push(&s->functions, ((struct summary_function){ .frame = (frame_id)i }));

	/* May add names, what follows does not. */
	count_entries(s, v);
	names = p->strings->str.n;
	slot = xreallocarray(NULL, names + 1, sizeof(*slot));
	parts = xcalloc(names + 1, sizeof(*parts));

	memset(slot, 0xff, (names + 1) * sizeof(*slot));
	for (i = 1; i < v->nodes.n; i++) {
		const struct view_node *node = &v->nodes.v[i];
		u64 idle = node->self && view_is_idle(v, (u32)i) ? node->self : 0;
		enum space space = space_of(v, (u32)i);

		while (depth >= node->depth)
			open[path[depth--]]--;
		path[++depth] = node->frame;
		s->functions.v[node->frame].self = add_saturated(s->functions.v[node->frame].self,
								 node->self);
		if (!open[node->frame]++)
			s->functions.v[node->frame].total =
				add_saturated(s->functions.v[node->frame].total, node->total);
		if (node->depth == 1)
			top = (u32)i;
		if (!node->self)
			continue;
		s->by_space[space] = add_saturated(s->by_space[space], node->self);
		s->idle_by_space[space] = add_saturated(s->idle_by_space[space], idle);
		s->idle = add_saturated(s->idle, idle);
		count(parts, slot, &n, p->frames.v[v->nodes.v[top].frame].function, node->self,
		      idle);
		vec_push(&s->stacks, (u32)i);
	}
	for (i = 0; i < n; i++)
		vec_push(&s->processes, parts[i]);

	for (i = n = 0; i < s->functions.n; i++)
		if (s->functions.v[i].total &&
		    !(p->frames.v[s->functions.v[i].frame].flags & FRAME_GROUP))
			s->functions.v[n++] = s->functions.v[i];
	s->functions.n = n;
	summary_sort_functions(s, v, false);
	if (s->processes.n)
		qsort_r(s->processes.v, s->processes.n, sizeof(*s->processes.v), cmp_part, &order);
	if (s->entries.n)
		qsort_r(s->entries.v, s->entries.n, sizeof(*s->entries.v), cmp_entry, &order);
	if (s->hypercalls.n)
		qsort_r(s->hypercalls.v, s->hypercalls.n, sizeof(*s->hypercalls.v), cmp_hypercall,
			&order);
	if (s->stacks.n)
		qsort_r(s->stacks.v, s->stacks.n, sizeof(*s->stacks.v), cmp_stack, &order);
	s->stacks.n = MIN(s->stacks.n, max_stacks);
	free(open);
	free(path);
	free(slot);
	free(parts);
}

void summary_sort_functions(struct summary *s, const struct view *v, bool by_total)
{
	struct order order = { .v = v, .by_total = by_total };

	if (s->functions.n)
		qsort_r(s->functions.v, s->functions.n, sizeof(*s->functions.v), cmp_function,
			&order);
}

void summary_release(struct summary *s)
{
	vec_release(&s->processes);
	vec_release(&s->functions);
	vec_release(&s->hypercalls);
	vec_release(&s->entries);
	vec_release(&s->stacks);
}
