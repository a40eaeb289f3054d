/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "symbolize/ranges.h"

static int range_cmp(const void *pa, const void *pb)
{
	const struct range *a = pa, *b = pb;

	if (a->lo != b->lo)
		return a->lo < b->lo ? -1 : 1;
	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return (a->hi > b->hi) - (a->hi < b->hi);
}

/* A binary heap of ranges, greatest id on top. */
static void heap_push(struct range *h, size_t *n, struct range item)
{
	size_t i = (*n)++;

	while (i) {
		size_t up = (i - 1) / 2;

		if (h[up].id >= item.id)
			break;
		h[i] = h[up];
		i = up;
	}
	h[i] = item;
}

static void heap_pop(struct range *h, size_t *n)
{
	struct range item = h[--*n];
	size_t i = 0;

	for (;;) {
		size_t kid = 2 * i + 1;

		if (kid >= *n)
			break;
		if (kid + 1 < *n && h[kid + 1].id > h[kid].id)
			kid++;
		if (h[kid].id <= item.id)
			break;
		h[i] = h[kid];
		i = kid;
	}
	h[i] = item;
}

void ranges_flatten(struct ranges *rs)
{
	struct range *in = rs->r.v, *heap;
	size_t n = 0, i, nheap = 0;
	bool sorted = true, disjoint = true;
	struct ranges out = { { NULL, 0, 0 } };
	u64 pos = 0;

	for (i = 0; i < rs->r.n; i++)
		if (in[i].lo < in[i].hi)
			in[n++] = in[i];
	rs->r.n = n;
	for (i = 1; i < n && sorted; i++)
		sorted = range_cmp(&in[i - 1], &in[i]) <= 0;
	if (!sorted)
		qsort(in, n, sizeof(*in), range_cmp);
	for (i = 1; i < n && disjoint; i++)
		disjoint = in[i - 1].hi <= in[i].lo;
	if (disjoint)
		return;

	heap = xmalloc(n * sizeof(*heap));
	vec_reserve(&out.r, n);
	i = 0;
	while (i < n || nheap) {
		struct range *last;
		u64 end;

		while (nheap && heap[0].hi <= pos)
			heap_pop(heap, &nheap);
		if (!nheap) {
			if (i == n)
				break;
			pos = in[i].lo;
		}
		while (i < n && in[i].lo <= pos)
			heap_push(heap, &nheap, in[i++]);
		end = heap[0].hi;
		if (i < n && in[i].lo < end)
			end = in[i].lo;
		last = out.r.n ? &out.r.v[out.r.n - 1] : NULL;
		if (last && last->hi == pos && last->id == heap[0].id)
			last->hi = end;
		else
			vec_push(&out.r, ((struct range){ pos, end, heap[0].id }));
		pos = end;
	}
	free(heap);
	free(in);
	rs->r.v = out.r.v;
	rs->r.n = out.r.n;
	rs->r.cap = out.r.cap;
}

const struct range *ranges_find(const struct range *r, size_t n, u64 addr)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (r[mid].lo <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && addr < r[lo - 1].hi ? &r[lo - 1] : NULL;
}
