/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwinding of saved stacks.  x86-64: unwind-target tells its registers, stack, mappings and the
 * truth.  i386 and Arm64: stacks written by hand for a few lines of assembler.
 */
#include "symbolize/symbolize.h"
#include "tests/unit/made-files.h"

#define X86_MASK 0xff0fffULL /* what perf asks for on x86-64 */
#define MAX_PCS  256

struct dump {
	u64 regs[20];
	struct sym_mapping maps[32];
	char *names[32];
	size_t n_maps;
	u8 *stack;
	size_t stack_n;
	char *truth[256];
	size_t n_truth;
};

static struct strtab strings;
static struct diag diag;

static bool read_dump(struct dump *d, const char *file)
{
	static char line[200000];
	FILE *f = fopen(in_dir(file), "re");
	const char *p, *end;
	u64 v;

	memset(d, 0, sizeof(*d));
	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		end = line + strlen(line);
		if (!strncmp(line, "regs ", 5)) {
			p = line + 4;
			for (size_t i = 0; i < ARRAY_SIZE(d->regs); i++)
				if (*p++ != ' ' || parse_hex(&p, end, &d->regs[i]))
					return false;
		} else if (!strncmp(line, "map ", 4) && d->n_maps < ARRAY_SIZE(d->maps)) {
			struct sym_mapping *m = &d->maps[d->n_maps];
			u64 stop;

			p = line + 4;
			if (parse_hex(&p, end, &m->addr) || *p++ != ' ' ||
			    parse_hex(&p, end, &stop) || *p++ != ' ' ||
			    parse_hex(&p, end, &m->pgoff) || *p++ != ' ')
				return false;
			m->len = stop - m->addr;
			m->filename = d->names[d->n_maps++] = xstrdup(p);
		} else if (!strncmp(line, "stack ", 6)) {
			d->stack = xmalloc(strlen(line));
			for (p = line + 6; p + 1 < end; d->stack[d->stack_n++] = (u8)v) {
				char two[3] = { p[0], p[1], 0 };
				const char *q = two;

				if (parse_hex(&q, two + 2, &v))
					return false;
				p += 2;
			}
		} else if (!strncmp(line, "truth ", 6) && d->n_truth < ARRAY_SIZE(d->truth)) {
			d->truth[d->n_truth++] = xstrdup(line + 6);
		}
	}
	if (f)
		fclose(f);
	return d->stack_n && d->n_maps && d->n_truth;
}

static void free_dump(struct dump *d)
{
	size_t i;

	for (i = 0; i < d->n_maps; i++)
		free(d->names[i]);
	for (i = 0; i < d->n_truth; i++)
		free(d->truth[i]);
	free(d->stack);
}

static bool by_libdwfl;

static struct symbolizer *symbolizer_for(struct dump *d, u32 pid, const char *const *symfs)
{
	struct sym_opts opts = { .symfs = symfs, .offline_only = true, .libdwfl = by_libdwfl };
	struct symbolizer *s = sym_new(&opts, &strings, &diag);
	size_t i;

	for (i = 0; i < d->n_maps; i++) {
		d->maps[i].pid = pid;
		d->maps[i].space = SPACE_USER;
		sym_map(s, &d->maps[i]);
	}
	return s;
}

static const char *const root[] = { "/", NULL };

/* Functions of the test programs, as against those of the C library. */
static bool is_ours(const char *name)
{
	static const char *const known[] = {
		"innermost", "recurse", "dynamic", "compare", "sorting", "on_signal", "interrupted",
		"thread",    "main",    "_start",  "inner",   "middle",  "start",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(known); i++)
		if (!strcmp(name, known[i]))
			return true;
	return false;
}

/* Names of the unwound frames, outwards; a run of others than the program's own as "-". */
static const char *names(struct symbolizer *s, u32 pid, const struct sym_unwound *pcs, size_t n)
{
	static struct buf b;
	const struct frame *f;
	bool foreign = false;
	size_t i, k;

	buf_clear(&b);
	for (i = 0; i < n; i++) {
		k = sym_resolve(s, SPACE_USER, pid, pcs[i].pc, pcs[i].kind, &f) - 1;
		if (!is_ours(strtab_get(&strings, f[k].function))) {
			if (!foreign)
				buf_puts(&b, "- ");
			foreign = true;
			continue;
		}
		foreign = false;
		buf_printf(&b, "%s ", strtab_get(&strings, f[k].function));
	}
	return buf_str(&b);
}

/* The truth in the same form: the C library's qsort() stands between sorting and compare, and the
 * program's start at the end. */
static const char *truth_of(const struct dump *d, const char *end)
{
	static struct buf b;
	size_t i;

	buf_clear(&b);
	for (i = 0; i < d->n_truth; i++) {
		buf_printf(&b, "%s ", d->truth[i]);
		if (!strcmp(d->truth[i], "compare") || !strcmp(d->truth[i], "on_signal"))
			buf_puts(&b, "- ");
	}
	buf_puts(&b, end);
	return buf_str(&b);
}

static bool equal(const struct sym_unwound *a, const struct sym_unwound *b, size_t n)
{
	size_t i;

	for (i = 0; i < n && a[i].pc == b[i].pc && a[i].kind == b[i].kind; i++)
		;
	return i == n;
}

static void test_program(const char *name, const char *how, const char *end)
{
	struct sym_regs regs = { .abi = 2, .mask = X86_MASK };
	struct sym_unwound pcs[MAX_PCS], again[MAX_PCS];
	struct symbolizer *s;
	bool truncated = true;
	struct dump d;
	size_t n, i, exact = 0;

	printf("# %s %s\n", name, how);
	OK(run("./%s %s > dump", name, how));
	if (!OK(read_dump(&d, "dump")))
		return;
	s = symbolizer_for(&d, 10, root);
	regs.values = d.regs;
	n = sym_unwind(s, 10, 10, &regs, d.stack, d.stack_n, pcs, MAX_PCS, &truncated);
	STR_EQ(names(s, 10, pcs, n), truth_of(&d, end));
	OK(!truncated);
	EQ(pcs[0].pc, d.regs[8]);
	for (i = 0; i < n; i++)
		exact += pcs[i].kind == ADDR_EXACT;
	/* the innermost, and what a signal interrupted */
	EQ(exact, strcmp(how, "signal") ? 1 : 3);
	/* the same again, and the same for a child */
	EQ(sym_unwind(s, 10, 10, &regs, d.stack, d.stack_n, again, MAX_PCS, &truncated), n);
	OK(equal(pcs, again, n));
	sym_fork(s, 11, 10);
	EQ(sym_unwind(s, 11, 11, &regs, d.stack, d.stack_n, again, MAX_PCS, &truncated), n);
	/* a limit */
	EQ(sym_unwind(s, 10, 10, &regs, d.stack, d.stack_n, again, 3, &truncated), 3);
	OK(equal(pcs, again, 3));
	/* a piece too small: what is there is right */
	i = sym_unwind(s, 10, 10, &regs, d.stack, 600, again, MAX_PCS, &truncated);
	OK(i && i < n && equal(pcs, again, i));
	OK(truncated);
	i = sym_unwind(s, 10, 10, &regs, d.stack, 0, again, MAX_PCS, &truncated);
	EQ(i, 1);
	OK(truncated);
	/* without the registers that say where */
	regs.mask = 0x80;
	EQ(sym_unwind(s, 10, 10, &regs, d.stack, d.stack_n, again, MAX_PCS, &truncated), 0);
	regs.mask = X86_MASK;
	regs.abi = 0;
	EQ(sym_unwind(s, 10, 10, &regs, d.stack, d.stack_n, again, MAX_PCS, &truncated), 0);
	regs.abi = 2;
	regs.arch = "s390x";
	EQ(sym_unwind(s, 10, 10, &regs, d.stack, d.stack_n, again, MAX_PCS, &truncated), 0);
	/* a process of which nothing is known */
	regs.arch = "x86_64";
	EQ(sym_unwind(s, 99, 99, &regs, d.stack, d.stack_n, again, MAX_PCS, &truncated), 0);
	/* another program in its place */
	sym_exec(s, 10);
	sym_map(s, &(struct sym_mapping){ .pid = 10,
					  .space = SPACE_USER,
					  .addr = 0x10000,
					  .len = 4096,
					  .filename = "/no/such" });
	EQ(sym_unwind(s, 10, 10, &regs, d.stack, d.stack_n, again, MAX_PCS, &truncated), 1);
	sym_free(s);
	free_dump(&d);
}

/* Code without a file: the frame pointer is followed. */
static void test_frame_pointer(void)
{
	struct sym_regs regs = { .abi = 2, .mask = X86_MASK };
	struct sym_unwound pcs[MAX_PCS];
	const char *const nothing[] = { in_dir("nothing"), NULL };
	struct symbolizer *s;
	bool truncated;
	struct dump d;
	size_t n;

	OK(run("./with-fp plain > dump"));
	if (!OK(read_dump(&d, "dump")))
		return;
	s = symbolizer_for(&d, 10, nothing);
	regs.values = d.regs;
	/* innermost, six times recurse, dynamic, compare: then the C library, built without frame
	 * pointers */
	n = sym_unwind(s, 10, 10, &regs, d.stack, d.stack_n, pcs, MAX_PCS, &truncated);
	OK(n >= 9);
	sym_free(s);
	s = symbolizer_for(&d, 10, root);
	while (n > 9)
		n--;
	STR_EQ(names(s, 10, pcs, n),
	       "innermost recurse recurse recurse recurse recurse recurse dynamic compare ");
	sym_free(s);
	free_dump(&d);
}

/* Nothing that a recording holds may do harm. */
static void test_hostile(void)
{
	struct sym_regs regs = { .abi = 2, .mask = X86_MASK };
	struct sym_unwound pcs[MAX_PCS], theirs[MAX_PCS];
	struct symbolizer *s, *libdwfl;
	bool truncated, theirs_truncated, within = true;
	u64 seed = 1, saved[20], differ = 0, deep = 0;
	u8 *stack;
	struct dump d;
	size_t i, k, n;

	OK(run("./no-fp plain > dump"));
	if (!OK(read_dump(&d, "dump")))
		return;
	s = symbolizer_for(&d, 10, root);
	by_libdwfl = true;
	libdwfl = symbolizer_for(&d, 10, root);
	by_libdwfl = false;
	regs.values = d.regs;
	memcpy(saved, d.regs, sizeof(saved));
	stack = xmalloc(d.stack_n);
	memcpy(stack, d.stack, d.stack_n);
	for (i = 0; i < 3000; i++) {
		memcpy(d.regs, saved, sizeof(saved));
		/* Damage heaps up for a while. */
		if (!(i % 4))
			memcpy(d.stack, stack, d.stack_n);
		for (k = 0; k < 1 + i % 40; k++) {
			seed = hash_u64(seed);
			d.stack[seed % MIN(d.stack_n, 4096)] = (u8)(seed >> 40);
		}
		seed = hash_u64(seed);
		if (i % 3 == 0)
			d.regs[seed % 20] = hash_u64(seed);
		if (i % 7 == 0)
			d.regs[7] = -(seed % 64);
		if (i % 11 == 0)
			d.regs[8] = d.maps[seed % d.n_maps].addr +
				    hash_u64(seed) % d.maps[seed % d.n_maps].len;
		n = sym_unwind(s, 10, 10, &regs, d.stack, i % 5 ? d.stack_n : seed % 200, pcs,
			       MAX_PCS, &truncated);
		within &= n <= MAX_PCS;
		deep += n > 3;
		/* Plain stacks are walked by ourselves: that must not be seen. */
		differ += sym_unwind(libdwfl, 10, 10, &regs, d.stack,
				     i % 5 ? d.stack_n : seed % 200, theirs, MAX_PCS,
				     &theirs_truncated) != n ||
			  !equal(pcs, theirs, n) || truncated != theirs_truncated;
	}
	OK(within);
	OK(deep > 1000);
	EQ(differ, 0);
	sym_free(s);
	sym_free(libdwfl);
	free(stack);
	free_dump(&d);
}

/* Programs whose headers and unwind tables are damaged. */
static void test_hostile_file(void)
{
	struct sym_regs regs = { .abi = 2, .mask = X86_MASK };
	const char *const symfs[] = { in_dir("broken"), NULL };
	struct sym_unwound pcs[MAX_PCS];
	const struct frame *frames;
	struct file_map program;
	struct symbolizer *s;
	bool truncated, within = true;
	u64 seed = 1;
	char name[512];
	struct dump d;
	size_t i, k, n;
	u8 *copy;

	OK(run("./no-fp signal > dump"));
	if (!OK(read_dump(&d, "dump")) || !OK(!file_map_open(&program, in_dir("no-fp"), 0, NULL)))
		return;
	copy = xmalloc(program.n);
	snprintf(name, sizeof(name), "broken%s", in_dir("no-fp"));
	OK(run("mkdir -p broken%s", made_dir));
	regs.values = d.regs;
	for (i = 0; i < 300; i++) {
		memcpy(copy, program.p, program.n);
		for (k = 0; k < 1 + i % 10; k++) {
			seed = hash_u64(seed);
			/* the file's header and segments, its sections, the tables between */
			n = seed % 3 == 0   ? (seed >> 8) % 0x400
			    : seed % 3 == 1 ? program.n - 1 - (seed >> 8) % 2500
					    : (seed >> 8) % program.n;
			copy[n] = (u8)(seed >> 48);
		}
		write_file(name, copy, i % 20 ? program.n : (seed >> 8) % program.n);
		s = symbolizer_for(&d, 10, symfs);
		n = sym_unwind(s, 10, 10, &regs, d.stack, d.stack_n, pcs, MAX_PCS, &truncated);
		within &= n <= MAX_PCS;
		for (k = 0; k < n; k++)
			within &= sym_resolve(s, SPACE_USER, 10, pcs[k].pc, pcs[k].kind, &frames) >
				  0;
		sym_free(s);
	}
	OK(within);
	free(copy);
	file_map_close(&program);
	free_dump(&d);
}

/* Many processes: the states of old ones are dropped and made again. */
static void test_many(void)
{
	struct sym_regs regs = { .abi = 2, .mask = X86_MASK };
	struct sym_unwound pcs[MAX_PCS];
	struct symbolizer *s;
	bool truncated, same = true;
	struct dump d;
	size_t want, i;
	u32 pid;

	OK(run("./no-fp plain > dump"));
	if (!OK(read_dump(&d, "dump")))
		return;
	s = symbolizer_for(&d, 1000, root);
	regs.values = d.regs;
	want = sym_unwind(s, 1000, 1000, &regs, d.stack, d.stack_n, pcs, MAX_PCS, &truncated);
	OK(want > 10);
	for (pid = 1001; pid < 1600; pid++) {
		for (i = 0; i < d.n_maps; i++) {
			d.maps[i].pid = pid;
			sym_map(s, &d.maps[i]);
		}
		same &= sym_unwind(s, pid, pid, &regs, d.stack, d.stack_n, pcs, MAX_PCS,
				   &truncated) == want;
	}
	for (pid = 1000; pid < 1600; pid += 7)
		same &= sym_unwind(s, pid, pid, &regs, d.stack, d.stack_n, pcs, MAX_PCS,
				   &truncated) == want;
	OK(same);
	sym_free(s);
	free_dump(&d);
}

static void put(u8 *p, u64 v, size_t n)
{
	while (n--) {
		*p++ = (u8)v;
		v >>= 8;
	}
}

/* Three functions of hand-written code, their addresses by nm. */
static u64 symbol(const char *file, const char *name)
{
	char line[64] = "";
	const char *p = line;
	u64 v = 0;
	FILE *f;

	if (!run("nm %s | sed -n 's/^\\([0-9a-f]*\\) . %s$/\\1/p' > sym", file, name))
		return 0;
	f = fopen(in_dir("sym"), "re");
	if (f) {
		if (fgets(line, sizeof(line), f) && parse_hex(&p, line + strcspn(line, "\n"), &v))
			v = 0;
		fclose(f);
	}
	return v;
}

static void hand_made(const char *file, const char *arch, u64 abi, u64 mask, const u64 *values,
		      const u8 *stack, size_t n)
{
	const char *const symfs[] = { made_dir, NULL };
	struct sym_opts opts = { .symfs = symfs, .offline_only = true };
	struct symbolizer *s = sym_new(&opts, &strings, &diag);
	struct sym_regs regs = { .abi = abi, .mask = mask, .values = values, .arch = arch };
	struct sym_unwound pcs[8];
	char name[64];
	bool truncated;
	size_t got;

	snprintf(name, sizeof(name), "/%s", file);
	sym_map(s, &(struct sym_mapping){ .pid = 1,
					  .space = SPACE_USER,
					  .addr = symbol(file, "inner") & ~4095ULL,
					  .len = 4096,
					  .pgoff = 0x1000,
					  .filename = name });
	got = sym_unwind(s, 1, 1, &regs, stack, n, pcs, 8, &truncated);
	STR_EQ(names(s, 1, pcs, got), "inner middle start ");
	OK(!truncated);
	got = sym_unwind(s, 1, 1, &regs, stack, n / 2, pcs, 8, &truncated);
	STR_EQ(names(s, 1, pcs, got), "inner middle ");
	OK(truncated);
	sym_free(s);
}

static void test_i386(void)
{
	u64 values[9] = { 0 };
	u8 stack[64] = { 0 };

	write_text("i386.s",
		   ".text\n.org 16\n.globl inner\n.type inner,@function\ninner: .cfi_startproc\n "
		   "subl $12,%esp\n .cfi_adjust_cfa_offset 12\n nop\n nop\n"
		   " addl $12,%esp\n .cfi_adjust_cfa_offset -12\n ret\n .cfi_endproc\n.size "
		   "inner,.-inner\n"
		   ".globl middle\n.type middle,@function\nmiddle: .cfi_startproc\n subl "
		   "$28,%esp\n .cfi_adjust_cfa_offset 28\n call inner\n nop\n"
		   " addl $28,%esp\n .cfi_adjust_cfa_offset -28\n ret\n .cfi_endproc\n.size "
		   "middle,.-middle\n"
		   ".globl start\n.type start,@function\nstart: .cfi_startproc\n .cfi_undefined "
		   "eip\n call middle\n hlt\n .cfi_endproc\n.size start,.-start\n");
	if (!run("gcc -m32 -nostdlib -static -Wl,-Ttext=0x8049000 -Wl,-e,start -Wl,--build-id=none "
		 "i386.s -o i386 2>/dev/null")) {
		printf("# i386 not tested: gcc -m32 does not work here\n");
		return;
	}
	values[7] = 0xff800000;                           /* sp */
	values[8] = symbol("i386", "inner") + 4;          /* ip: behind `subl` and a nop */
	put(stack + 12, symbol("i386", "middle") + 8, 4); /* behind `call inner` */
	put(stack + 16 + 28, symbol("i386", "start") + 5, 4);
	hand_made("i386", "x86_64", 1, 0x1ff, values, stack, sizeof(stack));
	hand_made("i386", "i686", 1, 0x1ff, values, stack, sizeof(stack));
}

static void test_arm64(void)
{
	u64 values[33] = { 0 };
	u8 stack[96] = { 0 };

	write_text(
		"arm64.s",
		".text\n nop\n.globl inner\n.type inner,@function\ninner: .cfi_startproc\n sub "
		"sp,sp,#32\n .cfi_def_cfa_offset 32\n str x30,[sp,#24]\n"
		" .cfi_offset 30,-8\n nop\n ldr x30,[sp,#24]\n add sp,sp,#32\n ret\n "
		".cfi_endproc\n.size inner,.-inner\n"
		".globl middle\n.type middle,@function\nmiddle: .cfi_startproc\n sub sp,sp,#48\n "
		".cfi_def_cfa_offset 48\n str x30,[sp,#40]\n"
		" .cfi_offset 30,-8\n bl inner\n nop\n ret\n .cfi_endproc\n.size middle,.-middle\n"
		".globl start\n.type start,@function\nstart: .cfi_startproc\n .cfi_undefined 30\n "
		"bl middle\n nop\n .cfi_endproc\n.size start,.-start\n");
	if (!run("clang --target=aarch64-linux-gnu -nostdlib -static -fuse-ld=lld "
		 "-Wl,-Ttext=0x401000 -Wl,-e,start -Wl,--build-id=none "
		 "-Wl,-z,separate-loadable-segments arm64.s -o arm64 2>/dev/null")) {
		printf("# Arm64 not tested: no clang with lld here\n");
		return;
	}
	values[31] = 0xffffff000000;               /* sp */
	values[32] = symbol("arm64", "inner") + 8; /* pc */
	put(stack + 24, symbol("arm64", "middle") + 12, 8);
	put(stack + 32 + 40, symbol("arm64", "start") + 4, 8);
	hand_made("arm64", "aarch64", 2, 0x1ffffffffULL, values, stack, sizeof(stack));
}

int main(void)
{
	const char *src = getenv("abs_top_srcdir");
	bool is_static;

	if (!made_start("gcc nm sed uname"))
		return 0;
	strtab_init(&strings);
	diag_init(&diag);
	test_i386();
	test_arm64();
	if (src && run("test \"$(uname -m)\" = x86_64")) {
		OK(run("gcc -O2 -fomit-frame-pointer -pthread %s/tests/unit/unwind-target.c -o "
		       "no-fp",
		       src));
		OK(run("gcc -O2 -fno-omit-frame-pointer -fno-asynchronous-unwind-tables "
		       "-fno-unwind-tables -pthread %s/tests/unit/unwind-target.c -o with-fp",
		       src));
		is_static = run("gcc -O2 -fomit-frame-pointer -static -pthread "
				"%s/tests/unit/unwind-target.c -o static 2>/dev/null",
				src);
		test_program("no-fp", "plain", "- _start ");
		test_program("no-fp", "signal", "- _start ");
		test_program("no-fp", "thread", "- ");
		/* not every distribution installs a static C library */
		if (is_static)
			test_program("static", "plain", "- _start ");
		test_frame_pointer();
		test_hostile();
		test_many();
		test_hostile_file();
	} else {
		printf("# x86-64 not tested on this machine\n");
	}
	EQ(diag_count(&diag, DIAG_BUILD_ID_MISMATCH), 0);
	strtab_release(&strings);
	diag_release(&diag);
	made_end();
	return tap_done();
}
