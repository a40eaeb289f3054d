/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolize/die.h"
#include "symbolize/dwarf-index.h"
#include "symbolize/line.h"

/*
 * Bounds.  Real code stays far below: chains of abstract_origin and specification have 2 or 3
 * links, inlined code nests some dozens deep.
 */
enum {
	MAX_CHAIN = 16,       /* links from an entry to the one that has the name */
	MAX_DEPTH = 4096,     /* nesting of entries that is followed */
	MAX_FRAMES = 200,     /* inlined frames of one address */
	MAX_UNITS_TRIED = 16, /* units that claim one address */
};
#define NO_SCOPE UINT32_MAX

/* A function or an inlined instance of one. */
struct scope {
	u64 die;    /* the entry that leads to its name */
	u32 name;   /* index in names, or INDEX_NONE: not looked up yet */
	u32 parent; /* scope it is inlined into, or NO_SCOPE */
	u32 call_file, call_line;
};

struct function {
	u64 die;
	bool flattened;
	u32 scope;     /* its own scope, once flattened */
	u32 seg, segs; /* its part of unit.segs */
};

struct unit {
	struct die_unit head;
	bool known, tried;           /* its own entry was read; was tried to be */
	const struct die_unit *body; /* where the functions are: head, or the unit of a .dwo file;
					NULL: not known yet */
	Dwarf *dw;                   /* of a .dwo file */
	u64 stmt_list;               /* UINT64_MAX: none */
	bool skeleton, indexed, has_lines, deep;
	u64 language;
	VEC(struct function) functions;
	struct ranges ranges; /* id: index in functions */
	VEC(struct scope) scopes;
	VEC(struct range) segs;   /* id: index in scopes */
	struct line_table *lines; /* NULL: none */
};

/* A .dwo file. */
struct split {
	struct die_sections s;
	struct die_unit unit;
};

struct name {
	const struct die_sections *s;
	u64 die;
	str_id raw, shown;
	bool linkage; /* raw is the linker's */
};

struct dwarf_index {
	Elf *elf;
	Dwarf *dw, *alt; /* NULL: not opened yet; alt: or not what opts.find_alt has found */
	bool no_dw;      /* it cannot be opened */
	int alt_fd;
	const char *path;
	const struct ranges *code;
	struct symfile_opts opts;
	struct die_sections s;
	struct line_sections lines;
	VEC(struct packed *) packed; /* sections */
	bool bad_packed;
	struct die_section aranges;
	bool some; /* units are those that .debug_aranges tells of */
	VEC(struct unit *) units;
	VEC(struct range)
	spans;              /* ranges of units by start; id: index in units. They may overlap. */
	VEC(u64) span_ends; /* greatest hi of spans[0..i] */
	VEC(struct die_abbrevs *) abbrevs;
	struct index abbrev_index;
	VEC(struct split *) splits;
	VEC(struct name) names;
	struct index name_index;
	VEC(u32) parents; /* scratch of flatten() */
	u64 budget; /* steps that are still allowed: grows with the file, so that no file takes for
		       ever */
	bool told;
};

static bool may_open(const struct dwarf_index *ix, const char *comp_dir, const char *name);

/* Opens dwz's file. Left to itself libdw would look for it at the first reference, in this
 * machine's folders and on servers. */
static void find_alt(struct dwarf_index *ix)
{
	const char *name;
	const void *id;
	ssize_t n = dwelf_dwarf_gnu_debugaltlink(ix->dw, &name, &id);
	char *path = NULL;

	if (n <= 0 || ix->opts.no_alt)
		return;
	if (!ix->opts.find_alt) {
		ix->opts.no_alt = !may_open(ix, NULL, name);
		return;
	}
	path = ix->opts.find_alt(ix->opts.ctx, ix->path, name, id, (size_t)n);
	ix->alt_fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	ix->alt = ix->alt_fd >= 0 ? dwarf_begin(ix->alt_fd, DWARF_C_READ) : NULL;
	if (ix->alt)
		dwarf_setalt(ix->dw, ix->alt);
	else
		ix->opts.no_alt = true;
	free(path);
}

/*
 * libdw unpacks all packed sections of a file when it opens it, so with such a file it is opened
 * when there is something that it alone can tell.
 */
static Dwarf *libdw(struct dwarf_index *ix)
{
	if (ix->dw || ix->no_dw)
		return ix->dw;
	ix->dw = dwarf_begin_elf(ix->elf, DWARF_C_READ, NULL);
	ix->no_dw = !ix->dw;
	if (ix->dw)
		find_alt(ix);
	return ix->dw;
}

static bool spend(struct dwarf_index *ix, u64 steps)
{
	if (ix->budget < steps) {
		ix->budget = 0;
		if (!ix->told)
			diag_addf(ix->opts.diag, DIAG_SYMBOL_FILE, 1,
				  "'%s': its DWARF is damaged: the same parts are used again and "
				  "again",
				  ix->path);
		ix->told = true;
		return false;
	}
	ix->budget -= steps;
	return true;
}

/*
 * Appends the ranges of an entry, with `id`.  Code that the linker dropped stays in DWARF, at
 * addresses that mean something else or nothing: it is left out.
 */
static void add_ranges(struct dwarf_index *ix, const struct die_unit *u, const struct die *d,
		       u32 id, struct ranges *out)
{
	size_t first = out->r.n, n = first, i;
	const struct ranges *code = ix->code;

	spend(ix, die_ranges(u, d, id, ix->budget, out));
	for (i = first; i < out->r.n; i++) {
		u64 lo = out->r.v[i].lo;

		if (code->r.n ? ranges_find(code->r.v, code->r.n, lo) != NULL : lo != 0)
			out->r.v[n++] = out->r.v[i];
	}
	out->r.n = n;
}

/* ---- names ---- */

struct naming {
	Dwarf_Attribute origin, spec, name, linkage;
	bool no_alt;
};

/* Whether the value is in the file that dwz made of what several have in common. */
static bool is_alt(const Dwarf_Attribute *a)
{
	return a->form == DW_FORM_GNU_ref_alt || a->form == DW_FORM_GNU_strp_alt ||
	       a->form == DW_FORM_strp_sup || a->form == DW_FORM_ref_sup4 ||
	       a->form == DW_FORM_ref_sup8;
}

static int collect_naming(Dwarf_Attribute *a, void *arg)
{
	struct naming *d = arg;

	/* libdw opens that file by itself at the first such value. */
	if (d->no_alt && is_alt(a))
		return DWARF_CB_OK;
	switch (a->code) {
	case DW_AT_abstract_origin: d->origin = *a; break;
	case DW_AT_specification: d->spec = *a; break;
	case DW_AT_name: d->name = *a; break;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name: d->linkage = *a; break;
	default: break;
	}
	return DWARF_CB_OK;
}

struct name_key {
	const struct die_sections *s;
	u64 die;
};

static bool name_eq(const void *ctx, u32 id, const void *key)
{
	const struct dwarf_index *ix = ctx;
	const struct name_key *k = key;

	return ix->names.v[id].die == k->die && ix->names.v[id].s == k->s;
}

/* Over at most MAX_CHAIN links.  False when only libdw can follow them. */
static bool own_names(const struct die_unit *u, u64 offset, const char **name, const char **linkage)
{
	const char *str;
	struct die_walk w;
	struct die d;
	int i;

	for (i = 0; i < MAX_CHAIN; i++) {
		if (offset < u->die || offset >= u->end)
			return false;
		die_walk_init(&w, u, offset);
		if (!die_walk_next(&w, &d))
			return false;
		die_walk_attrs(&w, &d);
		if (w.bad)
			return false;
		if (die_has(&d, DIE_LINKAGE)) {
			str = die_string(u, &d, DIE_LINKAGE);
			if (!str)
				return false;
			*linkage = *str ? str : NULL;
			if (*linkage)
				return true;
		}
		if (!*name && die_has(&d, DIE_NAME)) {
			str = die_string(u, &d, DIE_NAME);
			if (!str)
				return false;
			*name = *str ? str : NULL;
		}
		if (!die_has(&d, DIE_ORIGIN) && !die_has(&d, DIE_SPEC))
			return true;
		if (!die_reference(u, &d, die_has(&d, DIE_ORIGIN) ? DIE_ORIGIN : DIE_SPEC, &offset))
			return false;
	}
	return true;
}

static void libdw_names(const struct dwarf_index *ix, Dwarf *dw, u64 offset, const char **name,
			const char **linkage)
{
	const char *str;
	Dwarf_Die die;
	int i;

	*name = *linkage = NULL;
	if (!dw || !dwarf_offdie(dw, offset, &die))
		return;
	for (i = 0; i < MAX_CHAIN; i++) {
		struct naming d;
		Dwarf_Attribute *link;

		memset(&d, 0, sizeof(d));
		d.no_alt = ix->opts.no_alt;
		dwarf_getattrs(&die, collect_naming, &d, 0);
		if (d.linkage.valp && (str = dwarf_formstring(&d.linkage)) && *str) {
			*linkage = str;
			break;
		}
		if (!*name && d.name.valp && (str = dwarf_formstring(&d.name)) && *str)
			*name = str;
		link = d.origin.valp ? &d.origin : &d.spec;
		if (!link->valp || !dwarf_formref_die(link, &die))
			break;
	}
}

/*
 * Index in names of the name that the entry at an offset of a unit's body leads to: the linker's
 * when any of the entries on the way has it.
 */
static u32 name_of(struct dwarf_index *ix, const struct unit *u, u64 offset)
{
	struct name_key key = { u->body->s, offset };
	u64 hash = hash_u64(offset ^ (u64)(uintptr_t)key.s);
	struct name found = { key.s, offset, 0, 0, false };
	const char *name = NULL, *linkage = NULL;
	u32 id = index_find(&ix->name_index, hash, name_eq, ix, &key);

	if (id != INDEX_NONE)
		return id;
	if (!own_names(u->body, offset, &name, &linkage))
		libdw_names(ix, u->dw ? u->dw : libdw(ix), offset, &name, &linkage);
	found.linkage = linkage != NULL;
	if (linkage || name) {
		found.raw = strtab_adds(ix->opts.strings, linkage ? linkage : name);
		found.shown = linkage ? demangle(ix->opts.strings, found.raw, ix->opts.raw_names)
				      : found.raw;
	}
	id = (u32)ix->names.n;
	vec_push(&ix->names, found);
	index_add(&ix->name_index, hash, id);
	return id;
}

/* ---- units ---- */

static bool abbrevs_eq(const void *ctx, u32 id, const void *key)
{
	const struct dwarf_index *ix = ctx;

	return die_abbrevs_fit(ix->abbrevs.v[id], key);
}

/* Table of abbreviations of a unit of the main file; units may share one. */
static const struct die_abbrevs *abbrevs_of(struct dwarf_index *ix, const struct die_unit *u)
{
	u64 hash = hash_u64(u->abbrev_offset), steps = 0;
	struct die_abbrevs *a;
	u32 id = INDEX_NONE;

	if (u->s == &ix->s)
		id = index_find(&ix->abbrev_index, hash, abbrevs_eq, ix, u);
	if (id != INDEX_NONE)
		return ix->abbrevs.v[id];
	a = xcalloc(1, sizeof(*a));
	die_abbrevs_read(a, u, 0, &steps);
	spend(ix, 4 * steps);
	id = (u32)ix->abbrevs.n;
	vec_push(&ix->abbrevs, a);
	if (u->s == &ix->s)
		index_add(&ix->abbrev_index, hash, id);
	return a;
}

/* A section that libdw has not unpacked. */
static bool packed_section(struct dwarf_index *ix, Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh,
			   struct die_section *to)
{
	size_t size, header = gelf_fsize(elf, ELF_T_CHDR, 1, EV_CURRENT);
	const u8 *file = (const u8 *)elf_rawfile(elf, &size);
	struct packed *k;
	GElf_Chdr ch;

	if (!file || sh->sh_offset > size || size - sh->sh_offset < sh->sh_size ||
	    sh->sh_size < header || !gelf_getchdr(scn, &ch) || ch.ch_type != ELFCOMPRESS_ZLIB)
		return false;
	k = packed_new(file + sh->sh_offset + header, (size_t)sh->sh_size - header, ch.ch_size);
	if (!k)
		return false;
	vec_push(&ix->packed, k);
	*to = (struct die_section){ k->p, k->n, k };
	return true;
}

/* With `l`, of the main file. */
static void find_sections(struct dwarf_index *ix, Elf *elf, const char *suffix,
			  struct die_sections *s, struct line_sections *l, u64 *bytes)
{
	const struct {
		const char *name;
		struct die_section *to;
	} wanted[] = {
		{ "info", &s->info },
		{ "abbrev", &s->abbrev },
		{ "ranges", &s->ranges },
		{ "rnglists", &s->rnglists },
		{ "addr", &s->addr },
		{ "line", l ? &l->line : NULL },
		{ "aranges", l ? &ix->aranges : NULL },
		{ "line_str", l ? &s->line_str : NULL },
		{ "str", l ? &s->str : NULL },
	};
	enum { STRINGS = 7 }; /* from here on */
	Elf_Scn *scn = NULL;
	size_t names, i;
	GElf_Ehdr eh;

	if (!gelf_getehdr(elf, &eh) || elf_getshdrstrndx(elf, &names))
		return;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	s->swap = eh.e_ident[EI_DATA] == ELFDATA2MSB;
#else
	s->swap = eh.e_ident[EI_DATA] == ELFDATA2LSB;
#endif
	if (l)
		l->swap = s->swap;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;
		const char *name;
		Elf_Data *data;
		size_t n;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS ||
		    !(name = elf_strptr(elf, names, sh.sh_name)))
			continue;
		if (!strncmp(name, ".debug_", 7))
			name += 7;
		else if (!strncmp(name, ".zdebug_", 8))
			name += 8;
		else
			continue;
		for (i = 0; i < ARRAY_SIZE(wanted); i++) {
			n = strlen(wanted[i].name);
			if (wanted[i].to && !wanted[i].to->p && !strncmp(name, wanted[i].name, n) &&
			    !strcmp(name + n, suffix))
				break;
		}
		if (i == ARRAY_SIZE(wanted))
			continue;
		if ((sh.sh_flags & SHF_COMPRESSED) && l && !ix->dw) {
			if (packed_section(ix, elf, scn, &sh, wanted[i].to))
				*bytes += wanted[i].to->n;
			else
				ix->bad_packed = true;
			continue;
		}
		/* libdw has unpacked those that it knows. */
		if ((sh.sh_flags & SHF_COMPRESSED) && elf_compress(scn, 0, 0) < 0)
			continue;
		data = elf_rawdata(scn, NULL);
		if (!data || !data->d_buf)
			continue;
		wanted[i].to->p = data->d_buf;
		wanted[i].to->n = data->d_size;
		/* A string that no NUL ends is none. */
		if (i >= STRINGS)
			while (wanted[i].to->n && wanted[i].to->p[wanted[i].to->n - 1])
				wanted[i].to->n--;
		*bytes += data->d_size;
	}
	if (l) {
		l->str = s->str;
		l->line_str = s->line_str;
	}
}

/*
 * Whether libdw may open a file that DWARF names: relative to the folder of compilation or to that
 * of the file.  It opens whatever is there, and a FIFO would stop us.
 */
static bool may_open(const struct dwarf_index *ix, const char *comp_dir, const char *name)
{
	const char *slash = strrchr(ix->path, '/');
	struct stat st;
	bool harmless = true;
	int i;

	for (i = 0; i < 2 && harmless; i++) {
		int n = i          ? (slash ? (int)(slash - ix->path) + 1 : 0)
			: comp_dir ? (int)MIN(strlen(comp_dir), 4096)
				   : 0;
		char *path = *name == '/' ? xstrdup(name)
					  : xasprintf("%.*s/%s", n,
						      i          ? ix->path
						      : comp_dir ? comp_dir
								 : "",
						      name);

		if (!i || n)
			harmless = stat(path, &st) || S_ISREG(st.st_mode);
		free(path);
	}
	return harmless;
}

static void find_split(struct dwarf_index *ix, struct unit *u)
{
	Dwarf_Die own, skeleton, split;
	struct split *sp;
	const char *name = NULL, *comp_dir = NULL;
	u64 offset = 0, bytes = 0;
	Dwarf_Attribute a;
	Dwarf *dw;
	int r;

	memset(&split, 0, sizeof(split));
	if (!libdw(ix) || ix->opts.no_alt || !dwarf_offdie(ix->dw, u->head.die, &own))
		return;
	if (dwarf_attr(&own, DW_AT_dwo_name, &a) || dwarf_attr(&own, DW_AT_GNU_dwo_name, &a))
		name = dwarf_formstring(&a);
	if (dwarf_attr(&own, DW_AT_comp_dir, &a))
		comp_dir = dwarf_formstring(&a);
	if (!name || !may_open(ix, comp_dir, name) ||
	    dwarf_cu_info(own.cu, NULL, NULL, &skeleton, &split, NULL, NULL, NULL) || !split.addr) {
		diag_addf(ix->opts.diag, DIAG_SYMBOL_FILE, 1,
			  "'%s': '%s' not found: inlined functions are missing", ix->path,
			  name ? name : ".dwo");
		return;
	}
	dw = dwarf_cu_getdwarf(split.cu);
	sp = xcalloc(1, sizeof(*sp));
	find_sections(ix, dwarf_getelf(dw), ".dwo", &sp->s, NULL, &bytes);
	sp->s.addr = ix->s.addr;
	sp->s.ranges = ix->s.ranges;
	while ((r = die_unit_read(&sp->s, &offset, &sp->unit)))
		if (r > 0 && sp->unit.die == dwarf_dieoffset(&split))
			break;
	if (r <= 0) {
		free(sp);
		return;
	}
	sp->unit.addr_base = u->head.addr_base;
	sp->unit.ranges_base = u->head.ranges_base;
	sp->unit.low_pc = u->head.low_pc;
	sp->unit.abbrevs = abbrevs_of(ix, &sp->unit);
	ix->budget += 4 * bytes;
	vec_push(&ix->splits, sp);
	u->body = &sp->unit;
	u->dw = dw;
}

static void unit_body(struct dwarf_index *ix, struct unit *u)
{
	if (u->body)
		return;
	u->head.abbrevs = abbrevs_of(ix, &u->head);
	if (u->skeleton)
		find_split(ix, u);
	if (!u->body)
		u->body = &u->head;
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
	case DW_TAG_enumeration_type: /* of Rust */ return true;
	default: return false;
	}
}

static bool holds_inlined(int tag)
{
	switch (tag) {
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
	case DW_TAG_inlined_subroutine: return true;
	default: return false;
	}
}

/*
 * Gathers the functions of a unit.  Functions are looked into for others only when `all`, for that
 * is most of what a unit holds.
 */
static void collect_functions(struct dwarf_index *ix, struct unit *u, bool all)
{
	const struct die_unit *body = u->body;
	struct die_walk w;
	struct die d;

	if (!ix->budget)
		return;
	die_walk_init(&w, body, body->die);
	if (!die_walk_next(&w, &d))
		return;
	die_walk_skip(&w, &d);
	while (die_walk_next(&w, &d) && w.depth) {
		bool into = holds_functions(d.tag) || (all && holds_inlined(d.tag));

		if (d.tag == DW_TAG_subprogram) {
			size_t before = u->ranges.r.n;

			die_walk_attrs(&w, &d);
			if (!die_has(&d, DIE_DECLARATION) && !w.bad)
				add_ranges(ix, body, &d, (u32)u->functions.n, &u->ranges);
			if (u->ranges.r.n != before)
				vec_push(&u->functions, (struct function){ .die = d.offset });
			if (!all)
				die_walk_over(&w, &d);
		} else if (into) {
			die_walk_skip(&w, &d);
		} else {
			die_walk_pass(&w, &d);
		}
	}
	spend(ix, w.steps);
	ranges_flatten(&u->ranges);
}

static void index_functions(struct dwarf_index *ix, struct unit *u)
{
	if (u->indexed)
		return;
	u->indexed = true;
	unit_body(ix, u);
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

static const char *comp_dir_of(struct dwarf_index *ix, const struct unit *u)
{
	struct die_walk w;
	struct die d;
	const char *str = NULL;
	Dwarf_Attribute a;
	Dwarf_Die die;

	die_walk_init(&w, &u->head, u->head.die);
	if (u->head.abbrevs && die_walk_next(&w, &d)) {
		die_walk_attrs(&w, &d);
		if (!w.bad && !die_has(&d, DIE_COMP_DIR))
			return NULL;
		str = w.bad ? NULL : die_string(&u->head, &d, DIE_COMP_DIR);
	}
	if (!str && libdw(ix) && dwarf_offdie(ix->dw, u->head.die, &die) &&
	    dwarf_attr(&die, DW_AT_comp_dir, &a))
		str = dwarf_formstring(&a);
	return str;
}

static void index_lines(struct dwarf_index *ix, struct unit *u)
{
	const char *comp_dir = NULL;

	if (u->has_lines)
		return;
	u->has_lines = true;
	if (u->stmt_list == UINT64_MAX || !ix->budget || ix->opts.no_lines)
		return;
	comp_dir = comp_dir_of(ix, u);
	u->lines = xmalloc(sizeof(*u->lines));
	line_table_init(u->lines, &ix->lines, u->stmt_list, u->head.address_size, comp_dir,
			ix->code->r.n ? ix->code : NULL);
	/* Units may share a table. */
	spend(ix, u->lines->bytes);
}

static int span_cmp(const void *pa, const void *pb)
{
	const struct range *a = pa, *b = pb;

	if (a->lo != b->lo)
		return a->lo < b->lo ? -1 : 1;
	if (a->hi != b->hi)
		return a->hi > b->hi ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

static bool mangles(u64 language)
{
	switch (language) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case 0x2b: /* C++ 17 and 20 have no name in DWARF 5's first edition */
	case 0x2c:
	case DW_LANG_D:
	case DW_LANG_Rust: return true;
	default: return false;
	}
}

/*
 * Reads the own entry of a unit whose header was read; its ranges are appended to `spans` with `id`
 * when that is not NULL.  False when it holds no code of its own.
 */
static bool unit_read(struct dwarf_index *ix, struct unit *u, struct die_abbrevs *first, u32 id,
		      struct ranges *spans, bool *says_where)
{
	struct die_unit *head = &u->head;
	struct die_walk w;
	struct die d;
	u64 steps = 1;

	if (head->type != DW_UT_compile && head->type != DW_UT_skeleton)
		return false;
	/* Only the entry of the unit itself: the rest of the table is for units that are touched.
	 */
	die_abbrevs_read(first, head, die_first_code(head), &steps);
	spend(ix, steps);
	head->abbrevs = first;
	die_walk_init(&w, head, head->die);
	if (!die_walk_next(&w, &d) ||
	    (d.tag != DW_TAG_compile_unit && d.tag != DW_TAG_skeleton_unit)) {
		head->abbrevs = NULL;
		return false;
	}
	die_walk_attrs(&w, &d);
	die_unit_bases(head, &d);
	u->skeleton = head->type == DW_UT_skeleton || die_has(&d, DIE_DWO_NAME);
	if (die_has(&d, DIE_STMT_LIST))
		u->stmt_list = die_number(head, &d, DIE_STMT_LIST);
	u->language = die_number(head, &d, DIE_LANGUAGE);
	if (spans) {
		size_t before = spans->r.n;

		add_ranges(ix, head, &d, id, spans);
		*says_where = spans->r.n != before || die_has(&d, DIE_RANGES) ||
			      die_has(&d, DIE_HIGH);
	}
	head->ranges_base = die_number(head, &d,
				       DIE_GNU_RANGES_BASE); /* for the split unit alone */
	head->abbrevs = NULL;
	u->known = true;
	return true;
}

static struct unit *unit_new(void)
{
	struct unit *u = xcalloc(1, sizeof(*u));

	u->stmt_list = UINT64_MAX;
	return u;
}

static void unit_free(struct unit *u)
{
	vec_release(&u->functions);
	vec_release(&u->ranges.r);
	vec_release(&u->scopes);
	vec_release(&u->segs);
	if (u->lines)
		line_table_release(u->lines);
	free(u->lines);
	free(u);
}

static void take_spans(struct dwarf_index *ix, struct ranges *spans)
{
	u64 end = 0;
	size_t i;

	if (spans->r.n)
		qsort(spans->r.v, spans->r.n, sizeof(*spans->r.v), span_cmp);
	ix->spans.v = spans->r.v;
	ix->spans.n = spans->r.n;
	ix->spans.cap = spans->r.cap;
	ix->span_ends.n = 0;
	vec_reserve(&ix->span_ends, ix->spans.n);
	for (i = 0; i < ix->spans.n; i++) {
		end = MAX(end, ix->spans.v[i].hi);
		vec_push(&ix->span_ends, end);
	}
}

static void index_units(struct dwarf_index *ix)
{
	struct ranges spans = { { NULL, 0, 0 } };
	struct die_abbrevs first;
	struct unit *u = NULL;
	u64 offset = 0;
	size_t i;
	int r;

	memset(&first, 0, sizeof(first));
	for (;;) {
		u32 id = (u32)ix->units.n;
		bool says_where;

		if (!u)
			u = unit_new();
		r = die_unit_read(&ix->s, &offset, &u->head);
		if (!r || !ix->budget)
			break;
		if (r < 0 || !unit_read(ix, u, &first, id, &spans, &says_where))
			continue;
		vec_push(&ix->units, u);
		if (!says_where) {
			/* A unit that does not say where its code is: its functions do, or it has
			 * none. */
			index_functions(ix, u);
			for (i = 0; i < u->ranges.r.n; i++)
				vec_push(&spans.r, ((struct range){ u->ranges.r.v[i].lo,
								    u->ranges.r.v[i].hi, id }));
		}
		u = NULL;
	}
	unit_free(u);
	die_abbrevs_release(&first);
	take_spans(ix, &spans);
}

/*
 * The units that .debug_aranges tells of (section 6.1.2 of the standards).  Where .debug_info is
 * packed this tells how far it must be unpacked.  Others are found by index_units() when an address
 * is in none of these.
 */
static void index_aranges(struct dwarf_index *ix)
{
	struct ranges spans = { { NULL, 0, 0 } };
	const struct ranges *code = ix->code;
	struct cursor all;

	die_section_need(&ix->aranges, ix->aranges.n);
	cursor_init(&all, ix->aranges.p, ix->aranges.n, ix->s.swap);
	while (cursor_left(&all) && ix->budget) {
		const u8 *start = all.p;
		u64 len = cursor_u32(&all), offset, lo, hi;
		bool dwarf64 = len == UINT32_MAX;
		struct cursor c;
		u32 id = (u32)ix->units.n;
		size_t pad;
		u8 width;

		if (dwarf64)
			len = cursor_u64(&all);
		if (all.bad || len > cursor_left(&all))
			break;
		cursor_init(&c, all.p, (size_t)len, ix->s.swap);
		cursor_skip(&all, len);
		if (cursor_u16(&c) != 2)
			continue;
		offset = dwarf64 ? cursor_u64(&c) : cursor_u32(&c);
		width = cursor_u8(&c);
		if (cursor_u8(&c) || (width != 4 && width != 8))
			continue;
		/* Pairs begin at a multiple of their size from the set's start. */
		pad = (size_t)(c.p - start) % (2u * width);
		cursor_skip(&c, pad ? 2u * width - pad : 0);
		while (cursor_left(&c) >= 2u * width && spend(ix, 1)) {
			lo = width == 8 ? cursor_u64(&c) : cursor_u32(&c);
			hi = width == 8 ? cursor_u64(&c) : cursor_u32(&c);
			if (!lo && !hi)
				break;
			hi += lo;
			if (hi > lo &&
			    (code->r.n ? ranges_find(code->r.v, code->r.n, lo) != NULL : lo != 0))
				vec_push(&spans.r, ((struct range){ lo, hi, id }));
		}
		if (spans.r.n && spans.r.v[spans.r.n - 1].id == id) {
			struct unit *u = unit_new();

			u->head.offset = offset;
			vec_push(&ix->units, u);
		}
	}
	take_spans(ix, &spans);
}

/* Reads a unit that .debug_aranges named. */
static bool unit_known(struct dwarf_index *ix, struct unit *u)
{
	struct die_abbrevs first;
	u64 offset = u->head.offset;

	if (!u->known && !u->tried && ix->budget) {
		u->tried = true;
		memset(&first, 0, sizeof(first));
		if (die_unit_read(&ix->s, &offset, &u->head) > 0)
			unit_read(ix, u, &first, 0, NULL, NULL);
		die_abbrevs_release(&first);
	}
	return u->known;
}

static void forget_units(struct dwarf_index *ix)
{
	size_t i;

	for (i = 0; i < ix->units.n; i++)
		unit_free(ix->units.v[i]);
	ix->units.n = 0;
	vec_release(&ix->spans);
}

/* ---- functions ---- */

static u32 clamp_u32(u64 v)
{
	return v <= UINT32_MAX ? (u32)v : 0;
}

static void flatten(struct dwarf_index *ix, struct unit *u, struct function *f)
{
	struct ranges segs = { { NULL, 0, 0 } };
	struct die_walk w;
	struct die d;
	size_t i;

	f->flattened = true;
	f->scope = (u32)u->scopes.n;
	vec_push(&u->scopes, ((struct scope){ f->die, INDEX_NONE, NO_SCOPE, 0, 0 }));
	die_walk_init(&w, u->body, f->die);
	if (ix->budget && die_walk_next(&w, &d)) {
		die_walk_skip(&w, &d);
		ix->parents.n = 0;
		vec_push(&ix->parents, f->scope);
		vec_push(&ix->parents, f->scope);
		while (die_walk_next(&w, &d) && w.depth) {
			u32 depth = w.depth, own = ix->parents.v[depth];

			if (d.tag == DW_TAG_inlined_subroutine) {
				size_t before = segs.r.n;
				u64 origin;

				die_walk_attrs(&w, &d);
				if (w.bad)
					break;
				add_ranges(ix, u->body, &d, (u32)u->scopes.n, &segs);
				if (segs.r.n != before) {
					if (!die_reference(u->body, &d, DIE_ORIGIN, &origin))
						origin = d.offset;
					own = (u32)u->scopes.n;
					vec_push(&u->scopes,
						 ((struct scope){
							 origin, INDEX_NONE, ix->parents.v[depth],
							 clamp_u32(die_number(u->body, &d,
									      DIE_CALL_FILE)),
							 clamp_u32(die_number(u->body, &d,
									      DIE_CALL_LINE)) }));
				}
			} else if (holds_inlined(d.tag)) {
				die_walk_skip(&w, &d);
			} else {
				die_walk_pass(&w, &d);
				continue;
			}
			if (!d.children)
				continue;
			if (depth >= MAX_DEPTH) {
				die_walk_over(&w, &d);
				continue;
			}
			/* Depth grows by one at a time, so this is the entry behind the last, or
			 * one in use before. */
			if (ix->parents.n == depth + 1)
				vec_push(&ix->parents, own);
			else
				ix->parents.v[depth + 1] = own;
		}
		spend(ix, w.steps);
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
		bool last = s->parent == NO_SCOPE;
		const struct name *name;

		if (s->name == INDEX_NONE)
			s->name = name_of(ix, u, s->die);
		name = &ix->names.v[s->name];
		/* An inlined function without a name says nothing that its caller does not say. */
		if (last || (name->shown && n < MAX_FRAMES && !ix->opts.no_inline)) {
			vec_push(&out->frames,
				 ((struct frame){ .function = name->shown,
						  .file = file,
						  .line = line,
						  .flags = last ? 0 : FRAME_INLINED }));
			n++;
		}
		if (last) {
			hit->name = name->raw;
			hit->short_name = mangles(u->language) && !name->linkage;
			break;
		}
		file = u->lines ? line_table_file(u->lines, s->call_file, ix->opts.strings) : 0;
		line = ix->opts.no_lines ? 0 : s->call_line;
		scope = s->parent;
	}
}

static void lookup(struct dwarf_index *ix, u64 addr, bool deep, struct symframes *out,
		   struct dwarf_hit *hit)
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
		u = ix->units.v[span->id];
		if (!unit_known(ix, u))
			continue;
		index_functions(ix, u);
		if (deep)
			index_deep(ix, u);
		r = ranges_find(u->ranges.r.v, u->ranges.r.n, addr);
		if (r || !hit->unit) {
			const struct line_row *row;

			index_lines(ix, u);
			row = u->lines ? line_table_find(u->lines, addr) : NULL;
			hit->file = row ? line_table_file(u->lines, row->file, ix->opts.strings)
					: 0;
			hit->line = row ? row->line : 0;
			hit->unit = true;
			hit->assembler = u->language == DW_LANG_Mips_Assembler;
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

void dwarf_index_lookup(struct dwarf_index *ix, u64 addr, bool deep, struct symframes *out,
			struct dwarf_hit *hit)
{
	size_t i;

	lookup(ix, addr, deep, out, hit);
	/* Units of assembler mostly have no functions, and overlap no others. */
	if (ix->some && !hit->function && !hit->assembler) {
		ix->some = false;
		forget_units(ix);
		index_units(ix);
		lookup(ix, addr, deep, out, hit);
	}
	for (i = 0; i < ix->packed.n; i++)
		ix->bad_packed |= ix->packed.v[i]->bad;
	if (UNLIKELY(ix->bad_packed)) {
		if (!ix->told)
			diag_addf(ix->opts.diag, DIAG_SYMBOL_FILE, 1,
				  "'%s': its debug information cannot be unpacked", ix->path);
		ix->told = true;
	}
}

/* ---- open and close ---- */

/*
 * Whether libdw is needed anyhow: it alone knows how to open other files, by indices into tables
 * and the packed sections of old (.zdebug_*).
 */
static bool needs_libdw(Elf *elf)
{
	static const char *const alone[] = { ".gnu_debugaltlink", ".debug_addr",
					     ".debug_str_offsets", ".zdebug_info" };
	Elf_Scn *scn = NULL;
	bool packed = false;
	size_t names, i;

	if (elf_getshdrstrndx(elf, &names))
		return true;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name;
		GElf_Shdr sh;

		if (!gelf_getshdr(scn, &sh) || !(name = elf_strptr(elf, names, sh.sh_name)))
			continue;
		for (i = 0; i < ARRAY_SIZE(alone); i++)
			if (!strcmp(name, alone[i]))
				return true;
		packed |= sh.sh_flags & SHF_COMPRESSED && !strcmp(name, ".debug_info");
	}
	return !packed;
}

struct dwarf_index *dwarf_index_new(Elf *elf, const char *path, const struct ranges *code,
				    const struct symfile_opts *opts, struct error *err)
{
	struct dwarf_index *ix = xcalloc(1, sizeof(*ix));
	u64 bytes = 0;

	ix->elf = elf;
	ix->path = path;
	ix->code = code;
	ix->opts = *opts;
	ix->alt_fd = -1;
	if (needs_libdw(elf) && !libdw(ix)) {
		error_set(err, "'%s': %s", path, dwarf_errmsg(-1));
		free(ix);
		return NULL;
	}
	index_init(&ix->name_index);
	index_init(&ix->abbrev_index);
	find_sections(ix, elf, "", &ix->s, &ix->lines, &bytes);
	ix->budget = 4 * bytes + 1000000;
	ix->some = ix->s.info.packed && ix->aranges.n;
	if (ix->some)
		index_aranges(ix);
	else
		index_units(ix);
	return ix;
}

void dwarf_index_free(struct dwarf_index *ix)
{
	size_t i;

	if (!ix)
		return;
	forget_units(ix);
	for (i = 0; i < ix->abbrevs.n; i++) {
		die_abbrevs_release(ix->abbrevs.v[i]);
		free(ix->abbrevs.v[i]);
	}
	for (i = 0; i < ix->splits.n; i++)
		free(ix->splits.v[i]);
	for (i = 0; i < ix->packed.n; i++)
		packed_free(ix->packed.v[i]);
	vec_release(&ix->packed);
	vec_release(&ix->splits);
	vec_release(&ix->abbrevs);
	index_release(&ix->abbrev_index);
	vec_release(&ix->units);
	vec_release(&ix->span_ends);
	vec_release(&ix->names);
	vec_release(&ix->parents);
	index_release(&ix->name_index);
	dwarf_end(ix->dw);
	if (ix->alt)
		dwarf_end(ix->alt);
	if (ix->alt_fd >= 0)
		close(ix->alt_fd);
	free(ix);
}
