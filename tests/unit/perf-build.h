/* SPDX-License-Identifier: GPL-2.0-or-later */
/* perf.data files made by hand, in either byte order, and what the reader makes of them. */
#ifndef XENFLAME_PERF_BUILD_H
#define XENFLAME_PERF_BUILD_H

#include <unistd.h>

#include "perf/perf.h"
#include "tests/unit/perf-ahead.h"
#include "tests/unit/tap.h"

/* sample_type */
enum {
	S_IP = 1 << 0,
	S_TID = 1 << 1,
	S_TIME = 1 << 2,
	S_ADDR = 1 << 3,
	S_READ = 1 << 4,
	S_CHAIN = 1 << 5,
	S_ID = 1 << 6,
	S_CPU = 1 << 7,
	S_PERIOD = 1 << 8,
	S_STREAM = 1 << 9,
	S_RAW = 1 << 10,
	S_BRANCH = 1 << 11,
	S_REGS = 1 << 12,
	S_STACK = 1 << 13,
	S_WEIGHT = 1 << 14,
	S_DATA_SRC = 1 << 15,
	S_IDENTIFIER = 1 << 16,
	S_TRANSACTION = 1 << 17,
	S_REGS_INTR = 1 << 18,
	S_PHYS = 1 << 19,
	S_CGROUP = 1 << 21,
};

#define FLAG_FREQ    ((u64)1 << 10)
#define FLAG_ID_ALL  ((u64)1 << 18)
#define FLAG_INHERIT ((u64)1 << 1)

struct attr_spec {
	u32 type;
	u64 config, period, sample_type, read_format, flags, branch_type, regs_user;
	u32 size; /* 0: 128 */
	u64 ids[4];
	u32 nids;
};

struct build {
	struct buf data; /* records */
	struct attr_spec attrs[8];
	u32 nattrs;
	bool big, v1, pipe;
	struct buf feat[64]; /* by feature number */
	size_t rec;          /* start of the record that is being made */
};

static inline void b_int(const struct build *b, struct buf *to, u64 v, int n)
{
	int i;

	for (i = 0; i < n; i++)
		buf_putc(to, (char)(v >> 8 * (b->big ? n - 1 - i : i)));
}

static inline void b8(struct build *b, u64 v)
{
	b_int(b, &b->data, v, 1);
}

static inline void b16(struct build *b, u64 v)
{
	b_int(b, &b->data, v, 2);
}

static inline void b32(struct build *b, u64 v)
{
	b_int(b, &b->data, v, 4);
}

static inline void b64(struct build *b, u64 v)
{
	b_int(b, &b->data, v, 8);
}

static inline void b_name(struct build *b, const char *s)
{
	buf_puts(&b->data, s);
	do {
		buf_putc(&b->data, 0);
	} while (b->data.n % 8);
}

static inline void rec_begin(struct build *b, u32 type, u16 misc)
{
	b->rec = b->data.n;
	b32(b, type);
	b16(b, misc);
	b16(b, 0);
}

static inline void rec_size(struct build *b, size_t n)
{
	b->data.p[b->rec + 6] = (char)(b->big ? n >> 8 : n);
	b->data.p[b->rec + 7] = (char)(b->big ? n : n >> 8);
}

static inline void rec_end(struct build *b)
{
	rec_size(b, b->data.n - b->rec);
}

/* The trailer of records that are no samples, as attr `a` wants it. */
static inline void rec_tail(struct build *b, u32 a, u32 pid, u32 tid, u64 time, u64 id)
{
	u64 st = b->attrs[a].sample_type;

	if (b->attrs[a].flags & FLAG_ID_ALL) {
		if (st & S_TID) {
			b32(b, pid);
			b32(b, tid);
		}
		if (st & S_TIME)
			b64(b, time);
		if (st & S_ID)
			b64(b, id);
		if (st & S_STREAM)
			b64(b, 99);
		if (st & S_CPU)
			b64(b, 0);
		if (st & S_IDENTIFIER)
			b64(b, id);
	}
	rec_end(b);
}

static inline void rec_comm(struct build *b, u32 pid, u32 tid, const char *name, u64 time,
			    bool exec)
{
	rec_begin(b, 3, exec ? 0x2000 : 0);
	b32(b, pid);
	b32(b, tid);
	b_name(b, name);
	rec_tail(b, 0, pid, tid, time, b->attrs[0].ids[0]);
}

/* type 7 fork, 4 exit */
static inline void rec_task(struct build *b, u32 type, u16 misc, u32 pid, u32 ppid, u32 tid,
			    u32 ptid, u64 time)
{
	rec_begin(b, type, misc);
	b32(b, pid);
	b32(b, ppid);
	b32(b, tid);
	b32(b, ptid);
	b64(b, time);
	rec_tail(b, 0, pid, tid, time, b->attrs[0].ids[0]);
}

static inline void rec_mmap(struct build *b, u16 misc, u32 pid, u64 addr, u64 len, u64 pgoff,
			    const char *name, u64 time)
{
	rec_begin(b, 1, misc);
	b32(b, pid);
	b32(b, pid);
	b64(b, addr);
	b64(b, len);
	b64(b, pgoff);
	b_name(b, name);
	rec_tail(b, 0, pid, pid, time, b->attrs[0].ids[0]);
}

/* IP TID TIME PERIOD CHAIN, and IDENTIFIER or ID when the attr has it. */
static inline void rec_sample(struct build *b, u32 a, u16 misc, u64 ip, u32 pid, u32 tid, u64 time,
			      u64 id, u64 period, const u64 *chain, u32 n)
{
	u64 st = b->attrs[a].sample_type;
	u32 i;

	rec_begin(b, 9, misc);
	if (st & S_IDENTIFIER)
		b64(b, id);
	if (st & S_IP)
		b64(b, ip);
	if (st & S_TID) {
		b32(b, pid);
		b32(b, tid);
	}
	if (st & S_TIME)
		b64(b, time);
	if (st & S_ADDR)
		b64(b, 0xadd);
	if (st & S_ID)
		b64(b, id);
	if (st & S_CPU) {
		b32(b, 3);
		b32(b, 0);
	}
	if (st & S_PERIOD)
		b64(b, period);
	if (st & S_CHAIN) {
		b64(b, n);
		for (i = 0; i < n; i++)
			b64(b, chain[i]);
	}
	rec_end(b);
}

static inline u64 b_flags(const struct build *b, u64 flags)
{
	u64 r = 0;
	int i;

	if (!b->big)
		return flags;
	for (i = 0; i < 64; i++)
		r |= (flags >> i & 1) << (63 - i);
	return r;
}

static inline void put_attr(const struct build *b, struct buf *o, const struct attr_spec *a)
{
	u32 size = a->size ? a->size : 128;
	size_t start = o->n;

	b_int(b, o, a->type, 4);
	b_int(b, o, size, 4);
	b_int(b, o, a->config, 8);
	b_int(b, o, a->period, 8);
	b_int(b, o, a->sample_type, 8);
	b_int(b, o, a->read_format, 8);
	b_int(b, o, b_flags(b, a->flags), 8);
	while (o->n - start < MIN(size, 72))
		buf_putc(o, 0);
	if (size > 72)
		b_int(b, o, a->branch_type, 8);
	if (size > 80)
		b_int(b, o, a->regs_user, 8);
	while (o->n - start < size)
		buf_putc(o, (char)0x5a); /* what is newer than the reader knows */
}

/* The whole file. */
static inline void build_file(const struct build *b, struct buf *o)
{
	u64 bits = 0, stride = (b->attrs[0].size ? b->attrs[0].size : 128) + 16, ids = 104, at,
	    data, k = 0;
	u32 i, j;

	buf_clear(o);
	buf_puts(o, b->v1 ? "PERFFILE" : b->big ? "2ELIFREP" : "PERFILE2");
	if (b->pipe) {
		b_int(b, o, 16, 8);
		for (i = 0; i < b->nattrs; i++) {
			u32 size = b->attrs[i].size ? b->attrs[i].size : 128;

			b_int(b, o, 64, 4);
			b_int(b, o, 0, 2);
			b_int(b, o, 8 + size + 8 * b->attrs[i].nids, 2);
			put_attr(b, o, &b->attrs[i]);
			for (j = 0; j < b->attrs[i].nids; j++)
				b_int(b, o, b->attrs[i].ids[j], 8);
		}
		for (i = 0; i < 64; i++) {
			if (!b->feat[i].n)
				continue;
			b_int(b, o, 80, 4);
			b_int(b, o, 0, 2);
			b_int(b, o, 16 + b->feat[i].n, 2);
			b_int(b, o, i, 8);
			buf_put(o, b->feat[i].p, b->feat[i].n);
		}
		if (b->data.n)
			buf_put(o, b->data.p, b->data.n);
		return;
	}
	for (i = 0; i < b->nattrs; i++)
		k += b->attrs[i].nids;
	at = ids + 8 * k;
	data = at + stride * b->nattrs;
	for (i = 0; i < 64; i++)
		bits |= (u64)(b->feat[i].n != 0) << i;
	b_int(b, o, 104, 8);
	b_int(b, o, stride, 8);
	b_int(b, o, at, 8);
	b_int(b, o, stride * b->nattrs, 8);
	b_int(b, o, data, 8);
	b_int(b, o, b->data.n, 8);
	b_int(b, o, 0, 8);
	b_int(b, o, 0, 8);
	b_int(b, o, bits, 8);
	for (i = 0; i < 3; i++)
		b_int(b, o, 0, 8);
	for (i = 0; i < b->nattrs; i++)
		for (j = 0; j < b->attrs[i].nids; j++)
			b_int(b, o, b->attrs[i].ids[j], 8);
	for (i = 0, k = 0; i < b->nattrs; i++) {
		put_attr(b, o, &b->attrs[i]);
		b_int(b, o, ids + 8 * k, 8);
		b_int(b, o, 8 * b->attrs[i].nids, 8);
		k += b->attrs[i].nids;
	}
	if (b->data.n)
		buf_put(o, b->data.p, b->data.n);
	at = data + b->data.n + 16 * (u64)__builtin_popcountll(bits);
	for (i = 0; i < 64; i++) {
		if (!b->feat[i].n)
			continue;
		b_int(b, o, at, 8);
		b_int(b, o, b->feat[i].n, 8);
		at += b->feat[i].n;
	}
	for (i = 0; i < 64; i++)
		if (b->feat[i].n)
			buf_put(o, b->feat[i].p, b->feat[i].n);
}

static inline void feat_string(struct build *b, u32 id, const char *s)
{
	struct buf *f = &b->feat[id];

	b_int(b, f, 64, 4);
	buf_printf(f, "%-.63s", s);
	while (f->n % 68)
		buf_putc(f, 0);
}

static inline void build_release(struct build *b)
{
	u32 i;

	buf_release(&b->data);
	for (i = 0; i < 64; i++)
		buf_release(&b->feat[i]);
	memset(b, 0, sizeof(*b));
}

/* ---- reading ---- */

struct got {
	struct perf_item it;
	char *name; /* comm, file name, symbol */
	u64 *chain, *regs, *lbr;
	u8 *stack;
};

struct result {
	VEC(struct got) v;
	struct strtab strings;
	struct diag diag;
	struct perf_reader *r;
	struct error err;
	int ret; /* of the last perf_next(), or -2: not opened */
	u32 samples;
	bool quiet; /* items are only counted */
};

static inline void *mem_dup(const void *p, size_t n)
{
	void *q = xmalloc(n + 1);

	if (n)
		memcpy(q, p, n);
	return q;
}

static inline void result_open(struct result *res, const char *path)
{
	struct perf_item it;
	bool quiet = res->quiet;

	memset(res, 0, sizeof(*res));
	res->quiet = quiet;
	strtab_init(&res->strings);
	diag_init(&res->diag);
	res->ret = -2;
	res->r = perf_open(path, NULL, &res->strings, &res->diag, &res->err);
	if (!res->r)
		return;
	while ((res->ret = perf_next(res->r, &it, &res->err)) > 0) {
		struct got g = { .it = it };

		res->samples += it.type == ITEM_SAMPLE;
		if (res->quiet)
			continue;
		switch (it.type) {
		case ITEM_SAMPLE:
			g.name = xstrdup(strtab_get(&res->strings, it.sample.comm));
			g.chain = mem_dup(it.sample.chain, it.sample.chain_nr * sizeof(u64));
			g.regs = mem_dup(it.sample.user_regs,
					 it.sample.user_regs ? 8 * (size_t)__builtin_popcountll(
									   it.sample.user_mask)
							     : 0);
			g.lbr = mem_dup(it.sample.lbr_from, it.sample.lbr_nr * sizeof(u64));
			g.stack = mem_dup(it.sample.stack, it.sample.stack_size);
			break;
		case ITEM_MMAP: g.name = xstrdup(it.mmap.filename); break;
		case ITEM_KSYMBOL: g.name = xstrdup(it.ksymbol.name); break;
		default: break;
		}
		vec_push(&res->v, g);
	}
}

/* Reads bytes as a file; with `as_pipe` as a stream. */
static inline void result_read(struct result *res, const struct buf *bytes, bool as_pipe)
{
	char path[] = "perf-test-XXXXXX";
	int fd = mkstemp(path), fds[2], saved;
	const char *differs;
	size_t done = 0;

	if (fd < 0)
		abort();
	while (done < bytes->n) {
		ssize_t r = write(fd, bytes->p + done, bytes->n - done);

		if (r <= 0)
			abort();
		done += (size_t)r;
	}
	if (!as_pipe) {
		close(fd);
		result_open(res, path);
		differs = perf_ahead_differs(path);
		STR_EQ(differs ? differs : "nothing", "nothing");
	} else {
		/* Tests of streams are small enough for a pipe's buffer. */
		if (pipe(fds) || write(fds[1], bytes->p, bytes->n) != (ssize_t)bytes->n)
			abort();
		close(fds[1]);
		close(fd);
		saved = dup2(STDIN_FILENO, 200);
		dup2(fds[0], STDIN_FILENO);
		close(fds[0]);
		result_open(res, "-");
		dup2(saved, STDIN_FILENO);
		close(saved);
	}
	unlink(path);
}

static inline void result_build(struct result *res, const struct build *b)
{
	struct buf o = BUF_INIT;

	build_file(b, &o);
	result_read(res, &o, false);
	buf_release(&o);
}

static inline void result_release(struct result *res)
{
	size_t i;

	for (i = 0; i < res->v.n; i++) {
		free(res->v.v[i].name);
		free(res->v.v[i].chain);
		free(res->v.v[i].regs);
		free(res->v.v[i].lbr);
		free(res->v.v[i].stack);
	}
	vec_release(&res->v);
	perf_close(res->r);
	diag_release(&res->diag);
	strtab_release(&res->strings);
	res->r = NULL;
}

#endif
