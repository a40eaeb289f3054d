/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Folded stacks: "root;caller;callee count", one line a stack, root first, sorted by frame.
 * A comparison has two counts, before and after, as difffolded prints them.
 */
#include "render/export.h"

/* Names are written in steps of so many bytes, which is faster than to the byte. */
#define STEP 64u

/*
 * The lines on their way into the buffer of the output.  Each starts as the one before it does, and
 * what they have in common is copied from there.
 */
struct lines {
	struct out *o;
	u64 scale;
	struct buf names; /* escaped, each with a semicolon behind it */
	struct name {
		size_t at, n;
	} * name;     /* by frame_id, in names */
	size_t start; /* of the line at hand, in o->buf */
	bool ended;   /* with its counts: the next frame is for a line of its own */
	/* By depth: where the frames up to there end, from the start of the line. There is room
	 * for as many as there were deep ones so far. */
	VEC(size_t) ends;
};

static void lines_init(struct lines *l, struct out *o, const struct profile *p, bool all)
{
	struct buf raw = BUF_INIT;
	frame_id i;

	*l = (struct lines){ .o = o, .scale = p->weight_scale, .start = o->buf.n };
	l->name = xcalloc(p->frames.n, sizeof(*l->name));
	for (i = 0; i < p->frames.n; i++) {
		buf_clear(&raw);
		profile_frame_name(p, i, all, &raw);
		l->name[i].at = l->names.n;
		folded_escape(&l->names, raw.p, raw.n);
		buf_putc(&l->names, ';');
		l->name[i].n = l->names.n - l->name[i].at;
	}
	buf_reserve(&l->names, STEP);
	memset(l->names.p + l->names.n, 0, STEP);
	buf_release(&raw);
	vec_reserve(&l->ends, 1);
	l->ends.v[0] = 0;
}

/* A line that has no counts is none. */
static void lines_release(struct lines *l)
{
	if (!l->ended)
		l->o->buf.n = l->start;
	buf_release(&l->names);
	free(l->name);
	vec_release(&l->ends);
}

/* The next line starts with the first n bytes of this one. */
static void next_line(struct lines *l, size_t n)
{
	struct buf *b = &l->o->buf;
	size_t last = l->start;

	l->start = b->n;
	l->ended = false;
	buf_reserve(b, n);
	memcpy(b->p + b->n, b->p + last, n);
	b->n += n;
	/* Where there were counts behind that. */
	if (n)
		b->p[b->n - 1] = ';';
	if (out_flush_before(l->o, l->start))
		l->start = 0;
}

/*
 * To the frame of s[0], at a depth of 1 or more, at most one deeper than the frame before, and on
 * through the next ones as long as each is one deeper and none before it has a weight.  How many
 * of the n those are.
 */
static u32 put_frames(struct lines *l, const struct view_step *s, u32 n)
{
	struct buf *b = &l->o->buf;
	const struct name *known = l->name;
	const char *names = l->names.p;
	size_t *ends, above = l->ends.v[s->depth - 1];
	char *to, *end, *start;
	u32 depth = s->depth, i = 0;

	if (l->ended)
		next_line(l, above);
	else
		b->n = l->start + above;
	vec_reserve(&l->ends, depth + n);
	ends = l->ends.v + depth;
	start = b->p + l->start;
	to = b->p + b->n;
	end = b->p + b->cap;
	do {
		const struct name *name = &known[s[i].frame];
		size_t k = 0;

		if (UNLIKELY((size_t)(end - to) < name->n + STEP)) {
			b->n = (size_t)(to - b->p);
			buf_reserve(b, name->n + STEP);
			start = b->p + l->start;
			to = b->p + b->n;
			end = b->p + b->cap;
		}
		do
			memcpy(to + k, names + name->at + k, STEP);
		while (UNLIKELY((k += STEP) < name->n));
		to += name->n;
		ends[i] = (size_t)(to - start);
	} while (++i < n && !s[i - 1].self && s[i].depth == depth + i);
	b->n = (size_t)(to - b->p);
	return i;
}

/* `before`: NULL where there is one column. */
static void put_counts(struct lines *l, const u64 *before, u128 after)
{
	struct buf *b = &l->o->buf;

	/* In place of the last semicolon. */
	b->n -= b->n > l->start;
	buf_putc(b, ' ');
	if (before) {
		export_weight(b, *before, l->scale);
		buf_putc(b, ' ');
	}
	export_weight(b, after, l->scale);
	buf_putc(b, '\n');
	l->ended = true;
}

/* The next nodes of what is written, at most n, the first one being node `at`; 0: there are no
 * more. */
static u32 next_nodes(const struct render_input *in, u32 at, struct view_step *s, u32 n)
{
	const struct view_node *node;
	u32 i;

	if (in->walk)
		return view_walk_next(in->walk, s, n);
	n = MIN(n, (u32)in->view->nodes.n - at);
	for (i = 0; i < n; i++) {
		node = &in->view->nodes.v[at + i];
		s[i] = (struct view_step){ node->frame, node->depth, node->self };
	}
	return n;
}

static int folded_write(struct out *o, const struct render_input *in,
			const struct render_opts *opts, struct error *err)
{
	bool diff = !in->walk && in->view->is_diff;
	struct view_step steps[256];
	u32 at, n, i;
	struct lines l;

	(void)err;
	lines_init(&l, o, in->profile, opts->annotate_all);
	for (at = 0; (n = next_nodes(in, at, steps, ARRAY_SIZE(steps))); at += n)
		for (i = 0; i < n; i++) {
			u64 before = diff ? view_base_self(in->view, at + i) : 0;

			/* Of a comparison each may have a weight before. */
			if (steps[i].depth)
				i += put_frames(&l, steps + i, diff ? 1 : n - i) - 1;
			if (steps[i].self || before)
				put_counts(&l, diff ? &before : NULL,
					   in->walk ? view_walk_whole(in->walk, steps, i)
						    : steps[i].self);
		}
	lines_release(&l);
	return 0;
}

const struct render_writer writer_folded = {
	.name = "folded",
	.suffixes = ".folded .collapsed",
	.help = "stacks as lines of text, for flamegraph.pl, inferno, speedscope",
	.no_lines = true,
	.decimals = true,
	.walks = true,
	.write = folded_write,
};
