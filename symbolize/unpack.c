/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <zlib.h>
#ifdef HAVE_LZMA
#include <lzma.h>
#endif
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#include "symbolize/unpack.h"

enum packing unpack_kind(const u8 *p, size_t n)
{
	if (n >= 2 && !memcmp(p, "\x1f\x8b", 2))
		return PACKED_GZIP;
	if (n >= 6 && !memcmp(p,
			      "\xfd"
			      "7zXZ\0",
			      6))
		return PACKED_XZ;
	if (n >= 4 && !memcmp(p, "\x28\xb5\x2f\xfd", 4))
		return PACKED_ZSTD;
	return PACKED_NOT;
}

/* Room for the next piece, or 0 when the bound is reached. */
static size_t room(struct buf *out, size_t start, u64 limit)
{
	u64 have = out->n - start, step = MAX(have / 2, (u64)1 << 16);

	if (have >= limit)
		return 0;
	step = MIN(step, limit - have);
	buf_reserve(out, (size_t)step);
	return (size_t)step;
}

static int unpack_gzip(const u8 *p, size_t n, struct buf *out, u64 limit, const char **why)
{
	size_t start = out->n, step;
	z_stream z;
	int r;

	memset(&z, 0, sizeof(z));
	if (n > UINT32_MAX || inflateInit2(&z, 15 + 16) != Z_OK) {
		*why = "zlib does not take it";
		return -1;
	}
	z.next_in = (Bytef *)(uintptr_t)p;
	z.avail_in = (uInt)n;
	do {
		step = room(out, start, limit);
		if (!step) {
			*why = "too large unpacked";
			r = Z_DATA_ERROR;
			break;
		}
		z.next_out = (Bytef *)out->p + out->n;
		z.avail_out = (uInt)step;
		r = inflate(&z, Z_NO_FLUSH);
		out->n += step - z.avail_out;
		*why = "damaged gzip data";
	} while (r == Z_OK);
	inflateEnd(&z);
	return r == Z_STREAM_END ? 0 : -1;
}

#ifdef HAVE_LZMA
static int unpack_xz(const u8 *p, size_t n, struct buf *out, u64 limit, const char **why)
{
	lzma_stream s = LZMA_STREAM_INIT;
	size_t start = out->n, step;
	lzma_ret r;

	if (lzma_stream_decoder(&s, 512u << 20, LZMA_CONCATENATED) != LZMA_OK) {
		*why = "liblzma does not take it";
		return -1;
	}
	s.next_in = p;
	s.avail_in = n;
	do {
		step = room(out, start, limit);
		if (!step) {
			*why = "too large unpacked";
			r = LZMA_DATA_ERROR;
			break;
		}
		s.next_out = (u8 *)out->p + out->n;
		s.avail_out = step;
		r = lzma_code(&s, LZMA_FINISH);
		out->n += step - s.avail_out;
		*why = "damaged xz data";
	} while (r == LZMA_OK);
	lzma_end(&s);
	return r == LZMA_STREAM_END ? 0 : -1;
}
#endif

#ifdef HAVE_ZSTD
static int unpack_zstd(const u8 *p, size_t n, struct buf *out, u64 limit, const char **why)
{
	ZSTD_DStream *s = ZSTD_createDStream();
	size_t start = out->n, step, r = 1;
	ZSTD_inBuffer in = { p, n, 0 };

	*why = "zstd does not take it";
	if (!s)
		return -1;
	while (in.pos < in.size || r) {
		ZSTD_outBuffer to;
		size_t before = in.pos;

		step = room(out, start, limit);
		if (!step) {
			*why = "too large unpacked";
			break;
		}
		to = (ZSTD_outBuffer){ out->p + out->n, step, 0 };
		r = ZSTD_decompressStream(s, &to, &in);
		*why = "damaged zstd data";
		if (ZSTD_isError(r))
			break;
		out->n += to.pos;
		if (!to.pos && in.pos == before) {
			r = in.pos == in.size && !r ? 0 : 1;
			break;
		}
	}
	ZSTD_freeDStream(s);
	return r || in.pos < in.size ? -1 : 0;
}
#endif

int unpack(enum packing kind, const u8 *p, size_t n, struct buf *out, const char *name,
	   struct error *err)
{
	u64 limit = MIN((u64)n * 2000 + 4096, UNPACK_MAX);
	const char *why = "this build cannot unpack it";
	int r = -1;

	switch (kind) {
	case PACKED_GZIP: r = unpack_gzip(p, n, out, limit, &why); break;
	case PACKED_XZ:
#ifdef HAVE_LZMA
		r = unpack_xz(p, n, out, limit, &why);
#endif
		break;
	case PACKED_ZSTD:
#ifdef HAVE_ZSTD
		r = unpack_zstd(p, n, out, limit, &why);
#endif
		break;
	case PACKED_NOT: why = "it is not packed"; break;
	}
	return r ? error_set(err, "'%s': %s", name, why) : 0;
}
