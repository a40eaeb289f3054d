/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the hypervisor was entered: which hypercall, which exit of an HVM guest, which exception.
 *
 * Facts: Xen's arch/x86/x86_64/entry.S, hvm/vmx/{entry.S,vmx.c}, hvm/svm/{entry.S,svm.c} and
 * pv/hypercall.c of 4.17 and master; Linux' arch/x86/xen/ and drivers/xen/ of 5.10 to 6.12.
 */
#include "profile/profile.h"

const char *entry_kind_name(enum entry_kind k)
{
	static const char *const names[] = {
		[ENTRY_HYPERCALL] = "hypercall",
		[ENTRY_EXIT] = "exit",
		[ENTRY_EXCEPTION] = "exception",
		[ENTRY_INTERRUPT] = "interrupt",
		[ENTRY_SYSCALL] = "system call",
		[ENTRY_SOFTIRQ] = "softirq",
		[ENTRY_RETURN] = "return to guest",
		[ENTRY_IDLE] = "idle vCPU",
		[ENTRY_OTHER] = "other",
	};

	return names[k];
}

/* Code between the processor and the function that does the work. The innermost one tells the kind.
 */
static const struct {
	const char *name;
	enum entry_kind kind;
} code[] = {
	{ "lstar_enter", ENTRY_SYSCALL },
	{ "cstar_enter", ENTRY_SYSCALL },
	{ "sysenter_entry", ENTRY_SYSCALL },
	{ "int80_direct_trap", ENTRY_SYSCALL },
	{ "int80_slow_path", ENTRY_SYSCALL },
	{ "entry_int80", ENTRY_SYSCALL },
	{ "pv_hypercall", ENTRY_HYPERCALL },
	{ "_pv_hypercall", ENTRY_HYPERCALL },
	{ "compat_hypercall", ENTRY_HYPERCALL },
	{ "entry_int82", ENTRY_HYPERCALL },
	{ "do_entry_int82", ENTRY_HYPERCALL },
	{ "hvm_hypercall", ENTRY_HYPERCALL },
	{ "handle_exception", ENTRY_EXCEPTION },
	{ "handle_exception_saved", ENTRY_EXCEPTION },
	{ "exception_with_ints_disabled", ENTRY_EXCEPTION },
	{ "common_interrupt", ENTRY_INTERRUPT },
	{ "ret_from_intr", ENTRY_INTERRUPT },
	{ "handle_ist_exception", ENTRY_INTERRUPT },
	{ "entry_NMI", ENTRY_INTERRUPT },
	{ "vmx_asm_vmexit_handler", ENTRY_EXIT },
	{ "vmx_vmexit_handler", ENTRY_EXIT },
	{ "svm_vmexit_handler", ENTRY_EXIT },
	{ "svm_stgi_label", ENTRY_EXIT },
	{ "svm_asm_do_resume", ENTRY_RETURN },
	{ "vmx_asm_do_vmentry", ENTRY_RETURN },
	{ "test_all_events", ENTRY_RETURN },
	{ "process_trap", ENTRY_RETURN },
	{ "restore_all_guest", ENTRY_RETURN },
	{ "create_bounce_frame", ENTRY_RETURN },
	{ "switch_to_kernel", ENTRY_RETURN },
	{ "toggle_guest_mode", ENTRY_RETURN },
	{ "process_softirqs", ENTRY_SOFTIRQ },
	{ "do_softirq", ENTRY_SOFTIRQ },
	{ "__do_softirq", ENTRY_SOFTIRQ },
	/* Tail calls leave a caller behind that has nothing to do with what follows. */
	{ "context_switch", ENTRY_NR },
	{ "idle_loop", ENTRY_IDLE },
};

/* Why an HVM guest left, by the function that the handler calls for it. */
static const struct {
	const char *function, *reason;
} reasons[] = {
	{ "vmx_do_extint", "external interrupt" },
	{ "do_IRQ", "external interrupt" },
	{ "do_nmi", "NMI" },
	{ "do_machine_check", "machine check" },
	{ "svm_vmexit_mce_intercept", "machine check" },
	{ "vmx_fpu_dirty_intercept", "device not available" },
	{ "svm_fpu_dirty_intercept", "device not available" },
	{ "hvm_ud_intercept", "invalid opcode" },
	{ "paging_fault", "page fault" },
	{ "sh_page_fault", "page fault" },
	{ "hvm_triple_fault", "triple fault" },
	{ "hvm_task_switch", "task switch" },
	{ "hvm_vmexit_cpuid", "CPUID" },
	{ "vmx_vmexit_cpuid", "CPUID" },
	{ "svm_vmexit_do_cpuid", "CPUID" },
	{ "hvm_hlt", "HLT" },
	{ "svm_vmexit_do_hlt", "HLT" },
	{ "vmx_invlpg_intercept", "INVLPG" },
	{ "svm_invlpg_intercept", "INVLPG" },
	{ "svm_invlpga_intercept", "INVLPGA" },
	{ "hvm_rdtsc_intercept", "RDTSC" },
	{ "svm_vmexit_do_rdtsc", "RDTSC" },
	{ "vmx_cr_access", "CR access" },
	{ "svm_vmexit_do_cr_access", "CR access" },
	{ "hvm_mov_to_cr", "CR access" },
	{ "hvm_mov_from_cr", "CR access" },
	{ "vmx_dr_access", "DR access" },
	{ "svm_dr_access", "DR access" },
	{ "hvm_msr_read_intercept", "RDMSR" },
	{ "hvm_msr_write_intercept", "WRMSR" },
	{ "svm_do_msr_access", "MSR access" },
	{ "handle_pio", "I/O port" },
	{ "hvm_emulate_one_insn", "emulated instruction" },
	{ "vmx_handle_eoi_write", "APIC access" },
	{ "handle_mmio", "APIC access" },
	{ "vmx_handle_apic_write", "APIC write" },
	{ "vlapic_handle_EOI", "EOI" },
	{ "vmx_wbinvd_intercept", "WBINVD" },
	{ "svm_vmexit_do_invalidate_cache", "WBINVD" },
	{ "ept_handle_violation", "EPT violation" },
	{ "ept_handle_misconfig", "EPT misconfiguration" },
	{ "svm_do_nested_pgfault", "nested page fault" },
	{ "hvm_hap_nested_page_fault", "nested page fault" },
	{ "do_sched_op", "PAUSE" },
	{ "svm_vmexit_do_pause", "PAUSE" },
	{ "hvm_handle_xsetbv", "XSETBV" },
	{ "hvm_descriptor_access_intercept", "descriptor access" },
	{ "vmx_handle_descriptor_access", "descriptor access" },
	{ "vmx_vcpu_flush_pml_buffer", "page modification log full" },
	{ "nvmx_handle_vmx_insn", "VMX instruction" },
	{ "svm_vmexit_do_vmrun", "VMRUN" },
	{ "svm_vmexit_do_vmload", "VMLOAD" },
	{ "svm_vmexit_do_vmsave", "VMSAVE" },
	{ "svm_vmexit_do_stgi", "STGI" },
	{ "svm_vmexit_do_clgi", "CLGI" },
};

/* Which hypercall a function of Linux makes, where it makes one kind only. */
static const struct {
	const char *caller, *hypercall;
} callers[] = {
	{ "xen_safe_halt", "sched_op" },
	{ "xen_halt", "sched_op" },
	{ "xen_poll_irq_timeout", "sched_op" },
	{ "xen_qlock_wait", "sched_op" },
	{ "xen_cpu_die", "vcpu_op" },
	{ "xen_force_evtchn_callback", "xen_version" },
	{ "xensyms_next_sym", "platform_op" },
	{ "xen_mc_flush", "multicall" },
	{ "__xen_set_pte", "mmu_update" },
	{ "xen_set_pte", "mmu_update" },
	{ "xen_set_pmd_hyper", "mmu_update" },
	{ "xen_set_pud_hyper", "mmu_update" },
	{ "xen_ptep_modify_prot_commit", "mmu_update" },
	{ "xen_flush_tlb", "mmuext_op" },
	{ "xen_flush_tlb_one_user", "mmuext_op" },
	{ "pin_pagetable_pfn", "mmuext_op" },
	{ "xen_alloc_ldt", "update_va_mapping" },
	{ "set_aliased_prot", "update_va_mapping" },
	{ "xen_vcpuop_set_next_event", "vcpu_op" },
	{ "xen_vcpuop_shutdown", "vcpu_op" },
	{ "xen_vcpuop_set_oneshot", "vcpu_op" },
	{ "xen_timerop_set_next_event", "set_timer_op" },
	{ "xen_send_IPI_one", "event_channel_op" },
	{ "notify_remote_via_irq", "event_channel_op" },
	{ "evtchn_ioctl", "event_channel_op" },
	{ "evtchn_fifo_unmask", "event_channel_op" },
	{ "unmask_evtchn", "event_channel_op" },
	{ "gnttab_batch_map", "grant_table_op" },
	{ "gnttab_batch_copy", "grant_table_op" },
	{ "dom0_write_console", "console_io" },
	{ "xen_write_msr_safe", "xenpmu_op" },
	{ "xen_pmu_irq_handler", "xenpmu_op" },
	{ "pmu_mode_store", "xenpmu_op" },
	{ "xen_set_iopl_mask", "physdev_op" },
	{ "xen_load_gs_index", "set_segment_base" },
	{ "xen_load_sp0", "stack_switch" },
	{ "do_iret", "iret" },
	{ "xen_iret", "iret" },
	{ "xen_sysret64", "iret" },
};

bool entry_is_stub(const char *name)
{
	return !strncmp(name, "xen_hypercall_", 14) || !strcmp(name, "hypercall_page");
}

/* Linux' inline functions around the stubs (arch/x86/include/asm/xen/hypercall.h,
 * drivers/xen/privcmd.c). */
static bool is_wrapper(const char *name)
{
	return entry_is_stub(name) || !strncmp(name, "HYPERVISOR_", 11) ||
	       !strcmp(name, "xen_single_call") || !strcmp(name, "privcmd_call");
}

/* "sched_op" out of "HYPERVISOR_sched_op" and, in kernels with a stub each,
 * "xen_hypercall_sched_op"; NULL else. */
static const char *told_by_wrapper(const char *name)
{
	static const char *const generic[] = { "pv", "hvm", "amd", "intel", "func", "none" };
	size_t i;

	if (!strncmp(name, "HYPERVISOR_", 11))
		return name + 11;
	if (strncmp(name, "xen_hypercall_", 14))
		return NULL;
	for (i = 0; i < ARRAY_SIZE(generic); i++)
		if (!strcmp(name + 14, generic[i]))
			return NULL;
	return name + 14;
}

/* "mmu_update" out of Xen's "do_mmu_update", "compat_mmu_update" …; NULL when it is none. */
static const char *told_by_handler(const char *name)
{
	static const char *const prefixes[] = { "do_", "compat_", "hvm_", "arch_", "common_" };
	size_t n = strlen(name), i;

	/* All but the first two have these names for other things, too. */
	for (i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])) &&
		    (i < 2 || (n > 3 && !strcmp(name + n - 3, "_op"))))
			return name + strlen(prefixes[i]);
	return NULL;
}

static const struct frame *frame_at(const struct profile *p, const frame_id *path, size_t i)
{
	return &p->frames.v[path[i]];
}

static const char *name_at(const struct profile *p, const frame_id *path, size_t i)
{
	return strtab_get(p->strings, frame_at(p, path, i)->function);
}

/* What the hypervisor's part of a path, from `at`, says of itself: the hypercall's name, if it
 * does.
 */
static const char *in_hypervisor(const struct profile *p, const frame_id *path, size_t at, size_t n,
				 struct entry *e)
{
	const char *name = NULL, *first = NULL, *last = NULL, *told = NULL;
	size_t i, k;

	e->kind = ENTRY_OTHER;
	for (i = at; i < n; i++) {
		name = name_at(p, path, i);
		for (k = 0; k < ARRAY_SIZE(code) && strcmp(code[k].name, name); k++)
			;
		if (k == ARRAY_SIZE(code))
			break;
		last = name;
		first = first ? first : name;
		if (code[k].kind != ENTRY_NR)
			e->kind = code[k].kind;
		name = NULL;
	}
	if (e->kind == ENTRY_HYPERCALL || e->kind == ENTRY_SYSCALL) {
		told = name ? told_by_handler(name) : NULL;
		/* A system call of the kernel is a hypercall. */
		if (told || (at && frame_at(p, path, at - 1)->space == SPACE_KERNEL))
			e->kind = ENTRY_HYPERCALL;
		if (e->kind == ENTRY_HYPERCALL)
			name = told ? told : "[not told]";
	} else if (e->kind == ENTRY_RETURN) {
		name = first;
	} else if (e->kind == ENTRY_EXCEPTION && name && !strncmp(name, "do_", 3)) {
		name += 3;
	}
	for (k = 0; name && e->kind == ENTRY_EXIT && k < ARRAY_SIZE(reasons); k++)
		if (!strcmp(reasons[k].function, name)) {
			name = reasons[k].reason;
			break;
		}
	e->name = strtab_adds(p->strings, name ? name : last);
	return told;
}

bool entry_of_path(const struct profile *p, const frame_id *path, size_t n, struct entry *e)
{
	const char *told = NULL;
	size_t at = n, up, k;

	memset(e, 0, sizeof(*e));
	while (at && frame_at(p, path, at - 1)->space == SPACE_HV)
		at--;
	if (at < n)
		told = in_hypervisor(p, path, at, n, e);
	if (!at || frame_at(p, path, at - 1)->space != SPACE_KERNEL ||
	    !entry_is_stub(name_at(p, path, at - 1)))
		return at < n;

	/* On a stub of dom0's kernel. */
	e->stub = true;
	for (up = at; up && frame_at(p, path, up - 1)->space == SPACE_KERNEL &&
		      is_wrapper(name_at(p, path, up - 1));
	     up--)
		if (!told)
			told = told_by_wrapper(name_at(p, path, up - 1));
	if (up && frame_at(p, path, up - 1)->space == SPACE_KERNEL) {
		e->caller = frame_at(p, path, up - 1)->function;
		/* What Xen says goes before what the caller is known for. */
		for (k = 0; !told && at == n && k < ARRAY_SIZE(callers); k++)
			if (!strcmp(callers[k].caller, strtab_get(p->strings, e->caller)))
				told = callers[k].hypercall;
		e->caller_idle = view_path_is_idle(p, path, up);
	} else {
		e->caller = strtab_adds(p->strings, "[unknown caller]");
	}
	e->hypercall = told ? strtab_adds(p->strings, told) : 0;
	if (at == n)
		e->kind = ENTRY_HYPERCALL;
	if (e->kind == ENTRY_HYPERCALL)
		e->name = e->hypercall ? e->hypercall : strtab_adds(p->strings, "[not told]");
	return true;
}
