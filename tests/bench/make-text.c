/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes large texts from a seed:
 *
 *	make-text script SAMPLES SEED [ROUND]	text as perf script prints it, 2 kB a sample
 *	make-text folded STACKS SEED		folded stacks, 600 bytes a stack
 *
 * Stacks are walks through a made-up program of 6,000 functions: each one calls
 * 4 others, the first of them most often, so that hot paths and a long tail come
 * out as in real profiles: of 105,000 samples some 60,000 stacks differ, of folded stacks nearly
 * all.  After ROUND samples the same stacks come again, as they do in a program that runs for long.
 */
#include "base/base.h"

#define FUNCTIONS 6000
#define CALLEES   4

static u64 state;

static u32 rnd(u32 n)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (u32)((state >> 33) % n);
}

static struct {
	char name[80];
	const char *module;
	u64 addr;
	u32 callee[CALLEES];
} fn[FUNCTIONS];

static void make_program(void)
{
	static const char *const words[] = {
		"read",  "write",   "map",   "page",     "queue",   "lock",   "alloc",   "free",
		"copy",  "walk",    "entry", "handle",   "process", "update", "request", "table",
		"event", "channel", "timer", "schedule", "buffer",  "index",
	};
	static const char *const modules[] = {
		"/usr/bin/storaged",
		"/usr/lib/x86_64-linux-gnu/libc.so.6",
		"/usr/lib/libstdc++.so.6",
		"/usr/lib/libengine.so.2",
	};
	u32 i, j;

	for (i = 0; i < FUNCTIONS; i++) {
		bool kernel = i >= FUNCTIONS / 2;
		const char *a = words[rnd(ARRAY_SIZE(words))], *b = words[rnd(ARRAY_SIZE(words))];

		if (!kernel && i % 4 == 0)
			snprintf(fn[i].name, sizeof(fn[i].name), "db::%s<%s_%u>::operator()(int)",
				 a, b, i);
		else
			snprintf(fn[i].name, sizeof(fn[i].name), "%s_%s_%u", a, b, i);
		fn[i].module = kernel ? "[kernel.kallsyms]" : modules[rnd(ARRAY_SIZE(modules))];
		fn[i].addr = kernel ? 0xffffffff81000000ULL + i * 0x1f3ULL
				    : 0x7f1200000000ULL + i * 0x2a7ULL;
		/* Forward only, so that walks end; user code calls into the kernel late. */
		for (j = 0; j < CALLEES; j++)
			fn[i].callee[j] = i + 1 + rnd(240);
	}
}

/* Root first; `at`: where in the function, one place a callee. `spread`: how many of 64 calls go to
 * another than the first one. */
static u32 walk(u32 *stack, u32 *at, u32 max, u32 spread)
{
	u32 n = 0, f = rnd(20);

	while (n < max && f < FUNCTIONS) {
		stack[n] = f;
		at[n] = rnd(64) < spread ? 1 + rnd(CALLEES - 1) : 0;
		f = fn[f].callee[at[n++]];
	}
	return n;
}

int main(int argc, char **argv)
{
	u32 stack[64], at[64], n, i;
	u64 count, s, first, round, time = 7707000000000;
	struct error err = { "" };
	struct out o;

	if (argc != 4 && argc != 5)
		return 2;
	count = strtoull(argv[2], NULL, 10);
	state = strtoull(argv[3], NULL, 10);
	round = argc == 5 ? strtoull(argv[4], NULL, 10) : UINT64_MAX;
	if (!round)
		return 2;
	make_program();
	first = state;
	if (out_open(&o, "-", &err)) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	for (s = 0; s < count; s++) {
		if (s % round == 0)
			state = first;
		if (!strcmp(argv[1], "script")) {
			n = walk(stack, at, 24 + rnd(16), 2);
			time += 100000 + rnd(50000);
			buf_printf(&o.buf,
				   "storage-%u %7u [%03u] %5" PRIu64 ".%06" PRIu64
				   ":    1003009 cycles: \n",
				   rnd(12), 4000 + rnd(12), rnd(16), time / 1000000000,
				   time % 1000000000 / 1000);
			for (i = n; i-- > 0;)
				buf_printf(&o.buf, "\t%16" PRIx64 " %s+0x%x (%s)\n",
					   fn[stack[i]].addr + 0x40 + 0x15 * at[i],
					   fn[stack[i]].name, 0x40 + 0x15 * at[i],
					   fn[stack[i]].module);
			buf_putc(&o.buf, '\n');
		} else {
			n = walk(stack, at, 18 + rnd(16), 20);
			buf_printf(&o.buf, "storage-%u", rnd(12));
			for (i = 0; i < n; i++) {
				buf_putc(&o.buf, ';');
				buf_puts(&o.buf, fn[stack[i]].name);
			}
			buf_printf(&o.buf, " %u\n", 1 + rnd(1000));
		}
		out_flush_if_full(&o);
	}
	if (out_close(&o, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	return 0;
}
