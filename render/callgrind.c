/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Callgrind's profile format, for KCachegrind, QCachegrind and callgrind_annotate: what each
 * function costs itself, and each call from one function to another with what is spent below it.
 *
 * Facts: the format's specification in Valgrind's manual.  Names are written once and then by
 * number; a position is a line number, 0 where it is not known.  Costs are a column an event.
 * Calling contexts are merged: a call that is met again below itself (recursion) is counted where
 * it is outermost, so a call's cost is never more than the whole.  The number of calls is not known
 * to a profile of samples and is 1.
 */
#include "render/export.h"

struct call {
	u32 caller, callee; /* numbers of export_frames */
	u32 open;           /* how often on the current path */
};

struct callgrind {
	struct out *o;
	const struct view *v;
	struct export_frames frames;
	struct export_parts parts;
	VEC(struct call) calls;
	struct index index;
	u64 *self, *below; /* by function, by call: a number an event */
	u8 *told;          /* by string: 1 file, 2 module, 4 function */
};

static bool call_eq(const void *ctx, u32 id, const void *key)
{
	const struct call *a = &((const struct callgrind *)ctx)->calls.v[id], *b = key;

	return a->caller == b->caller && a->callee == b->callee;
}

static u32 find_call(struct callgrind *c, u32 caller, u32 callee)
{
	struct call key = { caller, callee, 0 };
	u64 hash = hash_u64((u64)caller << 32 | callee);
	u32 id = index_find(&c->index, hash, call_eq, c, &key);

	if (id == INDEX_NONE) {
		id = (u32)c->calls.n;
		vec_push(&c->calls, key);
		index_add(&c->index, hash, id);
	}
	return id;
}

/* Costs of a part of the view (an event) in its column. */
static void add_part(struct callgrind *c, size_t column, const u32 *call_of)
{
	const struct export_part *part = &c->parts.v.v[column];
	const struct view_node *nodes = c->v->nodes.v;
	size_t events = c->parts.v.n;
	VEC(u32) open = { 0 }; /* calls on the current path */
	u32 i;

	for (i = part->top; i < nodes[part->top].end; i++) {
		const struct view_node *n = &nodes[i];
		u64 *cost;

		if (n->depth <= part->depth)
			continue;
		while (open.n > n->depth - part->depth - 1)
			if (open.v[--open.n] != UINT32_MAX)
				c->calls.v[open.v[open.n]].open--;
		cost = &c->self[c->frames.number[n->frame] * events + column];
		*cost = add_saturated(*cost, n->self);
		if (call_of[i] != UINT32_MAX && !c->calls.v[call_of[i]].open++) {
			cost = &c->below[call_of[i] * events + column];
			*cost = add_saturated(*cost, n->total);
		}
		vec_push(&open, call_of[i]);
	}
	while (open.n)
		if (open.v[--open.n] != UINT32_MAX)
			c->calls.v[open.v[open.n]].open--;
	vec_release(&open);
}

enum { NAME_FILE = 1, NAME_MODULE = 2, NAME_FUNCTION = 4 };

/* "KEY=(id) name", the name only the first time. */
static void put_string(struct callgrind *c, const char *key, str_id id, u8 kind)
{
	const struct strtab *t = c->v->profile->strings;
	struct buf *b = &c->o->buf;

	buf_printf(b, "%s=(%u)", key, id + 1);
	if (!(c->told[id] & kind)) {
		c->told[id] |= kind;
		buf_putc(b, ' ');
		if (id)
			buf_safe(b, strtab_get(t, id), strtab_len(t, id));
		else
			buf_puts(b, "???");
	}
	buf_putc(b, '\n');
}

static void put_function(struct callgrind *c, const char *key, u32 number, u8 *told, bool all,
			 struct buf *name)
{
	struct buf *b = &c->o->buf;

	buf_printf(b, "%s=(%u)", key, number + 1);
	if (!told[number]) {
		told[number] = 1;
		buf_clear(name);
		profile_frame_label(c->v->profile, c->frames.v.v[number], all, name);
		buf_putc(b, ' ');
		buf_safe(b, name->p, name->n);
	}
	buf_putc(b, '\n');
}

static void put_costs(struct buf *b, const u64 *cost, size_t n, u32 line)
{
	size_t i;

	buf_u64(b, line);
	for (i = 0; i < n; i++) {
		buf_putc(b, ' ');
		buf_u64(b, cost[i]);
	}
	buf_putc(b, '\n');
}

static _Thread_local const struct call *sort_calls;

static int cmp_call(const void *pa, const void *pb)
{
	const struct call *a = &sort_calls[*(const u32 *)pa], *b = &sort_calls[*(const u32 *)pb];

	if (a->caller != b->caller)
		return a->caller < b->caller ? -1 : 1;
	return (a->callee > b->callee) - (a->callee < b->callee);
}

static void write_head(struct callgrind *c, const struct render_opts *opts)
{
	const struct strtab *t = c->v->profile->strings;
	struct buf *b = &c->o->buf;
	size_t i, k;

	buf_puts(b, "# callgrind format\nversion: 1\ncreator: " PACKAGE_STRING "\n");
	if (opts->title) {
		buf_puts(b, "desc: Title: ");
		buf_safe(b, opts->title, strlen(opts->title));
		buf_putc(b, '\n');
	}
	buf_puts(b, "positions: line\nevents:");
	for (i = 0; i < c->parts.v.n; i++) {
		str_id name = c->parts.v.v[i].name;
		size_t start = b->n + 1;

		/* A word each: readers want letters and digits. */
		buf_putc(b, ' ');
		if (name)
			buf_utf8(b, strtab_get(t, name), strtab_len(t, name));
		else
			buf_puts(b, "samples");
		for (k = start; k < b->n; k++)
			if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_",
				    b->p[k]) ||
			    !b->p[k])
				b->p[k] = '_';
	}
	buf_puts(b, "\nsummary:");
	for (i = 0; i < c->parts.v.n; i++) {
		buf_putc(b, ' ');
		buf_u64(b, c->v->nodes.v[c->parts.v.v[i].top].total);
	}
	buf_putc(b, '\n');
}

static void write_functions(struct callgrind *c, bool all)
{
	const struct profile *p = c->v->profile;
	size_t events = c->parts.v.n, i, k = 0;
	u32 *order = xcalloc(c->calls.n, sizeof(*order));
	u8 *told = xcalloc(c->frames.v.n, 1);
	struct buf name = BUF_INIT, *b = &c->o->buf;

	for (i = 0; i < c->calls.n; i++)
		order[i] = (u32)i;
	sort_calls = c->calls.v;
	if (c->calls.n)
		qsort(order, c->calls.n, sizeof(*order), cmp_call);
	for (i = 0; i < c->frames.v.n; i++) {
		const struct frame *f = &p->frames.v[c->frames.v.v[i]], *to;
		bool calls = k < c->calls.n && c->calls.v[order[k]].caller == i, costs = false;
		size_t e;

		for (e = 0; e < events; e++)
			costs = costs || c->self[i * events + e];
		if (!calls && !costs)
			continue; /* a group of an event, which has a column instead */
		buf_putc(b, '\n');
		put_string(c, "ob", f->module, NAME_MODULE);
		put_string(c, "fl", f->file, NAME_FILE);
		put_function(c, "fn", (u32)i, told, all, &name);
		put_costs(b, &c->self[i * events], events, f->line);
		for (; k < c->calls.n && c->calls.v[order[k]].caller == i; k++) {
			const struct call *call = &c->calls.v[order[k]];

			to = &p->frames.v[c->frames.v.v[call->callee]];
			put_string(c, "cob", to->module, NAME_MODULE);
			put_string(c, "cfi", to->file, NAME_FILE);
			put_function(c, "cfn", call->callee, told, all, &name);
			buf_puts(b, "calls=1 ");
			buf_u64(b, to->line);
			buf_putc(b, '\n');
			put_costs(b, &c->below[order[k] * events], events, f->line);
		}
		out_flush_if_full(c->o);
	}
	free(order);
	free(told);
	buf_release(&name);
}

static int callgrind_write(struct out *o, const struct render_input *in,
			   const struct render_opts *opts, struct error *err)
{
	struct callgrind c = { .o = o, .v = in->view };
	u32 *call_of = xcalloc(in->view->nodes.n, sizeof(*call_of));
	size_t k;
	u32 i;

	(void)err;
	index_init(&c.index);
	export_frames_init(&c.frames, c.v);
	export_parts_init(&c.parts, c.v);
	c.told = xcalloc(in->profile->strings->str.n, 1);
	for (i = 0; i < c.v->nodes.n; i++)
		call_of[i] = UINT32_MAX;
	for (k = 0; k < c.parts.v.n; k++) {
		const struct export_part *part = &c.parts.v.v[k];

		for (i = part->top; i < c.v->nodes.v[part->top].end; i++)
			if (c.v->nodes.v[i].depth > part->depth + 1)
				call_of[i] = find_call(
					&c,
					c.frames.number[c.v->nodes.v[c.v->nodes.v[i].parent].frame],
					c.frames.number[c.v->nodes.v[i].frame]);
	}
	c.self = xcalloc(c.frames.v.n, c.parts.v.n * sizeof(*c.self));
	c.below = xcalloc(c.calls.n, c.parts.v.n * sizeof(*c.below));
	for (k = 0; k < c.parts.v.n; k++)
		add_part(&c, k, call_of);
	write_head(&c, opts);
	write_functions(&c, opts->annotate_all);
	free(call_of);
	free(c.self);
	free(c.below);
	free(c.told);
	vec_release(&c.calls);
	index_release(&c.index);
	export_frames_release(&c.frames);
	export_parts_release(&c.parts);
	return 0;
}

const struct render_writer writer_callgrind = {
	.name = "callgrind",
	.suffixes = ".callgrind callgrind.out",
	.help = "costs and calls for KCachegrind and callgrind_annotate",
	.write = callgrind_write,
};
