/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Folded stacks: numbers, columns, names, and the way there and back. */
#include "tap.h"
#include "text-dump.h"

static u64 bad, rounded;
static double weight_scale;
static bool two_columns, annotated;

/* Lines "frame;frame count[/base]"; each way of reading must say the same. */
static const char *read_folded(const char *text, size_t n)
{
	static const struct perf_opts ways[] = {
		{ .threads = 1 },
		{ .threads = 1, .piece = 16 },
		{ .threads = 3, .piece = 64 },
	};
	static struct buf first;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		struct perf_opts opts = ways[i];
		struct buf b = BUF_INIT, *out = i ? &b : &first;
		struct error err = { "" };
		struct perf_reader *r;
		struct perf_item it;
		struct strtab st;
		struct diag diag;
		char path[64];
		int fd = memory_file(text, n, path);

		opts.format = "folded";
		strtab_init(&st);
		diag_init(&diag);
		buf_clear(out);
		r = perf_open(path, &opts, &st, &diag, &err);
		if (!r) {
			printf("# %s\n", err.msg);
			buf_puts(out, "error");
		}
		while (r && perf_next(r, &it, &err) > 0) {
			const struct perf_sample *s = &it.sample;
			u32 k;

			for (k = s->chain_nr; k-- > 0;) {
				dump_frame(out, r, &st, perf_text_id(r, s->frames[k]), 0);
				buf_putc(out, k ? ';' : ' ');
			}
			if (perf_meta(r)->two_columns)
				buf_printf(out, "%" PRIu64 "/", s->base_count);
			buf_u128(out, (perf_meta(r)->two_columns ? 0 : (u128)s->count_high << 64) |
					      s->count);
			buf_putc(out, '\n');
		}
		if (r) {
			weight_scale = perf_meta(r)->weight_scale;
			two_columns = perf_meta(r)->two_columns;
			annotated = perf_meta(r)->annotated;
		}
		bad = diag_count(&diag, DIAG_BAD_LINE);
		rounded = diag_count(&diag, DIAG_NOTE);
		perf_close(r);
		diag_release(&diag);
		strtab_release(&st);
		close(fd);
		if (i)
			STR_EQ(buf_str(&b), buf_str(&first));
		buf_release(&b);
	}
	return buf_str(&first);
}

#define READ(text) read_folded(text, strlen(text))

static void test_numbers(void)
{
	STR_EQ(READ("a;b 1\na;b;c 2\na 3\n"), "a;b 1\na;b;c 2\na 3\n");
	STR_EQ(READ("a;b 1"), "a;b 1\n");
	STR_EQ(READ("a;b 1\r\na;c 2\r\n"), "a;b 1\na;c 2\n");
	STR_EQ(READ("# title\na;b 1\n\n#x 5\na;c\t2\n"), "a;b 1\na;c 2\n");
	STR_EQ(READ("\xef\xbb\xbf"
		    "a;b 1\n"),
	       "a;b 1\n");
	STR_EQ(READ("a;b 18446744073709551615\n"), "a;b 18446744073709551615\n");
	EQ(bad, 0);
	STR_EQ(READ("a;b\na;c -1\na;d x\na;e 1\n"), "a;e 1\n");
	EQ(bad, 3);
	/* Decimals: one scale for the file, exact. */
	STR_EQ(READ("a;b 1\na;c 2.25\na;d 0.5\n"), "a;b 100\na;c 225\na;d 50\n");
	OK(weight_scale == 100);
	STR_EQ(READ("a;b 1.0\na;c 2.\n"), "a;b 1\na;c 2\n");
	OK(weight_scale == 1);
	STR_EQ(READ("a;b 1e3\na;c 25e-1\n"), "a;b 10000\na;c 25\n");
	OK(weight_scale == 10);
	/* More than there is room for: rounded, and told. */
	STR_EQ(READ("a;b 0.0000000004\na;c 0.0000000006\na;d 2\n"),
	       "a;b 0\na;c 1\na;d 2000000000\n");
	EQ(rounded, 2);
	STR_EQ(READ("a;b 18446744073709551614\na;c 0.5\n"), "a;b 18446744073709551614\na;c 1\n");
	OK(weight_scale == 1);
}

/* 2^128 - 1 is the last number of a line. */
#define MOST "340282366920938463463374607431768211455"

static void test_wide_numbers(void)
{
	STR_EQ(READ("a 18446744073709551616\na 18446744073709551616\nb 1\n"),
	       "a 18446744073709551616\na 18446744073709551616\nb 1\n");
	STR_EQ(READ("a 170141183460469231731687303715884105728\na " MOST "\na 000" MOST "\n"),
	       "a 170141183460469231731687303715884105728\na " MOST "\na " MOST "\n");
	EQ(bad, 0);
	STR_EQ(READ("a 340282366920938463463374607431768211456\na 1e39\na 2" MOST "\n"
		    "a " MOST "x\na " MOST ".5\na 184467440737095516160e\nb 7\n"),
	       "b 7\n");
	EQ(bad, 6);
	EQ(rounded, 0);
	/* With an exponent, exact as well; 2^64 + 1 and the same with more digits. */
	STR_EQ(READ("a 1e38\na 1.8446744073709551617e19\na 1.00000000000000000001e20\n"
		    "a 184467440737095516170000000e-7\n"),
	       "a 100000000000000000000000000000000000000\na 18446744073709551617\n"
	       "a 100000000000000000001\na 18446744073709551617\n");
	EQ(bad + rounded, 0);
	OK(weight_scale == 1);
	/* A digit that would fit behind one that does not. */
	STR_EQ(READ("a 1.84467440737095516190e19\n"), "a 18446744073709551619\n");
	/* What a small number has too many of are decimals. */
	STR_EQ(READ("a 18446744073709551616e-3\n"), "a 1844674407370955161\n");
	OK(weight_scale == 100);
	/* Beside such numbers there are no decimals: rounded, and told. */
	STR_EQ(READ("a 18446744073709551616.5\na 36893488147419103232.49\na 1.5\na 0.4\n"
		    "a 100000000000000000000000000000000000000.7\na " MOST ".4\n"),
	       "a 18446744073709551617\na 36893488147419103232\na 2\na 0\n"
	       "a 100000000000000000000000000000000000001\na " MOST "\n");
	EQ(bad, 0);
	EQ(rounded, 6);
	OK(weight_scale == 1);
	/* So is what has more digits than fit, but not zeros. */
	STR_EQ(READ("a 18446744073709551615.9\na 18446744073709551614.4\n"
		    "a 1844674407370955161.99\na 1.0000000000000000000000000000000000000000000\n"),
	       "a 18446744073709551616\na 18446744073709551614\na 1844674407370955162\na 1\n");
	EQ(rounded, 3);
	STR_EQ(READ("a 0.12345678949999999999999\na 0.1234567895000000000000001\n"),
	       "a 123456789\na 123456790\n");
	EQ(rounded, 2);
	/* Two columns end at 64 bits. */
	STR_EQ(READ("a 18446744073709551616 1\na 2 " MOST "\na 3 4\n"),
	       "a 18446744073709551615/1\na 2/18446744073709551615\na 3/4\n");
	OK(two_columns);
	EQ(bad, 0);
}

static void test_columns(void)
{
	STR_EQ(READ("a;b 1 2\na;c 3 0\n"), "a;b 1/2\na;c 3/0\n");
	OK(two_columns);
	STR_EQ(READ("a;b 1.5 2\na;c 3 0\n"), "a;b 15/20\na;c 30/0\n");
	/* One line without makes the numbers part of the names. */
	STR_EQ(READ("a;b 1 2\na;c 3\n"), "a;b 1 2\na;c 3\n");
	OK(!two_columns);
	STR_EQ(READ("1 2\n"), "1 2\n");
	OK(!two_columns);
}

static void test_names(void)
{
	STR_EQ(READ("my prog;operator new(unsigned long);a b 7\n"),
	       "my prog;operator new(unsigned long);a b 7\n");
	STR_EQ(READ("a;;b 1\n"), "a;[unknown];b 1\n");
	STR_EQ(READ("a;b%3bc 1\n"), "a;b;c 1\n");
	STR_EQ(READ("a;100%;50%x 1\n"), "a;100%;50%x 1\n");
	OK(!annotated);
	/* Marks give spaces; the first frame is the comm, whatever it ends in. */
	STR_EQ(READ("a_[k];f_[k];g_[i];h_[h];j_[j];u_[x] 1\n"), "a_[k];f;g;h;j;u_[x] 1\n");
	OK(annotated);
	STR_EQ(READ("a;h_[h] 1\n"), "a;h 1\n");
	OK(!annotated);
	/* What lines have in common is not read again. */
	STR_EQ(READ("a;bc;d 1\na;bc;d;e 2\na;bc;de 3\na;bcd 4\na;bc 5\na 6\na;bc;d 7\nab;bc 8\n"),
	       "a;bc;d 1\na;bc;d;e 2\na;bc;de 3\na;bcd 4\na;bc 5\na 6\na;bc;d 7\nab;bc 8\n");
}

static void test_spaces(void)
{
	static const char text[] = "a_[k];f_[k];g_[i];h_[h];j_[j] 1\n";
	struct perf_opts opts = { .threads = 1 };
	struct error err = { "" };
	struct buf b = BUF_INIT;
	struct diag diag;

	diag_init(&diag);
	EQ(dump_memory(text, sizeof(text) - 1, &opts, DUMP_ALL, &b, NULL, &diag, &err), 0);
	STR_EQ(buf_str(&b),
	       "a_[k]{none root};f{kernel};g{user inlined};h{hypervisor};j{user jit} 1\n");
	diag_release(&diag);
	buf_release(&b);
}

/* Names of any bytes come back from the escape that the writer uses. */
static void test_any_bytes(void)
{
	struct buf text = BUF_INIT, expect = BUF_INIT, name = BUF_INIT;
	u32 seed = 1, i, j, k, n;
	const char *got;

	for (i = 0; i < 400; i++) {
		u32 frames = 1 + i % 4;

		for (j = 0; j < frames; j++) {
			buf_clear(&name);
			n = 1 + i % 7;
			for (k = 0; k < n; k++) {
				static const char odd[] = ";; \t\r\n%#0123.e-\x7f\xff\xc3\xa9_[kh]";

				seed = seed * 1103515245 + 12345;
				buf_putc(&name, (seed >> 16) % 3
							? odd[(seed >> 18) % (sizeof(odd) - 1)]
							: (char)(1 + (seed >> 18) % 255));
			}
			buf_putc(&name, 'z'); /* no mark at the end: that would be read as one */
			if (i & 1)
				buf_puts(&name, " 12");
			if (j) {
				buf_putc(&text, ';');
				buf_putc(&expect, ';');
			}
			folded_escape(&text, name.p, name.n);
			buf_put(&expect, name.p, name.n);
		}
		buf_printf(&text, " %u\n", i);
		buf_printf(&expect, " %u\n", i);
	}
	got = read_folded(text.p, text.n);
	EQ(bad, 0);
	OK(!two_columns);
	STR_EQ(got, buf_str(&expect));
	/* What others do with it: one count behind the last blank, as many semicolons as before. */
	OK(utf8_valid(text.p, text.n));
	buf_release(&text);
	buf_release(&expect);
	buf_release(&name);
}

static void test_probe(void)
{
	static const struct {
		const char *text, *format;
	} cases[] = {
		{ "a;b 1\na;c 2\n", "folded" },
		{ "idle 12\n", "folded" },
		{ "# x\na;b 1 2\n", "folded" },
		{ "a 1 1.000000: 1 e: \n\t 10 f (/x)\n", "perf script" },
		{ "\tffffffff81650989\n\t 20b1d\n\n", "perf script" },
		{ " ffffffff81650989 f\n     55fd37024326 g (/x)\n", "perf script" },
		{ "hello world\nthis is a letter\n", "error" },
		{ "a;b\na;c\n", "error" },
		{ "{\"x\": 1}\n", "error" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err = { "" };
		struct perf_reader *r;
		struct strtab st;
		struct diag diag;
		char path[64];
		int fd = memory_file(cases[i].text, strlen(cases[i].text), path);

		strtab_init(&st);
		diag_init(&diag);
		r = perf_open(path, NULL, &st, &diag, &err);
		STR_EQ(r ? perf_meta(r)->format : "error", cases[i].format);
		perf_close(r);
		diag_release(&diag);
		strtab_release(&st);
		close(fd);
	}
}

int main(void)
{
	test_numbers();
	test_wide_numbers();
	test_columns();
	test_names();
	test_spaces();
	test_any_bytes();
	test_probe();
	return tap_done();
}
