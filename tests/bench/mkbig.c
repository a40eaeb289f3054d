/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes large recordings, the same for the same options on every machine:
 *
 *   mkbig [--samples=N] [--stacks=N] [--depth=N] [--cpus=N] [--seed=N] [--no-rounds] [--text]
 * [--kallsyms=FILE] OUT
 *
 * A perf.data of a Xen host in miniature: one event, processes with an executable mapping each,
 * samples on several CPUs whose times interleave, a FINISHED_ROUND now and then. Stacks are walks
 * through an invented call graph: user functions, above them kernel ones in two of three stacks,
 * above them hypervisor ones in one of three; a process has its own stacks, and leaf addresses vary
 * more than return addresses. --text writes what perf script would print of the same samples
 * instead; --kallsyms also writes names for the kernel's functions.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/base.h"

#define USER_FUNCS   20000u
#define KERNEL_FUNCS 6000u
#define HV_FUNCS     1500u
#define FUNC_SIZE    256u
#define USER_BASE    ((u64)0x0000555555554000ULL)
#define KERNEL_BASE  ((u64)0xffffffff81000000ULL)
#define HV_BASE      ((u64)0xffff82d040200000ULL)
#define PROCESSES    12u
#define CTX_HV       ((u64)-32)
#define CTX_KERNEL   ((u64)-128)
#define CTX_USER     ((u64)-512)

static struct {
	u64 samples, stacks, depth, cpus, seed;
	bool rounds, text;
	const char *kallsyms, *out;
} opt = { .samples = 200000, .stacks = 10000, .depth = 51, .cpus = 8, .seed = 1, .rounds = true };

static u64 rng_state;

static u64 rng(void)
{
	u64 z = (rng_state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static u64 mix(u64 x)
{
	u64 save = rng_state, r;

	rng_state = x;
	r = rng();
	rng_state = save;
	return r;
}

struct stack {
	u64 *chain; /* with context markers, leaf first */
	u32 n;
	u8 mode; /* cpumode of the leaf */
};

static FILE *out;

static void die(const char *what)
{
	fprintf(stderr, "mkbig: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* A walk from a root function outwards; addresses leaf first. */
static u32 walk(u64 *p, u32 depth, u64 base, u32 funcs, u64 salt)
{
	u64 f = rng() % 40;
	u32 i;

	for (i = 0; i < depth; i++) {
		u64 site = rng() % 3 ? 0 : rng() % 3;

		p[depth - 1 - i] = base + f * FUNC_SIZE + 20 + site * 60;
		f = mix(salt ^ (f * 8 + site)) % funcs;
	}
	return depth;
}

static void stack_make(struct stack *s)
{
	u64 buf[512];
	u32 n = 0, kind = (u32)(rng() % 3), depth = (u32)(opt.depth / 2 + rng() % (opt.depth + 1));
	u32 hv = kind == 2 ? 1 + (u32)(rng() % 6) : 0;
	u32 kernel = kind ? 3 + (u32)(rng() % 18) : 0;

	if (hv + kernel >= depth)
		depth = hv + kernel + 1;
	if (hv) {
		buf[n++] = CTX_HV;
		n += walk(buf + n, hv, HV_BASE, HV_FUNCS, 3);
	}
	if (kernel) {
		buf[n++] = CTX_KERNEL;
		n += walk(buf + n, kernel, KERNEL_BASE, KERNEL_FUNCS, 2);
	}
	buf[n++] = CTX_USER;
	n += walk(buf + n, depth - hv - kernel, USER_BASE, USER_FUNCS, 1);
	s->mode = hv ? 3 : kernel ? 1 : 2;
	s->n = n;
	s->chain = xreallocarray(NULL, n, 8);
	memcpy(s->chain, buf, n * sizeof(u64));
}

static void put(const void *p, size_t n)
{
	if (fwrite(p, 1, n, out) != n)
		die(opt.out);
}

static void put16(u16 v)
{
	u8 b[2] = { (u8)v, (u8)(v >> 8) };

	put(b, 2);
}

static void put32(u32 v)
{
	put16((u16)v);
	put16((u16)(v >> 16));
}

static void put64(u64 v)
{
	u8 b[8];
	int i;

	for (i = 0; i < 8; i++)
		b[i] = (u8)(v >> 8 * i);
	put(b, 8);
}

static void header(u32 type, u16 misc, size_t size)
{
	put32(type);
	put16(misc);
	put16((u16)size);
}

static void name_padded(const char *s, size_t n)
{
	char b[128] = "";

	snprintf(b, sizeof(b), "%s", s);
	put(b, n);
}

/* pid, tid, time, cpu: the trailer of records that are no samples. */
static void trailer(u32 pid, u64 time)
{
	put32(pid);
	put32(pid);
	put64(time);
	put32(0);
	put32(0);
}

static void string_feature(const char *s, size_t padded)
{
	put32((u32)padded);
	name_padded(s, padded);
}

static u32 pid_of(u64 i)
{
	return 1000 + (u32)(mix(i ^ 77) % PROCESSES);
}

/* Each process has stacks of its own. */
static u64 stack_of(u64 i, u32 pid)
{
	i = i / PROCESSES * PROCESSES + (pid - 1000);
	return i < opt.stacks ? i : (pid - 1000) % opt.stacks;
}

/* Written before and after the samples: the second time with the right size. */
static void file_header(u64 data_size)
{
	static const u8 magic[] = "PERFILE2";

	put(magic, 8);
	put64(104);
	put64(128 + 16);
	put64(104); /* events */
	put64(128 + 16);
	put64(104 + 144); /* data */
	put64(data_size);
	put64(0);
	put64(0);
	put64(1 << 3 | 1 << 6 | 1 << 7 | 1 << 12); /* HOSTNAME ARCH NRCPUS EVENT_DESC */
	put64(0);
	put64(0);
	put64(0);
}

static void attr(void)
{
	put32(0); /* hardware: cycles */
	put32(128);
	put64(0);
	put64(999);
	put64(1 | 2 | 4 | 1 << 5 | 1 << 7 | 1 << 8); /* IP TID TIME CALLCHAIN CPU PERIOD */
	put64(0);
	put64(1 << 10 | 1 << 18); /* freq, sample_id_all */
	name_padded("", 128 - 48);
}

static void features(u64 at)
{
	u64 off = at + 4 * 16;

	put64(off);
	put64(36);
	put64(off + 36);
	put64(36);
	put64(off + 72);
	put64(8);
	put64(off + 80);
	put64(8 + 128 + 4 + 36);
	string_feature("mkbig", 32);
	string_feature("x86_64", 32);
	put32((u32)opt.cpus);
	put32((u32)opt.cpus);
	put32(1);
	put32(128);
	attr();
	put32(0);
	string_feature("cycles", 32);
}

static void text_sample(const struct stack *s, u64 leaf, u32 pid, u64 cpu, u64 time)
{
	u32 i;

	fprintf(out, "proc-%u %5u [%03u] %5" PRIu64 ".%06" PRIu64 ":     250000 cycles: \n",
		pid - 1000, pid, (u32)cpu, time / 1000000000, time / 1000 % 1000000);
	for (i = 0; i < s->n; i++) {
		u64 v = i == 1 ? leaf : s->chain[i];

		if (v >= CTX_USER - 10000)
			continue;
		if (v >= KERNEL_BASE)
			fprintf(out,
				"\t%16" PRIx64 " kernel_function_%u+0x%x ([kernel.kallsyms])\n", v,
				(u32)((v - KERNEL_BASE) / FUNC_SIZE), (u32)(v % FUNC_SIZE));
		else if (v >= HV_BASE)
			fprintf(out, "\t%16" PRIx64 " [unknown] ([unknown])\n", v);
		else
			fprintf(out, "\t%16" PRIx64 " user_function_%u+0x%x (/usr/bin/proc)\n", v,
				(u32)((v - USER_BASE) / FUNC_SIZE),
				(u32)((v - USER_BASE) % FUNC_SIZE));
	}
	putc('\n', out);
}

static u64 number(const char *s, const char *what)
{
	const char *p = s;
	u64 v;

	if (parse_dec(&p, s + strlen(s), &v) || *p) {
		fprintf(stderr, "mkbig: %s: not a number: '%s'\n", what, s);
		exit(2);
	}
	return v;
}

static void options(int argc, char **argv)
{
	static const struct {
		const char *name;
		u64 *v;
	} numbers[] = {
		{ "--samples=", &opt.samples }, { "--stacks=", &opt.stacks },
		{ "--depth=", &opt.depth },     { "--cpus=", &opt.cpus },
		{ "--seed=", &opt.seed },
	};
	int i;
	size_t k;

	for (i = 1; i < argc; i++) {
		for (k = 0; k < ARRAY_SIZE(numbers); k++) {
			size_t n = strlen(numbers[k].name);

			if (!strncmp(argv[i], numbers[k].name, n)) {
				*numbers[k].v = number(argv[i] + n, numbers[k].name);
				break;
			}
		}
		if (k < ARRAY_SIZE(numbers))
			continue;
		if (!strcmp(argv[i], "--no-rounds"))
			opt.rounds = false;
		else if (!strcmp(argv[i], "--text"))
			opt.text = true;
		else if (!strncmp(argv[i], "--kallsyms=", 11))
			opt.kallsyms = argv[i] + 11;
		else if (argv[i][0] != '-')
			opt.out = argv[i];
		else
			opt.out = NULL, i = argc;
	}
	if (!opt.out || !opt.stacks || !opt.cpus || opt.depth < 2 || opt.depth > 300) {
		fprintf(stderr,
			"usage: mkbig [--samples=N] [--stacks=N] [--depth=2..300] [--cpus=N] "
			"[--seed=N] [--no-rounds] [--text] [--kallsyms=FILE] OUT\n");
		exit(2);
	}
}

static void kallsyms(void)
{
	FILE *f = fopen(opt.kallsyms, "w");
	u32 i;

	if (!f)
		die(opt.kallsyms);
	fprintf(f, "%016" PRIx64 " T _text\n", KERNEL_BASE);
	for (i = 0; i < KERNEL_FUNCS; i++)
		fprintf(f, "%016" PRIx64 " T kernel_function_%u\n",
			KERNEL_BASE + (u64)i * FUNC_SIZE, i);
	fprintf(f, "%016" PRIx64 " T _etext\n", KERNEL_BASE + (u64)KERNEL_FUNCS * FUNC_SIZE);
	if (fclose(f))
		die(opt.kallsyms);
}

int main(int argc, char **argv)
{
	struct stack *stacks;
	u64 i, data_size = 0, base_time = 1000000000;
	u32 k;

	options(argc, argv);
	rng_state = opt.seed;
	if (opt.kallsyms)
		kallsyms();
	stacks = xcalloc(opt.stacks, sizeof(*stacks));
	for (i = 0; i < opt.stacks; i++)
		stack_make(&stacks[i]);
	out = fopen(opt.out, "wb");
	if (!out)
		die(opt.out);
	if (!opt.text) {
		file_header(0);
		attr();
		put64(0);
		put64(0);
		header(1, 1, 40 + 32 + 24); /* the kernel's mapping */
		put32(UINT32_MAX);
		put32(0);
		put64(KERNEL_BASE);
		put64((u64)KERNEL_FUNCS * FUNC_SIZE);
		put64(KERNEL_BASE);
		name_padded("[kernel.kallsyms]_text", 32);
		trailer(0, 0);
		data_size += 40 + 32 + 24;
		for (k = 0; k < PROCESSES; k++) {
			char comm[16];

			snprintf(comm, sizeof(comm), "proc-%u", k);
			header(3, 0, 16 + 16 + 24);
			put32(1000 + k);
			put32(1000 + k);
			name_padded(comm, 16);
			trailer(1000 + k, 0);
			header(1, 2, 40 + 32 + 24);
			put32(1000 + k);
			put32(1000 + k);
			put64(USER_BASE);
			put64((u64)USER_FUNCS * FUNC_SIZE);
			put64(0);
			name_padded("/usr/bin/proc", 32);
			trailer(1000 + k, 0);
			data_size += 56 + 96;
		}
	}
	for (i = 0; i < opt.samples; i++) {
		/* Buffers of CPUs are written one after the other, 64 samples each. */
		u64 batch = i / 64, cpu = batch % opt.cpus, round = batch / opt.cpus;
		u64 time = base_time + (round * 64 + i % 64) * 1000000 + cpu * 1000 + rng() % 900;
		u64 pick = rng() % opt.stacks, skew = rng() % opt.stacks;
		u32 pid = pid_of(batch);
		struct stack *s = &stacks[stack_of(MIN(pick, skew), pid)];
		u64 leaf = s->chain[1] + rng() % 3 * 4;
		size_t size = 8 + 8 + 8 + 8 + 8 + 8 + 8 + 8 * (size_t)s->n;

		if (opt.text) {
			text_sample(s, leaf, pid, cpu, time);
			continue;
		}
		header(9, s->mode, size);
		put64(leaf);
		put32(pid);
		put32(pid);
		put64(time);
		put32((u32)cpu);
		put32(0);
		put64(250000);
		put64(s->n);
		put64(s->chain[0]);
		put64(leaf);
		for (k = 2; k < s->n; k++)
			put64(s->chain[k]);
		data_size += size;
		if (opt.rounds && i % (64 * opt.cpus * 4) == 64 * opt.cpus * 4 - 1) {
			header(68, 0, 8);
			data_size += 8;
		}
	}
	if (!opt.text) {
		features(104 + 144 + data_size);
		if (fseek(out, 0, SEEK_SET))
			die(opt.out);
		file_header(data_size);
	}
	if (fclose(out))
		die(opt.out);
	for (i = 0; i < opt.stacks; i++)
		free(stacks[i].chain);
	free(stacks);
	return 0;
}
