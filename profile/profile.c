/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames, calling contexts and weights. */
#include "profile/layout.h"

void profile_init(struct profile *p, struct strtab *strings)
{
	memset(p, 0, sizeof(*p));
	p->strings = strings;
	p->unit = "samples";
	p->weight_scale = 1;
	index_init(&p->frame_index);
	index_init(&p->node_index);
	vec_push(&p->nodes, ((struct cct_node){ 0 }));
}

u64 weight_rescale(u64 weight, u64 to, u64 from)
{
	u128 w = ((u128)weight * to + from / 2) / from;

	return w > UINT64_MAX ? UINT64_MAX : (u64)w;
}

/* ---- weights beyond 64 bits ---- */

#define WEIGHT_MAX (~(u128)0)
/* With the 2^64 - 1 that are in `self`. */
#define MORE_MAX (WEIGHT_MAX - UINT64_MAX)

static bool excess_eq(const void *ctx, u32 id, const void *key)
{
	return ((const struct profile_over *)ctx)->v.v[id].node == *(const node_id *)key;
}

static u32 find_excess(const struct profile_over *o, node_id node)
{
	return index_find(&o->index, hash_u64(node), excess_eq, o, &node);
}

void profile_over_add(struct profile_over *o, node_id node, u64 *self, u128 weight)
{
	u64 room = UINT64_MAX - *self;
	struct profile_excess *e;
	u32 id;

	if (weight <= room) {
		*self += (u64)weight;
		return;
	}
	*self = UINT64_MAX;
	id = find_excess(o, node);
	if (id == INDEX_NONE) {
		id = (u32)o->v.n;
		vec_push(&o->v, ((struct profile_excess){ .node = node }));
		index_add(&o->index, hash_u64(node), id);
	}
	e = &o->v.v[id];
	weight -= room;
	e->more = weight > MORE_MAX - e->more ? MORE_MAX : e->more + weight;
}

u128 profile_over_whole(const struct profile_over *o, node_id node, u64 self)
{
	u32 id = self == UINT64_MAX ? find_excess(o, node) : INDEX_NONE;

	return id == INDEX_NONE ? self : self + o->v.v[id].more;
}

u64 profile_over_full(const struct profile_over *o)
{
	u64 n = 0;
	size_t i;

	for (i = 0; i < o->v.n; i++)
		n += o->v.v[i].more == MORE_MAX;
	return n;
}

void profile_over_release(struct profile_over *o)
{
	vec_release(&o->v);
	index_release(&o->index);
}

static void multiply(struct profile_event *e, u64 by)
{
	const u128 most = WEIGHT_MAX / by;
	struct profile_over over = { .index = { 0 } };
	node_id k;

	for (k = 0; k < e->self.n; k++) {
		u128 w = profile_over_whole(&e->over, k, e->self.v[k]);

		e->self.v[k] = 0;
		profile_over_add(&over, k, &e->self.v[k], w > most ? WEIGHT_MAX : w * by);
	}
	profile_over_release(&e->over);
	e->over = over;
}

void profile_set_scale(struct profile *p, u64 scale)
{
	u64 from = p->weight_scale;
	size_t i;

	if (scale == from)
		return;
	profile_settle(p);
	for (i = 0; i < p->events.n; i++) {
		struct profile_event *e = &p->events.v[i];

		e->weight = weight_rescale(e->weight, scale, from);
		multiply(e, scale / from);
	}
	for (i = 0; i < p->samples.n; i++)
		p->samples.v[i].weight = weight_rescale(p->samples.v[i].weight, scale, from);
	p->weight_scale = scale;
}

void profile_release(struct profile *p)
{
	profile_drop_contexts(p);
	vec_release(&p->events);
	vec_release(&p->frames);
	vec_release(&p->nodes);
	vec_release(&p->samples);
	vec_release(&p->losses);
	index_release(&p->frame_index);
	index_release(&p->node_index);
}

void profile_drop_contexts(struct profile *p)
{
	size_t i;

	for (i = 0; i < p->events.n; i++) {
		vec_release(&p->events.v[i].self);
		profile_over_release(&p->events.v[i].over);
	}
	late_free(p->late);
	p->late = NULL;
	vec_release(&p->nodes);
	index_release(&p->node_index);
	p->indexed = p->ordered = 0;
	vec_push(&p->nodes, ((struct cct_node){ 0 }));
}

static bool frame_eq(const void *ctx, u32 id, const void *key)
{
	const struct profile *p = ctx;
	const struct frame *a = &p->frames.v[id], *b = key;

	return a->function == b->function && a->module == b->module && a->space == b->space &&
	       a->flags == b->flags && (!p->by_line || (a->file == b->file && a->line == b->line));
}

frame_id profile_frame(struct profile *p, const struct frame *f)
{
	u64 key[2] = { (u64)f->function << 32 | f->module, (u64)f->space << 8 | f->flags };
	u64 hash;
	u32 id;

	if (p->by_line)
		key[1] ^= hash_u64((u64)f->file << 32 | f->line);
	hash = hash_bytes(key, sizeof(key), 0);
	id = index_find(&p->frame_index, hash, frame_eq, p, f);
	if (id == INDEX_NONE) {
		id = (u32)p->frames.n;
		vec_push(&p->frames, *f);
		index_add(&p->frame_index, hash, id);
	} else if (f->line) {
		struct frame *have = &p->frames.v[id];

		/* Without lines in the identity the smallest is shown: it does not depend on the
		 * order. */
		if (!have->line || (have->file == f->file && f->line < have->line)) {
			have->file = f->file;
			have->line = f->line;
		}
	}
	return id;
}

static bool node_eq(const void *ctx, u32 id, const void *key)
{
	const struct profile *p = ctx;
	const u64 *k = key;

	return ((u64)p->nodes.v[id].parent << 32 | p->nodes.v[id].frame) == *k;
}

/* Nodes that batches make are mostly never looked for, so none is indexed when it is made. */
static void index_nodes(struct profile *p)
{
	for (; p->indexed < p->nodes.n; p->indexed++) {
		const struct cct_node *n = &p->nodes.v[p->indexed];

		if (p->nodes.v[n->parent].child != p->indexed && p->indexed)
			index_add(&p->node_index, hash_u64((u64)n->parent << 32 | n->frame),
				  p->indexed);
	}
}

node_id profile_child(struct profile *p, node_id parent, frame_id frame)
{
	u64 key = (u64)parent << 32 | frame;
	u32 first = p->nodes.v[parent].child, id;

	/* Most nodes have one child: then neither finding nor adding it takes a look into a large
	 * table. */
	if (first) {
		if (p->nodes.v[first].frame == frame)
			return first;
		index_nodes(p);
		id = index_find(&p->node_index, hash_u64(key), node_eq, p, &key);
		if (id != INDEX_NONE)
			return id;
	}
	id = (u32)p->nodes.n;
	if (!first)
		p->nodes.v[parent].child = id;
	vec_push(&p->nodes, ((struct cct_node){ .frame = frame, .parent = parent }));
	return id;
}

u32 profile_event(struct profile *p, str_id name)
{
	size_t i;

	for (i = 0; i < p->events.n; i++)
		if (p->events.v[i].name == name)
			return (u32)i;
	vec_push(&p->events, ((struct profile_event){ .name = name }));
	return (u32)(p->events.n - 1);
}

void profile_add_self(struct profile *p, u32 event, node_id node, u64 weight)
{
	struct profile_event *e = &p->events.v[event];
	u64 sum;

	if (UNLIKELY(node >= e->self.n)) {
		size_t more = p->nodes.n - e->self.n;

		vec_reserve(&e->self, more);
		memset(e->self.v + e->self.n, 0, more * sizeof(*e->self.v));
		e->self.n = p->nodes.n;
	}
	if (UNLIKELY(__builtin_add_overflow(e->self.v[node], weight, &sum)))
		profile_over_add(&e->over, node, &e->self.v[node], weight);
	else
		e->self.v[node] = sum;
}

void profile_add(struct profile *p, u32 event, node_id node, u64 samples, u64 weight)
{
	struct profile_event *e = &p->events.v[event];

	profile_add_self(p, event, node, weight);
	e->samples = add_saturated(e->samples, samples);
	e->weight = add_saturated(e->weight, weight);
}

void profile_add_more(struct profile *p, u32 event, node_id node, u128 weight)
{
	struct profile_event *e = &p->events.v[event];
	u64 most = weight > UINT64_MAX ? UINT64_MAX : (u64)weight;

	profile_add(p, event, node, 0, most);
	profile_over_add(&e->over, node, &e->self.v[node], weight - most);
}

void profile_add_sample(struct profile *p, const struct profile_sample *s)
{
	profile_add(p, s->event, s->node, 1, s->weight);
	if (p->keep_samples)
		vec_push(&p->samples, *s);
}

static void put_function(const struct profile *p, const struct frame *f, struct buf *b)
{
	buf_put(b, strtab_get(p->strings, f->function), strtab_len(p->strings, f->function));
}

static void put_annotation(const struct frame *f, bool all, struct buf *b)
{
	if (f->space == SPACE_HV)
		buf_puts(b, "_[h]");
	else if (!all)
		return;
	else if (f->space == SPACE_KERNEL)
		buf_puts(b, "_[k]");
	else if (f->space == SPACE_GUEST_KERNEL || f->space == SPACE_GUEST_USER)
		buf_puts(b, "_[g]");
	else if (f->flags & FRAME_JIT)
		buf_puts(b, "_[j]");
	else if (f->flags & FRAME_INLINED)
		buf_puts(b, "_[i]");
}

void profile_frame_name(const struct profile *p, frame_id id, bool all, struct buf *b)
{
	const struct frame *f = &p->frames.v[id];

	put_function(p, f, b);
	if (p->by_line && f->line) {
		buf_putc(b, ':');
		buf_puts(b, path_base(strtab_get(p->strings, f->file)));
		buf_putc(b, ':');
		buf_u64(b, f->line);
	}
	put_annotation(f, all, b);
}

void profile_frame_label(const struct profile *p, frame_id id, bool all, struct buf *b)
{
	put_function(p, &p->frames.v[id], b);
	put_annotation(&p->frames.v[id], all, b);
}
