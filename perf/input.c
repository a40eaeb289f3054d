/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inputs: regular files are mapped; everything else, and what is packed by
 * gzip, xz or zstd, is a stream.
 *
 * Magic numbers: gzip RFC 1952, zstd RFC 8878, xz "The .xz File Format" 1.1.0.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#ifdef HAVE_LZMA
#include <lzma.h>
#endif
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#include "perf/reader.h"

#define PACKED_BUF (128 * 1024)
/* Memory that unpacking may take: xz dictionaries and zstd windows larger than this are refused. */
#define XZ_MEMORY ((u64)256 << 20)
/*
 * Most that a packed stream may grow to when a reader needs all of it at once and it is spooled: by
 * this factor, after a free allowance.
 */
#define SPOOL_RATIO 1024u
#define SPOOL_FREE  ((u64)64 << 20)

enum codec { CODEC_NONE, CODEC_GZIP, CODEC_XZ, CODEC_ZSTD };

struct input_stream {
	int fd;       /* -1: closed */
	bool keep_fd; /* standard input */
	enum codec codec;
	size_t head_pos;   /* bytes of head that input_read() has given */
	bool eof;          /* of the descriptor */
	bool frame_open;   /* within a compressed frame: an end here is an early one */
	u64 taken;         /* packed bytes given to the decoder */
	struct error late; /* of the decoder, found behind bytes that it did unpack */
	u8 *buf;           /* packed bytes [pos, n) */
	size_t pos, n;
	z_stream gz;
	bool gz_ready;
#ifdef HAVE_LZMA
	lzma_stream xz;
#endif
#ifdef HAVE_ZSTD
	ZSTD_DStream *zstd;
#endif
};

const char *input_name(const struct input *in)
{
	return !strcmp(in->path, "-") ? "standard input" : in->path;
}

static const char *const codec_names[] = { "plain", "gzip", "xz", "zstd" };

static enum codec codec_of(const u8 *p, size_t n)
{
	if (n >= 3 && p[0] == 0x1f && p[1] == 0x8b && p[2] == 8)
		return CODEC_GZIP;
	if (n >= 6 && !memcmp(p,
			      "\xfd"
			      "7zXZ\0",
			      6))
		return CODEC_XZ;
	if (n >= 4 && !memcmp(p, "\x28\xb5\x2f\xfd", 4))
		return CODEC_ZSTD;
	return CODEC_NONE;
}

const char *input_packed_twice(const struct input *in)
{
	const struct input_stream *st = in->priv;

	if (st->codec == CODEC_NONE || codec_of(in->head, in->head_n) == CODEC_NONE)
		return NULL;
	return codec_names[st->codec];
}

static ssize_t read_fd(struct input *in, void *p, size_t n, struct error *err)
{
	struct input_stream *st = in->priv;
	ssize_t r;

	if (st->eof)
		return 0;
	do {
		r = read(st->fd, p, n);
	} while (r < 0 && errno == EINTR);
	if (r < 0)
		return error_errno(err, "'%s': cannot read", input_name(in));
	if (!r)
		st->eof = true;
	in->consumed += (u64)r;
	return r;
}

/* 1: buf holds bytes, 0: end, -1. */
static int refill(struct input *in, struct error *err)
{
	struct input_stream *st = in->priv;
	ssize_t r;

	if (st->pos < st->n)
		return 1;
	r = read_fd(in, st->buf, PACKED_BUF, err);
	if (r < 0)
		return -1;
	st->pos = 0;
	st->n = (size_t)r;
	return r > 0;
}

static int damaged(struct input *in, const char *why, struct error *err)
{
	const struct input_stream *st = in->priv;

	return error_set(err, "'%s': %s data damaged near offset 0x%" PRIx64 ": %s", input_name(in),
			 codec_names[st->codec], st->taken + st->pos, why ? why : "not decodable");
}

/* The same in the middle of a call that has unpacked `got` bytes: these first, the error next. */
static ssize_t damaged_after(struct input *in, size_t got, const char *why, struct error *err)
{
	struct input_stream *st = in->priv;
	int r = damaged(in, why, got ? &st->late : err);

	return got ? (ssize_t)got : r;
}

static int decoder_open(struct input *in, struct error *err)
{
	struct input_stream *st = in->priv;

	switch (st->codec) {
	case CODEC_GZIP:
		if (inflateInit2(&st->gz, 15 + 16) != Z_OK)
			return error_set(err, "'%s': cannot start unpacking gzip", input_name(in));
		st->gz_ready = true;
		return 0;
	case CODEC_XZ:
#ifdef HAVE_LZMA
		if (lzma_stream_decoder(&st->xz, XZ_MEMORY, LZMA_CONCATENATED) != LZMA_OK)
			return error_set(err, "'%s': cannot start unpacking xz", input_name(in));
		return 0;
#else
		return error_set(err,
				 "'%s': packed by xz, but xenflame was built without liblzma; "
				 "unpack it by 'xz -d'",
				 input_name(in));
#endif
	case CODEC_ZSTD:
#ifdef HAVE_ZSTD
		st->zstd = ZSTD_createDStream();
		if (!st->zstd)
			return error_set(err, "'%s': cannot start unpacking zstd", input_name(in));
		return 0;
#else
		return error_set(err,
				 "'%s': packed by zstd, but xenflame was built without libzstd; "
				 "unpack it by 'zstd -d'",
				 input_name(in));
#endif
	case CODEC_NONE: break;
	}
	return 0;
}

static ssize_t unpack_gzip(struct input *in, u8 *p, size_t n, struct error *err)
{
	struct input_stream *st = in->priv;
	z_stream *z = &st->gz;
	int r;

	z->next_out = p;
	z->avail_out = (uInt)n;
	while (z->avail_out == n) {
		r = refill(in, err);
		if (r < 0)
			return -1;
		if (!r)
			return st->frame_open ? damaged(in, "ends early", err) : 0;
		if (!st->frame_open) {
			/* The next member, or padding behind the last one. */
			if (st->buf[st->pos] != 0x1f) {
				st->taken += st->n - st->pos;
				st->pos = st->n;
				continue;
			}
			if (inflateReset(z) != Z_OK)
				return damaged(in, z->msg, err);
			st->frame_open = true;
		}
		z->next_in = st->buf + st->pos;
		z->avail_in = (uInt)(st->n - st->pos);
		r = inflate(z, Z_NO_FLUSH);
		st->taken += st->n - st->pos - z->avail_in;
		st->pos = st->n - z->avail_in;
		if (r == Z_STREAM_END)
			st->frame_open = false;
		else if (r != Z_OK && r != Z_BUF_ERROR)
			return damaged_after(in, n - z->avail_out, z->msg, err);
	}
	return (ssize_t)(n - z->avail_out);
}

#ifdef HAVE_LZMA
static ssize_t unpack_xz(struct input *in, u8 *p, size_t n, struct error *err)
{
	struct input_stream *st = in->priv;
	lzma_stream *z = &st->xz;
	lzma_ret r = LZMA_OK;
	const char *why = NULL;

	z->next_out = p;
	z->avail_out = n;
	while (z->avail_out == n && r != LZMA_STREAM_END) {
		int more = refill(in, err);

		if (more < 0)
			return -1;
		z->next_in = st->buf + st->pos;
		z->avail_in = st->n - st->pos;
		r = lzma_code(z, more ? LZMA_RUN : LZMA_FINISH);
		st->taken += st->n - st->pos - z->avail_in;
		st->pos = st->n - z->avail_in;
		if (r == LZMA_OK || r == LZMA_STREAM_END)
			continue;
		if (r == LZMA_MEMLIMIT_ERROR)
			why = "needs more than 256 MiB of memory to unpack";
		else if (r == LZMA_BUF_ERROR)
			why = "ends early";
		return damaged_after(in, n - z->avail_out, why, err);
	}
	return (ssize_t)(n - z->avail_out);
}
#endif

#ifdef HAVE_ZSTD
static ssize_t unpack_zstd(struct input *in, u8 *p, size_t n, struct error *err)
{
	struct input_stream *st = in->priv;
	ZSTD_outBuffer out = { p, n, 0 };

	while (!out.pos) {
		ZSTD_inBuffer ib;
		size_t r;
		int more = refill(in, err);

		if (more < 0)
			return -1;
		if (!more && !st->frame_open)
			return 0;
		ib = (ZSTD_inBuffer){ st->buf, st->n, st->pos };
		r = ZSTD_decompressStream(st->zstd, &out, &ib);
		if (ZSTD_isError(r))
			return damaged(in, ZSTD_getErrorName(r), err);
		if (!more && !out.pos)
			return damaged(in, "ends early", err);
		st->taken += ib.pos - st->pos;
		st->pos = ib.pos;
		st->frame_open = r != 0;
	}
	return (ssize_t)out.pos;
}
#endif

static ssize_t read_stream(struct input *in, void *buf, size_t n, struct error *err)
{
	struct input_stream *st = in->priv;
	size_t k;

	if (st->late.msg[0])
		return error_set(err, "%s", st->late.msg);
	n = MIN(n, (size_t)1 << 30);
	switch (st->codec) {
	case CODEC_GZIP: return unpack_gzip(in, buf, n, err);
#ifdef HAVE_LZMA
	case CODEC_XZ: return unpack_xz(in, buf, n, err);
#endif
#ifdef HAVE_ZSTD
	case CODEC_ZSTD: return unpack_zstd(in, buf, n, err);
#endif
	default: break;
	}
	if (st->pos == st->n)
		return read_fd(in, buf, n, err);
	k = MIN(n, st->n - st->pos);
	memcpy(buf, st->buf + st->pos, k);
	st->pos += k;
	return (ssize_t)k;
}

ssize_t input_read(struct input *in, void *buf, size_t n, struct error *err)
{
	struct input_stream *st = in->priv;
	size_t k;

	if (!n)
		return 0;
	if (st->head_pos < in->head_n) {
		k = MIN(n, in->head_n - st->head_pos);
		memcpy(buf, in->head + st->head_pos, k);
		st->head_pos += k;
		return (ssize_t)k;
	}
	if (in->head_error.msg[0])
		return error_set(err, "%s", in->head_error.msg);
	return read_stream(in, buf, n, err);
}

static int peek(struct input *in, struct error *err)
{
	ssize_t r;

	in->head = xmalloc(INPUT_HEAD);
	while (in->head_n < INPUT_HEAD) {
		r = read_stream(in, in->head + in->head_n, INPUT_HEAD - in->head_n,
				&in->head_error);
		if (r < 0 && !in->head_n)
			return error_set(err, "%s", in->head_error.msg);
		if (r <= 0)
			break;
		in->head_n += (size_t)r;
	}
	return 0;
}

static int map_fd(struct input *in, int fd, u64 size, struct error *err)
{
	void *p;

	if (size > SIZE_MAX / 2)
		return error_set(err, "'%s': too large for this machine's address space",
				 input_name(in));
	p = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return error_errno(err, "'%s': cannot map", input_name(in));
	in->map = p;
	in->size = size;
	return 0;
}

int input_open(struct input *in, const char *path, struct error *err)
{
	struct input_stream *st;
	struct stat sb;
	ssize_t r;

	memset(in, 0, sizeof(*in));
	in->path = path;
	st = in->priv = xcalloc(1, sizeof(*st));
#ifdef HAVE_LZMA
	st->xz = (lzma_stream)LZMA_STREAM_INIT;
#endif
	st->keep_fd = !strcmp(path, "-");
	st->fd = st->keep_fd ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	if (st->fd < 0) {
		error_errno(err, "'%s': cannot open", path);
		goto fail;
	}
	if (fstat(st->fd, &sb)) {
		error_errno(err, "'%s': cannot stat", input_name(in));
		goto fail;
	}
	if (S_ISDIR(sb.st_mode)) {
		in->is_dir = true;
		return 0;
	}
	st->buf = xmalloc(PACKED_BUF);
	if (S_ISREG(sb.st_mode))
		in->file_size = (u64)sb.st_size;
	while (st->n < 6) {
		r = read_fd(in, st->buf + st->n, PACKED_BUF - st->n, err);
		if (r < 0)
			goto fail;
		if (!r)
			break;
		st->n += (size_t)r;
	}
	st->codec = codec_of(st->buf, st->n);
	if (st->codec == CODEC_NONE && S_ISREG(sb.st_mode) && sb.st_size > 0 &&
	    lseek(st->fd, 0, SEEK_CUR) == (off_t)st->n) {
		in->consumed = 0;
		if (map_fd(in, st->fd, (u64)sb.st_size, err))
			goto fail;
		return 0;
	}
	if (decoder_open(in, err) || peek(in, err))
		goto fail;
	return 0;
fail:
	input_close(in);
	return -1;
}

static FILE *spool_file(void)
{
	const char *dir = getenv("TMPDIR");
	char *path;
	FILE *f = NULL;
	int fd;

	if (!dir || !*dir)
		return tmpfile();
	path = path_join(dir, "xenflame-XXXXXX");
	fd = mkstemp(path);
	if (fd >= 0) {
		unlink(path);
		f = fdopen(fd, "w+b");
		if (!f)
			close(fd);
	}
	free(path);
	return f;
}

int input_map(struct input *in, struct error *damage, struct error *err)
{
	u64 total = 0;
	int ret = -1;
	u8 *buf;
	FILE *f;

	if (in->map)
		return 0;
	f = spool_file();
	if (!f)
		return error_errno(err, "'%s': cannot make a temporary file to unpack it",
				   input_name(in));
	buf = xmalloc(PACKED_BUF);
	for (;;) {
		ssize_t r = input_read(in, buf, PACKED_BUF, damage);

		if (r < 0 && !total) {
			error_set(err, "%s", damage->msg);
			goto out;
		}
		if (r <= 0)
			break;
		total += (u64)r;
		if (total > SPOOL_FREE + in->consumed * SPOOL_RATIO) {
			error_set(err, "'%s': grows more than %u times when unpacked",
				  input_name(in), SPOOL_RATIO);
			goto out;
		}
		if (fwrite(buf, 1, (size_t)r, f) != (size_t)r) {
			error_errno(err, "'%s': cannot unpack into a temporary file",
				    input_name(in));
			goto out;
		}
	}
	if (fflush(f)) {
		error_errno(err, "'%s': cannot unpack into a temporary file", input_name(in));
		goto out;
	}
	if (!total)
		error_set(err, "'%s': is empty", input_name(in));
	else
		ret = map_fd(in, fileno(f), total, err);
out:
	free(buf);
	fclose(f);
	return ret;
}

void input_in_order(struct input *in)
{
	if (in->map)
		madvise((void *)(uintptr_t)in->map, (size_t)in->size, MADV_SEQUENTIAL);
}

void input_drop_range(struct input *in, u64 from, u64 upto)
{
	u64 page = (u64)sysconf(_SC_PAGESIZE);

	if (!in->map)
		return;
	upto = MIN(upto, in->size) / page * page;
	from = (from + page - 1) / page * page;
	if (from < upto)
		madvise((void *)(uintptr_t)(in->map + from), (size_t)(upto - from), MADV_DONTNEED);
}

void input_drop(struct input *in, u64 upto)
{
	u64 page = (u64)sysconf(_SC_PAGESIZE);

	upto = MIN(upto, in->size) / page * page;
	if (upto <= in->dropped)
		return;
	input_drop_range(in, in->dropped, upto);
	in->dropped = upto;
}

void input_close(struct input *in)
{
	struct input_stream *st = in->priv;

	if (in->map)
		munmap((void *)(uintptr_t)in->map, (size_t)in->size);
	if (st) {
		if (st->gz_ready)
			inflateEnd(&st->gz);
#ifdef HAVE_LZMA
		lzma_end(&st->xz);
#endif
#ifdef HAVE_ZSTD
		ZSTD_freeDStream(st->zstd);
#endif
		if (st->fd >= 0 && !st->keep_fd)
			close(st->fd);
		free(st->buf);
		free(st);
	}
	free(in->head);
	memset(in, 0, sizeof(*in));
}
