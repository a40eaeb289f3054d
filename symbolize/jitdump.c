/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "symbolize/ranges.h"
#include "symbolize/symfile.h"

/*
 * jit-PID.dump (Linux tools/perf/Documentation/jitdump-specification.txt, version 1 of the file): a
 * header, then records in the order in which a JIT compiler made its code.  Memory is used again: a
 * later record overrides what it overlaps of earlier ones.  What was moved keeps its name at the
 * old place until something else is put there, for samples of both times are asked for.  Times are
 * in the clock of the writer, which may be none of the recording's: the order is what counts.
 *
 * Code and unwinding information in the file are not used.
 */

enum {
	MAGIC = 0x4a695444, /* "JiTD", the first letter in the highest byte */
	FORMAT_VERSION = 1,
	HEADER_SIZE = 40,
	RECORD_HEADER_SIZE = 16,
};

enum record_id { CODE_LOAD, CODE_MOVE, CODE_DEBUG_INFO, CODE_CLOSE, CODE_UNWINDING_INFO };

#define NONE UINT32_MAX
/* Code is kept in the file, so large ones are no rarity. It is mapped, and only its records' heads
 * are read. */
#define MAX_FILE (16ULL << 30)

/* Where a debug record has its entries. */
struct jit_debug {
	u64 code_addr, count;
	const u8 *p, *end; /* borrowed from the map */
	bool used;
};

struct jit_function {
	u64 code_addr, code_index;
	const char *name; /* borrowed from the map */
	u32 len;
	str_id shown;    /* 0: not made yet */
	u32 debug;       /* its debug record, or NONE */
	u32 line, lines; /* its part of jitdump.lines, once the debug record is read */
};

/* A function at one of its places. */
struct jit_place {
	u32 function;
	u64 moved; /* added to the function's own addresses */
};

struct jit_line {
	str_id file;
	u32 line;
};

struct jitdump {
	struct symfile f;
	struct file_map map;
	bool swap;
	u32 pid;
	VEC(struct jit_function) functions;
	VEC(struct jit_place) places; /* in the order of the file */
	VEC(struct jit_debug) debugs;
	VEC(u32) by_code_index;               /* the last function of each code index */
	VEC(u32) by_code_addr;                /* the last debug record of each address */
	struct index code_index, debug_index; /* into those two */
	struct ranges ranges;                 /* id: place */
	VEC(struct range) line_addrs;         /* by function and address; id: in lines */
	VEC(struct jit_line) lines;
	u64 bad, unknown, foreign; /* records */
};

/* ---- lines ---- */

static bool is_file_name(const char *name, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if ((u8)name[i] < ' ')
			return false;
	return n && utf8_valid(name, n);
}

/*
 * Entries: address, line, column discriminator, name of the source file; the name "\xff" is that of
 * the entry before (Linux tools/perf/util/jitdump.h). Each holds up to the next address.
 *
 * Node.js 20 writes names from memory that it has freed, with NULs in them: then nobody knows where
 * the next entry begins, and none of the record is used.
 */
static void read_lines(struct jitdump *j, struct jit_function *fn)
{
	const struct jit_debug *d = &j->debugs.v[fn->debug];
	size_t first = j->line_addrs.n;
	str_id file = 0;
	struct cursor c;
	u64 i;

	cursor_init(&c, d->p, (size_t)(d->end - d->p), j->swap);
	for (i = 0; i < d->count && j->lines.n < NONE; i++) {
		u64 addr = cursor_u64(&c);
		u32 line = cursor_u32(&c);
		const char *name;
		size_t n;

		cursor_skip(&c, 4);
		name = cursor_str(&c, &n);
		if (c.bad)
			break;
		if (n == 1 && (u8)name[0] == 0xff) {
			n = 0;
		} else if (!is_file_name(name, n)) {
			diag_addf(j->f.opts.diag, DIAG_NOTE, 1,
				  "'%s': lines of some functions are damaged and were left out",
				  j->f.path);
			j->line_addrs.n = j->lines.n = first;
			break;
		}
		if (n)
			file = strtab_add(j->f.opts.strings, name, MIN(n, 4096));
		vec_push(&j->line_addrs, ((struct range){ addr, 0, (u32)j->lines.n }));
		vec_push(&j->lines, ((struct jit_line){ file, line }));
	}
	if (j->line_addrs.n > first)
		ranges_sort(j->line_addrs.v + first, j->line_addrs.n - first);
	fn->line = (u32)first;
	fn->lines = (u32)(j->line_addrs.n - first);
	fn->debug = NONE;
}

/* The last entry at or below an address. */
static const struct jit_line *find_line(struct jitdump *j, struct jit_function *fn, u64 addr)
{
	const struct range *r;
	size_t lo = 0, hi;

	if (fn->debug != NONE)
		read_lines(j, fn);
	if (!fn->lines)
		return NULL;
	r = j->line_addrs.v + fn->line;
	hi = fn->lines;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (r[mid].lo <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? &j->lines.v[r[lo - 1].id] : NULL;
}

/* ---- lookup ---- */

static bool jitdump_lookup(struct symfile *f, u64 addr, struct symframes *out)
{
	struct jitdump *j = (struct jitdump *)f;
	const struct range *r = ranges_find(j->ranges.r.v, j->ranges.r.n, addr);
	struct frame frame = { .flags = FRAME_JIT };
	const struct jit_line *line;
	struct jit_function *fn;

	if (!r)
		return false;
	fn = &j->functions.v[j->places.v[r->id].function];
	if (!fn->shown)
		fn->shown = demangle(f->opts.strings,
				     strtab_add(f->opts.strings, fn->name, fn->len),
				     f->opts.raw_names);
	frame.function = fn->shown;
	line = find_line(j, fn, addr - j->places.v[r->id].moved);
	if (line) {
		frame.file = line->file;
		frame.line = line->line;
	}
	vec_push(&out->frames, frame);
	return true;
}

static void jitdump_free(struct symfile *f)
{
	struct jitdump *j = (struct jitdump *)f;

	file_map_close(&j->map);
	vec_release(&j->functions);
	vec_release(&j->places);
	vec_release(&j->debugs);
	vec_release(&j->by_code_index);
	vec_release(&j->by_code_addr);
	index_release(&j->code_index);
	index_release(&j->debug_index);
	vec_release(&j->ranges.r);
	vec_release(&j->line_addrs);
	vec_release(&j->lines);
	free(f->path);
	free(j);
}

static const struct symfile_ops jitdump_ops = { "jitdump", jitdump_lookup, jitdump_free };

/* ---- records ---- */

static bool function_eq(const void *ctx, u32 id, const void *key)
{
	const struct jitdump *j = ctx;

	return j->functions.v[j->by_code_index.v[id]].code_index == *(const u64 *)key;
}

static bool debug_eq(const void *ctx, u32 id, const void *key)
{
	const struct jitdump *j = ctx;

	return j->debugs.v[j->by_code_addr.v[id]].code_addr == *(const u64 *)key;
}

static bool place(struct jitdump *j, u32 function, u64 addr, u64 size)
{
	if (addr + size < addr || j->places.n >= NONE)
		return false;
	vec_push(&j->ranges.r, ((struct range){ addr, addr + size, (u32)j->places.n }));
	vec_push(&j->places,
		 ((struct jit_place){ function, addr - j->functions.v[function].code_addr }));
	return true;
}

/* The debug record comes before the code that it is of. */
static u32 take_debug(struct jitdump *j, u64 addr)
{
	u32 i = index_find(&j->debug_index, hash_u64(addr), debug_eq, j, &addr);
	struct jit_debug *d;

	if (i == INDEX_NONE)
		return NONE;
	d = &j->debugs.v[j->by_code_addr.v[i]];
	if (d->used)
		return NONE;
	d->used = true;
	return j->by_code_addr.v[i];
}

static bool load(struct jitdump *j, struct cursor *c)
{
	struct jit_function fn = { 0 };
	u64 size, hash;
	u32 pid = cursor_u32(c), i;
	const u8 *nul;

	cursor_skip(c, 4 + 8); /* thread; vma, which perf does not use either */
	fn.code_addr = cursor_u64(c);
	size = cursor_u64(c);
	fn.code_index = cursor_u64(c);
	if (c->bad)
		return false;
	if (pid != j->pid) {
		j->foreign++;
		return true;
	}
	nul = memchr(c->p, 0, cursor_left(c));
	if (!nul || nul == c->p || size > (size_t)(c->end - nul - 1) || j->functions.n >= NONE)
		return false;
	fn.name = (const char *)c->p;
	fn.len = (u32)(nul - c->p);
	fn.debug = take_debug(j, fn.code_addr);
	vec_push(&j->functions, fn);
	if (!place(j, (u32)(j->functions.n - 1), fn.code_addr, size)) {
		j->functions.n--;
		return false;
	}
	hash = hash_u64(fn.code_index);
	i = index_find(&j->code_index, hash, function_eq, j, &fn.code_index);
	if (i != INDEX_NONE) {
		j->by_code_index.v[i] = (u32)(j->functions.n - 1);
	} else {
		index_add(&j->code_index, hash, (u32)j->by_code_index.n);
		vec_push(&j->by_code_index, (u32)(j->functions.n - 1));
	}
	return true;
}

static bool move(struct jitdump *j, struct cursor *c)
{
	u32 pid = cursor_u32(c), i;
	u64 addr, size, code_index;

	cursor_skip(c, 4 + 8 + 8); /* thread, vma, old address */
	addr = cursor_u64(c);
	size = cursor_u64(c);
	code_index = cursor_u64(c);
	if (c->bad)
		return false;
	if (pid != j->pid) {
		j->foreign++;
		return true;
	}
	i = index_find(&j->code_index, hash_u64(code_index), function_eq, j, &code_index);
	return i != INDEX_NONE && place(j, j->by_code_index.v[i], addr, size);
}

static bool debug_info(struct jitdump *j, struct cursor *c)
{
	struct jit_debug d = { 0 };
	u64 hash;
	u32 i;

	d.code_addr = cursor_u64(c);
	d.count = cursor_u64(c);
	if (c->bad || d.count > cursor_left(c) / 17 || j->debugs.n >= NONE)
		return false;
	d.p = c->p;
	d.end = c->end;
	vec_push(&j->debugs, d);
	hash = hash_u64(d.code_addr);
	i = index_find(&j->debug_index, hash, debug_eq, j, &d.code_addr);
	if (i != INDEX_NONE) {
		j->by_code_addr.v[i] = (u32)(j->debugs.n - 1);
	} else {
		index_add(&j->debug_index, hash, (u32)j->by_code_addr.n);
		vec_push(&j->by_code_addr, (u32)(j->debugs.n - 1));
	}
	return true;
}

static void tell(const struct jitdump *j, u64 count, const char *what)
{
	struct buf b = BUF_INIT;

	if (count) {
		buf_plural(&b, what, count, j->f.path);
		diag_add(j->f.opts.diag, DIAG_SYMBOL_FILE, count, buf_str(&b));
	}
	buf_release(&b);
}

static void parse(struct jitdump *j, struct cursor *c)
{
	bool closed = false;
	u64 cut_off = 0;

	while (cursor_left(c) && !closed) {
		struct cursor r;
		u32 id, size;
		u64 left = cursor_left(c);
		bool good = true;

		id = cursor_u32(c);
		size = cursor_u32(c);
		cursor_skip(c, 8); /* time */
		if (c->bad || size < RECORD_HEADER_SIZE ||
		    size - RECORD_HEADER_SIZE > cursor_left(c)) {
			cut_off = left;
			break;
		}
		size -= RECORD_HEADER_SIZE;
		cursor_init(&r, c->p, size, j->swap);
		cursor_skip(c, size);
		switch (id) {
		case CODE_LOAD: good = load(j, &r); break;
		case CODE_MOVE: good = move(j, &r); break;
		case CODE_DEBUG_INFO: good = debug_info(j, &r); break;
		case CODE_CLOSE: closed = true; break;
		case CODE_UNWINDING_INFO: break;
		default: j->unknown++; break;
		}
		j->bad += !good;
	}
	tell(j, j->bad, "'%s': %n damaged record{|s} of generated code");
	tell(j, j->unknown, "'%s': %n record{|s} of unknown type skipped");
	tell(j, j->foreign, "'%s': %n record{|s} of another process skipped");
	tell(j, cut_off,
	     "'%s': %n byte{ at the end is|s at the end are} no whole record: copy it again when "
	     "the program has ended");
	ranges_flatten(&j->ranges);
	if (j->ranges.r.n) {
		j->f.text_start = j->ranges.r.v[0].lo;
		j->f.text_end = j->ranges.r.v[j->ranges.r.n - 1].hi;
	}
}

static int read_header(struct jitdump *j, struct cursor *c, struct error *err)
{
	u32 magic = cursor_u32(c), version, size;

	if (magic != MAGIC) {
		j->swap = c->swap = true;
		magic = __builtin_bswap32(magic);
	}
	version = cursor_u32(c);
	size = cursor_u32(c);
	cursor_skip(c, 4 + 4); /* machine, padding */
	j->pid = cursor_u32(c);
	cursor_skip(c, 8 + 8); /* time, flags */
	if (c->bad || magic != MAGIC)
		return error_set(err, "'%s': not a jitdump file", j->f.path);
	if (version != FORMAT_VERSION)
		return error_set(err, "'%s': version %" PRIu32 " of jitdump is not known",
				 j->f.path, version);
	if (size < HEADER_SIZE || size - HEADER_SIZE > cursor_left(c))
		return error_set(err, "'%s': the header is damaged", j->f.path);
	cursor_skip(c, size - HEADER_SIZE);
	return 0;
}

struct symfile *symfile_open_jitdump(const char *path, const struct symfile_opts *opts,
				     struct error *err)
{
	struct jitdump *j = xcalloc(1, sizeof(*j));
	struct cursor c;

	j->f.ops = &jitdump_ops;
	j->f.opts = *opts;
	j->f.path = xstrdup(path);
	index_init(&j->code_index);
	index_init(&j->debug_index);
	if (file_map_open(&j->map, path, MAX_FILE, err)) {
		memset(&j->map, 0, sizeof(j->map));
		jitdump_free(&j->f);
		return NULL;
	}
	cursor_init(&c, j->map.p, j->map.n, false);
	if (read_header(j, &c, err)) {
		jitdump_free(&j->f);
		return NULL;
	}
	parse(j, &c);
	return &j->f;
}
