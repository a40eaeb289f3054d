/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A made profile, written by one of our writers, for the importers of other tools:
 *
 *	export-fixture FORMAT [plain|hostile|big|stacks] [EVENT]
 *
 * "stacks" is "plain" without its samples kept one by one.  EVENT is a number, default -1: all.  FORMAT "expect" prints what was put in,
 * without any writer: a line a stack with event, weight, samples and the frames, root first, in hexadecimal.
 */
#include "render/render.h"

#define MAX_STACKS	4096

struct stack {
	u32 event;
	u64 weight, samples;
	VEC(frame_id) path;
	node_id node;
};

static struct strtab strings;
static struct profile p;
static struct stack stacks[MAX_STACKS];
static size_t nr_stacks;
static u64 seed = 20261129;

/* A linear congruential generator (the constants are Knuth's): the same on each machine. */
static u32 next(u32 below)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (u32)((seed >> 33) % below);
}

static frame_id frame(const char *name, size_t len, u8 space, u8 flags, const char *module, const char *file, u32 line)
{
	return profile_frame(&p, &(struct frame){
		.function = strtab_add(&strings, name, len), .module = strtab_adds(&strings, module),
		.file = strtab_adds(&strings, file), .line = line, .space = space, .flags = flags });
}

static frame_id comm(const char *name)
{
	return frame(name, strlen(name), SPACE_NONE, FRAME_GROUP, "", "", 0);
}

static void push(frame_id f)
{
	vec_push(&stacks[nr_stacks].path, f);
}

static void finish(u32 event)
{
	struct stack *s = &stacks[nr_stacks++];
	size_t i;

	s->event = event;
	for (i = 0; i < s->path.n; i++)
		s->node = profile_child(&p, s->node, s->path.v[i]);
}

static void plain(u32 nr, u32 deep)
{
	static const char *const comms[] = { "dd", "qemu-system-i38", "kworker/3:1", "my app" };
	static const char *const users[] = { "main", "std::vector<int>::push_back(int const&)", "operator new", "read_all", "f" };
	static const char *const kernels[] = { "entry_SYSCALL_64_after_hwframe", "do_syscall_64", "ksys_read", "xen_hypercall_mmu_update" };
	static const char *const hvs[] = { "lstar_enter", "pv_hypercall", "do_mmu_update", "get_page_from_l1e" };
	u32 i, k, n;

	for (i = 0; i < nr; i++) {
		push(comm(comms[next(ARRAY_SIZE(comms))]));
		for (k = 0, n = next(4 + deep); k < n; k++) {
			u32 which = next(ARRAY_SIZE(users));

			push(frame(users[which], strlen(users[which]), SPACE_USER, which == 2 ? FRAME_INLINED : 0,
				   which & 1 ? "libx.so.6" : "prog", which & 1 ? "" : "src/prog.cc", which & 1 ? 0 : 10 + which));
		}
		for (k = 0, n = next(4); k < n; k++)
			push(frame(kernels[k], strlen(kernels[k]), SPACE_KERNEL, 0, "[kernel.kallsyms]", "", 0));
		for (k = 0, n = n == 3 ? next(5) : 0; k < n; k++)
			push(frame(hvs[k], strlen(hvs[k]), SPACE_HV, k == 3 ? FRAME_INLINED : 0, "xen-syms", "arch/x86/mm.c", 100 + k));
		if (stacks[nr_stacks].path.n == 1)
			push(frame("[prog+0x1f40]", 13, SPACE_USER, FRAME_UNRESOLVED, "prog", "", 0));
		finish(i % 3 == 2);
	}
}

static void hostile(void)
{
	static const struct {
		const char *name;
		size_t len;
	} names[] = {
		{ "a;b", 3 }, { "x 12", 4 }, { "\"quoted\\\"", 9 }, { "</script><b>", 12 }, { "new\nline", 8 }, { "tab\there", 8 },
		{ "\x1b[31m", 5 }, { "\xff", 1 }, { "\xc3\xa4\xe2\x82\xac\xf0\x9f\x94\xa5", 9 }, { "nul\0in", 6 }, { "operator()(int) const", 21 },
		{ "(paren) ) (", 11 }, { "%3b", 3 }, { "fn= x (1)", 9 }, { "cfn=(2)", 7 }, { "# hash", 6 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		push(comm("app"));
		push(frame(names[i].name, names[i].len, SPACE_USER, 0, i & 1 ? "my lib (1).so" : "prog", "", 0));
		if (i & 2)
			push(frame("leaf", 4, SPACE_HV, 0, "xen-syms", "", 0));
		finish(i % 3 == 2);
	}
}

static int expect(void)
{
	struct buf b = BUF_INIT;
	size_t i, k, m;

	for (i = 0; i < nr_stacks; i++) {
		struct stack *s = &stacks[i];

		printf("%s\t%" PRIu64 "\t%" PRIu64 "\t", strtab_get(&strings, p.events.v[s->event].name), s->weight, s->samples);
		for (k = 0; k < s->path.n; k++) {
			buf_clear(&b);
			profile_frame_label(&p, s->path.v[k], false, &b);
			if (k)
				putchar(',');
			for (m = 0; m < b.n; m++)
				printf("%02x", (u8)b.p[m]);
		}
		putchar('\n');
	}
	buf_release(&b);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct render_fact facts[] = { { "host", "dom0 \"x\"" }, { "release", "6.1.0" } };
	static const struct render_quality quality[] = { { "lost", "3 samples were lost", 3, true } };
	const char *format = argc > 1 ? argv[1] : "", *what = argc > 2 ? argv[2] : "plain";
	const struct render_writer *w = render_writer_by_name(format);
	struct render_opts opts = { .title = "made" };
	struct view_opts vo = { .event = -1 };
	struct render_input in = { .profile = &p, .facts = facts, .nr_facts = ARRAY_SIZE(facts), .quality = quality,
		.nr_quality = ARRAY_SIZE(quality) };
	struct error err = { "" };
	u64 time = 1000000000, nr, samples, i;
	struct view v;
	struct out o;
	int ret = 1;

	strtab_init(&strings);
	profile_init(&p, &strings);
	p.keep_samples = strcmp(what, "stacks") != 0;
	p.unit = "cycles";
	profile_event(&p, strtab_adds(&strings, "cycles"));
	profile_event(&p, strtab_adds(&strings, "faults"));
	if (!strcmp(what, "hostile"))
		hostile();
	else if (!strcmp(what, "big"))
		plain(MAX_STACKS, 60);
	else
		plain(40, 0);
	nr = !strcmp(what, "big") ? 30000 : 500;
	for (i = 0; i < nr; i++) {
		struct stack *s = &stacks[i < nr_stacks ? i : next((u32)nr_stacks)];
		u64 weight = 1 + next(1000000);

		time += next(2000000);
		profile_add_sample(&p, &(struct profile_sample){ .time = time, .weight = weight, .node = s->node,
			.event = s->event, .cpu = next(4), .pid = 100 + (u32)(s - stacks) % 5, .tid = 100 + (u32)(s - stacks) % 7 });
		s->weight += weight;
		s->samples++;
	}
	if (p.keep_samples) {
		vec_push(&p.losses, ((struct profile_loss){ 1000000000, 1, 2, false }));
		vec_push(&p.losses, ((struct profile_loss){ time, 2, UINT32_MAX, false }));
		vec_push(&p.losses, ((struct profile_loss){ time, 0, 3, true }));
	}
	if (argc > 3) {
		const char *num = argv[3];

		samples = 0;
		if (parse_dec(&num, num + strlen(num), &samples) || samples >= p.events.n)
			return 2;
		vo.event = (int)samples;
	}
	if (!strcmp(format, "expect")) {
		ret = expect();
	} else if (!w) {
		fprintf(stderr, "export-fixture: no writer '%s'\n", format);
		ret = 2;
	} else if (!view_build(&v, &p, &vo, &err)) {
		in.view = &v;
		if (!out_open(&o, "-", &err)) {
			if (w->write(&o, &in, &opts, &err))
				out_abort(&o);
			else
				ret = out_close(&o, &err) ? 1 : 0;
		}
		view_release(&v);
	}
	if (err.msg[0])
		fprintf(stderr, "export-fixture: %s\n", err.msg);
	for (i = 0; i < nr_stacks; i++)
		vec_release(&stacks[i].path);
	profile_release(&p);
	strtab_release(&strings);
	return ret;
}
