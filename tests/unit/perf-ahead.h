/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a perf.data gives the same with and without a thread that reads ahead. */
#ifndef XENFLAME_PERF_AHEAD_H
#define XENFLAME_PERF_AHEAD_H

#include <stdlib.h>

#include "perf/perf.h"

struct ahead_side {
	struct strtab strings;
	struct diag diag;
	struct perf_reader *r;
	struct perf_item it;
	struct error err;
	int ret;
};

static inline void ahead_open(struct ahead_side *s, const char *path, u32 threads)
{
	/* From the second record on. */
	struct perf_opts opts = {
		.format = "perf.data", .seed = 0x5eed, .threads = threads, .piece = 1
	};

	memset(s, 0, sizeof(*s));
	strtab_init(&s->strings);
	diag_init(&s->diag);
	s->r = perf_open(path, &opts, &s->strings, &s->diag, &s->err);
}

static inline void ahead_close(struct ahead_side *s)
{
	perf_close(s->r);
	diag_release(&s->diag);
	strtab_release(&s->strings);
}

static inline bool same_bytes(const void *a, const void *b, size_t n)
{
	return !n || (a && b && !memcmp(a, b, n)) || (!a && !b);
}

static inline bool same_sample(const struct ahead_side *x, const struct ahead_side *y)
{
	const struct perf_sample *a = &x->it.sample, *b = &y->it.sample;

	return a->ip == b->ip && a->time == b->time && a->period == b->period &&
	       a->count == b->count && a->pid == b->pid && a->tid == b->tid && a->cpu == b->cpu &&
	       a->event == b->event && a->machine_pid == b->machine_pid && a->vcpu == b->vcpu &&
	       a->cpumode == b->cpumode && a->cut == b->cut && a->not_x86_64 == b->not_x86_64 &&
	       a->chain_nr == b->chain_nr && a->chain_stays == b->chain_stays &&
	       !memcmp(&a->hash, &b->hash, sizeof(a->hash)) && a->offset == b->offset &&
	       a->user_abi == b->user_abi && a->user_mask == b->user_mask &&
	       a->stack_size == b->stack_size && a->lbr_nr == b->lbr_nr && a->lbr_to == b->lbr_to &&
	       !strcmp(strtab_get(&x->strings, a->comm), strtab_get(&y->strings, b->comm)) &&
	       same_bytes(a->chain, b->chain, 8 * (size_t)a->chain_nr) &&
	       same_bytes(a->stack, b->stack, a->stack_size) &&
	       same_bytes(a->lbr_from, b->lbr_from, 8 * (size_t)a->lbr_nr) &&
	       (!a->user_abi || same_bytes(a->user_regs, b->user_regs,
					   8 * (size_t)__builtin_popcountll(a->user_mask)));
}

static inline bool same_item(const struct ahead_side *x, const struct ahead_side *y)
{
	const struct perf_item *a = &x->it, *b = &y->it;

	if (a->type != b->type || a->time != b->time)
		return false;
	switch (a->type) {
	case ITEM_SAMPLE: return same_sample(x, y);
	case ITEM_MMAP:
		return a->mmap.pid == b->mmap.pid && a->mmap.addr == b->mmap.addr &&
		       a->mmap.len == b->mmap.len && a->mmap.pgoff == b->mmap.pgoff &&
		       a->mmap.cpumode == b->mmap.cpumode &&
		       !strcmp(a->mmap.filename, b->mmap.filename);
	case ITEM_KSYMBOL:
		return a->ksymbol.addr == b->ksymbol.addr && a->ksymbol.len == b->ksymbol.len &&
		       !strcmp(a->ksymbol.name, b->ksymbol.name);
	default: return a->task.pid == b->task.pid && a->task.ppid == b->task.ppid;
	}
}

static inline bool same_meta(const struct perf_meta *a, const struct perf_meta *b)
{
	size_t i;

	if (a->events.n != b->events.n || a->build_ids.n != b->build_ids.n ||
	    a->first_time != b->first_time || a->last_time != b->last_time || a->lost != b->lost ||
	    a->losses.n != b->losses.n)
		return false;
	for (i = 0; i < a->events.n; i++)
		if (a->events.v[i].samples != b->events.v[i].samples ||
		    strcmp(a->events.v[i].name, b->events.v[i].name) != 0)
			return false;
	for (i = 0; i < a->losses.n; i++)
		if (a->losses.v[i].time != b->losses.v[i].time ||
		    a->losses.v[i].count != b->losses.v[i].count)
			return false;
	return true;
}

static inline bool same_diag(const struct diag *a, const struct diag *b)
{
	size_t i;

	for (i = 0; i < a->entries.n && i < b->entries.n; i++) {
		const struct diag_entry *x = &a->entries.v[i], *y = &b->entries.v[i];

		if (x->kind != y->kind || x->count != y->count ||
		    strcmp(strtab_get(&a->strings, x->subject),
			   strtab_get(&b->strings, y->subject)) != 0)
			return false;
	}
	return a->entries.n == b->entries.n;
}

/* NULL: it does; else what differs. */
static inline const char *perf_ahead_differs(const char *path)
{
	const char *what = NULL;
	struct ahead_side a, b;

	ahead_open(&a, path, 1);
	ahead_open(&b, path, 2);
	if (!a.r || !b.r) {
		what = a.r || b.r ? "what can be opened" : NULL;
		goto out;
	}
	do {
		a.ret = perf_next(a.r, &a.it, &a.err);
		b.ret = perf_next(b.r, &b.it, &b.err);
		if (a.ret != b.ret)
			what = "the number of items";
		else if (a.ret > 0 && !same_item(&a, &b))
			what = "an item";
		/* What is told on the way is told before the same item. */
		else if (!same_diag(&a.diag, &b.diag))
			what = "what is told";
	} while (!what && a.ret > 0);
	if (!what && (strcmp(a.err.msg, b.err.msg) != 0))
		what = "the error";
	if (!what && !same_meta(perf_meta(a.r), perf_meta(b.r)))
		what = "what is told of the recording";
out:
	ahead_close(&a);
	ahead_close(&b);
	return what;
}

#endif
