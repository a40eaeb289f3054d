/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Places of the code and weights of stacks, for formats with tables of both (pprof, OTLP). */
#ifndef XENFLAME_RENDER_PLACES_H
#define XENFLAME_RENDER_PLACES_H

#include "render/export.h"

/* A function with those outside of it that it is inlined into. */
struct place {
	frame_id frame;
	u32 outer;  /* index + 1, or 0 */
	u32 module; /* index in modules + 1, or 0; by places_number() */
	u32 number; /* index in used + 1, or 0 */
};

struct place_module {
	str_id name;
	u8 space;
};

struct places {
	VEC(struct place) v;
	struct index index;
	u32 *of; /* by node of the view: index of the place that starts there */
	u32 *up; /* by node: the node below that place */

	VEC(u32) used; /* places that samples stand in, in the order of places_use() */

	/* by places_number(), of places that are used */
	VEC(struct place_module) modules;
	struct index module_index;
	VEC(frame_id) functions;
	u32 *function; /* by frame: index in functions + 1 */
};

void places_init(struct places *p, const struct view *v);
void places_release(struct places *p);
/* The number of the place that a node ends in, from 1 on and without gaps. */
u32 places_use(struct places *p, u32 node);
/* Numbers functions and modules in the order in which used places need them. */
void places_number(struct places *p, const struct profile *profile);

/* Weight of one stack where it was sampled; UINT32_MAX: not known. */
struct place_sample {
	u32 node, part; /* of the view, of export_parts */
	u32 cpu, pid, tid;
	u64 weight;
};

struct place_samples {
	VEC(struct place_sample) v; /* by part and node */
	bool xen;                   /* hypervisor frames were seen */
};

/* What stands below the code of a stack. */
struct place_root {
	str_id comm;        /* 0: not known */
	const char *domain; /* as --group=domain names it; NULL: not known, or not a Xen host */
};

/* Kept samples added up over time, or without such the weights of stacks. */
void place_samples_init(struct place_samples *s, const struct view *v,
			const struct export_parts *parts);
void place_samples_release(struct place_samples *s);
/* Comm and domain of a sample's stack; and sets cpu, pid and tid where they are groups. */
struct place_root place_root(const struct view *v, const struct export_parts *parts,
			     const struct place_samples *samples, struct place_sample *s);

#endif
