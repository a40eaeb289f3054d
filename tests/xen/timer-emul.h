/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What vpmu-timer.c of the series wants from Xen, for a machine of one CPU whose
 * time stands still until the test moves it.
 */
#ifndef XENFLAME_TEST_TIMER_EMUL_H
#define XENFLAME_TEST_TIMER_EMUL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int64_t s_time_t;

#define __read_mostly
#define cf_check
#define BUILD_BUG_ON(x) _Static_assert(!(x), #x)
#define PAGE_SIZE       4096
#define PRI_stime       "ld"
#define PRIx64          "lx"
#define printk          printf
#define likely(x)       (x)
#define unlikely(x)     (x)
#define ACCESS_ONCE(x)  (*(volatile __typeof__(x) *)&(x))
#define min(a, b)       ((a) < (b) ? (a) : (b))
#define max(a, b)       ((a) > (b) ? (a) : (b))
#define min_t(t, a, b)  min((t)(a), (t)(b))
#define max_t(t, a, b)  max((t)(a), (t)(b))
#define SECONDS(s)      ((s_time_t)(s)*1000000000LL)
#define MILLISECS(s)    ((s_time_t)(s)*1000000LL)
#define MICROSECS(s)    ((s_time_t)(s)*1000LL)
#define integer_runtime_param(name, var)
#define xzalloc(t) calloc(1, sizeof(t))
#define xfree(p)   free(p)

/* locks: held or not, and each taken once */
typedef struct {
	int held;
} spinlock_t;
#define spin_lock_init(l) ((l)->held = 0)
static inline void spin_lock(spinlock_t *l)
{
	if (l->held++)
		abort();
}
static inline void spin_unlock(spinlock_t *l)
{
	if (--l->held)
		abort();
}
#define spin_lock_irqsave(l, f)      ((f) = 0, spin_lock(l))
#define spin_unlock_irqrestore(l, f) ((void)(f), spin_unlock(l))

#define smp_wmb() ((void)0)

struct timer {
	void (*fn)(void *);
	void *data;
	s_time_t expires;
	unsigned int cpu;
	bool active, killed;
};
extern s_time_t test_now;
#define NOW() test_now
static inline void init_timer(struct timer *t, void (*fn)(void *), void *data, unsigned int cpu)
{
	*t = (struct timer){ .fn = fn, .data = data, .cpu = cpu };
}
static inline void migrate_timer(struct timer *t, unsigned int cpu)
{
	t->cpu = cpu;
}
void set_timer(struct timer *t, s_time_t expires);
static inline void stop_timer(struct timer *t)
{
	t->active = false;
}
static inline void kill_timer(struct timer *t)
{
	t->active = false;
	t->killed = true;
}

struct cpu_user_regs {
	bool guest;
};
static struct cpu_user_regs test_regs;
#define get_irq_regs() (&test_regs)
#define guest_mode(r)  ((r)->guest)

/* ---- the public interface, as in every version ---- */
struct xen_pmu_amd_ctxt {
	uint32_t counters, ctrls;
	uint64_t regs[16];
};
struct xen_pmu_cntr_pair {
	uint64_t counter, control;
};
struct xen_pmu_intel_ctxt {
	uint32_t fixed_counters, arch_counters;
	uint64_t global_ctrl, global_ovf_ctrl, global_status, fixed_ctrl, ds_area, pebs_enable,
		debugctl;
	uint64_t regs[16];
};
struct xen_pmu_arch {
	uint64_t regs[8], pmu_flags;
	union {
		uint32_t lapic_lvtpc;
		uint64_t pad;
	} l;
	union {
		struct xen_pmu_amd_ctxt amd;
		struct xen_pmu_intel_ctxt intel;
	} c;
};
struct xen_pmu_data {
	uint32_t vcpu_id, pcpu_id;
	uint64_t domain;
	struct xen_pmu_arch pmu;
};
#define XENPMU_MODE_SELF 1
#define XENPMU_MODE_HV   2
#define XENPMU_MODE_ALL  4

struct vpmu_timer;
struct vpmu_struct {
	uint32_t flags, hw_lapic_lvtpc;
	struct xen_pmu_data *xenpmu_data;
	struct vpmu_timer *timer;
};
#define VPMU_CONTEXT_ALLOCATED 2
#define VPMU_CACHED            0x80
#define vpmu_set(v, m)         ((v)->flags |= (m))
#define vpmu_reset(v, m)       ((v)->flags &= ~(m))
#define vpmu_is_set(v, m)      (!!((v)->flags & (m)))
#define vpmu_clear(v)          ((v)->flags = 0)
#define PMU_APIC_VECTOR        0xf8
#define APIC_LVT_MASKED        0x10000
#define TF_kernel_mode         1

struct domain {
	unsigned int max_vcpus;
	struct vcpu *vcpu[1];
	bool hardware;
};
struct vcpu {
	unsigned int vcpu_id;
	struct domain *domain;
	struct {
		unsigned int flags;
		struct vpmu_struct vpmu;
	} arch;
	bool hvm, idle;
};
#define vcpu_vpmu(v)          (&(v)->arch.vpmu)
#define is_hardware_domain(d) ((d)->hardware)
#define is_hvm_vcpu(v)        ((v)->hvm)
#define is_idle_vcpu(v)       ((v)->idle)
#define has_vlapic(d)         false
#define smp_processor_id()    0U
/* Which CPUs there are; as in a debug build, asking for any other is a bug. */
#define nr_cpu_ids 2
extern unsigned int test_online; /* bitmap */
static inline bool cpu_online(unsigned int cpu)
{
	if (cpu >= nr_cpu_ids)
		abort();
	return test_online & (1U << cpu);
}
extern struct domain *hardware_domain;
extern struct vcpu *current;
extern unsigned int vpmu_mode;
extern unsigned long cpu_khz;
extern struct {
	uint8_t x86_vendor, vendor;
} boot_cpu_data;
#define X86_VENDOR_INTEL 1
#define X86_VENDOR_AMD   2
#define X86_VENDOR_HYGON 4

#define MSR_K7_EVNTSEL0               0xc0010000
#define MSR_K7_EVNTSEL3               0xc0010003
#define MSR_K7_PERFCTR0               0xc0010004
#define MSR_K7_PERFCTR3               0xc0010007
#define MSR_AMD_FAM15H_EVNTSEL0       0xc0010200
#define MSR_AMD_FAM15H_PERFCTR5       0xc001020b
#define MSR_P6_PERFCTR(n)             (0xc1 + (n))
#define MSR_P6_EVNTSEL(n)             (0x186 + (n))
#define MSR_CORE_PERF_FIXED_CTR0      0x309
#define MSR_CORE_PERF_FIXED_CTR_CTRL  0x38d
#define MSR_CORE_PERF_GLOBAL_STATUS   0x38e
#define MSR_CORE_PERF_GLOBAL_CTRL     0x38f
#define MSR_CORE_PERF_GLOBAL_OVF_CTRL 0x390
struct cpuid_leaf {
	uint32_t a, b, c, d;
};

void vpmu_deliver(struct vcpu *sampling, struct vcpu *sampled);
void vpmu_timer_save(struct vcpu *v);
void vpmu_sync_irqs(void);

#endif
