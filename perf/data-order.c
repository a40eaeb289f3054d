/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf.data: time order.  Records of one CPU are in order, CPUs are not among
 * each other.  At FINISHED_ROUND nothing older than the newest record of the
 * round before can come any more, so that much may go.  The sort is stable:
 * (time, position in the file).
 */
#include "perf/data.h"

static void merge(const struct pd_entry *a, size_t na, const struct pd_entry *b, size_t nb,
		  struct pd_entry *out)
{
	while (na && nb) {
		if (b->time < a->time) {
			*out++ = *b++;
			nb--;
		} else {
			*out++ = *a++;
			na--;
		}
	}
	if (na)
		memcpy(out, a, na * sizeof(*a));
	else
		memcpy(out, b, nb * sizeof(*b));
}

/* Merges neighbouring sorted runs until one is left. */
static void sort(struct pd_queue *q)
{
	struct pd_entry *e = q->e.v, *from, *to;
	size_t n = q->e.n, i, k;

	q->runs.n = 0;
	vec_push(&q->runs, (size_t)0);
	for (i = 1; i < n; i++)
		if (e[i].time < e[i - 1].time)
			vec_push(&q->runs, i);
	if (q->runs.n == 1)
		return;
	if (q->tmp_cap < n) {
		free(q->tmp);
		q->tmp_cap = q->e.cap;
		q->tmp = xreallocarray(NULL, q->tmp_cap, sizeof(*q->tmp));
	}
	from = e;
	to = q->tmp;
	while (q->runs.n > 1) {
		size_t *r = q->runs.v, nr = q->runs.n, out = 0;
		struct pd_entry *swap = from;

		for (k = 0; k < nr; k += 2) {
			size_t a = r[k], b = k + 1 < nr ? r[k + 1] : n,
			       end = k + 2 < nr ? r[k + 2] : n;

			merge(from + a, b - a, from + b, end - b, to + a);
			r[out++] = a;
		}
		q->runs.n = out;
		from = to;
		to = swap;
	}
	if (from != e)
		memcpy(e, from, n * sizeof(*e));
}

static void compact(struct pd_queue *q)
{
	if (!q->head)
		return;
	memmove(q->e.v, q->e.v + q->head, (q->e.n - q->head) * sizeof(*q->e.v));
	q->e.n -= q->head;
	q->ready -= MIN(q->ready, q->head);
	q->head = 0;
}

void pd_queue_add(struct pd *pd, const struct pd_entry *e)
{
	struct pd_queue *q = &pd->q;

	pd_block_ref(pd, e->block);
	vec_push(&q->e, *e);
	if (e->time > q->max_time)
		q->max_time = e->time;
}

static void release_until(struct pd_queue *q, u64 limit)
{
	size_t lo, hi;

	compact(q);
	sort(q);
	for (lo = 0, hi = q->e.n; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;

		if (q->e.v[mid].time <= limit)
			lo = mid + 1;
		else
			hi = mid;
	}
	q->ready = lo;
}

void pd_queue_round(struct pd *pd)
{
	struct pd_queue *q = &pd->q;

	release_until(q, q->limit);
	q->limit = q->max_time;
}

void pd_queue_half(struct pd *pd)
{
	struct pd_queue *q = &pd->q;

	compact(q);
	sort(q);
	q->ready = q->e.n - q->e.n / 2;
}

void pd_queue_all(struct pd *pd)
{
	release_until(&pd->q, UINT64_MAX);
}

bool pd_queue_pop(struct pd *pd, struct pd_entry *e)
{
	struct pd_queue *q = &pd->q;

	if (q->head == q->ready)
		return false;
	*e = q->e.v[q->head++];
	if (e->time < q->last)
		pd->out_of_order++;
	else
		q->last = e->time;
	return true;
}

void pd_queue_release(struct pd *pd)
{
	vec_release(&pd->q.e);
	vec_release(&pd->q.runs);
	free(pd->q.tmp);
}
