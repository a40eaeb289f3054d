/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Many stacks into the tree at once, in order: what stacks have in common is
 * then found by looking at the one before, and the nodes of a subtree lie
 * together.  One by one, each step of each stack would be a look into a part of
 * a large tree that no cache holds.
 */
#include <pthread.h>
#include <stdlib.h>

#include "profile/layout.h"

#define THREADS_MAX 16u

#define KEY 4u

/* A stack while it is sorted. */
struct item {
	u64 key;   /* KEY of its codes, those that are compared at present */
	u32 at;    /* its first code */
	u32 stack; /* in batch.stacks */
};

/* Items that are equal in all codes before `depth`. */
struct range {
	u32 first, n, depth;
};

/*
 * Behind the 0 that ends a stack all is 0.  Reads KEY codes in any case; without a branch, since
 * where stacks end follows no rule.
 */
static u64 load_key(const u16 *code)
{
	const u64 most = 0x7fff7fff7fff7fff;
	u64 key = (u64)code[0] << 48 | (u64)code[1] << 32 | (u64)code[2] << 16 | code[3];
	/* The upper bit of each code that is 0. */
	u64 none = ~(((key & most) + most) | key | most);

	return none ? key & ~(UINT64_MAX >> __builtin_clzll(none)) : key;
}

static bool ends(u64 key)
{
	return !(key & 0xffff);
}

/* Codes behind those of the keys, which are equal. */
static bool rest_less(const u16 *codes, const struct item *a, const struct item *b, u32 depth)
{
	const u16 *p = codes + a->at + depth, *q = codes + b->at + depth;

	while (*p == *q && *p) {
		p++;
		q++;
	}
	return *p < *q;
}

static bool item_less(const u16 *codes, const struct item *a, const struct item *b, u32 depth)
{
	if (a->key != b->key)
		return a->key < b->key;
	return !ends(a->key) && rest_less(codes, a, b, depth + KEY);
}

static void insertion_sort(struct item *v, u32 n, const u16 *codes, u32 depth)
{
	u32 i, k;

	for (i = 1; i < n; i++) {
		struct item x = v[i];

		for (k = i; k && item_less(codes, &x, &v[k - 1], depth); k--)
			v[k] = v[k - 1];
		v[k] = x;
	}
}

static u64 median(u64 a, u64 b, u64 c)
{
	return a < b ? (b < c ? b : MAX(a, c)) : (a < c ? a : MAX(b, c));
}

/*
 * A step of a quicksort in three parts, of which the middle one goes on with the next codes: what
 * is still to be sorted, into parts[0..3).  Pivots are taken by chance, so that no input makes it
 * slow.
 */
static u32 split(struct item *v, const u16 *codes, u64 *seed, struct range r, struct range parts[3])
{
	struct item *x = v + r.first;
	u32 less = 0, more = r.n, i;
	u64 pivot, lot;

	lot = *seed = hash_u64(*seed + r.n);
	pivot = median(x[(u32)lot % r.n].key, x[(lot >> 32) % r.n].key, x[r.n / 2].key);
	for (i = 0; i < more;) {
		struct item t = x[i];

		if (t.key < pivot) {
			x[i++] = x[less];
			x[less++] = t;
		} else if (t.key > pivot) {
			x[i] = x[--more];
			x[more] = t;
		} else {
			i++;
		}
	}
	parts[0] = (struct range){ r.first, less, r.depth };
	parts[1] = (struct range){ r.first + more, r.n - more, r.depth };
	if (more - less < 2 || ends(pivot))
		return 2;
	for (i = less; i < more; i++) {
		__builtin_prefetch(codes + x[MIN(i + 8, more - 1)].at + r.depth + KEY);
		x[i].key = load_key(codes + x[i].at + r.depth + KEY);
	}
	parts[2] = (struct range){ r.first + less, more - less, r.depth + KEY };
	return 3;
}

static void sort_range(struct item *v, const u16 *codes, u64 seed, struct range all)
{
	VEC(struct range) parts = { 0 };

	vec_push(&parts, all);
	while (parts.n) {
		struct range r = parts.v[--parts.n];

		if (r.n <= 12) {
			insertion_sort(v + r.first, r.n, codes, r.depth);
			continue;
		}
		vec_reserve(&parts, 3);
		parts.n += split(v, codes, &seed, r, parts.v + parts.n);
	}
	vec_release(&parts);
}

/* What several threads sort together. */
struct sorting {
	struct item *v;
	const u16 *codes;
	u64 seed;
	pthread_mutex_t lock;
	pthread_cond_t more;
	VEC(struct range) parts; /* nobody has them yet */
	u32 busy;                /* threads that may add to them */
};

/* Ranges up to this size are not worth being shared. */
#define SHARED_MIN 1024

static void *sort_shared(void *p)
{
	struct sorting *s = p;
	struct range parts[3];
	u32 n, i;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		struct range r;
		u64 seed;

		while (!s->parts.n && s->busy)
			pthread_cond_wait(&s->more, &s->lock);
		if (!s->parts.n)
			break;
		r = s->parts.v[--s->parts.n];
		seed = s->seed = hash_u64(s->seed);
		s->busy++;
		pthread_mutex_unlock(&s->lock);
		n = 0;
		if (r.n > SHARED_MIN)
			n = split(s->v, s->codes, &seed, r, parts);
		else
			sort_range(s->v, s->codes, seed, r);
		pthread_mutex_lock(&s->lock);
		s->busy--;
		for (i = 0; i < n; i++)
			vec_push(&s->parts, parts[i]);
		pthread_cond_broadcast(&s->more);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* Puts items in the order of one code of their keys; those with the same one stay as they are. */
static void sort_by_code(const struct item *v, struct item *to, u32 n, u32 shift)
{
	u32 *start = xcalloc(UINT16_MAX + 2, sizeof(*start)), i;

	for (i = 0; i < n; i++)
		start[(u16)(v[i].key >> shift) + 1]++;
	for (i = 0; i <= UINT16_MAX; i++)
		start[i + 1] += start[i];
	for (i = 0; i < n; i++)
		to[start[(u16)(v[i].key >> shift)]++] = v[i];
	free(start);
}

/* From this many on the tables for all codes are worth it. */
#define MANY_ITEMS 2048
/* Ranges below this size are put together. */
#define RANGE_MIN 64

/*
 * Into s->parts: ranges that lie in order, of the n items.  The first two codes are mostly a
 * command and one of few outermost functions, which chance pivots take many steps to tell apart.
 */
static void first_parts(struct sorting *s, u32 n)
{
	struct item *v = s->v, *by_second;
	u32 from = 0, i;

	if (n >= MANY_ITEMS) {
		by_second = xcalloc(n, sizeof(*by_second));
		sort_by_code(v, by_second, n, 32);
		sort_by_code(by_second, v, n, 48);
		free(by_second);
		for (i = RANGE_MIN; i < n; i++)
			if (i - from >= RANGE_MIN && v[i].key >> 32 != v[i - 1].key >> 32) {
				vec_push(&s->parts, ((struct range){ from, i - from, 0 }));
				from = i;
			}
	}
	vec_push(&s->parts, ((struct range){ from, n - from, 0 }));
}

static void sort_items(struct item *v, u32 n, const u16 *codes, u64 seed, unsigned threads)
{
	struct sorting s = { .v = v, .codes = codes, .seed = seed };
	pthread_t others[THREADS_MAX];
	unsigned i;

	first_parts(&s, n);
	/* Few are not worth a thread. */
	if (n <= 2 * SHARED_MIN)
		threads = 1;
	pthread_mutex_init(&s.lock, NULL);
	pthread_cond_init(&s.more, NULL);
	for (i = 0; i < MIN(threads, THREADS_MAX) - 1; i++)
		if (thread_start(&others[i], sort_shared, &s))
			break;
	sort_shared(&s);
	while (i)
		pthread_join(others[--i], NULL);
	vec_release(&s.parts);
	pthread_mutex_destroy(&s.lock);
	pthread_cond_destroy(&s.more);
}

/* Many stacks become more: the room for them is large from here on, see xreallocarray(). */
#define MANY_CODES  ((size_t)256 << 10)
#define LARGE_CODES ((size_t)4 << 20)

static void more_codes(struct profile_batch *b, size_t n)
{
	u16 *large;

	if (b->codes.cap < MANY_CODES || b->codes.n + n > LARGE_CODES ||
	    b->codes.cap >= LARGE_CODES) {
		vec_reserve(&b->codes, n);
		return;
	}
	large = xreallocarray(NULL, LARGE_CODES, sizeof(*large));
	/* With those of a stack that is not at its end. */
	memcpy(large, b->codes.v, b->codes.cap * sizeof(*large));
	free(b->codes.v);
	b->codes.v = large;
	b->codes.cap = LARGE_CODES;
}

u16 *profile_batch_room(struct profile_batch *b, size_t n)
{
	if (b->codes.cap - b->codes.n <= n)
		more_codes(b, n + 1);
	return b->codes.v + b->codes.n;
}

void profile_batch_end(struct profile_batch *b, u16 *end)
{
	vec_push(&b->stacks, ((struct profile_stack){ .at = (u32)b->codes.n }));
	*end++ = 0;
	b->codes.n = (size_t)(end - b->codes.v);
}

/* From here on the codes are of the ranks of frames. */
static void rank_codes(struct profile_batch *b, const struct profile *p, const u32 *rank)
{
	u16 *code = b->codes.v, *end = code + b->codes.n, *to;
	VEC(u16) ranked = { 0 };
	size_t i;

	if (p->frames.n < PROFILE_NARROW) {
		to = xcalloc(p->frames.n + 1, sizeof(*to));
		for (i = 0; i < p->frames.n; i++)
			to[i + 1] = (u16)(rank[i] + 1);
		for (; code < end; code++)
			*code = to[*code];
		free(to);
		return;
	}
	for (i = 0; i < b->stacks.n; i++) {
		const u16 *from = b->codes.v + b->stacks.v[i].at;

		b->stacks.v[i].at = (u32)ranked.n;
		while (*from) {
			vec_reserve(&ranked, 3);
			ranked.n = (size_t)(profile_put_code(ranked.v + ranked.n,
							     rank[profile_code_frame(&from)]) -
					    ranked.v);
		}
		vec_push(&ranked, 0);
	}
	vec_release(&b->codes);
	b->codes.v = ranked.v;
	b->codes.n = ranked.n;
	b->codes.cap = ranked.cap;
}

/* The frame at *code, which moves behind it; of a rank when `frame` tells by it. */
static inline frame_id take_frame(const u16 **code, const frame_id *frame)
{
	frame_id f = profile_code_frame(code);

	return frame ? frame[f] : f;
}

/* New nodes below `node`, which *path is: one for each frame, and there is room for them.  The last
 * one. */
static node_id append(struct profile *p, node_id node, const u16 *code, node_id *path,
		      const frame_id *frame)
{
	struct cct_node *nodes = p->nodes.v;
	u32 next = (u32)p->nodes.n;

	if (!*code)
		return node;
	if (!nodes[node].child)
		nodes[node].child = next;
	while (*code) {
		path += *code >= PROFILE_NARROW ? 2 : 1;
		nodes[next] = (struct cct_node){ take_frame(&code, frame), node, next + 1 };
		*path = node = next++;
	}
	nodes[node].child = 0;
	p->nodes.n = next;
	return node;
}

void batch_build(struct profile *p, struct profile_batch *b, const u32 *sorted,
		 const frame_id *frame)
{
	bool empty = p->nodes.n == 1;
	u32 n = (u32)b->stacks.n, most = 0, last_n = 0, i;
	const u16 *last = NULL;
	/*
	 * The nodes of the last stack by the number of codes above.  Those from `old` on had no
	 * child when they were come to: all below them is of the stacks before.
	 */
	u32 old = p->nodes.v[0].child ? 1 : 0;
	node_id *path;

	if (empty) {
		/* As many as there could be: what is not used takes no memory. */
		vec_release(&p->nodes);
		vec_reserve(&p->nodes, b->codes.n + 1);
		vec_push(&p->nodes, ((struct cct_node){ 0 }));
	}
	for (i = 0; i < n; i++)
		most = MAX(most, batch_codes_of(b, i));
	path = xcalloc((size_t)most + 1, sizeof(*path));
	for (i = 0; i < n; i++) {
		u32 stack = sorted[i], stack_n = batch_codes_of(b, stack);
		const u16 *first = b->codes.v + b->stacks.v[stack].at, *code;
		node_id node;
		u32 same;

		__builtin_prefetch(b->codes.v + b->stacks.v[sorted[MIN(i + 4, n - 1)]].at);
		__builtin_prefetch(b->stacks.v + sorted[MIN(i + 8, n - 1)], 1);
		same = codes_in_common(first, last, MIN(stack_n, last_n));
		code = first + same;
		node = path[same];
		old = MIN(old, same + 1);
		while (same < old && *code) {
			node = profile_child(p, node, take_frame(&code, frame));
			same = (u32)(code - first);
			path[same] = node;
			if (p->nodes.v[node].child)
				old = same + 1;
		}
		vec_reserve(&p->nodes, stack_n - same);
		node = append(p, node, code, path + same, frame);
		b->stacks.v[stack].node = node;
		last = first;
		last_n = stack_n;
	}
	free(path);
	if (empty && frame)
		p->ordered = (u32)p->nodes.n;
}

u32 *batch_sort(const struct profile *p, struct profile_batch *b, u64 seed, unsigned threads,
		frame_id **frame)
{
	u32 n = (u32)b->stacks.n, *sorted = xcalloc(n, sizeof(*sorted)), i;
	struct item *items = xcalloc(n, sizeof(*items));

	if (frame) {
		u32 *rank = view_frame_ranks(p, frame);

		rank_codes(b, p, rank);
		free(rank);
	}
	vec_reserve(&b->codes, KEY - 1);
	memset(b->codes.v + b->codes.n, 0, (KEY - 1) * sizeof(*b->codes.v));
	for (i = 0; i < n; i++) {
		u32 at = b->stacks.v[i].at;

		items[i] = (struct item){ load_key(b->codes.v + at), at, i };
	}
	sort_items(items, n, b->codes.v, seed, threads);
	for (i = 0; i < n; i++)
		sorted[i] = items[i].stack;
	free(items);
	return sorted;
}

void profile_batch_place(struct profile *p, struct profile_batch *b, u64 seed, unsigned threads)
{
	frame_id *frame = NULL;
	u32 *sorted = batch_sort(p, b, seed, threads, p->nodes.n == 1 ? &frame : NULL);

	batch_build(p, b, sorted, frame);
	vec_release(&b->codes);
	free(sorted);
	free(frame);
}

void profile_batch_clear(struct profile_batch *b)
{
	b->codes.n = b->stacks.n = 0;
}

void profile_batch_release(struct profile_batch *b)
{
	vec_release(&b->codes);
	vec_release(&b->stacks);
}
