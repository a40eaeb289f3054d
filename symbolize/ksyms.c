/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "symbolize/ranges.h"
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

#define PAGE     4096u
#define MAX_FILE (1u << 30)
/* A line is looked at again for each symbol at its address and each look-up: none may be so long
 * that the file's size does not bound that. Linux has names of up to 512 bytes. */
#define MAX_LINE 4096

/* A kernel has some 200,000, of which a recording asks for a few: what else a line says is read
 * from the text when it is asked for. */
struct ksym {
	u64 lo;
	u32 line; /* offset in the file */
	u8 type;  /* as in the table; 0: no name, only the end of the one before */
};

struct text {
	const char *p;
	size_t n;
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
	bool prefix;           /* 0x */
	const char *from, *to; /* name and module */
};

/* 1: a line, 0: an empty one, -1: something else. */
static int parse_line(const char *p, const char *end, struct line *l)
{
	if (end - p > MAX_LINE)
		return -1;
	while (end > p && (end[-1] == ' ' || end[-1] == '\r' || end[-1] == '\t'))
		end--;
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	if (p == end)
		return 0;
	l->prefix = end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X');
	p += l->prefix ? 2 : 0;
	if (parse_hex(&p, end, &l->addr) || end - p < 4 || p[0] != ' ' || p[2] != ' ' ||
	    p[3] == '\t')
		return -1;
	l->type = p[1];
	l->from = p + 3;
	l->to = end;
	return 1;
}

static struct text name_in(const struct line *l)
{
	size_t n = (size_t)(l->to - l->from);
	const char *tab = memchr(l->from, '\t', n);

	return (struct text){ l->from, tab ? (size_t)(tab - l->from) : n };
}

static struct text module_in(const struct line *l)
{
	const char *end = l->to, *tab;

	tab = end > l->from && end[-1] == ']' ? memchr(l->from, '\t', (size_t)(end - l->from))
					      : NULL;
	if (!tab || end - tab <= 3 || tab[1] != '[')
		return (struct text){ NULL, 0 };
	return (struct text){ tab + 1, (size_t)(end - tab) - 1 };
}

/* The line of a symbol. */
static struct line line_of(const struct ksyms *k, const struct ksym *s)
{
	const char *p = (const char *)k->map.p + s->line, *end = (const char *)k->map.p + k->map.n;
	const char *nl = memchr(p, '\n', (size_t)(end - p));
	struct line l;

	/* It was one, but the file can have been changed since. */
	return parse_line(p, nl ? nl : end, &l) == 1 ? l : (struct line){ .from = p, .to = p };
}

static struct text name_of(const struct ksyms *k, const struct ksym *s)
{
	struct line l = line_of(k, s);

	return name_in(&l);
}

static struct text module_of(const struct ksyms *k, const struct ksym *s)
{
	struct line l = line_of(k, s);

	return module_in(&l);
}

static bool is_text_type(char t)
{
	return t == 't' || t == 'T' || t == 'w' || t == 'W' || t == 'i';
}

static bool text_is(struct text t, const char *s)
{
	return t.n == strlen(s) && !memcmp(t.p, s, t.n);
}

/* Edges that a linker script names: any other symbol at the address says more. */
static bool is_edge(struct text t)
{
	static const char *const ends[] = { "_start", "_end", "_begin", "_stop" };
	static const char *const starts[] = { "_stext", "_etext",   "_text",   "_sinit",
					      "_einit", "__start_", "__stop_", "__image_base" };
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		k = strlen(starts[i]);
		if (t.n >= k && !memcmp(t.p, starts[i], k))
			return true;
	}
	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		k = strlen(ends[i]);
		if (t.n >= k && !memcmp(t.p + t.n - k, ends[i], k))
			return true;
	}
	return false;
}

/* Behind these no code is. */
static bool is_end(struct text t)
{
	return text_is(t, "_etext") || text_is(t, "_einittext") || text_is(t, "_end");
}

/* Greater is better among symbols at one address (perf's choose_best_symbol, edges last). */
static u32 rank(const struct ksym *s, struct text name)
{
	u32 underscores = 0;

	if (!s->type)
		return 0;
	while (underscores < name.n && name.p[underscores] == '_' && underscores < 15)
		underscores++;
	return 1u << 16 | (u32)!is_edge(name) << 15 |
	       (u32)(s->type != 'w' && s->type != 'W') << 14 | (u32)(s->type == 'T') << 13 |
	       (15 - underscores) << 8 | (u32)MIN(name.n, 255u);
}

/* Which of two symbols at one address names it. */
static bool is_better(const struct ksyms *k, const struct ksym *a, const struct ksym *b)
{
	struct text na = name_of(k, a), nb = name_of(k, b);
	u32 ra = rank(a, na), rb = rank(b, nb);
	int r;

	if (ra != rb)
		return ra > rb;
	r = memcmp(na.p, nb.p, MIN(na.n, nb.n));
	return r ? r < 0 : na.n < nb.n;
}

/* Where the symbol ends. */
static u64 symbol_end(const struct ksyms *k, size_t i)
{
	const struct ksym *s = &k->syms.v[i], *next = i + 1 < k->syms.n ? s + 1 : NULL;
	u64 page = ((s->lo + PAGE - 1) & ~(u64)(PAGE - 1)) + PAGE;

	if (page < s->lo)
		page = UINT64_MAX;
	if (next && next->lo >= page) {
		struct text a = module_of(k, s), b = module_of(k, next);

		if (a.n != b.n || (a.n && memcmp(a.p, b.p, a.n)))
			next = NULL;
	}
	return next ? next->lo : page;
}

/* The last symbol that begins at or before an address and reaches it, or NULL. */
static const struct ksym *find(const struct ksyms *k, u64 addr)
{
	size_t lo = 0, hi = k->syms.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (k->syms.v[mid].lo <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && addr < symbol_end(k, lo - 1) ? &k->syms.v[lo - 1] : NULL;
}

static bool ksyms_lookup(struct symfile *f, u64 addr, struct symframes *out)
{
	const struct ksyms *k = ksyms_of(f);
	const struct ksym *s = find(k, addr);
	struct frame frame = { 0 };
	struct text name;
	const char *hash;

	if (!s || !s->type)
		return false;
	name = name_of(k, s);
	if (is_end(name))
		return false;
	/* A static function's file keeps apart what has one name: it is no part of the name. */
	hash = memchr(name.p, '#', name.n);
	if (hash && hash > name.p && (size_t)(hash - name.p) + 1 < name.n) {
		size_t file = (size_t)(hash - name.p);

		frame.file = strtab_add(f->opts.strings, name.p, file);
		name = (struct text){ hash + 1, name.n - file - 1 };
	}
	frame.function = demangle(f->opts.strings, strtab_add(f->opts.strings, name.p, name.n),
				  f->opts.raw_names);
	vec_push(&out->frames, frame);
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

/* By address, as in the file where they are equal; most tables are sorted but for modules. */
static void sort(struct ksyms *k)
{
	struct ksym *s = k->syms.v, *sorted;
	size_t n = k->syms.n, i;
	struct range *r;

	for (i = 1; i < n && s[i - 1].lo <= s[i].lo; i++)
		;
	if (i >= n)
		return;
	r = xreallocarray(NULL, n, sizeof(*r));
	for (i = 0; i < n; i++)
		r[i] = (struct range){ s[i].lo, s[i].lo, (u32)i };
	ranges_sort(r, n);
	sorted = xreallocarray(NULL, n, sizeof(*sorted));
	for (i = 0; i < n; i++)
		sorted[i] = s[r[i].id];
	free(r);
	free(s);
	k->syms.v = sorted;
	k->syms.cap = n;
}

/* Leaves one an address, and of those without a name one a run. */
static void thin_out(struct ksyms *k)
{
	struct ksym *s = k->syms.v;
	size_t n = 0, i, best;

	for (i = 0; i < k->syms.n;) {
		for (best = i++; i < k->syms.n && s[i].lo == s[best].lo; i++)
			if (is_better(k, &s[i], &s[best]))
				best = i;
		if (!n || s[best].type || s[n - 1].type)
			s[n++] = s[best];
	}
	k->syms.n = n;
}

/* Whether there is code, and where it begins and ends. */
static bool find_text(struct ksyms *k)
{
	const struct ksym *s = k->syms.v;
	size_t from = 0, to = k->syms.n;

	while (from < to && (!s[from].type || is_end(name_of(k, &s[from]))))
		from++;
	while (to > from && (!s[to - 1].type || is_end(name_of(k, &s[to - 1]))))
		to--;
	if (from == to)
		return false;
	k->f.text_start = s[from].lo;
	k->f.text_end = symbol_end(k, to - 1);
	return true;
}

static bool any_file(const struct ksyms *k)
{
	size_t i;

	for (i = 0; i < k->syms.n; i++) {
		struct text name = name_of(k, &k->syms.v[i]);

		if (memchr(name.p, '#', name.n))
			return true;
	}
	return false;
}

static int parse(struct ksyms *k, const struct symfile_ops **ops, struct error *err)
{
	const char *start = (const char *)k->map.p, *p = start, *end = p + k->map.n;
	bool prefix = false, modules = false, hv = false;
	u64 lines = 0, bad = 0, zero = 0;

	vec_reserve(&k->syms, k->map.n / 32);
	for (; p < end;) {
		const char *nl = memchr(p, '\n', (size_t)(end - p)), *eol = nl ? nl : end;
		struct line l;
		const char *line = p;
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
		modules = modules || module_in(&l).n;
		hv |= space_is_hv_text(l.addr);
		if (l.type == 'A' || l.type == 'a' || l.type == 'U' || l.type == '?')
			continue;
		vec_push(&k->syms,
			 ((struct ksym){ .lo = l.addr + (u64)k->shift,
					 .line = (u32)(line - start),
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
	if (prefix)
		*ops = &map_ops;
	else if (modules)
		*ops = &kallsyms_ops;
	else if (hv)
		*ops = any_file(k) ? &xensyms_ops : &map_ops;
	else if (strstr(path_base(k->f.path), "System.map"))
		*ops = &system_map_ops;
	else
		*ops = &kallsyms_ops;
	sort(k);
	thin_out(k);
	if (!find_text(k))
		return error_set(err, "'%s': no symbol of code in it", k->f.path);
	return 0;
}

struct symfile *symfile_open_ksyms(const char *path, s64 shift, const struct symfile_opts *opts,
				   struct error *err)
{
	struct ksyms *k = xcalloc(1, sizeof(*k));

	k->f.opts = *opts;
	k->f.path = xstrdup(path);
	k->shift = shift;
	if (file_map_open(&k->map, path, MAX_FILE, err)) {
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
		    !text_is(name_in(&l), name))
			continue;
		*value = l.addr + (u64)k->shift;
		return 0;
	}
	return -1;
}

str_id symfile_ksyms_module(struct symfile *f, u64 addr)
{
	const struct ksyms *k = ksyms_of(f);
	const struct ksym *s = find(k, addr);
	struct text module = s ? module_of(k, s) : (struct text){ NULL, 0 };

	return module.n ? strtab_add(f->opts.strings, module.p, module.n) : 0;
}
