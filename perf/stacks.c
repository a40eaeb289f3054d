/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trees of stacks, for the readers of other tools' profiles. */
#include <math.h>
#include <stdlib.h>

#include "perf/stacks.h"

#define DECIMALS_MAX 6

struct stacks *stacks_new(struct perf_reader *r)
{
	struct stacks *s = xcalloc(1, sizeof(*s));

	vec_push(&s->nodes, ((struct stacks_node){ 0, 0, 0 }));
	r->priv = s;
	r->text = text_frames_new();
	return s;
}

int stacks_map(struct perf_reader *r, u64 max, struct error *err)
{
	struct error damage = { "" };

	if (r->in.is_dir)
		return error_set(err, "'%s': is a directory", input_name(&r->in));
	if (!r->in.map && input_map(&r->in, &damage, err))
		return -1;
	if (damage.msg[0])
		return error_set(err, "%s", damage.msg);
	if (r->in.size > max)
		return error_set(err,
				 "'%s': %" PRIu64 " bytes: more than the %" PRIu64
				 " that are read of this format",
				 input_name(&r->in), r->in.size, max);
	r->in.consumed = r->in.size;
	return 0;
}

u32 stacks_frame(struct perf_reader *r, const struct stacks_frame *f)
{
	struct perf_text_frame t = { .module = f->module,
				     .file = f->file,
				     .line = f->line,
				     .addr = f->addr,
				     .flags = f->flags,
				     .space = f->space };
	struct span name = { f->name, f->name_len };

	if (!(f->flags & TEXT_ROOT)) {
		struct span module = { strtab_get(r->strings, f->module),
				       strtab_len(r->strings, f->module) };
		u8 space = f->space;

		if (text_strip_annotation(&name, &space, &t.flags)) {
			r->meta.annotated |= space != SPACE_HV;
			/* An annotation knows no guest user; what the file says in so many words
			 * goes before it. */
			if (t.space == SPACE_NONE)
				t.space = space;
		}
		if (t.space == SPACE_NONE)
			t.space = text_module_space(module);
		if (t.space == SPACE_NONE)
			t.space = SPACE_USER;
	}
	t.symbol = strtab_add(r->strings, name.p, name.n);
	if (!t.symbol)
		t.flags |= TEXT_UNKNOWN;
	return text_frames_add(r->text, &t);
}

/* ---- tree ---- */

static bool node_eq(const void *ctx, u32 id, const void *key)
{
	const struct stacks_node *a = &((const struct stacks *)ctx)->nodes.v[id], *b = key;

	return a->parent == b->parent && a->frame == b->frame;
}

u32 stacks_child(struct stacks *s, u32 parent, u32 frame)
{
	struct stacks_node n = { parent, frame, s->nodes.v[parent].depth + 1 };
	u64 hash = hash_u64((u64)parent << 32 | frame);
	u32 id = index_find(&s->node_index, hash, node_eq, s, &n);

	if (id != INDEX_NONE)
		return id;
	id = (u32)s->nodes.n;
	vec_push(&s->nodes, n);
	index_add(&s->node_index, hash, id);
	return id;
}

static bool weight_eq(const void *ctx, u32 id, const void *key)
{
	const struct stacks_weight *a = &((const struct stacks *)ctx)->weights.v[id], *b = key;

	return a->node == b->node && a->event == b->event;
}

static struct stacks_weight *weight_of(struct stacks *s, u32 node, u32 event)
{
	struct stacks_weight w = { .node = node, .event = event };
	u64 hash = hash_u64((u64)event << 32 | node);
	u32 id = index_find(&s->weight_index, hash, weight_eq, s, &w);

	if (id == INDEX_NONE) {
		id = (u32)s->weights.n;
		vec_push(&s->weights, w);
		index_add(&s->weight_index, hash, id);
	}
	return &s->weights.v[id];
}

static u64 add(u64 a, u64 b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

void stacks_add(struct stacks *s, u32 node, u32 event, u64 whole, double part)
{
	struct stacks_weight *w;

	if (!whole && !(part > 0))
		return;
	w = weight_of(s, node, event);
	w->whole = add(w->whole, whole);
	w->part += part;
	s->any_part |= part > 0;
}

void stacks_add_base(struct stacks *s, u32 node, u32 event, u64 whole, u64 base)
{
	struct stacks_weight *w;

	if (!whole && !base)
		return;
	w = weight_of(s, node, event);
	w->whole = add(w->whole, whole);
	w->base = add(w->base, base);
}

int stacks_event(struct perf_reader *r, const char *name, size_t n, u32 *event, struct error *err)
{
	size_t len = strnlen(name, n);

	*event = text_event(r, len ? name : "samples", len ? len : 7);
	if (*event >= STACKS_EVENTS_MAX)
		return error_set(err, "'%s': more than %d profiles with names of their own",
				 input_name(&r->in), STACKS_EVENTS_MAX);
	return 0;
}

/* The fewest decimals that keep all weights, and with them a sum that fits. */
static u64 scale_of(const struct stacks *s)
{
	double sum = 0, scale = 1;
	int d, max = 0;
	size_t i;

	for (i = 0; i < s->weights.n; i++) {
		const struct stacks_weight *w = &s->weights.v[i];

		sum += (double)w->whole + w->part;
		for (d = max, scale = pow(10, d); d < DECIMALS_MAX; d++, scale *= 10)
			if (fabs(w->part * scale - floor(w->part * scale + 0.5)) <
			    1e-6 * scale / 1e3)
				break;
		max = d;
	}
	for (d = max, scale = pow(10, d); d && sum * scale > 9e18; d--)
		scale /= 10;
	return (u64)(scale + 0.5);
}

void stacks_end(struct perf_reader *r, struct stacks *s)
{
	u64 scale = s->any_part ? scale_of(s) : 1, v;
	size_t i;

	if (s->any_part)
		for (i = 0; i < s->weights.n; i++) {
			struct stacks_weight *w = &s->weights.v[i];
			double part = floor(w->part * (double)scale + 0.5);

			if (__builtin_mul_overflow(w->whole, scale, &v))
				v = UINT64_MAX;
			w->whole = add(v, part < 1.8e19 ? (u64)part : UINT64_MAX);
		}
	r->meta.weight_scale = (double)scale;
	diag_note(r->diag,
		  "%n stack{|s} without a weight that can be drawn, or with a damaged place, "
		  "{was|were} left out",
		  s->bad, "");
	input_drop(&r->in, r->in.size);
}

/* ---- giving out ---- */

int stacks_next(struct perf_reader *r, struct perf_item *item, struct error *err)
{
	struct stacks *s = r->priv;

	while (s->at < s->weights.n) {
		const struct stacks_weight *w = &s->weights.v[s->at++];
		u32 node;

		if (!w->whole && !w->base)
			continue;
		s->frames += s->nodes.v[w->node].depth;
		if (s->frames > STACKS_FRAMES_MAX)
			return error_set(err, "'%s': stacks of more than %" PRIu64 " frames in all",
					 input_name(&r->in), STACKS_FRAMES_MAX);
		s->chain.n = 0;
		for (node = w->node; node; node = s->nodes.v[node].parent)
			vec_push(&s->chain, s->nodes.v[node].frame);
		text_give_stack(r, item, w->whole, w->base, w->event, s->chain.v, (u32)s->chain.n);
		return 1;
	}
	return 0;
}

void stacks_close(struct perf_reader *r)
{
	struct stacks *s = r->priv;

	if (!s)
		return;
	vec_release(&s->nodes);
	vec_release(&s->weights);
	vec_release(&s->chain);
	index_release(&s->node_index);
	index_release(&s->weight_index);
	text_frames_free(r->text);
	free(s);
}

/* ---- sniffing ---- */

const char *stacks_json_head(const u8 *head, size_t n, bool is_dir, size_t *len)
{
	const char *p = (const char *)head;

	if (is_dir)
		return NULL;
	p = skip_to_text(p, p + n);
	n -= (size_t)(p - (const char *)head);
	*len = n;
	return n && *p == '{' ? p : NULL;
}

bool stacks_head_has(const char *p, size_t n, const char *word)
{
	return memmem(p, n, word, strlen(word)) != NULL;
}
