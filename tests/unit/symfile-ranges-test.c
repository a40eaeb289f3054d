/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Flattening of ranges against a bitmap that is painted in the order of ids. */
#include <stdlib.h>

#include "symbolize/ranges.h"
#include "tests/unit/tap.h"

static u32 seed = 1;

static u32 rnd(u32 n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 8) % n;
}

static void test_random(u32 count, u32 width)
{
	u32 *paint = calloc(width + 1, sizeof(*paint)), i, k, wrong = 0, unsorted = 0;
	struct ranges r = { { NULL, 0, 0 } };
	struct range *order = calloc(count, sizeof(*order));

	/* Ids in an order of their own, so that the array is neither sorted by id nor by address.
	 */
	for (i = 0; i < count; i++) {
		u32 lo = rnd(width);

		order[i] = (struct range){ lo, lo + rnd(rnd(4) ? 20 : width - lo + 1), i };
	}
	for (i = 0; i < count; i++)
		for (k = (u32)order[i].lo; k < order[i].hi && k <= width; k++)
			paint[k] = order[i].id + 1;
	for (i = 0; i < count; i++)
		vec_push(&r.r, order[(i * 7919) % count]);
	ranges_flatten(&r);
	for (i = 0; i < width; i++) {
		const struct range *hit = ranges_find(r.r.v, r.r.n, i);

		wrong += (hit ? hit->id + 1 : 0) != paint[i];
	}
	for (i = 1; i < r.r.n; i++)
		unsorted += r.r.v[i - 1].hi > r.r.v[i].lo || r.r.v[i].lo >= r.r.v[i].hi;
	EQ(wrong, 0);
	EQ(unsorted, 0);
	OK(r.r.n <= 2 * count);
	vec_release(&r.r);
	free(order);
	free(paint);
}

static void test_edges(void)
{
	struct ranges r = { { NULL, 0, 0 } };

	ranges_flatten(&r);
	EQ(r.r.n, 0);
	OK(!ranges_find(r.r.v, r.r.n, 0));
	vec_push(&r.r, ((struct range){ 10, 10, 0 }));
	vec_push(&r.r, ((struct range){ 20, 10, 1 }));
	ranges_flatten(&r);
	EQ(r.r.n, 0);
	/* Up to the last address; a range inside another splits it, and equal neighbours are
	 * joined. */
	vec_push(&r.r, ((struct range){ 0, UINT64_MAX, 5 }));
	vec_push(&r.r, ((struct range){ 100, 200, 6 }));
	vec_push(&r.r, ((struct range){ 120, 130, 2 }));
	ranges_flatten(&r);
	EQ(r.r.n, 3);
	EQ(ranges_find(r.r.v, r.r.n, 125)->id, 6);
	EQ(ranges_find(r.r.v, r.r.n, 99)->id, 5);
	EQ(ranges_find(r.r.v, r.r.n, 200)->id, 5);
	OK(!ranges_find(r.r.v, r.r.n, UINT64_MAX));
	vec_release(&r.r);
}

static void test_sort(void)
{
	struct range *v = calloc(5000, sizeof(*v));
	u32 i, wrong = 0;

	for (i = 0; i < 5000; i++)
		v[i] = (struct range){ rnd(1000), i, rnd(3) };
	ranges_sort(v, 5000);
	for (i = 1; i < 5000; i++)
		wrong += v[i - 1].lo > v[i].lo ||
			 (v[i - 1].lo == v[i].lo && v[i - 1].id > v[i].id) ||
			 (v[i - 1].lo == v[i].lo && v[i - 1].id == v[i].id &&
			  v[i - 1].hi > v[i].hi);
	EQ(wrong, 0);
	free(v);
}

int main(void)
{
	test_edges();
	test_sort();
	/* 7919 is prime to these counts. */
	test_random(1, 50);
	test_random(10, 100);
	test_random(1000, 4000);
	test_random(3000, 300);
	return tap_done();
}
