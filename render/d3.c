/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The JSON tree that d3-flame-graph draws: name, value (total), children; libtype chooses the
 * colour ("kernel", "jit" and "inlined" are its own words), and of a comparison delta.
 */
#include "render/export.h"

static const char *libtype(const struct frame *f)
{
	if (f->flags & FRAME_GROUP)
		return "";
	if (f->space == SPACE_HV)
		return "hypervisor";
	if (f->space == SPACE_KERNEL)
		return "kernel";
	if (f->space == SPACE_GUEST_KERNEL || f->space == SPACE_GUEST_USER)
		return "guest";
	if (f->flags & FRAME_JIT)
		return "jit";
	return f->flags & FRAME_INLINED ? "inlined" : "";
}

static void write_node(struct out *o, struct buf *scratch, const struct view *v, u32 i,
		       const struct render_opts *opts)
{
	const struct view_node *n = &v->nodes.v[i];
	struct buf *b = &o->buf;

	buf_puts(b, "{\"name\":");
	if (i) {
		const char *type = libtype(&v->profile->frames.v[n->frame]);

		buf_clear(scratch);
		profile_frame_name(v->profile, n->frame, opts->annotate_all, scratch);
		buf_json(b, scratch->p, scratch->n);
		if (*type) {
			buf_puts(b, ",\"libtype\":");
			export_json(b, type);
		}
	} else {
		export_json(b, opts->title ? opts->title : "all");
	}
	buf_puts(b, ",\"value\":");
	export_weight(b, n->total, v->profile->weight_scale);
	if (v->is_diff) {
		buf_puts(b, ",\"delta\":");
		buf_f(b,
		      ((double)n->total -
		       (v->diff ? v->diff->base_scale : 1) * (double)view_base_total(v, i)) /
			      (double)v->profile->weight_scale,
		      3);
	}
	buf_puts(b, ",\"children\":[");
}

static int d3_write(struct out *o, const struct render_input *in, const struct render_opts *opts,
		    struct error *err)
{
	const struct view *v = in->view;
	struct buf scratch = BUF_INIT;
	u32 i, open = 0; /* depth of the node whose list of children is open */

	(void)err;
	for (i = 0; i < v->nodes.n; i++) {
		u32 depth = v->nodes.v[i].depth;

		if (i) {
			for (; open >= depth; open--)
				out_puts(o, "]}");
			if (v->nodes.v[i].parent != i - 1)
				out_puts(o, ",\n");
		}
		write_node(o, &scratch, v, i, opts);
		open = depth;
		out_flush_if_full(o);
	}
	for (i = 0; i <= open; i++)
		out_puts(o, "]}");
	out_puts(o, "\n");
	buf_release(&scratch);
	return 0;
}

const struct render_writer writer_d3 = {
	.name = "d3",
	.suffixes = ".d3.json",
	.help = "JSON tree for d3-flame-graph",
	.decimals = true,
	.write = d3_write,
};
