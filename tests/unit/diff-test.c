/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile: comparisons. Right answers are counted by hand; the noise is tried on made recordings.
 */
#include <math.h>

#include "profile/noise.h"
#include "profile/profile.h"
#include "tests/unit/tap.h"

static struct error err;

struct recording {
	struct strtab strings;
	struct profile p;
};

static int build(struct view *v, struct profile *after, struct profile *before,
		 const struct view_opts *o, const struct diff_opts *d, struct error *e)
{
	return view_build_diff(
		v,
		&(struct diff_input){
			.after = &after, .before = &before, .nr_after = 1, .nr_before = 1 },
		o, d, e);
}

static void recording_init(struct recording *r)
{
	strtab_init(&r->strings);
	profile_init(&r->p, &r->strings);
}

static void recording_release(struct recording *r)
{
	profile_release(&r->p);
	strtab_release(&r->strings);
}

static node_id child(struct recording *r, node_id parent, const char *name, const char *module,
		     u8 space, u8 flags)
{
	return profile_child(
		&r->p, parent,
		profile_frame(&r->p, &(struct frame){ .function = strtab_adds(&r->strings, name),
						      .module = strtab_adds(&r->strings, module),
						      .space = space,
						      .flags = flags }));
}

static void add(struct recording *r, node_id node, u64 samples, u64 weight)
{
	profile_add(&r->p, profile_event(&r->p, strtab_adds(&r->strings, "cycles")), node, samples,
		    weight);
}

static const char *dump(const struct view *v)
{
	static struct buf b;
	size_t i;

	buf_clear(&b);
	for (i = 1; i < v->nodes.n; i++) {
		const struct view_node *n = &v->nodes.v[i];

		buf_printf(&b, "%u", n->depth);
		profile_frame_name(v->profile, n->frame, false, &b);
		buf_printf(&b, " %" PRIu64 "/%" PRIu64 " %" PRIu64 "/%" PRIu64 "|",
			   view_base_self(v, i), view_base_total(v, i), n->self, n->total);
	}
	return buf_str(&b);
}

/* Two builds on two hosts: what is the same, what came and what vanished. */
static void test_match(void)
{
	struct recording a, b;
	struct view v;
	node_id n;
	u64 sum = 0;
	size_t i;

	recording_init(&a);
	recording_init(&b);
	strtab_adds(&b.strings, "so that ids differ");
	/* before */
	n = child(&b, 0, "app", "", SPACE_NONE, FRAME_GROUP);
	add(&b, child(&b, n, "memcpy", "libc-2.31.so", SPACE_USER, 0), 10, 10);
	add(&b, child(&b, n, "gone", "app", SPACE_USER, 0), 5, 5);
	add(&b, child(&b, n, "[app+0x10]", "app", SPACE_USER, FRAME_UNRESOLVED), 2, 2);
	add(&b, child(&b, n, "poll", "[xen_netback]", SPACE_KERNEL, 0), 1, 1);
	n = child(&b, n, "do_syscall_64", "[kernel.kallsyms]", SPACE_KERNEL, 0);
	add(&b, child(&b, n, "do_mmu_update", "xen-syms-4.17", SPACE_HV, 0), 2, 2);
	/* after */
	n = child(&a, 0, "app", "", SPACE_NONE, FRAME_GROUP);
	add(&a, child(&a, n, "memcpy", "libc.so.6", SPACE_USER, FRAME_INLINED), 10, 20);
	add(&a, child(&a, n, "new", "app", SPACE_USER, 0), 5, 10);
	add(&a, child(&a, n, "memcpy", "app", SPACE_USER, 0), 1, 2);
	add(&a, child(&a, n, "[app+0x7777]", "app", SPACE_USER, FRAME_UNRESOLVED), 1, 2);
	add(&a, child(&a, n, "poll", "xen-netback.ko.xz", SPACE_KERNEL, 0), 1, 2);
	n = child(&a, n, "do_syscall_64", "vmlinux", SPACE_KERNEL, 0);
	add(&a, child(&a, n, "do_mmu_update", "xen-syms-4.18", SPACE_HV, 0), 2, 4);

	EQ(build(&v, &a.p, &b.p, &(struct view_opts){ 0 }, &(struct diff_opts){ 0 }, &err), 0);
	STR_EQ(err.msg, "");
	OK(v.is_diff);
	STR_EQ(dump(&v), "1app 0/20 0/40|2[app] 2/2 2/2|2do_syscall_64 0/2 0/4|3do_mmu_update_[h] "
			 "2/2 4/4|2gone 5/5 0/0|"
			 "2memcpy 0/0 2/2|2memcpy 10/10 20/20|2new 0/0 10/10|2poll 1/1 2/2|");
	EQ(v.diff->base_scale * 1000, 2000);
	EQ(v.diff->self.n, v.nodes.n);
	EQ(v.diff->functions.n, 9);
	STR_EQ(strtab_get(&a.strings, a.p.frames.v[v.diff->functions.v[0].frame].function),
	       "gone"); /* -10, +10: names decide */
	STR_EQ(strtab_get(&a.strings, a.p.frames.v[v.diff->functions.v[1].frame].function), "new");
	for (i = 0; i < v.diff->functions.n; i++)
		sum += (u64)v.diff->functions.v[i].self;
	EQ(sum, 40);
	view_release(&v);
	OK(v.diff == NULL);

	EQ(build(&v, &a.p, &b.p, &(struct view_opts){ .only = "memcpy" },
		 &(struct diff_opts){ .norm = DIFF_NONE }, &err),
	   0);
	STR_EQ(dump(&v), "1app 0/10 0/22|2memcpy 0/0 2/2|2memcpy 10/10 20/20|");
	EQ(v.diff->base_scale * 1000, 1000);
	EQ(v.diff->samples, 11); /* 22 of 40 in 20 samples */
	EQ(v.diff->base_samples, 10);
	view_release(&v);

	/* Modules match too, whatever the builds call them. */
	EQ(build(&v, &a.p, &b.p, &(struct view_opts){ .by_module = true }, &(struct diff_opts){ 0 },
		 &err),
	   0);
	STR_EQ(dump(&v), "1app 0/20 0/40|2app 7/7 14/14|2libc.so.6 10/10 20/20|2vmlinux 0/2 0/4|"
			 "3xen-syms-4.18_[h] 2/2 4/4|2xen-netback.ko.xz 1/1 2/2|");
	view_release(&v);

	EQ(build(&v, &a.p, &b.p, &(struct view_opts){ 0 },
		 &(struct diff_opts){
			 .norm = DIFF_BY_TIME, .time_before = 1000, .time_after = 500 },
		 &err),
	   0);
	EQ(v.diff->base_scale * 1000, 500);
	view_release(&v);
	EQ(build(&v, &a.p, &b.p, &(struct view_opts){ 0 },
		 &(struct diff_opts){ .norm = DIFF_BY_TIME }, &err),
	   -1);
	OK(strstr(err.msg, "has no times") != NULL);
	err.msg[0] = '\0';
	EQ(build(&v, &a.p, &b.p, &(struct view_opts){ .only = "(" }, &(struct diff_opts){ 0 },
		 &err),
	   -1);
	OK(strstr(err.msg, "--only") != NULL);
	err.msg[0] = '\0';
	recording_release(&a);
	recording_release(&b);
}

/* Widths by either side and by both; what only one side has. */
static void test_widths(void)
{
	static const struct {
		enum diff_width width;
		double all, app, gone, new, same;
	} rows[] = {
		{ DIFF_WIDTH_AFTER, 40, 40, 0, 10, 30 },
		{ DIFF_WIDTH_BEFORE, 40, 40, 10, 0, 30 },
		{ DIFF_WIDTH_UNION, 50, 50, 10, 10, 30 },
	};
	struct recording a, b;
	struct view v;
	node_id n;
	size_t i;

	recording_init(&a);
	recording_init(&b);
	n = child(&b, 0, "app", "", SPACE_NONE, FRAME_GROUP);
	add(&b, child(&b, n, "gone", "app", SPACE_USER, 0), 5, 5);
	add(&b, child(&b, n, "same", "app", SPACE_USER, 0), 15, 15);
	n = child(&a, 0, "app", "", SPACE_NONE, FRAME_GROUP);
	add(&a, child(&a, n, "new", "app", SPACE_USER, 0), 10, 10);
	add(&a, child(&a, n, "same", "app", SPACE_USER, 0), 30, 30);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		EQ(build(&v, &a.p, &b.p, &(struct view_opts){ 0 },
			 &(struct diff_opts){ .width = rows[i].width }, &err),
		   0);
		STR_EQ(dump(&v), "1app 0/20 0/40|2gone 5/5 0/0|2new 0/0 10/10|2same 15/15 30/30|");
		EQ(view_width(&v, 0), rows[i].all);
		EQ(view_width(&v, 1), rows[i].app);
		EQ(view_width(&v, 2), rows[i].gone);
		EQ(view_width(&v, 3), rows[i].new);
		EQ(view_width(&v, 4), rows[i].same);
		EQ(v.diff->gone_nodes, 1);
		EQ(v.diff->gone, 10); /* 5 of 20, in weight of AFTER */
		EQ(v.diff->come_nodes, 1);
		EQ(v.diff->come, 10);
		view_release(&v);
	}
	recording_release(&a);
	recording_release(&b);
}

/* Of each stack what is more than before; what is less becomes nothing and is told. */
static void test_subtract(void)
{
	struct recording a, b;
	struct view v;
	node_id n, deep;
	double floored;

	recording_init(&a);
	recording_init(&b);
	b.p.weight_scale = 10; /* decimals on one side only */
	n = child(&b, 0, "app", "", SPACE_NONE, FRAME_GROUP);
	add(&b, child(&b, n, "less", "app", SPACE_USER, 0), 9, 90);
	deep = child(&b, n, "more", "app", SPACE_USER, 0);
	add(&b, deep, 3, 35);
	add(&b, child(&b, child(&b, deep, "gone", "app", SPACE_USER, 0), "x", "app", SPACE_USER, 0),
	    1, 10);
	n = child(&a, 0, "app", "", SPACE_NONE, FRAME_GROUP);
	add(&a, child(&a, n, "less", "app", SPACE_USER, 0), 4, 4);
	deep = child(&a, n, "more", "app", SPACE_USER, 0);
	add(&a, deep, 5, 5);
	add(&a, child(&a, deep, "new", "app", SPACE_USER, 0), 2, 2);
	EQ(build(&v, &a.p, &b.p, &(struct view_opts){ 0 }, &(struct diff_opts){ .norm = DIFF_NONE },
		 &err),
	   0);
	EQ(a.p.weight_scale, 10);
	view_subtract(&v, &floored);
	EQ(floored, 60); /* 5 and 1, in tenths */
	STR_EQ(dump(&v), "1app 0/0 0/35|2more 0/0 15/35|3new 0/0 20/20|");
	OK(!v.is_diff && !v.diff);
	EQ(v.max_depth, 3);
	EQ(v.nodes.v[0].end, 4);
	EQ(v.nodes.v[1].end, 4);
	EQ(v.nodes.v[3].parent, 2);
	view_release(&v);
	/* All is gone. */
	EQ(build(&v, &b.p, &b.p, &(struct view_opts){ 0 }, &(struct diff_opts){ 0 }, &err), 0);
	view_subtract(&v, &floored);
	EQ(v.nodes.n, 1);
	EQ(v.nodes.v[0].total, 0);
	view_release(&v);
	recording_release(&a);
	recording_release(&b);
}

static void test_events(void)
{
	struct recording a, b;
	struct view v;

	recording_init(&a);
	recording_init(&b);
	profile_event(&a.p, strtab_adds(&a.strings, "cycles"));
	profile_event(&a.p, strtab_adds(&a.strings, "faults"));
	profile_event(&b.p, strtab_adds(&b.strings, "faults"));
	profile_event(&b.p, strtab_adds(&b.strings, "cycles"));
	profile_add(&a.p, 1, child(&a, 0, "f", "m", SPACE_USER, 0), 1, 7);
	profile_add(&b.p, 0, child(&b, 0, "f", "m", SPACE_USER, 0), 1, 9);
	EQ(build(&v, &a.p, &b.p, &(struct view_opts){ .event = 1 }, &(struct diff_opts){ 0 }, &err),
	   0);
	STR_EQ(dump(&v), "1f 9/9 7/7|");
	view_release(&v);
	EQ(build(&v, &a.p, &b.p, &(struct view_opts){ .event = -1 }, &(struct diff_opts){ 0 },
		 &err),
	   0);
	STR_EQ(dump(&v), "1faults 0/9 0/7|2f 9/9 7/7|");
	view_release(&v);
	profile_event(&a.p, strtab_adds(&a.strings, "misses"));
	EQ(build(&v, &a.p, &b.p, &(struct view_opts){ .event = 2 }, &(struct diff_opts){ 0 }, &err),
	   -1);
	OK(strstr(err.msg, "'misses'") != NULL);
	err.msg[0] = '\0';
	recording_release(&a);
	recording_release(&b);

	/* Nothing on either side. */
	recording_init(&a);
	recording_init(&b);
	EQ(build(&v, &a.p, &b.p, &(struct view_opts){ 0 }, &(struct diff_opts){ 0 }, &err), 0);
	EQ(v.nodes.n, 1);
	view_release(&v);
	recording_release(&a);
	recording_release(&b);
}

/* Values of printed tables of Student's t (two-sided). */
static void test_tables(void)
{
	static const struct {
		double t;
		u32 dof;
		double p;
	} rows[] = {
		{ 12.706, 1, 0.05 }, { 4.303, 2, 0.05 },  { 3.182, 3, 0.05 },  { 2.776, 4, 0.05 },
		{ 2.228, 10, 0.05 }, { 2.093, 19, 0.05 }, { 2.861, 19, 0.01 }, { 3.883, 19, 0.001 },
		{ 2.845, 20, 0.01 }, { 2.000, 60, 0.05 }, { 1.960, 0, 0.05 },  { 2.576, 0, 0.01 },
		{ 63.657, 1, 0.01 },
	};
	double p[] = { 0.5, 0.001, 0.02, 0.04, 0.9 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		OK(fabs(noise_t_tail(rows[i].t, rows[i].dof) - rows[i].p) < rows[i].p * 0.002);
		OK(fabs(noise_t_quantile(rows[i].p, rows[i].dof) - rows[i].t) < rows[i].t * 0.001);
	}
	OK(noise_t_tail(0, 5) >= 1);
	OK(noise_t_tail(1e9, 19) > 0);
	/* 0.001 <= 0.05 / 5, 0.02 <= 2 * 0.05 / 5, 0.04 > 3 * 0.05 / 5 */
	EQ(noise_limit(p, 5, 0.05) * 1000, 20);
	OK(noise_limit(p, 5, 0.001) < 0);
	OK(noise_limit(p, 0, 0.05) < 0);
}

/* ---- made recordings ---- */

#define FUNCTIONS 60

static u64 seed = 42;

static double uniform(void)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (double)(seed >> 11) / 9007199254740992.0;
}

static node_id functions_of(struct recording *r, u32 i)
{
	char name[32];

	snprintf(name, sizeof(name), "f%u", i);
	return child(r,
		     child(r, child(r, 0, "app", "", SPACE_NONE, FRAME_GROUP), "main", "app",
			   SPACE_USER, 0),
		     name, "app", i % 2 ? SPACE_USER : SPACE_KERNEL, 0);
}

/* Functions are as frequent as 1 / rank; `more` of them all are f5 instead of what they were. */
static u32 draw(double more)
{
	static double sum;
	double x;
	u32 i;

	if (!(sum > 0))
		for (i = 0; i < FUNCTIONS; i++)
			sum += 1.0 / (i + 1);
	if (uniform() < more)
		return 5;
	x = uniform() * sum;
	for (i = 0; i + 1 < FUNCTIONS && x > 1.0 / (i + 1); i++)
		x -= 1.0 / (i + 1);
	return i;
}

/*
 * `nr` samples in time.  In bursts of `burst` samples the same function is met again with the
 * probability 0.9, as in programs that have phases.
 */
static void make_recording(struct recording *r, u32 nr, u32 burst, double more, bool keep)
{
	u32 i, which = 0;

	recording_init(r);
	r->p.keep_samples = keep;
	profile_event(&r->p, strtab_adds(&r->strings, "cycles"));
	for (i = 0; i < nr; i++) {
		if (i % burst == 0)
			which = draw(more);
		profile_add_sample(&r->p,
				   &(struct profile_sample){
					   .time = 1000ULL * i,
					   .weight = 1,
					   .node = functions_of(r, burst > 1 && uniform() < 0.9
									   ? which
									   : draw(more)) });
	}
}

struct tally {
	u32 runs, runs_with_function, runs_with_node, f5, interval_missed, intervals;
};

static void compare(struct tally *t, u32 nr, u32 burst, double more, bool keep)
{
	struct recording a, b;
	struct view v;
	size_t i;
	bool functions = false, nodes = false;

	make_recording(&a, nr, burst, more, keep);
	make_recording(&b, nr, burst, 0, keep);
	if (!build(&v, &a.p, &b.p, &(struct view_opts){ 0 }, &(struct diff_opts){ 0 }, &err)) {
		for (i = 0; i < v.diff->functions.n; i++) {
			const struct diff_function *f = &v.diff->functions.v[i];
			const char *name = strtab_get(&a.strings, a.p.frames.v[f->frame].function);

			functions = functions || f->self_noise.changed || f->total_noise.changed;
			if (!strcmp(name, "f5"))
				t->f5 += f->self_noise.changed && f->total_noise.changed &&
					 f->self > f->base_self;
			if (f->self + f->base_self > 20) {
				t->intervals++;
				t->interval_missed += fabs(f->self - f->base_self) >
						      f->self_noise.half;
			}
		}
		for (i = 0; i < v.nodes.n; i++)
			nodes = nodes || v.diff->self.v[i].changed || v.diff->total.v[i].changed;
		view_release(&v);
	}
	t->runs++;
	t->runs_with_function += functions;
	t->runs_with_node += nodes;
	recording_release(&a);
	recording_release(&b);
}

/*
 * Recordings of the same thing are told apart in one of twenty comparisons at most, the stated
 * rate, and intervals of 99 % miss 1 % at most; with a margin for this being a trial of 200 runs
 * (the probability of more than 18 of 200 at one of 20 is 1 %).  What has really changed is found.
 */
static void test_noise(void)
{
	struct tally same = { 0 }, bursts = { 0 }, counts = { 0 }, grown = { 0 },
		     grown_bursts = { 0 };
	u32 i;

	for (i = 0; i < 200; i++) {
		compare(&same, 2000, 1, 0, true);
		compare(&counts, 2000, 1, 0, false);
		compare(&bursts, 4000, 10, 0, true);
	}
	for (i = 0; i < 20; i++) {
		compare(&grown, 10000, 1, 0.04, true);
		compare(&grown_bursts, 40000, 10, 0.04, true);
	}
	printf("# same: functions %u, nodes %u of %u; intervals missed %u of %u\n",
	       same.runs_with_function, same.runs_with_node, same.runs, same.interval_missed,
	       same.intervals);
	printf("# counts alone: functions %u, nodes %u of %u; intervals missed %u of %u\n",
	       counts.runs_with_function, counts.runs_with_node, counts.runs,
	       counts.interval_missed, counts.intervals);
	printf("# bursts: functions %u, nodes %u of %u; intervals missed %u of %u\n",
	       bursts.runs_with_function, bursts.runs_with_node, bursts.runs,
	       bursts.interval_missed, bursts.intervals);
	printf("# grown: found in %u and %u of 20\n", grown.f5, grown_bursts.f5);
	OK(same.runs_with_function <= 18);
	OK(same.runs_with_node <= 18);
	OK(counts.runs_with_function <= 18);
	OK(bursts.runs_with_function <= 18);
	OK(bursts.runs_with_node <= 18);
	OK(same.interval_missed <= same.intervals / 80);
	OK(bursts.interval_missed <= bursts.intervals / 50);
	EQ(grown.f5, 20);
	OK(grown_bursts.f5 >= 19);
}

/* ---- several recordings a side ---- */

#define RECORDINGS 5

/*
 * Recordings that differ among themselves more than their samples do: half of the functions are
 * as often as chance has it for this recording, by up to a third more or less.
 */
static void make_run(struct recording *r, u32 nr, double more)
{
	double weight[FUNCTIONS], sum = 0, x;
	u32 i, k;

	recording_init(r);
	profile_event(&r->p, strtab_adds(&r->strings, "cycles"));
	for (k = 0; k < FUNCTIONS; k++) {
		weight[k] = 1.0 / (k + 1) * (k % 2 ? 0.67 + 0.66 * uniform() : 1);
		if (k == 4)
			weight[k] *= 1 + more;
		sum += weight[k];
	}
	for (i = 0; i < nr; i++) {
		x = uniform() * sum;
		for (k = 0; k + 1 < FUNCTIONS && x > weight[k]; k++)
			x -= weight[k];
		add(r, functions_of(r, k), 1, 1);
	}
}

/* Whether any function is told apart; *found: f4 among them. */
static bool compare_runs(size_t nr_after, size_t nr_before, double more, bool *found)
{
	struct recording r[2 * RECORDINGS];
	struct profile *p[2 * RECORDINGS];
	bool changed = false;
	struct view v;
	size_t i, n = nr_after + nr_before;

	for (i = 0; i < n; i++) {
		make_run(&r[i], 4000, i < nr_after ? more : 0);
		p[i] = &r[i].p;
	}
	*found = false;
	if (!view_build_diff(&v,
			     &(struct diff_input){ .after = p,
						   .before = p + nr_after,
						   .nr_after = nr_after,
						   .nr_before = nr_before },
			     &(struct view_opts){ 0 }, &(struct diff_opts){ 0 }, &err)) {
		for (i = 0; i < v.diff->functions.n; i++) {
			const struct diff_function *f = &v.diff->functions.v[i];

			if (!f->self_noise.changed && !f->total_noise.changed)
				continue;
			changed = true;
			if (!strcmp(strtab_get(&r[0].strings, r[0].p.frames.v[f->frame].function),
				    "f4") &&
			    f->self > f->base_self)
				*found = true;
		}
		view_release(&v);
	}
	for (i = 0; i < n; i++)
		recording_release(&r[i]);
	return changed;
}

/* How recordings differ among themselves is noise, and it is seen where a side has several. */
static void test_recordings(void)
{
	u32 i, alone = 0, both = 0, one = 0, f4 = 0;
	bool found;

	for (i = 0; i < 100; i++) {
		alone += compare_runs(1, 1, 0, &found);
		both += compare_runs(RECORDINGS, RECORDINGS, 0, &found);
		one += compare_runs(1, RECORDINGS, 0, &found);
	}
	for (i = 0; i < 20; i++) {
		(void)compare_runs(RECORDINGS, RECORDINGS, 2, &found);
		f4 += found;
	}
	printf("# recordings that vary are told apart: %u of 100 by one each, %u by several, %u by "
	       "one and several; a change is found in %u of 20\n",
	       alone, both, one, f4);
	OK(alone > 50); /* what these tests are about: one each cannot know */
	/* More than 11 of 100 at one of 20 has the probability 0.4 %. */
	OK(both <= 11);
	OK(one <= 11);
	OK(f4 >= 18);
}

/* Sums, scales and facts of sides with several recordings. */
static void test_sides(void)
{
	struct recording r[3];
	struct profile *p[3];
	struct view v;
	size_t i;

	for (i = 0; i < 3; i++) {
		recording_init(&r[i]);
		if (i == 1)
			strtab_adds(&r[i].strings, "so that ids differ");
		add(&r[i], child(&r[i], 0, i == 1 ? "g" : "f", "libc-2.31.so", SPACE_USER, 0), 10,
		    10 * (i + 1));
		p[i] = &r[i].p;
	}
	add(&r[1], child(&r[1], 0, "f", "libc.so.6", SPACE_USER, 0), 4, 4);
	EQ(view_build_diff(&v,
			   &(struct diff_input){
				   .after = p, .before = p + 2, .nr_after = 2, .nr_before = 1 },
			   &(struct view_opts){ 0 }, &(struct diff_opts){ .norm = DIFF_NONE },
			   &err),
	   0);
	STR_EQ(dump(&v), "1f 30/30 14/14|1g 0/0 20/20|");
	EQ(v.diff->base_scale, 2); /* the mean of a recording, times two */
	OK(v.diff->by_files);
	EQ(v.diff->recordings, 2);
	EQ(v.diff->base_recordings, 1);
	EQ(v.diff->samples, 24);
	view_release(&v);
	for (i = 0; i < 3; i++)
		recording_release(&r[i]);
}

/* Slices of time are used when both sides kept their samples, and only then. */
static void test_slices(void)
{
	struct recording a, b;
	struct view v;
	u32 at;

	make_recording(&a, 1000, 1, 0, true);
	make_recording(&b, 1000, 1, 0, false);
	EQ(build(&v, &a.p, &b.p, &(struct view_opts){ 0 }, &(struct diff_opts){ 0 }, &err), 0);
	EQ(v.diff->slices, 0);
	at = view_place(&v, 0, a.p.samples.v[0].node);
	OK(at < v.nodes.n);
	EQ(v.nodes.v[at].frame, a.p.nodes.v[a.p.samples.v[0].node].frame);
	view_release(&v);
	recording_release(&b);
	make_recording(&b, 1000, 1, 0, true);
	EQ(build(&v, &a.p, &b.p, &(struct view_opts){ 0 }, &(struct diff_opts){ .slices = 30 },
		 &err),
	   0);
	EQ(v.diff->slices, 30);
	view_release(&v);
	/* One sample without time: the order says nothing. */
	b.p.samples.v[500].time = UINT64_MAX;
	EQ(build(&v, &a.p, &b.p, &(struct view_opts){ 0 }, &(struct diff_opts){ 0 }, &err), 0);
	EQ(v.diff->slices, 0);
	view_release(&v);
	recording_release(&a);
	recording_release(&b);
}

/* ---- conditions ---- */

static u32 gate(const struct view *v, const char *text, const char *first_line)
{
	struct buf b = BUF_INIT;
	struct gate g;
	u32 matched, failed;

	err.msg[0] = '\0';
	if (gate_parse(&g, text, &err)) {
		STR_EQ(err.msg, "");
		return 999;
	}
	failed = gate_check(&g, v, &b, &matched);
	if (first_line) {
		*strchrnul(buf_str(&b), '\n') = '\0';
		STR_EQ(b.p, first_line);
	}
	buf_release(&b);
	return failed + 1000 * !matched;
}

static void test_gate(void)
{
	static const char *const wrong[] = {
		"",      "f",    "f>",    "f>2",  ">2%",     "f>+%",
		"f>2%x", "f>xx", "f>x2%", "f=2%", "f>+infx", "f>nan%"
	};
	struct recording a, b;
	struct buf text = BUF_INIT;
	struct gate g;
	struct view v;
	node_id n;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		EQ(gate_parse(&g, wrong[i], &err), -1);
		OK(strstr(err.msg, "expected [self:") != NULL);
		err.msg[0] = '\0';
	}
	EQ(gate_parse(&g, "self:std::map<int, x>::f<3><-2.5%", &err), 0);
	EQ(g.name_len, strlen("std::map<int, x>::f<3>"));
	OK(g.self && g.below && g.what == GATE_DIFFERENCE);
	OK(fabs(g.limit + 2.5) < 1e-9);

	/* grown 10 % -> 20 % of 10,000 samples, shrunk 20 % -> 10 %, little 0.5 % -> 0.52 %, fresh
	 * 0 -> 5 % */
	recording_init(&a);
	recording_init(&b);
	n = child(&b, 0, "app", "", SPACE_NONE, FRAME_GROUP);
	add(&b, child(&b, n, "grown", "xen-syms", SPACE_HV, 0), 1000, 1000);
	add(&b, child(&b, n, "shrunk", "app", SPACE_USER, 0), 2000, 2000);
	add(&b, child(&b, n, "little", "app", SPACE_USER, 0), 50, 50);
	add(&b, child(&b, n, "rest", "app", SPACE_USER, 0), 6950, 6950);
	n = child(&a, 0, "app", "", SPACE_NONE, FRAME_GROUP);
	add(&a, child(&a, n, "grown", "xen-syms", SPACE_HV, 0), 2000, 2000);
	add(&a, child(&a, n, "shrunk", "app", SPACE_USER, 0), 1000, 1000);
	add(&a, child(&a, n, "little", "app", SPACE_USER, 0), 52, 52);
	add(&a, child(&a, n, "fresh", "app", SPACE_USER, 0), 500, 500);
	add(&a, child(&a, n, "rest", "app", SPACE_USER, 0), 6448, 6448);
	EQ(build(&v, &a.p, &b.p, &(struct view_opts){ 0 }, &(struct diff_opts){ 0 }, &err), 0);
	EQ(gate(&v, "grown>+2%",
		"grown_[h]: total 10.00 % -> 20.00 % (+10.00 %, +/- 1.30 %), against "
		"--fail-if=grown>+2%"),
	   1);
	EQ(gate(&v, "grown_[h]>+9.9%", NULL), 1);
	EQ(gate(&v, "grown>+10.1%", ""), 0);
	EQ(gate(&v, "self:grown>x1.9", NULL), 1);
	EQ(gate(&v, "grown>x2.1", ""), 0);
	EQ(gate(&v, "grown>19%", NULL), 1);
	EQ(gate(&v, "grown>20%", ""), 0);
	EQ(gate(&v, "shrunk<-5%", NULL), 1);
	EQ(gate(&v, "shrunk>+0%", ""), 0);
	EQ(gate(&v, "fresh>x100", NULL), 1);
	EQ(gate(&v, "little>+0.01%", ""), 0); /* within noise */
	EQ(gate(&v, "little>0.4%", NULL), 1);
	EQ(gate(&v, "*>+2%", NULL), 2);
	EQ(gate(&v, "absent>+2%", ""), 1000); /* matches nothing */
	EQ(gate_regressed(&v, 0.1, &text), 2);
	STR_EQ(buf_str(&text), "grown_[h]: self 10.00 % -> 20.00 % (+10.00 %, +/- 1.30 %)\n"
			       "fresh: self 0.00 % -> 5.00 % (+5.00 %, +/- 0.57 %)\n");
	buf_clear(&text);
	EQ(gate_regressed(&v, 7, &text), 1);
	view_release(&v);
	EQ(build(&v, &a.p, &a.p, &(struct view_opts){ 0 }, &(struct diff_opts){ 0 }, &err), 0);
	EQ(gate_regressed(&v, 0, &text), 0);
	EQ(gate(&v, "*>+0%", ""), 0);
	view_release(&v);
	buf_release(&text);
	recording_release(&a);
	recording_release(&b);
}

int main(void)
{
	test_match();
	test_widths();
	test_subtract();
	test_events();
	test_tables();
	test_noise();
	test_recordings();
	test_sides();
	test_slices();
	test_gate();
	return tap_done();
}
