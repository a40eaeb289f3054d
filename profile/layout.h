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

#endif
