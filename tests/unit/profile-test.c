/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile: identity of frames, the tree, views. Right answers are counted by hand. */
#include <stdlib.h>

#include "profile/profile.h"
#include "tests/unit/tap.h"

static struct strtab strings;
static struct profile p;
static struct error err;

static frame_id frame(const char *name, enum space space)
{
	return profile_frame(
		&p, &(struct frame){ .function = strtab_adds(&strings, name),
				     .space = (u8)space,
				     .module = strtab_adds(&strings, space == SPACE_HV ? "xen-syms"
										       : "prog") });
}

/* "a;b;c" root first; upper-case names are hypervisor frames. */
static node_id stack(const char *text)
{
	node_id node = 0;
	const char *s = text, *end;

	while (*s) {
		char name[64];

		end = strchr(s, ';');
		if (!end)
			end = s + strlen(s);
		snprintf(name, sizeof(name), "%.*s", (int)(end - s), s);
		node = profile_child(
			&p, node,
			frame(name, name[0] >= 'A' && name[0] <= 'Z' ? SPACE_HV : SPACE_USER));
		s = *end ? end + 1 : end;
	}
	return node;
}

static void add(const char *text, u64 weight)
{
	profile_add(&p, profile_event(&p, strtab_adds(&strings, "cycles")), stack(text), 1, weight);
}

/* The view as text: name self/total by depth. */
static const char *dump(const struct view_opts *o)
{
	static struct buf b;
	struct view v;
	size_t i;

	buf_clear(&b);
	if (view_build(&v, &p, o, &err))
		return err.msg;
	for (i = 1; i < v.nodes.n; i++) {
		buf_printf(&b, "%u", v.nodes.v[i].depth);
		profile_frame_name(&p, v.nodes.v[i].frame, false, &b);
		buf_printf(&b, " %" PRIu64 "/%" PRIu64 "|", v.nodes.v[i].self, v.nodes.v[i].total);
		if (v.nodes.v[i].end <= i ||
		    v.nodes.v[v.nodes.v[i].parent].depth + 1 != v.nodes.v[i].depth)
			buf_puts(&b, "BAD");
	}
	buf_printf(&b, "=%" PRIu64, v.nodes.v[0].total);
	if (v.nodes.v[0].end != v.nodes.n)
		buf_puts(&b, "BAD");
	view_release(&v);
	return buf_str(&b);
}

static void test_tree(void)
{
	u64 by_space[SPACE_NR];
	struct view v;

	add("main;z", 1);
	add("main;a;b", 2);
	add("main;a", 4);
	add("main;a;b", 8);
	add("main;a;b;HV", 16);
	EQ(p.nodes.n, 6);
	STR_EQ(dump(&(struct view_opts){ 0 }),
	       "1main 0/31|2a 4/30|3b 10/26|4HV_[h] 16/16|2z 1/1|=31");
	STR_EQ(dump(&(struct view_opts){ .invert = true }),
	       "1HV_[h] 0/16|2b 0/16|3a 0/16|4main 16/16|1a 0/4|2main 4/4|1b 0/10|2a 0/10|3main "
	       "10/10|"
	       "1z 0/1|2main 1/1|=31");
	STR_EQ(dump(&(struct view_opts){ .only = "^z$" }), "1main 0/1|2z 1/1|=1");
	STR_EQ(dump(&(struct view_opts){ .hide = "^b$" }), "1main 0/5|2a 4/4|2z 1/1|=5");
	STR_EQ(dump(&(struct view_opts){ .focus = "^b$" }), "1b 10/26|2HV_[h] 16/16|=26");
	STR_EQ(dump(&(struct view_opts){ .prune = "^a$" }), "1main 0/31|2a 30/30|2z 1/1|=31");
	STR_EQ(dump(&(struct view_opts){ .by_module = true }),
	       "1prog 15/31|2xen-syms_[h] 16/16|=31");
	STR_EQ(dump(&(struct view_opts){ .event = -1 }),
	       "1cycles 0/31|2main 0/31|3a 4/30|4b 10/26|5HV_[h] 16/16|3z 1/1|=31");
	OK(strstr(dump(&(struct view_opts){ .only = "(" }), "--only: '('") != NULL);
	EQ(view_build(&v, &p, &(struct view_opts){ 0 }, NULL), 0);
	view_weight_by_space(&v, by_space);
	EQ(by_space[SPACE_HV], 16);
	EQ(by_space[SPACE_USER], 15);
	view_release(&v);
}

static void test_recursion(void)
{
	profile_release(&p);
	profile_init(&p, &strings);
	add("m;r;r;r", 1);
	add("m;r", 1);
	add("m;r;q;r", 1);
	STR_EQ(dump(&(struct view_opts){ .collapse_recursion = true }),
	       "1m 0/3|2r 2/3|3q 0/1|4r 1/1|=3");
}

static void test_identity(void)
{
	struct frame f = { .function = strtab_adds(&strings, "memcpy"),
			   .module = strtab_adds(&strings, "libc.so.6") };
	frame_id a, b;

	profile_release(&p);
	profile_init(&p, &strings);
	f.line = 20;
	f.file = strtab_adds(&strings, "string.c");
	a = profile_frame(&p, &f);
	f.line = 10;
	EQ(profile_frame(&p, &f), a);
	EQ(p.frames.v[a].line, 10);
	f.space = SPACE_KERNEL;
	b = profile_frame(&p, &f);
	OK(a != b);
	f.space = SPACE_USER;
	f.module = strtab_adds(&strings, "other.so");
	OK(profile_frame(&p, &f) != a);
	profile_release(&p);
	profile_init(&p, &strings);
	p.by_line = true;
	a = profile_frame(&p, &f);
	f.line = 11;
	OK(profile_frame(&p, &f) != a);
}

static void test_idle(void)
{
	static const char *const halting[] = { "default_idle", "idle_loop" };
	node_id node = 0;
	size_t i;

	profile_release(&p);
	profile_init(&p, &strings);
	for (i = ARRAY_SIZE(halting); i-- > 0;)
		node = profile_child(&p, node, frame(halting[i], SPACE_HV));
	profile_add(&p, profile_event(&p, strtab_adds(&strings, "cycles")), node, 1, 5);
	/* An idle loop that was left for work is work. */
	node = profile_child(&p, profile_child(&p, 0, frame("idle_loop", SPACE_HV)),
			     frame("do_tasklet", SPACE_HV));
	profile_add(&p, 0, node, 1, 7);
	/* A user function may have any name. */
	node = profile_child(&p, 0, frame("default_idle", SPACE_USER));
	profile_add(&p, 0, node, 1, 1);
	STR_EQ(dump(&(struct view_opts){ .no_idle = true }),
	       "1default_idle 1/1|1idle_loop_[h] 0/7|2do_tasklet_[h] 7/7|=8");
}

/* Kept samples find their node through filters and the choice of event. */
static void test_place(void)
{
	u32 cycles, faults, at;
	node_id ab, ac;
	struct view v;

	profile_release(&p);
	profile_init(&p, &strings);
	p.keep_samples = true;
	cycles = profile_event(&p, strtab_adds(&strings, "cycles"));
	faults = profile_event(&p, strtab_adds(&strings, "faults"));
	ac = stack("a;c");
	ab = stack("a;b");
	profile_add_sample(&p,
			   &(struct profile_sample){ .node = ab, .weight = 1, .event = cycles });
	profile_add_sample(&p,
			   &(struct profile_sample){ .node = ac, .weight = 2, .event = cycles });
	profile_add_sample(&p,
			   &(struct profile_sample){ .node = ab, .weight = 4, .event = faults });
	EQ(p.samples.n, 3);

	EQ(view_build(&v, &p, &(struct view_opts){ 0 }, NULL), 0);
	EQ(view_place(&v, cycles, ab), 2);
	EQ(view_place(&v, cycles, ac), 3);
	EQ(view_place(&v, faults, ab), UINT32_MAX);
	EQ(view_place(&v, cycles, 99), UINT32_MAX);
	view_release(&v);

	EQ(view_build(&v, &p, &(struct view_opts){ .event = -1, .hide = "c" }, NULL), 0);
	EQ(view_place(&v, cycles, ac), UINT32_MAX);
	at = view_place(&v, faults, ab);
	EQ(v.nodes.v[at].self, 4);
	EQ(v.nodes.v[view_place(&v, cycles, ab)].self, 1);
	OK(at != view_place(&v, cycles, ab));
	view_release(&v);
}

static void test_edges(void)
{
	u32 i;
	node_id node = 0;

	profile_release(&p);
	profile_init(&p, &strings);
	STR_EQ(dump(&(struct view_opts){ 0 }), "=0");
	for (i = 0; i < 200000; i++) /* deep: nothing recurses */
		node = profile_child(&p, node, frame("r", SPACE_USER));
	profile_add(&p, profile_event(&p, strtab_adds(&strings, "e")), node, 1, UINT64_MAX);
	profile_add(&p, 0, profile_child(&p, 0, frame("s", SPACE_USER)), 1, 5);
	STR_EQ(dump(&(struct view_opts){ .collapse_recursion = true }),
	       "1r 18446744073709551615/18446744073709551615|1s 5/5|=18446744073709551615");
}

/* A last view is the same and leaves no contexts; the first child of a node may be the one without
 * weight. */
static void test_last(void)
{
	static const char expected[] = "1a 0/7|2c 3/3|2d 4/4|1e 8/8|=15";

	profile_release(&p);
	profile_init(&p, &strings);
	stack("a;b;x");
	add("e", 8);
	add("a;d", 4);
	add("a;c", 3);
	STR_EQ(dump(&(struct view_opts){ 0 }), expected);
	STR_EQ(dump(&(struct view_opts){ .last = true, .only = "." }), expected);
	EQ(p.nodes.n, 1);
	EQ(p.events.v[0].weight, 15);
	STR_EQ(dump(&(struct view_opts){ 0 }), "=0");
	add("e", 8);
	add("a;d", 4);
	add("a;c", 3);
	STR_EQ(dump(&(struct view_opts){ .last = true }), expected);
	EQ(p.nodes.n, 1);
}

static void batch_add(struct profile_batch *b, const frame_id *frames, u32 n)
{
	u16 *start = profile_batch_room(b, 2 * (n / 2)), *code = start;
	u32 i;

	for (i = 0; i < n; i++) {
		if (i == n / 2) {
			size_t half = (size_t)(code - start);

			/* More room than was thought of. */
			start = profile_batch_room(b, half + 2 * (n - i));
			code = start + half;
		}
		code = profile_put_code(code, frames[i]);
	}
	profile_batch_end(b, code);
}

/* Stacks by chance, with much in common, ends within others and doubles; a batch of `size`, or one
 * by one (0). The text of the view. */
static char *random_stacks(u32 size, bool *ordered)
{
	static const char *const names[] = { "m", "B", "c", "f", "e", "Q", "g", "a", "long_name" };
	struct profile_batch batch = { 0 };
	frame_id frames[40];
	u64 state = 7;
	u32 i, k, n, event;

	profile_release(&p);
	profile_init(&p, &strings);
	event = profile_event(&p, strtab_adds(&strings, "cycles"));
	*ordered = true;
	for (i = 0; i < 3000; i++) {
		node_id node = 0;

		n = (u32)(state >> 33) % 40;
		for (k = 0; k < n; k++) {
			state = state * 6364136223846793005ULL + 1442695040888963407ULL;
			/* The deeper the less in common. */
			frames[k] = frame(names[(state >> 40) % (1 + k / 2) % ARRAY_SIZE(names)],
					  k % 7 ? SPACE_USER : SPACE_HV);
		}
		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
		if (size) {
			batch_add(&batch, frames, n);
		} else {
			for (k = 0; k < n; k++)
				node = profile_child(&p, node, frames[k]);
			profile_add(&p, event, node, 1, 1);
		}
		if (size && (batch.stacks.n == size || i == 2999)) {
			profile_batch_place(&p, &batch, i, 1 + i % 3);
			for (k = 0; k < batch.stacks.n; k++)
				profile_add(&p, event, batch.stacks.v[k].node, 1, 1);
			profile_batch_clear(&batch);
		}
	}
	profile_batch_release(&batch);
	/* In preorder, each node's parent is the node before it or one above that. */
	for (i = 1; i < p.nodes.n; i++) {
		for (k = i - 1; k != p.nodes.v[i].parent && k; k = p.nodes.v[k].parent)
			;
		*ordered &= k == p.nodes.v[i].parent;
	}
	return xstrdup(dump(&(struct view_opts){ 0 }));
}

static void test_batch(void)
{
	static const u32 sizes[] = { 1, 2, 100, 1500, 3000 };
	bool ordered;
	char *expected = random_stacks(0, &ordered), *got;
	u32 nodes = (u32)p.nodes.n;
	size_t i;

	OK(!ordered);
	OK(nodes > 10000);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		got = random_stacks(sizes[i], &ordered);
		OK(!strcmp(got, expected));
		EQ(p.nodes.n, nodes);
		EQ(ordered, sizes[i] == 3000);
		free(got);
	}
	free(expected);
}

/* Stacks of the frames around the first one that takes two codes, and of far ones; a batch of
 * `size`, or one by one (0). Their view. */
static char *wide_stacks(u32 size, u32 frames)
{
	struct profile_batch batch = { 0 };
	u64 state = 11;
	u32 i, k, event;
	char name[16];

	profile_release(&p);
	profile_init(&p, &strings);
	event = profile_event(&p, strtab_adds(&strings, "cycles"));
	for (i = 0; i < frames; i++) {
		/* Not in the order of their names. */
		snprintf(name, sizeof(name), "%u", i * 7919u % 1000003);
		frame(name, SPACE_USER);
	}
	for (i = 0; i < 2000; i++) {
		frame_id stack[24];
		node_id node = 0;
		u32 n = i % 25;

		for (k = 0; k < n; k++) {
			state = state * 6364136223846793005ULL + 1442695040888963407ULL;
			stack[k] = (u32)(state >> 60 ? PROFILE_NARROW - 4 + (state >> 33) % 6
						     : (state >> 33) % frames) %
				   frames;
		}
		if (!size) {
			for (k = 0; k < n; k++)
				node = profile_child(&p, node, stack[k]);
			profile_add(&p, event, node, 1, 1);
			continue;
		}
		batch_add(&batch, stack, n);
		if (batch.stacks.n < size && i < 1999)
			continue;
		profile_batch_place(&p, &batch, 5, 1);
		for (k = 0; k < batch.stacks.n; k++)
			profile_add(&p, event, batch.stacks.v[k].node, 1, 1);
		profile_batch_clear(&batch);
	}
	profile_batch_release(&batch);
	return xstrdup(dump(&(struct view_opts){ 0 }));
}

static void test_wide(void)
{
	static const u32 frames[] = { PROFILE_NARROW - 1, PROFILE_NARROW, 200000 };
	static const u32 sizes[] = { 2000, 700, 1 };
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(frames); i++) {
		char *one = wide_stacks(0, frames[i]), *all;
		size_t nodes = p.nodes.n;

		OK(nodes > 2000);
		for (k = 0; k < ARRAY_SIZE(sizes); k++) {
			all = wide_stacks(sizes[k], frames[i]);
			OK(!strcmp(one, all));
			EQ(p.nodes.n, nodes);
			free(all);
		}
		free(one);
	}
}

/* By name, then space: those of random_stacks() have nothing else that differs. */
static int cmp_frames(frame_id a, frame_id b)
{
	const struct frame *x = &p.frames.v[a], *y = &p.frames.v[b];
	int c = strcmp(strtab_get(&strings, x->function), strtab_get(&strings, y->function));

	return c ? c : (int)x->space - (int)y->space;
}

/* A walk gives the nodes of the view one by one: all that have weight, each once, siblings in order
 * and below what they belong to. */
static void check_walk(const struct view_opts *o)
{
	struct view_walk *w = view_walk_new(&p, o, &err);
	VEC(frame_id) path = { 0 };
	struct view_step s, some[300];
	u32 at = 0, have = 0, asked = 0;
	size_t n = 0, weights = 0, own = 0;
	bool same = true, sorted = true;
	u32 node, depth = 0;
	struct view v;
	u64 sum = 0;

	OK(w != NULL);
	EQ(view_build(&v, &p, o, &err), 0);
	EQ(view_walk_empty(w), !v.nodes.v[0].total);
	for (;; n++) {
		if (at == have) {
			/* In steps of several lengths. */
			at = 0;
			asked = asked % ARRAY_SIZE(some) + 1;
			have = view_walk_next(w, some, asked);
			if (!have)
				break;
			same &= have <= asked;
		}
		same &= MIN(view_walk_whole(w, some, at), UINT64_MAX) == some[at].self;
		s = some[at++];
		same &= n < v.nodes.n && s.depth == v.nodes.v[n].depth &&
			s.self == v.nodes.v[n].self && (!n || s.frame == v.nodes.v[n].frame);
		sorted &= !n ? !s.depth : s.depth && s.depth <= depth + 1;
		if (n && s.depth <= depth)
			sorted &= cmp_frames(path.v[s.depth], s.frame) < 0;
		depth = s.depth;
		path.n = depth;
		vec_push(&path, s.frame);
		sum = add_saturated(sum, v.nodes.v[n].self);
		weights += s.self > 0;
	}
	EQ(view_walk_next(w, some, 1), 0);
	OK(same);
	OK(sorted);
	EQ(n, v.nodes.n);
	EQ(sum, v.nodes.v[0].total);
	if (!o->only && !o->prune && !o->event && p.events.n) {
		for (node = 0; node < p.events.v[0].self.n; node++)
			own += p.events.v[0].self.v[node] > 0;
		EQ(weights, own);
	}
	view_walk_free(w);
	view_release(&v);
	vec_release(&path);
}

static void check_walks(void)
{
	check_walk(&(struct view_opts){ 0 });
	check_walk(&(struct view_opts){ .event = -1 });
	check_walk(&(struct view_opts){ .event = 7 });
	check_walk(&(struct view_opts){ .only = "long" });
	check_walk(&(struct view_opts){ .only = "nowhere" });
	check_walk(&(struct view_opts){ .event = -1, .invert = true });
}

static void test_walk(void)
{
	bool ordered;
	u32 i;

	free(random_stacks(3000, &ordered));
	OK(ordered);
	EQ(p.ordered, p.nodes.n);
	check_walks();
	/* What came one by one is not in order, though all before it is. */
	add("0;1", 3);
	add("0;0", 2);
	OK(p.ordered < p.nodes.n);
	check_walks();
	free(random_stacks(3000, &ordered));
	/* Leaves without weight, at the end as well. */
	for (i = 1; i < p.events.v[0].self.n; i += 3)
		p.events.v[0].self.v[i] = 0;
	stack("zz;zz");
	check_walks();
	free(random_stacks(0, &ordered));
	OK(!ordered);
	check_walks();
	for (i = 0; i < p.events.v[0].self.n; i += 1 + i % 4)
		p.events.v[0].self.v[i] = 0;
	check_walks();
	profile_release(&p);
	profile_init(&p, &strings);
	check_walk(&(struct view_opts){ 0 });
	/* The root alone. */
	profile_add(&p, profile_event(&p, strtab_adds(&strings, "e")), 0, 1, 4);
	check_walks();
	EQ(view_walk_new(&p, &(struct view_opts){ .only = "(" }, &err) == NULL, 1);
	OK(strstr(err.msg, "--only: '('") != NULL);
	/* The last one: what was rewritten leaves nothing. */
	free(random_stacks(3000, &ordered));
	view_walk_free(view_walk_new(&p, &(struct view_opts){ .only = "a", .last = true }, &err));
	EQ(p.nodes.n, 1);
	EQ(p.ordered, 0);
}

/* The steps of a walk, taken some at a time: depth, frame and own weight. */
static const char *steps(const struct view_opts *o)
{
	struct view_walk *w = view_walk_new(&p, o, &err);
	struct view_step s[7];
	static struct buf b;
	u32 asked = 0, n, i;
	u64 sum = 0;

	buf_clear(&b);
	while ((n = view_walk_next(w, s, asked % ARRAY_SIZE(s) + 1))) {
		asked++;
		for (i = 0; i < n; i++) {
			buf_printf(&b, "%u ", s[i].depth);
			if (s[i].depth)
				profile_frame_name(&p, s[i].frame, false, &b);
			buf_printf(&b, " %" PRIu64 "|", s[i].self);
			if (view_walk_whole(w, s, i) != s[i].self)
				buf_puts(&b, "BAD");
			sum += s[i].self;
		}
	}
	if (view_walk_empty(w) != !sum || view_walk_full(w))
		buf_puts(&b, "BAD");
	view_walk_free(w);
	return buf_str(&b);
}

/* 3000 stacks by chance of `frames` names: doubles, beginnings of others, stacks without a frame or
 * without weight. One by one, or kept beside the tree. */
static void late_stacks(bool keep, u32 frames, u64 weights)
{
	struct profile_batch batch = { 0 };
	u64 state = frames, *weight = xcalloc(3000, sizeof(*weight));
	frame_id stack[40];
	u32 i, k, n = 0, event;

	profile_release(&p);
	profile_init(&p, &strings);
	event = profile_event(&p, strtab_adds(&strings, "cycles"));
	profile_event(&p, strtab_adds(&strings, "others"));
	for (i = 0; i < frames; i++) {
		char name[16];

		/* Not in the order of their names. */
		snprintf(name, sizeof(name), "%u", i * 7919u % 1000003);
		frame(name, SPACE_USER);
	}
	for (i = 0; i < 3000; i++) {
		node_id node = 0;

		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
		/* As the one before: the same, its beginning, or with other frames from there on.
		 */
		n = MIN(n, (u32)(state >> 40) % 48);
		if (!(state >> 62))
			n = (u32)(state >> 50) % 4 ? n : 0;
		else
			for (k = (u32)(state >> 35) % 5; k && n < ARRAY_SIZE(stack); k--) {
				state = state * 6364136223846793005ULL + 1442695040888963407ULL;
				/* Some are around the first one that takes two codes. */
				stack[n++] = (u32)(state >> 61
							   ? PROFILE_NARROW - 4 + (state >> 33) % 6
							   : (state >> 33) % frames) %
					     frames;
			}
		weight[i] = weights ? (state >> 20) % weights : 0;
		if (keep) {
			batch_add(&batch, stack, n);
			continue;
		}
		for (k = 0; k < n; k++)
			node = profile_child(&p, node, stack[k]);
		profile_add(&p, event, node, 1, weight[i]);
	}
	if (keep)
		profile_batch_keep(&p, &batch, event, 3000, weight, 5, 1);
	else
		free(weight);
	profile_batch_release(&batch);
}

/* Stacks that are kept are walked as their tree would be, and are in it once somebody asks for
 * more. */
static void test_late(void)
{
	static const u32 frames[] = { 3, 500, PROFILE_NARROW + 1, 200000 };
	static const u64 weights[] = { 0, 2, 1000, UINT64_MAX / 3000 };
	static const struct view_opts others[] = {
		{ .event = -1 }, { .event = 1 }, { .event = 7 }, { .only = "3" }, { .invert = true }
	};
	size_t i, k, m;

	for (i = 0; i < ARRAY_SIZE(frames); i++)
		for (k = 0; k < ARRAY_SIZE(weights); k++) {
			char *walked, *view;
			struct profile_event e;
			size_t nodes;

			late_stacks(false, frames[i], weights[k]);
			OK(p.nodes.n > 100);
			walked = xstrdup(steps(&(struct view_opts){ 0 }));
			view = xstrdup(dump(&(struct view_opts){ 0 }));
			OK(!strstr(walked, "BAD"));
			OK(!strstr(view, "BAD"));
			nodes = p.nodes.n;
			e = p.events.v[0];
			OK(!profile_is_empty(&p));

			late_stacks(true, frames[i], weights[k]);
			OK(!profile_is_empty(&p));
			OK(!strcmp(steps(&(struct view_opts){ 0 }), walked));
			/* Again, and still without a tree. */
			OK(!strcmp(steps(&(struct view_opts){ 0 }), walked));
			EQ(p.nodes.n, 1);
			EQ(p.events.v[0].samples, e.samples);
			EQ(p.events.v[0].weight, e.weight);
			OK(!strcmp(dump(&(struct view_opts){ 0 }), view));
			EQ(p.nodes.n, nodes);
			EQ(p.events.v[0].samples, e.samples);
			EQ(p.events.v[0].weight, e.weight);
			OK(!strcmp(steps(&(struct view_opts){ 0 }), walked));
			free(walked);
			free(view);
		}
	for (m = 0; m < ARRAY_SIZE(others); m++) {
		char *walked;

		late_stacks(false, 500, 9);
		walked = xstrdup(steps(&others[m]));
		late_stacks(true, 500, 9);
		OK(!strcmp(steps(&others[m]), walked));
		free(walked);
	}
	/* What is added afterwards goes between, and decimals count for all. */
	for (m = 0; m < 3; m++) {
		char *walked = NULL;

		for (i = 0; i < 2; i++) {
			late_stacks(i, 500, 9);
			if (!m)
				add("7919;x", 4);
			else if (m == 1)
				profile_add(&p, 0, 0, 1, 4);
			else
				profile_set_scale(&p, 1000);
			if (i)
				OK(!strcmp(steps(&(struct view_opts){ 0 }), walked));
			else
				walked = xstrdup(steps(&(struct view_opts){ 0 }));
		}
		free(walked);
	}
	late_stacks(true, 500, 9);
	profile_drop_contexts(&p);
	OK(profile_is_empty(&p));
	STR_EQ(dump(&(struct view_opts){ 0 }), "=0");
	profile_release(&p);
	profile_init(&p, &strings);
	OK(profile_is_empty(&p));
	/* A stack without frames. */
	profile_add(&p, profile_event(&p, strtab_adds(&strings, "e")), 0, 1, 4);
	OK(!profile_is_empty(&p));
}

/* Each own weight of a walk, in its order, behind commas. */
static const char *weights(const struct view_opts *o, u64 *full)
{
	struct view_walk *w = view_walk_new(&p, o, &err);
	static struct buf b;
	struct view_step s[3];
	u32 n, i;

	buf_clear(&b);
	*full = view_walk_full(w);
	while ((n = view_walk_next(w, s, ARRAY_SIZE(s))))
		for (i = 0; i < n; i++) {
			buf_putc(&b, ',');
			buf_u128(&b, view_walk_whole(w, s, i));
		}
	view_walk_free(w);
	return buf_str(&b);
}

/* Own weights beyond 2^64 - 1: 2^64, 2^65 and more, up to 2^128 - 1. */
static void test_over(void)
{
	const u128 two64 = (u128)1 << 64;
	const u32 event = 0;
	struct view v;
	node_id node;
	u64 full;

	profile_release(&p);
	profile_init(&p, &strings);
	add("a", UINT64_MAX);
	EQ(p.events.v[0].over.v.n, 0);
	STR_EQ(weights(&(struct view_opts){ 0 }, &full), ",0,18446744073709551615");
	add("a", 1);
	add("b", 1);
	add("c", UINT64_MAX);
	EQ(p.events.v[0].over.v.n, 1);
	STR_EQ(weights(&(struct view_opts){ 0 }, &full),
	       ",0,18446744073709551616,1,18446744073709551615");
	profile_add_more(&p, event, stack("a"), two64);
	profile_add_more(&p, event, stack("b"), two64 << 63);
	profile_add_more(&p, event, stack("d;e"), 7);
	STR_EQ(weights(&(struct view_opts){ 0 }, &full),
	       ",0,36893488147419103232,170141183460469231731687303715884105729,"
	       "18446744073709551615,0,7");
	EQ(full, 0);
	/* Views end at 2^64 - 1. */
	STR_EQ(dump(&(struct view_opts){ 0 }),
	       "1a 18446744073709551615/18446744073709551615|"
	       "1b 18446744073709551615/18446744073709551615|"
	       "1c 18446744073709551615/18446744073709551615|1d 0/7|2e 7/7|=18446744073709551615");
	/* Stacks that become one: b, b;f and c. */
	profile_add_more(&p, event, stack("b;f"), two64);
	STR_EQ(weights(&(struct view_opts){ .prune = "b" }, &full),
	       ",0,36893488147419103232,170141183460469231750134047789593657345,"
	       "18446744073709551615,0,7");
	check_walk(&(struct view_opts){ .prune = "b" });
	/* Finer decimals. */
	node = stack("d");
	profile_add(&p, event, node, 1, (u64)1 << 63);
	profile_set_scale(&p, 1000);
	STR_EQ(weights(&(struct view_opts){ .hide = "b" }, &full),
	       ",0,36893488147419103232000,18446744073709551615000,9223372036854775808000,7000");
	EQ(full, 0);
	/* b has more than 2^128 - 1 by now. */
	STR_EQ(weights(&(struct view_opts){ .only = "b" }, &full),
	       ",0,340282366920938463463374607431768211455,18446744073709551616000");
	EQ(full, 1);
	profile_add_more(&p, event, stack("a"), ~(u128)0);
	weights(&(struct view_opts){ 0 }, &full);
	EQ(full, 2);
	profile_add_more(&p, event, stack("a"), ~(u128)0);
	weights(&(struct view_opts){ 0 }, &full);
	EQ(full, 2);
	EQ(view_build(&v, &p, &(struct view_opts){ .last = true }, &err), 0);
	EQ(v.nodes.v[0].total, UINT64_MAX);
	EQ(p.events.v[0].over.v.n, 0);
	view_release(&v);
}

int main(void)
{
	strtab_init(&strings);
	profile_init(&p, &strings);
	test_tree();
	test_recursion();
	test_identity();
	test_idle();
	test_place();
	test_edges();
	test_last();
	test_batch();
	test_wide();
	test_walk();
	test_late();
	test_over();
	profile_release(&p);
	strtab_release(&strings);
	return tap_done();
}
