/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "symbolize/ranges.h"
#include "symbolize/symfile.h"

/*
 * perf-PID.map: "START SIZE name to the end of the line", in hexadecimal (Linux
 * tools/perf/Documentation/jit-interface.txt). A JIT reuses memory: a later line overrides what it
 * overlaps of earlier ones.
 */

struct jit_symbol {
	const char *name; /* borrowed from the map */
	u32 len;
	str_id function; /* 0: not made yet */
};

struct perfmap {
	struct symfile f;
	struct file_map map;
	VEC(struct jit_symbol) syms; /* in the order of the file */
	struct ranges ranges;
};

static bool perfmap_lookup(struct symfile *f, u64 addr, struct symframes *out)
{
	struct perfmap *m = (struct perfmap *)f;
	const struct range *r = ranges_find(m->ranges.r.v, m->ranges.r.n, addr);
	struct jit_symbol *s;

	if (!r)
		return false;
	s = &m->syms.v[r->id];
	if (!s->function)
		s->function = demangle(f->opts.strings,
				       strtab_add(f->opts.strings, s->name, s->len),
				       f->opts.raw_names);
	vec_push(&out->frames, ((struct frame){ .function = s->function, .flags = FRAME_JIT }));
	return true;
}

static void perfmap_free(struct symfile *f)
{
	struct perfmap *m = (struct perfmap *)f;

	file_map_close(&m->map);
	vec_release(&m->syms);
	vec_release(&m->ranges.r);
	free(f->path);
	free(m);
}

static const struct symfile_ops perfmap_ops = { "perf map", perfmap_lookup, perfmap_free };

static int hex(const char **p, const char *end, u64 *v)
{
	if (end - *p > 2 && (*p)[0] == '0' && ((*p)[1] | 0x20) == 'x')
		*p += 2;
	return parse_hex(p, end, v);
}

static void parse(struct perfmap *m)
{
	const char *p = (const char *)m->map.p, *end = p + m->map.n;
	u64 bad = 0;

	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p)), *eol = nl ? nl : end, *q = p;
		u64 start, size;

		p = nl ? nl + 1 : end;
		if (eol > q && eol[-1] == '\r')
			eol--;
		if (q == eol)
			continue;
		if (hex(&q, eol, &start) || q == eol || *q++ != ' ' || hex(&q, eol, &size) ||
		    q == eol || *q++ != ' ' || q == eol || start + size < start ||
		    m->syms.n >= UINT32_MAX - 1) {
			bad++;
			continue;
		}
		if (!size)
			continue;
		vec_push(&m->ranges.r, ((struct range){ start, start + size, (u32)m->syms.n }));
		vec_push(&m->syms, ((struct jit_symbol){ q, (u32)MIN(eol - q, UINT32_MAX), 0 }));
	}
	if (bad)
		diag_addf(m->f.opts.diag, DIAG_BAD_LINE, bad, "'%s': no symbol", m->f.path);
	ranges_flatten(&m->ranges);
	if (m->ranges.r.n) {
		m->f.text_start = m->ranges.r.v[0].lo;
		m->f.text_end = m->ranges.r.v[m->ranges.r.n - 1].hi;
	}
}

struct symfile *symfile_open_perfmap(const char *path, const struct symfile_opts *opts,
				     struct error *err)
{
	struct perfmap *m = xcalloc(1, sizeof(*m));

	m->f.ops = &perfmap_ops;
	m->f.opts = *opts;
	m->f.path = xstrdup(path);
	if (file_map_open(&m->map, path, 1u << 30, err)) {
		memset(&m->map, 0, sizeof(m->map));
		perfmap_free(&m->f);
		return NULL;
	}
	parse(m);
	return &m->f;
}
