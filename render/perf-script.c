/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text as `perf script` prints it, with names in place: what speedscope, Firefox Profiler,
 * Perfetto, flamescope, flamegraph.pl and inferno read, and we ourselves.
 *
 * Kept samples are written as they came, with their time, cpu, pid and tid.  Without them each
 * stack is one sample with its weight as the period; its time is the sum of the weights before it,
 * in microseconds, since some importers guess weights from the time between samples.
 *
 * The outermost frame stands where perf has the comm, whether it is one or, in a view that starts
 * at a function, that function.  A profile has no addresses.  Each frame gets a made-up one, in the
 * half of the address space where its kind of code lives; a line at the start says so.
 */
#include "render/export.h"

/* Lines of a frame, formatted once. */
struct line {
	size_t name, name_len;
	size_t start, end;         /* with the module, in struct lines' text */
	size_t inl_start, inl_end; /* marked as inlined; empty for what is not */
};

struct lines {
	struct buf text;
	struct line *v; /* by number of export_frames */
};

/* The format has no escape: what would end a line is replaced as perf does, and so is what readers
 * refuse. */
static void put_name(struct buf *b, const char *s, size_t n)
{
	size_t i, start = b->n;

	buf_utf8(b, s, n);
	for (i = start; i < b->n; i++)
		if ((u8)b->p[i] < 0x20 || b->p[i] == 0x7f)
			b->p[i] = '?';
}

static void put_id(struct buf *b, const struct strtab *t, str_id id)
{
	put_name(b, strtab_get(t, id), strtab_len(t, id));
}

/* Whether readers would take the end of the name for an offset. */
static bool ends_like_offset(const char *s, size_t n)
{
	size_t i = n;

	while (i && strchr("0123456789abcdef", s[i - 1]))
		i--;
	return i < n && i >= 3 && !memcmp(s + i - 3, "+0x", 3);
}

static u64 made_up_address(const struct frame *f, size_t number)
{
	switch (f->space) {
	case SPACE_HV: return 0xffff82d040200000ULL + number * 16;
	case SPACE_KERNEL:
	case SPACE_GUEST_KERNEL: return 0xffffffff81000000ULL + number * 16;
	default: return 0x400000 + number * 16;
	}
}

/* "\n  file:line" as -F +srcline has it. */
static void put_srcline(struct buf *b, const struct profile *p, const struct frame *f)
{
	if (!p->by_line || !f->line)
		return;
	buf_puts(b, "\n  ");
	put_id(b, p->strings, f->file);
	buf_putc(b, ':');
	buf_u64(b, f->line);
}

static void put_frame(struct buf *b, struct buf *name, const struct profile *p,
		      const struct frame *f, size_t number)
{
	buf_printf(b, "\t%16" PRIx64 " ", made_up_address(f, number));
	put_name(b, name->p, name->n);
	if (ends_like_offset(name->p, name->n))
		buf_puts(b, "+0x0");
}

static void lines_init(struct lines *l, const struct profile *p, const struct export_frames *frames,
		       bool all)
{
	struct buf *b = &l->text, name = BUF_INIT;
	size_t i;

	memset(l, 0, sizeof(*l));
	l->v = xcalloc(frames->v.n, sizeof(*l->v));
	for (i = 0; i < frames->v.n; i++) {
		const struct frame *f = &p->frames.v[frames->v.v[i]];

		buf_clear(&name);
		profile_frame_label(p, frames->v.v[i], all, &name);
		l->v[i].name = b->n;
		put_name(b, name.p, name.n);
		l->v[i].name_len = b->n - l->v[i].name;
		l->v[i].start = b->n;
		put_frame(b, &name, p, f, i);
		buf_puts(b, " (");
		if (f->module)
			put_id(b, p->strings, f->module);
		else
			buf_puts(b, "[unknown]");
		buf_putc(b, ')');
		put_srcline(b, p, f);
		buf_putc(b, '\n');
		l->v[i].end = l->v[i].inl_start = b->n;
		if (f->flags & FRAME_INLINED) {
			put_frame(b, &name, p, f, i);
			put_srcline(b, p, f);
			buf_puts(b, " (inlined)\n");
		}
		l->v[i].inl_end = b->n;
	}
	buf_release(&name);
}

struct writer {
	struct out *o;
	const struct view *v;
	const struct export_frames *frames;
	struct lines lines;
};

static void write_sample(struct writer *w, u32 node, str_id event, u32 depth,
			 const struct profile_sample *s, u64 weight)
{
	const struct view *v = w->v;
	const struct strtab *t = v->profile->strings;
	struct buf *b = &w->o->buf;
	u32 i, first = 0; /* depth of the comm's frame */

	for (i = node; v->nodes.v[i].depth > depth; i = v->nodes.v[i].parent)
		first = i;
	if (first) {
		const struct line *l = &w->lines.v[w->frames->number[v->nodes.v[first].frame]];

		buf_put(b, w->lines.text.p + l->name, l->name_len);
		depth++;
	} else {
		buf_puts(b, "[all]");
	}
	if (s->pid == UINT32_MAX || s->pid == s->tid)
		buf_printf(b, " %5u", s->pid == UINT32_MAX ? 0 : s->pid);
	else
		buf_printf(b, " %5u/%-5u", s->pid, s->tid);
	if (s->cpu != UINT32_MAX)
		buf_printf(b, " [%03u]", s->cpu);
	if (s->time != UINT64_MAX)
		buf_printf(b, " %5" PRIu64 ".%09" PRIu64 ":", s->time / 1000000000,
			   s->time % 1000000000);
	buf_printf(b, " %10" PRIu64 " ", weight);
	if (event)
		put_id(b, t, event);
	else
		buf_puts(b, "samples");
	buf_puts(b, ": \n");
	for (i = node; v->nodes.v[i].depth > depth; i = v->nodes.v[i].parent) {
		const struct view_node *n = &v->nodes.v[i];
		const struct line *l = &w->lines.v[w->frames->number[n->frame]];

		if (export_is_inlined(v, i))
			buf_put(b, w->lines.text.p + l->inl_start, l->inl_end - l->inl_start);
		else
			buf_put(b, w->lines.text.p + l->start, l->end - l->start);
	}
	buf_putc(b, '\n');
	out_flush_if_full(w->o);
}

static void write_kept(struct writer *w)
{
	const struct profile *p = w->v->profile;
	size_t i;

	for (i = 0; i < p->samples.n; i++) {
		const struct profile_sample *s = &p->samples.v[i];
		u32 node = view_place(w->v, s->event, s->node);

		if (node != UINT32_MAX && s->weight)
			write_sample(w, node, p->events.v[s->event].name, w->v->event < 0 ? 1 : 0,
				     s, s->weight);
	}
}

static void write_stacks(struct writer *w)
{
	struct export_parts parts;
	u64 time = 0;
	size_t i;
	u32 k;

	export_parts_init(&parts, w->v);
	for (i = 0; i < parts.v.n; i++) {
		const struct export_part *part = &parts.v.v[i];

		for (k = part->top; k < w->v->nodes.v[part->top].end; k++) {
			struct profile_sample s = { .time = time,
						    .pid = UINT32_MAX,
						    .tid = UINT32_MAX,
						    .cpu = UINT32_MAX };
			u64 self = w->v->nodes.v[k].self, ns;

			if (!self)
				continue;
			write_sample(w, k, part->name, part->depth, &s, self);
			if (__builtin_mul_overflow(self, 1000, &ns) ||
			    __builtin_add_overflow(time, ns, &time))
				time = UINT64_MAX - 1;
		}
	}
	export_parts_release(&parts);
}

static int perf_script_write(struct out *o, const struct render_input *in,
			     const struct render_opts *opts, struct error *err)
{
	struct export_frames frames;
	struct writer w = { .o = o, .v = in->view, .frames = &frames };

	(void)err;
	export_frames_init(&frames, in->view);
	lines_init(&w.lines, in->profile, &frames, opts->annotate_all);
	/* Firefox Profiler knows the format by perf's kind of header. */
	out_puts(o,
		 "# ========\n# " PACKAGE_STRING
		 ": names are resolved, addresses are made up (one a function)\n# ========\n#\n");
	if (export_has_samples(in->view))
		write_kept(&w);
	else
		write_stacks(&w);
	buf_release(&w.lines.text);
	free(w.lines.v);
	export_frames_release(&frames);
	return 0;
}

const struct render_writer writer_perf_script = {
	.name = "perf-script",
	.suffixes = ".perf.txt .perf-script.txt .perf",
	.help = "text as perf script prints it, for six other tools",
	.samples = true,
	.no_lines = true,
	.write = perf_script_write,
};
