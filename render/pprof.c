/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof's profile.proto, gzipped: a sample type an event, functions with files and lines, inlined
 * functions as lines of one location, a mapping a module, labels.
 *
 * Facts: proto/profile.proto of pprof (field numbers below; stacks leaf first; of the lines of a
 * location the innermost is the first).  The root frame of a stack (the comm) stays a frame,
 * without mapping, and is a label too.  With samples kept one by one, cpu, pid and tid are labels.
 * A profile has no addresses: locations have none.
 */
#include <zlib.h>

#include "render/export.h"

/* ---- wire format ---- */

static void put_varint(struct buf *b, u64 v)
{
	while (v >= 0x80) {
		buf_putc(b, (char)(v | 0x80));
		v >>= 7;
	}
	buf_putc(b, (char)v);
}

/* A number; 0 is the default and left out. */
static void put_number(struct buf *b, u32 field, u64 v)
{
	if (!v)
		return;
	put_varint(b, (u64)field << 3);
	put_varint(b, v);
}

static void put_bytes(struct buf *b, u32 field, const void *p, size_t n)
{
	put_varint(b, (u64)field << 3 | 2);
	put_varint(b, n);
	buf_put(b, p, n);
}

/* ---- the file ---- */

/* One line of a location, and those outside of it that it is inlined into. */
struct location {
	frame_id frame;
	u32 outer; /* index + 1, or 0 */
	bool used;
};

struct sample_key {
	u32 node, event, cpu, pid, tid;
};

struct sample {
	struct sample_key key;
	u64 weight;
};

struct writer {
	struct out *o;
	z_stream z;
	struct strtab strings; /* the file's string table: its ids are the indexes */
	struct buf msg, sub, tmp;
	const struct view *v;
	const struct profile *p;
	struct export_parts parts;
	bool all;
	VEC(struct location) locations;
	struct index location_index;
	u32 *location; /* by node: index of the location that starts there */
	u32 *up;       /* by node: the node below that location */
};

static void squeeze(struct writer *w, int flush)
{
	u8 out[16384];
	int rc;

	do {
		w->z.next_out = out;
		w->z.avail_out = sizeof(out);
		rc = deflate(&w->z, flush);
		out_write(w->o, out, sizeof(out) - w->z.avail_out);
	} while (rc == Z_OK && (w->z.avail_in || !w->z.avail_out || flush == Z_FINISH));
}

/* A field of the outermost message. */
static void emit(struct writer *w, u32 field, const struct buf *msg)
{
	buf_clear(&w->tmp);
	put_bytes(&w->tmp, field, msg->p, msg->n);
	w->z.next_in = (Bytef *)w->tmp.p;
	w->z.avail_in = (uInt)w->tmp.n;
	squeeze(w, Z_NO_FLUSH);
}

static void emit_number(struct writer *w, u32 field, u64 v)
{
	buf_clear(&w->tmp);
	put_number(&w->tmp, field, v);
	w->z.next_in = (Bytef *)w->tmp.p;
	w->z.avail_in = (uInt)w->tmp.n;
	squeeze(w, Z_NO_FLUSH);
}

static u64 string(struct writer *w, const char *s, size_t n)
{
	struct buf valid = BUF_INIT;
	str_id id;

	if (utf8_valid(s, n))
		return strtab_add(&w->strings, s, n);
	buf_utf8(&valid, s, n);
	id = strtab_add(&w->strings, valid.p, valid.n);
	buf_release(&valid);
	return id;
}

static u64 string0(struct writer *w, const char *s)
{
	return string(w, s, strlen(s));
}

static u64 string_of(struct writer *w, str_id id)
{
	return string(w, strtab_get(w->p->strings, id), strtab_len(w->p->strings, id));
}

/* ---- locations ---- */

static bool location_eq(const void *ctx, u32 id, const void *key)
{
	const struct writer *w = ctx;
	const struct location *k = key;

	return w->locations.v[id].frame == k->frame && w->locations.v[id].outer == k->outer;
}

static u32 location(struct writer *w, frame_id frame, u32 outer)
{
	struct location l = { frame, outer, false };
	u64 hash = hash_u64((u64)outer << 32 | frame);
	u32 id = index_find(&w->location_index, hash, location_eq, w, &l);

	if (id == INDEX_NONE) {
		id = (u32)w->locations.n;
		vec_push(&w->locations, l);
		index_add(&w->location_index, hash, id);
	}
	return id;
}

static void find_locations(struct writer *w)
{
	const struct view *v = w->v;
	u32 i;

	w->location = xcalloc(v->nodes.n, sizeof(*w->location));
	w->up = xcalloc(v->nodes.n, sizeof(*w->up));
	for (i = 1; i < v->nodes.n; i++) {
		const struct view_node *n = &v->nodes.v[i];
		bool inlined = export_is_inlined(v, i);

		w->location[i] = location(w, n->frame, inlined ? w->location[n->parent] + 1 : 0);
		w->up[i] = inlined ? w->up[n->parent] : n->parent;
	}
}

/* ---- samples ---- */

static void put_label(struct writer *w, const char *key, u64 str, u64 num)
{
	buf_clear(&w->sub);
	put_number(&w->sub, 1, string0(w, key));
	put_number(&w->sub, 2, str);
	put_number(&w->sub, 3, num);
	put_bytes(&w->msg, 3, w->sub.p, w->sub.n);
}

static void emit_sample(struct writer *w, size_t part_nr, const struct sample *s)
{
	const struct export_part *part = &w->parts.v.v[part_nr];
	const struct view_node *nodes = w->v->nodes.v;
	u32 i, root = 0, leaf = s->key.node;
	size_t k;

	buf_clear(&w->msg);
	buf_clear(&w->sub);
	for (i = leaf; nodes[i].depth > part->depth; i = w->up[i]) {
		w->locations.v[w->location[i]].used = true;
		put_varint(&w->sub, w->location[i] + 1);
	}
	put_bytes(&w->msg, 1, w->sub.p, w->sub.n);
	buf_clear(&w->sub);
	for (k = 0; k < w->parts.v.n; k++)
		put_varint(&w->sub, k == part_nr ? s->weight : 0);
	put_bytes(&w->msg, 2, w->sub.p, w->sub.n);

	for (i = leaf; nodes[i].depth > part->depth; i = nodes[i].parent)
		root = i;
	if (root) {
		const struct frame *f = &w->p->frames.v[nodes[root].frame];

		if (f->flags & FRAME_GROUP)
			put_label(w, "comm", string_of(w, f->function), 0);
		f = &w->p->frames.v[nodes[leaf].frame];
		put_label(w, "space", string0(w, space_name((enum space)f->space)), 0);
	}
	if (s->key.cpu != UINT32_MAX)
		put_label(w, "cpu", 0, s->key.cpu);
	if (s->key.pid != UINT32_MAX)
		put_label(w, "pid", 0, s->key.pid);
	if (s->key.tid != UINT32_MAX)
		put_label(w, "tid", 0, s->key.tid);
	emit(w, 2, &w->msg);
}

static int cmp_sample(const void *pa, const void *pb)
{
	const struct sample_key *a = &((const struct sample *)pa)->key,
				*b = &((const struct sample *)pb)->key;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	if (a->cpu != b->cpu)
		return a->cpu < b->cpu ? -1 : 1;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return (a->tid > b->tid) - (a->tid < b->tid);
}

/* Kept samples, added up over time. */
static void emit_kept(struct writer *w)
{
	VEC(struct sample) samples = { 0 };
	size_t i, k, part = 0;

	for (i = 0; i < w->p->samples.n; i++) {
		const struct profile_sample *s = &w->p->samples.v[i];
		u32 node = view_place(w->v, s->event, s->node);

		if (node != UINT32_MAX && s->weight)
			vec_push(&samples,
				 ((struct sample){ { node, s->event, s->cpu, s->pid, s->tid },
						   s->weight }));
	}
	if (samples.n)
		qsort(samples.v, samples.n, sizeof(*samples.v), cmp_sample);
	for (i = 0; i < samples.n; i = k) {
		struct sample sum = samples.v[i];

		for (k = i + 1; k < samples.n && !cmp_sample(&samples.v[i], &samples.v[k]); k++)
			sum.weight += samples.v[k].weight;
		while (sum.key.node >= w->v->nodes.v[w->parts.v.v[part].top].end)
			part++;
		emit_sample(w, part, &sum);
	}
	vec_release(&samples);
}

static void emit_stacks(struct writer *w)
{
	size_t i;
	u32 k;

	for (i = 0; i < w->parts.v.n; i++) {
		u32 top = w->parts.v.v[i].top;

		for (k = top; k < w->v->nodes.v[top].end; k++) {
			struct sample s = { { k, 0, UINT32_MAX, UINT32_MAX, UINT32_MAX },
					    w->v->nodes.v[k].self };

			if (s.weight)
				emit_sample(w, i, &s);
		}
	}
}

/* ---- what samples refer to ---- */

static void emit_value_type(struct writer *w, u32 field, str_id event)
{
	const char *unit = w->p->unit ? w->p->unit : "samples";

	buf_clear(&w->msg);
	put_number(&w->msg, 1, event ? string_of(w, event) : string0(w, "samples"));
	put_number(&w->msg, 2, string0(w, !strcmp(unit, "samples") ? "count" : unit));
	emit(w, field, &w->msg);
}

struct module {
	str_id name;
	u8 space;
};

static void emit_locations(struct writer *w)
{
	VEC(struct module) modules = { 0 };
	VEC(frame_id) functions = { 0 }; /* their ids are places in here + 1 */
	u64 *function_id = xcalloc(w->p->frames.n, sizeof(*function_id));
	struct buf name = BUF_INIT;
	size_t i, m;
	u32 k;

	for (i = 0; i < w->locations.n; i++) {
		const struct frame *f = &w->p->frames.v[w->locations.v[i].frame];

		if (!w->locations.v[i].used)
			continue;
		buf_clear(&w->msg);
		put_number(&w->msg, 1, i + 1);
		if (f->module) {
			for (m = 0; m < modules.n; m++)
				if (modules.v[m].name == f->module &&
				    modules.v[m].space == f->space)
					break;
			if (m == modules.n)
				vec_push(&modules, ((struct module){ f->module, f->space }));
			put_number(&w->msg, 2, m + 1);
		}
		for (k = (u32)i + 1; k; k = w->locations.v[k - 1].outer) {
			frame_id id = w->locations.v[k - 1].frame;

			if (!function_id[id]) {
				vec_push(&functions, id);
				function_id[id] = functions.n;
			}
			buf_clear(&w->sub);
			put_number(&w->sub, 1, function_id[id]);
			put_number(&w->sub, 2, w->p->frames.v[id].line);
			put_bytes(&w->msg, 4, w->sub.p, w->sub.n);
		}
		emit(w, 4, &w->msg);
	}
	for (i = 0; i < functions.n; i++) {
		const struct frame *f = &w->p->frames.v[functions.v[i]];

		buf_clear(&name);
		profile_frame_label(w->p, functions.v[i], w->all, &name);
		buf_clear(&w->msg);
		put_number(&w->msg, 1, i + 1);
		put_number(&w->msg, 2, string(w, name.p, name.n));
		put_number(&w->msg, 3, string_of(w, f->function));
		put_number(&w->msg, 4, string_of(w, f->file));
		emit(w, 5, &w->msg);
	}
	for (i = 0; i < modules.n; i++) {
		buf_clear(&w->msg);
		put_number(&w->msg, 1, i + 1);
		put_number(&w->msg, 5, string_of(w, modules.v[i].name));
		for (k = 7; k <= 10; k++) /* has functions, file names, lines, inlined functions: do
					     not look them up */
			put_number(&w->msg, k, 1);
		emit(w, 3, &w->msg);
	}
	buf_release(&name);
	free(function_id);
	vec_release(&functions);
	vec_release(&modules);
}

static void emit_duration(struct writer *w)
{
	u64 first = UINT64_MAX, last = 0;
	size_t i;

	for (i = 0; i < w->p->samples.n; i++) {
		u64 time = w->p->samples.v[i].time;

		if (time == UINT64_MAX)
			continue;
		first = MIN(first, time);
		last = MAX(last, time);
	}
	if (last > first)
		emit_number(w, 10, last - first);
}

static void emit_comments(struct writer *w, const struct render_input *in,
			  const struct render_opts *opts)
{
	struct buf text = BUF_INIT;
	size_t i;

	if (opts->title)
		emit_number(w, 13, string0(w, opts->title));
	for (i = 0; i < in->nr_facts; i++) {
		buf_clear(&text);
		buf_printf(&text, "%s: %s", in->facts[i].key, in->facts[i].value);
		emit_number(w, 13, string(w, text.p, text.n));
	}
	for (i = 0; i < in->nr_quality; i++)
		emit_number(w, 13, string0(w, in->quality[i].text));
	buf_release(&text);
}

static int pprof_write(struct out *o, const struct render_input *in, const struct render_opts *opts,
		       struct error *err)
{
	struct writer w = { .o = o, .v = in->view, .p = in->profile, .all = opts->annotate_all };
	size_t i;

	if (in->view->nodes.v[0].total > INT64_MAX)
		return error_set(err,
				 "the weights add up to more than pprof's signed 64 bits hold");
	if (deflateInit2(&w.z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) !=
	    Z_OK)
		return error_set(err, "cannot start zlib: %s", w.z.msg ? w.z.msg : "no memory");
	strtab_init(&w.strings);
	index_init(&w.location_index);
	export_parts_init(&w.parts, w.v);
	find_locations(&w);
	for (i = 0; i < w.parts.v.n; i++)
		emit_value_type(&w, 1, w.parts.v.v[i].name);
	if (export_has_samples(w.v)) {
		emit_kept(&w);
		emit_duration(&w);
	} else {
		emit_stacks(&w);
	}
	emit_locations(&w);
	emit_comments(&w, in, opts);
	for (i = 0; i < w.strings.str.n; i++) {
		struct buf s = { (char *)(uintptr_t)w.strings.str.v[i], w.strings.len.v[i], 0 };

		emit(&w, 6, &s);
	}
	squeeze(&w, Z_FINISH);
	deflateEnd(&w.z);
	vec_release(&w.locations);
	index_release(&w.location_index);
	export_parts_release(&w.parts);
	strtab_release(&w.strings);
	buf_release(&w.msg);
	buf_release(&w.sub);
	buf_release(&w.tmp);
	free(w.location);
	free(w.up);
	return 0;
}

const struct render_writer writer_pprof = {
	.name = "pprof",
	.suffixes = ".pb.gz .pprof",
	.help = "gzipped profile.proto for pprof, Pyroscope, Parca, speedscope",
	.binary = true,
	.write = pprof_write,
};
