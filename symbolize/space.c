/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Address spaces: sorted disjoint mappings per process, shared after fork until changed. */
#include "symbolize/space.h"
#include "symbolize/symbolize.h"

#define KEEP_EXITED 256

static bool slot_eq(const void *ctx, u32 id, const void *key)
{
	const struct spaces *sp = ctx;

	return sp->slots.v[id].key == *(const u64 *)key;
}

static u64 slot_key(enum mm_class class, u32 pid)
{
	return (u64) class << 32 | pid;
}

static struct mm_slot *slot_find(const struct spaces *sp, u64 key)
{
	u32 id = index_find(&sp->index, hash_u64(key), slot_eq, sp, &key);

	return id == INDEX_NONE ? NULL : &sp->slots.v[id];
}

static struct mm_slot *slot_get(struct spaces *sp, u64 key)
{
	struct mm_slot *s = slot_find(sp, key);

	if (s)
		return s;
	index_add(&sp->index, hash_u64(key), (u32)sp->slots.n);
	vec_push(&sp->slots, ((struct mm_slot){ .key = key }));
	return &sp->slots.v[sp->slots.n - 1];
}

static void mm_changed(struct spaces *sp, struct mm *mm)
{
	mm->gen = sp->next_gen++;
}

static void mm_drop_unwinder(struct spaces *sp, struct mm *mm)
{
	if (mm->unwinder && sp->drop_unwinder)
		sp->drop_unwinder(mm->unwinder);
	mm->unwinder = NULL;
}

static struct mm *mm_new(struct spaces *sp)
{
	struct mm *mm = xcalloc(1, sizeof(*mm));

	mm->refs = 1;
	mm_changed(sp, mm);
	return mm;
}

static void mm_unref(struct spaces *sp, struct mm *mm)
{
	if (!mm || --mm->refs)
		return;
	mm_drop_unwinder(sp, mm);
	sp->held -= mm->maps.n;
	vec_release(&mm->maps);
	free(mm);
}

static struct mm *mm_copy(struct spaces *sp, const struct mm *from)
{
	struct mm *mm = mm_new(sp);

	mm->per_process = from->per_process;
	if (from->maps.n) {
		vec_reserve(&mm->maps, from->maps.n);
		memcpy(mm->maps.v, from->maps.v, from->maps.n * sizeof(*from->maps.v));
		mm->maps.n = from->maps.n;
		sp->held += from->maps.n;
	}
	return mm;
}

size_t mm_lower(const struct mm *mm, u64 addr)
{
	size_t lo = 0, hi = mm->maps.n, mid;

	if (hi && mm->maps.v[hi - 1].end <= addr)
		return hi;
	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (mm->maps.v[mid].end > addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

const struct mapping *mm_find(const struct mm *mm, u64 addr)
{
	size_t i = mm_lower(mm, addr);

	return i < mm->maps.n && mm->maps.v[i].start <= addr ? &mm->maps.v[i] : NULL;
}

/*
 * Cuts [start, end) out of the mappings; returns the number at which a mapping
 * of that range is to be put.
 */
static size_t mm_cut(struct mm *mm, u64 start, u64 end, bool *overlapped)
{
	size_t i = mm_lower(mm, start), j;
	struct mapping *v = mm->maps.v;
	struct mapping tail;

	*overlapped = i < mm->maps.n && v[i].start < end;
	if (!*overlapped)
		return i;
	if (v[i].start < start) {
		if (v[i].end > end) {
			/* split in two */
			tail = v[i];
			tail.pgoff += end - tail.start;
			tail.start = end;
			v[i].end = start;
			vec_reserve(&mm->maps, 1);
			v = mm->maps.v;
			memmove(v + i + 2, v + i + 1, (mm->maps.n - i - 1) * sizeof(*v));
			v[i + 1] = tail;
			mm->maps.n++;
			return i + 1;
		}
		v[i].end = start;
		i++;
	}
	for (j = i; j < mm->maps.n && v[j].end <= end; j++)
		;
	if (j < mm->maps.n && v[j].start < end) {
		v[j].pgoff += end - v[j].start;
		v[j].start = end;
	}
	memmove(v + i, v + j, (mm->maps.n - j) * sizeof(*v));
	mm->maps.n -= j - i;
	return i;
}

static void mm_put(struct mm *mm, size_t at, const struct mapping *m)
{
	struct mapping *v;

	vec_reserve(&mm->maps, 1);
	v = mm->maps.v;
	memmove(v + at + 1, v + at, (mm->maps.n - at) * sizeof(*v));
	v[at] = *m;
	mm->maps.n++;
}

/* Whether exactly this mapping is there already. */
static bool mm_has(const struct mm *mm, const struct mapping *m)
{
	const struct mapping *old = mm_find(mm, m->start);

	return old && old->start == m->start && old->end == m->end && old->pgoff == m->pgoff &&
	       old->module == m->module;
}

void spaces_init(struct spaces *sp)
{
	memset(sp, 0, sizeof(*sp));
	index_init(&sp->index);
	sp->next_gen = 1;
}

void spaces_release(struct spaces *sp)
{
	size_t i;

	for (i = 0; i < sp->slots.n; i++)
		mm_unref(sp, sp->slots.v[i].mm);
	index_release(&sp->index);
	vec_release(&sp->slots);
	vec_release(&sp->exited);
	vec_release(&sp->kernel.maps);
	vec_release(&sp->ksymbols.maps);
}

struct mm *spaces_mm(struct spaces *sp, enum mm_class class, u32 pid)
{
	struct mm_slot *s = slot_find(sp, slot_key(class, pid));

	return s ? s->mm : NULL;
}

/* The process' own mappings, for changing. */
static struct mm *slot_own(struct spaces *sp, struct mm_slot *s)
{
	struct mm *old = s->mm;

	s->exited = false;
	if (!old) {
		s->mm = mm_new(sp);
	} else if (old->refs > 1) {
		s->mm = mm_copy(sp, old);
		old->refs--;
	}
	return s->mm;
}

bool spaces_map(struct spaces *sp, enum mm_class class, u32 pid, const struct mapping *m,
		bool per_process)
{
	struct mm_slot *s = slot_get(sp, slot_key(class, pid));
	struct mm *mm;
	bool overlapped;
	size_t at, before;

	if (s->execed) {
		mm_unref(sp, s->mm);
		s->mm = NULL;
		s->execed = false;
	}
	if (s->mm && mm_has(s->mm, m))
		return true;
	if (s->mm && s->mm->maps.n >= MM_MAX_MAPS)
		return false;
	if (sp->held + (s->mm && s->mm->refs > 1 ? s->mm->maps.n : 0) >= MM_MAX_HELD)
		return false;
	mm = slot_own(sp, s);
	before = mm->maps.n;
	at = mm_cut(mm, m->start, m->end, &overlapped);
	mm_put(mm, at, m);
	sp->held += mm->maps.n - before;
	mm->per_process |= per_process;
	if (overlapped)
		mm_drop_unwinder(sp, mm);
	mm_changed(sp, mm);
	return true;
}

bool spaces_map_kernel(struct spaces *sp, const struct mapping *m)
{
	bool overlapped;

	if (mm_has(&sp->kernel, m))
		return true;
	if (sp->kernel.maps.n >= MM_MAX_MAPS)
		return false;
	mm_put(&sp->kernel, mm_cut(&sp->kernel, m->start, m->end, &overlapped), m);
	sp->kernel_gen++;
	return true;
}

bool spaces_ksymbol(struct spaces *sp, u64 addr, u64 len, u32 name, bool unregister)
{
	struct mapping m = { .start = addr, .end = addr + len, .pgoff = 0, .module = name };
	bool overlapped;
	size_t at;

	if (m.end <= addr)
		m.end = len ? UINT64_MAX : addr + 1;
	if (!unregister && mm_has(&sp->ksymbols, &m))
		return true;
	if (!unregister && sp->ksymbols.maps.n >= MM_MAX_MAPS)
		return false;
	at = mm_cut(&sp->ksymbols, m.start, m.end, &overlapped);
	if (!unregister)
		mm_put(&sp->ksymbols, at, &m);
	else if (!overlapped)
		return true;
	sp->kernel_gen++;
	return true;
}

bool spaces_fork(struct spaces *sp, u32 pid, u32 ppid)
{
	struct mm *parent = spaces_mm(sp, MM_HOST, ppid), *old;
	struct mm_slot *s;
	bool room = true;

	if (pid == ppid)
		return true;
	s = slot_get(sp, slot_key(MM_HOST, pid));
	old = s->mm;
	s->exited = s->execed = false;
	if (parent && parent->per_process)
		room = sp->held + parent->maps.n <= MM_MAX_HELD;
	if (!parent || !room) {
		s->mm = NULL;
	} else if (parent->per_process) {
		s->mm = mm_copy(sp, parent);
	} else {
		s->mm = parent;
		parent->refs++;
	}
	mm_unref(sp, old);
	return room;
}

/*
 * The record comes while execve() still runs: until the new program has a mapping, user addresses
 * are those that called execve(), in the old one.
 */
void spaces_exec(struct spaces *sp, u32 pid)
{
	struct mm_slot *s = slot_get(sp, slot_key(MM_HOST, pid));

	/* Of a process that was not known before, all mappings to come are known now. */
	if (!s->mm)
		s->mm = mm_new(sp);
	s->execed = true;
	s->exited = false;
}

void spaces_exit(struct spaces *sp, u32 pid)
{
	struct mm_slot *s = slot_find(sp, slot_key(MM_HOST, pid));

	if (!s || !s->mm || s->exited)
		return;
	s->exited = true;
	vec_push(&sp->exited, (u32)(s - sp->slots.v));
	if (sp->exited.n - sp->exited_head <= KEEP_EXITED)
		return;
	s = &sp->slots.v[sp->exited.v[sp->exited_head++]];
	/* The pid may have been taken by a new process since. */
	if (s->exited) {
		mm_unref(sp, s->mm);
		s->mm = NULL;
		s->exited = false;
	}
	if (sp->exited_head == KEEP_EXITED) {
		sp->exited.n -= sp->exited_head;
		memmove(sp->exited.v, sp->exited.v + sp->exited_head,
			sp->exited.n * sizeof(*sp->exited.v));
		sp->exited_head = 0;
	}
}

u64 spaces_generation(const struct spaces *sp, u32 pid)
{
	const struct mm_slot *s = pid == SYM_KERNEL_PID ? NULL
							: slot_find(sp, slot_key(MM_HOST, pid));

	return (u64)sp->kernel_gen << 32 | (s && s->mm ? s->mm->gen : 0);
}
