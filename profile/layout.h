/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The seam inside profile/: a tree of calling contexts is laid out as a view. */
#ifndef XENFLAME_PROFILE_LAYOUT_H
#define XENFLAME_PROFILE_LAYOUT_H

#include "profile/profile.h"

/* Order of frames by name bytes, space, module, flags, file, line: < 0, 0, > 0. */
int view_cmp_frames(const struct profile *p, frame_id a, frame_id b);

/* rank[frame]: its place in that order, and the frames in it; to be freed by the caller. */
u32 *view_frame_ranks(const struct profile *p, u32 **order);

/* A tree to lay out: contexts as profile_child() makes them, and their own weights. */
struct contexts {
	const struct cct_node *nodes;
	u32 n;
	const u64 *self;
	size_t self_n;                   /* may be less than n: the rest is 0 */
	const u64 *base;                 /* n weights of the profile compared with, or NULL */
	const struct profile_over *over; /* what is not in self, or NULL */
	bool ordered;                    /* they are in the order of views */
};

/*
 * Fills an empty view from contexts, those without weight at or below them left out, in two steps:
 * after the first one the contexts and weights are not needed any more, and only after the second
 * one v->nodes may be used. `place`: gets the node of the view by context, UINT32_MAX when it has
 * none; or NULL.
 */
void view_store(struct view *v, const struct profile *p, const struct contexts *t, u32 *place);
void view_finish(struct view *v);

/* The weight of a stack alone: profile_add() without the sums of the event. */
void profile_add_self(struct profile *p, u32 event, node_id node, u64 weight);

/* ---- batches: in order, then into the tree (batch.c) or walked as they are (late.c) ---- */

/*
 * The stacks of a batch in the order of views; to be freed by the caller.  *frame: the codes are
 * ranks from here on, and these are the frames of them, to be freed as well.  `frame` NULL: codes
 * stay as they are, and the order is that of ids.
 */
u32 *batch_sort(const struct profile *p, struct profile_batch *b, u64 seed, unsigned threads,
		frame_id **frame);
/* Puts sorted stacks into the tree and their nodes into batch.stacks; `frame`: of batch_sort(), or
 * NULL. */
void batch_build(struct profile *p, struct profile_batch *b, const u32 *sorted,
		 const frame_id *frame);

/* Codes of a stack, without the 0. */
static inline u32 batch_codes_of(const struct profile_batch *b, u32 stack)
{
	u32 end = stack + 1 < b->stacks.n ? b->stacks.v[stack + 1].at : (u32)b->codes.n;

	return end - b->stacks.v[stack].at - 1;
}

/* Codes that both start with, of n: all of those of a frame, or none. */
static inline u32 codes_in_common(const u16 *a, const u16 *b, u32 n)
{
	u32 same = (u32)(mem_common(a, b, n * sizeof(*a)) / sizeof(*a));

	return same && a[same - 1] >= PROFILE_NARROW ? same - 1 : same;
}

/* The stacks beside the tree. */
struct profile_late {
	struct profile_batch batch; /* codes are of ranks */
	u32 *sorted;                /* its stacks in the order of views */
	frame_id *frame;            /* by rank */
	u64 *weight;                /* by stack */
	u32 event;
	bool wide; /* some codes may be half a frame */
};

void late_free(struct profile_late *l); /* may be NULL */

/* A walk over these; their tree is the same as that of profile_settle(). */
struct late_walk {
	const struct profile_late *l;
	u32 next;                /* in l->sorted: the first stack that is not looked at yet */
	const u16 *codes, *code; /* of the stack at hand: all, and those that are left */
	u32 n, depth;            /* codes of it; frames that are done */
	u64 weight;              /* of it and all that are equal */
	const u16 *next_codes;   /* the one after it, NULL: there is none */
	u32 next_n, next_same;   /* codes of it; of these those in common with the one at hand */
	u64 next_weight;
	bool started, empty; /* empty: no weight at all */
};

void late_walk_init(struct late_walk *w, const struct profile_late *l);
/* As view_walk_next(). */
u32 late_walk_next(struct late_walk *w, struct view_step *s, u32 n);

#endif
