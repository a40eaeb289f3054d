/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof's profile.proto, gzipped: a sample type an event, functions with files and lines, inlined
 * functions as lines of one location, a mapping a module, labels.
 *
 * Facts: proto/profile.proto of pprof (field numbers below; stacks leaf first; of the lines of a
 * location the innermost is the first).  The root frame of a stack (the comm) stays a frame,
 * without mapping, and is a label too.  With samples kept one by one, cpu, pid and tid are labels,
 * and so is what --group puts below the comm; the domain is where hypervisor frames tell a Xen
 * host.  A profile has no addresses: locations have none.
 */
#include <zlib.h>

#include "render/places.h"

/* ---- the file ---- */

struct writer {
	struct out *o;
	z_stream z;
	struct strtab strings; /* the file's string table: its ids are the indexes */
	struct buf msg, sub, tmp;
	const struct view *v;
	const struct profile *p;
	struct export_parts parts;
	bool all;
	struct places places;
	struct place_samples samples;
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
	pb_put_bytes(&w->tmp, field, msg->p, msg->n);
	w->z.next_in = (Bytef *)w->tmp.p;
	w->z.avail_in = (uInt)w->tmp.n;
	squeeze(w, Z_NO_FLUSH);
}

static void emit_number(struct writer *w, u32 field, u64 v)
{
	buf_clear(&w->tmp);
	pb_put_number(&w->tmp, field, v);
	w->z.next_in = (Bytef *)w->tmp.p;
	w->z.avail_in = (uInt)w->tmp.n;
	squeeze(w, Z_NO_FLUSH);
}

static u64 string(struct writer *w, const char *s, size_t n)
{
	return export_string(&w->strings, s, n);
}

static u64 string0(struct writer *w, const char *s)
{
	return string(w, s, strlen(s));
}

static u64 string_of(struct writer *w, str_id id)
{
	return string(w, strtab_get(w->p->strings, id), strtab_len(w->p->strings, id));
}

/* ---- samples ---- */

static void put_label(struct writer *w, const char *key, u64 str, u64 num)
{
	buf_clear(&w->sub);
	pb_put_number(&w->sub, 1, string0(w, key));
	pb_put_number(&w->sub, 2, str);
	pb_put_number(&w->sub, 3, num);
	pb_put_bytes(&w->msg, 3, w->sub.p, w->sub.n);
}

static void emit_sample(struct writer *w, struct place_sample *s)
{
	const struct export_part *part = &w->parts.v.v[s->part];
	const struct view_node *nodes = w->v->nodes.v;
	struct place_root root = place_root(w->v, &w->parts, &w->samples, s);
	size_t k;
	u32 i;

	buf_clear(&w->msg);
	buf_clear(&w->sub);
	for (i = s->node; nodes[i].depth > part->depth; i = w->places.up[i])
		pb_put_varint(&w->sub, places_use(&w->places, i));
	pb_put_bytes(&w->msg, 1, w->sub.p, w->sub.n);
	buf_clear(&w->sub);
	for (k = 0; k < w->parts.v.n; k++)
		pb_put_varint(&w->sub, k == s->part ? s->weight : 0);
	pb_put_bytes(&w->msg, 2, w->sub.p, w->sub.n);

	if (root.comm)
		put_label(w, "comm", string_of(w, root.comm), 0);
	if (root.domain)
		put_label(w, "domain", string0(w, root.domain), 0);
	if (nodes[s->node].depth > part->depth)
		put_label(w, "space",
			  string0(w, space_name(w->p->frames.v[nodes[s->node].frame].space)), 0);
	if (s->cpu != UINT32_MAX)
		put_label(w, "cpu", 0, s->cpu);
	if (s->pid != UINT32_MAX)
		put_label(w, "pid", 0, s->pid);
	if (s->tid != UINT32_MAX)
		put_label(w, "tid", 0, s->tid);
	emit(w, 2, &w->msg);
}

/* ---- what samples refer to ---- */

static const char *unit_of(const struct writer *w)
{
	return w->p->unit ? w->p->unit : "samples";
}

static void emit_value_type(struct writer *w, u32 field, u64 type, const char *unit)
{
	buf_clear(&w->msg);
	pb_put_number(&w->msg, 1, type);
	pb_put_number(&w->msg, 2, string0(w, unit));
	emit(w, field, &w->msg);
}

/* What a server asks for: when it was, and the time that a sample stands for. */
static void emit_resource(struct writer *w, const struct render_resource *r)
{
	emit_number(w, 9, r->start_ns);
	emit_number(w, 10, r->length_ns);
	if (!r->rate || strcmp(unit_of(w), "samples"))
		return;
	emit_value_type(w, 11, string0(w, "cpu"), "nanoseconds");
	emit_number(w, 12, 1000000000 / r->rate);
}

static void emit_locations(struct writer *w)
{
	const struct places *p = &w->places;
	struct buf name = BUF_INIT;
	size_t i;
	u32 k;

	places_number(&w->places, w->p);
	for (i = 0; i < p->used.n; i++) {
		buf_clear(&w->msg);
		pb_put_number(&w->msg, 1, i + 1);
		pb_put_number(&w->msg, 2, p->v.v[p->used.v[i]].module);
		for (k = p->used.v[i] + 1; k; k = p->v.v[k - 1].outer) {
			frame_id id = p->v.v[k - 1].frame;

			buf_clear(&w->sub);
			pb_put_number(&w->sub, 1, p->function[id]);
			pb_put_number(&w->sub, 2, w->p->frames.v[id].line);
			pb_put_bytes(&w->msg, 4, w->sub.p, w->sub.n);
		}
		emit(w, 4, &w->msg);
	}
	for (i = 0; i < p->functions.n; i++) {
		const struct frame *f = &w->p->frames.v[p->functions.v[i]];

		buf_clear(&name);
		profile_frame_label(w->p, p->functions.v[i], w->all, &name);
		buf_clear(&w->msg);
		pb_put_number(&w->msg, 1, i + 1);
		pb_put_number(&w->msg, 2, string(w, name.p, name.n));
		pb_put_number(&w->msg, 3, string_of(w, f->function));
		pb_put_number(&w->msg, 4, string_of(w, f->file));
		emit(w, 5, &w->msg);
	}
	for (i = 0; i < p->modules.n; i++) {
		buf_clear(&w->msg);
		pb_put_number(&w->msg, 1, i + 1);
		pb_put_number(&w->msg, 5, string_of(w, p->modules.v[i].name));
		for (k = 7; k <= 10; k++) /* has functions, file names, lines, inlined functions: do
					     not look them up */
			pb_put_number(&w->msg, k, 1);
		emit(w, 3, &w->msg);
	}
	buf_release(&name);
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
	export_parts_init(&w.parts, w.v);
	places_init(&w.places, w.v);
	place_samples_init(&w.samples, w.v, &w.parts);
	for (i = 0; i < w.parts.v.n; i++) {
		str_id event = w.parts.v.v[i].name;

		emit_value_type(&w, 1, event ? string_of(&w, event) : string0(&w, "samples"),
				!strcmp(unit_of(&w), "samples") ? "count" : unit_of(&w));
	}
	for (i = 0; i < w.samples.v.n; i++)
		emit_sample(&w, &w.samples.v.v[i]);
	if (opts->resource)
		emit_resource(&w, opts->resource);
	else if (export_has_samples(w.v))
		emit_number(&w, 10, export_duration(w.p));
	emit_locations(&w);
	emit_comments(&w, in, opts);
	for (i = 0; i < w.strings.str.n; i++) {
		struct buf s = { (char *)(uintptr_t)w.strings.str.v[i], w.strings.len.v[i], 0 };

		emit(&w, 6, &s);
	}
	squeeze(&w, Z_FINISH);
	deflateEnd(&w.z);
	places_release(&w.places);
	place_samples_release(&w.samples);
	export_parts_release(&w.parts);
	strtab_release(&w.strings);
	buf_release(&w.msg);
	buf_release(&w.sub);
	buf_release(&w.tmp);
	return 0;
}

const struct render_writer writer_pprof = {
	.name = "pprof",
	.suffixes = ".pb.gz .pprof",
	.help = "gzipped profile.proto for pprof, Pyroscope, Parca, speedscope",
	.binary = true,
	.samples = true,
	.write = pprof_write,
};
