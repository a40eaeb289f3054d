/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the readers of other tools' profiles share: such a file is read whole when it is opened,
 * into a tree of stacks with weights, and given out stack by stack.
 *
 * Bounds: STACKS_JSON_MAX bytes of JSON, whose nesting jansson bounds; STACKS_EVENTS_MAX events;
 * what else grows does so with the bytes of the file, but for the stacks' frames in all, which
 * STACKS_FRAMES_MAX bounds.
 */
#ifndef XENFLAME_PERF_STACKS_H
#define XENFLAME_PERF_STACKS_H

#include "perf/text.h"

#define STACKS_JSON_MAX   ((u64)128 << 20)
#define STACKS_EVENTS_MAX 1024
#define STACKS_FRAMES_MAX ((u64)1 << 30)

struct stacks_node {
	u32 parent, frame; /* of node 0, the root: meaningless; frame is an id of reader.text */
	u32 depth;
};

struct stacks_weight {
	u32 node, event;
	u64 whole, base;
	double part; /* of fractions, 0 for most files */
};

struct stacks {
	VEC(struct stacks_node) nodes;
	VEC(struct stacks_weight) weights; /* in order of first appearance */
	struct index node_index, weight_index;
	bool any_part;
	u64 bad; /* stacks left out: weights below 0, numbers out of range */
	size_t at;
	u64 frames;
	VEC(u32) chain;
};

/* To be called first by open(): r->priv, r->text. */
struct stacks *stacks_new(struct perf_reader *r);
/* The input as a map of at most `max` bytes. */
int stacks_map(struct perf_reader *r, u64 max, struct error *err) MUST_CHECK;

/* What a frame is, as far as a file tells. */
struct stacks_frame {
	const char *name;
	size_t name_len;
	str_id module, file;
	u32 line;
	u64 addr;
	u8 flags; /* enum perf_text_flag */
	u8 space; /* SPACE_NONE: by annotation, else by module, else user */
};
/* Id of r->text. Takes annotations off the name, but not for TEXT_ROOT. */
u32 stacks_frame(struct perf_reader *r, const struct stacks_frame *f);
/* The node of a frame below `parent` (0: the root), made when new. */
u32 stacks_child(struct stacks *s, u32 parent, u32 frame);
/* An event by name; an error when there are too many. */
int stacks_event(struct perf_reader *r, const char *name, size_t n, u32 *event,
		 struct error *err) MUST_CHECK;
void stacks_add(struct stacks *s, u32 node, u32 event, u64 whole, double part);
void stacks_add_base(struct stacks *s, u32 node, u32 event, u64 whole, u64 base);
/* To be called last by open(): decides how fractions are scaled, tells what was left out. */
void stacks_end(struct perf_reader *r, struct stacks *s);

/* perf_format.next, .close */
int stacks_next(struct perf_reader *r, struct perf_item *item, struct error *err);
void stacks_close(struct perf_reader *r);

/* Where JSON begins in the first bytes of a file and whether it is an object; NULL: it is not. */
const char *stacks_json_head(const u8 *head, size_t n, bool is_dir, size_t *len);
/* Whether a word stands in it. */
bool stacks_head_has(const char *p, size_t n, const char *word);

#endif
