/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * OpenTelemetry's profiles: the body of an OTLP export request, a profile an event.
 *
 * Facts: opentelemetry-proto 1.11, profiles/v1development/profiles.proto, common/v1/common.proto,
 * resource/v1/resource.proto and collector/profiles/v1development/profiles_service.proto (Alpha;
 * field numbers below).  Tables stand in a dictionary; entry 0 of each is the empty one and means
 * "none", no entry is there twice.  Stacks are leaf first; of the lines of a location the innermost
 * is the first.  Keys of attributes: semantic-conventions' registry (thread, process, cpu, host,
 * service, profile.frame.type); those of our own begin with "xenflame.".
 *
 * Tables are tables of encoded messages, interned, so that equal ones are one and the empty message
 * is entry 0.  As in pprof files the comm stays a frame, and is an attribute too.
 */
#include "render/places.h"

struct writer {
	const struct view *v;
	const struct profile *p;
	struct export_parts parts;
	struct places places;
	struct place_samples samples;
	bool all;
	/* the dictionary */
	struct strtab mappings, locations, functions, strings, attributes, stacks;
	u32 *location; /* by place: its entry, 0: not made yet */
	u32 *function; /* by frame */
	struct buf msg, sub, name;
};

static u32 string(struct writer *w, const char *s)
{
	return export_string(&w->strings, s, strlen(s));
}

static u32 string_of(struct writer *w, str_id id)
{
	return export_string(&w->strings, strtab_get(w->p->strings, id),
			     strtab_len(w->p->strings, id));
}

/* ---- attributes ---- */

/* AnyValue: 1 string, 3 int; which one it is counts, so that a 0 is written, too. */
static void put_text(struct buf *b, u32 field, struct buf *scratch, const char *s, size_t n)
{
	struct buf valid = BUF_INIT;

	buf_clear(scratch);
	if (utf8_valid(s, n)) {
		pb_put_bytes(scratch, 1, s, n);
	} else {
		buf_utf8(&valid, s, n);
		pb_put_bytes(scratch, 1, valid.p, valid.n);
		buf_release(&valid);
	}
	pb_put_bytes(b, field, scratch->p, scratch->n);
}

static void put_int(struct buf *b, u32 field, struct buf *scratch, u64 v)
{
	buf_clear(scratch);
	pb_put_varint(scratch, 3 << 3);
	pb_put_varint(scratch, v);
	pb_put_bytes(b, field, scratch->p, scratch->n);
}

/* KeyValueAndUnit: 1 key_strindex, 2 value. */
static u32 text_attribute(struct writer *w, const char *key, const char *s, size_t n)
{
	buf_clear(&w->name);
	pb_put_number(&w->name, 1, string(w, key));
	put_text(&w->name, 2, &w->sub, s, n);
	return strtab_add(&w->attributes, w->name.p, w->name.n);
}

static u32 int_attribute(struct writer *w, const char *key, u64 v)
{
	buf_clear(&w->name);
	pb_put_number(&w->name, 1, string(w, key));
	put_int(&w->name, 2, &w->sub, v);
	return strtab_add(&w->attributes, w->name.p, w->name.n);
}

/* KeyValue, of resources: 1 key, 2 value. */
static void put_attribute(struct buf *b, const char *key, const char *value)
{
	struct buf kv = BUF_INIT, scratch = BUF_INIT;

	pb_put_bytes(&kv, 1, key, strlen(key));
	put_text(&kv, 2, &scratch, value, strlen(value));
	pb_put_bytes(b, 1, kv.p, kv.n);
	buf_release(&kv);
	buf_release(&scratch);
}

static const char *space_word(u8 space)
{
	static const char *const words[SPACE_NR] = {
		[SPACE_USER] = "user",
		[SPACE_KERNEL] = "kernel",
		[SPACE_HV] = "hypervisor",
		[SPACE_GUEST_USER] = "guest_user",
		[SPACE_GUEST_KERNEL] = "guest_kernel",
		[SPACE_NONE] = "none",
	};

	return words[space];
}

/* ---- tables ---- */

/* Function: 1 name, 2 system name, 3 file name. */
static u32 function(struct writer *w, frame_id id)
{
	const struct frame *f = &w->p->frames.v[id];
	struct buf label = BUF_INIT;

	if (w->function[id])
		return w->function[id];
	profile_frame_label(w->p, id, w->all, &label);
	buf_clear(&w->sub);
	pb_put_number(&w->sub, 1, export_string(&w->strings, label.p, label.n));
	pb_put_number(&w->sub, 2, string_of(w, f->function));
	pb_put_number(&w->sub, 3, string_of(w, f->file));
	buf_release(&label);
	w->function[id] = strtab_add(&w->functions, w->sub.p, w->sub.n);
	return w->function[id];
}

/* Mapping: 4 file name. */
static u32 mapping(struct writer *w, const struct frame *f)
{
	if (!f->module)
		return 0;
	buf_clear(&w->sub);
	pb_put_number(&w->sub, 4, string_of(w, f->module));
	return strtab_add(&w->mappings, w->sub.p, w->sub.n);
}

/* Location: 1 mapping, 3 line (1 function, 2 line), 4 attributes. */
static u32 location(struct writer *w, u32 place)
{
	const struct frame *f = &w->p->frames.v[w->places.v.v[place].frame];
	u32 k, fn, attribute;
	const char *type;

	if (w->location[place])
		return w->location[place];
	buf_clear(&w->msg);
	pb_put_number(&w->msg, 1, mapping(w, f));
	for (k = place + 1; k; k = w->places.v.v[k - 1].outer) {
		frame_id id = w->places.v.v[k - 1].frame;

		fn = function(w, id);
		buf_clear(&w->sub);
		pb_put_number(&w->sub, 1, fn);
		pb_put_number(&w->sub, 2, w->p->frames.v[id].line);
		pb_put_bytes(&w->msg, 3, w->sub.p, w->sub.n);
	}
	if (!(f->flags & FRAME_GROUP)) {
		type = f->space == SPACE_USER || f->space == SPACE_NONE ? "native"
									: space_word(f->space);
		attribute = text_attribute(w, "profile.frame.type", type, strlen(type));
		buf_clear(&w->sub);
		pb_put_varint(&w->sub, attribute);
		pb_put_bytes(&w->msg, 4, w->sub.p, w->sub.n);
	}
	w->location[place] = strtab_add(&w->locations, w->msg.p, w->msg.n);
	return w->location[place];
}

/* Stack: 1 locations. */
static u32 stack(struct writer *w, const struct place_sample *s)
{
	const struct view_node *nodes = w->v->nodes.v;
	u32 below = w->parts.v.v[s->part].depth, i;
	struct buf list = BUF_INIT;
	u32 id;

	for (i = s->node; nodes[i].depth > below; i = w->places.up[i])
		pb_put_varint(&list, location(w, w->places.of[i]));
	buf_clear(&w->msg);
	if (list.n)
		pb_put_bytes(&w->msg, 1, list.p, list.n);
	id = strtab_add(&w->stacks, w->msg.p, w->msg.n);
	buf_release(&list);
	return id;
}

/* ---- profiles ---- */

/* Sample: 1 stack, 2 attributes, 4 values. */
static void put_sample(struct writer *w, struct buf *profile, struct place_sample *s)
{
	struct place_root root = place_root(w->v, &w->parts, &w->samples, s);
	const struct strtab *t = w->p->strings;
	struct buf list = BUF_INIT;
	const char *word = "none";
	u32 id = stack(w, s);

	if (root.comm)
		pb_put_varint(&list, text_attribute(w, "thread.name", strtab_get(t, root.comm),
						    strtab_len(t, root.comm)));
	if (root.domain)
		pb_put_varint(&list, text_attribute(w, "xenflame.domain", root.domain,
						    strlen(root.domain)));
	if (s->node)
		word = space_word(w->p->frames.v[w->v->nodes.v[s->node].frame].space);
	pb_put_varint(&list, text_attribute(w, "xenflame.space", word, strlen(word)));
	if (s->cpu != UINT32_MAX)
		pb_put_varint(&list, int_attribute(w, "cpu.logical_number", s->cpu));
	if (s->pid != UINT32_MAX)
		pb_put_varint(&list, int_attribute(w, "process.pid", s->pid));
	if (s->tid != UINT32_MAX)
		pb_put_varint(&list, int_attribute(w, "thread.id", s->tid));
	buf_clear(&w->msg);
	pb_put_number(&w->msg, 1, id);
	pb_put_bytes(&w->msg, 2, list.p, list.n);
	buf_clear(&list);
	pb_put_varint(&list, s->weight);
	pb_put_bytes(&w->msg, 4, list.p, list.n);
	pb_put_bytes(profile, 2, w->msg.p, w->msg.n);
	buf_release(&list);
}

/* ValueType: 1 type, 2 unit. */
static void put_type(struct writer *w, struct buf *profile, u32 field, u32 type, const char *unit)
{
	buf_clear(&w->msg);
	pb_put_number(&w->msg, 1, type);
	pb_put_number(&w->msg, 2, string(w, unit));
	pb_put_bytes(profile, field, w->msg.p, w->msg.n);
}

/* What is degraded, by its kind: a key stands once. */
static void put_quality(struct writer *w, struct buf *list, const struct render_input *in, size_t i)
{
	const struct render_quality *q = in->quality;
	struct buf key = BUF_INIT;
	u64 count = 0;
	size_t k;

	for (k = 0; k < in->nr_quality; k++) {
		if (strcmp(q[k].name, q[i].name))
			continue;
		if (k < i)
			return;
		count = add_saturated(count, q[k].count);
	}
	buf_printf(&key, "xenflame.quality.%s", q[i].name);
	pb_put_varint(list, int_attribute(w, buf_str(&key), MIN(count, (u64)INT64_MAX)));
	buf_release(&key);
}

/*
 * Profile: 1 sample_type, 2 samples, 3 time, 4 duration, 5 period_type, 6 period, 11 attributes.
 * Samples of a known rate are told as profilers of the CPU do: their count, and the time each one
 * stands for as the period.
 */
static void put_profile(struct writer *w, struct buf *scope, u32 part, size_t *at,
			const struct render_input *in, const struct render_resource *r)
{
	const char *unit = w->p->unit ? w->p->unit : "samples";
	str_id event = w->parts.v.v[part].name;
	struct buf b = BUF_INIT, list = BUF_INIT;
	bool cpu;
	size_t i;

	cpu = r->rate && !strcmp(unit, "samples");
	put_type(w, &b, 1, cpu || !event ? string(w, "samples") : string_of(w, event),
		 !strcmp(unit, "samples") ? "count" : unit);
	for (; *at < w->samples.v.n && w->samples.v.v[*at].part == part; ++*at)
		put_sample(w, &b, &w->samples.v.v[*at]);
	pb_put_fixed64(&b, 3, r->start_ns);
	pb_put_number(&b, 4, r->length_ns);
	/* Some servers want the type of the period even where there is none. */
	put_type(w, &b, 5, cpu ? string(w, "cpu") : 0, cpu ? "nanoseconds" : "");
	if (cpu)
		pb_put_number(&b, 6, 1000000000 / r->rate);
	if (event)
		pb_put_varint(&list,
			      text_attribute(w, "xenflame.event", strtab_get(w->p->strings, event),
					     strtab_len(w->p->strings, event)));
	for (i = 0; i < in->nr_quality; i++)
		put_quality(w, &list, in, i);
	if (list.n)
		pb_put_bytes(&b, 11, list.p, list.n);
	pb_put_bytes(scope, 2, b.p, b.n);
	buf_release(&b);
	buf_release(&list);
}

/* ---- the request ---- */

/* Resource: 1 attributes. */
static void put_resource(struct buf *b, const struct render_resource *r)
{
	struct buf msg = BUF_INIT;
	size_t i;

	put_attribute(&msg, "service.name", r->service ? r->service : PACKAGE_NAME);
	for (i = 0; i < r->nr_labels; i++)
		put_attribute(&msg,
			      strcmp(r->labels[i].key, "host") ? r->labels[i].key : "host.name",
			      r->labels[i].value);
	pb_put_bytes(b, 1, msg.p, msg.n);
	buf_release(&msg);
}

/* InstrumentationScope: 1 name, 2 version. */
static void put_scope(struct buf *b)
{
	struct buf msg = BUF_INIT;

	pb_put_bytes(&msg, 1, PACKAGE_NAME, strlen(PACKAGE_NAME));
	pb_put_bytes(&msg, 2, PACKAGE_VERSION, strlen(PACKAGE_VERSION));
	pb_put_bytes(b, 1, msg.p, msg.n);
	buf_release(&msg);
}

static void put_table(struct buf *b, u32 field, const struct strtab *t)
{
	size_t i;

	for (i = 0; i < t->str.n; i++)
		pb_put_bytes(b, field, t->str.v[i], t->len.v[i]);
}

/* ProfilesDictionary: 1 mappings, 2 locations, 3 functions, 4 links, 5 strings, 6 attributes, 7
 * stacks. */
static void put_dictionary(struct writer *w, struct buf *b)
{
	static const u8 no_link[] = { 0x0a, 16, 0, 0, 0,    0, 0, 0, 0, 0, 0, 0, 0, 0,
				      0,    0,  0, 0, 0x12, 8, 0, 0, 0, 0, 0, 0, 0, 0 };

	put_table(b, 1, &w->mappings);
	put_table(b, 2, &w->locations);
	put_table(b, 3, &w->functions);
	pb_put_bytes(b, 4, no_link, sizeof(no_link));
	put_table(b, 5, &w->strings);
	put_table(b, 6, &w->attributes);
	put_table(b, 7, &w->stacks);
}

static void put_message(struct out *o, u32 field, const struct buf *msg)
{
	struct buf head = BUF_INIT;

	pb_put_varint(&head, (u64)field << 3 | 2);
	pb_put_varint(&head, msg->n);
	out_write(o, head.p, head.n);
	out_write(o, msg->p, msg->n);
	buf_release(&head);
}

/* Without push, what the recording says of its host and how long it lasts. */
static struct render_resource from_facts(struct writer *w, const struct render_input *in,
					 struct render_fact *host)
{
	struct render_resource r = { .labels = host };
	size_t i;

	for (i = 0; i < in->nr_facts; i++)
		if (!strcmp(in->facts[i].key, "host")) {
			*host = in->facts[i];
			r.nr_labels = 1;
		}
	r.length_ns = export_duration(w->p);
	return r;
}

static int otlp_write(struct out *o, const struct render_input *in, const struct render_opts *opts,
		      struct error *err)
{
	struct writer w = { .v = in->view, .p = in->profile, .all = opts->annotate_all };
	struct strtab *const tables[] = { &w.mappings, &w.locations,  &w.functions,
					  &w.strings,  &w.attributes, &w.stacks };
	struct buf scope = BUF_INIT, resource = BUF_INIT, dictionary = BUF_INIT;
	struct render_resource made;
	struct render_fact host;
	size_t i, at = 0;
	u32 part;

	if (in->view->nodes.v[0].total > INT64_MAX)
		return error_set(err, "the weights add up to more than OTLP's signed 64 bits hold");
	for (i = 0; i < ARRAY_SIZE(tables); i++)
		strtab_init(tables[i]);
	export_parts_init(&w.parts, w.v);
	places_init(&w.places, w.v);
	place_samples_init(&w.samples, w.v, &w.parts);
	w.location = xcalloc(w.places.v.n + 1, sizeof(*w.location));
	w.function = xcalloc(w.p->frames.n + 1, sizeof(*w.function));
	made = from_facts(&w, in, &host);

	put_scope(&scope);
	for (part = 0; part < w.parts.v.n; part++)
		put_profile(&w, &scope, part, &at, in, opts->resource ? opts->resource : &made);
	put_resource(&resource, opts->resource ? opts->resource : &made);
	pb_put_bytes(&resource, 2, scope.p, scope.n);
	put_dictionary(&w, &dictionary);
	put_message(o, 1, &resource);
	put_message(o, 2, &dictionary);

	buf_release(&scope);
	buf_release(&resource);
	buf_release(&dictionary);
	for (i = 0; i < ARRAY_SIZE(tables); i++)
		strtab_release(tables[i]);
	export_parts_release(&w.parts);
	places_release(&w.places);
	place_samples_release(&w.samples);
	free(w.location);
	free(w.function);
	buf_release(&w.msg);
	buf_release(&w.sub);
	buf_release(&w.name);
	return 0;
}

const struct render_writer writer_otlp = {
	.name = "otlp",
	.suffixes = ".otlp",
	.help = "OpenTelemetry profiles, as collectors take them",
	.binary = true,
	.samples = true,
	.write = otlp_write,
};
