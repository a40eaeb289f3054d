/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdlib.h>

#include "symbolize/dwarf-index.h"
#include "symbolize/line.h"

/*
 * Bounds.  Real code stays far below: chains of abstract_origin and specification have 2 or 3 links, inlined code
 * nests some dozens deep.
 */
enum {
	MAX_CHAIN = 16,			/* links from a DIE to the one that has the name */
	MAX_DEPTH = 256,		/* nesting of DIEs that is followed */
	MAX_FRAMES = 200,		/* inlined frames of one address */
	MAX_UNITS_TRIED = 16,		/* units that claim one address */
};
#define NO_SCOPE	UINT32_MAX

/* A function or an inlined instance of one. */
struct scope {
	Dwarf_Die die;
	u32 parent;			/* scope it is inlined into, or NO_SCOPE */
	u32 call_file, call_line;
};

struct function {
	Dwarf_Die die;
	bool flattened;
	u32 scope;			/* its own scope, once flattened */
	u32 seg, segs;			/* its part of unit.segs */
};

struct unit {
	Dwarf_CU *cu;
	bool indexed, has_lines, deep;
	VEC(struct function) functions;
	struct ranges ranges;		/* id: index in functions */
	VEC(struct scope) scopes;
	VEC(struct range) segs;		/* id: index in scopes */
	struct line_table *lines;	/* NULL: none */
};

struct name {
	const void *die;		/* address of the DIE's bytes: its identity */
	str_id raw, shown;
};

struct dwarf_index {
	Dwarf *dw, *no_alt;
	Elf *no_alt_elf;
	const char *path;
	const struct ranges *code;
	struct symfile_opts opts;
	struct line_sections sections;
	VEC(struct unit) units;
	VEC(struct range) spans;	/* ranges of units by start; id: index in units. They may overlap. */
	VEC(u64) span_ends;		/* greatest hi of spans[0..i] */
	VEC(struct name) names;
	struct index name_index;
	u64 budget;			/* steps that are still allowed: grows with the file, so that no file takes for ever */
	bool told;
};

/* ---- reading DIEs ---- */

struct die_info {
	Dwarf_Attribute low, high, ranges, origin, spec, name, linkage, call_file, call_line;
	bool declaration;
};

static int collect_attr(Dwarf_Attribute *a, void *arg)
{
	struct die_info *d = arg;

	switch (a->code) {
	case DW_AT_low_pc:
		d->low = *a;
		break;
	case DW_AT_high_pc:
		d->high = *a;
		break;
	case DW_AT_ranges:
		d->ranges = *a;
		break;
	case DW_AT_abstract_origin:
		d->origin = *a;
		break;
	case DW_AT_specification:
		d->spec = *a;
		break;
	case DW_AT_name:
		d->name = *a;
		break;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
		d->linkage = *a;
		break;
	case DW_AT_call_file:
		d->call_file = *a;
		break;
	case DW_AT_call_line:
		d->call_line = *a;
		break;
	case DW_AT_declaration:
		d->declaration = true;
		break;
	default:
		break;
	}
	return DWARF_CB_OK;
}

static void die_info(Dwarf_Die *die, struct die_info *d)
{
	memset(d, 0, sizeof(*d));
	dwarf_getattrs(die, collect_attr, d, 0);
}

static u32 attr_u32(Dwarf_Attribute *a)
{
	Dwarf_Word v;

	return a->valp && !dwarf_formudata(a, &v) && v <= UINT32_MAX ? (u32)v : 0;
}

static bool spend(struct dwarf_index *ix, u64 steps)
{
	if (ix->budget < steps) {
		ix->budget = 0;
		if (!ix->told)
			diag_addf(ix->opts.diag, DIAG_SYMBOL_FILE, 1, "'%s': its DWARF is damaged: it goes round in circles", ix->path);
		ix->told = true;
		return false;
	}
	ix->budget -= steps;
	return true;
}

/* Code that the linker dropped stays in DWARF, at addresses that mean something else or nothing. */
static bool is_code(const struct dwarf_index *ix, u64 addr)
{
	const struct ranges *c = ix->code;

	return c->r.n ? ranges_find(c->r.v, c->r.n, addr) != NULL : addr != 0;
}

/* Appends the ranges of a DIE, with `id`. */
static void add_ranges(struct dwarf_index *ix, Dwarf_Die *die, struct die_info *d, u32 id, struct ranges *out)
{
	Dwarf_Addr lo, hi, base;
	Dwarf_Word size;
	ptrdiff_t off = 0;

	if (d->ranges.valp) {
		while (spend(ix, 1) && (off = dwarf_ranges(die, off, &base, &lo, &hi)) > 0)
			if (lo < hi && is_code(ix, lo))
				vec_push(&out->r, ((struct range){ lo, hi, id }));
		return;
	}
	if (!d->low.valp || !d->high.valp || dwarf_formaddr(&d->low, &lo))
		return;
	if (dwarf_formaddr(&d->high, &hi)) {
		if (dwarf_formudata(&d->high, &size))
			return;
		hi = lo + size;
	}
	if (lo < hi && is_code(ix, lo))
		vec_push(&out->r, ((struct range){ lo, hi, id }));
}

/* Next sibling, only ever forwards in the section. */
static bool next_sibling(struct dwarf_index *ix, Dwarf_Die *die)
{
	const char *before = die->addr;
	const void *cu = die->cu;

	if (!spend(ix, 1) || dwarf_siblingof(die, die))
		return false;
	return die->cu == cu && (const char *)die->addr > before;
}

/* ---- names ---- */

static bool name_eq(const void *ctx, u32 id, const void *key)
{
	const struct dwarf_index *ix = ctx;

	return ix->names.v[id].die == key;
}

/* The DIE that says the name of this one, as far as the links go: at most MAX_CHAIN. */
static const struct name *name_of(struct dwarf_index *ix, Dwarf_Die *start)
{
	struct name none = { NULL, 0, 0 };
	const char *name = NULL, *linkage = NULL, *s;
	Dwarf_Die die = *start;
	struct die_info d;
	u64 hash;
	u32 id;
	int i;

	/* An instance has nothing of its own but the link; what it leads to is shared by all of them. */
	die_info(&die, &d);
	if (!d.linkage.valp && !d.name.valp && d.origin.valp && dwarf_formref_die(&d.origin, &die))
		die_info(&die, &d);

	hash = hash_u64((u64)(uintptr_t)die.addr);
	id = index_find(&ix->name_index, hash, name_eq, ix, die.addr);
	if (id != INDEX_NONE)
		return &ix->names.v[id];

	none.die = die.addr;
	for (i = 0; i < MAX_CHAIN; i++) {
		Dwarf_Attribute *link;

		if (d.linkage.valp && (s = dwarf_formstring(&d.linkage)) && *s) {
			linkage = s;
			break;
		}
		if (!name && d.name.valp && (s = dwarf_formstring(&d.name)) && *s)
			name = s;
		link = d.origin.valp ? &d.origin : &d.spec;
		if (!link->valp || !dwarf_formref_die(link, &die))
			break;
		die_info(&die, &d);
	}
	if (linkage || name) {
		none.raw = strtab_adds(ix->opts.strings, linkage ? linkage : name);
		none.shown = linkage ? demangle(ix->opts.strings, none.raw, ix->opts.raw_names) : none.raw;
	}
	id = (u32)ix->names.n;
	vec_push(&ix->names, none);
	index_add(&ix->name_index, hash, id);
	return &ix->names.v[id];
}

/* ---- units ---- */

static int span_cmp(const void *pa, const void *pb)
{
	const struct range *a = pa, *b = pb;

	if (a->lo != b->lo)
		return a->lo < b->lo ? -1 : 1;
	if (a->hi != b->hi)
		return a->hi > b->hi ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

static void index_functions(struct dwarf_index *ix, struct unit *u);

static void index_units(struct dwarf_index *ix)
{
	Dwarf_CU *cu = NULL;
	struct ranges spans = { { NULL, 0, 0 } };
	u64 end = 0;
	size_t i;

	for (;;) {
		Dwarf_Die die;
		struct die_info d;
		u8 type = 0;
		size_t before = spans.r.n;
		u32 id = (u32)ix->units.n;
		struct unit *u;
		int tag;

		if (dwarf_get_units(ix->dw, cu, &cu, NULL, &type, &die, NULL) || !spend(ix, 1))
			break;
		tag = dwarf_tag(&die);
		if (type == DW_UT_type || type == DW_UT_split_type || type == DW_UT_partial ||
		    (tag != DW_TAG_compile_unit && tag != DW_TAG_skeleton_unit))
			continue;
		die_info(&die, &d);
		vec_push(&ix->units, (struct unit){ .cu = cu });
		add_ranges(ix, &die, &d, id, &spans);
		if (spans.r.n != before || d.ranges.valp || (d.low.valp && d.high.valp) ||
		    tag == DW_TAG_skeleton_unit)
			continue;
		/* A unit that does not say where its code is: its functions do, or it has none. */
		u = &ix->units.v[id];
		index_functions(ix, u);
		for (i = 0; i < u->ranges.r.n; i++)
			vec_push(&spans.r, ((struct range){ u->ranges.r.v[i].lo, u->ranges.r.v[i].hi, id }));
	}
	if (spans.r.n)
		qsort(spans.r.v, spans.r.n, sizeof(*spans.r.v), span_cmp);
	ix->spans.v = spans.r.v;
	ix->spans.n = spans.r.n;
	ix->spans.cap = spans.r.cap;
	vec_reserve(&ix->span_ends, ix->spans.n);
	for (i = 0; i < ix->spans.n; i++) {
		end = MAX(end, ix->spans.v[i].hi);
		vec_push(&ix->span_ends, end);
	}
}

/* The DIE that holds the functions: of the unit, or of the .dwo file that it points to. */
static bool unit_die(struct dwarf_index *ix, struct unit *u, Dwarf_Die *die)
{
	Dwarf_Die skeleton, split;
	u8 type = 0;

	memset(&split, 0, sizeof(split));
	if (dwarf_cu_info(u->cu, NULL, &type, &skeleton, ix->opts.no_alt ? NULL : &split, NULL, NULL, NULL))
		return false;
	*die = skeleton;
	if (type == DW_UT_skeleton) {
		if (split.addr) {
			*die = split;
		} else if (!ix->opts.no_alt) {
			Dwarf_Attribute a;
			const char *name = NULL;

			if (dwarf_attr(&skeleton, DW_AT_dwo_name, &a) || dwarf_attr(&skeleton, DW_AT_GNU_dwo_name, &a))
				name = dwarf_formstring(&a);
			diag_addf(ix->opts.diag, DIAG_SYMBOL_FILE, 1, "'%s': '%s' not found: inlined functions are missing",
				  ix->path, name ? name : ".dwo");
		}
	}
	return true;
}

static bool holds_functions(int tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
	case DW_TAG_enumeration_type:	/* of Rust */
		return true;
	default:
		return false;
	}
}

static bool holds_inlined(int tag)
{
	switch (tag) {
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
	case DW_TAG_inlined_subroutine:
		return true;
	default:
		return false;
	}
}

/*
 * Gathers the functions of a unit.  Functions are looked into for others only when `all`, for that is most of
 * what a unit holds.
 */
static void collect_functions(struct dwarf_index *ix, struct unit *u, bool all)
{
	Dwarf_Die stack[MAX_DEPTH];
	int depth = 0;

	if (!unit_die(ix, u, &stack[0]) || dwarf_child(&stack[0], &stack[0]))
		return;
	while (depth >= 0) {
		Dwarf_Die *die = &stack[depth];
		int tag = dwarf_tag(die);
		bool into = holds_functions(tag);

		if (tag == DW_TAG_subprogram) {
			struct die_info d;
			size_t before = u->ranges.r.n;

			die_info(die, &d);
			if (!d.declaration)
				add_ranges(ix, die, &d, (u32)u->functions.n, &u->ranges);
			if (u->ranges.r.n != before)
				vec_push(&u->functions, (struct function){ .die = *die });
		}
		if (all && (tag == DW_TAG_subprogram || holds_inlined(tag)))
			into = true;
		if (into && depth + 1 < MAX_DEPTH && spend(ix, 1) && !dwarf_child(die, die + 1)) {
			depth++;
			continue;
		}
		while (depth >= 0 && !next_sibling(ix, &stack[depth]))
			depth--;
	}
	ranges_flatten(&u->ranges);
}

static void index_functions(struct dwarf_index *ix, struct unit *u)
{
	if (u->indexed)
		return;
	u->indexed = true;
	collect_functions(ix, u, false);
}

static void index_deep(struct dwarf_index *ix, struct unit *u)
{
	if (u->deep)
		return;
	u->deep = true;
	vec_release(&u->functions);
	vec_release(&u->ranges.r);
	vec_release(&u->scopes);
	vec_release(&u->segs);
	collect_functions(ix, u, true);
}

static void index_lines(struct dwarf_index *ix, struct unit *u)
{
	Dwarf_Die die;
	Dwarf_Attribute a;
	Dwarf_Word off;
	u8 address_size = 8;
	const char *comp_dir = NULL;

	if (u->has_lines)
		return;
	u->has_lines = true;
	if (dwarf_cu_info(u->cu, NULL, NULL, &die, NULL, NULL, &address_size, NULL))
		return;
	if (dwarf_attr(&die, DW_AT_comp_dir, &a))
		comp_dir = dwarf_formstring(&a);
	if (!dwarf_attr(&die, DW_AT_stmt_list, &a) || dwarf_formudata(&a, &off))
		return;
	if (!spend(ix, 1))
		return;
	u->lines = xmalloc(sizeof(*u->lines));
	line_table_init(u->lines, &ix->sections, off, address_size, comp_dir, ix->code->r.n ? ix->code : NULL);
	/* Rows cost a byte or more each; many units that share one table would make that no bound. */
	spend(ix, u->lines->rows.n);
}

/* ---- functions ---- */

static void flatten(struct dwarf_index *ix, struct unit *u, struct function *f)
{
	Dwarf_Die stack[MAX_DEPTH];
	u32 parent[MAX_DEPTH];
	struct ranges segs = { { NULL, 0, 0 } };
	struct die_info d;
	size_t i;
	int depth = 0;

	f->flattened = true;
	f->scope = (u32)u->scopes.n;
	vec_push(&u->scopes, ((struct scope){ f->die, NO_SCOPE, 0, 0 }));
	if (!ix->opts.no_inline && !dwarf_child(&f->die, &stack[0])) {
		parent[0] = f->scope;
		while (depth >= 0) {
			Dwarf_Die *die = &stack[depth];
			int tag = dwarf_tag(die);
			u32 own = parent[depth];

			if (tag == DW_TAG_inlined_subroutine) {
				size_t before = segs.r.n;

				die_info(die, &d);
				own = (u32)u->scopes.n;
				add_ranges(ix, die, &d, own, &segs);
				if (segs.r.n == before)
					own = parent[depth];	/* without code: optimised away, but not what is in it */
				else
					vec_push(&u->scopes, ((struct scope){ *die, parent[depth],
						attr_u32(&d.call_file), attr_u32(&d.call_line) }));
			}
			if (holds_inlined(tag) && depth + 1 < MAX_DEPTH && spend(ix, 1) &&
			    !dwarf_child(die, die + 1)) {
				parent[++depth] = own;
				continue;
			}
			while (depth >= 0 && !next_sibling(ix, &stack[depth]))
				depth--;
		}
	}
	ranges_flatten(&segs);
	f->seg = (u32)u->segs.n;
	f->segs = (u32)segs.r.n;
	vec_reserve(&u->segs, segs.r.n);
	for (i = 0; i < segs.r.n; i++)
		vec_push(&u->segs, segs.r.v[i]);
	vec_release(&segs.r);
}

static void append_frames(struct dwarf_index *ix, struct unit *u, struct function *f, u64 addr,
			  struct symframes *out, struct dwarf_hit *hit)
{
	const struct range *r;
	str_id file = hit->file;
	u32 line = hit->line, scope;
	int n = 0;

	if (!f->flattened)
		flatten(ix, u, f);
	r = f->segs ? ranges_find(u->segs.v + f->seg, f->segs, addr) : NULL;
	scope = r ? r->id : f->scope;
	for (;;) {
		struct scope *s = &u->scopes.v[scope];
		const struct name *name = name_of(ix, &s->die);
		bool last = s->parent == NO_SCOPE;

		/* An inlined function without a name says nothing that its caller does not say. */
		if (last || (name->shown && n < MAX_FRAMES)) {
			vec_push(&out->frames, ((struct frame){ .function = name->shown, .file = file, .line = line,
				.flags = last ? 0 : FRAME_INLINED }));
			n++;
		}
		if (last) {
			hit->name = name->raw;
			break;
		}
		file = u->lines ? line_table_file(u->lines, s->call_file, ix->opts.strings) : 0;
		line = s->call_line;
		scope = s->parent;
	}
}

void dwarf_index_lookup(struct dwarf_index *ix, u64 addr, bool deep, struct symframes *out, struct dwarf_hit *hit)
{
	size_t lo = 0, hi = ix->spans.n, tried;

	memset(hit, 0, sizeof(*hit));
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (ix->spans.v[mid].lo <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* Units may overlap: the innermost one that has a function there is right. */
	for (tried = 0; lo > 0 && tried < MAX_UNITS_TRIED && ix->span_ends.v[lo - 1] > addr; lo--) {
		const struct range *span = &ix->spans.v[lo - 1], *r;
		struct unit *u;

		if (addr >= span->hi)
			continue;
		tried++;
		u = &ix->units.v[span->id];
		index_functions(ix, u);
		if (deep)
			index_deep(ix, u);
		r = ranges_find(u->ranges.r.v, u->ranges.r.n, addr);
		if (r || !hit->unit) {
			const struct line_row *row;

			index_lines(ix, u);
			row = u->lines ? line_table_find(u->lines, addr) : NULL;
			hit->file = row ? line_table_file(u->lines, row->file, ix->opts.strings) : 0;
			hit->line = row ? row->line : 0;
			hit->unit = true;
		}
		if (r) {
			hit->function = true;
			hit->function_lo = r->lo;
			if (out)
				append_frames(ix, u, &u->functions.v[r->id], addr, out, hit);
			return;
		}
	}
}

/* ---- open and close ---- */

static void find_sections(struct dwarf_index *ix, Elf *elf, u64 *bytes)
{
	Elf_Scn *scn = NULL;
	size_t names;
	GElf_Ehdr eh;

	if (!gelf_getehdr(elf, &eh) || elf_getshdrstrndx(elf, &names))
		return;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	ix->sections.swap = eh.e_ident[EI_DATA] == ELFDATA2MSB;
#else
	ix->sections.swap = eh.e_ident[EI_DATA] == ELFDATA2LSB;
#endif
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;
		const char *name;
		Elf_Data *data;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS ||
		    !(name = elf_strptr(elf, names, sh.sh_name)))
			continue;
		if (!strncmp(name, ".zdebug_", 8))
			name += 2;
		else if (!strncmp(name, ".debug_", 7))
			name += 1;
		else
			continue;
		*bytes += sh.sh_size;
		if (strcmp(name, "debug_line") && strcmp(name, "debug_line_str") && strcmp(name, "debug_str"))
			continue;
		/* libdw has unpacked those that it knows. */
		if ((sh.sh_flags & SHF_COMPRESSED) && elf_compress(scn, 0, 0) < 0)
			continue;
		data = elf_rawdata(scn, NULL);
		if (!data || !data->d_buf)
			continue;
		if (!strcmp(name, "debug_line")) {
			ix->sections.line = data->d_buf;
			ix->sections.line_n = data->d_size;
		} else if (!strcmp(name, "debug_line_str")) {
			ix->sections.line_str = data->d_buf;
			ix->sections.line_str_n = data->d_size;
		} else {
			ix->sections.str = data->d_buf;
			ix->sections.str_n = data->d_size;
		}
	}
}

struct dwarf_index *dwarf_index_new(Elf *elf, const char *path, const struct ranges *code,
				    const struct symfile_opts *opts, struct error *err)
{
	struct dwarf_index *ix;
	Dwarf *dw = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	u64 bytes = 0;

	if (!dw) {
		error_set(err, "'%s': %s", path, dwarf_errmsg(-1));
		return NULL;
	}
	ix = xcalloc(1, sizeof(*ix));
	ix->dw = dw;
	ix->path = path;
	ix->code = code;
	ix->opts = *opts;
	index_init(&ix->name_index);
	find_sections(ix, elf, &bytes);
	ix->budget = 4 * bytes + 1000000;
	index_units(ix);
	return ix;
}

void dwarf_index_free(struct dwarf_index *ix)
{
	size_t i;

	if (!ix)
		return;
	for (i = 0; i < ix->units.n; i++) {
		struct unit *u = &ix->units.v[i];

		vec_release(&u->functions);
		vec_release(&u->ranges.r);
		vec_release(&u->scopes);
		vec_release(&u->segs);
		if (u->lines)
			line_table_release(u->lines);
		free(u->lines);
	}
	vec_release(&ix->units);
	vec_release(&ix->spans);
	vec_release(&ix->span_ends);
	vec_release(&ix->names);
	index_release(&ix->name_index);
	dwarf_end(ix->dw);
	free(ix);
}
