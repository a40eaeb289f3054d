/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples by thread and in time. */
#include "render/threads.h"

/* A sample on its way to its thread. */
struct sorted {
	u32 pid, tid, part, root, node;
	u64 time, weight;
};

#define ORDER(x, y)                                \
	do {                                       \
		if ((x) != (y))                    \
			return (x) < (y) ? -1 : 1; \
	} while (0)

static int cmp_sorted(const void *pa, const void *pb)
{
	const struct sorted *a = pa, *b = pb;

	ORDER(a->pid, b->pid);
	ORDER(a->tid, b->tid);
	ORDER(a->part, b->part);
	ORDER(a->root, b->root);
	ORDER(a->time, b->time);
	ORDER(a->node, b->node);
	return 0;
}

static int cmp_u64(const void *pa, const void *pb)
{
	u64 a = *(const u64 *)pa, b = *(const u64 *)pb;

	return (a > b) - (a < b);
}

/* By node: the node of the outermost frame of its stack, and the part that it is in. */
static void find_roots(const struct view *v, const struct export_parts *parts, u32 *root, u32 *part)
{
	size_t p;
	u32 i;

	for (p = 0; p < parts->v.n; p++) {
		const struct export_part *x = &parts->v.v[p];

		for (i = x->top; i < v->nodes.v[x->top].end; i++) {
			u32 depth = v->nodes.v[i].depth;

			part[i] = (u32)p;
			root[i] = depth <= x->depth + 1 ? i : root[v->nodes.v[i].parent];
		}
	}
}

struct on_cpu {
	u32 cpu, event;
	u64 time;
};

static int cmp_on_cpu(const void *pa, const void *pb)
{
	const struct on_cpu *a = pa, *b = pb;

	ORDER(a->cpu, b->cpu);
	ORDER(a->event, b->event);
	ORDER(a->time, b->time);
	return 0;
}

/* Median of the time between two samples of an event on one processor. */
static u64 usual_interval(const struct profile *p)
{
	VEC(struct on_cpu) s = { 0 };
	VEC(u64) gaps = { 0 };
	u64 median = 0;
	size_t i;

	for (i = 0; i < p->samples.n; i++)
		vec_push(&s, ((struct on_cpu){ p->samples.v[i].cpu, p->samples.v[i].event,
					       p->samples.v[i].time }));
	if (s.n)
		qsort(s.v, s.n, sizeof(*s.v), cmp_on_cpu);
	for (i = 1; i < s.n; i++)
		if (s.v[i].cpu == s.v[i - 1].cpu && s.v[i].event == s.v[i - 1].event)
			vec_push(&gaps, s.v[i].time - s.v[i - 1].time);
	if (gaps.n) {
		qsort(gaps.v, gaps.n, sizeof(*gaps.v), cmp_u64);
		median = gaps.v[gaps.n / 2];
	}
	vec_release(&gaps);
	vec_release(&s);
	return median;
}

void threads_init(struct threads *t, const struct view *v)
{
	const struct profile *p = v->profile;
	u32 *root = xcalloc(v->nodes.n, sizeof(*root)), *part = xcalloc(v->nodes.n, sizeof(*part)),
	    i;
	VEC(struct sorted) s = { 0 };
	u64 at = 0, ns;
	size_t k;

	memset(t, 0, sizeof(*t));
	export_parts_init(&t->parts, v);
	find_roots(v, &t->parts, root, part);
	t->timed = export_has_samples(v);
	t->first = UINT64_MAX;
	for (k = 0; k < p->samples.n && t->timed; k++) {
		t->timed = p->samples.v[k].time != UINT64_MAX;
		t->first = MIN(t->first, p->samples.v[k].time);
	}
	if (t->timed) {
		for (k = 0; k < p->samples.n; k++) {
			const struct profile_sample *x = &p->samples.v[k];
			u32 node = view_place(v, x->event, x->node);

			if (node == UINT32_MAX || !x->weight)
				continue;
			vec_push(&s, ((struct sorted){ x->pid, x->tid, part[node], root[node], node,
						       x->time - t->first, x->weight }));
			t->length = MAX(t->length, x->time - t->first);
		}
		t->interval = usual_interval(p);
	} else {
		t->first = UINT64_MAX;
		for (i = 0; i < v->nodes.n; i++) {
			u64 self = v->nodes.v[i].self;

			if (!self)
				continue;
			vec_push(&s, ((struct sorted){ UINT32_MAX, UINT32_MAX, part[i], root[i], i,
						       at, self }));
			if (__builtin_mul_overflow(self, 1000, &ns) ||
			    __builtin_add_overflow(at, ns, &at))
				at = UINT64_MAX;
		}
		t->length = at;
	}
	if (s.n)
		qsort(s.v, s.n, sizeof(*s.v), cmp_sorted);
	for (k = 0; k < s.n; k++) {
		const struct sorted *x = &s.v[k], *was = k ? x - 1 : NULL;

		if (!was || was->pid != x->pid || was->tid != x->tid || was->part != x->part ||
		    was->root != x->root)
			vec_push(&t->v, ((struct thread){ .part = x->part,
							  .root = x->root,
							  .pid = x->pid,
							  .tid = x->tid }));
		vec_push(&t->v.v[t->v.n - 1].samples,
			 ((struct thread_sample){ x->time, x->weight, x->node }));
	}
	vec_release(&s);
	free(root);
	free(part);
}

void threads_release(struct threads *t)
{
	size_t i;

	for (i = 0; i < t->v.n; i++)
		vec_release(&t->v.v[i].samples);
	vec_release(&t->v);
	export_parts_release(&t->parts);
}

bool thread_has_comm(const struct view *v, const struct thread *t)
{
	return t->root && v->profile->frames.v[v->nodes.v[t->root].frame].flags & FRAME_GROUP;
}

str_id thread_comm(const struct view *v, const struct thread *t)
{
	return t->root ? v->profile->frames.v[v->nodes.v[t->root].frame].function : 0;
}

void thread_name(const struct threads *threads, const struct view *v, const struct thread *t,
		 struct buf *b)
{
	const struct strtab *strings = v->profile->strings;
	str_id comm = thread_comm(v, t), event = threads->parts.v.v[t->part].name;

	if (comm)
		buf_put(b, strtab_get(strings, comm), strtab_len(strings, comm));
	else
		buf_puts(b, "all");
	if (threads->parts.v.n > 1 && event) {
		buf_puts(b, " (");
		buf_put(b, strtab_get(strings, event), strtab_len(strings, event));
		buf_putc(b, ')');
	}
}

/* The nodes of a stack below a depth, outermost first; their number. */
static u32 find_path(const struct view *v, u32 node, u32 depth, u32 *path)
{
	u32 i, k, n = v->nodes.v[node].depth > depth ? v->nodes.v[node].depth - depth : 0;

	for (i = node, k = n; k; i = v->nodes.v[i].parent)
		path[--k] = i;
	return n;
}

static u64 length_of(const struct threads *threads, const struct thread *t, size_t i)
{
	const struct thread_sample *s = &t->samples.v[i];
	u64 length;

	if (!threads->timed)
		return __builtin_mul_overflow(s->weight, 1000, &length) ? UINT64_MAX : length;
	length = threads->interval ? threads->interval : 1000;
	return i + 1 < t->samples.n ? MIN(length, s[1].time - s->time) : length;
}

void thread_walk(const struct threads *threads, const struct view *v, const struct thread *t,
		 u64 gap, thread_call_fn call, void *ctx)
{
	u32 depth = threads->parts.v.v[t->part].depth + thread_has_comm(v, t), nopen = 0, n, k;
	u32 *open = xcalloc((size_t)v->max_depth + 1, sizeof(*open));
	u32 *path = xcalloc((size_t)v->max_depth + 1, sizeof(*path));
	u64 begin = 0, end = 0, length;
	size_t i;

	for (i = 0; i < t->samples.n; i++) {
		const struct thread_sample *s = &t->samples.v[i];

		n = find_path(v, s->node, depth, path);
		k = 0;
		if (end == s->time)
			while (k < n && k < nopen && open[k] == path[k])
				k++;
		length = end == s->time && end - begin > gap ? end - gap : end;
		while (nopen > k)
			call(ctx, false, v->nodes.v[open[--nopen]].frame, length);
		for (; k < n; k++) {
			call(ctx, true, v->nodes.v[path[k]].frame, s->time);
			open[nopen++] = path[k];
		}
		begin = s->time;
		length = length_of(threads, t, i);
		if (__builtin_add_overflow(s->time, length, &end))
			end = UINT64_MAX;
	}
	while (nopen)
		call(ctx, false, v->nodes.v[open[--nopen]].frame, end);
	free(open);
	free(path);
}
