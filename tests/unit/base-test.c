/* SPDX-License-Identifier: GPL-2.0-or-later */
/* base: every primitive at its edges. */
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/tap.h"

static void test_arena(void)
{
	struct arena a;
	char *p, *q;

	arena_init(&a);
	p = arena_strndup(&a, "abc", 2);
	STR_EQ(p, "ab");
	q = arena_zalloc(&a, 1000000);
	EQ(q[0], 0);
	EQ(q[999999], 0);
	STR_EQ(p, "ab");
	EQ((uintptr_t)arena_alloc(&a, 1) % sizeof(max_align_t), 0);
	arena_clear(&a);
	EQ(a.total, 0);
	p = arena_strndup(&a, "", 0);
	STR_EQ(p, "");
	arena_release(&a);
}

static void test_common(void)
{
	char a[40], b[40];
	size_t n, i, wrong = 0;

	EQ(mem_common(NULL, "", 0), 0);
	memset(a, 'x', sizeof(a));
	for (n = 0; n <= sizeof(a); n++)
		for (i = 0; i < sizeof(a); i++) {
			memcpy(b, a, sizeof(a));
			b[i] = 'y';
			wrong += mem_common(a, b, n) != MIN(n, i);
		}
	EQ(wrong, 0);
}

static void test_strtab(void)
{
	struct strtab t;
	str_id first, id;
	char name[32];
	u32 i, wrong = 0;

	strtab_init(&t);
	EQ(strtab_add(&t, "", 0), 0);
	first = strtab_adds(&t, "do_mmu_update");
	EQ(strtab_add(&t, "do_mmu_update_x", 13), first);
	EQ(strtab_find(&t, "do_mmu_update", 13), first);
	EQ(strtab_find(&t, "absent", 6), 0);
	for (i = 0; i < 100000; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		id = strtab_adds(&t, name);
		wrong += strcmp(strtab_get(&t, id), name) != 0;
	}
	EQ(wrong, 0);
	EQ(strtab_find(&t, "f99999", 6), id);
	id = strtab_add(&t, "a\0b", 3);
	EQ(strtab_len(&t, id), 3);
	OK(strtab_add(&t, "a", 1) != id);
	id = strtab_addf(&t, "%0300d", 7);
	EQ(strtab_len(&t, id), 300);
	strtab_release(&t);
}

/* Each byte, the number of bytes and the seed count in both halves. */
static void check_hash(u64 (*hash)(const void *, size_t, u64, u64 *))
{
	u64 check, other, same = 0;
	u8 bytes[201] = { 0 };
	size_t n, i;

	for (n = 1; n < sizeof(bytes); n++) {
		u64 first = hash(bytes, n, 1, &check);

		same += first == check;
		same += first == hash(bytes, n + 1, 1, &other);
		same += check == other;
		same += first == hash(bytes, n, 2, &other);
		same += check == other;
		for (i = 0; i <= n; i++) {
			bytes[i] ^= 1;
			/* What is behind them does not. */
			if (i == n) {
				EQ(hash(bytes, n, 1, &other), first);
				EQ(other, check);
			} else {
				same += first == hash(bytes, n, 1, &other);
				same += check == other;
			}
			bytes[i] ^= 1;
		}
	}
	EQ(same, 0);
}

static int cmp_u64(const void *pa, const void *pb)
{
	u64 a = *(const u64 *)pa, b = *(const u64 *)pb;

	return (a > b) - (a < b);
}

/* Chains of 4 to 9 ids out of four that are much alike: no two have the same hash or check. */
static void check_chains(u64 (*hash)(const void *, size_t, u64, u64 *))
{
	VEC(u64) hashes = { 0 }, checks = { 0 };
	u32 chain[9], n, k, same = 0;
	u64 check, i;

	for (n = 4; n <= 9; n++)
		for (i = 0; i < 1ULL << 2 * n; i++) {
			for (k = 0; k < n; k++)
				chain[k] = 32 + 4 * (u32)(i >> 2 * k & 3);
			vec_push(&hashes, hash(chain, n * sizeof(*chain), 3, &check));
			vec_push(&checks, check);
		}
	qsort(hashes.v, hashes.n, sizeof(*hashes.v), cmp_u64);
	qsort(checks.v, checks.n, sizeof(*checks.v), cmp_u64);
	for (i = 1; i < hashes.n; i++)
		same += (hashes.v[i] == hashes.v[i - 1]) + (checks.v[i] == checks.v[i - 1]);
	EQ(same, 0);
	vec_release(&hashes);
	vec_release(&checks);
}

static void test_hash(void)
{
	check_chains(hash_bytes_checked);
	check_chains(hash_bytes_checked_portable);
	check_hash(hash_bytes_checked);
	check_hash(hash_bytes_checked_portable);
}

static void test_buf(void)
{
	static const struct {
		double v;
		int digits;
		const char *s;
	} f[] = {
		{ 0, 2, "0" },
		{ 1.5, 2, "1.5" },
		{ 1.005, 1, "1" },
		{ -0.001, 2, "0" },
		{ -0.25, 2, "-0.25" },
		{ 99.995, 2, "100" },
		{ 1e12, 3, "1000000000000" },
		{ 0.0625, 4, "0.0625" },
		{ 12.3456789, 0, "12" },
		{ 0.05, 1, "0.1" },
		{ 1.0 / 0.0, 1, "1800000000000000000" },
	};
	struct buf b = BUF_INIT;
	size_t i;

	buf_u64(&b, 0);
	buf_putc(&b, ' ');
	buf_u64(&b, UINT64_MAX);
	buf_putc(&b, ' ');
	buf_hex(&b, 0xffff82d040200000ULL);
	buf_printf(&b, " %0200d", 1);
	EQ(b.n, 2 + 20 + 1 + 16 + 201);
	OK(!strncmp(buf_str(&b), "0 18446744073709551615 ffff82d040200000 0000", 44));
	buf_clear(&b);
	buf_u128(&b, 0);
	buf_u128(&b, UINT64_MAX);
	STR_EQ(buf_str(&b), "018446744073709551615");
	buf_clear(&b);
	buf_u128(&b, (u128)1 << 64);
	buf_u128(&b, ~(u128)0);
	STR_EQ(buf_str(&b), "18446744073709551616340282366920938463463374607431768211455");
	for (i = 0; i < ARRAY_SIZE(f); i++) {
		buf_clear(&b);
		buf_f(&b, f[i].v, f[i].digits);
		STR_EQ(buf_str(&b), f[i].s);
	}
	buf_clear(&b);
	buf_f(&b, 0.0 / 0.0, 1);
	STR_EQ(buf_str(&b), "0");
	buf_release(&b);
}

static void test_cursor(void)
{
	static const u8 bytes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 'a', 'b', 0, 'c' };
	struct cursor c;
	size_t len;
	const char *s;

	cursor_init(&c, bytes, sizeof(bytes), false);
	EQ(cursor_u16(&c), 0x0201);
	EQ(cursor_u16(&c), 0x0403);
	EQ(cursor_u32(&c), 0x08070605);
	s = cursor_str(&c, &len);
	EQ(len, 2);
	STR_EQ(s, "ab");
	cursor_str(&c, &len);
	EQ(len, 1);
	EQ(cursor_left(&c), 0);
	OK(!c.bad);
	EQ(cursor_u8(&c), 0);
	OK(c.bad);
	cursor_init(&c, bytes, 8, true);
	EQ(cursor_u64(&c), 0x0102030405060708ULL);
	cursor_init(&c, bytes, 8, true);
	EQ(cursor_u32(&c), 0x01020304);
	OK(!cursor_bytes(&c, SIZE_MAX));
	OK(c.bad);
	EQ(cursor_u8(&c), 0);
	EQ(cursor_left(&c), 4);
}

static void test_text(void)
{
	const char *s = "18446744073709551615x", *end = s + strlen(s), *p = s;
	u64 v = 0;
	u32 cp = 0;

	EQ(parse_dec(&p, end, &v), 0);
	EQ(v, UINT64_MAX);
	EQ(*p, 'x');
	EQ(parse_dec(&p, end, &v), -1);
	s = p = "18446744073709551616";
	EQ(parse_dec(&p, s + strlen(s), &v), -1);
	OK(p == s);
	s = p = "ffff82D040200000 ";
	EQ(parse_hex(&p, s + strlen(s), &v), 0);
	EQ(v, 0xffff82d040200000ULL);
	EQ(*p, ' ');
	s = p = "0123456789abcdef";
	EQ(parse_hex(&p, s + strlen(s), &v), 0);
	EQ(v, 0x123456789abcdefULL);
	OK(p == s + 16);
	s = p = "00000000000000012"; /* a digit more, but no greater number */
	EQ(parse_hex(&p, s + strlen(s), &v), 0);
	EQ(v, 0x12);
	s = p = "12345 789abcdef0"; /* digits where a longer number would have them */
	EQ(parse_hex(&p, s + strlen(s), &v), 0);
	EQ(v, 0x12345);
	OK(p == s + 5);
	s = p = "123456789a:cdef0";
	EQ(parse_hex(&p, s + strlen(s), &v), 0);
	EQ(v, 0x123456789aULL);
	EQ(*p, ':');
	s = p = "x23456789abcdef0";
	EQ(parse_hex(&p, s + strlen(s), &v), -1);
	OK(p == s);
	s = p = "10000000000000000";
	EQ(parse_hex(&p, s + strlen(s), &v), -1);

	OK(utf8_valid("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x94\xa5", 10));
	OK(!utf8_valid("\xad", 1));
	OK(!utf8_valid("\xc0\x80", 2)); /* overlong */
	OK(!utf8_valid("\xe0\x80\x80", 3));
	OK(!utf8_valid("\xed\xa0\x80", 3));     /* surrogate */
	OK(!utf8_valid("\xf4\x90\x80\x80", 4)); /* above U+10FFFF */
	OK(!utf8_valid("\xe2\x82", 2));
	EQ(utf8_next("\xe2\x82\xac", 3, &cp), 3);
	EQ(cp, 0x20ac);
}

static void test_json(void)
{
	char unsafe[] = "a\x1b[31m\x7f"
			"b\xc2\x9bm\xc3\xa4\xe2\x80\xae"
			"c\xff";
	struct buf b = BUF_INIT;

	buf_json(&b, "", 0);
	STR_EQ(buf_str(&b), "\"\"");
	buf_clear(&b);
	buf_json(&b, "a\"b\\c\n\t\x1b\x7f</script>\0z", 20);
	STR_EQ(buf_str(&b), "\"a\\\"b\\\\c\\n\\t\\u001b\\u007f\\u003c/script>\\u0000z\"");
	buf_clear(&b);
	buf_json(&b, "\xc3\xa4\xad\xe2\x80\xa8\xe2\x80\xf0\x9f\x94\xa5\xed\xa0\x80", 15);
	STR_EQ(buf_str(&b), "\"\xc3\xa4\xef\xbf\xbd\\u2028\xef\xbf\xbd\xef\xbf\xbd\xf0\x9f\x94\xa5"
			    "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
	buf_clear(&b);
	buf_utf8(&b, "<\"\\\x01\xff\xe2\x82\xac", 8);
	STR_EQ(buf_str(&b), "<\"\\\x01\xef\xbf\xbd\xe2\x82\xac");
	buf_clear(&b);
	/* ESC, DEL, the control characters above 0x7f, and what turns the direction of text */
	buf_safe(&b, unsafe, strlen(unsafe));
	STR_EQ(buf_str(&b), "a?[31m?b?m\xc3\xa4?c\xef\xbf\xbd");
	make_safe(unsafe);
	STR_EQ(unsafe, "a?[31m?b?m\xc3\xa4?c?");
	buf_release(&b);
}

static void test_folded(void)
{
	static const struct {
		const char *plain, *folded;
	} names[] = {
		{ "do_IRQ", "do_IRQ" },
		{ "operator new", "operator new" },
		{ "a;b", "a%3bb" },
		{ "a\nb\tc\r", "a%0ab%09c%0d" },
		{ "x 12", "x%2012" },
		{ "x 1 2", "x 1%202" },
		{ "x ", "x%20" },
		{ " x", "%20x" },
		{ "# x", "%23 x" },
		{ "#1 x", "%231 x" },
		{ "x#1", "x#1" },
		{ "100%", "100%" },
		{ "50%25", "50%2525" },
		{ "%zz%4", "%zz%4" },
		{ "\xad\xc3\xa4", "%ad\xc3\xa4" },
		{ "v 1.5e-3", "v%201.5e-3" },
		{ "12", "12" },
		{ "", "" },
		{ "\x7f", "%7f" },
		{ "operator()(int, long)", "operator()(int, long)" },
	};
	struct buf b = BUF_INIT, back = BUF_INIT;
	u32 i, k, wrong = 0;
	char any[3];

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		buf_clear(&b);
		folded_escape(&b, names[i].plain, strlen(names[i].plain));
		STR_EQ(buf_str(&b), names[i].folded);
	}
	/* Every pair of bytes after a `%`, and alone, comes back as it was, without a byte of the
	 * format's own. */
	for (i = 0; i < 65536; i++)
		for (k = 0; k < 2; k++) {
			any[0] = '%';
			any[1] = (char)(i >> 8);
			any[2] = (char)i;
			buf_clear(&b);
			buf_clear(&back);
			folded_escape(&b, any + k, sizeof(any) - k);
			folded_unescape(&back, b.p, b.n);
			wrong += back.n != sizeof(any) - k || memcmp(back.p, any + k, back.n) ||
				 !utf8_valid(b.p, b.n) || memchr(b.p, ';', b.n) ||
				 memchr(b.p, '\n', b.n);
		}
	EQ(wrong, 0);
	buf_release(&b);
	buf_release(&back);
}

static void test_space(void)
{
	OK(space_is_hv_reserved(0xffff800000000000ULL));
	OK(space_is_hv_reserved(0xffff87ffffffffffULL));
	OK(!space_is_hv_reserved(0xffff7fffffffffffULL));
	OK(!space_is_hv_reserved(0xffff880000000000ULL));
	OK(!space_is_hv_reserved(0xffffffff81000000ULL));
	OK(space_is_hv_text(0xffff82d040200000ULL));
	OK(!space_is_hv_text(0xffff82d03fffffffULL));
	OK(space_is_hv_text(0xffff82d0bfffffffULL));
	OK(!space_is_hv_text(0xffff82d0c0000000ULL));
}

static void test_plural(void)
{
	struct buf one = BUF_INIT, two = BUF_INIT;
	struct diag d;
	char *digit;
	u32 i;

	buf_plural(&one, "%n box{ is|es are} in %s{|s}; ", 1, "a");
	buf_plural(&one, "%n box{ is|es are} in %s{|s}; ", 2, "b");
	buf_plural(&one, "%n box{ is|es are} in %s{|s}", 0, "c");
	STR_EQ(buf_str(&one), "1 box is in a; 2 boxes are in bs; 0 boxes are in cs");
	/* Every line with a number says of one thing something else than of two. */
	for (i = 0; i < DIAG_NR; i++) {
		diag_init(&d);
		diag_add(&d, (enum diag_kind)i, 1, "x");
		diag_add(&d, (enum diag_kind)i, 2, "x ");
		buf_clear(&one);
		buf_clear(&two);
		diag_format(&d, &d.entries.v[0], &one);
		diag_format(&d, &d.entries.v[1], &two);
		OK(!strpbrk(buf_str(&one), "{}|") && !strpbrk(buf_str(&two), "{}|"));
		digit = strchr(one.p, '1');
		if (digit && strchr("2", buf_str(&two)[digit - one.p])) {
			*digit = '2';
			OK(strncmp(one.p, two.p, strcspn(one.p, ";(")) != 0);
		}
		diag_release(&d);
	}
	buf_release(&one);
	buf_release(&two);
}

static void test_diag(void)
{
	struct buf b = BUF_INIT;
	struct diag d;
	u32 i;

	diag_init(&d);
	diag_add(&d, DIAG_LOST, 3, NULL);
	diag_add(&d, DIAG_LOST, 4, "");
	EQ(diag_count(&d, DIAG_LOST), 7);
	EQ(d.entries.n, 1);
	diag_format(&d, &d.entries.v[0], &b);
	OK(!strncmp(buf_str(&b), "7 samples were lost", 19));
	OK(diag_is_strict(DIAG_LOST));
	OK(!diag_is_strict(DIAG_NOTE));
	for (i = 0; i < 1000; i++)
		diag_addf(&d, DIAG_UNRESOLVED_USER, 1, "m%u\n", i);
	diag_add(&d, DIAG_BAD_LINE, 2, "'f': line 1");
	diag_add(&d, DIAG_BAD_LINE, 3, NULL);
	EQ(d.entries.v[d.entries.n - 1].count, 5);
	EQ(diag_count(&d, DIAG_UNRESOLVED_USER), 1000);
	OK(d.entries.n < 100);
	STR_EQ(strtab_get(&d.strings, d.entries.v[1].subject), "m0?");
	for (i = 0; i < DIAG_NR; i++)
		OK(diag_name((enum diag_kind)i) != NULL);
	diag_release(&d);
	buf_release(&b);
}

static void test_out(void)
{
	char dir[] = "xenflame-test-XXXXXX", *path, *missing;
	struct error err = { "" };
	struct file_map m;
	struct out o;
	u32 i;

	OK(mkdtemp(dir) != NULL);
	path = path_join(dir, "f");
	EQ(out_open(&o, path, &err), 0);
	out_puts(&o, "old");
	EQ(out_close(&o, &err), 0);

	EQ(out_open(&o, path, &err), 0);
	for (i = 0; i < 300000; i++)
		out_puts(&o, "xy");
	out_abort(&o);
	EQ(file_map_open(&m, path, 0, &err), 0);
	EQ(m.n, 3);
	OK(!memcmp(m.p, "old", 3));
	file_map_close(&m);

	EQ(out_open(&o, path, &err), 0);
	for (i = 0; i < 300000; i++)
		out_puts(&o, "xy");
	EQ(out_close(&o, &err), 0);
	EQ(file_map_open(&m, path, 0, &err), 0);
	EQ(m.n, 600000);
	file_map_close(&m);
	EQ(file_map_open(&m, path, 599999, &err), -1);
	OK(strstr(err.msg, "larger than") != NULL);
	err.msg[0] = '\0';
	unlink(path);

	EQ(file_map_open(&m, dir, 0, &err), -1);
	OK(strstr(err.msg, "directory") != NULL);
	err.msg[0] = '\0';
	missing = path_join(dir, "no/such");
	EQ(out_open(&o, missing, &err), -1);
	OK(strstr(err.msg, missing) != NULL);
	EQ(rmdir(dir), 0); /* nothing is left over */
	free(missing);
	free(path);
}

static void test_error(void)
{
	struct error err = { "" };

	EQ(error_set(&err, "'%s': bad\n", "f\x1b[31m"), -1);
	STR_EQ(err.msg, "'f?[31m': bad?");
	error_set(&err, "second");
	STR_EQ(err.msg, "'f?[31m': bad?");
	EQ(error_set(NULL, "x"), -1);
}

/* Right answers: FIPS 180-4's examples and sha256sum. */
static void test_sha256(void)
{
	static const struct {
		const char *text;
		size_t times;
		const char *sum;
	} cases[] = {
		{ "", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ "abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
		  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
		{ "a", 1000000,
		  "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0" },
	};
	char hex[65];
	u8 sum[32];
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf b = BUF_INIT;

		for (k = 0; k < cases[i].times; k++)
			buf_puts(&b, cases[i].text);
		sha256(b.p, b.n, sum);
		build_id_hex(sum, sizeof(sum), hex);
		STR_EQ(hex, cases[i].sum);
		buf_release(&b);
	}
}

/* Test vectors of RFC 4648. */
static void test_base64(void)
{
	static const char *const want[] = { "",         "Zg==",     "Zm8=",    "Zm9v",
					    "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy" };
	struct buf b = BUF_INIT;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(want); i++) {
		buf_clear(&b);
		buf_base64(&b, "foobar", i);
		STR_EQ(buf_str(&b), want[i]);
	}
	buf_clear(&b);
	buf_base64(&b, "\x00\xff\xfe\xfb", 4);
	STR_EQ(buf_str(&b), "AP/++w==");
	buf_release(&b);
}

/* Examples of protobuf.dev's page on the encoding, and what is none. */
static void test_protobuf(void)
{
	static const char *const bad[] = { "\x08", "\x08\x80",  "\x00",
					   "\x0b", "\x12\x02x", "\x0d\1\2\3" };
	struct buf b = BUF_INIT;
	struct pb_field f;
	struct pb_part p;
	size_t i;
	u64 v;

	pb_put_number(&b, 1, 150);
	pb_put_number(&b, 2, 0);
	pb_put_bytes(&b, 2, "testing", 7);
	pb_put_fixed64(&b, 3, 0x0102030405060708);
	pb_put_fixed64(&b, 3, 0);
	pb_put_number(&b, 16, UINT64_MAX);
	EQ(b.n, 3 + 9 + 9 + 12);
	OK(!memcmp(b.p, "\x08\x96\x01\x12\x07testing\x19\x08\x07\x06\x05\x04\x03\x02\x01", 21));
	p = (struct pb_part){ (const u8 *)b.p, b.n };
	OK(pb_take(&p, &f) == 1 && f.number == 1 && f.wire == 0 && f.value == 150);
	OK(pb_take(&p, &f) == 1 && f.number == 2 && f.wire == 2 && f.bytes.n == 7);
	OK(pb_take(&p, &f) == 1 && f.number == 3 && f.wire == 1 && f.value == 0x0102030405060708);
	OK(pb_take(&p, &f) == 1 && f.number == 16 && f.wire == 0 && f.value == UINT64_MAX);
	EQ(pb_take(&p, &f), 0);
	for (i = 0; i < b.n; i++) {
		int rc;

		/* Cut short anywhere: the end of a field, or no message. */
		p = (struct pb_part){ (const u8 *)b.p, i };
		while ((rc = pb_take(&p, &f)) > 0)
			;
		EQ(rc, i == 0 || i == 3 || i == 12 || i == 21 ? 0 : -1);
	}
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		p = (struct pb_part){ (const u8 *)bad[i], i == 2 ? 1 : strlen(bad[i]) };
		EQ(pb_take(&p, &f), -1);
	}
	p = (struct pb_part){ (const u8 *)"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10 };
	OK(!pb_take_varint(&p, &v));
	buf_release(&b);
}

static void *read_end(void *p)
{
	const struct file_map *m = p;
	const volatile u8 *last = m->p + m->n - 1;

	return *last ? p : NULL;
}

/* In a process of its own: reads a file that has become shorter, here or in a thread. */
static _Noreturn void read_shortened(const char *path, bool in_thread)
{
	char made[] = "/tmp/xenflame-base-XXXXXX";
	struct file_map m;
	pthread_t t;

	file_map_guard();
	if (temp_file(made, 0) < 0 || truncate(path, 1 << 20) || file_map_open(&m, path, 0, NULL) ||
	    truncate(path, 0))
		_exit(3);
	printf("%s", made);
	fflush(stdout);
	if (!in_thread)
		read_end(&m);
	else if (!thread_start(&t, read_end, &m))
		pthread_join(t, NULL);
	_exit(4);
}

static void test_shortened(void)
{
	char path[] = "/tmp/xenflame-base-XXXXXX", told[512];
	int fd = mkstemp(path), out[2], status, i;
	ssize_t n, all;
	pid_t pid;

	OK(fd >= 0);
	for (i = 0; i < 2; i++) {
		if (!OK(!pipe(out)))
			return;
		fflush(stdout);
		pid = fork();
		if (!pid) {
			dup2(out[1], STDOUT_FILENO);
			dup2(out[1], STDERR_FILENO);
			read_shortened(path, i);
		}
		close(out[1]);
		for (all = 0; (n = read(out[0], told + all, sizeof(told) - 1 - (size_t)all)) > 0;)
			all += n;
		told[all] = '\0';
		close(out[0]);
		EQ(waitpid(pid, &status, 0), pid);
		OK(WIFEXITED(status));
		EQ(WEXITSTATUS(status), 1);
		OK(strstr(told, "became shorter"));
		/* What no signal may leave behind is gone, too. */
		told[strlen(path)] = '\0';
		OK(strstr(told, "/tmp/xenflame-base-") == told && access(told, F_OK));
	}
	close(fd);
	unlink(path);
}

int main(void)
{
	test_arena();
	test_common();
	test_strtab();
	test_hash();
	test_buf();
	test_cursor();
	test_text();
	test_json();
	test_folded();
	test_space();
	test_plural();
	test_diag();
	test_out();
	test_error();
	test_sha256();
	test_protobuf();
	test_base64();
	test_shortened();
	return tap_done();
}
