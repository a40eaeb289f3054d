/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the writers of other tools' formats share: parts of a view, numbering of its frames, JSON.
 */
#ifndef XENFLAME_RENDER_EXPORT_H
#define XENFLAME_RENDER_EXPORT_H

#include "render/writer.h"

/* A part of a view that becomes a profile of its own: all of it, or one event's share. */
struct export_part {
	str_id name; /* of the event; 0: not known */
	u32 event;   /* index in profile.events, or UINT32_MAX when events are mixed */
	u32 top;     /* the node that stands above the part's stacks */
	u32 depth;   /* of that node */
};

struct export_parts {
	VEC(struct export_part) v;
};

/* At least one part; parts are disjoint and cover the view. */
void export_parts_init(struct export_parts *parts, const struct view *v);
void export_parts_release(struct export_parts *parts);

/* The frames that a view uses, numbered in the order in which they first appear. */
struct export_frames {
	VEC(frame_id) v;
	u32 *number; /* by frame_id; UINT32_MAX: not used */
};

void export_frames_init(struct export_frames *f, const struct view *v);
void export_frames_release(struct export_frames *f);

/* Whether the kept samples are all that the view shows, so that a writer can write them one by one.
 */
bool export_has_samples(const struct view *v);

/* From the first kept sample with a time to the last one, ns; 0 without such. */
u64 export_duration(const struct profile *p);

/*
 * Whether the function that a node's frame is inlined into stands right below it, so that a format
 * can tell both as one place of the code.
 */
bool export_is_inlined(const struct view *v, u32 node);

/* Appends a comparison as a table (diff-table.c). */
void export_diff_table(struct buf *b, const struct view *v, const struct render_opts *opts);

/* A speedscope file up to the list of its profiles, which "]}" ends (speedscope.c). */
void export_speedscope_head(struct out *o, const struct profile *p,
			    const struct export_frames *frames, const struct render_opts *opts);

/* The title that the user gave, or "xenflame". */
const char *export_title(const struct render_opts *opts);
/* Adds a string made valid UTF-8, as formats with string tables want them. */
str_id export_string(struct strtab *t, const char *s, size_t n);
/* Appends a weight in its unit, with decimals when profile.weight_scale has some. */
void export_weight(struct buf *b, u128 v, u64 scale);
/* Appends a JSON string. */
void export_json(struct buf *b, const char *s);
void export_json_id(struct buf *b, const struct strtab *t, str_id id);
/* The frame's name with annotation suffix, as a JSON string; file and line are not in it. */
void export_json_frame(struct buf *b, struct buf *scratch, const struct profile *p, frame_id f,
		       bool all);

#endif
