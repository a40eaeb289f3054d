/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What containers.py builds.  The label `probe` marks an instruction by the assembler's means, not by DWARF's; the
 * comments with @ mark the lines that its frames have.
 */
extern int unused_elsewhere(int);
volatile int sink;

__attribute__((noinline, used, section(".text.dropped"))) static int dropped(int x)
{
	return x * 17 + sink;
}

static inline __attribute__((always_inline)) int inner(int x)
{
	sink = x;
	__asm__ volatile("probe: nop" ::: "memory");	/* @inner */
	return x + sink;
}

static inline __attribute__((always_inline)) int mid(int x)
{
	return inner(x) * 3;	/* @mid */
}

__attribute__((noinline, visibility("default"))) int outer(int x)
{
	return mid(x) + 1;	/* @outer */
}

__attribute__((noinline)) static int hidden(int x)
{
	__asm__ volatile("probe_hidden: nop" ::: "memory");	/* @hidden */
	return x ^ sink;
}

int main(int argc, char **argv)
{
	(void)argv;
	return outer(argc) + hidden(argc);
}
