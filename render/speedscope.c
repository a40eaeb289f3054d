/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * speedscope's own file format: a sampled profile an event, one sample a stack.
 *
 * Facts: file-format-schema.json of the npm package speedscope 1.25.0.  Its
 * importer wants as many weights as samples, no negative weight, and at least
 * one profile; `samples` are root first.  It groups colours by `file`, so a
 * frame without a source file gets its module there.
 */
#include "render/export.h"

/* speedscope's name of a unit of ours. */
static const char *unit_name(const char *unit)
{
	static const struct {
		const char *ours, *theirs;
	} units[] = {
		{ "ns", "nanoseconds" },  { "nanoseconds", "nanoseconds" },
		{ "us", "microseconds" }, { "microseconds", "microseconds" },
		{ "ms", "milliseconds" }, { "milliseconds", "milliseconds" },
		{ "s", "seconds" },       { "seconds", "seconds" },
		{ "bytes", "bytes" },
	};
	size_t i;

	for (i = 0; unit && i < ARRAY_SIZE(units); i++)
		if (!strcmp(unit, units[i].ours))
			return units[i].theirs;
	return "none";
}

static void write_frames(struct out *o, const struct profile *p, const struct export_frames *frames,
			 const struct render_opts *opts)
{
	struct buf scratch = BUF_INIT, *b = &o->buf;
	size_t i;

	for (i = 0; i < frames->v.n; i++) {
		const struct frame *f = &p->frames.v[frames->v.v[i]];
		str_id file = f->file ? f->file : f->module;

		buf_puts(b, i ? ",\n{\"name\":" : "\n{\"name\":");
		export_json_frame(b, &scratch, p, frames->v.v[i], opts->annotate_all);
		if (file) {
			buf_puts(b, ",\"file\":");
			export_json_id(b, p->strings, file);
		}
		if (f->file && f->line) {
			buf_puts(b, ",\"line\":");
			buf_u64(b, f->line);
		}
		buf_putc(b, '}');
		out_flush_if_full(o);
	}
	buf_release(&scratch);
}

/* Nodes of a part that have a weight of their own, in the order of the view. */
static bool is_sample(const struct view_node *n)
{
	return n->self > 0;
}

static void write_part(struct out *o, const struct view *v, const struct export_frames *frames,
		       const struct export_part *part, const char *title)
{
	const struct view_node *top = &v->nodes.v[part->top], *n;
	u32 *path = xreallocarray(NULL, (size_t)v->max_depth + 1, sizeof(*path));
	struct buf *b = &o->buf;
	const char *sep = "";
	u32 i, d;

	buf_puts(b, "{\"type\":\"sampled\",\"name\":");
	if (part->name)
		export_json_id(b, v->profile->strings, part->name);
	else
		export_json(b, title);
	buf_puts(b, ",\"unit\":");
	export_json(b, unit_name(v->profile->unit));
	buf_puts(b, ",\"startValue\":0,\"endValue\":");
	export_weight(b, top->total, v->profile->weight_scale);
	buf_puts(b, ",\n\"samples\":[");
	for (i = part->top; i < top->end; i++) {
		n = &v->nodes.v[i];
		if (n->depth > part->depth)
			path[n->depth - part->depth - 1] = frames->number[n->frame];
		if (!is_sample(n))
			continue;
		buf_puts(b, sep);
		buf_putc(b, '[');
		for (d = 0; d < n->depth - part->depth; d++) {
			if (d)
				buf_putc(b, ',');
			buf_u64(b, path[d]);
		}
		buf_putc(b, ']');
		sep = ",\n";
		out_flush_if_full(o);
	}
	buf_puts(b, "],\n\"weights\":[");
	sep = "";
	for (i = part->top; i < top->end; i++) {
		n = &v->nodes.v[i];
		if (!is_sample(n))
			continue;
		buf_puts(b, sep);
		export_weight(b, n->self, v->profile->weight_scale);
		sep = ",";
		out_flush_if_full(o);
	}
	buf_puts(b, "]}");
	free(path);
}

void export_speedscope_head(struct out *o, const struct profile *p,
			    const struct export_frames *frames, const struct render_opts *opts)
{
	out_puts(o,
		 "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n\"name\":");
	export_json(&o->buf, export_title(opts));
	out_puts(o, ",\"exporter\":");
	export_json(&o->buf, PACKAGE_STRING);
	out_puts(o, ",\"activeProfileIndex\":0,\n\"shared\":{\"frames\":[");
	write_frames(o, p, frames, opts);
	out_puts(o, "]},\n\"profiles\":[");
}

static int speedscope_write(struct out *o, const struct render_input *in,
			    const struct render_opts *opts, struct error *err)
{
	struct export_frames frames;
	struct export_parts parts;
	size_t i;

	(void)err;
	export_frames_init(&frames, in->view);
	export_parts_init(&parts, in->view);
	export_speedscope_head(o, in->profile, &frames, opts);
	for (i = 0; i < parts.v.n; i++) {
		if (i)
			out_puts(o, ",\n");
		write_part(o, in->view, &frames, &parts.v.v[i], export_title(opts));
	}
	out_puts(o, "]}\n");
	export_parts_release(&parts);
	export_frames_release(&frames);
	return 0;
}

const struct render_writer writer_speedscope = {
	.name = "speedscope",
	.suffixes = ".speedscope.json",
	.help = "JSON for speedscope, a profile an event",
	.decimals = true,
	.write = speedscope_write,
};
