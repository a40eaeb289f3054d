/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The counters and the timer of vpmu-timer.c, which timer.sh takes out of the
 * patches: what a kernel that uses them gets to see. TAP.
 */
#include "timer-emul.h"
#include "vpmu-timer.c"

#define GHZ    2
#define PERIOD 20000000ULL /* 10 ms */
#define MASK48 ((1ULL << 48) - 1)

s_time_t test_now = SECONDS(100);
static struct xen_pmu_data page;
static struct vcpu dom0 = { .vcpu_id = 0 }, idle = { .vcpu_id = 0, .idle = true };
static struct domain d0 = { .max_vcpus = 1, .hardware = true }, other;
static struct vcpu guest = { .vcpu_id = 3, .domain = &other };
struct domain *hardware_domain = &d0;
struct vcpu *current = &dom0;
unsigned int vpmu_mode = XENPMU_MODE_ALL;
unsigned long cpu_khz = GHZ * 1000000UL;
__typeof__(boot_cpu_data) boot_cpu_data;

unsigned int test_online = 1;

static int count, failed, delivered, early, synced;

static void ok(bool good, const char *what)
{
	printf("%s %d - %s: %s\n", good ? "ok" : "not ok", ++count,
	       boot_cpu_data.vendor == X86_VENDOR_INTEL ? "Intel" : "AMD", what);
	failed += !good;
}

void set_timer(struct timer *t, s_time_t expires)
{
	if (t->killed)
		return;
	if (expires <= test_now)
		early++;
	t->expires = expires;
	t->active = true;
}

void vpmu_deliver(struct vcpu *sampling, struct vcpu *sampled)
{
	delivered++;
	vpmu_timer_save(sampling);
	page.pmu.pmu_flags = 1;
	vcpu_vpmu(sampling)->hw_lapic_lvtpc |= APIC_LVT_MASKED;
	vpmu_set(vcpu_vpmu(sampling), VPMU_CACHED);
}

/* All that the timer has got must be there until this has returned. */
static struct vpmu_timer *going;
void vpmu_sync_irqs(void)
{
	synced += going && going->gone && going->timer.killed && !dom0.arch.vpmu.timer;
}

static struct vpmu_timer *t(void)
{
	return dom0.arch.vpmu.timer;
}

/* Time passes; timer interrupts come, each followed by its softirq. */
static void run_until(s_time_t then)
{
	while (t()->timer.active && t()->timer.expires <= then) {
		test_now = max(test_now, t()->timer.expires);
		t()->timer.active = false;
		if (t()->timer.cpu == smp_processor_id())
			vpmu_timer_interrupt();
		t()->timer.fn(t()->timer.data);
	}
	test_now = then;
}

static unsigned int counter_msr(void)
{
	return boot_cpu_data.vendor == X86_VENDOR_INTEL ? MSR_P6_PERFCTR(1) : MSR_K7_PERFCTR0 + 1;
}

static uint64_t *in_page(void)
{
	return page_counter(&dom0, 1);
}

/* Counter 1, as perf would program it. */
static void program(uint64_t event, uint64_t flags, uint64_t period)
{
	bool intel = boot_cpu_data.vendor == X86_VENDOR_INTEL;

	vpmu_timer_do_wrmsr(&dom0, counter_msr(), -period & MASK48);
	vpmu_timer_do_wrmsr(&dom0, intel ? MSR_P6_EVNTSEL(1) : MSR_K7_EVNTSEL0 + 1,
			    event | flags | SEL_EN | SEL_INT);
	if (intel)
		vpmu_timer_do_wrmsr(&dom0, MSR_CORE_PERF_GLOBAL_CTRL, 0x70000000fULL);
}

static uint64_t cycles(void)
{
	return boot_cpu_data.vendor == X86_VENDOR_INTEL ? EVENT_INTEL_CYCLES : EVENT_AMD_CYCLES;
}

static void handle(uint64_t next) /* what the kernel's interrupt handler does */
{
	int64_t left = (int64_t)next - (int64_t)*in_page();

	*in_page() = -(uint64_t)(left > 0 ? left : (int64_t)next) & MASK48;
	page.pmu.l.lapic_lvtpc = 0;
	vpmu_timer_flush(&dom0);
}

/* Until there are more than n samples; a second is enough for any. */
static void await(int n, s_time_t step)
{
	s_time_t end = test_now + SECONDS(1);

	while (delivered == n && test_now < end)
		run_until(test_now + step);
}

static uint64_t read_counter(void)
{
	uint64_t v;

	vpmu_timer_do_rdmsr(&dom0, counter_msr(), &v);
	return v;
}

static void start(uint8_t vendor)
{
	if (dom0.arch.vpmu.timer)
		vpmu_timer_destroy(&dom0);
	memset(&page, 0, sizeof page);
	boot_cpu_data.vendor = boot_cpu_data.x86_vendor = vendor;
	dom0.domain = &d0;
	idle.domain = &other;
	dom0.arch.vpmu = (struct vpmu_struct){ .xenpmu_data = &page };
	d0.vcpu[0] = &dom0;
	current = &dom0;
	vpmu_mode = XENPMU_MODE_ALL;
	test_regs.guest = false;
	delivered = early = 0;
	ok(!vpmu_timer_initialise(&dom0), "set up");
}

static void sampling(uint8_t vendor)
{
	s_time_t t0, took;
	int i;

	start(vendor);
	t0 = test_now;
	program(cycles(), SEL_OS | SEL_USR, PERIOD);
	run_until(t0 + MILLISECS(9));
	ok(delivered == 0, "no sample before the period is over");
	ok(read_counter() >= (-PERIOD & MASK48) + 9 * GHZ * 1000000ULL - 10 &&
		   read_counter() <= (-PERIOD & MASK48) + 9 * GHZ * 1000000ULL,
	   "the counter tells the time");
	run_until(t0 + MILLISECS(11));
	ok(delivered == 1, "a sample when it is over");
	ok(!(*in_page() >> 47) && *in_page() <= GHZ * 100000ULL, "the counter has just overflowed");
	run_until(t0 + MILLISECS(40));
	vpmu_timer_interrupt();
	ok(delivered == 1 && !t()->timer.active, "no other one before this one is handled");

	/* A handler that takes 3 ms of each 10 ms does not change the frequency. */
	start(vendor);
	t0 = test_now;
	program(cycles(), SEL_OS | SEL_USR, PERIOD);
	for (i = 0; i < 100; i++) {
		await(i, MICROSECS(100));
		run_until(test_now + MILLISECS(3));
		handle(PERIOD);
	}
	took = test_now - MILLISECS(3) - t0;
	ok(took >= MILLISECS(990) && took <= MILLISECS(1010), "100 samples of 10 ms take a second");

	/* One that takes 25 ms cannot keep up: samples come after it, not within it. */
	start(vendor);
	t0 = test_now;
	program(cycles(), SEL_OS | SEL_USR, PERIOD);
	for (i = 0; i < 20; i++) {
		s_time_t flushed;

		await(i, MICROSECS(10));
		run_until(test_now + MILLISECS(25));
		handle(PERIOD);
		flushed = test_now;
		ok(!t()->timer.active || t()->timer.expires > flushed + MICROSECS(900),
		   "overdue, but not at once");
	}
	ok(early == 0, "no timer is set to a time that has passed");

	/* A period of 2 cycles, which is what perf starts with. */
	start(vendor);
	t0 = test_now;
	program(cycles(), SEL_OS | SEL_USR, 2);
	for (i = 0; test_now < t0 + MILLISECS(100); i = delivered) {
		while (delivered == i && test_now < t0 + MILLISECS(100))
			run_until(test_now + MICROSECS(10));
		if (vpmu_is_set(&dom0.arch.vpmu, VPMU_CACHED))
			handle(2);
	}
	ok(delivered >= 90 && delivered <= 101, "no more than vpmu-timer-hz");
	ok(early == 0, "no timer is set to a time that has passed");
}

static void selection(uint8_t vendor)
{
	static const struct {
		uint64_t event, flags;
		bool kernel, user;
		const char *what;
	} is[] = {
		{ 0xc0, SEL_OS | SEL_USR, false, false, "instructions stand still" },
		{ 0, SEL_OS, true, false, "cycles of the kernel" },
		{ 0, SEL_USR, false, true, "cycles of user space" },
		{ 0, 0, false, false, "cycles of neither" },
		{ 0, SEL_OS | SEL_USR | SEL_INV, false, false,
		  "cycles with a condition stand still" },
		{ 0, SEL_OS | SEL_USR | (1U << 8), false, false, "another mask stands still" },
	};
	uint64_t before;
	s_time_t t0;
	unsigned int i;

	for (i = 0; i < sizeof is / sizeof *is; i++) {
		start(vendor);
		t0 = test_now;
		program(is[i].event ? is[i].event : cycles(), is[i].flags, PERIOD);
		before = read_counter();
		run_until(t0 + MILLISECS(35));
		ok((delivered > 0) == is[i].kernel, is[i].what);
		if (is[i].event || !(is[i].flags & (SEL_OS | SEL_USR)) || is[i].flags & SEL_HOW)
			ok(read_counter() == before, "and the counter has not moved");
		if (delivered)
			handle(PERIOD);
		delivered = 0;
		test_regs.guest = true;
		run_until(t0 + MILLISECS(70));
		ok((delivered > 0) == is[i].user, "the same while user space runs");
	}

	/* Whom a mode allows to see. */
	start(vendor);
	program(cycles(), SEL_OS | SEL_USR, PERIOD);
	guest.domain = &other;
	current = &guest;
	vpmu_mode = XENPMU_MODE_HV;
	run_until(test_now + MILLISECS(50));
	ok(delivered == 0, "mode hv: no samples of other domains");
	current = &idle;
	run_until(test_now + MILLISECS(50));
	ok(delivered == 1, "mode hv: samples of an idle CPU");
	handle(PERIOD);
	vpmu_mode = XENPMU_MODE_SELF;
	run_until(test_now + MILLISECS(50));
	ok(delivered == 1, "mode self: none of an idle CPU");

	/* The kernel masks the interrupt. */
	start(vendor);
	program(cycles(), SEL_OS | SEL_USR, PERIOD);
	dom0.arch.vpmu.hw_lapic_lvtpc = APIC_LVT_MASKED;
	run_until(test_now + MILLISECS(50));
	ok(delivered == 0, "none while LVTPC is masked");

	/* Nothing runs, nothing ticks. */
	start(vendor);
	ok(!t()->timer.active, "no timer while no counter runs");
	program(cycles(), SEL_OS | SEL_USR, PERIOD);
	ok(t()->timer.active, "a timer while one does");
	vpmu_timer_do_wrmsr(
		&dom0, vendor == X86_VENDOR_INTEL ? MSR_P6_EVNTSEL(1) : MSR_K7_EVNTSEL0 + 1, 0);
	ok(!t()->timer.active, "none after it was stopped");
	vpmu_timer_dump(&dom0);
}

static void hostile(uint8_t vendor)
{
	uint64_t seed = 7, v;
	unsigned int i, j;

	/* A kernel writes anything to its page and its registers. */
	start(vendor);
	program(cycles(), SEL_OS | SEL_USR, PERIOD);
	for (i = 0; i < 20000; i++) {
		for (j = 0; j < sizeof page / 8; j++) {
			seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
			if ((seed >> 40) % 3)
				((uint64_t *)&page)[j] = seed ^ seed >> 31;
		}
		switch (i % 4) {
		case 0: vpmu_timer_flush(&dom0); break;
		case 1:
			vpmu_timer_do_wrmsr(
				&dom0, (seed & 1 ? 0xc0010000 : 0xc0010200) + (seed >> 50) % 16,
				seed);
			break;
		case 2:
			vpmu_timer_do_wrmsr(&dom0, (seed & 1 ? 0xc1 : 0x186) + (seed >> 50) % 8,
					    seed);
			vpmu_timer_do_wrmsr(&dom0, 0x309 + (seed >> 44) % 0x90, seed);
			break;
		case 3: vpmu_timer_do_rdmsr(&dom0, seed >> 32, &v);
		}
		run_until(test_now + (seed >> 54) * 1000);
	}
	ok(early == 0, "20,000 times garbage: no timer in the past");
	for (i = 0, j = 0; i < nr_counters(); i++)
		j += t()->counter[i] > MASK48;
	ok(j == 0, "20,000 times garbage: counters have 48 bits");
	vpmu_timer_destroy(&dom0);
	dom0.arch.vpmu.timer = NULL;
	vpmu_timer_interrupt();
	ok(true, "an interrupt after the end is harmless");
}

static void hotplug(uint8_t vendor)
{
	s_time_t end;
	int fired = 0;

	/* CPU 0 goes away, and its timers move to another one. */
	start(vendor);
	program(cycles(), SEL_OS | SEL_USR, PERIOD);
	test_online = 2;
	t()->timer.cpu = 1;
	for (end = test_now + SECONDS(10); t()->timer.active && t()->timer.expires < end; fired++) {
		test_now = t()->timer.expires;
		t()->timer.active = false;
		t()->timer.fn(t()->timer.data);
	}
	ok(t()->timer.active && t()->timer.cpu == 1 && fired >= 5 && fired <= 15,
	   "while the CPU is away, it is looked for once a second");
	ok(delivered == 0, "and there are no samples");
	test_online = 3;
	run_until(test_now + SECONDS(2));
	ok(t()->timer.cpu == 0 && delivered == 1, "when it is back, so are they");

	/* A vCPU for which there is no CPU at all. */
	dom0.vcpu_id = nr_cpu_ids;
	start(vendor);
	program(cycles(), SEL_OS | SEL_USR, PERIOD);
	test_now += MILLISECS(5);
	ok(read_counter() - (-PERIOD & MASK48) == 5 * GHZ * 1000000ULL && t()->timer.cpu == 0,
	   "a vCPU without a CPU can have counters");
	dom0.vcpu_id = 0;
	test_online = 1;

	start(vendor);
	going = t();
	synced = 0;
	vpmu_timer_destroy(&dom0);
	going = NULL;
	ok(synced == 1, "the end waits for interrupts that have begun");
}

static void intel(void)
{
	struct cpuid_leaf l;
	uint64_t v;

	start(X86_VENDOR_INTEL);
	vpmu_timer_cpuid(&l);
	ok((l.a & 0xff) == 2 && ((l.a >> 8) & 0xff) == 4 && ((l.a >> 16) & 0xff) == 48 &&
		   !(l.b & 1) && (l.b & 0x7e) == 0x7e && (l.d & 0x1f) == 3,
	   "CPUID leaf 0xa: version 2, cycles only");
	vpmu_timer_do_wrmsr(&dom0, MSR_P6_PERFCTR(0), 0x80000000);
	vpmu_timer_do_rdmsr(&dom0, MSR_P6_PERFCTR(0), &v);
	ok(v == 0xffff80000000ULL, "32 bits written are extended by their sign");
	program(cycles(), SEL_OS | SEL_USR, PERIOD);
	run_until(test_now + MILLISECS(20));
	ok(page.pmu.c.intel.global_status == 2, "GLOBAL_STATUS names the counter");
	handle(PERIOD);
	vpmu_timer_do_wrmsr(&dom0, MSR_CORE_PERF_GLOBAL_OVF_CTRL, 2);
	vpmu_timer_do_rdmsr(&dom0, MSR_CORE_PERF_GLOBAL_STATUS, &v);
	ok(v == 0, "and GLOBAL_OVF_CTRL clears it");
	ok(vpmu_timer_do_wrmsr(&dom0, MSR_CORE_PERF_GLOBAL_STATUS, 1) < 0,
	   "GLOBAL_STATUS cannot be written");
	vpmu_timer_do_wrmsr(&dom0, MSR_CORE_PERF_GLOBAL_CTRL, 0);
	ok(!t()->timer.active, "GLOBAL_CTRL stops all");

	start(X86_VENDOR_INTEL);
	vpmu_timer_do_wrmsr(&dom0, MSR_CORE_PERF_FIXED_CTR0 + 1, -PERIOD & MASK48);
	vpmu_timer_do_wrmsr(&dom0, MSR_CORE_PERF_FIXED_CTR_CTRL, 0xbb);
	vpmu_timer_do_wrmsr(&dom0, MSR_CORE_PERF_GLOBAL_CTRL, 7ULL << 32);
	run_until(test_now + MILLISECS(20));
	ok(delivered == 1 && page.pmu.c.intel.global_status == 1ULL << 33,
	   "the fixed counter of cycles samples");
	vpmu_timer_do_rdmsr(&dom0, MSR_CORE_PERF_FIXED_CTR0, &v);
	ok(v == 0, "the fixed counter of instructions stands still");
}

int main(void)
{
	static const uint8_t vendors[] = { X86_VENDOR_AMD, X86_VENDOR_INTEL };
	unsigned int i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 0; i < 2; i++) {
		sampling(vendors[i]);
		selection(vendors[i]);
		hostile(vendors[i]);
		hotplug(vendors[i]);
	}
	intel();
	vpmu_timer_destroy(&dom0);
	printf("1..%d\n", count);
	return failed != 0;
}
