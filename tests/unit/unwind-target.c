/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program that knows its own stack: it writes down who called whom, stops itself in the innermost
 * function, and prints its registers (in perf's order), its stack and its mappings as a recording
 * would have them, and the true answer.
 *
 * unwind-target plain|signal|thread
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ucontext.h>
#include <unistd.h>

static const char *truth[256];
static int depth;

#define ENTER(f) (truth[depth++] = (f))
#define LEAVE()  (depth--)
/* Keeps the compiler from making calls into jumps. */
#define BARRIER() __asm__ volatile("" ::: "memory")

static void on_trap(int sig, siginfo_t *si, void *p)
{
	const greg_t *g = ((ucontext_t *)p)->uc_mcontext.gregs;
	/* bits 0-11 and 16-23 of perf's mask */
	const int order[] = {
		REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI, REG_RBP,
		REG_RSP, REG_RIP, REG_EFL, -1,      -1,      REG_R8,  REG_R9,
		REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
	};
	const uint8_t *sp = (const uint8_t *)g[REG_RSP];
	unsigned long start, end, off;
	char line[512], perms[8], name[256];
	FILE *maps = fopen("/proc/self/maps", "r");
	size_t i, n = 65528;

	(void)sig;
	(void)si;
	printf("regs");
	for (i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		printf(" %llx", order[i] < 0 ? 0ULL : (unsigned long long)g[order[i]]);
	printf("\n");
	while (maps && fgets(line, sizeof(line), maps)) {
		name[0] = '\0';
		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %255s", &start, &end, perms, &off, name) <
		    4)
			continue;
		if ((unsigned long)sp >= start && (unsigned long)sp < end &&
		    n > end - (unsigned long)sp)
			n = end - (unsigned long)sp;
		if (perms[2] == 'x')
			printf("map %lx %lx %lx %s\n", start, end, off, name);
	}
	printf("stack ");
	for (i = 0; i < n; i++)
		printf("%02x", sp[i]);
	printf("\n");
	for (i = 0; i < (size_t)depth; i++)
		printf("truth %s\n", truth[depth - 1 - i]);
	fflush(stdout);
	_exit(0);
}

__attribute__((noinline)) static int innermost(int n)
{
	volatile char pad[300];

	ENTER("innermost");
	pad[n % 300] = 1;
	__asm__ volatile("int3" ::: "memory");
	return pad[0] + depth;
}

__attribute__((noinline)) static int recurse(int n)
{
	int r;

	ENTER("recurse");
	r = n ? recurse(n - 1) : innermost(7);
	BARRIER();
	LEAVE();
	return r + n;
}

/* A frame whose size is known at run time only. */
__attribute__((noinline)) static int dynamic(int n)
{
	char *p = __builtin_alloca((size_t)n);
	int r;

	ENTER("dynamic");
	memset(p, n, (size_t)n);
	r = recurse(5) + p[n / 2];
	BARRIER();
	LEAVE();
	return r;
}

static int compare(const void *a, const void *b)
{
	int r;

	ENTER("compare");
	r = dynamic(*(const int *)a + *(const int *)b);
	BARRIER();
	LEAVE();
	return r;
}

__attribute__((noinline)) static int sorting(void)
{
	int v[] = { 333, 111, 222 };

	ENTER("sorting");
	qsort(v, 3, sizeof(v[0]), compare);
	BARRIER();
	LEAVE();
	return v[0];
}

static void on_signal(int sig)
{
	ENTER("on_signal");
	recurse(sig % 3);
	BARRIER();
	LEAVE();
}

/* Interrupted at an instruction, not at a call. */
__attribute__((noinline)) static int interrupted(void)
{
	ENTER("interrupted");
	__asm__ volatile("ud2" ::: "memory");
	LEAVE();
	return depth;
}

static void *thread(void *arg)
{
	ENTER("thread");
	sorting();
	BARRIER();
	LEAVE();
	return arg;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	const char *how = argc > 1 ? argv[1] : "plain";
	pthread_t t;

	sigaction(SIGTRAP, &sa, NULL);
	signal(SIGILL, on_signal);
	if (!strcmp(how, "thread")) {
		pthread_create(&t, NULL, thread, NULL);
		pthread_join(t, NULL);
		return 1;
	}
	ENTER("main");
	if (!strcmp(how, "signal"))
		interrupted();
	else
		sorting();
	BARRIER();
	return 1;
}
