/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A view in a few lists: who, where, and which hypercalls. */
#include "profile/profile.h"

/* ---- lists by name ---- */

static void count(struct summary_part *parts, u32 *slot, size_t *n, str_id name, u64 weight,
		  u64 idle)
{
	if (slot[name] == UINT32_MAX) {
		slot[name] = (u32)*n;
		parts[(*n)++] = (struct summary_part){ .name = name };
	}
	parts[slot[name]].weight += weight;
	parts[slot[name]].idle += idle;
}

struct order {
	const struct view *v;
	bool by_total;
};

static int by_name(const struct view *v, str_id a, str_id b)
{
	return strcmp(strtab_get(v->profile->strings, a), strtab_get(v->profile->strings, b));
}

static int cmp_part(const void *pa, const void *pb, void *ctx)
{
	const struct summary_part *a = pa, *b = pb;

	return a->weight != b->weight ? (a->weight < b->weight ? 1 : -1)
				      : by_name(((struct order *)ctx)->v, a->name, b->name);
}

static int cmp_hypercall(const void *pa, const void *pb, void *ctx)
{
	const struct summary_hypercall *a = pa, *b = pb;
	int c;

	if (a->weight != b->weight)
		return a->weight < b->weight ? 1 : -1;
	c = by_name(((struct order *)ctx)->v, a->caller, b->caller);
	return c ? c : by_name(((struct order *)ctx)->v, a->name, b->name);
}

static int cmp_frames(const struct profile *p, frame_id a, frame_id b)
{
	const struct frame *fa = &p->frames.v[a], *fb = &p->frames.v[b];
	int c = strcmp(strtab_get(p->strings, fa->function), strtab_get(p->strings, fb->function));

	if (!c)
		c = strcmp(strtab_get(p->strings, fa->module), strtab_get(p->strings, fb->module));
	if (!c && fa->space != fb->space)
		c = fa->space < fb->space ? -1 : 1;
	return c ? c : (a > b) - (a < b);
}

static int cmp_function(const void *pa, const void *pb, void *ctx)
{
	const struct summary_function *a = pa, *b = pb;
	const struct order *o = ctx;
	u64 a1 = o->by_total ? a->total : a->self, b1 = o->by_total ? b->total : b->self;
	u64 a2 = o->by_total ? a->self : a->total, b2 = o->by_total ? b->self : b->total;

	if (a1 != b1)
		return a1 < b1 ? 1 : -1;
	if (a2 != b2)
		return a2 < b2 ? 1 : -1;
	return cmp_frames(o->v->profile, a->frame, b->frame);
}

/* Preorder is by name, so the place in it decides between equal ones. */
static int cmp_stack(const void *pa, const void *pb, void *ctx)
{
	const struct view *v = ((struct order *)ctx)->v;
	u32 a = *(const u32 *)pa, b = *(const u32 *)pb;
	u64 sa = v->nodes.v[a].self, sb = v->nodes.v[b].self;

	return sa != sb ? (sa < sb ? 1 : -1) : (a > b) - (a < b);
}

/* ---- hypercalls ---- */

static const char *name_of(const struct view *v, u32 node)
{
	return strtab_get(v->profile->strings,
			  v->profile->frames.v[v->nodes.v[node].frame].function);
}

static enum space space_of(const struct view *v, u32 node)
{
	return (enum space)v->profile->frames.v[v->nodes.v[node].frame].space;
}

static bool is_stub(const char *name)
{
	return !strncmp(name, "xen_hypercall_", 14) || !strcmp(name, "hypercall_page");
}

/* Linux' inline functions around the stubs (arch/x86/include/asm/xen/hypercall.h,
 * drivers/xen/privcmd.c). */
static bool is_wrapper(const char *name)
{
	return is_stub(name) || !strncmp(name, "HYPERVISOR_", 11) ||
	       !strcmp(name, "xen_single_call") || !strcmp(name, "privcmd_call");
}

/* Which hypercall a function of Linux makes (arch/x86/xen/, drivers/xen/ of 5.10 to 6.12), where it
 * makes one kind only. */
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

/* "sched_op" out of "HYPERVISOR_sched_op" and, in kernels with a stub each,
 * "xen_hypercall_sched_op"; NULL else. */
static const char *hypercall_of(const char *name)
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

static bool hypercall_eq(const void *ctx, u32 id, const void *key)
{
	const struct summary_hypercall *a = &((const struct summary *)ctx)->hypercalls.v[id],
				       *b = key;

	return a->caller == b->caller && a->name == b->name;
}

/*
 * Adds the weight of a node in or on a stub: `stub` is the stub's node, `entry` what Xen's entry
 * code called when hypervisor frames stand on it, else 0.  What Xen says goes before what the
 * caller is known for.
 */
static void add_hypercall(struct summary *s, struct index *ix, const struct view *v, u32 stub,
			  str_id entry, u64 weight)
{
	struct strtab *t = v->profile->strings;
	const char *name = hypercall_of(name_of(v, stub)), *inside = strtab_get(t, entry);
	struct summary_hypercall h = { .weight = weight };
	u32 up = stub, id;
	u64 hash;
	size_t k;

	while ((up = v->nodes.v[up].parent) && space_of(v, up) == SPACE_KERNEL &&
	       is_wrapper(name_of(v, up)))
		if (!name)
			name = hypercall_of(name_of(v, up));
	if (!strncmp(inside, "do_", 3))
		name = inside + 3;
	if (up && space_of(v, up) == SPACE_KERNEL) {
		h.caller = v->profile->frames.v[v->nodes.v[up].frame].function;
		for (k = 0; !name && !entry && k < ARRAY_SIZE(callers); k++)
			if (!strcmp(callers[k].caller, strtab_get(t, h.caller)))
				name = callers[k].hypercall;
	} else {
		h.caller = strtab_adds(t, "[unknown caller]");
	}
	h.name = name ? strtab_adds(t, name) : 0;
	h.idle = up && view_is_idle(v, up);
	hash = hash_u64((u64)h.caller << 32 | h.name);
	id = index_find(ix, hash, hypercall_eq, s, &h);
	if (id != INDEX_NONE) {
		s->hypercalls.v[id].weight += h.weight;
		return;
	}
	index_add(ix, hash, (u32)s->hypercalls.n);
	vec_push(&s->hypercalls, h);
}

/* Code between the processor and the function that does the work: entry points and their
 * dispatchers in Xen. */
static bool is_entry_code(const char *name)
{
	static const char *const names[] = {
		"lstar_enter",
		"cstar_enter",
		"sysenter_entry",
		"int80_direct_trap",
		"int80_slow_path",
		"pv_hypercall",
		"_pv_hypercall",
		"hvm_hypercall",
		"handle_exception",
		"handle_exception_saved",
		"common_interrupt",
		"entry_int82",
		"vmx_asm_vmexit_handler",
		"vmx_vmexit_handler",
		"svm_asm_do_resume",
		"svm_vmexit_handler",
		"svm_stgi_label",
		"test_all_events",
		"process_trap",
		"process_softirqs",
		"restore_all_guest",
		"compat_hypercall",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

/*
 * The function that names the hypervisor's part of a stack which ends at `node`: the outermost one
 * behind the entry code. *below: the node that this part stands on.
 */
static str_id entry_of(const struct view *v, u32 node, u32 *below)
{
	str_id name = 0, outer = 0;

	for (; node && space_of(v, node) == SPACE_HV; node = v->nodes.v[node].parent) {
		outer = v->profile->frames.v[v->nodes.v[node].frame].function;
		if (!is_entry_code(strtab_get(v->profile->strings, outer)))
			name = outer;
	}
	*below = node;
	return name ? name : outer;
}

void summary_build(struct summary *s, const struct view *v, size_t max_stacks)
{
	const struct profile *p = v->profile;
	struct order order = { .v = v };
	u32 *open = xcalloc(p->frames.n + 1, sizeof(*open)), *path, *slot, depth = 0, top = 0;
	struct summary_part *parts;
	struct index ix;
	size_t i, n = 0, names;

	index_init(&ix);
	memset(s, 0, sizeof(*s));
	s->total = v->nodes.v[0].total;
	path = xcalloc((size_t)v->max_depth + 2, sizeof(*path));
	vec_reserve(&s->functions, p->frames.n + 1);
	for (i = 0; i < p->frames.n; i++)
		vec_push(&s->functions, ((struct summary_function){ .frame = (frame_id)i }));

	/* Hypercalls may add names, all others are there. */
	for (i = 1; i < v->nodes.n; i++) {
		u32 below = (u32)i;
		str_id entry = 0;

		if (!v->nodes.v[i].self)
			continue;
		if (space_of(v, (u32)i) == SPACE_HV)
			entry = entry_of(v, (u32)i, &below);
		if (below && space_of(v, below) == SPACE_KERNEL && is_stub(name_of(v, below)))
			add_hypercall(s, &ix, v, below, entry, v->nodes.v[i].self);
	}
	index_release(&ix);
	names = p->strings->str.n;
	slot = xreallocarray(NULL, names + 1, sizeof(*slot));
	parts = xcalloc(names + 1, sizeof(*parts));

	memset(slot, 0xff, (names + 1) * sizeof(*slot));
	for (i = 1; i < v->nodes.n; i++) {
		const struct view_node *node = &v->nodes.v[i];
		u64 idle = node->self && view_is_idle(v, (u32)i) ? node->self : 0;
		enum space space = space_of(v, (u32)i);

		while (depth >= node->depth)
			open[path[depth--]]--;
		path[++depth] = node->frame;
		s->functions.v[node->frame].self += node->self;
		if (!open[node->frame]++)
			s->functions.v[node->frame].total += node->total;
		if (node->depth == 1)
			top = (u32)i;
		if (!node->self)
			continue;
		s->by_space[space] += node->self;
		s->idle_by_space[space] += idle;
		s->idle += idle;
		count(parts, slot, &n, p->frames.v[v->nodes.v[top].frame].function, node->self,
		      idle);
		vec_push(&s->stacks, (u32)i);
	}
	for (i = 0; i < n; i++)
		vec_push(&s->processes, parts[i]);

	memset(slot, 0xff, (names + 1) * sizeof(*slot));
	for (i = 1, n = 0; i < v->nodes.n; i++)
		if (v->nodes.v[i].self && space_of(v, (u32)i) == SPACE_HV)
			count(parts, slot, &n, entry_of(v, (u32)i, &top), v->nodes.v[i].self,
			      view_is_idle(v, (u32)i) ? v->nodes.v[i].self : 0);
	for (i = 0; i < n; i++)
		vec_push(&s->entries, parts[i]);

	for (i = n = 0; i < s->functions.n; i++)
		if (s->functions.v[i].total &&
		    !(p->frames.v[s->functions.v[i].frame].flags & FRAME_GROUP))
			s->functions.v[n++] = s->functions.v[i];
	s->functions.n = n;
	summary_sort_functions(s, v, false);
	if (s->processes.n)
		qsort_r(s->processes.v, s->processes.n, sizeof(*s->processes.v), cmp_part, &order);
	if (s->entries.n)
		qsort_r(s->entries.v, s->entries.n, sizeof(*s->entries.v), cmp_part, &order);
	if (s->hypercalls.n)
		qsort_r(s->hypercalls.v, s->hypercalls.n, sizeof(*s->hypercalls.v), cmp_hypercall,
			&order);
	if (s->stacks.n)
		qsort_r(s->stacks.v, s->stacks.n, sizeof(*s->stacks.v), cmp_stack, &order);
	s->stacks.n = MIN(s->stacks.n, max_stacks);
	free(open);
	free(path);
	free(slot);
	free(parts);
}

void summary_sort_functions(struct summary *s, const struct view *v, bool by_total)
{
	struct order order = { .v = v, .by_total = by_total };

	if (s->functions.n)
		qsort_r(s->functions.v, s->functions.n, sizeof(*s->functions.v), cmp_function,
			&order);
}

void summary_release(struct summary *s)
{
	vec_release(&s->processes);
	vec_release(&s->functions);
	vec_release(&s->hypercalls);
	vec_release(&s->entries);
	vec_release(&s->stacks);
}
