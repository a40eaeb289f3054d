/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The seam inside profile/: a tree of calling contexts is laid out as a view. */
#ifndef XENFLAME_PROFILE_LAYOUT_H
#define XENFLAME_PROFILE_LAYOUT_H

#include "profile/profile.h"

/* Order of frames by name bytes, space, module, flags, file, line: < 0, 0, > 0. */
int view_cmp_frames(const struct profile *p, frame_id a, frame_id b);

/*
 * Fills v->nodes from n contexts with their own weights, those without weight below them left out.
 * `base`, unless NULL, are the weights of the profile compared with.  `place`, unless NULL, gets the
 * node of the view for each of the n contexts.
 */
void view_lay_out(struct view *v, const struct profile *p, const struct cct_node *nodes, u32 n,
		  const u64 *self, const u64 *base, u32 *place);

#endif
