/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jit-PID.dump: files made byte by byte here, in both byte orders. */
#include <stdlib.h>
#include <unistd.h>

#include "symbolize/symfile.h"
#include "tests/unit/tap.h"

#define PID 4711

static struct strtab strings;
static struct diag diag;
static struct symfile_opts opts = { .strings = &strings, .diag = &diag };
static char path[] = "/tmp/xenflame-jitdump-XXXXXX";

/* The file that is being made, its byte order, and where the record that is being made begins. */
static struct buf file;
static bool big;
static size_t record;

static void put(u64 v, int bytes)
{
	int i;

	for (i = 0; i < bytes; i++)
		buf_putc(&file, (char)(v >> 8 * (big ? bytes - 1 - i : i)));
}

static void put_str(const char *s)
{
	buf_put(&file, s, strlen(s) + 1);
}

static void set32(size_t at, u32 v)
{
	size_t n = file.n;

	file.n = at;
	put(v, 4);
	file.n = n;
}

static void header_of(u32 version, u32 size)
{
	buf_clear(&file);
	put(0x4a695444, 4);
	put(version, 4);
	put(size, 4);
	put(62, 4);
	put(0, 4);
	put(PID, 4);
	put(1000, 8);
	put(0, 8);
}

static void begin(u32 id)
{
	record = file.n;
	put(id, 4);
	put(0, 4);
	put(2000, 8);
}

static void finish(void)
{
	set32(record + 4, (u32)(file.n - record));
}

static void load_of(u32 pid, u64 addr, u64 size, u64 code_index, const char *name)
{
	u64 i;

	begin(0);
	put(pid, 4);
	put(pid + 1, 4);
	put(addr, 8);
	put(addr, 8);
	put(size, 8);
	put(code_index, 8);
	put_str(name);
	for (i = 0; i < size; i++)
		buf_putc(&file, (char)0xcc);
	finish();
}

static void load(u64 addr, u64 size, u64 code_index, const char *name)
{
	load_of(PID, addr, size, code_index, name);
}

static void move(u64 from, u64 to, u64 size, u64 code_index)
{
	begin(1);
	put(PID, 4);
	put(PID, 4);
	put(to, 8);
	put(from, 8);
	put(to, 8);
	put(size, 8);
	put(code_index, 8);
	finish();
}

static void debug_begin(u64 addr, u64 count)
{
	begin(2);
	put(addr, 8);
	put(count, 8);
}

static void debug_entry(u64 addr, u32 line, const char *name)
{
	put(addr, 8);
	put(line, 4);
	put(0, 4);
	put_str(name);
}

static struct symfile *open_bytes(const char *p, size_t n, struct error *err)
{
	FILE *f = fopen(path, "w");

	if (!f || fwrite(p, 1, n, f) != n || fclose(f))
		printf("Bail out! cannot write %s\n", path);
	err->msg[0] = '\0';
	return symfile_open_jitdump(path, &opts, err);
}

static struct symfile *open_made(void)
{
	struct error err;
	struct symfile *f = open_bytes(file.p, file.n, &err);

	if (!f)
		printf("# %s\n", err.msg);
	return f;
}

/* "function", with " file:line" where that is known; "-" when nothing covers the address. */
static const char *at(struct symfile *f, u64 addr)
{
	static char out[256];
	struct symframes frames = { { NULL, 0, 0 } };
	const struct frame *fr;

	if (!symfile_lookup(f, addr, &frames))
		return frames.frames.n ? "(frames left behind)" : "-";
	fr = &frames.frames.v[0];
	if (frames.frames.n != 1 || !(fr->flags & FRAME_JIT))
		snprintf(out, sizeof(out), "(%zu frames, flags %u)", frames.frames.n, fr->flags);
	else if (fr->file)
		snprintf(out, sizeof(out), "%s %s:%" PRIu32, strtab_get(&strings, fr->function),
			 strtab_get(&strings, fr->file), fr->line);
	else
		snprintf(out, sizeof(out), "%s", strtab_get(&strings, fr->function));
	vec_release(&frames.frames);
	return out;
}

/* All kinds of records, and what they mean. */
static void make_all(void)
{
	header_of(1, 48);
	put(0, 8); /* a longer header */
	load(0x7f0000001000, 0x100, 1, "first");
	debug_begin(0x7f0000002000, 4);
	debug_entry(0x7f0000002000, 10, "/src/a.js");
	debug_entry(0x7f0000002020, 12, "\xff");
	debug_entry(0x7f0000002010, 11, "/src/b.js"); /* out of order */
	debug_entry(0x7f0000002030, 13, "/src/a.js");
	finish();
	begin(4); /* unwinding information */
	put(0, 8);
	put(0, 8);
	put(0, 8);
	finish();
	load(0x7f0000002000, 0x40, 2, "with lines");
	load(0x7f0000001080, 0x10, 3, "_ZN1a1bEv");
	begin(77); /* of a later version */
	put(1, 8);
	finish();
	move(0x7f0000002000, 0x7f0000003000, 0x40, 2);
	load(0x7f0000002000, 0x20, 4, "in its place");
	load(0x7f0000004000, 0, 5, "empty");
	load_of(PID + 1, 0x7f0000001000, 0x100, 6, "of the child");
	move(0x7f0000001000, 0x7f0000005000, 0x100, 99);
	load(0xffffffffffffff80, 0x100, 7, "wraps");
	load(0x7f0000006000, 0x10, 8, "");
	begin(3);
	finish();
	load(0x7f0000007000, 0x10, 9, "behind the end");
}

static bool told(const char *what)
{
	size_t i;

	for (i = 0; i < diag.entries.n; i++)
		if (strstr(strtab_get(&diag.strings, diag.entries.v[i].subject), what))
			return true;
	return false;
}

static void restart_diag(void)
{
	diag_release(&diag);
	diag_init(&diag);
}

static void test_records(void)
{
	struct symfile *f;

	restart_diag();
	make_all();
	f = open_made();
	if (!OK(f))
		return;
	STR_EQ(f->ops->source, "jitdump");
	STR_EQ(at(f, 0x7f0000000fff), "-");
	STR_EQ(at(f, 0x7f0000001000), "first");
	STR_EQ(at(f, 0x7f000000107f), "first");
#ifdef HAVE_IBERTY
	STR_EQ(at(f, 0x7f0000001080), "a::b()");
#else
	STR_EQ(at(f, 0x7f0000001080), "_ZN1a1bEv");
#endif
	STR_EQ(at(f, 0x7f0000001090), "first");
	STR_EQ(at(f, 0x7f00000010ff), "first");
	STR_EQ(at(f, 0x7f0000001100), "-");
	/* moved, and overwritten in part where it was */
	STR_EQ(at(f, 0x7f0000003000), "with lines /src/a.js:10");
	STR_EQ(at(f, 0x7f000000300f), "with lines /src/a.js:10");
	STR_EQ(at(f, 0x7f0000003010), "with lines /src/b.js:11");
	STR_EQ(at(f, 0x7f0000003020), "with lines /src/a.js:12");
	STR_EQ(at(f, 0x7f000000303f), "with lines /src/a.js:13");
	STR_EQ(at(f, 0x7f0000003040), "-");
	STR_EQ(at(f, 0x7f0000002000), "in its place");
	STR_EQ(at(f, 0x7f0000002020), "with lines /src/a.js:12");
	STR_EQ(at(f, 0x7f0000004000), "-");
	STR_EQ(at(f, 0x7f0000005000), "-");
	STR_EQ(at(f, 0xffffffffffffff80), "-");
	STR_EQ(at(f, 0x7f0000006000), "-");
	STR_EQ(at(f, 0x7f0000007000), "-");
	EQ(f->text_start, 0x7f0000001000);
	EQ(f->text_end, 0x7f0000003040);
	OK(told("3 damaged records"));
	OK(told("1 record of unknown type"));
	OK(told("1 record of another process"));
	OK(!told("no whole record"));
	symfile_free(f);
}

static void test_debug_of_others(void)
{
	struct symfile *f;

	restart_diag();
	header_of(1, 40);
	/* of two threads */
	debug_begin(0x1000, 1);
	debug_entry(0x1004, 1, "one");
	finish();
	debug_begin(0x2000, 1);
	debug_entry(0x2000, 2, "two");
	finish();
	load(0x1000, 0x10, 1, "a");
	load(0x2000, 0x10, 2, "b");
	/* made anew at the same place: what was said of the old code is not true of it */
	load(0x2000, 0x8, 3, "c");
	/* more entries than the record has room for */
	debug_begin(0x3000, 2);
	debug_entry(0x3000, 3, "x");
	finish();
	load(0x3000, 0x10, 4, "d");
	/* entries that are not there though they might be */
	debug_begin(0x4000, 2);
	debug_entry(0x4000, 4, "a file with a long name");
	finish();
	load(0x4000, 0x10, 5, "e");
	/* a name with NULs in it: where the next entry begins is not known */
	debug_begin(0x5000, 2);
	debug_entry(0x5000, 5, "good");
	debug_entry(0x5000, 6, "UC\x03");
	put(0, 8);
	put_str("rest");
	finish();
	load(0x5000, 0x10, 6, "g");
	load(0x6000, 0x10, 7, "h");
	f = open_made();
	if (!OK(f))
		return;
	STR_EQ(at(f, 0x5000), "g");
	OK(told("lines of some functions are damaged"));
	STR_EQ(at(f, 0x5001), "g");
	STR_EQ(at(f, 0x6000), "h");
	STR_EQ(at(f, 0x1000), "a");
	STR_EQ(at(f, 0x1004), "a one:1");
	STR_EQ(at(f, 0x2000), "c");
	STR_EQ(at(f, 0x2008), "b two:2");
	STR_EQ(at(f, 0x3000), "d");
	STR_EQ(at(f, 0x4000), "e a file with a long name:4");
	OK(told("1 damaged record"));
	symfile_free(f);
}

static bool refused(const char *why)
{
	struct error err;
	struct symfile *f = open_bytes(file.p, file.n, &err);

	symfile_free(f);
	if (!f && !strstr(err.msg, why))
		printf("# %s\n", err.msg);
	return !f && strstr(err.msg, why);
}

static void test_refused(void)
{
	header_of(2, 40);
	OK(refused("version 2"));
	header_of(1, 39);
	OK(refused("header is damaged"));
	header_of(1, 41);
	OK(refused("header is damaged"));
	header_of(1, UINT32_MAX);
	OK(refused("header is damaged"));
	file.p[0] = 'X';
	OK(refused("not a jitdump"));
	buf_clear(&file);
	OK(refused("not a jitdump"));
}

/* Cut off anywhere, a file gives the records that are whole; what is missing is told. */
static void test_truncated(void)
{
	size_t n, ends[32], whole = 0, end_n = 0, bad = 0, i;
	struct symfile *f;
	struct error err;

	header_of(1, 40);
	for (i = 0; i < 4; i++) {
		ends[end_n++] = file.n;
		debug_begin(0x1000 * (i + 1), 1);
		debug_entry(0x1000 * (i + 1), 5, "f.c");
		finish();
		ends[end_n++] = file.n;
		load(0x1000 * (i + 1), 0x20, i, "f");
	}
	ends[end_n++] = file.n;
	for (n = 0; n <= file.n; n++) {
		restart_diag();
		f = open_bytes(file.p, n, &err);
		if (n < 40) {
			bad += f || !*err.msg;
			symfile_free(f);
			continue;
		}
		for (whole = 0; whole + 1 < end_n && ends[whole + 1] <= n; whole++)
			;
		bad += !f || told("no whole record") != (ends[whole] != n);
		for (i = 0; f && i < 4; i++)
			bad += !!strcmp(at(f, 0x1000 * (i + 1) + 0x1f),
					2 * i + 2 <= whole ? "f f.c:5" : "-");
		symfile_free(f);
	}
	EQ(bad, 0);
	EQ(whole, 8);
}

/* No byte, whatever its value, leads out of the file: for the sanitizers and valgrind to see. */
static void test_damaged(void)
{
	static const u8 values[] = { 0, 1, 0x7f, 0x80, 0xff };
	size_t i, k, opened = 0, refused_n = 0, asked = 0;
	struct symfile *f;
	struct error err;
	char was;
	u64 a;

	make_all();
	for (i = 0; i < file.n; i++) {
		was = file.p[i];
		for (k = 0; k < ARRAY_SIZE(values); k++) {
			file.p[i] = (char)values[k];
			restart_diag();
			f = open_bytes(file.p, file.n, &err);
			opened += f != NULL;
			refused_n += !f;
			for (a = 0; f && a < 4; a++)
				asked += at(f, 0x7f0000000000 + a * 0x1000 + 0x30)[0] != 0;
			symfile_free(f);
		}
		file.p[i] = was;
	}
	EQ(opened + refused_n, file.n * ARRAY_SIZE(values));
	EQ(asked, 4 * opened);
	/* magic, version and size of the header: those bytes that are changed */
	OK(refused_n > 0 && refused_n <= 12 * ARRAY_SIZE(values));
}

int main(void)
{
	int fd = mkstemp(path), i;

	if (fd < 0)
		return 99;
	close(fd);
	strtab_init(&strings);
	diag_init(&diag);
	for (i = 0; i < 2; i++) {
		big = i;
		test_records();
		test_debug_of_others();
		test_refused();
		test_truncated();
		test_damaged();
	}
	buf_release(&file);
	strtab_release(&strings);
	diag_release(&diag);
	unlink(path);
	return tap_done();
}
