/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mappings of processes: replacement, fork, exec, exit, generations; and what unknown addresses are
 * called. */
#include "symbolize/space.h"
#include "symbolize/symbolize.h"
#include "tests/unit/tap.h"

static void map(struct spaces *sp, u32 pid, u64 start, u64 end, u64 pgoff, u32 module)
{
	struct mapping m = { .start = start, .end = end, .pgoff = pgoff, .module = module };

	spaces_map(sp, MM_HOST, pid, &m, false);
}

/* "start-end@pgoff:module …" of all mappings. */
static const char *show(struct spaces *sp, u32 pid)
{
	static struct buf b[4];
	static int turn;
	struct buf *out = &b[turn++ % 4];
	struct mm *mm = spaces_mm(sp, MM_HOST, pid);
	size_t i;

	buf_clear(out);
	for (i = 0; mm && i < mm->maps.n; i++)
		buf_printf(out, "%s%" PRIx64 "-%" PRIx64 "@%" PRIx64 ":%u", i ? " " : "",
			   mm->maps.v[i].start, mm->maps.v[i].end, mm->maps.v[i].pgoff,
			   mm->maps.v[i].module);
	return buf_str(out);
}

static void test_replace(void)
{
	struct spaces sp;

	spaces_init(&sp);
	map(&sp, 1, 0x3000, 0x4000, 0, 3);
	map(&sp, 1, 0x1000, 0x2000, 0, 1);
	STR_EQ(show(&sp, 1), "1000-2000@0:1 3000-4000@0:3");
	/* in the gap, touching both */
	map(&sp, 1, 0x2000, 0x3000, 0, 2);
	STR_EQ(show(&sp, 1), "1000-2000@0:1 2000-3000@0:2 3000-4000@0:3");
	/* over all of them */
	map(&sp, 1, 0, 0x10000, 0x500, 4);
	STR_EQ(show(&sp, 1), "0-10000@500:4");
	/* splits; the tail keeps its file offsets */
	map(&sp, 1, 0x4000, 0x5000, 0, 5);
	STR_EQ(show(&sp, 1), "0-4000@500:4 4000-5000@0:5 5000-10000@5500:4");
	/* cuts a tail, swallows one, cuts a head */
	map(&sp, 1, 0x3000, 0x6000, 0x70, 6);
	STR_EQ(show(&sp, 1), "0-3000@500:4 3000-6000@70:6 6000-10000@6500:4");
	/* same start */
	map(&sp, 1, 0x3000, 0x4000, 0x80, 7);
	STR_EQ(show(&sp, 1), "0-3000@500:4 3000-4000@80:7 4000-6000@1070:6 6000-10000@6500:4");
	/* same end */
	map(&sp, 1, 0x5000, 0x6000, 0x90, 8);
	STR_EQ(show(&sp, 1),
	       "0-3000@500:4 3000-4000@80:7 4000-5000@1070:6 5000-6000@90:8 6000-10000@6500:4");
	map(&sp, 1, 0xf000, UINT64_MAX, 0, 9);
	OK(mm_find(spaces_mm(&sp, MM_HOST, 1), UINT64_MAX - 1)->module == 9);
	OK(!mm_find(spaces_mm(&sp, MM_HOST, 1), UINT64_MAX));
	OK(mm_find(spaces_mm(&sp, MM_HOST, 1), 0)->module == 4);
	OK(mm_find(spaces_mm(&sp, MM_HOST, 1), 0x3fff)->module == 7);
	OK(mm_find(spaces_mm(&sp, MM_HOST, 1), 0x4000)->module == 6);
	OK(!spaces_mm(&sp, MM_HOST, 2));
	spaces_release(&sp);
}

/* Random mappings against an array with one entry a page. */
static void test_random(void)
{
	enum { PAGES = 64, ROUNDS = 4000 };
	u32 want_module[PAGES] = { 0 }, seed = 12345, i, a, b, k;
	u64 want_off[PAGES] = { 0 };
	struct spaces sp;
	bool same = true;

	spaces_init(&sp);
	for (i = 1; i <= ROUNDS; i++) {
		seed = seed * 1664525 + 1013904223;
		a = seed >> 8 & 63;
		b = a + 1 + (seed >> 16) % 9;
		if (b > PAGES)
			b = PAGES;
		map(&sp, 7, a * 4096ULL, b * 4096ULL, i * 0x100000ULL, i);
		for (k = a; k < b; k++) {
			want_module[k] = i;
			want_off[k] = i * 0x100000ULL + (k - a) * 4096ULL;
		}
		for (k = 0; k < PAGES; k++) {
			const struct mapping *m = mm_find(spaces_mm(&sp, MM_HOST, 7),
							  k * 4096ULL + 5);

			if ((m ? m->module : 0) != want_module[k] ||
			    (m && k * 4096ULL + 5 - m->start + m->pgoff != want_off[k] + 5))
				same = false;
		}
	}
	OK(same);
	spaces_release(&sp);
}

/* More mappings than a process can have. */
static void test_limit(void)
{
	struct spaces sp;
	struct mapping m = { .pgoff = 0, .module = 1 };
	u64 i, taken = 0;

	spaces_init(&sp);
	for (i = 0; i < MM_MAX_MAPS + 1000; i++) {
		m.start = (i * 7919 % 100003) << 12;
		m.end = m.start + 4096;
		taken += spaces_map(&sp, MM_HOST, 1, &m, false);
	}
	EQ(taken, MM_MAX_MAPS);
	spaces_release(&sp);
}

static int dropped;

static void drop(void *unwinder)
{
	(void)unwinder;
	dropped++;
}

/* A fork is a small record: what it copies is bounded. */
static void test_held(void)
{
	struct mapping m = { .start = 0x10, .end = 0x20, .module = 2 };
	struct spaces sp;
	u32 pid, taken = 0, forked = 0, i;

	spaces_init(&sp);
	for (i = 0; i < MM_MAX_MAPS - 1; i++)
		map(&sp, 1, 0x1000 + (u64)i * 0x2000, 0x2000 + (u64)i * 0x2000, 0, 1);
	EQ(sp.held, MM_MAX_MAPS - 1);
	for (pid = 2; pid < 1000; pid++) {
		spaces_fork(&sp, pid, 1);
		taken += spaces_map(&sp, MM_HOST, pid, &m, false);
	}
	OK(taken >= 100 && taken < 200);
	OK(sp.held <= MM_MAX_HELD);
	/* who got none of its own still has its parent's */
	OK(spaces_mm(&sp, MM_HOST, 999) == spaces_mm(&sp, MM_HOST, 1));
	/* what is given up makes room */
	for (pid = 2; pid < 1000; pid++) {
		spaces_exec(&sp, pid);
		spaces_map(&sp, MM_HOST, pid, &m, true);
	}
	EQ(sp.held, MM_MAX_MAPS - 1 + 998);
	/* copies of processes with JIT code are made at once */
	m.start = 0x20;
	m.end = 0x30;
	spaces_map(&sp, MM_HOST, 1, &m, true);
	for (pid = 1000; pid < 2000; pid++)
		forked += spaces_fork(&sp, pid, 1);
	OK(forked >= 100 && forked < 200);
	OK(!spaces_mm(&sp, MM_HOST, 1999));
	OK(sp.held <= MM_MAX_HELD);
	spaces_release(&sp);
}

static void test_tasks(void)
{
	struct spaces sp;
	u64 g1, g2, g3;
	u32 i;

	spaces_init(&sp);
	sp.drop_unwinder = drop;
	EQ(spaces_generation(&sp, 1), 0);
	map(&sp, 1, 0x1000, 0x2000, 0, 1);
	g1 = spaces_generation(&sp, 1);
	OK(g1 != 0);
	/* telling the same again changes nothing */
	map(&sp, 1, 0x1000, 0x2000, 0, 1);
	EQ(spaces_generation(&sp, 1), g1);
	spaces_fork(&sp, 2, 1);
	STR_EQ(show(&sp, 2), "1000-2000@0:1");
	OK(spaces_mm(&sp, MM_HOST, 1) == spaces_mm(&sp, MM_HOST, 2));
	/* the child's change is not the parent's */
	map(&sp, 2, 0x5000, 0x6000, 0, 2);
	STR_EQ(show(&sp, 1), "1000-2000@0:1");
	STR_EQ(show(&sp, 2), "1000-2000@0:1 5000-6000@0:2");
	EQ(spaces_generation(&sp, 1), g1);
	g2 = spaces_generation(&sp, 2);
	OK(g2 != g1);
	/* nor the parent's the child's */
	spaces_fork(&sp, 3, 1);
	map(&sp, 1, 0x8000, 0x9000, 0, 3);
	STR_EQ(show(&sp, 3), "1000-2000@0:1");
	/* an unwinder goes with the mappings it knows, not with new ones beside them */
	spaces_mm(&sp, MM_HOST, 1)->unwinder = &sp;
	map(&sp, 1, 0xa000, 0xb000, 0, 4);
	EQ(dropped, 0);
	map(&sp, 1, 0x1000, 0x1800, 0, 4);
	EQ(dropped, 1);
	OK(!spaces_mm(&sp, MM_HOST, 1)->unwinder);
	spaces_mm(&sp, MM_HOST, 2)->unwinder = &sp;
	/* while execve() runs the old mappings are what samples lie in */
	spaces_exec(&sp, 2);
	STR_EQ(show(&sp, 2), "1000-2000@0:1 5000-6000@0:2");
	EQ(dropped, 1);
	map(&sp, 2, 0x1000, 0x2000, 0, 1);
	EQ(dropped, 2);
	STR_EQ(show(&sp, 2), "1000-2000@0:1");
	g3 = spaces_generation(&sp, 2);
	OK(g3 != g2 && g3 != g1 && g3 != 0);
	/* kernel changes concern everybody */
	g2 = spaces_generation(&sp, 2);
	spaces_map_kernel(&sp, &(struct mapping){ .start = 0xffffffff81000000,
						  .end = 0xffffffff82000000,
						  .module = 9 });
	OK(spaces_generation(&sp, 2) != g2);
	g2 = spaces_generation(&sp, 2);
	spaces_ksymbol(&sp, 0xffffffffc0000000, 64, 5, false);
	OK(spaces_generation(&sp, 2) != g2);
	EQ(mm_find(&sp.ksymbols, 0xffffffffc000003f)->module, 5);
	OK(!mm_find(&sp.ksymbols, 0xffffffffc0000040));
	spaces_ksymbol(&sp, 0xffffffffc0000000, 64, 5, true);
	OK(!mm_find(&sp.ksymbols, 0xffffffffc0000000));
	/* an ended process' last samples still find their mappings, until many more have ended */
	spaces_exit(&sp, 2);
	STR_EQ(show(&sp, 2), "1000-2000@0:1");
	for (i = 0; i < 1000; i++) {
		map(&sp, 1000 + i, 0x1000, 0x2000, 0, 1);
		spaces_exit(&sp, 1000 + i);
	}
	OK(!spaces_mm(&sp, MM_HOST, 2));
	OK(!spaces_mm(&sp, MM_HOST, 1500));
	OK(spaces_mm(&sp, MM_HOST, 1999));
	/* a pid that is taken again is not thrown out with its predecessor */
	spaces_fork(&sp, 1990, 3);
	for (i = 0; i < 400; i++) {
		map(&sp, 3000 + i, 0x1000, 0x2000, 0, 1);
		spaces_exit(&sp, 3000 + i);
	}
	STR_EQ(show(&sp, 1990), "1000-2000@0:1");
	spaces_fork(&sp, 50, 49);
	OK(!spaces_mm(&sp, MM_HOST, 50));
	spaces_release(&sp);
}

/* ---- the same through the public interface, and names of what is not known ---- */

static struct strtab strings;
static struct diag diag;

static const char *name_of(struct symbolizer *s, enum space space, u32 pid, u64 addr,
			   enum addr_kind kind)
{
	const struct frame *f;

	if (sym_resolve(s, space, pid, addr, kind, &f) != 1 || f->space != space)
		return "(wrong)";
	return strtab_get(&strings, f->function);
}

static int flags_of(struct symbolizer *s, enum space space, u32 pid, u64 addr)
{
	const struct frame *f;

	sym_resolve(s, space, pid, addr, ADDR_EXACT, &f);
	return f->flags;
}

static void user_map(struct symbolizer *s, u32 pid, u64 addr, u64 len, u64 pgoff, const char *file)
{
	struct sym_mapping m = {
		.pid = pid,
		.space = SPACE_USER,
		.addr = addr,
		.len = len,
		.pgoff = pgoff,
		.filename = file,
	};

	sym_map(s, &m);
}

static void test_names(void)
{
	struct sym_opts opts = { .offline_only = true };
	struct symbolizer *s;
	const struct frame *f, *g;
	struct sym_mapping k = {
		.pid = SYM_KERNEL_PID,
		.space = SPACE_KERNEL,
		.addr = 0xffffffff9e000000,
		.len = 0x1200000,
		.pgoff = 0xffffffff9e000000,
		.filename = "[kernel.kallsyms]_text",
	};
	const struct sym_module_info *infos;

	strtab_init(&strings);
	diag_init(&diag);
	s = sym_new(&opts, &strings, &diag);
	/* a process of which nothing is known has no broken stacks */
	STR_EQ(name_of(s, SPACE_USER, 5, 0x401234, ADDR_EXACT), "[unknown+0x401234]");
	EQ(flags_of(s, SPACE_USER, 5, 0x401234), FRAME_UNRESOLVED);
	user_map(s, 5, 0x400000, 0x10000, 0x1000, "/no/such/prog");
	user_map(s, 5, 0x7f0000000000, 0x1000, 0, "[vdso]");
	user_map(s, 5, 0x7f0000100000, 0x1000, 0x7f0000100000, "//anon");
	user_map(s, 5, 0xffffffffff600000, 0x1000, 0, "[vsyscall]");
	STR_EQ(name_of(s, SPACE_USER, 5, 0x401234, ADDR_EXACT), "[prog+0x2234]");
	/* the address itself is told, also of return addresses */
	STR_EQ(name_of(s, SPACE_USER, 5, 0x401234, ADDR_RETURN), "[prog+0x2234]");
	STR_EQ(name_of(s, SPACE_USER, 5, 0x7f0000000980, ADDR_EXACT), "[vdso+0x980]");
	STR_EQ(name_of(s, SPACE_USER, 5, 0x7f0000100980, ADDR_EXACT), "[//anon+0x7f0000100980]");
	STR_EQ(name_of(s, SPACE_USER, 5, 0xffffffffff600000, ADDR_EXACT), "[vsyscall+0x0]");
	STR_EQ(name_of(s, SPACE_USER, 5, 0x500000, ADDR_EXACT), "[broken stack]");
	EQ(flags_of(s, SPACE_USER, 5, 0x500000), FRAME_BROKEN);
	EQ(flags_of(s, SPACE_USER, 5, 0), FRAME_BROKEN);
	/* the end of a mapping: a call may be its last instruction */
	STR_EQ(name_of(s, SPACE_USER, 5, 0x410000, ADDR_RETURN), "[prog+0x11000]");
	STR_EQ(name_of(s, SPACE_USER, 5, 0x410000, ADDR_EXACT), "[broken stack]");
	STR_EQ(name_of(s, SPACE_USER, 5, 0x400000, ADDR_RETURN), "[broken stack]");
	/* one file in two processes at two places is one module */
	user_map(s, 6, 0x55550000, 0x10000, 0x1000, "/no/such/prog");
	sym_resolve(s, SPACE_USER, 5, 0x401234, ADDR_EXACT, &f);
	sym_resolve(s, SPACE_USER, 6, 0x55551234, ADDR_EXACT, &g);
	OK(f == g);
	/* and gives the same answer */
	EQ(sym_answer(s, SPACE_USER, 5, 0x401234, ADDR_EXACT),
	   sym_answer(s, SPACE_USER, 6, 0x55551234, ADDR_EXACT));
	EQ(sym_answer_frames(s, sym_answer(s, SPACE_USER, 5, 0x401234, ADDR_EXACT), &g), 1);
	OK(f == g);
	/* fork, exec */
	sym_fork(s, 7, 6);
	STR_EQ(name_of(s, SPACE_USER, 7, 0x55551234, ADDR_EXACT), "[prog+0x2234]");
	EQ(sym_generation(s, 7), sym_generation(s, 6));
	sym_exec(s, 7);
	STR_EQ(name_of(s, SPACE_USER, 7, 0x55551234, ADDR_EXACT), "[prog+0x2234]");
	user_map(s, 7, 0x400000, 0x1000, 0, "/no/such/prog");
	STR_EQ(name_of(s, SPACE_USER, 7, 0x55551234, ADDR_EXACT), "[broken stack]");
	OK(sym_generation(s, 7) != sym_generation(s, 6));
	/* a new program without a mapping yet, of which all is known */
	sym_exec(s, 70);
	STR_EQ(name_of(s, SPACE_USER, 70, 0x401234, ADDR_EXACT), "[broken stack]");
	/* JIT code is of one process: a child has its own map */
	sym_fork(s, 8, 5);
	OK(sym_generation(s, 8) != sym_generation(s, 5));

	/* kernel: the address itself, as System.map has it */
	STR_EQ(name_of(s, SPACE_KERNEL, 5, 0xffffffff9e001234, ADDR_EXACT),
	       "[kernel.kallsyms+0xffffffff9e001234]");
	STR_EQ(name_of(s, SPACE_KERNEL, 5, 0x1234, ADDR_EXACT), "[broken stack]");
	sym_free(s);
	s = sym_new(&opts, &strings, &diag);
	sym_map(s, &k);
	STR_EQ(name_of(s, SPACE_KERNEL, 5, 0xffffffff9e001234, ADDR_EXACT),
	       "[kernel.kallsyms+0xffffffff9e001234]");
	k.addr = 0xffffffffc0100000;
	k.len = 0x5000;
	k.pgoff = 0;
	k.filename = "/lib/modules/6.1/kernel/net/nf-tables.ko.xz";
	sym_map(s, &k);
	STR_EQ(name_of(s, SPACE_KERNEL, 5, 0xffffffffc0100020, ADDR_EXACT), "[nf_tables+0x20]");
	sym_ksymbol(s, 0xffffffffc0200000, 0x80, "bpf_prog_0123456789abcdef_entry", false);
	STR_EQ(name_of(s, SPACE_KERNEL, 5, 0xffffffffc0200080, ADDR_RETURN),
	       "bpf_prog_0123456789abcdef_entry");
	EQ(flags_of(s, SPACE_KERNEL, 5, 0xffffffffc0200000), 0);
	sym_ksymbol(s, 0xffffffffc0200000, 0x80, "bpf_prog_0123456789abcdef_entry", true);
	EQ(flags_of(s, SPACE_KERNEL, 5, 0xffffffffc0200000), FRAME_UNRESOLVED);

	/* hypervisor, symbols.md A3 */
	STR_EQ(name_of(s, SPACE_HV, 0, 0xffff82d040212345, ADDR_EXACT), "[xen+0x212345]");
	EQ(flags_of(s, SPACE_HV, 0, 0xffff82d040212345), FRAME_UNRESOLVED);
	STR_EQ(name_of(s, SPACE_HV, 0, 0xffff82d080212345, ADDR_EXACT), "[xen+0x212345]");
	STR_EQ(name_of(s, SPACE_HV, 0, 0xffff82d07fffc040, ADDR_EXACT), "[xen stubs]");
	STR_EQ(name_of(s, SPACE_HV, 0, 0xffff830012345678, ADDR_EXACT), "[xen data?]");
	EQ(flags_of(s, SPACE_HV, 0, 0xffff830012345678), FRAME_DOUBTFUL);
	STR_EQ(name_of(s, SPACE_HV, 0, 0xa0000212345, ADDR_EXACT), "[xen+0xa0000212345]");
	OK(sym_hv_is_return(s, 0xffff82d040212345));

	/* guests */
	STR_EQ(name_of(s, SPACE_GUEST_KERNEL, 9, 0xffffffff81001234, ADDR_EXACT),
	       "[guest.kernel.kallsyms+0xffffffff81001234]");
	STR_EQ(name_of(s, SPACE_GUEST_USER, 9, 0x401234, ADDR_EXACT), "[guest user+0x401234]");

	/* text: names without a mapping */
	EQ(sym_resolve_in_file(s, SPACE_USER, "/usr/lib/no/such.so.6", 0x1234, ADDR_RETURN, &f), 1);
	STR_EQ(strtab_get(&strings, f->function), "[such.so.6+0x1234]");
	STR_EQ(strtab_get(&strings, f->module), "such.so.6");
	STR_EQ(strtab_get(&strings,
			  sym_module_name(s, SPACE_KERNEL, "/lib/modules/6.1/kernel/a-b.ko")),
	       "[a_b]");
	STR_EQ(strtab_get(&strings, sym_module_name(s, SPACE_KERNEL, "[kernel.kallsyms]")),
	       "[kernel.kallsyms]");
	STR_EQ(strtab_get(&strings, sym_module_name(s, SPACE_HV, "[hypervisor]")), "xen-syms");
	STR_EQ(strtab_get(&strings, sym_module_name(s, SPACE_USER, "//anon")), "//anon");
	EQ(sym_modules(s, &infos), 6);
	STR_EQ(infos[0].name, "[kernel.kallsyms]");
	OK(!infos[0].symbol_file && !infos[0].source);
	EQ(diag.entries.n, 0);
	sym_free(s);
	strtab_release(&strings);
	diag_release(&diag);
}

int main(void)
{
	test_replace();
	test_random();
	test_limit();
	test_held();
	test_tasks();
	test_names();
	return tap_done();
}
