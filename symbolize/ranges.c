/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "symbolize/ranges.h"

static inline bool before(const struct range *a, const struct range *b)
{
	return a->lo != b->lo ? a->lo < b->lo : a->id < b->id;
}

/* Short runs by insertion, then merged: stable, and without a call for each comparison. */
void ranges_sort(struct range *r, size_t n)
{
	enum { RUN = 16 };
	struct range *from = r, *to, *tmp;
	size_t i, k, width;

	for (i = 1; i < n; i++)
		if (before(&r[i], &r[i - 1]))
			break;
	if (i >= n)
		return;
	for (i = 0; i < n; i += RUN) {
		size_t end = MIN(i + RUN, n);

		for (k = i + 1; k < end; k++) {
			struct range item = r[k];
			size_t at = k;

			for (; at > i && before(&item, &r[at - 1]); at--)
				r[at] = r[at - 1];
			r[at] = item;
		}
	}
	if (n <= RUN)
		return;
	tmp = xreallocarray(NULL, n, sizeof(*tmp));
	to = tmp;
	for (width = RUN; width < n; width *= 2) {
		struct range *swap;

		for (i = 0; i < n; i += 2 * width) {
			size_t a = i, mid = MIN(i + width, n), b = mid, end = MIN(i + 2 * width, n);

			for (k = i; k < end; k++)
				to[k] = a < mid && (b == end || !before(&from[b], &from[a]))
						? from[a++]
						: from[b++];
		}
		swap = from;
		from = to;
		to = swap;
	}
	if (from != r)
		memcpy(r, from, n * sizeof(*r));
	free(tmp);
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
	bool disjoint = true;
	struct ranges out = { { NULL, 0, 0 } };
	u64 pos = 0;

	for (i = 0; i < rs->r.n; i++)
		if (in[i].lo < in[i].hi)
			in[n++] = in[i];
	rs->r.n = n;
	ranges_sort(in, n);
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
