/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inputs: what is no recording, packed ones, folders. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#ifdef HAVE_LZMA
#include <lzma.h>
#endif

#include "perf/reader.h"
#include "tests/unit/perf-build.h"

static char dir[] = "perf-input-test-XXXXXX";

static char *write_file(const char *name, const void *p, size_t n)
{
	char *path = path_join(dir, name);
	struct error err = { "" };
	struct out o;

	if (out_open(&o, path, &err))
		abort();
	out_write(&o, p, n);
	if (out_close(&o, &err))
		abort();
	return path;
}

static void fails(const char *path, const char *what)
{
	struct result res = { .ret = 0 };

	result_open(&res, path);
	OK(res.ret < 0);
	printf("# %s\n", res.err.msg);
	OK(strstr(res.err.msg, what) != NULL);
	OK(!strchr(res.err.msg, '\n'));
	OK(strstr(res.err.msg, path_base(path)) != NULL);
	result_release(&res);
}

static void recording(struct buf *o)
{
	static const u64 chain[] = { (u64)-512, 0x401000 };
	struct build b = { .nattrs = 1 };
	u32 i;

	b.attrs[0] = (struct attr_spec){ .sample_type = S_IP | S_TID | S_TIME | S_PERIOD | S_CHAIN,
					 .flags = FLAG_ID_ALL };
	for (i = 0; i < 5000; i++)
		rec_sample(&b, 0, 2, 0x401000, 1, 1, 1000 + hash_u64(i) % 100000, 0, hash_u64(i),
			   chain, 2);
	build_file(&b, o);
	build_release(&b);
}

static void test_errors(void)
{
	char *path, *link;

	path = path_join(dir, "missing");
	fails(path, "No such file");
	free(path);
	path = write_file("empty", "", 0);
	fails(path, "is empty");
	free(path);
	path = write_file("noise", "\x00\x01\x02\x03\x7f\xff\x80\x81", 8);
	fails(path, "expected perf.data");
	free(path);
	path = write_file("short", "PERFILE2\x68", 9);
	fails(path, "ends within the header at offset 0x9");
	free(path);
	fails(dir, "directory without a recording");
	path = path_join(dir, "loop");
	link = xstrdup("loop");
	EQ(symlink(link, path), 0);
	fails(path, "cannot open");
	unlink(path);
	free(link);
	free(path);
	if (geteuid()) {
		path = write_file("secret", "x", 1);
		chmod(path, 0);
		fails(path, "Permission denied");
		free(path);
	}
}

static void test_unknown_format(void)
{
	struct perf_opts opts = { .format = "perfdata" };
	struct error err = { "" };
	struct strtab strings;
	struct diag diag;
	char *path = write_file("x", "x", 1);

	strtab_init(&strings);
	diag_init(&diag);
	OK(!perf_open(path, &opts, &strings, &diag, &err));
	OK(strstr(err.msg, "unknown input format 'perfdata': expected perf.data") != NULL);
	err.msg[0] = '\0';
	opts.format = "perf.data";
	OK(!perf_open(path, &opts, &strings, &diag, &err));
	OK(strstr(err.msg, "no perf.data magic") != NULL);
	diag_release(&diag);
	strtab_release(&strings);
	free(path);
	STR_EQ(perf_format_names()[0], "perf.data");
}

static size_t pack(u8 *out, size_t cap, const void *p, size_t n)
{
	z_stream z = { .next_in = (Bytef *)(uintptr_t)p,
		       .avail_in = (uInt)n,
		       .next_out = out,
		       .avail_out = (uInt)cap };

	if (deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		abort();
	if (deflate(&z, Z_FINISH) != Z_STREAM_END)
		abort();
	n = cap - z.avail_out;
	deflateEnd(&z);
	return n;
}

static void test_gzip(void)
{
	struct result res = { .quiet = true };
	struct buf o = BUF_INIT;
	u32 whole = 0, before;
	size_t n, m, half;
	char *path;
	u8 *packed;

	recording(&o);
	packed = xmalloc(2 * o.n + 2000);
	n = pack(packed, o.n + 1000, o.p, o.n);
	path = write_file("packed", packed, n);
	result_open(&res, path);
	EQ(res.ret, 0);
	EQ(res.samples, 5000);
	EQ(res.diag.entries.n, 0);
	result_release(&res);
	free(path);

	m = pack(packed + n, o.n + 1000, packed, n);
	path = write_file("twice", packed + n, m);
	fails(path, "packed twice: unpack it once by 'gzip -d'");
	free(path);

	/* Two members one after the other, then padding. */
	half = o.n / 2;
	m = pack(packed, o.n + 1000, o.p, half);
	n = m + pack(packed + m, o.n + 1000 - m, o.p + half, o.n - half);
	memset(packed + n, 0, 100);
	path = write_file("members", packed, n + 100);
	result_open(&res, path);
	EQ(res.samples, 5000);
	result_release(&res);
	free(path);

	/* Cut and damaged: what can be read, and a word about the rest. */
	n = pack(packed, o.n + 1000, o.p, o.n);
	before = 0;
	for (m = 0; m <= 10; m++) {
		path = write_file("cut", packed, n * m / 10);
		result_open(&res, path);
		OK(m == 10 ? res.samples == 5000 : res.samples < 5000);
		OK(res.samples >= before);
		OK(m == 10 || res.ret < 0 || diag_count(&res.diag, DIAG_DAMAGED) > 0);
		before = res.samples;
		whole += res.samples > 0 && res.samples < 5000;
		result_release(&res);
		free(path);
	}
	OK(whole >= 5);
	packed[n / 2] ^= 0xff;
	packed[n / 2 + 1] ^= 0xff;
	packed[n / 2 + 2] ^= 0xff;
	path = write_file("damaged", packed, n);
	result_open(&res, path);
	OK(res.samples < 5000 || diag_count(&res.diag, DIAG_DAMAGED) > 0);
	result_release(&res);
	free(path);
	free(packed);
	buf_release(&o);
}

/* What was unpacked before the damage, in the same call of the decoder too, is read. */
static void test_xz(void)
{
#ifdef HAVE_LZMA
	struct result res = { .quiet = true };
	struct buf o = BUF_INIT;
	size_t n = 0, cap;
	char *path;
	u8 *packed;

	recording(&o);
	cap = lzma_stream_buffer_bound(o.n) + 100;
	packed = xmalloc(cap);
	EQ(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, NULL, (const u8 *)o.p, o.n, packed, &n,
				   cap),
	   LZMA_OK);
	memset(packed + n, 'x', 100);
	path = write_file("tail.xz", packed, n + 100);
	result_open(&res, path);
	EQ(res.ret, 0);
	EQ(res.samples, 5000);
	EQ(diag_count(&res.diag, DIAG_DAMAGED), 1);
	EQ(diag_count(&res.diag, DIAG_TRUNCATED), 0);
	result_release(&res);
	free(path);
	free(packed);
	buf_release(&o);
#endif
}

/* Text that ends within its packing gives the stacks before, and a word. */
static void test_packed_text(void)
{
	struct result res = { .quiet = true };
	struct buf o = BUF_INIT;
	size_t i, n, cap;
	char *path;
	u8 *packed;

	for (i = 0; i < 20000; i++)
		buf_printf(&o, "prog;f%zu;g%" PRIu64 " 1\n", i, hash_u64(i) % 1000);
	cap = o.n + 1000;
	packed = xmalloc(cap);
	n = pack(packed, cap, o.p, o.n);
	path = write_file("text.gz", packed, n / 2);
	result_open(&res, path);
	EQ(res.ret, 0);
	OK(res.samples > 5000 && res.samples < 15000);
	EQ(diag_count(&res.diag, DIAG_DAMAGED), 1);
	result_release(&res);
	free(path);
	path = write_file("text.gz", packed, 20);
	result_open(&res, path);
	OK(res.ret < 0);
	result_release(&res);
	free(path);
	free(packed);
	buf_release(&o);
}

/* perf record --threads: `data` has the header, data.N are bare records. */
static void test_folder(void)
{
	struct result res = { .ret = 0 };
	struct build b = { .nattrs = 1 };
	struct buf o = BUF_INIT;
	char *folder = path_join(dir, "folder"), *path;
	u64 last = 0;
	size_t i;
	u32 k, f;

	EQ(mkdir(folder, 0777), 0);
	b.attrs[0] = (struct attr_spec){ .sample_type = S_IP | S_TID | S_TIME,
					 .flags = FLAG_ID_ALL };
	rec_comm(&b, 5, 5, "early", 0, false);
	rec_comm(&b, 5, 5, "late", 5000, false);
	build_file(&b, &o);
	path = write_file("folder/data", o.p, o.n);
	free(path);
	for (f = 0; f < 12; f++) {
		char name[32];

		buf_clear(&b.data);
		for (k = 0; k < 100; k++)
			rec_sample(&b, 0, 2, f, 5, 5, 1 + 100 * k + f, 0, 0, NULL, 0);
		snprintf(name, sizeof(name), "folder/data.%u", f);
		path = write_file(name, b.data.p, b.data.n);
		free(path);
	}
	path = write_file("folder/data.12", "", 0); /* a thread that saw nothing */
	free(path);
	path = write_file("folder/data.old", "junk", 4); /* not one of them */
	free(path);
	result_open(&res, folder);
	EQ(res.ret, 0);
	EQ(res.samples, 1200);
	EQ(res.diag.entries.n, 0);
	for (i = 0; i < res.v.n; i++) {
		const struct perf_sample *s = &res.v.v[i].it.sample;

		if (s->time < last || strcmp(res.v.v[i].name, s->time < 5000 ? "early" : "late"))
			break;
		last = s->time;
	}
	EQ(i, 1200);
	result_release(&res);
	build_release(&b);
	buf_release(&o);
	free(folder);
}

static void test_stream(void)
{
	static const u8 data[] = "PERF not quite";
	char *path = write_file("stream", data, sizeof(data) - 1), back[64] = "";
	struct error err = { "" };
	struct input in;
	int saved = dup(STDIN_FILENO), fd = open(path, O_RDONLY), fds[2];
	u64 total = 0;
	ssize_t r;

	/* A regular file as standard input is mapped; a pipe is not, and its head is read twice. */
	dup2(fd, STDIN_FILENO);
	EQ(input_open(&in, "-", &err), 0);
	OK(in.map != NULL);
	EQ(in.size, sizeof(data) - 1);
	STR_EQ(input_name(&in), "standard input");
	input_close(&in);
	EQ(pipe(fds), 0);
	EQ(write(fds[1], data, sizeof(data) - 1), sizeof(data) - 1);
	close(fds[1]);
	dup2(fds[0], STDIN_FILENO);
	EQ(input_open(&in, "-", &err), 0);
	OK(!in.map);
	EQ(in.head_n, sizeof(data) - 1);
	while ((r = input_read(&in, back + total, 5, &err)) > 0)
		total += (u64)r;
	EQ(r, 0);
	STR_EQ(back, (const char *)data);
	input_close(&in);
	dup2(saved, STDIN_FILENO);
	close(saved);
	close(fd);
	close(fds[0]);
	free(path);
}

int main(void)
{
	char *rm;

	if (!mkdtemp(dir))
		return 99;
	test_errors();
	test_unknown_format();
	test_gzip();
	test_xz();
	test_packed_text();
	test_folder();
	test_stream();
	rm = xasprintf("rm -rf %s", dir);
	EQ(system(rm), 0);
	free(rm);
	return tap_done();
}
