/* SPDX-License-Identifier: GPL-2.0-or-later */
/* perf.data: every record type and oddity, on bytes made by hand. */
#include "tests/unit/perf-build.h"

#define KERNEL   ((u64)-128)
#define USER     ((u64)-512)
#define DEFERRED ((u64)-640)
#define COMMON   (S_IP | S_TID | S_TIME | S_PERIOD | S_CHAIN)

static void one_event(struct build *b, u64 sample_type)
{
	memset(b, 0, sizeof(*b));
	b->nattrs = 1;
	b->attrs[0] = (struct attr_spec){ .sample_type = sample_type,
					  .flags = FLAG_FREQ | FLAG_ID_ALL,
					  .period = 999 };
}

static const struct perf_sample *nth_sample(const struct result *res, u32 n, const struct got **g)
{
	size_t i;

	for (i = 0; i < res->v.n; i++)
		if (res->v.v[i].it.type == ITEM_SAMPLE && !n--) {
			if (g)
				*g = &res->v.v[i];
			return &res->v.v[i].it.sample;
		}
	return NULL;
}

static const struct got *nth_item(const struct result *res, enum perf_item_type type, u32 n)
{
	size_t i;

	for (i = 0; i < res->v.n; i++)
		if (res->v.v[i].it.type == type && !n--)
			return &res->v.v[i];
	return NULL;
}

/* The same few records in every container. */
static void fill(struct build *b)
{
	static const u64 chain[] = { KERNEL, 0xffffffff81000010ULL, USER, 0x401000, 0x402000 };

	rec_mmap(b, 2, 7, 0x400000, 0x10000, 0x1000, "/bin/x", 0);
	rec_comm(b, 7, 7, "first", 0, false);
	rec_sample(b, 0, 1, 0xffffffff81000010ULL, 7, 7, 1000, 0, 250, chain, 5);
	feat_string(b, 3, "dom0.example");
	feat_string(b, 5, "6.1");
	feat_string(b, 6, "x86_64");
}

static void check_fill(struct result *res)
{
	const struct perf_meta *m;
	const struct perf_sample *s;
	const struct got *g = NULL;

	EQ(res->ret, 0);
	if (!res->r) {
		printf("# %s\n", res->err.msg);
		return;
	}
	m = perf_meta(res->r);
	STR_EQ(m->hostname ? m->hostname : "", "dom0.example");
	STR_EQ(m->arch ? m->arch : "", "x86_64");
	STR_EQ(m->events.v[0].name, "cycles");
	EQ(m->events.v[0].samples, 1);
	EQ(m->first_time, 1000);
	EQ(m->last_time, 1000);
	g = nth_item(res, ITEM_MMAP, 0);
	OK(g != NULL);
	if (g) {
		EQ(g->it.mmap.pid, 7);
		EQ(g->it.mmap.addr, 0x400000);
		EQ(g->it.mmap.len, 0x10000);
		EQ(g->it.mmap.pgoff, 0x1000);
		EQ(g->it.mmap.cpumode, CPUMODE_USER);
		STR_EQ(g->name, "/bin/x");
	}
	s = nth_sample(res, 0, &g);
	OK(s != NULL);
	if (!s)
		return;
	STR_EQ(g->name, "first");
	EQ(s->ip, 0xffffffff81000010ULL);
	EQ(s->pid, 7);
	EQ(s->tid, 7);
	EQ(s->time, 1000);
	EQ(s->period, 250);
	EQ(s->cpumode, CPUMODE_KERNEL);
	EQ(s->count, 1);
	EQ(s->cpu, PERF_NO_CPU);
	EQ(s->chain_nr, 5);
	EQ(g->chain[0], KERNEL);
	EQ(g->chain[4], 0x402000);
	EQ(res->diag.entries.n, 0);
}

static void test_containers(void)
{
	static const u32 sizes[] = { 64, 72, 80, 96, 104, 112, 120, 128, 136, 144, 200, 1000 };
	struct result res = { .ret = 0 };
	struct buf o = BUF_INIT;
	struct build b;
	size_t i;
	int big, v1, pipe;

	for (big = 0; big < 2; big++)
		for (v1 = 0; v1 < 2; v1++)
			for (pipe = 0; pipe < 2; pipe++) {
				one_event(&b, COMMON);
				b.big = big;
				b.v1 = v1;
				b.pipe = pipe;
				fill(&b);
				build_file(&b, &o);
				printf("# big %d version 1 %d pipe %d\n", big, v1, pipe);
				result_read(&res, &o, false);
				check_fill(&res);
				result_release(&res);
				result_read(&res, &o, true);
				check_fill(&res);
				result_release(&res);
				build_release(&b);
			}
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		one_event(&b, COMMON);
		b.attrs[0].size = sizes[i];
		fill(&b);
		printf("# attr of %u bytes\n", sizes[i]);
		result_build(&res, &b);
		check_fill(&res);
		result_release(&res);
		build_release(&b);
	}
	buf_release(&o);
}

static void test_tasks(void)
{
	struct result res = { .ret = 0 };
	struct build b;
	const struct got *g = NULL;
	u32 i;
	static const struct {
		u32 pid, tid;
		const char *comm;
	} want[] = {
		{ 7, 7, "shell" },  /* named before */
		{ 8, 8, "shell" },  /* inherited at fork */
		{ 8, 8, "make" },   /* after exec */
		{ 8, 9, "make" },   /* thread: inherited */
		{ 8, 9, "worker" }, /* renamed itself */
		{ 8, 77, "make" },  /* a thread that was never seen: its process's */
		{ 99, 99, ":99" },  { 0, 0, "swapper" },
		{ 8, 8, "make" }, /* not touched by its thread's name */
	};

	one_event(&b, S_IP | S_TID | S_TIME);
	rec_comm(&b, 7, 7, "shell", 0, false);
	/* Not in the order of time, as buffers of several CPUs are. */
	rec_comm(&b, 8, 8, "make", 30, true);
	rec_comm(&b, 8, 9, "worker", 50, false);
	rec_task(&b, 7, 0, 8, 7, 8, 7, 10);
	rec_task(&b, 7, 0, 8, 8, 9, 8, 40);
	for (i = 0; i < ARRAY_SIZE(want); i++)
		rec_sample(&b, 0, 2, 0x1000, want[i].pid, want[i].tid,
			   (const u64[]){ 5, 20, 35, 45, 55, 60, 61, 62, 63 }[i], 0, 0, NULL, 0);
	rec_task(&b, 4, 0, 8, 7, 8, 7, 70); /* the first thread ends, another lives */
	rec_task(&b, 4, 0, 8, 8, 9, 8, 80);
	rec_task(&b, 7, 0x2000, 50, 1, 50, 1,
		 90); /* made up by perf for what ran before: no copy of mappings */
	result_build(&res, &b);
	EQ(res.ret, 0);
	EQ(res.samples, ARRAY_SIZE(want));
	for (i = 0; i < ARRAY_SIZE(want); i++)
		if (nth_sample(&res, i, &g))
			STR_EQ(g->name, want[i].comm);
	g = nth_item(&res, ITEM_FORK, 0);
	OK(g && g->it.task.pid == 8 && g->it.task.ppid == 7 && g->it.time == 10);
	OK(!nth_item(&res, ITEM_FORK, 1));
	g = nth_item(&res, ITEM_EXEC, 0);
	OK(g && g->it.task.pid == 8 && g->it.time == 30);
	g = nth_item(&res, ITEM_EXIT, 0);
	OK(g && g->it.task.pid == 8 && g->it.time == 80);
	OK(!nth_item(&res, ITEM_EXIT, 1));
	result_release(&res);
	build_release(&b);
}

static void test_mmap2(void)
{
	struct result res = { .ret = 0 };
	struct build b;
	const struct got *g;
	u32 i;

	one_event(&b, S_IP | S_TID | S_TIME);
	for (i = 0; i < 3; i++) {
		/* a build id, an inode, data */
		rec_begin(&b, 10, i == 0 ? 0x4002 : i == 2 ? 0x2002 : 2);
		b32(&b, 5);
		b32(&b, 6);
		b64(&b, 0x7f0000000000 + i);
		b64(&b, 0x2000);
		b64(&b, 0x3000);
		if (i == 0) {
			u32 k;

			b8(&b, 20);
			b8(&b, 0);
			b16(&b, 0);
			for (k = 0; k < 20; k++)
				b8(&b, 0xa0 + k);
		} else {
			b32(&b, 8);
			b32(&b, 1);
			b64(&b, 4711);
			b64(&b, 0);
		}
		b32(&b, 5);
		b32(&b, 2);
		b_name(&b, "/lib/libc.so.6");
		rec_tail(&b, 0, 5, 6, 10 + i, 0);
	}
	/* A name that fills its field without a NUL. */
	rec_begin(&b, 1, 2);
	b32(&b, 5);
	b32(&b, 6);
	b64(&b, 1);
	b64(&b, 1);
	b64(&b, 1);
	buf_puts(&b.data, "12345678");
	rec_tail(&b, 0, 5, 6, 20, 0);
	/* A build id that says it is longer than any. */
	rec_begin(&b, 10, 0x4002);
	for (i = 0; i < 32; i++)
		b8(&b, 1);
	b8(&b, 255);
	for (i = 0; i < 31; i++)
		b8(&b, 2);
	b_name(&b, "x");
	rec_tail(&b, 0, 5, 6, 30, 0);
	result_build(&res, &b);
	EQ(res.v.n, 4);
	g = nth_item(&res, ITEM_MMAP, 0);
	EQ(g->it.mmap.build_id_len, 20);
	EQ(g->it.mmap.build_id[0], 0xa0);
	EQ(g->it.mmap.build_id[19], 0xb3);
	EQ(g->it.mmap.ino, 0);
	EQ(g->it.mmap.tid, 6);
	STR_EQ(g->name, "/lib/libc.so.6");
	g = nth_item(&res, ITEM_MMAP, 1);
	EQ(g->it.mmap.build_id_len, 0);
	EQ(g->it.mmap.maj, 8);
	EQ(g->it.mmap.min, 1);
	EQ(g->it.mmap.ino, 4711);
	g = nth_item(&res, ITEM_MMAP, 2);
	STR_EQ(g->name, "12345678");
	g = nth_item(&res, ITEM_MMAP, 3);
	EQ(g->it.mmap.build_id_len, 20);
	result_release(&res);
	build_release(&b);
}

static void test_ksymbol(void)
{
	struct result res = { .ret = 0 };
	struct build b;
	const struct got *g;
	int i;

	one_event(&b, S_IP | S_TID | S_TIME);
	for (i = 0; i < 2; i++) {
		rec_begin(&b, 17, 0);
		b64(&b, 0xffffffffc0001000ULL);
		b32(&b, 0x123);
		b16(&b, 1);
		b16(&b, i);
		b_name(&b, "bpf_prog_6deef7357e7b4530");
		rec_tail(&b, 0, 0, 0, 10 + i, 0);
	}
	result_build(&res, &b);
	EQ(res.v.n, 2);
	g = &res.v.v[0];
	EQ(g->it.type, ITEM_KSYMBOL);
	EQ(g->it.ksymbol.addr, 0xffffffffc0001000ULL);
	EQ(g->it.ksymbol.len, 0x123);
	EQ(g->it.ksymbol.ksym_type, 1);
	OK(!g->it.ksymbol.unregister);
	STR_EQ(g->name, "bpf_prog_6deef7357e7b4530");
	OK(res.v.v[1].it.ksymbol.unregister);
	result_release(&res);
	build_release(&b);
}

/* What stands behind a record: pid, tid, time, cpu. */
static void tail(struct build *b, u64 time, u32 cpu)
{
	b64(b, 0);
	b64(b, time);
	b32(b, cpu);
	b32(b, 0);
	rec_end(b);
}

static void test_lost(void)
{
	struct result res = { .ret = 0 };
	const struct perf_loss *l;
	struct build b;

	one_event(&b, S_IP | S_TID | S_TIME | S_CPU);
	rec_begin(&b, 2, 0);
	b64(&b, 1);
	b64(&b, 40);
	tail(&b, 5, 3);
	rec_begin(&b, 13, 0);
	b64(&b, 2);
	tail(&b, 6, 1);
	rec_begin(&b, 13, 0x8000); /* left out by a filter of the user's */
	b64(&b, 1000);
	tail(&b, 7, 1);
	rec_begin(&b, 5, 0); /* throttled: time, id, stream id */
	b64(&b, 8);
	b64(&b, 0);
	b64(&b, 0);
	tail(&b, 9, 2);
	result_build(&res, &b);
	EQ(perf_meta(res.r)->lost, 42);
	EQ(diag_count(&res.diag, DIAG_LOST), 42);
	EQ(perf_meta(res.r)->losses.n, 3);
	l = perf_meta(res.r)->losses.v;
	OK(l[0].time == 5 && l[0].count == 40 && l[0].cpu == 3 && !l[0].throttled);
	OK(l[1].time == 6 && l[1].count == 2 && l[1].cpu == 1 && !l[1].throttled);
	OK(l[2].time == 8 && l[2].count == 0 && l[2].cpu == 2 && l[2].throttled);
	result_release(&res);
	build_release(&b);

	/* Without a time they are counted alone. */
	one_event(&b, S_IP | S_TID);
	rec_begin(&b, 2, 0);
	b64(&b, 1);
	b64(&b, 40);
	rec_tail(&b, 0, 0, 0, 0, 0);
	result_build(&res, &b);
	EQ(perf_meta(res.r)->lost, 40);
	EQ(perf_meta(res.r)->losses.n, 0);
	result_release(&res);
	build_release(&b);
}

/* Several events: ids at the same place, at differing places, and none. */
static void test_events(void)
{
	static const struct {
		u64 a, b;
	} types[] = {
		{ COMMON | S_IDENTIFIER, COMMON | S_IDENTIFIER },
		{ COMMON | S_ID, COMMON | S_ID },
		{ COMMON | S_ID, (COMMON & ~(u64)S_TIME) | S_ID }, /* differing places */
		{ COMMON | S_ID | S_ADDR, COMMON | S_ID | S_CPU },
	};
	static const u64 chain[] = { USER, 0x1111 };
	struct result res = { .ret = 0 };
	struct build b;
	const struct perf_sample *s;
	const struct got *g = NULL;
	const struct perf_meta *m;
	u32 t, i, of[2];

	for (t = 0; t < ARRAY_SIZE(types); t++) {
		printf("# sample types 0x%" PRIx64 " 0x%" PRIx64 "\n", types[t].a, types[t].b);
		memset(&b, 0, sizeof(b));
		b.nattrs = 2;
		b.attrs[0] = (struct attr_spec){ .sample_type = types[t].a,
						 .flags = FLAG_ID_ALL,
						 .ids = { 11, 12 },
						 .nids = 2 };
		b.attrs[1] = (struct attr_spec){ .type = 1,
						 .config = 2,
						 .sample_type = types[t].b,
						 .flags = FLAG_ID_ALL,
						 .ids = { 21, 22 },
						 .nids = 2 };
		rec_sample(&b, 0, 2, 0x1111, 1, 1, 10, 11, 100, chain, 2);
		rec_sample(&b, 1, 2, 0x2222, 1, 1, 20, 22, 200, chain, 2);
		rec_sample(&b, 0, 2, 0x3333, 1, 1, 30, 12, 300, chain, 2);
		rec_sample(&b, 0, 2, 0x4444, 1, 1, 40, 999, 400, chain, 2); /* nobody's */
		result_build(&res, &b);
		EQ(res.ret, 0);
		EQ(res.samples, 4);
		EQ(diag_count(&res.diag, DIAG_UNKNOWN_ID), 1);
		m = perf_meta(res.r);
		STR_EQ(m->events.v[0].name, "cycles");
		STR_EQ(m->events.v[1].name, "page-faults");
		EQ(m->events.v[0].samples, 3);
		EQ(m->events.v[1].samples, 1);
		of[0] = of[1] = 0;
		for (i = 0; i < 4; i++) {
			s = nth_sample(&res, i, &g);
			if (!s)
				continue;
			of[s->event]++;
			EQ(s->period, s->ip / 0x1111 * 100);
			EQ(s->event, s->ip == 0x2222);
			EQ(g->chain[1], 0x1111);
		}
		EQ(of[1], 1);
		result_release(&res);
		build_release(&b);
	}
}

static void test_read_formats(void)
{
	static const u64 chain[] = { USER, 0x5555 };
	struct result res = { .ret = 0 };
	struct build b;
	const struct perf_sample *s;
	const struct got *g = NULL;
	u64 rf, k, i;

	for (rf = 0; rf < 32; rf++) {
		one_event(&b, S_IP | S_READ | S_CHAIN);
		b.attrs[0].read_format = rf;
		rec_begin(&b, 9, 2);
		b64(&b, 0x5555);
		if (rf & 8) {
			b64(&b, 3);
			for (k = 0; k < 2; k++)
				if (rf & 1 << k)
					b64(&b, 77);
			for (i = 0; i < 3; i++) {
				b64(&b, 1000 + i);
				if (rf & 4)
					b64(&b, 500 + i); /* ids that nobody has: the sample is
							     given whole */
				if (rf & 16)
					b64(&b, 0);
			}
		} else {
			b64(&b, 1000);
			for (k = 0; k < 5; k++)
				if (k != 3 && rf & 1 << k)
					b64(&b, 77);
		}
		b64(&b, 2);
		b64(&b, chain[0]);
		b64(&b, chain[1]);
		rec_end(&b);
		result_build(&res, &b);
		s = nth_sample(&res, 0, &g);
		OK(s && s->chain_nr == 2 && g->chain[1] == 0x5555);
		result_release(&res);
		build_release(&b);
	}
}

static void group_sample(struct build *b, u64 time, u32 tid, u64 v0, u64 v1)
{
	rec_begin(b, 9, 2);
	b64(b, 0x1234);
	b32(b, 1);
	b32(b, tid);
	b64(b, time);
	b64(b, 11);
	b64(b, 2);
	b64(b, v0);
	b64(b, 11);
	b64(b, 0);
	b64(b, v1);
	b64(b, 21);
	b64(b, 0);
	rec_end(b);
}

/* Leader sampling: a sample is one of each member that has counted since, with the difference as
 * its period. */
static void test_group(void)
{
	struct result res = { .ret = 0 };
	struct build b;
	const struct perf_sample *s;
	static const struct {
		u32 event;
		u64 period;
	} want[] = { { 0, 100 }, { 1, 7 }, { 0, 50 }, { 0, 10 }, { 1, 1 } };
	u32 i, inherit;

	for (inherit = 0; inherit < 2; inherit++) {
		memset(&b, 0, sizeof(b));
		b.nattrs = 2;
		b.attrs[0] =
			(struct attr_spec){ .sample_type = S_IP | S_TID | S_TIME | S_ID | S_READ,
					    .read_format = 4 | 8 | 16,
					    .flags = FLAG_ID_ALL | (inherit ? FLAG_INHERIT : 0),
					    .ids = { 11 },
					    .nids = 1 };
		b.attrs[1] = b.attrs[0];
		b.attrs[1].config = 1;
		b.attrs[1].ids[0] = 21;
		group_sample(&b, 10, 1, 100, 7);
		group_sample(&b, 20, 1, 150, 7); /* the second has not counted */
		group_sample(&b, 30, inherit ? 1 : 2, 160,
			     8); /* another thread, but counters that are shared */
		result_build(&res, &b);
		EQ(res.samples, ARRAY_SIZE(want));
		for (i = 0; i < ARRAY_SIZE(want); i++) {
			s = nth_sample(&res, i, NULL);
			if (!s)
				continue;
			EQ(s->event, want[i].event);
			EQ(s->period, want[i].period);
			EQ(s->ip, 0x1234);
		}
		EQ(perf_meta(res.r)->events.v[1].samples, 2);
		result_release(&res);
		build_release(&b);
	}
	/* A group sample that is cut short gives nothing, now or later. */
	memset(&b, 0, sizeof(b));
	b.nattrs = 2;
	b.attrs[0] = (struct attr_spec){ .sample_type = S_IP | S_TID | S_TIME | S_ID | S_READ |
							S_CHAIN,
					 .read_format = 4 | 8 | 16,
					 .flags = FLAG_ID_ALL,
					 .ids = { 11 },
					 .nids = 1 };
	b.attrs[1] = b.attrs[0];
	b.attrs[1].ids[0] = 21;
	group_sample(&b, 10, 1, 100, 7);
	result_build(&res, &b);
	EQ(res.samples, 0);
	EQ(diag_count(&res.diag, DIAG_BAD_RECORD), 1);
	result_release(&res);
	build_release(&b);
	/* Inherited counters count by thread. */
	memset(&b, 0, sizeof(b));
	b.nattrs = 2;
	b.attrs[0] = (struct attr_spec){ .sample_type = S_IP | S_TID | S_TIME | S_ID | S_READ,
					 .read_format = 4 | 8 | 16,
					 .flags = FLAG_ID_ALL | FLAG_INHERIT,
					 .ids = { 11 },
					 .nids = 1 };
	b.attrs[1] = b.attrs[0];
	b.attrs[1].ids[0] = 21;
	group_sample(&b, 10, 1, 100, 0);
	group_sample(&b, 20, 2, 30, 0);
	group_sample(&b, 30, 1, 110, 0);
	result_build(&res, &b);
	EQ(res.samples, 3);
	EQ(nth_sample(&res, 0, NULL)->period, 100);
	EQ(nth_sample(&res, 1, NULL)->period, 30);
	EQ(nth_sample(&res, 2, NULL)->period, 10);
	result_release(&res);
	build_release(&b);
}

/* Everything that can stand in a sample, in order; the raw data make what follows lie at odd
 * addresses. */
static void test_all_fields(void)
{
	struct result res = { .ret = 0 };
	struct build b;
	const struct perf_sample *s;
	const struct got *g = NULL;
	u32 raw, i, big;

	for (big = 0; big < 2; big++)
		for (raw = 0; raw < 9; raw++) {
			one_event(&b, S_IDENTIFIER | COMMON | S_ADDR | S_ID | S_STREAM | S_CPU |
					      S_READ | S_RAW | S_BRANCH | S_REGS | S_STACK |
					      S_WEIGHT | S_DATA_SRC | S_TRANSACTION | S_REGS_INTR |
					      S_PHYS | S_CGROUP);
			b.big = big;
			b.attrs[0].branch_type = 1 << 11 | 1 << 17;
			b.attrs[0].regs_user = 1 << 8 | 1 << 7 | 1 << 6;
			rec_begin(&b, 9, 0x4002);
			b64(&b, 1); /* IDENTIFIER */
			b64(&b, 0x401000);
			b32(&b, 70);
			b32(&b, 71);
			b64(&b, 12345);
			b64(&b, 0xadd);
			b64(&b, 1);
			b64(&b, 2);
			b32(&b, 3); /* CPU */
			b32(&b, 0);
			b64(&b, 4000);
			b64(&b, 99); /* READ */
			b64(&b, 2);
			b64(&b, USER);
			b64(&b, 0x401000);
			b32(&b, 4 + raw);
			for (i = 0; i < 4 + raw; i++)
				b8(&b, 0xee);
			b64(&b, 2); /* BRANCH_STACK */
			b64(&b, 0);
			for (i = 0; i < 2; i++) {
				b64(&b, 0x1000 + i);
				b64(&b, 0x2000 + i);
				b64(&b, 0);
			}
			b64(&b, 2); /* REGS_USER, 64 bit */
			b64(&b, 0xb9);
			b64(&b, 0x59);
			b64(&b, 0x19);
			b64(&b, 16); /* STACK_USER */
			for (i = 0; i < 16; i++)
				b8(&b, i);
			b64(&b, 9);
			for (i = 0; i < 3; i++)
				b64(&b, 0);
			b64(&b, 0); /* REGS_INTR, none */
			b64(&b, 0);
			b64(&b, 0);
			while (b.data.n % 8)
				b8(&b, 0);
			rec_end(&b);
			result_build(&res, &b);
			EQ(res.ret, 0);
			s = nth_sample(&res, 0, &g);
			OK(s != NULL);
			if (!s)
				continue;
			EQ(s->ip, 0x401000);
			EQ(s->pid, 70);
			EQ(s->tid, 71);
			EQ(s->time, 12345);
			EQ(s->cpu, 3);
			EQ(s->period, 4000);
			EQ(g->chain[1], 0x401000);
			EQ(s->lbr_nr, 2);
			EQ(g->lbr[0], 0x1000);
			EQ(g->lbr[1], 0x1001);
			EQ(s->lbr_to, 0x2000);
			EQ(s->user_abi, 2);
			EQ(s->user_mask, 1 << 8 | 1 << 7 | 1 << 6);
			EQ(g->regs[0], 0xb9);
			EQ(g->regs[2], 0x19);
			EQ(s->stack_size, 9);
			EQ(g->stack[8], 8);
			result_release(&res);
			build_release(&b);
		}
}

static void test_periods(void)
{
	struct result res = { .ret = 0 };
	struct build b;

	one_event(&b, S_IP);
	b.attrs[0].flags = 0;
	b.attrs[0].period = 1000000; /* -c: known from the event */
	rec_sample(&b, 0, 2, 1, 0, 0, 0, 0, 0, NULL, 0);
	result_build(&res, &b);
	EQ(nth_sample(&res, 0, NULL)->period, 1000000);
	EQ(nth_sample(&res, 0, NULL)->time, PERF_NO_TIME);
	EQ(nth_sample(&res, 0, NULL)->pid, PERF_NO_PID);
	EQ(perf_meta(res.r)->first_time, PERF_NO_TIME);
	result_release(&res);
	build_release(&b);

	one_event(&b, S_IP); /* a frequency is no period */
	rec_sample(&b, 0, 2, 1, 0, 0, 0, 0, 0, NULL, 0);
	result_build(&res, &b);
	EQ(nth_sample(&res, 0, NULL)->period, 1);
	result_release(&res);
	build_release(&b);
}

static void test_machines(void)
{
	struct result res = { .ret = 0 };
	struct build b;
	const struct perf_sample *s;

	one_event(&b, COMMON | S_ID);
	b.attrs[0].ids[0] = 5;
	b.attrs[0].ids[1] = 6;
	b.attrs[0].nids = 2;
	rec_begin(&b, 69, 0);
	b64(&b, 2);
	b64(&b, 5);
	b64(&b, 0);
	b64(&b, 0);
	b64(&b, 0);
	b64(&b, 6);
	b64(&b, 0);
	b64(&b, 0);
	b64(&b, 0);
	b64(&b, 0);
	b64(&b, 0);
	b64(&b, 4321); /* machine_pid, vcpu of the second */
	b64(&b, 3);
	rec_end(&b);
	rec_sample(&b, 0, 4, 1, 9, 9, 10, 5, 1, NULL, 0);
	rec_sample(&b, 0, 5, 1, 9, 9, 20, 6, 1, NULL, 0);
	result_build(&res, &b);
	s = nth_sample(&res, 0, NULL);
	OK(s && s->machine_pid == 0 && s->vcpu == PERF_NO_CPU &&
	   s->cpumode == CPUMODE_GUEST_KERNEL);
	s = nth_sample(&res, 1, NULL);
	OK(s && s->machine_pid == 4321 && s->vcpu == 3 && s->cpumode == CPUMODE_GUEST_USER);
	result_release(&res);
	build_release(&b);
}

static void round_end(struct build *b)
{
	rec_begin(b, 68, 0);
	rec_end(b);
}

static void test_order(void)
{
	static const u64 times[] = { 50, 10, 30, 30, 20, 0, 70, 60, 40, 0, 90, 80, 0, 5 };
	/* 5 comes when all up to 70 is gone already: it is told, and given as early as possible. */
	static const u64 want[] = { 10, 20, 30, 30, 40, 50, 60, 70, 5, 80, 90 };
	struct result res = { .ret = 0 };
	const struct perf_sample *s;
	struct build b;
	u32 i;

	one_event(&b, S_IP | S_TIME);
	for (i = 0; i < ARRAY_SIZE(times); i++)
		if (times[i])
			rec_sample(&b, 0, 2, 1000 + i, 0, 0, times[i], 0, 0, NULL, 0);
		else
			round_end(&b);
	result_build(&res, &b);
	EQ(res.samples, ARRAY_SIZE(want));
	for (i = 0; i < ARRAY_SIZE(want); i++)
		if ((s = nth_sample(&res, i, NULL)))
			EQ(s->time, want[i]);
	/* Equal times keep the order of the file. */
	EQ(nth_sample(&res, 2, NULL)->ip, 1002);
	EQ(nth_sample(&res, 3, NULL)->ip, 1003);
	EQ(diag_count(&res.diag, DIAG_OUT_OF_ORDER), 1);
	EQ(perf_meta(res.r)->first_time, 5);
	EQ(perf_meta(res.r)->last_time, 90);
	result_release(&res);
	build_release(&b);

	/* Many records without rounds, times from back to front and interleaved. */
	one_event(&b, S_IP | S_TIME);
	for (i = 0; i < 5000; i++)
		rec_sample(&b, 0, 2, i, 0, 0, 1 + (i % 2 ? 10000 - i : i * 7 % 1000), 0, 0, NULL,
			   0);
	result_build(&res, &b);
	EQ(res.samples, 5000);
	for (i = 1; i < res.v.n; i++) {
		const struct perf_sample *x = &res.v.v[i - 1].it.sample, *y = &res.v.v[i].it.sample;

		if (x->time > y->time || (x->time == y->time && x->ip > y->ip))
			break;
	}
	EQ(i, 5000);
	result_release(&res);
	build_release(&b);
}

/* Without sample_id_all only samples have a time: the order of the file says where the others
 * belong. */
static void test_no_trailer(void)
{
	static const char *const want[] = { "old", "old", "new", "new" };
	struct result res = { .ret = 0 };
	const struct got *g = NULL;
	struct build b;
	u32 i;

	one_event(&b, S_IP | S_TID | S_TIME);
	b.attrs[0].flags = FLAG_FREQ;
	rec_comm(&b, 7, 7, "old", 0, false);
	rec_sample(&b, 0, 2, 0x1000, 7, 7, 50, 0, 0, NULL, 0);
	rec_sample(&b, 0, 2, 0x1000, 7, 7, 20, 0, 0, NULL, 0);
	round_end(&b);
	round_end(&b);
	/* All up to 50 is gone: what follows a sample of time 20 is still not late. */
	rec_comm(&b, 7, 7, "new", 0, false);
	rec_sample(&b, 0, 2, 0x1000, 7, 7, 60, 0, 0, NULL, 0);
	rec_mmap(&b, 2, 7, 0x400000, 0x1000, 0, "/bin/x", 0);
	rec_sample(&b, 0, 2, 0x1000, 7, 7, 70, 0, 0, NULL, 0);
	result_build(&res, &b);
	EQ(res.ret, 0);
	EQ(res.samples, ARRAY_SIZE(want));
	for (i = 0; i < ARRAY_SIZE(want); i++)
		if (nth_sample(&res, i, &g))
			STR_EQ(g->name, want[i]);
	EQ(diag_count(&res.diag, DIAG_OUT_OF_ORDER), 0);
	g = nth_item(&res, ITEM_MMAP, 0);
	OK(g && g == &res.v.v[3]); /* between the last two samples */
	result_release(&res);
	build_release(&b);
}

static void rec_deferred(struct build *b, u32 tid, u64 time, u64 cookie, const u64 *chain, u32 n)
{
	u32 i;

	rec_begin(b, 22, 2);
	b64(b, cookie);
	b64(b, n);
	for (i = 0; i < n; i++)
		b64(b, chain[i]);
	rec_tail(b, 0, 1, tid, time, 0);
}

static void test_deferred(void)
{
	static const u64 first[] = { KERNEL, 0xffffffff81000001ULL, DEFERRED, 100 };
	static const u64 other[] = { KERNEL, 0xffffffff81000002ULL, DEFERRED, 200 };
	static const u64 lost[] = { KERNEL, 0xffffffff81000003ULL, DEFERRED, 300 };
	static const u64 user[] = { USER, 0x401000, 0x402000 };
	static const u64 bare[] = { 0x501000 };
	struct result res = { .ret = 0 };
	const struct perf_sample *s;
	const struct got *g = NULL;
	struct build b;
	u32 i, merged = 0, open = 0, big;

	for (big = 0; big < 2; big++) {
		one_event(&b, COMMON);
		b.big = big;
		merged = open = 0;
		rec_sample(&b, 0, 1, 1, 1, 11, 10, 0, 1, first, 4);
		rec_sample(&b, 0, 1, 1, 1, 12, 11, 0, 1, other, 4);
		rec_sample(&b, 0, 1, 1, 1, 11, 12, 0, 1, first, 4); /* the same cookie twice */
		rec_sample(&b, 0, 1, 1, 1, 13, 13, 0, 1, lost, 4);  /* never answered */
		rec_deferred(&b, 11, 20, 100, user, 3);
		rec_deferred(&b, 12, 21, 200, bare, 1); /* without a marker of its own */
		rec_deferred(&b, 14, 22, 100, user, 3); /* another thread's */
		result_build(&res, &b);
		EQ(res.ret, 0);
		EQ(res.samples, 4);
		for (i = 0; i < 4; i++) {
			s = nth_sample(&res, i, &g);
			if (!s)
				continue;
			if (s->tid == 11) {
				EQ(s->chain_nr, 5);
				EQ(g->chain[1], first[1]);
				EQ(g->chain[2], USER);
				EQ(g->chain[4], 0x402000);
				merged++;
			} else if (s->tid == 12) {
				EQ(s->chain_nr, 4);
				EQ(g->chain[2], USER);
				EQ(g->chain[3], 0x501000);
				merged++;
			} else {
				EQ(s->chain_nr, 4);
				EQ(g->chain[3], 300);
				open++;
			}
		}
		EQ(merged, 3);
		EQ(open, 1);
		result_release(&res);
		build_release(&b);
	}
}

/* More threads than may wait, whose user parts come late and out of turn; one of them never. */
static void test_many_deferred(void)
{
	enum { THREADS = 3000, ROUNDS = 3 };
	static const u64 user[] = { USER, 0x401000 };
	struct result res = { .ret = 0 };
	const struct perf_sample *s;
	const struct got *g = NULL;
	u32 i, k, merged = 0, open = 0, last = 0;
	u64 time = 10;
	struct build b;

	one_event(&b, COMMON);
	for (k = 0; k < ROUNDS; k++) {
		for (i = 0; i < THREADS; i++) {
			u64 chain[] = { KERNEL, 0xffffffff81000001ULL, DEFERRED, k * 10000 + i };

			rec_sample(&b, 0, 1, 1, 1, 100 + i, time++, 0, 1, chain, 4);
		}
		/* Every second thread waits for its user part until all the others have theirs. */
		for (i = 0; i < THREADS; i++) {
			u32 t = (i * 2) % THREADS + (i >= THREADS / 2);

			if (t != 5)
				rec_deferred(&b, 100 + t, time++, k * 10000 + t, user, 2);
		}
	}
	result_build(&res, &b);
	EQ(res.ret, 0);
	EQ(res.samples, THREADS * ROUNDS);
	for (i = 0; i < res.samples; i++) {
		s = nth_sample(&res, i, &g);
		if (!s)
			continue;
		last = s->tid;
		if (s->chain_nr == 4 && g->chain[2] == USER && g->chain[3] == 0x401000)
			merged++;
		else if (s->tid == 105)
			open++;
	}
	EQ(merged, (THREADS - 1) * ROUNDS);
	EQ(open, ROUNDS);
	EQ(last, 105);
	result_release(&res);
	build_release(&b);
}

/* Records and features of the future, data outside of records. */
static void test_skipping(void)
{
	static const u64 chain[] = { USER, 0x1 };
	struct result res = { .ret = 0 };
	struct buf o = BUF_INIT;
	struct build b;
	int pipe;

	for (pipe = 0; pipe < 2; pipe++) {
		one_event(&b, COMMON);
		b.pipe = true;
		rec_begin(&b, 60, 0);
		b64(&b, 0);
		rec_end(&b);
		rec_begin(&b, 99, 0);
		rec_end(&b);
		rec_begin(&b, 32769, 0);
		b64(&b, 0);
		rec_end(&b);
		rec_begin(&b, 99, 0);
		rec_end(&b);
		rec_begin(&b, 66, 0); /* TRACING_DATA: 12 bytes, then 13 outside, padded */
		b32(&b, 13);
		rec_end(&b);
		buf_puts(&b.data, "abcdefghijklmnop");
		rec_sample(&b, 0, 2, 1, 1, 1, 10, 0, 1, chain, 2);
		rec_begin(&b, 71, 0); /* AUXTRACE: 24 bytes outside */
		b64(&b, 24);
		b64(&b, 0);
		b64(&b, 0);
		b64(&b, 0);
		rec_end(&b);
		buf_puts(&b.data, "\xff\xff\xff\xff\xff\xff\xff\xff"
				  "0123456789abcdef");
		rec_sample(&b, 0, 2, 1, 1, 1, 20, 0, 1, chain, 2);
		rec_begin(&b, 5, 0); /* THROTTLE */
		b64(&b, 20);
		b64(&b, 1);
		b64(&b, 1);
		rec_tail(&b, 0, 1, 1, 20, 0);
		buf_puts(&b.feat[40], "future!!");
		build_file(&b, &o);
		result_read(&res, &o, pipe);
		EQ(res.ret, 0);
		EQ(res.samples, 2);
		EQ(diag_count(&res.diag, DIAG_UNKNOWN_RECORD), 4);
		EQ(diag_count(&res.diag, DIAG_UNKNOWN_FEATURE), 1);
		EQ(diag_count(&res.diag, DIAG_TRUNCATED), 0);
		EQ(diag_count(&res.diag, DIAG_NOTE), 2); /* throttled, and the trace left out */
		result_release(&res);
		build_release(&b);
	}
	buf_release(&o);
}

static void test_features(void)
{
	struct result res = { .ret = 0 };
	const struct perf_meta *m;
	struct build b;
	u32 i;

	one_event(&b, COMMON);
	b.attrs[0].ids[0] = 5;
	b.attrs[0].nids = 1;
	feat_string(&b, 3, "host");
	feat_string(&b, 4, "6.12.117");
	feat_string(&b, 5, "6.1.192");
	feat_string(&b, 6, "aarch64");
	feat_string(&b, 8, "CPU of some kind");
	feat_string(&b, 9, "AuthenticAMD,25");
	b_int(&b, &b.feat[7], 8, 4);
	b_int(&b, &b.feat[7], 6, 4);
	b_int(&b, &b.feat[11], 3, 4);
	for (i = 0; i < 3; i++) {
		b_int(&b, &b.feat[11], 8, 4);
		buf_put(&b.feat[11],
			(const char *[]){ "perf\0\0\0\0", "record\0\0", "-a\0\0\0\0\0\0" }[i], 8);
	}
	/* BUILD_ID: one with a size of 16, one of 20 */
	for (i = 0; i < 2; i++) {
		u32 k;

		b_int(&b, &b.feat[2], 0, 4);
		b_int(&b, &b.feat[2], i ? 1 : 0x8000 | 2, 2);
		b_int(&b, &b.feat[2], 36 + 12, 2);
		b_int(&b, &b.feat[2], UINT32_MAX, 4);
		for (k = 0; k < 20; k++)
			b_int(&b, &b.feat[2], k, 1);
		b_int(&b, &b.feat[2], i ? 0 : 16, 4);
		buf_put(&b.feat[2], i ? "[kernel.k]\0\0" : "/bin/busy\0\0\0", 12);
	}
	/* EVENT_DESC */
	b_int(&b, &b.feat[12], 1, 4);
	b_int(&b, &b.feat[12], 128, 4);
	for (i = 0; i < 128; i++)
		b_int(&b, &b.feat[12], 0, 1);
	b_int(&b, &b.feat[12], 1, 4);
	b_int(&b, &b.feat[12], 16, 4);
	buf_put(&b.feat[12], "cycles:P\0\0\0\0\0\0\0\0", 16);
	b_int(&b, &b.feat[12], 5, 8);
	rec_sample(&b, 0, 2, 1, 1, 1, 10, 0, 1, NULL, 0);
	result_build(&res, &b);
	m = perf_meta(res.r);
	STR_EQ(m->hostname, "host");
	STR_EQ(m->release, "6.12.117");
	STR_EQ(m->version, "6.1.192");
	STR_EQ(m->arch, "aarch64");
	STR_EQ(m->cpudesc, "CPU of some kind");
	STR_EQ(m->cpuid, "AuthenticAMD,25");
	STR_EQ(m->cmdline, "perf record -a");
	EQ(m->nrcpus_avail, 8);
	EQ(m->nrcpus_online, 6);
	STR_EQ(m->events.v[0].name, "cycles:P");
	EQ(m->build_ids.n, 2);
	EQ(m->build_ids.v[0].len, 16);
	EQ(m->build_ids.v[0].cpumode, CPUMODE_USER);
	STR_EQ(m->build_ids.v[0].filename, "/bin/busy");
	EQ(m->build_ids.v[1].len, 20);
	EQ(m->build_ids.v[1].id[19], 19);
	EQ(m->build_ids.v[1].pid, PERF_NO_PID);
	OK(nth_sample(&res, 0, NULL)->not_x86_64);
	result_release(&res);
	build_release(&b);
}

/* Which addresses are the hypervisor's is known for x86-64 alone, which is taken when nothing is
 * said. */
static void test_arch(void)
{
	static const struct {
		const char *arch;
		bool other;
	} want[] = { { "x86_64", false }, { "i686", true }, { "aarch64", true }, { NULL, false } };
	struct result res = { .ret = 0 };
	const struct perf_sample *s;
	struct build b;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(want); i++) {
		one_event(&b, COMMON);
		if (want[i].arch)
			feat_string(&b, 6, want[i].arch);
		rec_sample(&b, 0, 1, 1, 1, 1, 10, 0, 1, NULL, 0);
		result_build(&res, &b);
		s = nth_sample(&res, 0, NULL);
		OK(s && s->not_x86_64 == want[i].other);
		result_release(&res);
		build_release(&b);
	}
}

static void test_event_update(void)
{
	struct result res = { .ret = 0 };
	struct build b;

	one_event(&b, COMMON | S_ID);
	b.pipe = true;
	b.attrs[0].ids[0] = 5;
	b.attrs[0].nids = 1;
	rec_begin(&b, 78, 0);
	b64(&b, 2);
	b64(&b, 5);
	b_name(&b, "cpu_core/cycles/");
	rec_end(&b);
	result_build(&res, &b);
	STR_EQ(perf_meta(res.r)->events.v[0].name, "cpu_core/cycles/");
	result_release(&res);
	build_release(&b);
}

static void test_names(void)
{
	static const struct {
		u32 type;
		u64 config, flags;
		const char *name;
	} want[] = {
		{ 0, 0, 0, "cycles" },
		{ 0, 1, 1 << 5 | 1 << 6, "instructions:u" },
		{ 1, 0, 3 << 15, "cpu-clock:ppp" },
		{ 1, 9, 0, "dummy" },
		{ 3, 0x10000, 0, "L1-dcache-load-misses" },
		{ 3, 2, 0, "LLC-loads" },
		{ 3, 0x200, 0, "L1-dcache-prefetches" },
		{ 4, 0x1c2, 1 << 4 | 1 << 6, "raw-0x1c2:k" },
		{ 0, 77, 0, "pmu-0/0x4d/" },
		{ 2, 300, 0, "tracepoint-300" },
	};
	struct result res = { .ret = 0 };
	struct build b;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(want); i++) {
		one_event(&b, COMMON);
		b.attrs[0].type = want[i].type;
		b.attrs[0].config = want[i].config;
		b.attrs[0].flags |= want[i].flags;
		result_build(&res, &b);
		STR_EQ(perf_meta(res.r)->events.v[0].name, want[i].name);
		result_release(&res);
		build_release(&b);
	}
}

/* ---- damage ---- */

static void rich(struct build *b, bool pipe)
{
	static const u64 chain[] = { KERNEL, 0xffffffff81000010ULL, USER, 0x401000, 0x402000 };
	static const u64 deferred[] = { KERNEL, 0xffffffff81000010ULL, DEFERRED, 77 };
	u32 i;

	memset(b, 0, sizeof(*b));
	b->pipe = pipe;
	b->nattrs = 2;
	b->attrs[0] = (struct attr_spec){
		.sample_type = COMMON | S_ID, .flags = FLAG_ID_ALL, .ids = { 1 }, .nids = 1
	};
	b->attrs[1] = (struct attr_spec){ .sample_type = S_IP | S_TID | S_TIME | S_ID | S_READ |
							 S_RAW | S_BRANCH | S_REGS | S_STACK,
					  .read_format = 4 | 8,
					  .flags = FLAG_ID_ALL,
					  .branch_type = 1 << 11,
					  .regs_user = 3,
					  .ids = { 2 },
					  .nids = 1 };
	fill(b);
	rec_mmap(b, 1, UINT32_MAX, 0xffffffff81000000ULL, 0x1000000, 0xffffffff81000000ULL,
		 "[kernel.kallsyms]_text", 0);
	for (i = 0; i < 3; i++) {
		rec_sample(b, 0, 1, 1, 7, 7, 100 + i, 1, 1, i ? chain : deferred, i ? 5 : 4);
		rec_begin(b, 9, 2);
		b64(b, 0x401000);
		b32(b, 7);
		b32(b, 7);
		b64(b, 110 + i);
		b64(b, 2);
		b64(b, 2);
		b64(b, 10 * i);
		b64(b, 1);
		b64(b, 20 * i);
		b64(b, 2);
		b32(b, 4);
		b32(b, 0);
		b64(b, 1);
		b64(b, 0x1000);
		b64(b, 0x2000);
		b64(b, 0);
		b64(b, 2);
		b64(b, 1);
		b64(b, 2);
		b64(b, 8);
		b64(b, 0x1234);
		b64(b, 8);
		rec_end(b);
		round_end(b);
	}
	rec_deferred(b, 7, 300, 77, chain + 2, 3);
	rec_task(b, 7, 0, 8, 7, 8, 7, 310);
	rec_task(b, 4, 0, 8, 7, 8, 7, 320);
	rec_begin(b, 69, 0);
	b64(b, 1);
	for (i = 0; i < 6; i++)
		b64(b, i);
	rec_end(b);
}

/* Cut at every byte: as many whole samples as there are, or a line that says what is missing. */
static void test_truncation(void)
{
	struct result res = { .quiet = true };
	struct buf o = BUF_INIT;
	struct build b;
	size_t whole, n, bad = 0;
	u32 pipe, before, as_pipe;

	for (pipe = 0; pipe < 2; pipe++) {
		rich(&b, pipe);
		build_file(&b, &o);
		result_read(&res, &o, false);
		EQ(res.ret, 0);
		before = res.samples;
		OK(before >= 8);
		result_release(&res);
		whole = o.n;
		for (n = whole - 1; n > 0; n--) {
			o.n = n;
			for (as_pipe = 0; as_pipe < 2; as_pipe++) {
				result_read(&res, &o, as_pipe);
				if (res.ret < 0)
					bad += !res.err.msg[0] || !strchr(res.err.msg, '\'');
				/* Less and less can be read. */
				bad += res.samples > before;
				if (as_pipe)
					before = res.samples;
				result_release(&res);
			}
		}
		EQ(bad, 0);
		EQ(before, 0);
		build_release(&b);
	}
	buf_release(&o);
}

static void test_bit_flips(void)
{
	struct result res = { .quiet = true };
	struct buf o = BUF_INIT, c = BUF_INIT;
	struct build b;
	u64 seed = 1, i, k, bad = 0, read = 0;

	for (i = 0; i < 2000; i++) {
		rich(&b, i & 1);
		build_file(&b, &o);
		buf_clear(&c);
		buf_put(&c, o.p, o.n);
		for (k = 0; k <= i % 4; k++) {
			seed = hash_u64(seed + 1);
			c.p[seed % c.n] ^= (char)(1 << (seed >> 40) % 8);
		}
		result_read(&res, &c, i & 2);
		bad += res.ret < 0 && !res.err.msg[0];
		read += res.samples;
		result_release(&res);
		build_release(&b);
	}
	EQ(bad, 0);
	OK(read > 2000); /* most of them can be read for the greater part */
	buf_release(&o);
	buf_release(&c);
}

/* Each 8-, 4- and 2-byte word in turn as 0, 1 and the largest value: whatever is a length or an
 * offset is among them. */
static void test_lengths(void)
{
	static const u64 values[] = { 0, 1, UINT64_MAX, (u64)1 << 63, UINT32_MAX };
	struct result res = { .quiet = true };
	struct buf o = BUF_INIT, c = BUF_INIT;
	struct build b;
	size_t at, width, v;
	u64 bad = 0, runs = 0;
	u32 pipe;

	for (pipe = 0; pipe < 2; pipe++) {
		rich(&b, pipe);
		build_file(&b, &o);
		for (width = 2; width <= 8; width *= 2)
			for (at = 0; at + width <= o.n; at += width)
				for (v = 0; v < ARRAY_SIZE(values); v++) {
					if (width < 8 && v > 2)
						continue;
					buf_clear(&c);
					buf_put(&c, o.p, o.n);
					memcpy(c.p + at, &values[v], width);
					result_read(&res, &c, false);
					bad += res.ret < 0 && !res.err.msg[0];
					runs++;
					result_release(&res);
				}
		build_release(&b);
	}
	EQ(bad, 0);
	OK(runs > 5000);
	buf_release(&o);
	buf_release(&c);
}

static void test_bad_records(void)
{
	static const u64 chain[] = { USER, 0x1 };
	struct result res = { .ret = 0 };
	struct build b;

	one_event(&b, COMMON);
	rec_sample(&b, 0, 2, 1, 1, 1, 10, 0, 1, chain, 2);
	rec_begin(&b, 9, 2); /* a chain that is longer than its record */
	b64(&b, 1);
	b32(&b, 1);
	b32(&b, 1);
	b64(&b, 20);
	b64(&b, 1);
	b64(&b, (u64)1 << 61);
	rec_end(&b);
	rec_begin(&b, 9, 2);
	rec_end(&b);
	rec_begin(&b, 3, 0);
	rec_end(&b);
	rec_begin(&b, 7, 0);
	rec_end(&b);
	rec_begin(&b, 2, 0);
	rec_end(&b);
	rec_sample(&b, 0, 2, 1, 1, 1, 30, 0, 1, chain, 2);
	result_build(&res, &b);
	EQ(res.ret, 0);
	EQ(res.samples, 2);
	EQ(diag_count(&res.diag, DIAG_BAD_RECORD), 5);
	result_release(&res);
	build_release(&b);

	/* size 0 ends what can be read */
	one_event(&b, COMMON);
	rec_sample(&b, 0, 2, 1, 1, 1, 10, 0, 1, chain, 2);
	rec_begin(&b, 9, 2);
	rec_sample(&b, 0, 2, 1, 1, 1, 30, 0, 1, chain, 2);
	result_build(&res, &b);
	EQ(res.samples, 1);
	EQ(diag_count(&res.diag, DIAG_TRUNCATED), 8 + 64);
	result_release(&res);
	build_release(&b);
}

/* Samples without any event to tell what is in them. */
static void test_no_event(void)
{
	struct result res = { .ret = 0 };
	struct build b;

	one_event(&b, COMMON);
	rec_sample(&b, 0, 2, 1, 1, 1, 10, 0, 1, NULL, 0);
	b.nattrs = 0;
	b.pipe = true;
	result_build(&res, &b);
	EQ(res.ret, 0);
	EQ(res.samples, 0);
	EQ(diag_count(&res.diag, DIAG_BAD_RECORD), 1);
	result_release(&res);
	b.pipe = false;
	result_build(&res, &b);
	EQ(res.ret, -2);
	OK(strstr(res.err.msg, "no event") != NULL);
	result_release(&res);
	build_release(&b);
}

int main(void)
{
	test_containers();
	test_tasks();
	test_mmap2();
	test_ksymbol();
	test_lost();
	test_events();
	test_read_formats();
	test_group();
	test_all_fields();
	test_periods();
	test_machines();
	test_order();
	test_no_trailer();
	test_deferred();
	test_many_deferred();
	test_skipping();
	test_features();
	test_arch();
	test_event_update();
	test_names();
	test_bad_records();
	test_no_event();
	test_truncation();
	test_bit_flips();
	test_lengths();
	return tap_done();
}
