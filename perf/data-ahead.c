/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf.data: a thread that reads ahead.  It looks for records, puts them in
 * order and hashes chains, so that the caller's thread has but to decode them;
 * what it touches of a mapped file is in memory and in the processors' common
 * cache then.
 *
 * As long as the thread runs, what pd_find() works on is its own: positions in
 * the file, the queue, what is counted of lost samples.  It stops before a
 * record that changes more than that, or that something is to be told of; all
 * up to there was given in the order of the file when the caller's thread goes
 * on with that record.  So there is nothing in the result, nor in what is told,
 * that shows whether there was a thread.
 */
#include <pthread.h>
#include <stdlib.h>

#include "perf/data.h"

/* What is given to the caller's thread at once, and how much of that it may lie behind. */
#define BATCH_RECORDS 1024u
#define BATCH_BYTES   ((u64)256 << 10)
#define BATCHES       8u

/* Where a thread is worth its start: behind one piece of the file, and before this many. */
#define PIECE       ((u64)1 << 20)
#define PIECES_LEFT 4u

struct batch {
	struct pd_ready v[BATCH_RECORDS];
	u32 n;
	u64 pos;       /* of the file, behind it */
	u64 low, high; /* the range of the file that it is of */
	u64 bytes;
};

struct pd_ahead {
	struct pd *pd;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t filled, emptied;
	u64 made, taken; /* batches */
	bool quit;       /* the caller wants no more */
	bool ended;      /* there are no more */
	struct batch ring[BATCHES];
	/* of the caller's thread */
	struct batch *cur;
	u32 at;
};

static u64 piece(const struct pd *pd)
{
	return pd->r->opts.piece ? pd->r->opts.piece : PIECE;
}

void pd_ahead_allow(struct pd *pd)
{
	const struct pd_file *f = pd->files.v[0];

	/* What is of the other byte order is copied when it is decoded anyway. */
	pd->ahead_from = pd->files.n == 1 && f->in->map && !pd->swap &&
					 threads_for(pd->r->opts.threads) > 1
				 ? f->pos + piece(pd)
				 : UINT64_MAX;
}

static void hash_chain(const struct pd *pd, struct pd_ready *r)
{
	const u8 *p = r->e.rec;
	const struct pd_attr *a;
	u32 size = ld16(p + 6, false);
	const u64 *chain;
	u64 nr;

	r->hashed = false;
	if (ld32(p, false) != REC_SAMPLE || r->e.event >= pd->attrs.n || (uintptr_t)p & 7 ||
	    !pd->r->opts.seed)
		return;
	a = &pd->attrs.v[r->e.event];
	if (!a->chain_off || a->chain_off + 8u > size ||
	    a->sample_type & (PERF_SAMPLE_REGS_USER | PERF_SAMPLE_BRANCH_STACK))
		return;
	chain = (const u64 *)(const void *)(p + a->chain_off + 8);
	nr = chain[-1];
	if (nr > (size - a->chain_off - 8) / 8 || pd_chain_is_deferred(chain, (u32)nr))
		return;
	r->hashed = true;
	r->hash = perf_chain_hash(chain, (u32)nr, pd->r->opts.seed);
}

/* Records up to the end of a batch; false at the thread's end. */
static bool fill(struct pd_ahead *a, struct batch *b)
{
	struct pd *pd = a->pd;
	struct pd_file *f = pd->files.v[0];
	enum pd_found found = PD_MORE;

	/* The caller is through with what was there before. */
	if (b->n)
		pd_file_given(f, b->low, b->high, b->bytes);
	b->low = UINT64_MAX;
	b->high = b->bytes = b->n = 0;
	while (b->n < BATCH_RECORDS && b->bytes < BATCH_BYTES) {
		struct pd_ready *r = &b->v[b->n];
		u64 at, size;

		/* An error comes up again when the caller's thread goes on. */
		found = pd_find(pd, &r->e, true, NULL);
		if (found == PD_MORE)
			continue;
		if (found != PD_FOUND)
			break;
		hash_chain(pd, r);
		at = (u64)(r->e.rec - f->in->map);
		size = ld16(r->e.rec + 6, false);
		b->low = MIN(b->low, at);
		b->high = MAX(b->high, at + size);
		b->bytes += size;
		b->n++;
	}
	b->pos = f->pos;
	return found == PD_FOUND || found == PD_MORE;
}

static void *ahead_main(void *arg)
{
	struct pd_ahead *a = arg;
	bool more = true;

	pthread_mutex_lock(&a->lock);
	while (more && !a->quit) {
		if (a->made - a->taken == BATCHES) {
			pthread_cond_wait(&a->emptied, &a->lock);
			continue;
		}
		pthread_mutex_unlock(&a->lock);
		more = fill(a, &a->ring[a->made % BATCHES]);
		pthread_mutex_lock(&a->lock);
		a->made++;
		a->ended = !more;
		pthread_cond_signal(&a->filled);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

static void release(struct pd *pd)
{
	pthread_mutex_destroy(&pd->ahead->lock);
	pthread_cond_destroy(&pd->ahead->filled);
	pthread_cond_destroy(&pd->ahead->emptied);
	free(pd->ahead);
	pd->ahead = NULL;
}

void pd_ahead_start(struct pd *pd)
{
	const struct pd_file *f = pd->files.v[0];
	struct pd_ahead *a;

	if (f->pos < pd->ahead_from || f->at_end)
		return;
	if (f->end - f->pos < PIECES_LEFT * piece(pd)) {
		pd->ahead_from = UINT64_MAX;
		return;
	}
	if (!pd_file_ordinary(pd, f)) {
		pd->ahead_from = f->pos + piece(pd);
		return;
	}
	a = xcalloc(1, sizeof(*a));
	a->pd = pd;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->filled, NULL);
	pthread_cond_init(&a->emptied, NULL);
	pd->ahead = a;
	if (thread_start(&a->thread, ahead_main, a)) {
		release(pd);
		pd->ahead_from = UINT64_MAX;
	}
}

void pd_ahead_stop(struct pd *pd)
{
	struct pd_ahead *a = pd->ahead;

	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->quit = true;
	pthread_cond_signal(&a->emptied);
	pthread_mutex_unlock(&a->lock);
	pthread_join(a->thread, NULL);
	release(pd);
}

bool pd_ahead_next(struct pd *pd, struct pd_ready *r)
{
	struct pd_ahead *a = pd->ahead;

	while (!a->cur || a->at == a->cur->n) {
		bool more;

		pthread_mutex_lock(&a->lock);
		if (a->cur) {
			a->taken++;
			pthread_cond_signal(&a->emptied);
		}
		while (a->made == a->taken && !a->ended)
			pthread_cond_wait(&a->filled, &a->lock);
		more = a->made != a->taken;
		pthread_mutex_unlock(&a->lock);
		a->cur = NULL;
		if (!more) {
			pd_ahead_stop(pd);
			pd->ahead_from = pd->files.v[0]->pos + piece(pd);
			return false;
		}
		a->cur = &a->ring[a->taken % BATCHES];
		a->at = 0;
		pd->r->in.consumed = a->cur->pos;
	}
	*r = a->cur->v[a->at++];
	if (a->at + 2 < a->cur->n) {
		const u8 *next = a->cur->v[a->at + 2].e.rec;

		__builtin_prefetch(next);
		__builtin_prefetch(next + 64);
	}
	return true;
}
