/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readers of perf/ over bytes in memory, and their samples as text; for tests. */
#ifndef XENFLAME_TEXT_DUMP_H
#define XENFLAME_TEXT_DUMP_H

#include <sys/mman.h>
#include <unistd.h>

#include "perf/perf.h"

enum {
	DUMP_ALL = 1,    /* address, module, space and flags with each frame */
	DUMP_PERIOD = 2, /* the period is the weight */
	DUMP_EVENT = 4,  /* event first */
	DUMP_TASK = 8,   /* pid/tid, cpu, time first */
};

static inline void dump_frame(struct buf *b, struct perf_reader *r, const struct strtab *st, u32 id,
			      int what)
{
	const struct perf_text_frame *f = perf_text_frame(r, id);

	if (f->symbol)
		buf_put(b, strtab_get(st, f->symbol), strtab_len(st, f->symbol));
	else
		buf_puts(b, "[unknown]");
	if (!(what & DUMP_ALL))
		return;
	buf_printf(b, "{%s", space_name(f->space));
	if (f->flags & TEXT_HAS_ADDR)
		buf_printf(b, " %" PRIx64, f->addr);
	if (f->module)
		buf_printf(b, " (%s)", strtab_get(st, f->module));
	if (f->file)
		buf_printf(b, " %s:%u", strtab_get(st, f->file), f->line);
	buf_printf(b, "%s%s%s%s%s%s}", f->flags & TEXT_EXACT ? " exact" : "",
		   f->flags & TEXT_INLINED ? " inlined" : "",
		   f->flags & TEXT_UNKNOWN ? " unknown" : "", f->flags & TEXT_JIT ? " jit" : "",
		   f->flags & TEXT_DOUBTFUL ? " doubtful" : "",
		   f->flags & TEXT_ROOT ? " root" : "");
}

/* One line: "comm;frame;… weight", root first. */
static inline void dump_sample(struct buf *b, struct perf_reader *r, const struct strtab *st,
			       const struct perf_sample *s, int what)
{
	size_t start;
	u32 i;

	if (what & DUMP_EVENT)
		buf_printf(b, "%s;", perf_meta(r)->events.v[s->event].name);
	if (what & DUMP_TASK)
		buf_printf(b, "%d/%d;[%d];%" PRId64 ";", (int)s->pid, (int)s->tid, (int)s->cpu,
			   (s64)s->time);
	start = b->n;
	if (s->comm)
		buf_put(b, strtab_get(st, s->comm), strtab_len(st, s->comm));
	for (i = s->chain_nr; i-- > 0;) {
		if (b->n > start)
			buf_putc(b, ';');
		dump_frame(b, r, st, perf_text_id(r, s->frames[i]), what);
	}
	buf_printf(b, " %" PRIu64 "\n", what & DUMP_PERIOD ? s->period * s->count : s->count);
}

/*
 * For programs: fields with 0x1f between them (event, pid, tid, comm, period * count, then frames,
 * root first), and within a frame with 0x1e (symbol, address, module, space, flags).
 */
static inline void dump_fields(struct buf *b, struct perf_reader *r, const struct strtab *st,
			       const struct perf_sample *s)
{
	u32 i;

	buf_printf(b, "%s\x1f%d\x1f%d\x1f%s\x1f%" PRIu64, perf_meta(r)->events.v[s->event].name,
		   (int)s->pid, (int)s->tid, strtab_get(st, s->comm), s->period * s->count);
	for (i = s->chain_nr; i-- > 0;) {
		const struct perf_text_frame *f = perf_text_frame(r, perf_text_id(r, s->frames[i]));

		buf_printf(b, "\x1f%s\x1e%" PRIx64 "\x1e%s\x1e%s\x1e%d", strtab_get(st, f->symbol),
			   f->addr, strtab_get(st, f->module), space_name(f->space), f->flags);
	}
	buf_putc(b, '\n');
}

/* Sums over a whole input. */
struct dump_sums {
	u64 samples, frames, periods, hv, kernel, exact, inlined, unknown, empty, bad, lost;
};

static inline void dump_add(struct dump_sums *d, struct perf_reader *r, const struct perf_sample *s)
{
	u32 i;

	d->samples += s->count;
	d->periods += s->period * s->count;
	d->frames += s->chain_nr;
	d->empty += !s->chain_nr;
	for (i = 0; i < s->chain_nr; i++) {
		const struct perf_text_frame *f = perf_text_frame(r, perf_text_id(r, s->frames[i]));

		d->hv += f->space == SPACE_HV;
		d->kernel += f->space == SPACE_KERNEL;
		d->exact += (f->flags & TEXT_EXACT) != 0;
		d->inlined += (f->flags & TEXT_INLINED) != 0;
		d->unknown += !f->symbol;
	}
}

struct dump_stack {
	size_t at;
	u32 n, event;
	str_id comm;
};

/* Chains by perf_sample.stack_nr. Starts as zeros. */
struct dump_stacks {
	VEC(u32) chains;
	VEC(struct dump_stack) stacks;
};

/* Gives a sample back the chain that another one has brought; false: they have not the same comm
 * and event, or the number is out of turn. */
static inline bool dump_restore(struct dump_stacks *d, struct perf_sample *s)
{
	const struct dump_stack *k;
	u32 i;

	if (s->stack_nr == PERF_NO_STACK)
		return true;
	if (s->stack_nr > d->stacks.n || (s->soon != PERF_NO_STACK && s->soon > d->stacks.n))
		return false;
	if (s->stack_nr == d->stacks.n) {
		vec_push(&d->stacks,
			 ((struct dump_stack){ d->chains.n, s->chain_nr, s->event, s->comm }));
		for (i = 0; i < s->chain_nr; i++)
			vec_push(&d->chains, s->frames[i]);
		return true;
	}
	k = &d->stacks.v[s->stack_nr];
	if (s->chain_nr || k->event != s->event || k->comm != s->comm)
		return false;
	s->frames = k->n ? d->chains.v + k->at : NULL;
	s->chain_nr = k->n;
	return true;
}

static inline void dump_stacks_release(struct dump_stacks *d)
{
	vec_release(&d->chains);
	vec_release(&d->stacks);
}

/* A file without a name that holds the bytes; its path into `path`. Returns the descriptor. */
static inline int memory_file(const void *p, size_t n, char path[64])
{
	int fd = memfd_create("text", MFD_CLOEXEC);
	ssize_t r;

	if (fd < 0)
		return -1;
	while (n) {
		r = write(fd, p, n);
		if (r <= 0) {
			close(fd);
			return -1;
		}
		p = (const char *)p + r;
		n -= (size_t)r;
	}
	lseek(fd, 0, SEEK_SET);
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

/*
 * Reads the bytes to the end.  The lines of dump_sample() go to `b` and sums to `d` when not NULL.
 * 0, or -1 and why.
 */
static inline int dump_memory(const void *p, size_t n, const struct perf_opts *opts, int what,
			      struct buf *b, struct dump_sums *d, struct diag *diag,
			      struct error *err)
{
	struct dump_stacks stacks = { 0 };
	struct dump_sums none;
	struct perf_reader *r;
	struct perf_item it;
	struct strtab st;
	char path[64];
	int fd = memory_file(p, n, path), ret;

	if (fd < 0)
		return error_errno(err, "no memory file");
	d = d ? d : &none;
	memset(d, 0, sizeof(*d));
	strtab_init(&st);
	r = perf_open(path, opts, &st, diag, err);
	ret = r ? 1 : -1;
	while (ret > 0 && (ret = perf_next(r, &it, err)) > 0) {
		if (it.type != ITEM_SAMPLE)
			continue;
		if (it.sample.text && !dump_restore(&stacks, &it.sample)) {
			ret = error_set(err, "stack %u is not what it was", it.sample.stack_nr);
			break;
		}
		dump_add(d, r, &it.sample);
		if (b)
			dump_sample(b, r, &st, &it.sample, what);
	}
	if (r)
		d->lost = perf_meta(r)->lost;
	d->bad = diag_count(diag, DIAG_BAD_LINE);
	perf_close(r);
	dump_stacks_release(&stacks);
	strtab_release(&st);
	close(fd);
	return ret;
}

/* The same of a text, or "error: " and why; until the next call. How many remarks: `notes`. */
static inline const char *dump_text(const char *text, const char *format, int what, u64 *notes)
{
	static struct buf b;
	struct perf_opts opts = { .format = format, .threads = 1 };
	struct error err = { "" };
	struct diag diag;

	diag_init(&diag);
	buf_clear(&b);
	if (dump_memory(text, strlen(text), &opts, what, &b, NULL, &diag, &err))
		buf_printf(&b, "error: %s\n", err.msg);
	*notes = diag_count(&diag, DIAG_NOTE);
	diag_release(&diag);
	return buf_str(&b);
}

#endif
