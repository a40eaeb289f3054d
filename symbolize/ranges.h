/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Address ranges that may overlap, flattened once into ranges that do not, so that
 * a question is one binary search.  Used for symbols, functions, inlined
 * code, sequences of lines and JIT maps alike.
 */
#ifndef XENFLAME_RANGES_H
#define XENFLAME_RANGES_H

#include "base/base.h"

struct range {
	u64 lo, hi; /* [lo, hi) */
	u32 id;
};

struct ranges {
	VEC(struct range) r;
};

/*
 * Sorts r[0..n) and rewrites it as disjoint ascending ranges.  Where several
 * overlap, the greatest id wins.  Empty and inverted ranges vanish.
 * O(n log n), at most 2 n ranges afterwards.
 */
void ranges_flatten(struct ranges *r);
/* Sorts by lo, then id. */
void ranges_sort(struct range *r, size_t n);
/* Range that holds addr, or NULL. The ranges must be flattened. */
const struct range *ranges_find(const struct range *r, size_t n, u64 addr);

#endif
