/* SPDX-License-Identifier: GPL-2.0-or-later */
/* perf_chain_classify(): space, kind and root, in every layout that is known. */
#include "perf/perf.h"
#include "tests/unit/tap.h"

#define HV      PERF_CONTEXT_HV
#define K       PERF_CONTEXT_KERNEL
#define U       PERF_CONTEXT_USER
#define XEN(n)  (0xffff82d040200000ULL + (n))
#define KERN(n) (0xffffffff81000000ULL + (n))
#define APP(n)  (0x0000555555554000ULL + (n))

struct expect {
	u64 addr;
	char space; /* u, k, h, U (guest user), K (guest kernel) */
	char kind;  /* '=' exact, '-' return address */
};

static void check(int line, const struct perf_sample *s, const struct expect *want, u32 n,
		  enum perf_root root)
{
	struct perf_chain c;
	u32 i;

	perf_chain_init(&c);
	perf_chain_classify(&c, s);
	printf("# line %d\n", line);
	EQ(c.addrs.n, n);
	for (i = 0; i < n && i < c.addrs.n; i++) {
		EQ(c.addrs.v[i].addr, want[i].addr);
		EQ("ukhUK-"[c.addrs.v[i].space], want[i].space);
		EQ(c.addrs.v[i].kind == ADDR_EXACT ? '=' : '-', want[i].kind);
	}
	EQ(c.root, root);
	perf_chain_release(&c);
}

#define LIST(...) __VA_ARGS__
#define CHECK(mode, addr, chain_, want_, root)                                \
	do {                                                                  \
		static const u64 chain_v[] = { chain_ };                      \
		static const struct expect want_v[] = { want_ };              \
		struct perf_sample sample_v = {                               \
			.cpumode = (mode),                                    \
			.ip = (addr),                                         \
			.chain = chain_v,                                     \
			.chain_nr = ARRAY_SIZE(chain_v),                      \
		};                                                            \
		check(__LINE__, &sample_v, want_v, ARRAY_SIZE(want_v), root); \
	} while (0)

static void test_layouts(void)
{
	/* kernel and user */
	CHECK(CPUMODE_KERNEL, KERN(1), LIST(K, KERN(1), KERN(2), U, APP(1), APP(2)),
	      LIST({ KERN(1), 'k', '=' }, { KERN(2), 'k', '-' }, { APP(1), 'u', '=' },
		   { APP(2), 'u', '-' }),
	      ROOT_COMM);
	/* a hypercall: the patches' layout and the one with the marker */
	CHECK(CPUMODE_KERNEL, XEN(1), LIST(K, XEN(1), XEN(2), KERN(1), KERN(2), U, APP(1)),
	      LIST({ XEN(1), 'h', '=' }, { XEN(2), 'h', '-' }, { KERN(1), 'k', '=' },
		   { KERN(2), 'k', '-' }, { APP(1), 'u', '=' }),
	      ROOT_COMM);
	CHECK(CPUMODE_HYPERVISOR, XEN(1),
	      LIST(K, HV, XEN(1), XEN(2), K, KERN(1), KERN(2), U, APP(1)),
	      LIST({ XEN(1), 'h', '=' }, { XEN(2), 'h', '-' }, { KERN(1), 'k', '=' },
		   { KERN(2), 'k', '-' }, { APP(1), 'u', '=' }),
	      ROOT_COMM);
	/* Xen interrupted user code; the user address stored twice */
	CHECK(CPUMODE_USER, XEN(1), LIST(K, XEN(1), XEN(2), U, APP(1), APP(2)),
	      LIST({ XEN(1), 'h', '=' }, { XEN(2), 'h', '-' }, { APP(1), 'u', '=' },
		   { APP(2), 'u', '-' }),
	      ROOT_COMM);
	CHECK(CPUMODE_USER, XEN(1), LIST(K, XEN(1), XEN(2), APP(1), U, APP(1), APP(2)),
	      LIST({ XEN(1), 'h', '=' }, { XEN(2), 'h', '-' }, { APP(1), 'u', '=' },
		   { APP(2), 'u', '-' }),
	      ROOT_COMM);
	CHECK(CPUMODE_HYPERVISOR, XEN(1), LIST(K, HV, XEN(1), XEN(2), K, APP(1), U, APP(1), APP(2)),
	      LIST({ XEN(1), 'h', '=' }, { XEN(2), 'h', '-' }, { APP(1), 'u', '=' },
		   { APP(2), 'u', '-' }),
	      ROOT_COMM);
	/* a different user address is no duplicate; nor is real recursion */
	CHECK(CPUMODE_USER, XEN(1), LIST(K, XEN(1), APP(9), U, APP(1)),
	      LIST({ XEN(1), 'h', '=' }, { APP(9), 'u', '=' }, { APP(1), 'u', '=' }), ROOT_COMM);
	CHECK(CPUMODE_USER, APP(1), LIST(U, APP(1), APP(1), APP(1)),
	      LIST({ APP(1), 'u', '=' }, { APP(1), 'u', '-' }, { APP(1), 'u', '-' }), ROOT_COMM);
	/* a user address under the kernel's marker, behind kernel ones */
	CHECK(CPUMODE_KERNEL, KERN(1), LIST(K, KERN(1), APP(5)),
	      LIST({ KERN(1), 'k', '=' }, { APP(5), 'u', '=' }), ROOT_COMM);
	/* the edges of Xen's range */
	CHECK(CPUMODE_KERNEL, 0,
	      LIST(K, 0xffff7fffffffffffULL, 0xffff800000000000ULL, 0xffff87ffffffffffULL,
		   0xffff880000000000ULL),
	      LIST({ 0xffff7fffffffffffULL, 'k', '=' }, { 0xffff800000000000ULL, 'h', '-' },
		   { 0xffff87ffffffffffULL, 'h', '-' }, { 0xffff880000000000ULL, 'k', '=' }),
	      ROOT_COMM);
	/* no marker at all: cpumode */
	CHECK(CPUMODE_USER, APP(1), LIST(APP(1), APP(2)),
	      LIST({ APP(1), 'u', '=' }, { APP(2), 'u', '-' }), ROOT_COMM);
	CHECK(CPUMODE_UNKNOWN, KERN(1), LIST(KERN(1), APP(2)),
	      LIST({ KERN(1), 'k', '=' }, { APP(2), 'u', '=' }), ROOT_COMM);
}

static void test_roots(void)
{
	/* hypervisor time of somebody else: idle, or a domain that perf cannot name */
	CHECK(CPUMODE_HYPERVISOR, XEN(1), LIST(K, HV, XEN(1), XEN(2)),
	      LIST({ XEN(1), 'h', '=' }, { XEN(2), 'h', '-' }), ROOT_XEN);
	CHECK(CPUMODE_GUEST_KERNEL, XEN(1), LIST(K, XEN(1), XEN(2), U),
	      LIST({ XEN(1), 'h', '=' }, { XEN(2), 'h', '-' }), ROOT_XEN);
	/* dom0 in the kernel, said to be a guest's by a patched kernel */
	CHECK(CPUMODE_GUEST_KERNEL, XEN(1), LIST(K, XEN(1), KERN(1)),
	      LIST({ XEN(1), 'h', '=' }, { KERN(1), 'k', '=' }), ROOT_COMM);
	/* guests: markers alone, and no chain */
	CHECK(CPUMODE_GUEST_KERNEL, KERN(7), LIST(K, U), LIST({ KERN(7), 'K', '=' }), ROOT_GUEST);
	CHECK(CPUMODE_GUEST_USER, APP(7), LIST(U), LIST({ APP(7), 'U', '=' }), ROOT_GUEST);
	CHECK(CPUMODE_GUEST_KERNEL, KERN(1),
	      LIST(PERF_CONTEXT_GUEST_KERNEL, KERN(1), KERN(2), PERF_CONTEXT_GUEST_USER, APP(1)),
	      LIST({ KERN(1), 'K', '=' }, { KERN(2), 'K', '-' }, { APP(1), 'U', '=' }), ROOT_GUEST);
	CHECK(CPUMODE_GUEST_KERNEL, KERN(1), LIST(PERF_CONTEXT_GUEST, KERN(1)),
	      LIST({ KERN(1), 'K', '=' }), ROOT_GUEST);
	/* an address of Xen's and a chain that knows nothing of it */
	CHECK(CPUMODE_USER, XEN(5), LIST(U, APP(1), APP(2)),
	      LIST({ XEN(5), 'h', '=' }, { APP(1), 'u', '=' }, { APP(2), 'u', '-' }), ROOT_COMM);
}

static void test_no_chain(void)
{
	static const struct expect hv = { XEN(1), 'h', '=' }, kernel = { KERN(1), 'k', '=' },
				   user = { APP(1), 'u', '=' };
	struct perf_sample s = { .cpumode = CPUMODE_KERNEL, .ip = XEN(1) };
	struct perf_chain c;

	check(__LINE__, &s, &hv, 1, ROOT_XEN);
	s.ip = KERN(1);
	check(__LINE__, &s, &kernel, 1, ROOT_COMM);
	s.ip = APP(1); /* Xen says kernel, the address says user */
	check(__LINE__, &s, &user, 1, ROOT_COMM);

	perf_chain_init(&c);
	s.ip = 0;
	perf_chain_classify(&c, &s);
	OK(c.ip_zero);
	EQ(c.addrs.n, 0);
	s.chain = (const u64[]){ K };
	s.chain_nr = 1;
	s.cpumode = CPUMODE_GUEST_KERNEL;
	perf_chain_classify(&c, &s); /* stock Xen with vPMU: nothing can be used */
	OK(c.ip_zero);
	EQ(c.root, ROOT_GUEST);
	perf_chain_release(&c);
}

static void test_garbage(void)
{
	static const u64 chain[] = { K, KERN(1), (u64)-1, (u64)-4, KERN(2), U, APP(1), (u64)-255 };
	static const u64 deferred[] = { K, KERN(1), PERF_CONTEXT_USER_DEFERRED, 0x1234 };
	static const u64 cut[] = { K, KERN(1), PERF_CONTEXT_USER_DEFERRED };
	struct perf_sample s = { .cpumode = CPUMODE_KERNEL,
				 .ip = KERN(1),
				 .chain = chain,
				 .chain_nr = ARRAY_SIZE(chain) };
	struct perf_chain c;

	perf_chain_init(&c);
	perf_chain_classify(&c, &s);
	EQ(c.garbage, 3);
	EQ(c.addrs.n, 3);
	EQ(c.addrs.v[1].kind, ADDR_RETURN); /* garbage begins nothing */
	EQ(c.addrs.v[2].space, SPACE_USER);
	s.chain = deferred;
	s.chain_nr = ARRAY_SIZE(deferred);
	perf_chain_classify(&c, &s);
	EQ(c.garbage, 0);
	EQ(c.addrs.n, 1);
	EQ(c.deferred_cookie, 0x1234);
	s.chain = cut;
	s.chain_nr = ARRAY_SIZE(cut);
	perf_chain_classify(&c, &s);
	EQ(c.addrs.n, 1);
	EQ(c.deferred_cookie, 0);
	perf_chain_release(&c);
}

/* Elsewhere that range is the kernel's, and low addresses can be, too. */
static void test_other_architectures(void)
{
	static const u64 chain[] = { K, 0xffff800010001000ULL, 0xffff800010002000ULL, 0x1000 };
	static const struct expect want[] = {
		{ 0xffff800010001000ULL, 'k', '=' },
		{ 0xffff800010002000ULL, 'k', '-' },
		{ 0x1000, 'k', '-' },
	};
	struct perf_sample s = {
		.cpumode = CPUMODE_KERNEL,
		.ip = 0xffff800010001000ULL,
		.chain = chain,
		.chain_nr = ARRAY_SIZE(chain),
		.not_x86_64 = true,
	};

	check(__LINE__, &s, want, ARRAY_SIZE(want), ROOT_COMM);
}

int main(void)
{
	test_layouts();
	test_roots();
	test_no_chain();
	test_garbage();
	test_other_architectures();
	return tap_done();
}
