/* SPDX-License-Identifier: GPL-2.0-or-later */
/* perf.data: the bounds on memory and time hold, and what is beyond them is told. */
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#include "tests/unit/perf-build.h"

static void put_le(u8 *p, u64 v, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		p[i] = (u8)(v >> 8 * i);
}

/* Sanitizers keep freed memory. */
static void memory_below(u64 mib)
{
	struct rusage ru;

	getrusage(RUSAGE_SELF, &ru);
	printf("# peak memory %ld KiB\n", ru.ru_maxrss);
#if !defined(__SANITIZE_ADDRESS__)
	OK((u64)ru.ru_maxrss < mib * 1024);
#else
	(void)mib;
#endif
}

static void test_events(void)
{
	struct result res = { .quiet = true };
	struct build b = { .pipe = true };
	struct buf o = BUF_INIT;
	struct attr_spec a = { .sample_type = S_IP, .size = 64 };
	u32 i;

	buf_puts(&o, "PERFILE2");
	b_int(&b, &o, 16, 8);
	for (i = 0; i < 65536 + 10; i++) {
		b_int(&b, &o, 64, 4);
		b_int(&b, &o, 0, 2);
		b_int(&b, &o, 8 + 64, 2);
		put_attr(&b, &o, &a);
	}
	result_read(&res, &o, false);
	EQ(res.ret, 0);
	EQ(perf_meta(res.r)->events.n, 65536);
	EQ(diag_count(&res.diag, DIAG_BAD_RECORD), 10);
	result_release(&res);
	buf_release(&o);
}

/* A thousand events, each of which claims the whole file as its ids. */
static void test_ids(void)
{
	struct result res = { .quiet = true };
	struct build b = { .nattrs = 0 };
	struct attr_spec a = { .sample_type = S_IP, .size = 64 };
	struct buf o = BUF_INIT;
	u32 n = 1000, size = 2 << 20, i;
	clock_t begin = clock();

	buf_puts(&o, "PERFILE2");
	for (i = 0; i < 12; i++)
		b_int(&b, &o,
		      (const u64[]){ 104, 80, 104, 80 * n, 104 + 80 * n, 8 }[MIN(i, 5)] * (i < 6),
		      8);
	for (i = 0; i < n; i++) {
		put_attr(&b, &o, &a);
		b_int(&b, &o, 0, 8);
		b_int(&b, &o, size, 8);
	}
	while (o.n < size)
		b_int(&b, &o, hash_u64(o.n), 8);
	result_read(&res, &o, false);
	OK(res.ret >= -1);
	EQ(perf_meta(res.r)->events.n, n);
	result_release(&res);
	printf("# %.1f s\n", (double)(clock() - begin) / CLOCKS_PER_SEC);
	OK(clock() - begin < 20 * CLOCKS_PER_SEC);
	buf_release(&o);
}

/* More records than are held back when no round ever ends: they come all the same, in order as they
 * are. */
static void test_queue(void)
{
	struct result res = { .quiet = true };
	struct build b = { .nattrs = 1 };
	struct buf o = BUF_INIT;
	u64 i, n = ((u64)1 << 22) + 100000;
	size_t at;

	b.attrs[0] = (struct attr_spec){ .sample_type = S_TIME };
	build_file(&b, &o);
	put_le((u8 *)o.p + 48, n * 16, 8);
	at = o.n;
	buf_reserve(&o, n * 16);
	for (i = 0; i < n; i++) {
		u8 *r = (u8 *)o.p + at + 16 * i;

		put_le(r, 9, 4);
		put_le(r + 4, 2, 2);
		put_le(r + 6, 16, 2);
		put_le(r + 8, 1000 + (i ^ 3), 8); /* neighbours out of order */
	}
	o.n = at + n * 16;
	result_read(&res, &o, false);
	EQ(res.ret, 0);
	EQ(res.samples, n);
	EQ(diag_count(&res.diag, DIAG_OUT_OF_ORDER), 0);
	result_release(&res);
	buf_release(&o);
}

/* A stream of 400 MiB without rounds: no more than 256 MiB of it are held. */
static void test_held(void)
{
	char path[] = "perf-limits-XXXXXX";
	struct result res = { .quiet = true };
	struct build b = { .nattrs = 1, .pipe = true };
	struct buf o = BUF_INIT;
	u32 i, n = 6700, size = 62512;
	u8 *rec = xcalloc(1, size);
	gzFile gz;
	int fd = mkstemp(path);

	gz = gzdopen(fd, "wb1");
	b.attrs[0] = (struct attr_spec){ .sample_type = S_TIME | S_RAW };
	build_file(&b, &o);
	gzwrite(gz, o.p, (unsigned int)o.n);
	for (i = 0; i < n; i++) {
		put_le(rec, 9, 4);
		put_le(rec + 6, size, 2);
		put_le(rec + 8, 1000 + i, 8);
		put_le(rec + 16, size - 20, 4);
		gzwrite(gz, rec, size);
	}
	EQ(gzclose(gz), Z_OK);
	result_open(&res, path);
	EQ(res.ret, 0);
	EQ(res.samples, n);
	EQ(diag_count(&res.diag, DIAG_OUT_OF_ORDER), 0);
	EQ(diag_count(&res.diag, DIAG_BAD_RECORD), 0);
	result_release(&res);
	unlink(path);
	buf_release(&o);
	free(rec);
	memory_below(400);
}

#ifdef HAVE_ZSTD
/* Compressed records that unpack to thousands of times their size, without end. */
static void test_bombs(void)
{
	struct result res = { .quiet = true };
	struct build b = { .nattrs = 1 };
	struct buf o = BUF_INIT, packed = BUF_INIT;
	size_t n = (size_t)96 << 20, at, r;
	u8 *zeros = xcalloc(1, n);
	ZSTD_CCtx *c = ZSTD_createCCtx();
	ZSTD_inBuffer in = { zeros, n, 0 };

	for (at = 0; at + 32768 <= n; at += 32768) {
		put_le(zeros + at, 99, 4);
		put_le(zeros + at + 6, 32768, 2);
	}
	b.attrs[0] = (struct attr_spec){ .sample_type = S_TIME };
	do {
		u8 chunk[32000];
		ZSTD_outBuffer out = { chunk, sizeof(chunk), 0 };

		r = ZSTD_compressStream2(c, &out, &in, ZSTD_e_end);
		rec_begin(&b, 81, 0);
		buf_put(&b.data, chunk, out.pos);
		rec_end(&b);
	} while (r && !ZSTD_isError(r));
	printf("# %zu bytes packed in %zu\n", n, b.data.n);
	result_build(&res, &b);
	EQ(res.ret, 0);
	EQ(diag_count(&res.diag, DIAG_BAD_RECORD), 1);
	OK(diag_count(&res.diag, DIAG_UNKNOWN_RECORD) < n / 32768);
	OK(diag_count(&res.diag, DIAG_UNKNOWN_RECORD) >= ((size_t)63 << 20) / 32768);
	result_release(&res);

	/* The same around the file: spooled only so far. */
	buf_clear(&b.data);
	build_file(&b, &o);
	memcpy(zeros, o.p, o.n);
	buf_reserve(&packed, ZSTD_compressBound(n));
	packed.n = ZSTD_compressCCtx(c, packed.p, packed.cap, zeros, n, 1);
	OK(!ZSTD_isError(packed.n));
	result_read(&res, &packed, false);
	EQ(res.ret, -2);
	OK(strstr(res.err.msg, "grows more than 1024 times") != NULL);
	result_release(&res);
	ZSTD_freeCCtx(c);
	build_release(&b);
	buf_release(&o);
	buf_release(&packed);
	free(zeros);
}

/* COMPRESSED2 of 64 KiB, whose 16-bit size is 0, by file and by stream; its data_size is a lie in
 * every other one. */
static void test_wrapped(void)
{
	/* A frame with one block as it is: 3 bytes of block header behind a header of 6. */
	static const u8 head[] = { 0x28, 0xb5, 0x2f, 0xfd, 0, 0x58 };
	u32 content = 65536 - 16 - 9, lie, stream;
	struct result res = { .ret = 0 };
	u8 *p = xcalloc(1, content);

	put_le(p, 99, 4);
	put_le(p + 6, content - 16, 2);
	put_le(p + content - 16, 9, 4);
	put_le(p + content - 10, 16, 2);
	put_le(p + content - 8, 1000, 8);
	for (lie = 0; lie < 2; lie++) {
		for (stream = 0; stream < 2; stream++) {
			struct build b = { .nattrs = 1, .pipe = true };
			struct buf o = BUF_INIT;
			char path[] = "perf-limits-XXXXXX";
			gzFile gz;

			b.attrs[0] = (struct attr_spec){ .sample_type = S_TIME };
			rec_begin(&b, 83, 0);
			b64(&b, lie ? UINT64_MAX - 15 : content + 9);
			buf_put(&b.data, head, sizeof(head));
			b_int(&b, &b.data, content << 3 | 1, 3);
			buf_put(&b.data, p, content);
			rec_sample(&b, 0, 2, 0, 0, 0, 2000, 0, 0, NULL, 0);
			build_file(&b, &o);
			gz = gzdopen(mkstemp(path), stream ? "wb1" : "wbT");
			gzwrite(gz, o.p, (unsigned int)o.n);
			EQ(gzclose(gz), Z_OK);
			result_open(&res, path);
			EQ(res.ret, 0);
			EQ(res.samples, lie ? 0 : 2);
			EQ(diag_count(&res.diag, DIAG_UNKNOWN_RECORD), lie ? 0 : 1);
			EQ(diag_count(&res.diag, DIAG_TRUNCATED) != 0, lie);
			result_release(&res);
			unlink(path);
			buf_release(&o);
			build_release(&b);
		}
	}
	free(p);
}
#endif

int main(void)
{
	test_held();
	test_events();
	test_ids();
	test_queue();
#ifdef HAVE_ZSTD
	test_bombs();
	test_wrapped();
#endif
	return tap_done();
}
