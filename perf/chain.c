/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Raw call chain entries -> addresses with space and kind.
 *
 * Linux puts a context marker before each part of a chain.  Patched kernels
 * that record hypervisor frames either mark them (PERF_CONTEXT_HV) or store
 * them first within PERF_CONTEXT_KERNEL; in both cases the address decides, as
 * Xen owns a part of the address space.
 */
#include "perf/perf.h"

#define USER_END 0x0000800000000000ULL

void perf_chain_init(struct perf_chain *c)
{
	memset(c, 0, sizeof(*c));
}

void perf_chain_release(struct perf_chain *c)
{
	vec_release(&c->addrs);
}

static u8 space_of_cpumode(u8 cpumode, u64 addr)
{
	switch (cpumode) {
	case CPUMODE_KERNEL: return SPACE_KERNEL;
	case CPUMODE_USER: return SPACE_USER;
	case CPUMODE_HYPERVISOR: return SPACE_HV;
	case CPUMODE_GUEST_KERNEL: return SPACE_GUEST_KERNEL;
	case CPUMODE_GUEST_USER: return SPACE_GUEST_USER;
	default: return addr < USER_END ? SPACE_USER : SPACE_KERNEL;
	}
}

/* The address has the last word on x86-64. */
static inline u8 space_of_addr(u8 space, u64 addr, bool x86)
{
	if (!x86)
		return space;
	if (space_is_hv_reserved(addr))
		return SPACE_HV;
	/* Xen can say "kernel" while the guest's instruction pointer is still that of its user
	 * mode. */
	if (space == SPACE_KERNEL && addr < USER_END)
		return SPACE_USER;
	return space;
}

/* Space that a marker begins, or SPACE_NONE when it is no marker. */
static u8 space_of_marker(u64 entry)
{
	switch (entry) {
	case PERF_CONTEXT_HV: return SPACE_HV;
	case PERF_CONTEXT_KERNEL: return SPACE_KERNEL;
	case PERF_CONTEXT_USER: return SPACE_USER;
	case PERF_CONTEXT_GUEST:
	case PERF_CONTEXT_GUEST_KERNEL: return SPACE_GUEST_KERNEL;
	case PERF_CONTEXT_GUEST_USER: return SPACE_GUEST_USER;
	default: return SPACE_NONE;
	}
}

void perf_chain_classify(struct perf_chain *c, const struct perf_sample *s)
{
	bool x86 = !s->not_x86_64, exact = true, marked = false, misplaced = false;
	bool guest = s->cpumode == CPUMODE_GUEST_KERNEL || s->cpumode == CPUMODE_GUEST_USER;
	u8 context = SPACE_NONE, before = SPACE_NONE;
	u32 seen = 0, i;
	struct perf_addr *a;

	c->addrs.n = 0;
	c->garbage = 0;
	c->deferred_cookie = 0;
	c->ip_zero = false;
	c->hv_marker |= s->cpumode == CPUMODE_HYPERVISOR;
	vec_reserve(&c->addrs, (size_t)s->chain_nr + 2);
	for (i = 0; i < s->chain_nr; i++) {
		u64 v = s->chain[i];
		u8 space;

		if (UNLIKELY(v >= PERF_CONTEXT_MAX)) {
			if (v == PERF_CONTEXT_USER_DEFERRED) {
				if (i + 1 < s->chain_nr)
					c->deferred_cookie = s->chain[i + 1];
				break;
			}
			space = space_of_marker(v);
			if (space == SPACE_NONE) {
				c->garbage++;
				continue;
			}
			context = space;
			exact = marked = true;
			c->hv_marker |= space == SPACE_HV;
			continue;
		}
		space = space_of_addr(
			context == SPACE_NONE ? space_of_cpumode(s->cpumode, v) : context, v, x86);
		/* Where one context ends and the next begins without a marker, an interrupted
		 * instruction follows. */
		if ((before == SPACE_HV && space != SPACE_HV) ||
		    (before == SPACE_KERNEL && space == SPACE_USER))
			exact = true;
		/* The user address was stored as the kernel's already. */
		if (misplaced && marked && context == SPACE_USER &&
		    c->addrs.v[c->addrs.n - 1].addr == v) {
			misplaced = exact = marked = false;
			continue;
		}
		misplaced = space == SPACE_USER && context == SPACE_KERNEL;
		c->addrs.v[c->addrs.n++] = (struct perf_addr){
			.addr = v,
			.space = space,
			.kind = exact ? ADDR_EXACT : ADDR_RETURN,
		};
		seen |= 1u << space;
		before = space;
		exact = marked = false;
	}
	/* A chain without addresses, or one that was taken below the hypervisor alone: the sampled
	 * instruction is the leaf. */
	if (s->ip &&
	    (!c->addrs.n || (x86 && space_is_hv_reserved(s->ip) && !(seen >> SPACE_HV & 1)))) {
		a = c->addrs.v;
		if (c->addrs.n)
			memmove(a + 1, a, c->addrs.n * sizeof(*a));
		a[0] = (struct perf_addr){
			.addr = s->ip,
			.space = space_of_addr(space_of_cpumode(s->cpumode, s->ip), s->ip, x86),
			.kind = ADDR_EXACT,
		};
		c->addrs.n++;
		seen |= 1u << a[0].space;
	}
	c->ip_zero = !c->addrs.n;
	if (guest && !(seen >> SPACE_HV & 1))
		c->root = ROOT_GUEST;
	else if (seen >> SPACE_HV & 1 && !(seen & (1u << SPACE_KERNEL | 1u << SPACE_USER)))
		c->root = ROOT_XEN;
	else
		c->root = ROOT_COMM;
}

struct perf_chain_hash perf_chain_hash(const u64 *chain, u32 nr, u64 seed)
{
	u32 top = perf_chain_top(chain, nr), i;
	struct perf_chain_hash h;

	h.rest[0] = hash_bytes_checked(top ? chain + top : chain, (nr - top) * sizeof(*chain), seed,
				       &h.rest[1]);
	memcpy(h.whole, h.rest, sizeof(h.whole));
	for (i = 0; i < top; i++)
		hash_extend(h.whole, chain[i]);
	return h;
}

bool perf_chain_leaf(const struct perf_sample *s, u32 *at, struct perf_addr *leaf)
{
	bool x86 = !s->not_x86_64;
	u32 i = 0;
	u8 space;
	u64 v;

	if (s->chain_nr < 2 || (x86 && space_is_hv_reserved(s->ip)))
		return false;
	space = s->chain[0] >= PERF_CONTEXT_MAX ? space_of_marker(s->chain[i++])
						: space_of_cpumode(s->cpumode, s->chain[0]);
	v = s->chain[i];
	if (v >= PERF_CONTEXT_MAX || (space != SPACE_USER && space != SPACE_KERNEL) ||
	    space_of_addr(space, v, x86) != space)
		return false;
	*at = i;
	*leaf = (struct perf_addr){ .addr = v, .space = space, .kind = ADDR_EXACT };
	return true;
}
