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
	OK(render_writer_by_path("dir.folded/x.speedscope.json") == render_writer_by_name("speedscope"));
	OK(render_writer_by_path("dir.folded/x") == NULL);
	OK(render_writer_by_path("folded") == NULL);
	OK(render_writer_by_path("") == NULL);
}

static void test_folded(void)
{
	fixture_add(&f, "cycles", "G app|U main|I helper", 3);
	fixture_add(&f, "cycles", "G app|U main|I helper|K do_syscall_64|H do_mmu_update", 18446744073709551000U);
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
	       "cycles;app;main;helper_[i];do_syscall_64_[k];do_mmu_update_[h] 18446744073709551000\n"
	       "faults;app;%ff%0a 9\n");
	f.p.by_line = true;
	STR_EQ(fixture_write(&f, "folded", &(struct view_opts){ .focus = "^helper" }, NULL),
	       "helper:main.h:8 3\n"
	       "helper:main.h:8;do_syscall_64;do_mmu_update:mm.c:15_[h] 18446744073709551000\n");
}

int main(void)
{
	fixture_init(&f);
	test_table();
	test_folded();
	fixture_release(&f);
	return tap_done();
}
