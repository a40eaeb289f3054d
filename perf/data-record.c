/* SPDX-License-Identifier: GPL-2.0-or-later */
/* perf.data: bodies of records -> items. */
#include "perf/data.h"

/* ---- what cannot be handed out in place ---- */

static u64 *scratch(struct pd_scratch *s, size_t words)
{
	if (s->cap < words) {
		s->cap = MAX(words, (size_t)1024);
		free(s->p);
		s->p = xreallocarray(NULL, s->cap, 8);
	}
	return s->p;
}

/* u64s of the file in host order, in place where they are. */
static const u64 *u64s(const struct pd *pd, struct pd_scratch *s, const u8 *p, size_t n)
{
	u64 *copy;
	size_t i;

	if (LIKELY(!pd->swap && !((uintptr_t)p & 7)))
		return (const u64 *)(const void *)p;
	copy = scratch(s, n + 1);
	for (i = 0; i < n; i++)
		copy[i] = ld64(p + 8 * i, pd->swap);
	return copy;
}

/* A string field as a NUL-terminated one; `n` bytes are left for it. */
static const char *name(struct pd *pd, const u8 *p, size_t n)
{
	char *copy;

	if (n && memchr(p, 0, n))
		return (const char *)p;
	copy = (char *)scratch(&pd->name_copy, n / 8 + 2);
	if (n)
		memcpy(copy, p, n);
	copy[n] = '\0';
	return copy;
}

/* ---- samples ---- */

struct reader {
	const u8 *p, *end;
	bool swap, bad;
};

static inline u64 get64(struct reader *c)
{
	u64 v;

	if (UNLIKELY(c->end - c->p < 8)) {
		c->bad = true;
		return 0;
	}
	v = ld64(c->p, c->swap);
	c->p += 8;
	return v;
}

static inline u32 get32(struct reader *c)
{
	u32 v;

	if (UNLIKELY(c->end - c->p < 4)) {
		c->bad = true;
		return 0;
	}
	v = ld32(c->p, c->swap);
	c->p += 4;
	return v;
}

/* nr items of `size` bytes; NULL and bad when there are fewer. */
static inline const u8 *get_array(struct reader *c, u64 nr, u32 size)
{
	const u8 *p = c->p;

	if (UNLIKELY(c->bad || nr > (u64)(c->end - c->p) / size)) {
		c->bad = true;
		return NULL;
	}
	c->p += nr * size;
	return p;
}

/* Counter values. For a group with ids, remembers them so that the sample can be split. */
static void read_values(struct pd *pd, struct reader *c, u64 format)
{
	u32 words = 1 + !!(format & PERF_FORMAT_ID) + !!(format & PERF_FORMAT_LOST);
	u64 nr = 1;

	if (format & PERF_FORMAT_GROUP)
		nr = get64(c);
	else
		get64(c);
	if (format & PERF_FORMAT_ENABLED)
		get64(c);
	if (format & PERF_FORMAT_RUNNING)
		get64(c);
	if (!(format & PERF_FORMAT_GROUP)) {
		if (format & PERF_FORMAT_ID)
			get64(c);
		if (format & PERF_FORMAT_LOST)
			get64(c);
		return;
	}
	pd->group.values = get_array(c, nr, 8 * words);
	pd->group.nr = pd->group.values && format & PERF_FORMAT_ID ? nr : 0;
	pd->group.stride = 8 * words;
	pd->group.i = 0;
}

static void lbr(struct pd *pd, struct reader *c, u64 branch_type, struct perf_sample *s)
{
	u64 nr = get64(c), i;
	const u8 *p;
	u64 *from;

	if (branch_type >> 17 & 1) /* HW_INDEX */
		get64(c);
	p = get_array(c, nr, 24);
	if (branch_type >> 19 & 1) /* COUNTERS */
		get_array(c, nr, 8);
	if (c->bad || !nr || !(branch_type >> 11 & 1)) /* CALL_STACK */
		return;
	from = scratch(&pd->lbr_copy, nr);
	for (i = 0; i < nr; i++)
		from[i] = ld64(p + 24 * i, c->swap);
	s->lbr_from = from;
	s->lbr_nr = (u32)nr;
	s->lbr_to = ld64(p + 8, c->swap);
}

static bool decode_sample(struct pd *pd, const struct pd_rec *rec, u32 event,
			  struct perf_item *item)
{
	const struct pd_attr *a = &pd->attrs.v[event];
	struct perf_meta *m = &pd->r->meta;
	struct reader c = { rec->p + 8, rec->p + rec->size, pd->swap, false };
	struct perf_sample *s = &item->sample;
	u64 st = a->sample_type, id = 0, nr;
	const u8 *p;

	item->type = ITEM_SAMPLE;
	item->time = PERF_NO_TIME;
	mem_zero(s, sizeof(*s));
	s->time = PERF_NO_TIME;
	s->count = 1;
	s->pid = PERF_NO_PID;
	s->tid = PERF_NO_PID;
	s->cpu = PERF_NO_CPU;
	s->event = event;
	s->vcpu = PERF_NO_CPU;
	s->cpumode = rec->misc & MISC_CPUMODE;
	s->cut = rec->misc & MISC_CUT;
	s->not_x86_64 = pd->not_x86_64;
	pd->group.nr = 0;
	s->period = m->events.v[event].freq || !m->events.v[event].period
			    ? 1
			    : m->events.v[event].period;
	if (st & PERF_SAMPLE_IDENTIFIER)
		id = get64(&c);
	if (st & PERF_SAMPLE_IP)
		s->ip = get64(&c);
	if (st & PERF_SAMPLE_TID) {
		s->pid = get32(&c);
		s->tid = get32(&c);
	}
	if (st & PERF_SAMPLE_TIME)
		item->time = s->time = get64(&c);
	if (st & PERF_SAMPLE_ADDR)
		get64(&c);
	if (st & PERF_SAMPLE_ID)
		id = get64(&c);
	if (st & PERF_SAMPLE_STREAM_ID)
		get64(&c);
	if (st & PERF_SAMPLE_CPU) {
		s->cpu = get32(&c);
		get32(&c);
	}
	if (st & PERF_SAMPLE_PERIOD)
		s->period = get64(&c);
	if (st & PERF_SAMPLE_READ)
		read_values(pd, &c, a->read_format);
	if (st & PERF_SAMPLE_CALLCHAIN) {
		nr = get64(&c);
		p = get_array(&c, nr, 8);
		if (p) {
			s->chain = u64s(pd, &pd->chain_copy, p, (size_t)nr);
			s->chain_nr = (u32)nr;
		}
	}
	if (st & PERF_SAMPLE_RAW) {
		nr = get32(&c);
		get_array(&c, nr, 1);
	}
	if (st & PERF_SAMPLE_BRANCH_STACK)
		lbr(pd, &c, a->branch_type, s);
	if (st & PERF_SAMPLE_REGS_USER) {
		u64 abi = get64(&c);

		if (abi) {
			nr = (u64)__builtin_popcountll(a->regs_user);
			p = get_array(&c, nr, 8);
			if (p && abi <= 2 && !pd->r->opts.no_stacks) {
				s->user_regs = u64s(pd, &pd->regs_copy, p, (size_t)nr);
				s->user_abi = abi;
				s->user_mask = a->regs_user;
			}
		}
	}
	if (st & PERF_SAMPLE_STACK_USER) {
		nr = get64(&c);
		if (nr) {
			u64 valid;

			p = get_array(&c, nr, 1);
			valid = get64(&c);
			if (p && !c.bad && !pd->r->opts.no_stacks) {
				s->stack = p;
				s->stack_size = MIN(valid, nr);
			}
		}
	}
	if (UNLIKELY(c.bad)) {
		pd->group.nr = 0;
		return false;
	}
	if (pd->has_machines) {
		u32 k = pd_id_find(pd, id);

		if (k != INDEX_NONE) {
			s->machine_pid = pd->ids.v[k].machine_pid;
			s->vcpu = pd->ids.v[k].vcpu;
		}
	}
	s->comm = pd_comm(pd, s->pid, s->tid);
	return true;
}

/* A sample is given to the caller: counts it. */
static void account(struct pd *pd, const struct perf_sample *s)
{
	struct perf_meta *m = &pd->r->meta;

	m->events.v[s->event].samples++;
	if (s->time == PERF_NO_TIME)
		return;
	if (m->first_time == PERF_NO_TIME || s->time < m->first_time)
		m->first_time = s->time;
	if (m->last_time == PERF_NO_TIME || s->time > m->last_time)
		m->last_time = s->time;
}

/* The next member of a group that has counted since its last sample. */
static bool group_next(struct pd *pd, struct perf_item *item)
{
	while (pd->group.i < pd->group.nr) {
		const u8 *v = pd->group.values + pd->group.i++ * pd->group.stride;
		u64 id = ld64(v + 8, pd->swap), delta;
		u32 k = pd_id_find(pd, id);

		if (k == INDEX_NONE) {
			pd->unknown_members++;
			continue;
		}
		delta = pd_count_delta(pd, id, (u32)pd->group.key_tid, ld64(v, pd->swap));
		if (!delta)
			continue;
		*item = pd->group.item;
		item->sample.event = pd->ids.v[k].event;
		item->sample.period = delta;
		account(pd, &item->sample);
		return true;
	}
	pd->group.nr = 0;
	return false;
}

static bool group_known(const struct pd *pd)
{
	u64 i;

	for (i = 0; i < pd->group.nr; i++)
		if (pd_id_find(pd, ld64(pd->group.values + i * pd->group.stride + 8, pd->swap)) !=
		    INDEX_NONE)
			return true;
	return false;
}

static bool give_sample(struct pd *pd, u32 event, struct perf_item *item)
{
	if (pd->group.nr && group_known(pd)) {
		pd->group.item = *item;
		/* Inherited events count by thread. */
		pd->group.key_tid = pd->attrs.v[event].flags >> ATTR_INHERIT & 1 ? item->sample.tid
										 : 0;
		return group_next(pd, item);
	}
	pd->group.nr = 0;
	account(pd, &item->sample);
	return true;
}

/* ---- chains whose user part comes later ---- */

/* Deferred samples are found by their thread: looking through all of them for each user part would
 * take a time that grows with the product of both. */
static bool eq_waiting(const void *ctx, u32 i, const void *key)
{
	return ((const struct pd *)ctx)->waiting.v[i].tid == *(const u32 *)key;
}

static struct pd_waiting *waiting_find(struct pd *pd, u32 tid)
{
	u32 i = index_find(&pd->waiting_index, hash_u64(tid), eq_waiting, pd, &tid);

	return i == INDEX_NONE ? NULL : &pd->waiting.v[i];
}

/* Puts the newest deferred sample behind those of its thread. */
static void waiting_add(struct pd *pd)
{
	u32 i = (u32)pd->deferred.n - 1, tid = pd->deferred.v[i].tid;
	struct pd_waiting *w = waiting_find(pd, tid);

	if (!w) {
		index_add(&pd->waiting_index, hash_u64(tid), (u32)pd->waiting.n);
		vec_push(&pd->waiting, ((struct pd_waiting){ tid, i, i }));
		return;
	}
	if (w->first == UINT32_MAX)
		w->first = i;
	else
		pd->deferred.v[w->last].next = i;
	w->last = i;
}

static void forget_waiting(struct pd *pd)
{
	pd->waiting.n = 0;
	index_clear(&pd->waiting_index);
	pd->deferred_gone = 0;
}

/* Makes room among the deferred: at least a quarter, so that this is not done for each of them. */
static void deferred_room(struct pd *pd)
{
	size_t i, n = pd->deferred.n;

	if (pd->deferred_gone < n / 4) {
		pd_deferred_flush(pd);
		return;
	}
	pd->deferred.n = 0;
	forget_waiting(pd);
	for (i = 0; i < n; i++) {
		if (pd->deferred.v[i].gone)
			continue;
		pd->deferred.v[pd->deferred.n] = pd->deferred.v[i];
		pd->deferred.v[pd->deferred.n++].next = UINT32_MAX;
		waiting_add(pd);
	}
}

/* Keeps a sample for later. False when it is to be given now. */
static bool defer(struct pd *pd, const struct pd_entry *e, const struct perf_sample *s)
{
	if (!pd_chain_is_deferred(s->chain, s->chain_nr) || s->tid == PERF_NO_PID)
		return false;
	if (pd->deferred.n >= PD_MAX_DEFERRED)
		deferred_room(pd);
	vec_push(&pd->deferred, ((struct pd_deferred){
					.e = *e,
					.cookie = s->chain[s->chain_nr - 1],
					.tid = s->tid,
					.next = UINT32_MAX,
				}));
	waiting_add(pd);
	pd_block_ref(pd, e->block);
	return true;
}

static void emit_done(struct pd *pd)
{
	size_t i;

	for (i = 0; i < pd->emit.n; i++)
		pd_block_unref(pd, pd->emit.v[i].e.block);
	pd->emit.n = pd->emit_at = 0;
	if (pd->emit_rec.p)
		pd_block_unref(pd, pd->emit_rec.block);
	pd->emit_rec.p = NULL;
}

void pd_deferred_flush(struct pd *pd)
{
	size_t i;

	for (i = 0; i < pd->deferred.n; i++)
		if (!pd->deferred.v[i].gone)
			vec_push(&pd->emit, pd->deferred.v[i]);
	pd->deferred.n = 0;
	forget_waiting(pd);
}

/* The record with a user part: everything that waited for it may go, and what the same thread still
 * has open. */
static bool deferred_record(struct pd *pd, const struct pd_entry *e, const struct pd_rec *rec)
{
	const struct pd_attr *a = pd_attr_of_other(pd, rec);
	struct pd_waiting *w;
	u32 tid, i;

	if (rec->size < 24 || !a || a->tail_size < 8 || rec->size < 24u + a->tail_size ||
	    !(a->sample_type & PERF_SAMPLE_TID))
		return false;
	/* pid and tid are the first of the trailer. */
	tid = ld32(rec->p + rec->size - a->tail_size + 4, pd->swap);
	w = waiting_find(pd, tid);
	if (!w)
		return true;
	for (i = w->first; i != UINT32_MAX; i = pd->deferred.v[i].next) {
		vec_push(&pd->emit, pd->deferred.v[i]);
		pd->deferred.v[i].gone = true;
		pd->deferred_gone++;
	}
	w->first = UINT32_MAX;
	if (pd->deferred_gone == pd->deferred.n) {
		pd->deferred.n = pd->deferred_gone = 0;
		/* Threads that wait for nothing are few, as a rule. */
		if (pd->waiting.n > 2 * PD_MAX_DEFERRED)
			forget_waiting(pd);
	}
	if (pd->emit.n && !pd->emit_rec.p) {
		pd->emit_rec = *rec;
		pd->emit_rec.p = e->rec; /* `rec` may be a copy */
		pd_block_ref(pd, e->block);
	}
	return true;
}

/* Puts the user part in place of the marker and the cookie. */
static void merge_chain(struct pd *pd, struct perf_sample *s, u64 cookie)
{
	const struct pd_rec *rec = &pd->emit_rec;
	u64 nr, i, *out;
	u32 n = 0, head;

	if (!rec->p || ld64(rec->p + 8, pd->swap) != cookie || s->chain_nr < 2)
		return;
	nr = ld64(rec->p + 16, pd->swap);
	if (nr > (rec->size - 24u) / 8)
		return;
	head = s->chain_nr - 2;
	out = scratch(&pd->merge_copy, head + nr + 1);
	memcpy(out, s->chain, head * sizeof(u64));
	n = head;
	if (nr && ld64(rec->p + 24, pd->swap) != PERF_CONTEXT_USER)
		out[n++] = PERF_CONTEXT_USER;
	for (i = 0; i < nr; i++)
		out[n++] = ld64(rec->p + 24 + 8 * i, pd->swap);
	s->chain = out;
	s->chain_nr = n;
}

/* ---- all records ---- */

static void copy_if_crooked(struct pd *pd, struct pd_rec *rec)
{
	u64 *copy;

	if (LIKELY(!((uintptr_t)rec->p & 7)))
		return;
	copy = scratch(&pd->rec_copy, UINT16_MAX / 8 + 2);
	memcpy(copy, rec->p, rec->size);
	rec->p = (const u8 *)copy;
}

static u64 offset_of(const struct pd *pd, const struct pd_entry *e)
{
	const struct pd_file *f = pd->files.v[e->file];

	return e->block == BLOCK_NONE ? f->base + pd_rec_offset(pd, f, e->rec, BLOCK_NONE) : 0;
}

static void hash_chain(const struct pd *pd, struct perf_sample *s)
{
	if (pd->r->opts.seed && !s->user_abi && !s->lbr_nr)
		s->hash = perf_chain_hash(s->chain, s->chain_nr, pd->r->opts.seed);
}

bool pd_owed(struct pd *pd, struct perf_item *item)
{
	if (pd->group.nr && group_next(pd, item))
		return true;
	while (pd->emit_at < pd->emit.n) {
		struct pd_deferred *d = &pd->emit.v[pd->emit_at++];
		struct pd_rec rec = { .p = d->e.rec, .block = d->e.block };

		pd_rec_header(pd, &rec);
		copy_if_crooked(pd, &rec);
		if (!decode_sample(pd, &rec, d->e.event, item))
			continue;
		item->sample.offset = offset_of(pd, &d->e);
		merge_chain(pd, &item->sample, d->cookie);
		hash_chain(pd, &item->sample);
		if (give_sample(pd, d->e.event, item))
			return true;
	}
	if (pd->emit.n)
		emit_done(pd);
	return false;
}

static bool decode_mmap(struct pd *pd, const struct pd_rec *rec, bool second,
			struct perf_item *item)
{
	struct perf_mmap *mm = &item->mmap;
	const struct pd_attr *a = pd_attr_of_other(pd, rec);
	u32 tail = a ? a->tail_size : 0, fixed = second ? 72 : 40;
	const u8 *p = rec->p;
	bool swap = pd->swap;

	if (rec->size < fixed)
		return false;
	if (rec->misc & MISC_MMAP_DATA)
		return true;
	memset(mm, 0, sizeof(*mm));
	mm->pid = ld32(p + 8, swap);
	mm->tid = ld32(p + 12, swap);
	mm->addr = ld64(p + 16, swap);
	mm->len = ld64(p + 24, swap);
	mm->pgoff = ld64(p + 32, swap);
	mm->cpumode = rec->misc & MISC_CPUMODE;
	if (second && rec->misc & MISC_MMAP_BUILD_ID) {
		mm->build_id_len = MIN(p[40], 20);
		memcpy(mm->build_id, p + 44, mm->build_id_len);
	} else if (second) {
		mm->maj = ld32(p + 40, swap);
		mm->min = ld32(p + 44, swap);
		mm->ino = ld64(p + 48, swap);
	}
	mm->filename = name(pd, p + fixed, rec->size - fixed > tail ? rec->size - fixed - tail : 0);
	item->type = ITEM_MMAP;
	return true;
}

#define NOTHING ((enum perf_item_type) - 1)

bool pd_decode(struct pd *pd, const struct pd_ready *r, struct perf_item *item)
{
	const struct pd_entry *e = &r->e;
	struct pd_rec rec = { .p = e->rec, .block = e->block };
	struct pd_file *f = pd->files.v[e->file];
	bool ok = true, swap = pd->swap, give = false;
	const struct pd_attr *a;
	u32 pid, tid, ppid, ptid, tail;

	pd_rec_header(pd, &rec);
	copy_if_crooked(pd, &rec);
	item->time = e->time && e->time != UINT64_MAX ? e->time : PERF_NO_TIME;
	item->type = NOTHING;
	switch (rec.type) {
	case REC_SAMPLE:
		if (e->event >= pd->attrs.n) {
			pd_bad(pd, f, e->rec, e->block, "sample before any event");
			return false;
		}
		ok = decode_sample(pd, &rec, e->event, item);
		if (!ok)
			break;
		item->sample.offset = offset_of(pd, e);
		item->sample.chain_stays = e->block == BLOCK_NONE && !swap &&
					   !((uintptr_t)e->rec & 7);
		if (r->hashed) {
			/* Then the end of the chain need not be looked at here. */
			item->sample.hash = r->hash;
		} else if (UNLIKELY(defer(pd, e, &item->sample))) {
			pd->group.nr = 0;
			return false;
		} else {
			hash_chain(pd, &item->sample);
		}
		return give_sample(pd, e->event, item);
	case REC_MMAP:
	case REC_MMAP2:
		ok = decode_mmap(pd, &rec, rec.type == REC_MMAP2, item);
		give = item->type != NOTHING;
		break;
	case REC_COMM:
		if (rec.size < 17) {
			ok = false;
			break;
		}
		pid = ld32(rec.p + 8, swap);
		tid = ld32(rec.p + 12, swap);
		a = pd_attr_of_other(pd, &rec);
		tail = a ? a->tail_size : 0;
		pd_comm_set(pd, tid, (const char *)rec.p + 16,
			    strnlen((const char *)rec.p + 16,
				    rec.size > 16 + tail ? rec.size - 16 - tail : 0));
		if (rec.misc & MISC_COMM_EXEC) {
			item->type = ITEM_EXEC;
			item->task.pid = pid;
			item->task.ppid = 0;
			give = true;
		}
		break;
	case REC_FORK:
	case REC_EXIT:
		if (rec.size < 24) {
			ok = false;
			break;
		}
		pid = ld32(rec.p + 8, swap);
		ppid = ld32(rec.p + 12, swap);
		tid = ld32(rec.p + 16, swap);
		ptid = ld32(rec.p + 20, swap);
		item->task.pid = pid;
		item->task.ppid = ppid;
		if (rec.type == REC_EXIT) {
			item->type = ITEM_EXIT;
			give = pd_thread_ended(pd, pid, tid);
			break;
		}
		pd_comm_fork(pd, pid, tid, ppid, ptid);
		pd_thread_started(pd, pid, pid != ppid && pid == tid);
		/* Made by perf itself for what ran before: the mappings follow. */
		item->type = ITEM_FORK;
		give = pid != ppid && !(rec.misc & MISC_FORK_EXEC);
		break;
	case REC_KSYMBOL:
		if (rec.size < 25) {
			ok = false;
			break;
		}
		a = pd_attr_of_other(pd, &rec);
		tail = a ? a->tail_size : 0;
		item->type = ITEM_KSYMBOL;
		item->ksymbol.addr = ld64(rec.p + 8, swap);
		item->ksymbol.len = ld32(rec.p + 16, swap);
		item->ksymbol.ksym_type = ld16(rec.p + 20, swap);
		item->ksymbol.unregister = ld16(rec.p + 22, swap) & 1;
		item->ksymbol.name = name(pd, rec.p + 24,
					  rec.size > 24 + tail ? rec.size - 24 - tail : 0);
		give = true;
		break;
	case REC_CALLCHAIN_DEFERRED: ok = deferred_record(pd, e, &rec); break;
	default: break;
	}
	if (!ok)
		pd_bad(pd, f, e->rec, e->block, "too short for what it should hold");
	return ok && give;
}
