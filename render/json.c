/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Our own JSON: the view with all that is known of it, for programs.
 * docs/json-schema/profile-1.json describes it; fields may be added, and are never given another
 * meaning without a new version.
 *
 * The tree is written as columns in preorder, since it may have millions of nodes.  Numbers are
 * whole and may be as large as 2^64 - 1: readers that keep numbers as doubles lose digits above
 * 2^53.
 */
#include <math.h>

#include "render/export.h"

static const char *const flag_names[] = { "inlined", "unresolved", "jit",
					  "broken",  "doubtful",   "group" };

static void key(struct buf *b, const char *name)
{
	export_json(b, name);
	buf_putc(b, ':');
}

static void write_frames(struct out *o, const struct profile *p, const struct export_frames *frames,
			 bool all)
{
	struct buf *b = &o->buf, scratch = BUF_INIT;
	const char *sep;
	size_t i, k;

	for (i = 0; i < frames->v.n; i++) {
		const struct frame *f = &p->frames.v[frames->v.v[i]];

		buf_puts(b, i ? ",\n{\"function\":" : "\n{\"function\":");
		export_json_id(b, p->strings, f->function);
		buf_puts(b, ",\"label\":");
		export_json_frame(b, &scratch, p, frames->v.v[i], all);
		buf_puts(b, ",\"space\":");
		export_json(b, space_name((enum space)f->space));
		if (f->module) {
			buf_puts(b, ",\"module\":");
			export_json_id(b, p->strings, f->module);
		}
		if (f->file) {
			buf_puts(b, ",\"file\":");
			export_json_id(b, p->strings, f->file);
		}
		if (f->line)
			buf_printf(b, ",\"line\":%u", f->line);
		if (f->flags) {
			buf_puts(b, ",\"flags\":[");
			for (k = 0, sep = ""; k < ARRAY_SIZE(flag_names); k++)
				if (f->flags & 1 << k) {
					buf_puts(b, sep);
					export_json(b, flag_names[k]);
					sep = ",";
				}
			buf_putc(b, ']');
		}
		buf_putc(b, '}');
		out_flush_if_full(o);
	}
	buf_release(&scratch);
}

enum column { COL_FRAME, COL_PARENT, COL_SELF, COL_TOTAL, COL_BASE_SELF, COL_BASE_TOTAL, COL_NR };

static void write_nodes(struct out *o, const struct view *v, const struct export_frames *frames)
{
	static const char *const names[COL_NR] = { "frame", "parent",    "self",
						   "total", "base_self", "base_total" };
	struct buf *b = &o->buf;
	u32 i;
	int c;

	for (c = 0; c < (v->is_diff ? COL_NR : COL_BASE_SELF); c++) {
		buf_puts(b, c ? ",\n" : "\n");
		key(b, names[c]);
		buf_putc(b, '[');
		for (i = 0; i < v->nodes.n; i++) {
			const struct view_node *n = &v->nodes.v[i];

			if (i)
				buf_putc(b, ',');
			if (!i && (c == COL_FRAME || c == COL_PARENT))
				buf_puts(b, "null");
			else
				buf_u64(b, c == COL_FRAME       ? frames->number[n->frame]
					   : c == COL_PARENT    ? n->parent
					   : c == COL_SELF      ? n->self
					   : c == COL_TOTAL     ? n->total
					   : c == COL_BASE_SELF ? view_base_self(v, i)
								: view_base_total(v, i));
			out_flush_if_full(o);
		}
		buf_putc(b, ']');
	}
}

/* A finite number with as many digits as a double holds. */
static void put_double(struct buf *b, double x)
{
	buf_printf(b, "%.17g", isfinite(x) ? x : 0);
}

static void write_noise(struct buf *b, const char *name, double base, double value,
			const struct diff_noise *n)
{
	buf_putc(b, ',');
	key(b, name);
	buf_puts(b, "{\"before\":");
	put_double(b, base);
	buf_puts(b, ",\"after\":");
	put_double(b, value);
	buf_puts(b, ",\"half\":");
	put_double(b, n->half);
	buf_puts(b, ",\"p\":");
	put_double(b, n->p);
	buf_puts(b, n->changed ? ",\"changed\":true}" : ",\"changed\":false}");
}

static void write_changed(struct out *o, const char *name, const struct diff_noise *v, size_t n)
{
	const char *sep = "";
	size_t i;

	key(&o->buf, name);
	out_puts(o, "[");
	for (i = 0; i < n; i++)
		if (v[i].changed) {
			buf_puts(&o->buf, sep);
			buf_u64(&o->buf, i);
			sep = ",";
			out_flush_if_full(o);
		}
	out_puts(o, "]");
}

static void write_diff(struct out *o, const struct view_diff *d, const struct export_frames *frames)
{
	static const char *const norms[] = { "total", "time", "none" };
	struct buf *b = &o->buf;
	size_t i;

	buf_puts(b, "\"normalize\":");
	export_json(b, norms[d->norm]);
	buf_puts(b, ",\"base_scale\":");
	put_double(b, d->base_scale);
	buf_puts(b, ",\"confidence\":");
	put_double(b, d->confidence);
	buf_puts(b, ",\"rate\":");
	put_double(b, d->rate);
	buf_printf(b, ",\"recordings_before\":%u,\"recordings_after\":%u,\"noise\":\"%s\"",
		   d->base_recordings, d->recordings,
		   d->by_files ? "recordings"
		   : d->slices ? "slices"
			       : "samples");
	buf_puts(b, ",\"only_before\":");
	put_double(b, d->gone);
	buf_puts(b, ",\"only_after\":");
	put_double(b, d->come);
	buf_printf(b,
		   ",\"slices\":%u,\"samples_before\":%" PRIu64 ",\"samples_after\":%" PRIu64 ",\n",
		   d->slices, d->base_samples, d->samples);
	write_changed(o, "changed_self", d->self.v, d->self.n);
	out_puts(o, ",\n");
	write_changed(o, "changed_total", d->total.v, d->total.n);
	out_puts(o, ",\n\"functions\":[");
	for (i = 0; i < d->functions.n; i++) {
		const struct diff_function *f = &d->functions.v[i];

		buf_puts(b, i ? ",\n{\"frame\":" : "\n{\"frame\":");
		buf_u64(b, frames->number[f->frame]);
		write_noise(b, "self", f->base_self, f->self, &f->self_noise);
		write_noise(b, "total", f->base_total, f->total, &f->total_noise);
		buf_putc(b, '}');
		out_flush_if_full(o);
	}
	out_puts(o, "]");
}

enum sample_column {
	SAMPLE_TIME,
	SAMPLE_WEIGHT,
	SAMPLE_NODE,
	SAMPLE_EVENT,
	SAMPLE_CPU,
	SAMPLE_PID,
	SAMPLE_TID,
	SAMPLE_NR
};

/* Kept samples; what is not known is null. */
static void write_samples(struct out *o, const struct view *v)
{
	static const char *const names[SAMPLE_NR] = { "time", "weight", "node", "event",
						      "cpu",  "pid",    "tid" };
	const struct profile *p = v->profile;
	struct buf *b = &o->buf;
	const char *sep;
	size_t i;
	int c;

	for (c = 0; c < SAMPLE_NR; c++) {
		buf_puts(b, c ? ",\n" : "\n");
		key(b, names[c]);
		buf_putc(b, '[');
		for (i = 0, sep = ""; i < p->samples.n; i++) {
			const struct profile_sample *s = &p->samples.v[i];
			u32 node = view_place(v, s->event, s->node);
			u32 small = c == SAMPLE_EVENT ? s->event
				    : c == SAMPLE_CPU ? s->cpu
				    : c == SAMPLE_PID ? s->pid
						      : s->tid;

			if (node == UINT32_MAX)
				continue;
			buf_puts(b, sep);
			sep = ",";
			if (c == SAMPLE_WEIGHT)
				buf_u64(b, s->weight);
			else if (c == SAMPLE_NODE)
				buf_u64(b, node);
			else if (c == SAMPLE_TIME ? s->time == UINT64_MAX : small == UINT32_MAX)
				buf_puts(b, "null");
			else
				buf_u64(b, c == SAMPLE_TIME ? s->time : small);
			out_flush_if_full(o);
		}
		buf_putc(b, ']');
	}
}

static void write_head(struct buf *b, const struct render_input *in, const struct render_opts *opts)
{
	const struct view *v = in->view;
	u64 by_space[SPACE_NR];
	size_t i;

	buf_puts(b, "{\"format\":\"xenflame-profile\",\"version\":1,\n\"generator\":");
	export_json(b, PACKAGE_STRING);
	if (opts->title) {
		buf_puts(b, ",\n\"title\":");
		export_json(b, opts->title);
	}
	if (opts->notes) {
		buf_puts(b, ",\n\"notes\":");
		export_json(b, opts->notes);
	}
	buf_puts(b, ",\n\"unit\":");
	export_json(b, in->profile->unit ? in->profile->unit : "samples");
	buf_puts(b, ",\n\"facts\":[");
	for (i = 0; i < in->nr_facts; i++) {
		buf_puts(b, i ? ",{\"key\":" : "{\"key\":");
		export_json(b, in->facts[i].key);
		buf_puts(b, ",\"value\":");
		export_json(b, in->facts[i].value);
		buf_putc(b, '}');
	}
	buf_puts(b, "],\n\"quality\":[");
	for (i = 0; i < in->nr_quality; i++) {
		buf_puts(b, i ? ",{\"name\":" : "{\"name\":");
		export_json(b, in->quality[i].name);
		buf_puts(b, ",\"text\":");
		export_json(b, in->quality[i].text);
		buf_puts(b, ",\"count\":");
		buf_u64(b, in->quality[i].count);
		buf_puts(b, in->quality[i].strict ? ",\"strict\":true}" : ",\"strict\":false}");
	}
	buf_puts(b, "],\n\"events\":[");
	for (i = 0; i < in->profile->events.n; i++) {
		buf_puts(b, i ? ",{\"name\":" : "{\"name\":");
		export_json_id(b, in->profile->strings, in->profile->events.v[i].name);
		buf_puts(b, ",\"samples\":");
		buf_u64(b, in->profile->events.v[i].samples);
		buf_puts(b, ",\"weight\":");
		buf_u64(b, in->profile->events.v[i].weight);
		buf_putc(b, '}');
	}
	buf_puts(b, "],\n\"event\":");
	if (v->event >= 0)
		buf_u64(b, (u64)v->event);
	else
		buf_puts(b, "null");
	buf_puts(b, ",\n\"left_out\":");
	buf_u64(b, v->left_out);
	view_weight_by_space(v, by_space);
	buf_puts(b, ",\n\"self_by_space\":{");
	for (i = 0; i < SPACE_NR; i++) {
		if (i)
			buf_putc(b, ',');
		key(b, space_name((enum space)i));
		buf_u64(b, by_space[i]);
	}
	buf_putc(b, '}');
}

static int json_write(struct out *o, const struct render_input *in, const struct render_opts *opts,
		      struct error *err)
{
	struct export_frames frames;

	(void)err;
	export_frames_init(&frames, in->view);
	write_head(&o->buf, in, opts);
	out_puts(o, ",\n\"frames\":[");
	write_frames(o, in->profile, &frames, opts->annotate_all);
	out_puts(o, "],\n\"nodes\":{");
	write_nodes(o, in->view, &frames);
	if (in->view->diff) {
		out_puts(o, "},\n\"diff\":{");
		write_diff(o, in->view->diff, &frames);
	}
	if (in->view->place.n) {
		out_puts(o, "},\n\"samples\":{");
		write_samples(o, in->view);
	}
	out_puts(o, "}}\n");
	export_frames_release(&frames);
	return 0;
}

const struct render_writer writer_json = {
	.name = "json",
	.suffixes = ".json",
	.help = "all that is known of the picture, for programs (docs/json-schema)",
	.write = json_write,
};
