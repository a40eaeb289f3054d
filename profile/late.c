/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks beside the tree.  What is only walked, once and in order, is the same whether the sorted
 * stacks are looked at one after the other or the tree that they make, and the tree is several
 * times as large.
 */
#include <stdlib.h>

#include "profile/layout.h"

bool profile_is_empty(const struct profile *p)
{
	size_t i;

	for (i = 0; i < p->events.n; i++)
		if (p->events.v[i].self.n)
			return false;
	return p->nodes.n == 1 && !p->late;
}

void profile_batch_keep(struct profile *p, struct profile_batch *b, u32 event, u64 samples,
			u64 *weight, u64 seed, unsigned threads)
{
	struct profile_event *e = &p->events.v[event];
	struct profile_late *l = xcalloc(1, sizeof(*l));
	u32 i;

	for (i = 0; i < b->stacks.n; i++)
		e->weight = add_saturated(e->weight, weight[i]);
	e->samples = add_saturated(e->samples, samples);
	l->sorted = batch_sort(p, b, seed, threads, &l->frame);
	l->batch = *b;
	l->weight = weight;
	l->event = event;
	l->wide = p->frames.n >= PROFILE_NARROW;
	memset(b, 0, sizeof(*b));
	p->late = l;
}

void profile_settle(struct profile *p)
{
	struct profile_late *l = p->late;
	u32 i;

	if (!l)
		return;
	p->late = NULL;
	batch_build(p, &l->batch, l->sorted, l->frame);
	for (i = 0; i < l->batch.stacks.n; i++)
		profile_add_self(p, l->event, l->batch.stacks.v[i].node, l->weight[i]);
	late_free(l);
}

void late_free(struct profile_late *l)
{
	if (!l)
		return;
	profile_batch_release(&l->batch);
	free(l->sorted);
	free(l->frame);
	free(l->weight);
	free(l);
}

/* What these stacks ahead need is fetched. */
#define SOON 8u

/* Adds the stacks that are equal to the one at hand, and finds the one behind them. */
static void look_ahead(struct late_walk *w)
{
	const struct profile_late *l = w->l;
	const struct profile_batch *b = &l->batch;
	u32 last = (u32)b->stacks.n - 1;

	w->next_codes = NULL;
	for (; !w->next_codes && w->next < b->stacks.n; w->next++) {
		u32 stack = l->sorted[w->next], stack_n = batch_codes_of(b, stack), same;
		u32 soon = l->sorted[MIN(w->next + SOON, last)];
		u32 later = l->sorted[MIN(w->next + 2 * SOON, last)];
		const u16 *codes = b->codes.v + b->stacks.v[stack].at;

		/* In order they lie all over. */
		__builtin_prefetch(b->codes.v + b->stacks.v[soon].at);
		__builtin_prefetch(b->codes.v + b->stacks.v[soon].at + 32);
		__builtin_prefetch(b->stacks.v + later);
		__builtin_prefetch(l->weight + later);
		if (!l->weight[stack])
			continue;
		same = codes_in_common(codes, w->codes, MIN(stack_n, w->n));
		if (same == stack_n && same == w->n) {
			w->weight += l->weight[stack];
			continue;
		}
		w->next_codes = codes;
		w->next_n = stack_n;
		w->next_same = same;
		w->next_weight = l->weight[stack];
	}
}

/* Frames of n codes. */
static u32 frames_of(const struct profile_late *l, const u16 *code, u32 n)
{
	u32 frames = n, i;

	for (i = 0; l->wide && i < n; i++)
		frames -= code[i] >= PROFILE_NARROW;
	return frames;
}

/* Goes on to the next stack. */
static bool next_stack(struct late_walk *w)
{
	if (!w->next_codes)
		return false;
	w->codes = w->next_codes;
	w->n = w->next_n;
	w->weight = w->next_weight;
	w->code = w->codes + w->next_same;
	w->depth = frames_of(w->l, w->codes, w->next_same);
	look_ahead(w);
	return true;
}

void late_walk_init(struct late_walk *w, const struct profile_late *l)
{
	static const u16 none[1];

	/* The first one is that of the root, without frames. */
	*w = (struct late_walk){ .l = l, .codes = none, .code = none };
	look_ahead(w);
	w->empty = !w->weight && !w->next_codes;
}

u32 late_walk_next(struct late_walk *w, struct view_step *s, u32 n)
{
	const frame_id *frame = w->l->frame;
	u32 done = 0;

	if (!w->started && n) {
		s[done++] = (struct view_step){ .self = w->weight };
		w->started = true;
	}
	while (done < n && (*w->code || next_stack(w))) {
		const u16 *code = w->code, *end = w->codes + w->n;
		u32 depth = w->depth, i = 0, now;

		/* One code a frame. */
		now = w->l->wide ? 0 : (u32)MIN(n - done, end - code);
		for (; i < now; i++, done++)
			s[done] = (struct view_step){ frame[*code++ - 1], ++depth, 0 };
		for (; code < end && done < n; done++)
			s[done] = (struct view_step){ frame[profile_code_frame(&code)], ++depth,
						      0 };
		if (code == end)
			s[done - 1].self = w->weight;
		w->code = code;
		w->depth = depth;
	}
	return done;
}
