/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <sys/mman.h>
#include <zlib.h>
#ifdef HAVE_LIBDEFLATE
#include <libdeflate.h>
#endif

#include "symbolize/packed.h"

/* The format's limit is 1032:1. */
#define MAX_RATIO 1040u
#define STEP      ((size_t)16 << 10)
/* libdeflate takes a third of zlib's time, but unpacks all or nothing: up to this size that is the
 * better deal, when more than a part of it is wanted. */
#define PART  4
#define WHOLE ((size_t)32 << 20)

struct packed_stream {
	z_stream z;
};

struct packed *packed_new(const u8 *data, size_t n, u64 full)
{
	struct packed *k;
	void *p;

	if (n > UINT32_MAX || full / MAX_RATIO > n || full > SIZE_MAX / 2)
		return NULL;
	/* Pages are taken when they are written to. */
	p = mmap(NULL, (size_t)full + 1, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	k = xcalloc(1, sizeof(*k));
	k->p = p;
	k->n = (size_t)full;
	k->stream = xcalloc(1, sizeof(*k->stream));
	if (inflateInit(&k->stream->z) != Z_OK) {
		packed_free(k);
		return NULL;
	}
	k->data = data;
	k->data_n = n;
	k->stream->z.next_in = (Bytef *)(uintptr_t)data;
	k->stream->z.avail_in = (uInt)n;
	return k;
}

static void end_stream(struct packed *k)
{
	if (k->stream)
		inflateEnd(&k->stream->z);
	free(k->stream);
	k->stream = NULL;
}

void packed_free(struct packed *k)
{
	if (!k)
		return;
	end_stream(k);
	munmap(k->p, k->n + 1);
	free(k);
}

static bool unpack_whole(struct packed *k)
{
#ifdef HAVE_LIBDEFLATE
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	bool done;

#ifdef MADV_HUGEPAGE
	/* Taking pages one by one is a fifth of the work. */
	madvise(k->p, k->n, MADV_HUGEPAGE);
#endif
	done = d && libdeflate_zlib_decompress(d, k->data, k->data_n, k->p, k->n, NULL) ==
			    LIBDEFLATE_SUCCESS;

	/* Damaged data are unpacked as far as they are sound, by zlib. */
	libdeflate_free_decompressor(d);
	if (done)
		k->have = k->n;
	return done;
#else
	(void)k;
	return false;
#endif
}

void packed_need(struct packed *k, u64 upto)
{
	size_t to = (size_t)MIN(upto, (u64)k->n), step;
	int r;

	if (k->have >= to)
		return;
	if (to > k->n / PART && k->have <= k->n / PART && k->n <= WHOLE && unpack_whole(k)) {
		end_stream(k);
		return;
	}
	/* What comes next is mostly asked for next. */
	to = MIN(k->n, to + STEP);
	while (k->have < to) {
		z_stream *z = &k->stream->z;

		step = MIN(to - k->have, (size_t)1 << 30);
		z->next_out = k->p + k->have;
		z->avail_out = (uInt)step;
		r = inflate(z, Z_SYNC_FLUSH);
		k->have += step - z->avail_out;
		if (r != Z_OK && k->have < k->n) {
			k->bad = true;
			k->have = k->n;
		}
	}
	if (k->have == k->n)
		end_stream(k);
}

void packed_need_string(struct packed *k, u64 off)
{
	packed_need(k, off + 1);
	while (k->have < k->n && !memchr(k->p + off, 0, k->have - (size_t)off))
		packed_need(k, (u64)k->have + 1);
}
