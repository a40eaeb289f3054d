/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A perf.data without its stack dumps: call chains that the caller unwound stand in their place.
 *
 * Records keep their order.  What holds user registers or a stack goes, whether a chain came for it
 * or not; records of other types, the events' ids and the feature sections are copied.  Only files
 * of this machine's byte order, with a header at the front and without compressed records.  Format
 * facts: data.h.
 */
#include "perf/data.h"

#define HEADER_SIZE     104
#define FEATURES_AT     72
#define FEAT_EVENT_DESC 12
#define ATTR_SAMPLE     24 /* offsets in perf_event_attr */
#define ATTR_READ       32
#define ATTR_FLAGS      40
#define ATTR_BRANCH     72
#define ATTR_REGS       80
#define ATTR_STACK      88
#define ATTR_MIN        64
#define ATTR_NO_USER    22 /* exclude_callchain_user */
#define CALL_STACK      11 /* PERF_SAMPLE_BRANCH_CALL_STACK */
#define HW_INDEX        17
#define COUNTERS        19
#define STACKS          ((u64)PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)

struct fields {
	u64 sample_type, read_format, branch_type, regs_user;
};

/* ---- chains ---- */

void perf_strip_release(struct perf_strip *s)
{
	vec_release(&s->samples);
	vec_release(&s->entries);
	perf_chain_release(&s->check);
}

static u64 marker(u8 space, bool hv_marker)
{
	switch (space) {
	case SPACE_HV: return hv_marker ? PERF_CONTEXT_HV : PERF_CONTEXT_KERNEL;
	case SPACE_KERNEL: return PERF_CONTEXT_KERNEL;
	case SPACE_GUEST_KERNEL: return PERF_CONTEXT_GUEST_KERNEL;
	case SPACE_GUEST_USER: return PERF_CONTEXT_GUEST_USER;
	default: return PERF_CONTEXT_USER;
	}
}

void perf_strip_add(struct perf_strip *s, const struct perf_sample *sample,
		    const struct perf_chain *c)
{
	struct perf_strip_sample e = { .offset = sample->offset,
				       .at = s->entries.n,
				       .cpumode = sample->cpumode,
				       .cut = sample->cut };
	struct perf_sample plain = *sample;
	u8 context = SPACE_NONE;
	size_t i;
	bool same;

	if (!sample->offset)
		return;
	for (i = 0; i < c->addrs.n; i++) {
		const struct perf_addr *a = &c->addrs.v[i];

		/* A marker also says that the address after it is no return address. */
		if (a->kind == ADDR_EXACT) {
			vec_push(&s->entries, marker(a->space, c->hv_marker));
			context = a->space;
		} else if (a->space != context && a->space != SPACE_HV) {
			vec_push(&s->entries, marker(a->space, c->hv_marker));
			context = a->space;
		}
		vec_push(&s->entries, a->addr);
	}
	e.nr = (u32)(s->entries.n - e.at);
	/* What makes a sample a guest's is undone by an own user part. */
	if (c->root == ROOT_COMM &&
	    (e.cpumode == CPUMODE_GUEST_KERNEL || e.cpumode == CPUMODE_GUEST_USER))
		e.cpumode = CPUMODE_USER;
	plain.cpumode = e.cpumode;
	plain.chain = s->entries.v + e.at;
	plain.chain_nr = e.nr;
	perf_chain_classify(&s->check, &plain);
	same = s->check.addrs.n == c->addrs.n && s->check.root == c->root;
	for (i = 0; same && i < c->addrs.n; i++)
		same = s->check.addrs.v[i].addr == c->addrs.v[i].addr &&
		       s->check.addrs.v[i].space == c->addrs.v[i].space &&
		       s->check.addrs.v[i].kind == c->addrs.v[i].kind;
	s->differ += !same;
	vec_push(&s->samples, e);
}

static int cmp_samples(const void *a, const void *b)
{
	u64 x = ((const struct perf_strip_sample *)a)->offset,
	    y = ((const struct perf_strip_sample *)b)->offset;

	return x < y ? -1 : x > y;
}

/* ---- records ---- */

/* Bytes of an array of nr times `size` are passed over. */
static void skip_array(struct cursor *c, u64 nr, u32 size)
{
	if (nr > cursor_left(c) / size)
		c->bad = true;
	else
		cursor_skip(c, (size_t)nr * size);
}

static void skip_read(struct cursor *c, u64 format)
{
	u32 words = 1 + !!(format & PERF_FORMAT_ID) + !!(format & PERF_FORMAT_LOST);
	u32 times = !!(format & PERF_FORMAT_ENABLED) + !!(format & PERF_FORMAT_RUNNING);
	u64 nr = 1;

	if (format & PERF_FORMAT_GROUP)
		nr = cursor_u64(c);
	skip_array(c, times, 8);
	skip_array(c, nr, 8 * words);
}

/* False when the record is too short for its fields or the result too long for a record. */
static bool strip_sample(const struct perf_strip *s, const struct perf_strip_sample *e,
			 const struct fields *f, const u8 *rec, u16 size, struct buf *out)
{
	u64 st = f->sample_type, nr, abi;
	const u8 *chain = NULL, *tail, *head;
	size_t start = out->n, head_n, tail_n;
	u16 misc = ld16(rec + 4, false), n;
	struct cursor c;

	cursor_init(&c, rec + 8, size - 8u, false);
	skip_array(&c,
		   (u64)__builtin_popcountll(
			   st & (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
				 PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID |
				 PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD)),
		   8);
	if (st & PERF_SAMPLE_READ)
		skip_read(&c, f->read_format);
	head = rec + 8;
	head_n = (size_t)(c.p - head);
	nr = 0;
	if (st & PERF_SAMPLE_CALLCHAIN) {
		nr = cursor_u64(&c);
		chain = c.p;
		skip_array(&c, nr, 8);
	}
	tail = c.p;
	if (st & PERF_SAMPLE_RAW)
		skip_array(&c, cursor_u32(&c), 1);
	if (st & PERF_SAMPLE_BRANCH_STACK) {
		u64 branches = cursor_u64(&c);

		if (f->branch_type >> HW_INDEX & 1)
			cursor_u64(&c);
		skip_array(&c, branches, 24);
		if (f->branch_type >> COUNTERS & 1)
			skip_array(&c, branches, 8);
	}
	tail_n = (size_t)(c.p - tail);
	if (st & PERF_SAMPLE_REGS_USER) {
		abi = cursor_u64(&c);
		if (abi)
			skip_array(&c, (u64)__builtin_popcountll(f->regs_user), 8);
	}
	if (st & PERF_SAMPLE_STACK_USER) {
		u64 bytes = cursor_u64(&c);

		skip_array(&c, bytes, 1);
		if (bytes)
			cursor_u64(&c);
	}
	if (c.bad)
		return false;
	if (e)
		misc = (u16)((misc & ~(MISC_CPUMODE | MISC_CUT)) | e->cpumode |
			     (e->cut ? MISC_CUT : 0));
	buf_put(out, rec, 4);
	buf_put(out, &misc, 2);
	buf_put(out, "\0", 2);
	buf_put(out, head, head_n);
	if (e)
		nr = e->nr;
	buf_put(out, &nr, 8);
	if (nr)
		buf_put(out, e ? (const void *)(s->entries.v + e->at) : chain, nr * 8);
	if (tail_n)
		buf_put(out, tail, tail_n);
	if (cursor_left(&c))
		buf_put(out, c.p, cursor_left(&c));
	if (out->n - start > UINT16_MAX)
		return false;
	n = (u16)(out->n - start);
	memcpy(out->p + start + 6, &n, 2);
	return true;
}

/* ---- events ---- */

static void patch_attr(u8 *p, size_t n)
{
	u64 st = ld64(p + ATTR_SAMPLE, false), flags = ld64(p + ATTR_FLAGS, false);

	if (!(st & STACKS))
		return;
	st = (st & ~STACKS) | PERF_SAMPLE_CALLCHAIN;
	flags &= ~(1ULL << ATTR_NO_USER);
	memcpy(p + ATTR_SAMPLE, &st, 8);
	memcpy(p + ATTR_FLAGS, &flags, 8);
	if (n >= ATTR_STACK)
		memset(p + ATTR_REGS, 0, 8);
	if (n >= ATTR_STACK + 4)
		memset(p + ATTR_STACK, 0, 4);
}

/* The copies of the attributes in HEADER_EVENT_DESC. */
static void patch_event_desc(u8 *p, size_t n)
{
	u32 nr, attr_size, ids, i;
	struct cursor c;
	u8 *attr;

	cursor_init(&c, p, n, false);
	nr = cursor_u32(&c);
	attr_size = cursor_u32(&c);
	for (i = 0; i < nr && !c.bad && attr_size >= ATTR_MIN; i++) {
		attr = p + (c.p - p);
		cursor_skip(&c, attr_size);
		ids = cursor_u32(&c);
		if (c.bad)
			break;
		patch_attr(attr, attr_size);
		cursor_skip(&c, cursor_u32(&c));
		skip_array(&c, ids, 8);
	}
}

struct id_event {
	u64 id;
	u32 event;
};

struct stripper {
	const char *path;
	const u8 *p;
	u64 n;
	VEC(struct fields) events;
	VEC(struct id_event) ids;
	bool same; /* all events have the same fields */
};

static int cmp_ids(const void *a, const void *b)
{
	u64 x = ((const struct id_event *)a)->id, y = ((const struct id_event *)b)->id;

	return x < y ? -1 : x > y;
}

static int cut_off(const struct stripper *t, struct error *err)
{
	return error_set(err, "'%s': --strip-stacks: the file is cut off or damaged", t->path);
}

static int read_events(struct stripper *t, u64 off, u64 n, u64 stride, struct error *err)
{
	bool identifier = true;
	u64 i, k;

	if (stride < ATTR_MIN + 16 || stride > 4096 || off > t->n || n > t->n - off || n < stride)
		return cut_off(t, err);
	t->same = true;
	for (i = 0; i < n / stride; i++) {
		const u8 *a = t->p + off + i * stride;
		size_t size = (size_t)stride - 16;
		u64 ids = ld64(a + size, false), ids_n = ld64(a + size + 8, false);
		struct fields f = { .sample_type = ld64(a + ATTR_SAMPLE, false),
				    .read_format = ld64(a + ATTR_READ, false) };

		if (ids > t->n || ids_n > t->n - ids || t->ids.n + ids_n / 8 > PD_MAX_IDS)
			return cut_off(t, err);
		if (size >= ATTR_REGS)
			f.branch_type = ld64(a + ATTR_BRANCH, false);
		if (size >= ATTR_STACK)
			f.regs_user = ld64(a + ATTR_REGS, false);
		if (f.sample_type & PERF_SAMPLE_BRANCH_STACK && f.branch_type >> CALL_STACK & 1)
			return error_set(
				err, "'%s': --strip-stacks cannot handle call stacks from branches",
				t->path);
		for (k = 0; k < ids_n / 8; k++)
			vec_push(&t->ids, ((struct id_event){ .id = ld64(t->p + ids + 8 * k, false),
							      .event = (u32)i }));
		vec_push(&t->events, f);
		identifier &= (f.sample_type & PERF_SAMPLE_IDENTIFIER) != 0;
		t->same &= !memcmp(&f, &t->events.v[0], sizeof(f));
	}
	if (!t->same && !identifier)
		return error_set(err,
				 "'%s': --strip-stacks: the events' samples differ, and do not say "
				 "of which event they are",
				 t->path);
	if (t->ids.n)
		qsort(t->ids.v, t->ids.n, sizeof(*t->ids.v), cmp_ids);
	return 0;
}

static const struct fields *fields_of(const struct stripper *t, const u8 *rec, u16 size)
{
	struct id_event key = { 0 }, *found;

	if (t->same)
		return &t->events.v[0];
	if (size < 16 || !t->ids.n)
		return NULL;
	key.id = ld64(rec + 8, false);
	found = bsearch(&key, t->ids.v, t->ids.n, sizeof(*t->ids.v), cmp_ids);
	return found ? &t->events.v[found->event] : NULL;
}

static int write_records(const struct perf_strip *s, const struct stripper *t, u64 at, u64 end,
			 struct buf *out, struct error *err)
{
	u64 offset;
	size_t i = 0;
	u16 size;

	for (; at < end; at += size) {
		const u8 *rec = t->p + at;
		const struct perf_strip_sample *e = NULL;
		const struct fields *f;
		u32 type;

		if (end - at < 8)
			return cut_off(t, err);
		type = ld32(rec, false);
		size = ld16(rec + 6, false);
		if (size < 8 || size > end - at)
			return cut_off(t, err);
		if (type == REC_COMPRESSED || type == REC_COMPRESSED2)
			return error_set(err,
					 "'%s': --strip-stacks cannot handle compressed records "
					 "(perf record -z)",
					 t->path);
		if (type == REC_AUXTRACE || type == REC_HEADER_ATTR || type == REC_TRACING_DATA)
			return error_set(err,
					 "'%s': --strip-stacks cannot handle a record of type "
					 "%" PRIu32 " (offset 0x%" PRIx64 ")",
					 t->path, type, at);
		if (type != REC_SAMPLE) {
			buf_put(out, rec, size);
			continue;
		}
		f = fields_of(t, rec, size);
		offset = s->done + at;
		while (i < s->samples.n && s->samples.v[i].offset < offset)
			i++;
		if (i < s->samples.n && s->samples.v[i].offset == offset)
			e = &s->samples.v[i];
		if (f && !(f->sample_type & STACKS))
			buf_put(out, rec, size);
		else if (!f || !strip_sample(s, e, f, rec, size, out))
			return error_set(err,
					 "'%s': --strip-stacks: sample at offset 0x%" PRIx64
					 ": unknown event, or not of the size that its fields have",
					 t->path, at);
	}
	return 0;
}

static int write_features(const struct stripper *t, u64 table, u64 at, struct buf *out,
			  struct error *err)
{
	u64 bits[4], word[2], i;

	memcpy(bits, t->p + FEATURES_AT, sizeof(bits));
	for (i = 0; i < 256; i++)
		at += bits[i / 64] >> i % 64 & 1 ? 16 : 0;
	for (int pass = 0; pass < 2; pass++) {
		u64 entry = table;

		for (i = 0; i < 256; i++) {
			if (!(bits[i / 64] >> i % 64 & 1))
				continue;
			if (t->n - entry < 16)
				return cut_off(t, err);
			memcpy(word, t->p + entry, sizeof(word));
			entry += 16;
			if (word[0] > t->n || word[1] > t->n - word[0])
				return cut_off(t, err);
			if (!pass) {
				u64 moved[2] = { at, word[1] };

				buf_put(out, moved, sizeof(moved));
				at += word[1];
			} else if (word[1]) {
				buf_put(out, t->p + word[0], word[1]);
				if (i == FEAT_EVENT_DESC)
					patch_event_desc((u8 *)out->p + out->n - word[1], word[1]);
			}
		}
	}
	return 0;
}

/* Where the header says that things are. */
struct layout {
	u64 stride, attrs, data, data_n;
};

static int read_header(struct stripper *t, struct layout *l, struct error *err)
{
	static const u8 one[2] = { 1, 0 };
	u64 attrs_n, i;

	if (t->n < HEADER_SIZE ||
	    memcmp(t->p, ld16(one, false) == 1 ? "PERFILE2" : "2ELIFREP", 8) ||
	    ld64(t->p + 8, false) < HEADER_SIZE)
		return error_set(err,
				 "'%s': --strip-stacks can handle perf.data files with a header at "
				 "the front and of this machine's byte order only",
				 t->path);
	l->stride = ld64(t->p + 16, false);
	l->attrs = ld64(t->p + 24, false);
	attrs_n = ld64(t->p + 32, false);
	l->data = ld64(t->p + 40, false);
	l->data_n = ld64(t->p + 48, false);
	if (l->data > t->n || !l->data_n || l->data_n > t->n - l->data ||
	    ld64(t->p + 8, false) > l->data)
		return cut_off(t, err);
	if (read_events(t, l->attrs, attrs_n, l->stride, err))
		return -1;
	if (l->attrs + attrs_n > l->data)
		return error_set(err,
				 "'%s': --strip-stacks: the table of events lies behind the "
				 "records",
				 t->path);
	for (i = 0; i < t->events.n; i++) {
		u64 at = l->attrs + i * l->stride + l->stride - 16;

		if (ld64(t->p + at + 8, false) && ld64(t->p + at, false) > l->data)
			return error_set(
				err, "'%s': --strip-stacks: ids of events lie behind the records",
				t->path);
	}
	return 0;
}

static int write_whole(const struct perf_strip *s, const struct stripper *t, const struct layout *l,
		       struct buf *out, struct error *err)
{
	size_t start = out->n;
	u64 n, i;

	buf_put(out, t->p, l->data);
	for (i = 0; i < t->events.n; i++)
		patch_attr((u8 *)out->p + start + l->attrs + i * l->stride, (size_t)l->stride - 16);
	if (write_records(s, t, l->data, l->data + l->data_n, out, err))
		return -1;
	n = out->n - start - l->data;
	memcpy(out->p + start + 48, &n, 8);
	/* a table of old perfs that nobody reads */
	memset(out->p + start + 56, 0, 16);
	return write_features(t, l->data + l->data_n, l->data + n, out, err);
}

int perf_strip_write(struct perf_strip *s, const char *path, const char *part, struct buf *out,
		     struct error *err)
{
	struct stripper t = { .path = path };
	struct file_map map, records = { 0 };
	struct layout l = { 0 };
	int ret = -1;

	if (file_map_open(&map, path, 0, err))
		return -1;
	t.p = map.p;
	t.n = map.n;
	if (read_header(&t, &l, err) || (part && file_map_open(&records, part, 0, err)))
		goto out;
	if (!s->done && s->samples.n)
		qsort(s->samples.v, s->samples.n, sizeof(*s->samples.v), cmp_samples);
	if (part) {
		t.path = part;
		t.p = records.p;
		t.n = records.n;
		ret = write_records(s, &t, 0, t.n, out, err);
	} else {
		ret = write_whole(s, &t, &l, out, err);
	}
	s->done += t.n;
out:
	vec_release(&t.events);
	vec_release(&t.ids);
	file_map_close(&records);
	file_map_close(&map);
	return ret;
}
