/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Xen console logs: what debug key `d`, a panic, a WARN or the watchdog prints
 * of each CPU becomes a sample.
 *
 *	(XEN) [  188.013073] *** Dumping CPU0 host state: ***
 *	(XEN) [  188.014344] ----[ Xen-4.17.7  x86_64  debug=n  Not tainted ]----
 *	(XEN) [  188.021051] CPU:    0
 *	(XEN) [  188.021408] RIP:    e008:[<ffff82d040230600>] do_softirq+0/0x10
 *	(XEN) [  188.022580] RFLAGS: 0000000000000202   CONTEXT: hypervisor (d0v0)
 *	(XEN) [  188.197035] Xen call trace:
 *	(XEN) [  188.197387]    [<ffff82d040230600>] R do_softirq+0/0x10
 *	(XEN) [  188.198135]    [<ffff82d040204986>] S x86_64/entry.S#process_softirqs+0x6/0x20
 *	(XEN) [  188.241546] *** Dumping CPU0 guest state (d0v0): ***
 *
 * A stack is the call trace, below it the address at which the guest had been
 * interrupted when the guest's state is printed too, below that the vCPU and the
 * domain ("[xen]" when no domain is named: the idle vCPU).  R lines are registers,
 * F lines come from frame pointers, S lines are words of the stack that look like
 * return addresses: doubtful.  Facts: xen/arch/x86/traps.c, xen/arch/arm/traps.c,
 * and logs of Xen 4.4 to 4.20.
 */
#include <stdlib.h>

#include "perf/text.h"

struct console {
	struct text_pipe *pipe; /* first, for text_pipe_new() */
	u64 samples;
};

struct console_worker {
	VEC(struct span) keys; /* by entry */
	struct index index;
	struct buf key;
};

/* A register dump under way. */
struct record {
	bool open, in_trace, guest_part;
	bool scanned; /* a release build that marks no lines: anything but the first is a guess */
	bool has_rip;
	struct text_def rip;   /* of Xen, when no call trace follows */
	struct text_def guest; /* where the guest was; flags 0: not known */
	u64 time;
	u32 cpu, vcpu;
	struct span domain, vcpu_name;
	VEC(u32) frames; /* entries, leaf first */
};

/* ---- frames ---- */

struct key {
	const char *p;
	size_t n;
};

static bool key_eq(const void *ctx, u32 id, const void *key)
{
	const struct span *s = &((const struct console_worker *)ctx)->keys.v[id];
	const struct key *k = key;

	return s->n == k->n && !memcmp(s->p, k->p, k->n);
}

static struct span keep(struct text_worker *w, struct span s)
{
	return (struct span){ arena_strndup(&w->arena, s.p, s.n), s.n };
}

/* Entry of an equal frame; its strings are copied when it is new. */
static u32 entry(struct text_worker *w, struct text_piece *piece, struct text_def d)
{
	struct console_worker *cw = w->priv;
	struct span copy;
	struct key k;
	u64 hash;
	u32 id;

	buf_clear(&cw->key);
	buf_printf(&cw->key, "%" PRIx64 " %u %u %zu %zu ", d.addr, d.flags, d.space, d.symbol.n,
		   d.module.n);
	buf_put(&cw->key, d.symbol.p, d.symbol.n);
	buf_put(&cw->key, d.module.p, d.module.n);
	buf_put(&cw->key, d.file.p, d.file.n);
	k = (struct key){ cw->key.p, cw->key.n };
	hash = hash_bytes(k.p, k.n, 0);
	id = index_find(&cw->index, hash, key_eq, cw, &k);
	if (id != INDEX_NONE)
		return id;
	copy = keep(w, (struct span){ k.p, k.n });
	d.symbol = keep(w, d.symbol);
	d.module = keep(w, d.module);
	d.file = keep(w, d.file);
	vec_push(&cw->keys, copy);
	vec_push(&piece->defs, d);
	id = w->n_defs++;
	index_add(&cw->index, hash, id);
	return id;
}

/* "file.c#symbol+0x1/0x20 [livepatch]"; an address alone is no symbol. */
static void take_symbol(struct span s, struct text_def *d)
{
	size_t i;

	s = span_trim(s);
	d->module = (struct span){ "xen-syms", strlen("xen-syms") };
	if (s.n && s.p[s.n - 1] == ']') {
		for (i = s.n; i && s.p[i - 1] != '['; i--)
			;
		if (i > 1) {
			d->module = (struct span){ s.p + i, s.n - i - 1 };
			s = span_trim((struct span){ s.p, i - 1 });
		}
	}
	for (i = s.n; i && s.p[i - 1] != '+'; i--)
		;
	if (i > 1 && memchr(s.p + i, '/', s.n - i))
		s.n = i - 1;
	for (i = s.n; i && s.p[i - 1] != '#'; i--)
		;
	if (i > 1 && i < s.n) {
		d->file = (struct span){ s.p, i - 1 };
		s.p += i;
		s.n -= i;
	}
	d->symbol = s;
}

/* "[<address>]" at the start; *s then stands behind it. */
static bool take_addr(struct span *s, u64 *addr)
{
	const char *p = s->p + 2, *end = s->p + s->n;

	if (!span_starts(*s, "[<") || parse_hex(&p, end, addr) || end - p < 2 || p[0] != '>' ||
	    p[1] != ']')
		return false;
	s->n -= (size_t)(p + 2 - s->p);
	s->p = p + 2;
	return true;
}

/* ---- records ---- */

static void record_close(struct text_worker *w, struct text_piece *piece, struct record *rec)
{
	struct text_sample s = {
		.time = rec->time,
		.period = 1,
		.count = 1,
		.pid = PERF_NO_PID,
		.tid = PERF_NO_PID,
		.cpu = rec->cpu,
		.vcpu = rec->vcpu,
		.comm = TEXT_NO_NAME,
		.event = TEXT_NO_NAME,
		.chain = (u32)piece->chain.n,
	};
	struct text_def root = { .space = SPACE_NONE, .flags = TEXT_ROOT };
	size_t i;

	if (rec->open && (rec->frames.n || rec->has_rip || rec->guest.flags)) {
		if (!rec->frames.n && rec->has_rip)
			vec_push(&rec->frames, entry(w, piece, rec->rip));
		for (i = 0; i < rec->frames.n; i++)
			vec_push(&piece->chain, rec->frames.v[i] * TEXT_VARIANTS);
		if (rec->guest.flags)
			vec_push(&piece->chain, entry(w, piece, rec->guest) * TEXT_VARIANTS);
		if (rec->vcpu_name.n) {
			root.symbol = rec->vcpu_name;
			vec_push(&piece->chain, entry(w, piece, root) * TEXT_VARIANTS);
		}
		root.symbol = rec->domain.n ? rec->domain : (struct span){ "[xen]", 5 };
		vec_push(&piece->chain, entry(w, piece, root) * TEXT_VARIANTS);
		s.chain_nr = (u32)(piece->chain.n - s.chain);
		vec_push(&piece->samples, s);
	}
	rec->frames.n = 0;
	rec->open = false;
}

static void record_open(struct record *rec, u64 time)
{
	rec->open = true;
	rec->in_trace = rec->guest_part = rec->scanned = rec->has_rip = false;
	memset(&rec->rip, 0, sizeof(rec->rip));
	memset(&rec->guest, 0, sizeof(rec->guest));
	rec->time = time;
	rec->cpu = rec->vcpu = PERF_NO_CPU;
	rec->domain.n = rec->vcpu_name.n = 0;
	rec->frames.n = 0;
}

/* "d0v1": domain and vCPU. */
static void take_vcpu(struct record *rec, struct span s)
{
	size_t i = s.n;
	u64 v;
	const char *p;

	while (i && is_digit(s.p[i - 1]))
		i--;
	if (i < 2 || i == s.n || s.p[i - 1] != 'v' || s.p[0] != 'd')
		return;
	p = s.p + i;
	if (parse_dec(&p, s.p + s.n, &v) || v >= PERF_NO_CPU)
		return;
	rec->domain = (struct span){ s.p, i - 1 };
	rec->vcpu_name = s;
	rec->vcpu = (u32)v;
}

/* "(d0v1)" somewhere in s. */
static void take_vcpu_in(struct record *rec, struct span s)
{
	const char *open = memmem(s.p, s.n, "(d", 2), *close;

	if (!open)
		return;
	close = memchr(open, ')', (size_t)(s.p + s.n - open));
	if (close)
		take_vcpu(rec, (struct span){ open + 1, (size_t)(close - open - 1) });
}

/* Dom0's kernel and user code; that of other domains is a guest's. */
static u8 guest_space(const struct record *rec, u64 addr)
{
	bool dom0 = span_is(rec->domain, "d0"), kernel = addr >> 63;

	if (dom0)
		return kernel ? SPACE_KERNEL : SPACE_USER;
	return kernel ? SPACE_GUEST_KERNEL : SPACE_GUEST_USER;
}

/* "e008:[<ffff82d040230600>] do_softirq+0/0x10"; on Arm without brackets. */
static void take_rip(struct record *rec, struct span s)
{
	struct text_def d = { .flags = TEXT_HAS_ADDR | TEXT_EXACT, .space = SPACE_HV };
	const char *p;

	s = span_trim(s);
	p = memmem(s.p, s.n, "[<", 2);
	if (p) {
		s.n -= (size_t)(p - s.p);
		s.p = p;
		if (!take_addr(&s, &d.addr))
			return;
	} else {
		p = s.p;
		if (parse_hex(&p, s.p + s.n, &d.addr))
			return;
		s.n -= (size_t)(p - s.p);
		s.p = p;
	}
	if (rec->guest_part) {
		rec->guest = d;
		return;
	}
	take_symbol(s, &d);
	rec->rip = d;
	rec->has_rip = true;
}

/* "[<address>] R symbol"; false: this is no line of a call trace. */
static bool trace_line(struct text_worker *w, struct text_piece *piece, struct record *rec,
		       struct span s)
{
	struct text_def d = { .flags = TEXT_HAS_ADDR, .space = SPACE_HV };

	s = span_trim(s);
	if (!take_addr(&s, &d.addr))
		return false;
	s = span_trim(s);
	if (s.n && (s.n == 1 || s.p[1] == ' ') &&
	    (s.p[0] == 'R' || s.p[0] == 'F' || s.p[0] == 'S')) {
		if (s.p[0] == 'R')
			d.flags |= TEXT_EXACT;
		else if (s.p[0] == 'S')
			d.flags |= TEXT_DOUBTFUL;
		s.p++;
		s.n--;
	} else if (!rec->frames.n) {
		d.flags |= TEXT_EXACT;
	} else if (rec->scanned) {
		d.flags |= TEXT_DOUBTFUL;
	}
	/* Arm tells the registers so. */
	if (span_ends(s, " (PC)") || span_ends(s, " (LR)"))
		s.n -= 5;
	take_symbol(s, &d);
	vec_push(&rec->frames, entry(w, piece, d));
	return true;
}

/* ---- lines ---- */

/* What stands behind "(XEN) [time] "; false: the line is not Xen's. */
static bool xen_line(const char *p, const char *end, struct span *s, u64 *time)
{
	const char *x = memmem(p, MIN((size_t)(end - p), 120), "(XEN)", 5), *q, *close, *dot;
	u64 sec, frac;
	int digits;

	*time = PERF_NO_TIME;
	if (!x)
		return false;
	*s = span_trim((struct span){ x + 5, (size_t)(end - x - 5) });
	if (!s->n || s->p[0] != '[' || (s->n > 1 && s->p[1] == '<'))
		return true;
	close = memchr(s->p, ']', s->n);
	if (!close)
		return true;
	q = s->p + 1;
	while (q < close && is_blank(*q))
		q++;
	if (!parse_dec(&q, close, &sec) && q < close && *q == '.') {
		dot = ++q;
		if (!parse_dec(&q, close, &frac) && q == close && q - dot <= 9 &&
		    sec < UINT64_MAX / 1000000000 - 1) {
			for (digits = (int)(q - dot); digits < 9; digits++)
				frac *= 10;
			*time = sec * 1000000000 + frac;
		}
	}
	s->n -= (size_t)(close + 1 - s->p);
	s->p = close + 1;
	*s = span_trim(*s);
	return true;
}

/* The number behind a word: "CPU:    0", "Dumping CPU0 host". */
static u32 number_at(struct span s, size_t skip)
{
	const char *p = s.p + skip, *end = s.p + s.n;
	u64 v;

	while (p < end && is_blank(*p))
		p++;
	return p < end && !parse_dec(&p, end, &v) && v < PERF_NO_CPU ? (u32)v : PERF_NO_CPU;
}

static void line(struct text_worker *w, struct text_piece *piece, struct record *rec, struct span s,
		 u64 time)
{
	static const char dump[] = "*** Dumping ";
	const char *p;

	if (rec->in_trace) {
		if (trace_line(w, piece, rec, s))
			return;
		rec->in_trace = false;
	}
	if (span_starts(s, dump)) {
		struct span what = { s.p + sizeof(dump) - 1, s.n - sizeof(dump) + 1 };
		bool guest = memmem(s.p, s.n, "host state", 10) == NULL;
		u32 cpu = span_starts(what, "CPU") ? number_at(what, 3) : PERF_NO_CPU;

		/* The guest below the hypervisor's frames of the same CPU. */
		if (!(guest && rec->open && cpu != PERF_NO_CPU && cpu == rec->cpu &&
		      !rec->guest_part)) {
			record_close(w, piece, rec);
			record_open(rec, time);
			rec->cpu = cpu;
		}
		rec->guest_part = guest;
		take_vcpu_in(rec, s);
	} else if (span_starts(s, "----[ Xen")) {
		if (!rec->open || (!rec->guest_part && (rec->has_rip || rec->frames.n))) {
			record_close(w, piece, rec);
			record_open(rec, time);
		}
		rec->scanned = memmem(s.p, s.n, "debug=n", 7) != NULL;
	} else if (span_starts(s, "Xen call trace:")) {
		if (!rec->open || rec->frames.n) {
			record_close(w, piece, rec);
			record_open(rec, time);
		}
		rec->in_trace = true;
	} else if (!rec->open) {
		return;
	} else if (span_starts(s, "CPU:")) {
		rec->cpu = number_at(s, 4);
	} else if (span_starts(s, "RIP:") || span_starts(s, "EIP:")) {
		take_rip(rec, (struct span){ s.p + 4, s.n - 4 });
	} else if (span_starts(s, "PC:")) {
		take_rip(rec, (struct span){ s.p + 3, s.n - 3 });
	} else {
		p = memmem(s.p, s.n, "CONTEXT:", 8);
		if (!p)
			return;
		s.n -= (size_t)(p - s.p);
		s.p = p;
		take_vcpu_in(rec, s);
		/* Without "Dumping … guest": the context says whose registers these are. */
		if (memmem(s.p, s.n, "guest", 5) && !rec->guest_part && rec->has_rip) {
			rec->guest = rec->rip;
			rec->has_rip = false;
		}
		if (rec->guest.flags) {
			rec->guest.space = guest_space(rec, rec->guest.addr);
			rec->guest.symbol.n = rec->guest.module.n = rec->guest.file.n = 0;
		}
	}
}

static void parse(struct text_worker *w, struct text_piece *piece)
{
	const char *p = piece->p, *end = piece->end, *nl;
	struct record rec = { .open = false };
	struct span s;
	u64 time;

	for (; p < end; p = nl + 1, piece->lines++) {
		nl = memchr(p, '\n', (size_t)(end - p));
		if (!nl)
			nl = end;
		if (xen_line(p, nl, &s, &time))
			line(w, piece, &rec, s, time);
	}
	record_close(w, piece, &rec);
	vec_release(&rec.frames);
}

/* Before a CPU's dump. */
static size_t cut(const void *ctx, const char *text, size_t n)
{
	static const char mark[] = "host state: ***";
	const char *p = text + n, *start;

	(void)ctx;
	while ((p = memrchr(text, '*', (size_t)(p - text)))) {
		size_t at = (size_t)(p - text) + 1;

		if (at >= sizeof(mark) - 1 &&
		    !memcmp(text + at - (sizeof(mark) - 1), mark, sizeof(mark) - 1)) {
			start = memrchr(text, '\n', at - 1);
			return start ? (size_t)(start - text) + 1 : 0;
		}
	}
	return 0;
}

static void worker_init(struct text_worker *w)
{
	struct console_worker *cw = xcalloc(1, sizeof(*cw));

	index_init(&cw->index);
	w->priv = cw;
}

static void worker_release(struct text_worker *w)
{
	struct console_worker *cw = w->priv;

	index_release(&cw->index);
	vec_release(&cw->keys);
	buf_release(&cw->key);
	free(cw);
}

static const struct text_ops ops = {
	.cut = cut,
	.worker_init = worker_init,
	.worker_release = worker_release,
	.parse = parse,
};

/* ---- the format ---- */

static int console_probe(const u8 *head, size_t n, bool is_dir)
{
	const char *p = (const char *)head, *end = p + n, *nl;
	unsigned xen = 0, lines = 0;

	if (is_dir)
		return 0;
	for (; p < end && lines < 400; p = nl + 1) {
		nl = memchr(p, '\n', (size_t)(end - p));
		if (!nl)
			nl = end;
		lines++;
		xen += memmem(p, MIN((size_t)(nl - p), 120), "(XEN)", 5) != NULL;
	}
	return xen > 2 && xen * 4 >= lines ? 60 : xen ? 4 : 0;
}

static int console_open(struct perf_reader *r, struct error *err)
{
	struct console *c;

	if (r->in.is_dir)
		return error_set(err, "'%s': is a directory", input_name(&r->in));
	c = xcalloc(1, sizeof(*c));
	r->priv = c;
	c->pipe = text_pipe_new(r, &ops, c, "samples");
	return 0;
}

static int console_next(struct perf_reader *r, struct perf_item *item, struct error *err)
{
	struct console *c = r->priv;
	int ret = text_pipe_next(c->pipe, item, err);

	if (ret > 0 && !c->samples++)
		diag_add(r->diag, DIAG_NOTE, 1,
			 "call traces of a console show where CPUs took the interrupt that asked "
			 "for them, not where time "
			 "was spent (code with interrupts off shows where they come on again); "
			 "frames marked doubtful are words "
			 "of the stack that look like return addresses");
	if (!ret && !c->samples)
		return error_set(err,
				 "'%s': no call trace in this Xen console log: press debug key 'd' "
				 "some times "
				 "('xl debug-keys d'), then save 'xl dmesg'",
				 input_name(&r->in));
	return ret;
}

static void console_close(struct perf_reader *r)
{
	struct console *c = r->priv;

	if (!c)
		return;
	text_pipe_free(c->pipe);
	text_frames_free(r->text);
	free(c);
}

const struct perf_format format_xen_console = {
	.name = "xen-console",
	.title = "Xen console log",
	.probe = console_probe,
	.open = console_open,
	.next = console_next,
	.close = console_close,
};
