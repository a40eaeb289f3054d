/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf.data: from files to whole records.  A mapped file's records stay where
 * they are; a stream's and unpacked ones lie in blocks, which live as long as
 * a queued record is in them.
 */
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#include "perf/data.h"

#define DROP_EVERY   ((u64)8 << 20)
#define TYPE_LIMIT   0x00ffffffu /* no record type is as large: the bytes are something else */
#define SPARE_BLOCKS 4
#define PREFETCH     2048u /* bytes ahead */

/* ---- blocks ---- */

static u32 block_new(struct pd *pd, size_t cap)
{
	struct pd_block *b;
	u32 id;

	if (pd->free_blocks.n) {
		id = pd->free_blocks.v[--pd->free_blocks.n];
	} else {
		id = (u32)pd->blocks.n;
		vec_push(&pd->blocks, ((struct pd_block){ .p = NULL }));
	}
	b = &pd->blocks.v[id];
	if (b->cap < cap) {
		free(b->p);
		b->p = xmalloc(cap);
		b->cap = cap;
	}
	b->n = 0;
	b->refs = 1;
	pd->held += b->cap;
	return id;
}

void pd_block_ref(struct pd *pd, u32 block)
{
	if (block != BLOCK_NONE)
		pd->blocks.v[block].refs++;
}

void pd_block_unref(struct pd *pd, u32 block)
{
	struct pd_block *b;

	if (block == BLOCK_NONE)
		return;
	b = &pd->blocks.v[block];
	if (--b->refs)
		return;
	pd->held -= b->cap;
	if (pd->free_blocks.n >= SPARE_BLOCKS || b->cap > PD_BLOCK) {
		free(b->p);
		b->p = NULL;
		b->cap = 0;
	}
	vec_push(&pd->free_blocks, block);
}

/* Makes the stream's block one with room for `need` bytes from the current record on. */
static struct pd_block *stream_room(struct pd *pd, struct pd_stream *s, size_t need)
{
	u32 old = s->block, id;
	size_t rest = 0;
	u64 pos = 0;

	if (old != BLOCK_NONE) {
		struct pd_block *b = &pd->blocks.v[old];

		rest = b->n - s->at;
		pos = b->pos + s->at;
		if (b->cap - s->at >= need && b->n < b->cap)
			return b;
	}
	need = MAX(need, rest + 1);
	id = block_new(pd, MAX(PD_BLOCK, need));
	if (rest)
		memcpy(pd->blocks.v[id].p, pd->blocks.v[old].p + s->at, rest);
	pd->blocks.v[id].n = rest;
	pd->blocks.v[id].pos = pos;
	pd_block_unref(pd, old);
	s->block = id;
	s->at = 0;
	return &pd->blocks.v[id];
}

static size_t stream_left(const struct pd *pd, const struct pd_stream *s)
{
	return s->block == BLOCK_NONE ? 0 : pd->blocks.v[s->block].n - s->at;
}

static const u8 *stream_p(const struct pd *pd, const struct pd_stream *s)
{
	return pd->blocks.v[s->block].p + s->at;
}

/* Whether the range has become large enough to be given back. */
static bool range_add(struct pd_range *r, u64 low, u64 high, u64 bytes)
{
	r->low = MIN(r->low, low);
	r->high = MAX(r->high, high);
	r->touched += bytes;
	return r->touched >= DROP_EVERY;
}

static const struct pd_range no_range = { .low = UINT64_MAX };

void pd_file_given(struct pd_file *f, u64 low, u64 high, u64 bytes)
{
	if (!range_add(&f->given, low, high, bytes))
		return;
	input_drop_range(f->in, f->given.low, f->given.high);
	f->given = no_range;
}

/* What is found is still to be given: that which was found before it is dropped. */
static void found(struct pd_file *f, u64 offset, u64 n)
{
	if (!range_add(&f->found, offset, offset + n, n))
		return;
	input_drop_range(f->in, f->found_before.low, f->found_before.high);
	f->found_before = f->found;
	f->found = no_range;
}

/* ---- raw records ---- */

/* Gets at least n bytes, or all there are, of a stream. */
static size_t raw_fill(struct pd *pd, struct pd_file *f, size_t n)
{
	struct error err = { "" };
	size_t left;
	ssize_t r;

	while ((left = stream_left(pd, &f->raw)) < n) {
		struct pd_block *b = stream_room(pd, &f->raw, n);

		r = input_read(f->in, b->p + b->n, b->cap - b->n, &err);
		if (r < 0)
			diag_add(pd->r->diag, DIAG_DAMAGED, 1, err.msg);
		if (r <= 0)
			break;
		b->n += (size_t)r;
	}
	return left;
}

static bool is_text(const u8 *p, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if ((p[i] < 0x20 && p[i] != '\n' && p[i] != '\r' && p[i] != '\t') || p[i] > 0x7e)
			return false;
	return n > 0;
}

/* The rest of a file is no record: says what it is, and how much. */
static void rest_is_lost(struct pd *pd, struct pd_file *f, const u8 *p, u64 n, u64 offset)
{
	u64 more = 0;

	f->at_end = true;
	if (!f->in->map) {
		u8 sink[4096];
		ssize_t r;

		while ((r = input_read(f->in, sink, sizeof(sink), NULL)) > 0)
			more += (u64)r;
	}
	if (!more && !f->missing && is_text(p, (size_t)MIN(n, (u64)65536)))
		diag_note(pd->r->diag, "'%s': %n byte{|s} of text behind the records left out", n,
			  input_name(f->in));
	else if (n + more + f->missing)
		diag_addf(pd->r->diag, DIAG_TRUNCATED, n + more + f->missing,
			  "'%s': no whole record at offset 0x%" PRIx64, input_name(f->in), offset);
	f->missing = 0;
}

static u64 align8(u64 v)
{
	return (v + 7) & ~(u64)7;
}

static bool plausible(const struct pd *pd, const u8 *p, u64 left)
{
	struct pd_rec rec = { .p = p };

	if (!left)
		return true;
	if (left < 8)
		return false;
	pd_rec_header(pd, &rec);
	if (rec.type == REC_COMPRESSED2)
		return left >= 16;
	return rec.size >= 8 && rec.type && rec.type <= TYPE_LIMIT && rec.size <= left;
}

/* A whole record of the file itself; `*total` is how far to go on, which for overflowed ones is
 * more than its size. */
static int raw_next(struct pd *pd, struct pd_file *f, struct pd_rec *rec, u64 *total)
{
	bool mapped = f->in->map != NULL;
	u64 left, offset, data;

	while (f->skip) {
		u64 k = raw_fill(pd, f, 1);

		k = MIN(k, f->skip);
		f->raw.at += (size_t)k;
		f->skip -= k;
		if (!k) {
			diag_addf(pd->r->diag, DIAG_TRUNCATED, f->skip, "'%s'", input_name(f->in));
			f->at_end = true;
			return 0;
		}
	}
	if (mapped) {
		left = f->end - f->pos;
		rec->p = f->in->map + f->pos;
		rec->block = BLOCK_NONE;
		offset = f->pos;
	} else {
		left = raw_fill(pd, f, 8);
		if (!left) {
			f->at_end = true;
			return 0;
		}
		rec->p = stream_p(pd, &f->raw);
		rec->block = f->raw.block;
		offset = pd_rec_offset(pd, f, rec->p, rec->block);
	}
	if (left < 8) {
		rest_is_lost(pd, f, rec->p, left, offset);
		return 0;
	}
	pd_rec_header(pd, rec);
	*total = rec->size;
	if (rec->type == REC_COMPRESSED2) {
		if (!mapped) {
			left = raw_fill(pd, f, 16);
			rec->p = stream_p(pd, &f->raw);
		}
		data = left >= 16 ? ld64(rec->p + 8, pd->swap) : 0;
		/* perf 6.16 stored larger sizes in 16 bits, 64 KiB as 0: then only data_size tells.
		 */
		if (data <= (mapped ? left : PD_MAX_OVERFLOW) && align8(16 + data) > rec->size)
			*total = 16 + data;
	}
	if (*total < 8 || !rec->type || rec->type > TYPE_LIMIT) {
		rest_is_lost(pd, f, rec->p, left, offset);
		return 0;
	}
	if (!mapped) {
		left = raw_fill(pd, f, (size_t)*total + (*total > rec->size ? 16 : 0));
		rec->p = stream_p(pd, &f->raw);
		rec->block = f->raw.block;
	}
	if (*total > left) {
		rest_is_lost(pd, f, rec->p, left, offset);
		return 0;
	}
	if (*total > rec->size && !plausible(pd, rec->p + *total, left - *total)) {
		u64 padded = align8(*total);

		/* perf does not pad such a record; another writer may. */
		if (padded <= left && plausible(pd, rec->p + padded, left - padded))
			*total = padded;
	}
	return 1;
}

/*
 * The head of each record is all that is read of it at first, and where the next one is stands in
 * it: the processor would wait for memory at each of them.  All of it is read in the end.
 */
static void prefetch(const struct pd_file *f, u64 n)
{
	u64 at = f->pos + PREFETCH, end = MIN(at + n, f->end);

	if (n <= 4096)
		for (; at < end; at += 64)
			__builtin_prefetch(f->in->map + at);
}

static void raw_advance(struct pd_file *f, u64 n)
{
	if (f->in->map) {
		n = MIN(n, f->end - f->pos);
		prefetch(f, n);
		found(f, f->pos, MIN(n, (u64)4096));
		f->pos += n;
	} else {
		f->raw.at += (size_t)n;
	}
}

/* Bytes that follow a record without being part of it. */
static void raw_pass(struct pd *pd, struct pd_file *f, u64 n)
{
	if (!f->in->map) {
		f->skip = n;
		return;
	}
	if (n > f->end - f->pos) {
		diag_addf(pd->r->diag, DIAG_TRUNCATED, n - (f->end - f->pos), "'%s'",
			  input_name(f->in));
		n = f->end - f->pos;
	}
	f->pos += n;
}

/* ---- compressed records ---- */

#ifdef HAVE_ZSTD
struct zstd_state {
	ZSTD_DStream *d;
};

/*
 * What an overflowed record covers is a first piece without, and further ones
 * with a record header of their own. They must end exactly at the end.
 */
static const u8 *overflow_pieces(const struct pd *pd, const u8 *p, const u8 *end)
{
	const u8 *q = p, *c;
	u32 budget = 1u << 20;
	struct pd_rec rec;

	while (end - q >= 16) {
		q = memchr(q, pd->big ? 0 : REC_COMPRESSED2, (size_t)(end - q - 15));
		if (!q)
			break;
		for (c = q; end - c >= 16 && budget; c += rec.size) {
			budget--;
			rec.p = c;
			pd_rec_header(pd, &rec);
			if (rec.type != REC_COMPRESSED2 || rec.misc || rec.size < 16 ||
			    rec.size > end - c)
				break;
		}
		if (c == end)
			return q;
		q++;
	}
	return end;
}

static void zstd_begin(struct pd *pd, struct pd_file *f, const struct pd_rec *rec, u64 total)
{
	const u8 *p = rec->p + 8, *end = rec->p + MIN(total, (u64)rec->size);
	u64 data;

	if (f->zbroken) {
		pd_bad(pd, f, rec->p, rec->block, "compressed record behind a damaged one");
		return;
	}
	if (rec->type == REC_COMPRESSED2) {
		if (total < 16) {
			pd_bad(pd, f, rec->p, rec->block, "compressed record without size");
			return;
		}
		data = ld64(rec->p + 8, pd->swap);
		p = rec->p + 16;
		end = p + MIN(data, total - 16);
	}
	f->zin = p;
	f->zin_n = (size_t)(end - p);
	f->znext = f->zend = end;
	if (f->zin_n > UINT16_MAX - 16) {
		f->znext = overflow_pieces(pd, p, end);
		f->zin_n = (size_t)(f->znext - p);
	}
}

static bool zstd_pending(const struct pd_file *f)
{
	return f->zin_n || f->zfull || f->znext < f->zend;
}

static void zstd_stop(struct pd *pd, struct pd_file *f, const char *why)
{
	pd_bad(pd, f, f->in->map ? f->in->map + f->pos : stream_p(pd, &f->raw),
	       f->in->map ? BLOCK_NONE : f->raw.block, why);
	f->zbroken = true;
}

/* Unpacks until the block is full or the piece is used up. */
static void zstd_more(struct pd *pd, struct pd_file *f)
{
	struct pd_block *b;
	ZSTD_outBuffer out;
	ZSTD_inBuffer in;
	size_t r;

	if (!f->zin_n && !f->zfull && !f->zbroken) {
		struct pd_rec rec = { .p = f->znext };

		pd_rec_header(pd, &rec);
		f->zin = f->znext + 16;
		f->zin_n = rec.size - 16;
		f->znext += rec.size;
	}
	if (!f->zstd) {
		f->zstd = xcalloc(1, sizeof(*f->zstd));
		f->zstd->d = ZSTD_createDStream();
	}
	if (!f->zstd->d && !f->zbroken)
		zstd_stop(pd, f, "cannot start unpacking");
	if (f->zbroken) {
		f->zin_n = 0;
		f->zfull = false;
		f->znext = f->zend;
		return;
	}
	b = stream_room(pd, &f->unpacked, 1);
	out = (ZSTD_outBuffer){ b->p, b->cap, b->n };
	in = (ZSTD_inBuffer){ f->zin, f->zin_n, 0 };
	r = ZSTD_decompressStream(f->zstd->d, &out, &in);
	if (ZSTD_isError(r)) {
		zstd_stop(pd, f, "compressed data damaged");
		return;
	}
	f->zin_total += in.pos;
	f->zout_total += out.pos - b->n;
	if (!in.pos && out.pos == b->n)
		f->zin_n = 0; /* no progress: nothing to be had from this piece */
	b->n = out.pos;
	f->zfull = out.pos == out.size;
	f->zin += in.pos;
	f->zin_n -= MIN(f->zin_n, in.pos);
	if (f->zout_total > PD_FREE_UNPACK + f->zin_total * PD_MAX_RATIO)
		zstd_stop(pd, f, "compressed data grow more than 1024 times");
}

static void zstd_free(struct pd_file *f)
{
	if (f->zstd)
		ZSTD_freeDStream(f->zstd->d);
	free(f->zstd);
}
#endif

/* 1: a whole unpacked record, 0: more must be unpacked first. */
static int unpacked_next(struct pd *pd, struct pd_file *f, struct pd_rec *rec)
{
	struct pd_stream *s = &f->unpacked;
	size_t left = stream_left(pd, s);

	if (left < 8)
		return 0;
	rec->p = stream_p(pd, s);
	rec->block = s->block;
	pd_rec_header(pd, rec);
	if (rec->size < 8 || !rec->type || rec->type > TYPE_LIMIT || rec->type == REC_COMPRESSED ||
	    rec->type == REC_COMPRESSED2) {
		pd_bad(pd, f, rec->p, rec->block, "no record in the unpacked data");
		f->zbroken = true;
		s->at += left;
		return 0;
	}
	if (rec->size > left)
		return 0;
	s->at += rec->size;
	return 1;
}

bool pd_file_ordinary(const struct pd *pd, const struct pd_file *f)
{
	struct pd_rec rec = { .p = f->in->map + f->pos };

#ifdef HAVE_ZSTD
	if (zstd_pending(f))
		return false;
#endif
	if (f->end - f->pos < 8 || f->unpacked.block != BLOCK_NONE)
		return false;
	pd_rec_header(pd, &rec);
	if (rec.size < 8 || rec.size > f->end - f->pos)
		return false;
	switch (rec.type) {
	case REC_LOST: return rec.size >= 24;
	case REC_LOST_SAMPLES: return rec.size >= 16;
	case REC_FINISHED_ROUND: return true;
	default: return rec.type && rec.type <= REC_KERNEL_LAST;
	}
}

int pd_file_next(struct pd *pd, struct pd_file *f, struct pd_rec *rec, struct error *err)
{
	size_t left;
	u64 total;

	for (;;) {
		if (unpacked_next(pd, f, rec))
			return 1;
#ifdef HAVE_ZSTD
		if (zstd_pending(f)) {
			zstd_more(pd, f);
			continue;
		}
#endif
		if (f->at_end || (f->in->map && f->pos >= f->end)) {
			left = stream_left(pd, &f->unpacked);
			if (left || f->missing)
				diag_addf(pd->r->diag, DIAG_TRUNCATED, left + f->missing, "'%s'",
					  input_name(f->in));
			f->unpacked.at += left;
			f->missing = 0;
			f->at_end = true;
			return 0;
		}
		if (!raw_next(pd, f, rec, &total))
			continue;
		if (rec->type == REC_COMPRESSED || rec->type == REC_COMPRESSED2) {
#ifdef HAVE_ZSTD
			zstd_begin(pd, f, rec, total);
			raw_advance(f, total);
			continue;
#else
			return error_set(err,
					 "'%s': record at 0x%" PRIx64
					 ": compressed, but xenflame was built without libzstd",
					 input_name(f->in),
					 pd_rec_offset(pd, f, rec->p, rec->block));
#endif
		}
		(void)err;
		raw_advance(f, total);
		if (rec->type == REC_TRACING_DATA && rec->size >= 12)
			raw_pass(pd, f, align8(ld32(rec->p + 8, pd->swap)));
		else if (rec->type == REC_AUXTRACE && rec->size >= 16)
			raw_pass(pd, f, ld64(rec->p + 8, pd->swap));
		return 1;
	}
}

struct pd_file *pd_file_new(struct pd *pd, struct input *in)
{
	struct pd_file *f = xcalloc(1, sizeof(*f));

	f->in = in ? in : &f->own;
	f->given = f->found = f->found_before = no_range;
	f->raw.block = f->unpacked.block = BLOCK_NONE;
	vec_push(&pd->files, f);
	return f;
}

void pd_file_free(struct pd *pd, struct pd_file *f)
{
#ifdef HAVE_ZSTD
	zstd_free(f);
#endif
	pd_block_unref(pd, f->raw.block);
	pd_block_unref(pd, f->unpacked.block);
	if (f->in == &f->own)
		input_close(&f->own);
	free(f->path);
	free(f);
}
