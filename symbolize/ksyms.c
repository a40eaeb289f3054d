/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "symbolize/symfile.h"

/*
 * Tables of symbols in text, one a line: "ADDRESS TYPE NAME" of nm's kind (nm(1)), Linux's kallsyms
 * with
 * "\t[module]" behind the name, Xen's with "0x" before the address and "file.c#" before static
 * names (xen/tools/symbols.c; Linux drivers/xen/xenfs/xensyms.c).
 *
 * Such a table has no sizes: a symbol reaches to the next one, of whatever type.  The last one
 * before a gap, where a module or the table ends, reaches to the end of the page after its own, as
 * perf has it.
 */

#define PAGE 4096u

struct ksym {
	u64 lo;
	const char *name; /* borrowed from the map; "file#" included */
	u32 len;
	str_id module;         /* 0: the core */
	u8 type;               /* as in the table; 0: no name, only the end of the one before */
	str_id function, file; /* function 0: not made yet */
};

struct ksyms {
	struct symfile f;
	struct file_map map;
	s64 shift;
	VEC(struct ksym) syms; /* by address, one an address */
};

static struct ksyms *ksyms_of(struct symfile *f)
{
	return (struct ksyms *)f;
}

struct line {
	u64 addr;
	char type;
	bool prefix; /* 0x */
	const char *name, *module;
	size_t name_n, module_n;
};

/* 1: a line, 0: an empty one, -1: something else. */
static int parse_line(const char *p, const char *end, struct line *l)
{
	const char *q;

	while (end > p && (end[-1] == ' ' || end[-1] == '\r' || end[-1] == '\t'))
		end--;
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	if (p == end)
		return 0;
	memset(l, 0, sizeof(*l));
	if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) {
		l->prefix = true;
		p += 2;
	}
	if (parse_hex(&p, end, &l->addr) || end - p < 4 || p[0] != ' ' || p[2] != ' ')
		return -1;
	l->type = p[1];
	p += 3;
	q = memchr(p, '\t', (size_t)(end - p));
	l->name = p;
	l->name_n = (size_t)((q ? q : end) - p);
	if (q && end - q > 3 && q[1] == '[' && end[-1] == ']') {
		l->module = q + 1;
		l->module_n = (size_t)(end - l->module);
	}
	return l->name_n && l->name_n <= UINT32_MAX ? 1 : -1;
}

static bool is_text_type(char t)
{
	return t == 't' || t == 'T' || t == 'w' || t == 'W' || t == 'i';
}

/* Edges that a linker script names: any other symbol at the address says more. */
static bool is_edge(const char *s, size_t n)
{
	static const char *const ends[] = { "_start", "_end", "_begin", "_stop" };
	static const char *const starts[] = { "_stext", "_etext",   "_text",   "_sinit",
					      "_einit", "__start_", "__stop_", "__image_base" };
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		k = strlen(starts[i]);
		if (n >= k && !memcmp(s, starts[i], k))
			return true;
	}
	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		k = strlen(ends[i]);
		if (n >= k && !memcmp(s + n - k, ends[i], k))
			return true;
	}
	return n == 4 && !memcmp(s, "_end", 4);
}

/* Behind these no code is. */
static bool is_end(const char *s, size_t n)
{
	return (n == 6 && !memcmp(s, "_etext", 6)) || (n == 10 && !memcmp(s, "_einittext", 10)) ||
	       (n == 4 && !memcmp(s, "_end", 4));
}

/* Greater is better among symbols at one address (perf's choose_best_symbol, edges last). */
static u32 rank(const struct ksym *k)
{
	u32 underscores = 0;

	if (!k->type)
		return 0;
	while (underscores < k->len && k->name[underscores] == '_' && underscores < 15)
		underscores++;
	return 1u << 16 | (u32)!is_edge(k->name, k->len) << 15 |
	       (u32)(k->type != 'w' && k->type != 'W') << 14 | (u32)(k->type == 'T') << 13 |
	       (15 - underscores) << 8 | MIN(k->len, 255u);
}

static int ksym_cmp(const void *pa, const void *pb)
{
	const struct ksym *a = pa, *b = pb;
	u32 ra, rb;
	int r;

	if (a->lo != b->lo)
		return a->lo < b->lo ? -1 : 1;
	ra = rank(a);
	rb = rank(b);
	if (ra != rb)
		return ra > rb ? -1 : 1;
	r = memcmp(a->name, b->name, MIN(a->len, b->len));
	return r ? r : (a->len > b->len) - (a->len < b->len);
}

/* Where the symbol ends. */
static u64 symbol_end(const struct ksyms *k, size_t i)
{
	const struct ksym *s = &k->syms.v[i], *next = i + 1 < k->syms.n ? s + 1 : NULL;
	u64 page = ((s->lo + PAGE - 1) & ~(u64)(PAGE - 1)) + PAGE;

	if (page < s->lo)
		page = UINT64_MAX;
	return next && (next->lo < page || next->module == s->module) ? next->lo : page;
}

static bool ksyms_lookup(struct symfile *f, u64 addr, struct symframes *out)
{
	struct ksyms *k = ksyms_of(f);
	size_t lo = 0, hi = k->syms.n;
	struct ksym *s;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (k->syms.v[mid].lo <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return false;
	s = &k->syms.v[lo - 1];
	if (!s->type || addr >= symbol_end(k, lo - 1) || is_end(s->name, s->len))
		return false;
	if (!s->function) {
		const char *name = s->name, *hash = memchr(name, '#', s->len);
		size_t len = s->len;

		/* A static function's file keeps apart what has one name: it is no part of the
		 * name. */
		if (hash && hash > name && (size_t)(hash - name) + 1 < len) {
			s->file = strtab_add(f->opts.strings, name, (size_t)(hash - name));
			len -= (size_t)(hash - name) + 1;
			name = hash + 1;
		}
		s->function = demangle(f->opts.strings, strtab_add(f->opts.strings, name, len),
				       f->opts.raw_names);
	}
	vec_push(&out->frames, ((struct frame){ .function = s->function, .file = s->file }));
	return true;
}

static void ksyms_free(struct symfile *f)
{
	struct ksyms *k = ksyms_of(f);

	file_map_close(&k->map);
	vec_release(&k->syms);
	free(f->path);
	free(k);
}

static const struct symfile_ops kallsyms_ops = { "kallsyms", ksyms_lookup, ksyms_free };
static const struct symfile_ops system_map_ops = { "System.map", ksyms_lookup, ksyms_free };
static const struct symfile_ops map_ops = { "map", ksyms_lookup, ksyms_free };
static const struct symfile_ops xensyms_ops = { "xensyms", ksyms_lookup, ksyms_free };

/* Most tables are sorted by address already: then only symbols at one address must be. */
static void sort(struct ksyms *k)
{
	struct ksym *s = k->syms.v;
	size_t n = k->syms.n, i, from;

	for (i = 1; i < n && s[i - 1].lo <= s[i].lo; i++)
		;
	if (n && i < n) {
		qsort(s, n, sizeof(*s), ksym_cmp);
		return;
	}
	for (i = 0; i < n;) {
		for (from = i++; i < n && s[i].lo == s[from].lo;)
			i++;
		if (i - from > 1)
			qsort(s + from, i - from, sizeof(*s), ksym_cmp);
	}
}

static int parse(struct ksyms *k, const struct symfile_ops **ops, struct error *err)
{
	const char *p = (const char *)k->map.p, *end = p + k->map.n;
	bool prefix = false, hash = false, modules = false, hv = false;
	u64 lines = 0, bad = 0, zero = 0;
	size_t i, n = 0;

	vec_reserve(&k->syms, k->map.n / 48);
	for (; p < end;) {
		const char *nl = memchr(p, '\n', (size_t)(end - p)), *eol = nl ? nl : end;
		struct line l;
		int r = parse_line(p, eol, &l);

		p = nl ? nl + 1 : end;
		if (!r)
			continue;
		lines++;
		if (r < 0) {
			/* A file of another kind is told from the first lines, not from millions of
			 * them. */
			if (++bad > 64 && bad * 2 > lines)
				return error_set(err, "'%s': not a table of symbols", k->f.path);
			continue;
		}
		zero += !l.addr;
		prefix |= l.prefix;
		modules |= l.module != NULL;
		hash |= memchr(l.name, '#', l.name_n) != NULL;
		hv |= space_is_hv_text(l.addr);
		if (l.type == 'A' || l.type == 'a' || l.type == 'U' || l.type == '?')
			continue;
		vec_push(&k->syms,
			 ((struct ksym){ .lo = l.addr + (u64)k->shift,
					 .name = l.name,
					 .len = (u32)l.name_n,
					 .module = l.module ? strtab_add(k->f.opts.strings,
									 l.module, l.module_n)
							    : 0,
					 .type = is_text_type(l.type) ? (u8)l.type : 0 }));
	}
	if (!lines || bad * 2 > lines)
		return error_set(err, "'%s': not a table of symbols", k->f.path);
	if (zero == lines - bad)
		return error_set(err,
				 "'%s': all addresses are zero: it was read with "
				 "kernel.kptr_restrict on; read it as root",
				 k->f.path);
	if (bad)
		diag_addf(k->f.opts.diag, DIAG_BAD_LINE, bad, "'%s': no symbol", k->f.path);
	sort(k);
	/* One an address, and of those without a name one a run. */
	for (i = 0; i < k->syms.n; i++) {
		struct ksym *s = &k->syms.v[i];

		if (n && (k->syms.v[n - 1].lo == s->lo || (!s->type && !k->syms.v[n - 1].type)))
			continue;
		k->syms.v[n++] = *s;
	}
	k->syms.n = n;
	for (i = 0; i < n; i++) {
		if (!k->syms.v[i].type || is_end(k->syms.v[i].name, k->syms.v[i].len))
			continue;
		if (!k->f.text_end)
			k->f.text_start = k->syms.v[i].lo;
		k->f.text_end = symbol_end(k, i);
	}
	if (!k->f.text_end)
		return error_set(err, "'%s': no symbol of code in it", k->f.path);
	if (prefix)
		*ops = &map_ops;
	else if (modules)
		*ops = &kallsyms_ops;
	else if (hv)
		*ops = hash ? &xensyms_ops : &map_ops;
	else if (strstr(path_base(k->f.path), "System.map"))
		*ops = &system_map_ops;
	else
		*ops = &kallsyms_ops;
	return 0;
}

struct symfile *symfile_open_ksyms(const char *path, s64 shift, const struct symfile_opts *opts,
				   struct error *err)
{
	struct ksyms *k = xcalloc(1, sizeof(*k));

	k->f.opts = *opts;
	k->f.path = xstrdup(path);
	k->shift = shift;
	if (file_map_open(&k->map, path, 1u << 30, err)) {
		memset(&k->map, 0, sizeof(k->map));
		ksyms_free(&k->f);
		return NULL;
	}
	if (parse(k, &k->f.ops, err)) {
		ksyms_free(&k->f);
		return NULL;
	}
	return &k->f;
}

/* Searched in the text, for data symbols are asked for too. */
int symfile_ksyms_symbol(struct symfile *f, const char *name, u64 *value)
{
	struct ksyms *k = ksyms_of(f);
	const char *p = (const char *)k->map.p, *end = p + k->map.n, *at;
	size_t n = strlen(name);

	while (n && (at = memmem(p, (size_t)(end - p), name, n))) {
		const char *bol = memrchr(k->map.p, '\n', (size_t)(at - (const char *)k->map.p));
		const char *eol = memchr(at, '\n', (size_t)(end - at));
		struct line l;

		/* A line has one name: when that is another one, nothing else in the line counts.
		 */
		p = eol ? eol : end;
		if (parse_line(bol ? bol + 1 : (const char *)k->map.p, eol ? eol : end, &l) != 1 ||
		    l.name_n != n || memcmp(l.name, name, n))
			continue;
		*value = l.addr + (u64)k->shift;
		return 0;
	}
	return -1;
}

str_id symfile_ksyms_module(struct symfile *f, u64 addr)
{
	struct ksyms *k = ksyms_of(f);
	size_t lo = 0, hi = k->syms.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (k->syms.v[mid].lo <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return 0;
	return addr < symbol_end(k, lo - 1) ? k->syms.v[lo - 1].module : 0;
}
