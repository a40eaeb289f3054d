/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof's profile.proto (unpacked from gzip by input.c).
 *
 * Facts: proto/profile.proto of pprof.  Profile: 1 sample_type, 2 sample, 3 mapping, 4 location, 5
 * function, 6 string_table. ValueType: 1 type. Sample: 1 location_id (leaf first), 2 value.
 * Mapping: 1 id, 5 filename. Location: 1 id, 2 mapping_id, 3 address, 4 line (the innermost first).
 * Line: 1 function_id, 2 line. Function: 1 id, 2 name, 4 filename.  Numbers of lists may be packed.
 *
 * Each sample type is an event.  Tables may come in any order, so samples are looked at last.
 */
#include <stdlib.h>

#include "perf/stacks.h"

#define PPROF_MAX ((u64)1 << 30) /* unpacked */
#define WALK_MAX                                                                         \
	((u64)1 << 28) /* frames of all samples: a location of a byte may stand for many \
			*/

struct numbers {
	u64 *v;
	size_t n, cap;
};

struct function {
	u64 id, name, file;
};

struct mapping {
	u64 id, file;
};

struct line {
	u64 function, line;
};

struct location {
	u64 id, mapping, address;
	u32 first, nr; /* in lines */
	bool made;
	u32 frames, root; /* in frames: nr of them, outermost first; root: id for the bottom of a
			     stack */
};

struct pprof {
	struct perf_reader *r;
	VEC(struct pb_part) strings, samples;
	VEC(u64) types;
	VEC(struct function) functions;
	VEC(struct mapping) mappings;
	VEC(struct location) locations;
	VEC(struct line) lines;
	VEC(u32) frames;
	struct index function_index, mapping_index, location_index;
	struct numbers numbers, values; /* of a sample */
	u64 walked;
};

/* ---- tables: ids are any numbers ---- */

static bool function_eq(const void *ctx, u32 id, const void *key)
{
	return ((const struct pprof *)ctx)->functions.v[id].id == *(const u64 *)key;
}

static bool mapping_eq(const void *ctx, u32 id, const void *key)
{
	return ((const struct pprof *)ctx)->mappings.v[id].id == *(const u64 *)key;
}

static bool location_eq(const void *ctx, u32 id, const void *key)
{
	return ((const struct pprof *)ctx)->locations.v[id].id == *(const u64 *)key;
}

static int read_function(struct pprof *x, struct pb_part b)
{
	struct function fn = { 0 };
	struct pb_field f;
	int rc;

	while ((rc = pb_take(&b, &f)) > 0)
		if (f.wire == 0 && f.number == 1)
			fn.id = f.value;
		else if (f.wire == 0 && f.number == 2)
			fn.name = f.value;
		else if (f.wire == 0 && f.number == 4)
			fn.file = f.value;
	if (index_find(&x->function_index, hash_u64(fn.id), function_eq, x, &fn.id) == INDEX_NONE) {
		index_add(&x->function_index, hash_u64(fn.id), (u32)x->functions.n);
		vec_push(&x->functions, fn);
	}
	return rc;
}

static int read_mapping(struct pprof *x, struct pb_part b)
{
	struct mapping m = { 0 };
	struct pb_field f;
	int rc;

	while ((rc = pb_take(&b, &f)) > 0)
		if (f.wire == 0 && f.number == 1)
			m.id = f.value;
		else if (f.wire == 0 && f.number == 5)
			m.file = f.value;
	if (index_find(&x->mapping_index, hash_u64(m.id), mapping_eq, x, &m.id) == INDEX_NONE) {
		index_add(&x->mapping_index, hash_u64(m.id), (u32)x->mappings.n);
		vec_push(&x->mappings, m);
	}
	return rc;
}

static int read_location(struct pprof *x, struct pb_part b)
{
	struct location l = { .first = (u32)x->lines.n };
	struct pb_field f, g;
	int rc, rc2;

	while ((rc = pb_take(&b, &f)) > 0) {
		if (f.wire == 0 && f.number == 1) {
			l.id = f.value;
		} else if (f.wire == 0 && f.number == 2) {
			l.mapping = f.value;
		} else if (f.wire == 0 && f.number == 3) {
			l.address = f.value;
		} else if (f.wire == 2 && f.number == 4) {
			struct line line = { 0 };

			while ((rc2 = pb_take(&f.bytes, &g)) > 0)
				if (g.wire == 0 && g.number == 1)
					line.function = g.value;
				else if (g.wire == 0 && g.number == 2)
					line.line = g.value;
			if (rc2)
				return -1;
			vec_push(&x->lines, line);
		}
	}
	l.nr = (u32)x->lines.n - l.first;
	if (index_find(&x->location_index, hash_u64(l.id), location_eq, x, &l.id) == INDEX_NONE) {
		index_add(&x->location_index, hash_u64(l.id), (u32)x->locations.n);
		vec_push(&x->locations, l);
	}
	return rc;
}

static int read_type(struct pprof *x, struct pb_part b)
{
	struct pb_field f;
	u64 type = 0;
	int rc;

	while ((rc = pb_take(&b, &f)) > 0)
		if (f.wire == 0 && f.number == 1)
			type = f.value;
	vec_push(&x->types, type);
	return rc;
}

static int read_tables(struct pprof *x)
{
	struct pb_part b = { x->r->in.map, (size_t)x->r->in.size };
	struct pb_field f;
	int rc;

	while ((rc = pb_take(&b, &f)) > 0) {
		if (f.wire != 2)
			continue;
		switch (f.number) {
		case 1: rc = read_type(x, f.bytes); break;
		case 2: vec_push(&x->samples, f.bytes); break;
		case 3: rc = read_mapping(x, f.bytes); break;
		case 4: rc = read_location(x, f.bytes); break;
		case 5: rc = read_function(x, f.bytes); break;
		case 6: vec_push(&x->strings, f.bytes); break;
		default: break;
		}
		if (rc < 0)
			break;
	}
	return rc < 0 ? -1 : 0;
}

/* ---- frames ---- */

static struct pb_part string(const struct pprof *x, u64 i)
{
	return i < x->strings.n ? x->strings.v[i] : (struct pb_part){ (const u8 *)"", 0 };
}

static str_id string_id(struct pprof *x, u64 i)
{
	struct pb_part s = string(x, i);

	return strtab_add(x->r->strings, (const char *)s.p, s.n);
}

static void make_frames(struct pprof *x, struct location *l)
{
	u32 m = index_find(&x->mapping_index, hash_u64(l->mapping), mapping_eq, x, &l->mapping), i;
	str_id module = l->mapping && m != INDEX_NONE ? string_id(x, x->mappings.v[m].file) : 0;

	l->made = true;
	l->frames = (u32)x->frames.n;
	if (!l->nr) {
		struct stacks_frame f = { .name = "",
					  .module = module,
					  .addr = l->address,
					  .flags = TEXT_HAS_ADDR | TEXT_UNKNOWN,
					  .space = SPACE_NONE };

		l->nr = 1;
		l->root = stacks_frame(x->r, &f);
		vec_push(&x->frames, l->root);
		return;
	}
	for (i = l->nr; i-- > 0;) {
		const struct line *line = &x->lines.v[l->first + i];
		u32 fn = index_find(&x->function_index, hash_u64(line->function), function_eq, x,
				    &line->function);
		struct pb_part name = fn == INDEX_NONE ? (struct pb_part){ (const u8 *)"", 0 }
						       : string(x, x->functions.v[fn].name);
		struct stacks_frame f = {
			.name = (const char *)name.p,
			.name_len = name.n,
			.module = module,
			.file = fn == INDEX_NONE ? 0 : string_id(x, x->functions.v[fn].file),
			.line = line->line <= UINT32_MAX ? (u32)line->line : 0,
			.flags = i + 1 < l->nr ? TEXT_INLINED : 0,
			.space = SPACE_NONE,
		};
		u32 id = stacks_frame(x->r, &f);

		if (i + 1 == l->nr) {
			l->root = id;
			if (!module && !f.file) {
				f.flags = TEXT_ROOT;
				l->root = stacks_frame(x->r, &f);
			}
		}
		vec_push(&x->frames, id);
	}
}

/* ---- samples ---- */

/* A list of numbers, packed or one by one. */
static int take_numbers(const struct pb_field *f, struct numbers *v)
{
	struct pb_part b = f->bytes;
	u64 n;

	if (f->wire == 0) {
		vec_push(v, f->value);
		return 0;
	}
	if (f->wire != 2)
		return -1;
	while (b.n) {
		if (!pb_take_varint(&b, &n))
			return -1;
		vec_push(v, n);
	}
	return 0;
}

static int read_sample(struct pprof *x, struct pb_part b, const u32 *events)
{
	struct stacks *s = x->r->priv;
	struct pb_field f;
	u32 node = 0, k;
	size_t i;
	int rc;

	x->numbers.n = x->values.n = 0;
	while ((rc = pb_take(&b, &f)) > 0)
		if ((f.number == 1 && take_numbers(&f, &x->numbers)) ||
		    (f.number == 2 && take_numbers(&f, &x->values)))
			return -1;
	if (rc < 0 || x->values.n != x->types.n)
		return -1;
	for (i = x->numbers.n; i-- > 0;) {
		u32 id = index_find(&x->location_index, hash_u64(x->numbers.v[i]), location_eq, x,
				    &x->numbers.v[i]);
		struct location *l;

		if (id == INDEX_NONE) {
			s->bad++;
			return 0;
		}
		l = &x->locations.v[id];
		if (!l->made)
			make_frames(x, l);
		x->walked += l->nr;
		if (x->walked > WALK_MAX)
			return -1;
		for (k = 0; k < l->nr; k++)
			node = stacks_child(s, node, node ? x->frames.v[l->frames + k] : l->root);
	}
	for (i = 0; i < x->values.n; i++)
		if (x->values.v[i] > INT64_MAX)
			s->bad++;
		else
			stacks_add(s, node, events[i], x->values.v[i], 0);
	return 0;
}

static int pprof_open(struct perf_reader *r, struct error *err)
{
	struct pprof x = { .r = r };
	struct stacks *s = stacks_new(r);
	u32 *events = NULL;
	int ret = -1;
	size_t i;

	if (stacks_map(r, PPROF_MAX, err))
		return -1;
	if (read_tables(&x) || !x.types.n || !x.strings.n) {
		error_set(
			err,
			"'%s': no pprof profile: expected a message with sample types and strings",
			input_name(&r->in));
		goto out;
	}
	events = xcalloc(x.types.n, sizeof(*events));
	for (i = 0; i < x.types.n; i++) {
		struct pb_part name = string(&x, x.types.v[i]);

		if (stacks_event(r, (const char *)name.p, name.n, &events[i], err))
			goto out;
	}
	for (i = 0; i < x.samples.n; i++)
		if (read_sample(&x, x.samples.v[i], events)) {
			if (x.walked > WALK_MAX)
				error_set(err,
					  "'%s': stacks of more than %" PRIu64 " frames in all",
					  input_name(&r->in), WALK_MAX);
			error_set(err,
				  "'%s': sample %zu is damaged: expected locations and %zu values",
				  input_name(&r->in), i, x.types.n);
			goto out;
		}
	stacks_end(r, s);
	ret = 0;
out:
	free(events);
	vec_release(&x.strings);
	vec_release(&x.samples);
	vec_release(&x.types);
	vec_release(&x.functions);
	vec_release(&x.mappings);
	vec_release(&x.locations);
	vec_release(&x.lines);
	vec_release(&x.frames);
	vec_release(&x.numbers);
	vec_release(&x.values);
	index_release(&x.function_index);
	index_release(&x.mapping_index);
	index_release(&x.location_index);
	return ret;
}

/* Writers begin with the sample types: a short message of two small numbers. */
static int pprof_probe(const u8 *head, size_t n, bool is_dir)
{
	struct pb_part b = { head, n }, in;
	struct pb_field f, g;
	int rc, fields = 0;

	if (is_dir || n < 4 || *head != 0x0a)
		return 0;
	if (pb_take(&b, &f) <= 0 || f.bytes.n < 2 || f.bytes.n > 24)
		return 0;
	for (in = f.bytes; (rc = pb_take(&in, &g)) > 0; fields++)
		if (g.wire != 0 || g.number > 2)
			return 0;
	if (rc < 0 || !fields)
		return 0;
	/* What follows is a field of the profile, too. */
	return pb_take(&b, &f) < 0 || f.number > 20 ? (n == INPUT_HEAD ? 40 : 0) : 70;
}

const struct perf_format format_pprof = {
	.name = "pprof",
	.title = "pprof",
	.probe = pprof_probe,
	.open = pprof_open,
	.next = stacks_next,
	.close = stacks_close,
};
