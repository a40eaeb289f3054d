/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Folded stacks: "root;caller;callee count", one line a stack, root first, sorted by frame.
 * A comparison has two counts, before and after, as difffolded prints them.
 */
#include "render/export.h"

/* Names are escaped once a frame, then only copied. */
struct names {
	struct buf text;
	size_t *start; /* by number of export_frames; [n] is the end */
};

static void names_init(struct names *names, const struct profile *p,
		       const struct export_frames *frames, bool all)
{
	struct buf raw = BUF_INIT;
	size_t i;

	memset(names, 0, sizeof(*names));
	names->start = xcalloc(frames->v.n + 1, sizeof(*names->start));
	for (i = 0; i < frames->v.n; i++) {
		buf_clear(&raw);
		profile_frame_name(p, frames->v.v[i], all, &raw);
		names->start[i] = names->text.n;
		folded_escape(&names->text, raw.p, raw.n);
	}
	names->start[i] = names->text.n;
	buf_release(&raw);
}

static void names_release(struct names *names)
{
	buf_release(&names->text);
	free(names->start);
}

static int folded_write(struct out *o, const struct render_input *in,
			const struct render_opts *opts, struct error *err)
{
	const struct view *v = in->view;
	struct export_frames frames;
	struct buf path = BUF_INIT; /* names of the current node and those above it */
	struct names names;
	size_t *ends; /* by depth: length of `path` up to there */
	u32 i, k;

	(void)err;
	export_frames_init(&frames, v);
	names_init(&names, in->profile, &frames, opts->annotate_all);
	ends = xcalloc((size_t)v->max_depth + 1, sizeof(*ends));
	for (i = 0; i < v->nodes.n; i++) {
		const struct view_node *n = &v->nodes.v[i];

		if (n->depth) {
			k = frames.number[n->frame];
			path.n = ends[n->depth - 1];
			if (n->depth > 1)
				buf_putc(&path, ';');
			buf_put(&path, names.text.p + names.start[k],
				names.start[k + 1] - names.start[k]);
			ends[n->depth] = path.n;
		}
		if (!n->self && !view_base_self(v, i))
			continue;
		buf_put(&o->buf, path.p, path.n);
		buf_putc(&o->buf, ' ');
		if (v->is_diff) {
			export_weight(&o->buf, view_base_self(v, i), in->profile->weight_scale);
			buf_putc(&o->buf, ' ');
		}
		export_weight(&o->buf, n->self, in->profile->weight_scale);
		buf_putc(&o->buf, '\n');
		out_flush_if_full(o);
	}
	free(ends);
	buf_release(&path);
	names_release(&names);
	export_frames_release(&frames);
	return 0;
}

const struct render_writer writer_folded = {
	.name = "folded",
	.suffixes = ".folded .collapsed",
	.help = "stacks as lines of text, for flamegraph.pl, inferno, speedscope",
	.no_lines = true,
	.decimals = true,
	.write = folded_write,
};
