/* SPDX-License-Identifier: GPL-2.0-or-later */
/* perf.data: file header, table of events, feature sections. */
#include "perf/data.h"

#define HEADER_SIZE 104
#define HEADER_MIN  72 /* without feature bits */
#define FEATURE_MAX 33 /* first one that nobody knows */

enum {
	FEAT_BUILD_ID = 2,
	FEAT_HOSTNAME = 3,
	FEAT_OSRELEASE = 4,
	FEAT_VERSION = 5,
	FEAT_ARCH = 6,
	FEAT_NRCPUS = 7,
	FEAT_CPUDESC = 8,
	FEAT_CPUID = 9,
	FEAT_CMDLINE = 11,
	FEAT_EVENT_DESC = 12,
};

/* u32 length and bytes, NUL-padded; borrowed. */
static const char *string(struct cursor *c, size_t *len)
{
	u32 n = cursor_u32(c);
	const char *s = (const char *)cursor_bytes(c, n);
	const char *nul;

	*len = 0;
	if (!s)
		return "";
	nul = n ? memchr(s, 0, n) : NULL;
	*len = nul ? (size_t)(nul - s) : n;
	return s;
}

static void set_string(struct cursor *c, char **dst)
{
	size_t n;
	const char *s = string(c, &n);

	if (c->bad)
		return;
	free(*dst);
	*dst = xstrndup(s, n);
}

static void cmdline(struct cursor *c, char **dst)
{
	struct buf b = BUF_INIT;
	u32 n = cursor_u32(c), i;
	size_t len;

	for (i = 0; i < n && !c->bad; i++) {
		const char *s = string(c, &len);

		if (c->bad)
			break;
		if (i)
			buf_putc(&b, ' ');
		buf_put(&b, s, len);
	}
	if (b.n) {
		free(*dst);
		*dst = xstrdup(buf_str(&b));
	}
	buf_release(&b);
}

static void event_desc(struct pd *pd, struct cursor *c)
{
	u32 nr = cursor_u32(c), attr_size = cursor_u32(c), i, k, nids, event;
	size_t len;

	for (i = 0; i < nr && !c->bad; i++) {
		const char *s;

		cursor_skip(c, attr_size);
		nids = cursor_u32(c);
		s = string(c, &len);
		event = i;
		for (k = 0; k < nids && !c->bad; k++) {
			u64 id = cursor_u64(c);
			u32 at = k || c->bad ? INDEX_NONE : pd_id_find(pd, id);

			if (at != INDEX_NONE)
				event = pd->ids.v[at].event;
		}
		if (!c->bad)
			pd_event_rename(pd, event, s, len);
	}
}

void pd_build_id_record(struct pd *pd, const u8 *rec, size_t n)
{
	struct perf_build_id b = { .filename = NULL };
	const u8 *name;
	u16 misc;

	/* header, i32 pid, id[20], u8 size, 3 bytes, name */
	if (n < 36)
		return;
	misc = ld16(rec + 4, pd->swap);
	b.cpumode = misc & MISC_CPUMODE;
	b.pid = ld32(rec + 8, pd->swap);
	b.len = misc & MISC_BUILD_ID_SIZE ? MIN(rec[32], 20) : 20;
	memcpy(b.id, rec + 12, b.len);
	name = rec + 36;
	b.filename = xstrndup((const char *)name, strnlen((const char *)name, n - 36));
	vec_push(&pd->r->meta.build_ids, b);
}

static void build_ids(struct pd *pd, struct cursor *c)
{
	while (cursor_left(c) >= 8) {
		u16 size = ld16(c->p + 6, c->swap);
		const u8 *p;

		if (size < 36 || size > cursor_left(c)) {
			c->bad = true;
			return;
		}
		p = cursor_bytes(c, size);
		pd_build_id_record(pd, p, size);
	}
}

void pd_feature(struct pd *pd, u64 id, const u8 *p, size_t n)
{
	struct perf_meta *m = &pd->r->meta;
	struct cursor c;

	cursor_init(&c, p, n, pd->swap);
	switch (id) {
	case FEAT_BUILD_ID: build_ids(pd, &c); break;
	case FEAT_HOSTNAME: set_string(&c, &m->hostname); break;
	case FEAT_OSRELEASE: set_string(&c, &m->release); break;
	case FEAT_VERSION: set_string(&c, &m->version); break;
	case FEAT_ARCH:
		set_string(&c, &m->arch);
		pd->not_x86_64 = m->arch && *m->arch && strcmp(m->arch, "x86_64");
		break;
	case FEAT_NRCPUS:
		m->nrcpus_avail = cursor_u32(&c);
		m->nrcpus_online = cursor_u32(&c);
		break;
	case FEAT_CPUDESC: set_string(&c, &m->cpudesc); break;
	case FEAT_CPUID: set_string(&c, &m->cpuid); break;
	case FEAT_CMDLINE: cmdline(&c, &m->cmdline); break;
	case FEAT_EVENT_DESC: event_desc(pd, &c); break;
	default:
		if (id >= FEATURE_MAX)
			diag_addf(pd->r->diag, DIAG_UNKNOWN_FEATURE, 1, "%" PRIu64, id);
		break;
	}
	if (c.bad)
		diag_addf(pd->r->diag, DIAG_NOTE, 1,
			  "'%s': feature section %" PRIu64 " is damaged and was used in part",
			  input_name(&pd->r->in), id);
}

static int short_file(struct pd_file *f, u64 at, const char *what, struct error *err)
{
	return error_set(err, "'%s': ends within %s at offset 0x%" PRIx64, input_name(f->in), what,
			 at);
}

static void features(struct pd *pd, struct pd_file *f, u64 table)
{
	const u8 *p = f->in->map;
	u64 bits[4], i;

	for (i = 0; i < 4; i++)
		bits[i] = ld64(p + HEADER_MIN + 8 * i, pd->swap);
	/* Foreign files from 32-bit systems hold u32 words. */
	if (pd->swap && !(bits[0] >> FEAT_HOSTNAME & 1) && bits[0] >> 32 >> FEAT_HOSTNAME & 1)
		for (i = 0; i < 4; i++)
			bits[i] = bits[i] << 32 | bits[i] >> 32;
	for (i = 0; i < 256; i++) {
		u64 off, n;

		if (!(bits[i / 64] >> (i % 64) & 1))
			continue;
		if (table > f->in->size || f->in->size - table < 16) {
			diag_addf(pd->r->diag, DIAG_NOTE, 1,
				  "'%s': the feature sections (host, build ids, names) are missing",
				  input_name(f->in));
			return;
		}
		off = ld64(p + table, pd->swap);
		n = ld64(p + table + 8, pd->swap);
		table += 16;
		if (off > f->in->size || n > f->in->size - off) {
			diag_addf(pd->r->diag, DIAG_NOTE, 1,
				  "'%s': feature section %" PRIu64 " lies outside of the file",
				  input_name(f->in), i);
			continue;
		}
		pd_feature(pd, i, p + off, (size_t)n);
	}
}

static void attrs(struct pd *pd, struct pd_file *f, u64 off, u64 n, u64 stride)
{
	const u8 *p = f->in->map;
	u64 size = f->in->size;

	for (; n >= stride; off += stride, n -= stride) {
		u64 ids_off, ids_n;

		if (off > size || size - off < stride) {
			diag_addf(pd->r->diag, DIAG_TRUNCATED, n,
				  "'%s': table of events at offset 0x%" PRIx64, input_name(f->in),
				  off);
			return;
		}
		ids_off = ld64(p + off + stride - 16, pd->swap);
		ids_n = ld64(p + off + stride - 8, pd->swap);
		if (ids_off > size || ids_n > size - ids_off) {
			diag_addf(pd->r->diag, DIAG_NOTE, 1,
				  "'%s': ids of event %zu lie outside of the file",
				  input_name(f->in), pd->attrs.n);
			ids_off = ids_n = 0;
		}
		if (!pd_attr_add(pd, p + off, (size_t)stride - 16, p + ids_off, ids_n / 8)) {
			diag_addf(pd->r->diag, DIAG_NOTE, 1,
				  "'%s': more than %u events, the rest is left out",
				  input_name(f->in), PD_MAX_EVENTS);
			return;
		}
	}
}

int pd_header_read(struct pd *pd, struct pd_file *f, struct error *err)
{
	const u8 *p = f->in->map ? f->in->map : f->in->head;
	u64 have = f->in->map ? f->in->size : f->in->head_n;
	static const union {
		u16 v;
		u8 b[2];
	} host = { 1 };
	u64 size, stride, off, n, data, data_n;
	struct error damage = { "" };

	if (have < 16)
		return short_file(f, have, "the header", err);
	/*
	 * The magic of version 2 is a number. That of version 1 is text and does
	 * not tell the byte order: the sizes do, since swapped they are enormous.
	 */
	if (!memcmp(p, "PERFFILE", 8) || !memcmp(p, "ELIFFREP", 8))
		pd->swap = ld64(p + 8, false) >> 32 != 0;
	else
		pd->swap = memcmp(p, host.b[0] ? "PERFILE2" : "2ELIFREP", 8) != 0;
	pd->big = pd->swap == (host.b[0] == 1);
	size = ld64(p + 8, pd->swap);
	if (size == 16) {
		pd->pipe = true;
		if (f->in->map) {
			f->pos = 16;
			f->end = f->in->size;
		} else {
			f->skip = 16;
		}
		return 0;
	}
	if (!f->in->map) {
		if (input_map(f->in, &damage, err))
			return -1;
		if (damage.msg[0])
			diag_add(pd->r->diag, DIAG_DAMAGED, 1, damage.msg);
		p = f->in->map;
		have = f->in->size;
	}
	if (have < HEADER_MIN)
		return short_file(f, have, "the header", err);
	if (size < HEADER_MIN)
		return error_set(err,
				 "'%s': header size %" PRIu64
				 " at offset 0x8, expected 16 (pipe) or at least %d",
				 input_name(f->in), size, HEADER_MIN);
	stride = ld64(p + 16, pd->swap);
	if (!stride)
		stride = 64 + 16;
	off = ld64(p + 24, pd->swap);
	n = ld64(p + 32, pd->swap);
	data = ld64(p + 40, pd->swap);
	data_n = ld64(p + 48, pd->swap);
	if (stride < 64 + 16 || stride > 65536)
		return error_set(
			err, "'%s': event size %" PRIu64 " at offset 0x10, expected 80 to 65536",
			input_name(f->in), stride);
	attrs(pd, f, off, n, stride);
	if (!pd->attrs.n)
		return error_set(err, "'%s': no event at offset 0x%" PRIx64 ", expected %" PRIu64,
				 input_name(f->in), off, n / stride);
	if (data > have)
		return short_file(f, have, "the tables before the records", err);
	f->pos = data;
	if (!data_n) {
		diag_addf(pd->r->diag, DIAG_NOTE, 1,
			  "'%s': perf did not finish this recording (size of data 0); read up to "
			  "its end",
			  input_name(f->in));
		f->end = have;
		return 0;
	}
	if (data_n > have - data) {
		f->end = have;
		f->missing = data_n - (have - data);
	} else {
		f->end = data + data_n;
	}
	if (size >= HEADER_SIZE && have >= HEADER_SIZE && !f->missing)
		features(pd, f, f->end);
	return 0;
}
