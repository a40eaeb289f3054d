/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is degraded but not failed: counted here by every stage, told once by cli. */
#include "base/base.h"

#define MAX_SUBJECTS 64

/* For buf_plural(). */
static const struct {
	const char *name;
	bool strict;
	const char *text, *remedy;
} kinds[DIAG_NR] = {
	[DIAG_UNKNOWN_RECORD] = { "unknown_record", true,
				  "%n record{|s} of unknown type %s skipped",
				  "made by a newer perf? nothing to do if no samples are missing" },
	[DIAG_BAD_RECORD] = { "bad_record", true, "%n unusable record{|s}, the first: %s",
			      "the recording is damaged or made by a program that does not follow "
			      "perf's format" },
	[DIAG_TRUNCATED] = { "truncated", true, "%s: %n byte{|s} at the end could not be read",
			     "the recording was cut short: copy it again, or let perf finish" },
	[DIAG_DAMAGED] = { "damaged", true, "%s; what came before is used", "copy the file again" },
	[DIAG_UNKNOWN_FEATURE] = { "unknown_feature", false,
				   "feature section %s is unknown and was skipped", NULL },
	[DIAG_LOST] = { "lost", true, "%n sample{ was|s were} lost while recording",
			"record with a larger buffer (-m) or a lower frequency (-F)" },
	[DIAG_UNKNOWN_ID] = { "unknown_id", true,
			      "%n sample{ carries|s carry} an event id that no event of the "
			      "recording has; "
			      "counted for the first event",
			      NULL },
	[DIAG_OUT_OF_ORDER] = { "out_of_order", true,
				"%n record{ was|s were} older than what had been processed already",
				"mappings may have been applied late" },
	[DIAG_BAD_LINE] = { "bad_line", true, "%n line{|s} not understood, the first: %s",
			    "is this the output of 'perf script' or folded stacks?" },
	[DIAG_NO_CHAIN] = { "no_chain", true,
			    "%n sample{ has|s have} no address at all and {is|are} shown as "
			    "{its|their} command "
			    "alone",
			    NULL },
	[DIAG_IP_ZERO] = { "ip_zero", true,
			   "%n sample{ has|s have} instruction pointer 0 and no call chain",
			   "they say nothing of what ran: record with another event (-e cycles, or "
			   "-e cpu-clock)" },
	[DIAG_IP_ZERO_GUEST] = { "ip_zero_guest", true,
				 "%n guest sample{ has|s have} instruction pointer 0 and no call "
				 "chain",
				 "on Xen, with vPMU on, dom0 marks software events as guest "
				 "samples: record a hardware event (-e cycles) or boot Xen with "
				 "vpmu=off" },
	[DIAG_BROKEN_STACK] = { "broken_stack", false,
				"%n sample{ holds|s hold} addresses outside every mapping, shown "
				"as [broken stack]; %s",
				"--addrs shows the addresses" },
	[DIAG_GARBAGE_CONTEXT] = { "garbage_context", false,
				   "%n chain entr{y looks like a context marker but is|ies look "
				   "like context markers but are} none; left "
				   "out",
				   NULL },
	[DIAG_TRUNCATED_STACK] = { "truncated_stack", false,
				   "%n stack{ ends|s end} where the saved piece of stack ends",
				   "record with a larger piece: --call-graph=dwarf,65528" },
	[DIAG_HV_DEPTH_1] = { "hv_depth_1", false,
			      "%n of the hypervisor samples {has|have} a single hypervisor frame",
			      "call chains need a Xen with frame pointers and the stack trace "
			      "patches (xenflame doctor)" },
	[DIAG_HV_SOFTWARE_EVENT] = { "hv_software_event", false,
				     "event %s is a software clock: this recording cannot contain "
				     "hypervisor frames",
				     "boot Xen with vpmu=on and record a hardware event: perf kvm "
				     "--host --guest record -e cycles -a -g" },
	[DIAG_IMPOSSIBLE_PERIOD] = { "impossible_period", false,
				     "%n period{ is|s are} larger than the time between the "
				     "samples can "
				     "hold",
				     "weigh by samples (the default), not by --weight=period" },
	[DIAG_UNRESOLVED_HV] = { "unresolved_hypervisor", true,
				 "%n hypervisor frame{|s} without a name (%s)",
				 "put the matching xen-syms beside the recording, or name it by "
				 "--xen-syms=FILE" },
	[DIAG_UNRESOLVED_KERNEL] = { "unresolved_kernel", true,
				     "%n kernel frame{|s} without a name (%s)",
				     "save /proc/kallsyms as 'kallsyms' beside the recording (as "
				     "root), or use --kallsyms=FILE" },
	[DIAG_UNRESOLVED_USER] = { "unresolved_user", true, "%n user frame{|s} without a name (%s)",
				   "install its debug symbols, or give the recorded system's files "
				   "by --symfs=DIR" },
	[DIAG_UNRESOLVED_GUEST] = { "unresolved_guest", false,
				    "%n guest frame{|s} without a name (%s)",
				    "--guest-kallsyms=FILE names the kernels of guests; their "
				    "programs stay without names" },
	[DIAG_BUILD_ID_MISMATCH] = { "build_id_mismatch", true, "%s: not used",
				     "find the file of the recorded system, or use it all the same "
				     "by --force" },
	[DIAG_SYMBOL_FILE] = { "symbol_file", true, "%s", NULL },
	[DIAG_OTHER_EVENTS] = { "other_events", false, "event %s with %n sample{|s} is not drawn",
				"--event=NAME picks it, --event=all draws all" },
	[DIAG_GUEST_SAMPLES] = { "guest_samples", false,
				 "%n sample{|s} of guests, shown under [guest]", NULL },
	[DIAG_CPU_UNSEEN] = { "cpu_unseen", false,
			      "%n CPU{|s} of the host {has|have} no sample (%s)",
			      "dom0 needs as many vCPUs as the host has CPUs, pinned: "
			      "dom0_max_vcpus=, dom0_vcpus_pin" },
	[DIAG_SUM_LIMIT] = { "sum_limit", true, "%s",
			     "give smaller counts (folded output of one column goes to 2^128 - 1 "
			     "for each stack)" },
	[DIAG_NOTE] = { "note", false, "%s", NULL },
};

void diag_init(struct diag *d)
{
	memset(d, 0, sizeof(*d));
	strtab_init(&d->strings);
}

void diag_release(struct diag *d)
{
	strtab_release(&d->strings);
	vec_release(&d->entries);
}

void diag_add(struct diag *d, enum diag_kind kind, u64 count, const char *subject)
{
	char clean[512];
	str_id id;
	size_t i;

	for (i = 0; !subject && i < d->entries.n; i++)
		if (d->entries.v[i].kind == kind) {
			d->entries.v[i].count = add_saturated(d->entries.v[i].count, count);
			return;
		}
	snprintf(clean, sizeof(clean), "%s", subject ? subject : "");
	make_safe(clean);
	id = strtab_adds(&d->strings, clean);
	for (;;) {
		for (i = 0; i < d->entries.n; i++)
			if (d->entries.v[i].kind == kind && d->entries.v[i].subject == id) {
				d->entries.v[i].count = add_saturated(d->entries.v[i].count, count);
				return;
			}
		if (d->subjects[kind] < MAX_SUBJECTS ||
		    id == strtab_find(&d->strings, "…", strlen("…")))
			break;
		id = strtab_adds(&d->strings, "…");
	}
	d->subjects[kind]++;
	vec_push(&d->entries, ((struct diag_entry){ .kind = kind, .subject = id, .count = count }));
}

void diag_addf(struct diag *d, enum diag_kind kind, u64 count, const char *fmt, ...)
{
	char subject[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(subject, sizeof(subject), fmt, ap);
	va_end(ap);
	diag_add(d, kind, count, subject);
}

void diag_note(struct diag *d, const char *text, u64 n, const char *subject)
{
	struct buf b = BUF_INIT;

	if (n) {
		buf_plural(&b, text, n, subject);
		diag_add(d, DIAG_NOTE, 1, buf_str(&b));
	}
	buf_release(&b);
}

u64 diag_count(const struct diag *d, enum diag_kind kind)
{
	u64 sum = 0;
	size_t i;

	for (i = 0; i < d->entries.n; i++)
		if (d->entries.v[i].kind == kind)
			sum = add_saturated(sum, d->entries.v[i].count);
	return sum;
}

void diag_format(const struct diag *d, const struct diag_entry *e, struct buf *b)
{
	buf_plural(b, kinds[e->kind].text, e->count, strtab_get(&d->strings, e->subject));
	if (kinds[e->kind].remedy) {
		buf_puts(b, "; ");
		buf_puts(b, kinds[e->kind].remedy);
	}
}

bool diag_is_strict(enum diag_kind kind)
{
	return kinds[kind].strict;
}

const char *diag_name(enum diag_kind kind)
{
	return kinds[kind].name;
}
