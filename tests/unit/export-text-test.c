/* SPDX-License-Identifier: GPL-2.0-or-later */
/* render: the table of writers; folded text, by hand-written answers. */
#include "tests/unit/export-test.h"

static struct fixture f;

static void test_table(void)
{
	const struct render_writer *const *w;

	for (w = render_writers(); *w; w++) {
		OK(render_writer_by_name((*w)->name) == *w);
		OK((*w)->suffixes && (*w)->help && (*w)->write != NULL);
	}
	OK(render_writer_by_name("folde") == NULL);
	OK(render_writer_by_path("x.folded") == render_writer_by_name("folded"));
	OK(render_writer_by_path("dir.folded/x.speedscope.json") ==
	   render_writer_by_name("speedscope"));
	OK(render_writer_by_path("dir.folded/x") == NULL);
	OK(render_writer_by_path("folded") == NULL);
	OK(render_writer_by_path("") == NULL);
}

static void test_folded(void)
{
	fixture_add(&f, "cycles", "G app|U main|I helper", 3);
	fixture_add(&f, "cycles", "G app|U main|I helper|K do_syscall_64|H do_mmu_update",
		    18446744073709551000U);
	fixture_add(&f, "cycles", "G app", 1);
	fixture_add(&f, "cycles", "G a;b 7|U f(int, char*) 3", 5);
	fixture_add(&f, "faults", "G app|U \xff\n", 9);
	STR_EQ(fixture_write(&f, "folded", NULL, NULL),
	       "a%3bb%207;f(int, char*)%203 5\n"
	       "app 1\n"
	       "app;main;helper 3\n"
	       "app;main;helper;do_syscall_64;do_mmu_update_[h] 18446744073709551000\n");
	STR_EQ(fixture_write(&f, "folded", &(struct view_opts){ .event = -1, .only = "^app$" },
			     &(struct render_opts){ .annotate_all = true }),
	       "cycles;app 1\n"
	       "cycles;app;main;helper_[i] 3\n"
	       "cycles;app;main;helper_[i];do_syscall_64_[k];do_mmu_update_[h] "
	       "18446744073709551000\n"
	       "faults;app;%ff%0a 9\n");
	f.p.by_line = true;
	STR_EQ(fixture_write(&f, "folded", &(struct view_opts){ .focus = "^helper" }, NULL),
	       "helper:main.h:8 3\n"
	       "helper:main.h:8;do_syscall_64;do_mmu_update:mm.c:15_[h] 18446744073709551000\n");
}

/* Names of all lengths around what is written at a time, in lines that steps of a walk end within;
 * a second stack leaves the first one half way. */
static void test_folded_lines(void)
{
	struct buf path = BUF_INIT, half = BUF_INIT, expected = BUF_INIT;
	node_id node = 0, fork = 0;
	u32 event, depth, i;
	char name[303];

	fixture_release(&f);
	fixture_init(&f);
	event = profile_event(&f.p, strtab_adds(&f.strings, "e"));
	for (depth = 1; depth <= 900; depth++) {
		u32 n = depth % 300 + 1;

		snprintf(name, sizeof(name), "U ");
		for (i = 0; i < n; i++)
			name[2 + i] = (char)('a' + (depth + i) % 25);
		node = fixture_child_n(&f, node, name, 2 + n);
		buf_puts(&path, depth > 1 ? ";" : "");
		buf_put(&path, name + 2, n);
		if (depth == 400) {
			fork = node;
			buf_put(&half, path.p, path.n);
		}
		if (depth == 1 || depth == 400 || (depth >= 254 && depth <= 258) || depth == 900) {
			profile_add(&f.p, event, node, 1, depth);
			buf_put(&expected, path.p, path.n);
			buf_printf(&expected, " %u\n", depth);
		}
	}
	profile_add(&f.p, event, fixture_child(&f, fork, "U zz"), 1, 7);
	buf_put(&expected, half.p, half.n);
	buf_puts(&expected, ";zz 7\n");
	OK(!strcmp(fixture_write(&f, "folded", NULL, NULL), buf_str(&expected)));
	buf_release(&path);
	buf_release(&half);
	buf_release(&expected);
}

static void test_perf_script(void)
{
	fixture_release(&f);
	fixture_init(&f);
	f.p.keep_samples = true;
	fixture_add(&f, "cycles", "G my app 1|U main|I helper|K do_syscall_64|H do_mmu_update", 7);
	fixture_add(&f, "cycles", "G my app 1|U a+0x12|I only", 5);
	fixture_add(&f, "cycles", "G my app 1", 1);
	fixture_add(&f, "faults", "U no comm\n\xad|G group", 4);
	STR_EQ(fixture_write(&f, "perf-script", &(struct view_opts){ .event = -1 }, NULL),
	       "# ========\n"
	       "# " PACKAGE_STRING ": names are resolved, addresses are made up (one a function)\n"
	       "# ========\n"
	       "#\n"
	       "my app 1     0     0.000000000:          1 cycles: \n"
	       "\n"
	       "my app 1     0     0.000001000:          5 cycles: \n"
	       "\t          400030 only (inlined)\n"
	       "\t          400020 a+0x12+0x0 (prog \"x\")\n"
	       "\n"
	       "my app 1     0     0.000006000:          7 cycles: \n"
	       "\tffff82d040200070 do_mmu_update_[h] (xen-syms)\n"
	       "\tffffffff81000060 do_syscall_64 ([kernel.kallsyms])\n"
	       "\t          400050 helper (inlined)\n"
	       "\t          400040 main (prog \"x\")\n"
	       "\n"
	       "no comm?\xef\xbf\xbd     0     0.000013000:          4 faults: \n"
	       "\t          4000a0 group ([unknown])\n"
	       "\n");
	/* A view that starts at a function has it in the comm's place; lines as -F +srcline has
	 * them. */
	f.p.by_line = true;
	STR_EQ(strstr(fixture_write(&f, "perf-script",
				    &(struct view_opts){ .focus = "^(helper|only)" }, NULL),
		      "\n#\n"),
	       "\n#\nhelper     0     0.000000000:          7 cycles: \n"
	       "\tffff82d040200020 do_mmu_update_[h] (xen-syms)\n"
	       "  arch/x86/mm.c:15\n"
	       "\tffffffff81000010 do_syscall_64 ([kernel.kallsyms])\n"
	       "\n"
	       "only     0     0.000007000:          5 cycles: \n"
	       "\n");
}

static void add_sample(const char *event, const char *stack, u64 time, u32 cpu, u32 pid, u32 tid,
		       u64 weight)
{
	profile_add_sample(&f.p,
			   &(struct profile_sample){
				   .time = time,
				   .weight = weight,
				   .cpu = cpu,
				   .pid = pid,
				   .tid = tid,
				   .node = fixture_stack(&f, stack),
				   .event = profile_event(&f.p, strtab_adds(&f.strings, event)) });
}

/* Samples that were kept are written in their order, filters honoured. */
static void test_perf_script_samples(void)
{
	fixture_release(&f);
	fixture_init(&f);
	f.p.keep_samples = true;
	add_sample("cycles", "G b|U main", 1002003004, 3, 7, 8, 250000);
	add_sample("cycles", "G a|U main|U idle", 1002003005, 3, 7, 7, 250000);
	add_sample("cycles", "G a|U main", UINT64_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX,
		   18446744073709051615U);
	STR_EQ(strstr(fixture_write(&f, "perf-script", &(struct view_opts){ .hide = "idle" }, NULL),
		      "\n#\n"),
	       "\n#\nb     7/8     [003]     1.002003004:     250000 cycles: \n"
	       "\t          400010 main (prog \"x\")\n"
	       "\n"
	       "a     0 18446744073709051615 cycles: \n"
	       "\t          400010 main (prog \"x\")\n"
	       "\n");
}

/* Nothing, a stack without frames, a very deep stack, the largest weight: no export fails or
 * recurses. */
static void test_edges(void)
{
	static const char *const formats[] = {
		"folded",    "perf-script", "speedscope", "speedscope-time", "pprof",
		"callgrind", "d3",          "json",       "firefox",         "chrome"
	};
	const char *text;
	node_id node = 0;
	size_t i;
	u32 k;

	for (i = 0; i < ARRAY_SIZE(formats); i++) {
		fixture_release(&f);
		fixture_init(&f);
		f.p.keep_samples = true;
		fixture_write(&f, formats[i], NULL, NULL);
		fixture_write(&f, formats[i], &(struct view_opts){ .event = -1 }, NULL);
		OK(f.text.n > 0 || i == 0);
		fixture_add(&f, "e", "", 3); /* no frame at all */
		fixture_write(&f, formats[i], NULL, NULL);
		fixture_write(&f, formats[i], &(struct view_opts){ .event = -1 }, NULL);
		OK(f.text.n > 0);
		for (k = 0, node = 0; k < 20000; k++)
			node = fixture_child(&f, node, "U r");
		profile_add_sample(
			&f.p, &(struct profile_sample){ .node = node, .weight = 5, .time = 7 });
		fixture_write(&f, formats[i], NULL, NULL);
		OK(f.text.n > 0);
	}
	fixture_release(&f);
	fixture_init(&f);
	fixture_add(&f, "e", "G a|U b", UINT64_MAX);
	STR_EQ(fixture_write(&f, "folded", NULL, NULL), "a;b 18446744073709551615\n");
	text = fixture_write(&f, "perf-script", NULL, NULL);
	OK(strstr(text, " 18446744073709551615 e: \n") != NULL);
	text = fixture_write(&f, "speedscope", NULL, NULL);
	OK(strstr(text, "\"weights\":[18446744073709551615]") != NULL);
	text = fixture_write(&f, "json", NULL, NULL);
	OK(strstr(text, "\"total\":[18446744073709551615,") != NULL);
}

int main(void)
{
	fixture_init(&f);
	test_table();
	test_folded();
	test_folded_lines();
	test_perf_script();
	test_perf_script_samples();
	test_edges();
	fixture_release(&f);
	return tap_done();
}
