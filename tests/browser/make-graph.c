/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes graphs for the browser tests and the browser benchmark, without a recording:
 *
 *	make-graph FORMAT KIND [NUMBER] [OPTION=VALUE …]  >file
 *
 * KIND: xen (a small host, all kinds of frames), big (about NUMBER boxes, seeded), deep (one stack of NUMBER
 * frames among others), hostile (names that try to break out), huge (weights over 2^53), timed (samples with
 * times), events, domains, many (samples), empty.
 */
#include "base/base.h"
#include "render/render.h"

static struct strtab strings;
static struct profile prof;

static frame_id frame(const char *name, const char *module, const char *file, u32 line, enum space space, u8 flags)
{
	struct frame f = {
		strtab_adds(&strings, name), strtab_adds(&strings, module), strtab_adds(&strings, file), line,
		(u8)space, flags
	};

	return profile_frame(&prof, &f);
}

static void stack(u64 weight, const frame_id *frames, size_t n)
{
	node_id at = 0;
	size_t i;

	for (i = 0; i < n; i++)
		at = profile_child(&prof, at, frames[i]);
	profile_add(&prof, 0, at, weight, weight);
}

#define STACK(weight, ...) do {						\
	const frame_id s[] = { __VA_ARGS__ };				\
	stack(weight, s, ARRAY_SIZE(s));				\
} while (0)

/* Weights add up to 1,000; `copy` is in 300 of them, twice in 50; hypervisor self is 400. */
static void make_xen(void)
{
	frame_id dd = frame("dd", "", "", 0, SPACE_NONE, FRAME_GROUP);
	frame_id guest = frame("[guest]", "", "", 0, SPACE_NONE, FRAME_GROUP);
	frame_id java = frame("java", "", "", 0, SPACE_NONE, FRAME_GROUP);
	frame_id start = frame("_start", "dd", "crt1.S", 115, SPACE_USER, 0);
	frame_id mainf = frame("main", "dd", "dd.c", 2100, SPACE_USER, 0);
	frame_id copy = frame("copy", "dd", "dd.c", 1700, SPACE_USER, 0);
	frame_id swab = frame("swab", "libc.so.6", "swab.c", 44, SPACE_USER, FRAME_INLINED);
	frame_id writef = frame("__GI___libc_write", "libc.so.6", "write.c", 26, SPACE_USER, 0);
	frame_id entry = frame("entry_SYSCALL_64_after_hwframe", "vmlinux", "entry_64.S", 120, SPACE_KERNEL, 0);
	frame_id sys = frame("do_syscall_64", "vmlinux", "common.c", 83, SPACE_KERNEL, 0);
	frame_id vfs = frame("vfs_write", "vmlinux", "read_write.c", 588, SPACE_KERNEL, 0);
	frame_id fdget = frame("fdget_pos", "vmlinux", "file.h", 70, SPACE_KERNEL, FRAME_INLINED);
	frame_id hyper = frame("xen_hypercall_sched_op", "vmlinux", "", 0, SPACE_KERNEL, 0);
	frame_id lstar = frame("lstar_enter", "xen-syms", "entry.S", 290, SPACE_HV, 0);
	frame_id pvh = frame("pv_hypercall", "xen-syms", "hypercall.c", 148, SPACE_HV, 0);
	frame_id sched = frame("do_sched_op", "xen-syms", "schedule.c", 1700, SPACE_HV, 0);
	frame_id lock = frame("_spin_lock", "xen-syms", "spinlock.c", 200, SPACE_HV, 0);
	frame_id lockcb = frame("_spin_lock_cb", "xen-syms", "spinlock.c", 180, SPACE_HV, FRAME_INLINED);
	frame_id unknown = frame("[xen+0x23f1a0]", "xen-syms", "", 0, SPACE_HV, FRAME_UNRESOLVED);
	frame_id gk = frame("native_safe_halt", "vmlinux", "", 0, SPACE_GUEST_KERNEL, 0);
	frame_id gu = frame("qemu_main_loop", "guest-app", "", 0, SPACE_GUEST_USER, 0);
	frame_id jit = frame("Ljava/util/HashMap;::get", "perf-4242.map", "", 0, SPACE_USER, FRAME_JIT);
	frame_id interp = frame("Interpreter", "perf-4242.map", "", 0, SPACE_USER, FRAME_JIT);

	STACK(100, dd, start, mainf, copy, swab);
	STACK(50, dd, start, mainf, copy, mainf, copy);
	STACK(60, dd, start, mainf, copy, writef, entry, sys, vfs);
	STACK(40, dd, start, mainf, copy, writef, entry, sys, vfs, fdget);
	STACK(50, dd, start, mainf, copy, writef, entry, sys, hyper, lstar, pvh, sched, lock, lockcb);
	STACK(150, dd, start, mainf, writef, entry, sys, hyper, lstar, pvh, sched);
	STACK(120, dd, entry, sys, hyper, lstar, pvh, sched, lock);
	STACK(80, dd, entry, sys, hyper, lstar, unknown);
	STACK(100, guest, gk);
	STACK(50, guest, gu);
	STACK(120, java, interp, interp, interp, jit);
	STACK(80, java, interp, entry, sys, vfs);
}

static u64 seed = 42;

static u32 roll(u32 n)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (u32)((seed >> 33) % n);
}

/*
 * About `want` boxes, as recordings of a host have them: 5,000 functions (less in small graphs), each calls at most
 * eight others, mostly the first of these; stacks of 20 to 40 frames that share their beginnings.
 */
#define CALLEES	8

static u32 skewed(u32 n)
{
	u32 i;

	for (i = 0; i + 1 < n && roll(2); i++)
		;
	return i;
}

static void make_big(u32 want)
{
	static const char *const words[] = {
		"read", "write", "alloc", "page", "queue", "vcpu", "lock", "timer", "event", "grant", "irq", "map", "flush",
		"sched", "copy", "net", "blk", "send", "recv", "poll"
	};
	static const enum space spaces[] = { SPACE_USER, SPACE_USER, SPACE_KERNEL, SPACE_KERNEL, SPACE_HV };
	static const char *const modules[] = { "app", "libc.so.6", "vmlinux", "vmlinux", "xen-syms" };
	u32 nf = want / 10, depth = 0, i, k;
	frame_id *frames;
	u32 *callees, path[64];
	frame_id stack_frames[64];

	nf = MIN(MAX(nf, 50), 5000);
	frames = xcalloc(nf, sizeof(*frames));
	callees = xcalloc(nf, CALLEES * sizeof(*callees));
	for (i = 0; i < nf; i++) {
		char name[96];

		/* By fifths: user code calls libraries, these call the kernel, and that the hypervisor. */
		k = i * 5 / nf;
		snprintf(name, sizeof(name), "%s_%s_%s_%u", words[roll(20)], words[roll(20)], words[roll(20)], (unsigned int)i);
		frames[i] = frame(name, modules[k], "file.c", roll(3000) + 1, spaces[k], roll(8) ? 0 : FRAME_INLINED);
		for (k = 0; k < CALLEES; k++)
			callees[i * CALLEES + k] = (i + roll(nf / 20 + 2)) % nf;
	}
	while (prof.nodes.n < want) {
		u32 keep = depth ? roll(depth < 12 ? depth : 12) : 0;

		depth = 20 + roll(21);
		if (depth <= keep)
			depth = keep + 1;
		for (i = keep; i < depth; i++)
			path[i] = i ? callees[path[i - 1] * CALLEES + skewed(CALLEES)] : roll(nf / 5);
		for (i = 0; i < depth; i++)
			stack_frames[i] = frames[path[i]];
		stack(1 + roll(9), stack_frames, depth);
	}
	free(frames);
	free(callees);
}

static void make_deep(u32 n)
{
	frame_id even = frame("even", "app", "rec.c", 10, SPACE_USER, 0), odd = frame("odd", "app", "rec.c", 20, SPACE_USER, 0);
	frame_id *path = xcalloc(n + 1, sizeof(*path));
	u32 i;

	for (i = 0; i < n; i++)
		path[i] = i % 2 ? odd : even;
	stack(90, path, n);
	path[0] = frame("other", "app", "", 0, SPACE_USER, 0);
	stack(10, path, 1);
	free(path);
}

static void make_hostile(void)
{
	static const char *const names[] = {
		"</script><script>window.pwned=1</script>", "]]><script>window.pwned=1</script>", "<img src=x onerror=\"window.pwned=1\">",
		"\"><svg onload=\"window.pwned=1\">", "' onmouseover='window.pwned=1", "&lt;b&gt;&amp;", "</title><script>window.pwned=1</script>",
		"<!--", "-->", "\\u003cscript>", "javascript:window.pwned=1", "a;b c:d", "\x1b[31mred\x01\x7f", "\xff\xfe\xc0\x80", "\xef\xbf\xbe",
		"\xf0\x9f\x94\xa5 \xe6\xbc\xa2\xe5\xad\x97", "__proto__", "constructor", "hasOwnProperty", "toString", "\xe2\x80\xa8\xe2\x80\xa9",
		"operator<<", "std::function<void (int&&)>::operator()(int&&) const", "${window.pwned=1}", "`window.pwned=1`", "%s%n%00", " ",
	};
	frame_id root = frame("comm</title>]]>", "", "", 0, SPACE_NONE, FRAME_GROUP);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		STACK(10, root, frame(names[i], names[i], names[ARRAY_SIZE(names) - 1 - i], 7, SPACE_HV, 0));
}

static void make_huge(void)
{
	frame_id a = frame("a", "m", "", 0, SPACE_KERNEL, 0), b = frame("b", "m", "", 0, SPACE_HV, 0);

	STACK(1ULL << 60, a);
	STACK((1ULL << 60) + 1, a, b);
}

/* 10 s with a sample each 10 ms: early for 4 s, late for 6 s; one sample has no time. */
static void make_timed(void)
{
	frame_id early = frame("early", "app", "", 0, SPACE_USER, 0), late = frame("late", "app", "", 0, SPACE_USER, 0);
	frame_id mainf = frame("main", "app", "", 0, SPACE_USER, 0);
	node_id root = profile_child(&prof, 0, mainf);
	struct profile_sample s = { .weight = 1, .pid = 1, .tid = 1 };
	u32 i;

	for (i = 0; i < 1000; i++) {
		s.time = 5000000000ULL + i * 10000000ULL;
		s.node = profile_child(&prof, root, i < 400 ? early : late);
		profile_add_sample(&prof, &s);
	}
	s.time = UINT64_MAX;
	profile_add_sample(&prof, &s);
}

/* Two events, two processors, three threads of two processes; some are of nobody. */
static void make_events(void)
{
	static const u32 pids[] = { 7, 7, 30, UINT32_MAX };
	frame_id comm = frame("app", "", "", 0, SPACE_NONE, FRAME_GROUP), work = frame("work", "app", "", 0, SPACE_USER, 0);
	frame_id idle = frame("do_idle", "vmlinux", "", 0, SPACE_KERNEL, 0);
	node_id root = profile_child(&prof, 0, comm), nodes[] = { profile_child(&prof, root, work), profile_child(&prof, root, idle) };
	u32 faults = profile_event(&prof, strtab_adds(&strings, "faults")), i;

	for (i = 0; i < 100; i++) {
		struct profile_sample s = { .time = 1000000000ULL + i * 1000000ULL, .weight = i < 50 ? 1 : 3, .node = nodes[i % 5 == 0] };

		s.event = i % 10 == 9 ? faults : 0;
		s.cpu = i % 4 == 3 ? UINT32_MAX : i % 4 == 0;
		s.pid = pids[i % 4];
		s.tid = s.pid == UINT32_MAX ? s.pid : s.pid + i % 2;
		profile_add_sample(&prof, &s);
	}
}

/* A sample a second of dom0, two guests of KVM, an idle vCPU, and one whose domain nobody knows. */
static void make_domains(void)
{
	frame_id comm = frame("qemu", "", "", 0, SPACE_NONE, FRAME_GROUP), xen = frame("[xen]", "", "", 0, SPACE_NONE, FRAME_GROUP);
	frame_id work = frame("work", "qemu", "", 0, SPACE_USER, 0), idle = frame("idle_loop", "xen-syms", "", 0, SPACE_HV, 0);
	frame_id nap = frame("default_idle", "xen-syms", "", 0, SPACE_HV, 0), hv = frame("vmx_asm_vmexit_handler", "xen-syms", "", 0, SPACE_HV, 0);
	node_id host = profile_child(&prof, profile_child(&prof, 0, comm), work), none = profile_child(&prof, 0, xen);
	const struct profile_sample samples[] = {
		{ .node = host, .weight = 1 }, { .node = host, .weight = 2, .machine = 90 }, { .node = host, .weight = 4, .machine = 81 },
		{ .node = profile_child(&prof, profile_child(&prof, none, idle), nap), .weight = 8 },
		{ .node = profile_child(&prof, none, hv), .weight = 16 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(samples); i++) {
		struct profile_sample s = samples[i];

		s.time = i * 1000000000;
		profile_add_sample(&prof, &s);
	}
}

/* 2,100,000 samples, more than a page keeps one by one: 7 of 10 are of one function. */
static void make_many(void)
{
	node_id a = profile_child(&prof, 0, frame("often", "app", "", 0, SPACE_USER, 0));
	node_id b = profile_child(&prof, 0, frame("seldom", "app", "", 0, SPACE_USER, 0));
	u32 i;

	for (i = 0; i < 2100000; i++) {
		struct profile_sample s = { .time = i * 5000ULL, .weight = 1, .node = i % 10 < 7 ? a : b, .cpu = i % 2, .pid = 1, .tid = 1 };

		profile_add_sample(&prof, &s);
	}
}

static const char *option(int argc, char **argv, const char *name)
{
	size_t n = strlen(name);
	int i;

	for (i = 3; i < argc; i++)
		if (!strncmp(argv[i], name, n) && argv[i][n] == '=')
			return argv[i] + n + 1;
	return NULL;
}

static u32 number(const char *s, u32 other)
{
	u64 v;

	return s && !parse_dec(&s, s + strlen(s), &v) ? (u32)v : other;
}

int main(int argc, char **argv)
{
	static const char evil[] = "</script><script>window.pwned=1</script>]]><b onclick=\"window.pwned=1\">";
	static const struct render_fact facts[] = { { "host", "dom0.example" }, { "command", "perf kvm --host --guest record -a -g" } };
	static const struct render_fact evil_facts[] = { { evil, evil } };
	static const struct render_quality quality[] = {
		{ "lost", "12 samples lost; a larger ring buffer keeps them: perf record -m 16M", 12, true },
		{ "unresolved_hv", "80 hypervisor frames without a symbol; give the file by --xen-syms=FILE", 80, false },
	};
	static const struct render_quality evil_quality[] = { { evil, evil, 1, false } };
	const char *kind = argc > 2 ? argv[2] : "xen";
	const struct render_writer *w = render_writer_by_name(argc > 1 ? argv[1] : "svg");
	u32 n = number(argc > 3 ? argv[3] : NULL, 10000);
	struct view_opts vo = { .event = 0 };
	struct render_opts ro = { .min_width = -1 };
	struct render_input in = { .profile = &prof };
	struct error err = { "" };
	struct view view;
	struct out o;

	if (!w) {
		fputs("usage: make-graph FORMAT xen|big|deep|hostile|huge|timed|events|domains|many|empty [NUMBER] [OPTION=VALUE …]\n", stderr);
		return 2;
	}
	strtab_init(&strings);
	profile_init(&prof, &strings);
	prof.unit = "samples";
	profile_event(&prof, strtab_adds(&strings, "cycles"));
	ro.title = option(argc, argv, "title");
	ro.subtitle = option(argc, argv, "subtitle");
	ro.colors = option(argc, argv, "colors");
	ro.background = option(argc, argv, "bgcolors");
	ro.icicle = option(argc, argv, "icicle") != NULL;
	ro.annotate_all = option(argc, argv, "annotate") != NULL;
	ro.flamechart = option(argc, argv, "flamechart") != NULL;
	ro.plain_data = option(argc, argv, "plain") != NULL;
	ro.dark = option(argc, argv, "dark") != NULL;
	ro.color = option(argc, argv, "color") != NULL;
	ro.width = number(option(argc, argv, "width"), 0);
	ro.columns = number(option(argc, argv, "columns"), 0);
	ro.scale = number(option(argc, argv, "scale"), 1);
	ro.font = option(argc, argv, "font");
	if (!strcmp(kind, "xen")) {
		in.facts = facts;
		in.nr_facts = ARRAY_SIZE(facts);
		in.quality = quality;
		in.nr_quality = ARRAY_SIZE(quality);
		make_xen();
	} else if (!strcmp(kind, "big")) {
		make_big(n);
	} else if (!strcmp(kind, "deep")) {
		make_deep(n);
	} else if (!strcmp(kind, "hostile")) {
		ro.title = ro.subtitle = ro.notes = ro.count_name = ro.font = ro.name_type = evil;
		in.facts = evil_facts;
		in.nr_facts = ARRAY_SIZE(evil_facts);
		in.quality = evil_quality;
		in.nr_quality = ARRAY_SIZE(evil_quality);
		make_hostile();
	} else if (!strcmp(kind, "timed")) {
		prof.keep_samples = true;
		make_timed();
	} else if (!strcmp(kind, "events")) {
		prof.keep_samples = true;
		vo.event = -1;
		make_events();
	} else if (!strcmp(kind, "domains")) {
		prof.keep_samples = true;
		make_domains();
	} else if (!strcmp(kind, "many")) {
		prof.keep_samples = true;
		make_many();
	} else if (!strcmp(kind, "huge")) {
		make_huge();
	}
	if (view_build(&view, &prof, &vo, &err))
		goto fail;
	in.view = &view;
	if (out_open(&o, "-", &err) || w->write(&o, &in, &ro, &err) || out_close(&o, &err))
		goto fail;
	view_release(&view);
	profile_release(&prof);
	strtab_release(&strings);
	return 0;
fail:
	fprintf(stderr, "make-graph: %s\n", err.msg);
	return 1;
}
