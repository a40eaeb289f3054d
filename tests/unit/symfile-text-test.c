/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of symbols in text, perf maps, and names. */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "symbolize/symfile.h"
#include "tests/unit/tap.h"

static struct strtab strings;
static struct diag diag;
static struct symfile_opts opts = { .strings = &strings, .diag = &diag };
static char path[] = "/tmp/xenflame-symfile-XXXXXX";

static const char *file_with(const char *text)
{
	FILE *f = fopen(path, "w");

	if (f) {
		fputs(text, f);
		fclose(f);
	}
	return path;
}

/* "function" or "function@file", "-" when nothing covers the address. */
static const char *at(struct symfile *f, u64 addr)
{
	static char out[256];
	struct symframes frames = { { NULL, 0, 0 } };

	if (!symfile_lookup(f, addr, &frames))
		return "-";
	snprintf(out, sizeof(out), "%s%s%s", strtab_get(&strings, frames.frames.v[0].function),
		 frames.frames.v[0].file ? "@" : "", strtab_get(&strings, frames.frames.v[0].file));
	vec_release(&frames.frames);
	return out;
}

static struct symfile *table(const char *text, s64 shift)
{
	struct error err = { "" };
	struct symfile *f = symfile_open_ksyms(file_with(text), shift, &opts, &err);

	if (!f)
		printf("# %s\n", err.msg);
	return f;
}

static void test_kallsyms(void)
{
	struct symfile *f = table("0000000000000000 A fixed_percpu_data\n"
				  "ffffffff81000000 T _stext\n"
				  "ffffffff81000000 T startup_64\n"
				  "ffffffff81000100 t foo.isra.0\n"
				  "ffffffff81000200 W weak_one\n"
				  "ffffffff81000200 T strong_one\n"
				  "ffffffff81000300 T ___three\n"
				  "ffffffff81000300 T _three_but_longer\n"
				  "ffffffff81001000 T _etext\n"
				  "ffffffff81200000 D data\n"
				  "ffffffffc0001800 t last_of_a\t[mod_a]\n"
				  "ffffffffc0001000 t first_of_a\t[mod_a]\n"
				  "ffffffffc0009000 t first_of_b\t[mod_b]\n",
				  0);
	u64 v = 0;

	if (!OK(f))
		return;
	STR_EQ(f->ops->source, "kallsyms");
	STR_EQ(at(f, 0xffffffff81000000), "startup_64"); /* not the edge */
	STR_EQ(at(f, 0xffffffff81000050), "startup_64");
	STR_EQ(at(f, 0xffffffff810001ff), "foo"); /* clone suffix folded */
	STR_EQ(at(f, 0xffffffff81000200), "strong_one");
	STR_EQ(at(f, 0xffffffff81000300), "_three_but_longer");
	STR_EQ(at(f, 0xffffffff81000fff), "_three_but_longer");
	STR_EQ(at(f, 0xffffffff81001000), "-"); /* behind the text */
	STR_EQ(at(f, 0xffffffff81200010), "-"); /* data */
	STR_EQ(at(f, 0xffffffff80ffffff), "-");
	STR_EQ(at(f, 0xffffffffc0001010), "first_of_a");
	STR_EQ(at(f, 0xffffffffc0002fff), "last_of_a"); /* to the end of the page after its own */
	STR_EQ(at(f, 0xffffffffc0003000), "-");
	STR_EQ(at(f, 0xffffffffc0009004), "first_of_b");
	STR_EQ(at(f, 0xffffffffc000b000), "-");
	STR_EQ(strtab_get(&strings, symfile_ksyms_module(f, 0xffffffffc0001010)), "[mod_a]");
	STR_EQ(strtab_get(&strings, symfile_ksyms_module(f, 0xffffffffc0009004)), "[mod_b]");
	EQ(symfile_ksyms_module(f, 0xffffffff81000050), 0);
	EQ(symfile_ksyms_symbol(f, "_stext", &v), 0);
	EQ(v, 0xffffffff81000000);
	EQ(symfile_ksyms_symbol(f, "data", &v), 0);
	EQ(v, 0xffffffff81200000);
	EQ(symfile_ksyms_symbol(f, "stext", &v), -1);
	EQ(f->text_start, 0xffffffff81000000);
	symfile_free(f);
}

static void test_shift(void)
{
	struct symfile *f =
		table("ffffffff81000000 T _text\nffffffff81000040 T f\nffffffff81000080 T g\n",
		      -0x1000000);
	u64 v = 0;

	if (!OK(f))
		return;
	STR_EQ(at(f, 0xffffffff80000041), "f");
	EQ(symfile_ksyms_symbol(f, "_text", &v), 0);
	EQ(v, 0xffffffff80000000);
	symfile_free(f);
}

static void test_xen(void)
{
	static const char *const old =
		"ffff82d040200000 T _start\nffff82d040200010 t helper\nffff82d040200020 D data\n";
	static const char *const new =
		"0xffff82d040200000 T _start\n0xffff82d040200000 T start\n"
		"0xffff82d040201000 t common/cpu.c#cpu_callback\n0xffff82d040202000 t "
		"cpuidle.c#cpu_callback\n"
		"0xffff82d040203000 T kexec_reloc_end\n0xffff82d040203000 t "
		"bug.c#do_bug_frame.cold\n"
		"0xffff82d040204000 T _etext\n";
	struct symfile *f = table(old, 0);

	if (OK(f)) {
		STR_EQ(f->ops->source, "map");
		STR_EQ(at(f, 0xffff82d04020001f), "helper");
		STR_EQ(at(f, 0xffff82d040200020), "-");
		symfile_free(f);
	}
	f = table(new, 0);
	if (OK(f)) {
		STR_EQ(f->ops->source, "map");
		STR_EQ(at(f, 0xffff82d040200004), "start");
		/* Two functions of one name: the file keeps them apart. */
		STR_EQ(at(f, 0xffff82d040201004), "cpu_callback@common/cpu.c");
		STR_EQ(at(f, 0xffff82d040202004), "cpu_callback@cpuidle.c");
		STR_EQ(at(f, 0xffff82d040203004), "do_bug_frame@bug.c");
		STR_EQ(at(f, 0xffff82d040204000), "-");
		symfile_free(f);
	}
	f = table("ffff82d040200000 T _stext\nffff82d040200008 t head.o#multiboot1_header\n", 0);
	if (OK(f)) {
		STR_EQ(f->ops->source, "xensyms");
		STR_EQ(at(f, 0xffff82d040200009), "multiboot1_header@head.o");
		symfile_free(f);
	}
}

static bool refused(const char *text, const char *why)
{
	struct error err = { "" };
	struct symfile *f = symfile_open_ksyms(file_with(text), 0, &opts, &err);

	symfile_free(f);
	if (f || !strstr(err.msg, why))
		printf("# '%s', expected '%s'\n", err.msg, why);
	return !f && strstr(err.msg, why);
}

static void test_refused(void)
{
	OK(refused("0000000000000000 T _text\n0000000000000000 t f\n", "kptr_restrict"));
	OK(refused("", "not a table"));
	OK(refused("hello\nworld\n", "not a table"));
	OK(refused("\n\n", "not a table"));
	OK(refused("ffffffff81000000 D data\n", "no symbol of code"));
	OK(refused("ffffffffffffffffff T f\n", "not a table"));
}

static void test_damaged_lines(void)
{
	struct symfile *f = table("ffffffff81000000 T f\nrubbish\nffffffff81000010 T "
				  "g\r\nffffffff81000020 T h\nffffffff81000030",
				  0);

	if (!OK(f))
		return;
	STR_EQ(at(f, 0xffffffff81000011), "g");
	EQ(diag_count(&diag, DIAG_BAD_LINE), 2);
	symfile_free(f);
}

/* Time is linear in the size of a table, whatever stands in it. */
static void test_hostile(void)
{
	struct buf b = BUF_INIT;
	clock_t start = clock();
	u64 v = 0, bad = diag_count(&diag, DIAG_BAD_LINE);
	struct symfile *f;
	u32 i;

	buf_puts(&b, "ffffffff81000100 T a");
	for (i = 0; i < 400000; i++)
		buf_puts(&b, "_text");
	buf_puts(&b, "\nffffffff81000000 T _text\n");
	for (i = 0; i < 20000; i++)
		buf_printf(&b, "ffffffff81000100 T same_place_%u\n", i);
	for (i = 0; i < 400000; i++)
		buf_printf(&b, "%" PRIx64 " t f\t[m%u]\n", 0xffffffffc0000000 + i * 16, i);
	f = table(buf_str(&b), 0);
	buf_release(&b);
	if (!OK(f))
		return;
	EQ(symfile_ksyms_symbol(f, "_text", &v), 0);
	EQ(v, 0xffffffff81000000);
	/* Longer than any name: it would be looked through once more for each of those below. */
	EQ(diag_count(&diag, DIAG_BAD_LINE) - bad, 1);
	STR_EQ(at(f, 0xffffffff81000104), "same_place_10000");
	STR_EQ(strtab_get(&strings, symfile_ksyms_module(f, 0xffffffffc0000000 + 399999 * 16)),
	       "[m399999]");
	OK((clock() - start) / CLOCKS_PER_SEC < 10);
	symfile_free(f);
}

static void test_perfmap(void)
{
	struct error err = { "" };
	struct symfile *f = symfile_open_perfmap(
		file_with("7f0000001000 100 LFunction:a b /x.js:1\n"
			  "7f0000001040 20 later\n7f00000010f0 100 over the edge\n7f0000002000 0 "
			  "empty\n"
			  "0x7f0000003000 0x10 prefixed\nbad line\nffffffffffffff00 1000 "
			  "wraps\n7f0000004000 10 _ZN1a1bEv"),
		&opts, &err);
	u64 bad = diag_count(&diag, DIAG_BAD_LINE);

	if (!OK(f))
		return;
	STR_EQ(at(f, 0x7f000000103f), "LFunction:a b /x.js:1");
	STR_EQ(at(f, 0x7f0000001040), "later");
	STR_EQ(at(f, 0x7f0000001060), "LFunction:a b /x.js:1");
	STR_EQ(at(f, 0x7f00000010f0), "over the edge");
	STR_EQ(at(f, 0x7f00000011ef), "over the edge");
	STR_EQ(at(f, 0x7f00000011f0), "-");
	STR_EQ(at(f, 0x7f0000002000), "-");
	STR_EQ(at(f, 0x7f0000003008), "prefixed");
	EQ(bad, 5); /* three of them from the tests before */
	symfile_free(f);
}

static const char *shown(const char *raw)
{
	return strtab_get(&strings, demangle(&strings, strtab_adds(&strings, raw), false));
}

static void test_names(void)
{
	STR_EQ(shown("foo.isra.0"), "foo");
	STR_EQ(shown("foo.part.0.isra.12.constprop.3.cold"), "foo");
	STR_EQ(shown("foo.cold.7"), "foo");
	STR_EQ(shown("foo.lto_priv.0"), "foo");
	STR_EQ(shown("foo.llvm.1234567"), "foo");
	STR_EQ(shown("foo.constprop"), "foo");
	STR_EQ(shown("static_name.0"), "static_name.0");
	STR_EQ(shown("foo.bar"), "foo.bar");
	STR_EQ(shown(".part.0"), ".part.0");
	STR_EQ(shown("memcpy@@GLIBC_2.14"), "memcpy");
	STR_EQ(shown("memcpy@GLIBC_2.2.5"), "memcpy");
	STR_EQ(shown("memcpy@plt"), "memcpy@plt");
	STR_EQ(shown("arch/x86/hvm/svm/svm.o.unlikely"), "[fixup svm.o]");
	STR_EQ(shown("_"), "_");
	EQ(demangle(&strings, 0, false), 0);
	EQ(demangle(&strings, strtab_adds(&strings, "foo.cold"), true),
	   strtab_find(&strings, "foo.cold", 8));
#ifdef HAVE_IBERTY
	STR_EQ(shown("_ZN3foo3barEi"), "foo::bar(int)");
	STR_EQ(shown("_ZN3foo3barEi"), "foo::bar(int)"); /* from the cache */
	STR_EQ(shown("_ZN3foo3barEi.isra.0.cold"), "foo::bar(int)");
	STR_EQ(shown("_ZN3foo3barEi@plt"), "foo::bar(int)@plt");
	STR_EQ(shown("_ZN12_GLOBAL__N_11fEv"), "(anonymous namespace)::f()");
	STR_EQ(shown("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE"),
	       "core::fmt::Formatter::pad");
	STR_EQ(shown("_RNvC6_123foo3bar"), "123foo::bar");
	STR_EQ(shown("_D4test3fooFZv"), "test.foo()");
	STR_EQ(shown("_Dmain"), "D main");
	STR_EQ(shown("_Zzzz"), "_Zzzz");
	STR_EQ(shown("_DYNAMIC"), "_DYNAMIC");
#else
	STR_EQ(shown("_ZN3foo3barEi"), "_ZN3foo3barEi");
#endif
}

int main(void)
{
	int fd = mkstemp(path);

	if (fd < 0)
		return 99;
	close(fd);
	strtab_init(&strings);
	diag_init(&diag);
	test_kallsyms();
	test_shift();
	test_xen();
	test_refused();
	test_damaged_lines();
	test_hostile();
	test_perfmap();
	test_names();
	strtab_release(&strings);
	diag_release(&diag);
	unlink(path);
	return tap_done();
}
