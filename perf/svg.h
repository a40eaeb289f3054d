/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Flame graphs read back: the tree that a picture or its data block holds. */
#ifndef XENFLAME_PERF_SVG_H
#define XENFLAME_PERF_SVG_H

#include "perf/reader.h"

/* A node of the tree in preorder. */
struct svg_node {
	u32 depth; /* 1: the first frame of a stack */
	u32 frame; /* id of reader.text */
	u64 self, base;
};

struct svg_tree {
	VEC(struct svg_node) nodes;
	char *unit; /* what is counted; NULL: not known */
};

/*
 * The text of the data block that render/data.c describes, of an SVG or HTML file; NULL: there is
 * none. `encoded`: it is base85 of gzip.
 */
const char *svg_find_data(const char *p, size_t n, size_t *len, bool *encoded);
/* Reads such a block. Frames go to r->text, strings to r->strings. */
int svg_read_data(struct perf_reader *r, const char *p, size_t n, bool encoded,
		  struct svg_tree *tree, struct error *err) MUST_CHECK;

#endif
