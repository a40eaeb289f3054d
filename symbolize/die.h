/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Entries of .debug_info (DIEs), read in one forward pass: DWARF 2-5 (sections 7.5 and 2.17 of the
 * standards), and GNU's split DWARF 4.
 *
 * libdw answers the same questions, but looks up the abbreviation and walks the attributes of an
 * entry anew for each of them; a walk over a unit costs several times of this.  Here every byte is
 * visited once, a walk only goes forwards, and nothing is recursive, so that damaged input ends it.
 * Strings in other forms than the usual ones and links into other files stay with libdw.
 */
#ifndef XENFLAME_DIE_H
#define XENFLAME_DIE_H

#include "symbolize/packed.h"
#include "symbolize/ranges.h"

struct die_section {
	const u8 *p;
	size_t n;
	struct packed *packed; /* NULL: all of it is there */
};

/* Must come before a look at the section's first `upto` bytes. */
static inline void die_section_need(const struct die_section *s, u64 upto)
{
	if (UNLIKELY(s->packed != NULL) && s->packed->have < upto)
		packed_need(s->packed, upto);
}
/* String of a section whose last byte is NUL, or NULL. */
static inline const char *die_section_string(const struct die_section *s, u64 off)
{
	if (off >= s->n)
		return NULL;
	if (UNLIKELY(s->packed != NULL))
		packed_need_string(s->packed, off);
	return (const char *)s->p + off;
}

/* Sections of one file; borrowed, may be empty. */
struct die_sections {
	struct die_section info, abbrev, ranges, rnglists, addr, str, line_str;
	bool swap; /* of the other byte order than this machine */
};

struct die_abbrev {
	u64 code;
	u16 tag;
	bool children;
	u16 sibling_form; /* 0: it has no link to its sibling */
	u32 attr, attrs;  /* part of die_abbrevs.attrs */
	u32 size;         /* of the attributes, UINT32_MAX when it varies */
	u32 sibling_at;   /* offset of that link in them, UINT32_MAX when it varies */
};

struct die_abbrev_attr {
	u16 name, form;
	int32_t implicit; /* DW_FORM_implicit_const, as far as it fits: lines and files do */
};

struct die_abbrevs {
	u64 offset;
	u16 version;
	u8 address_size;
	bool dwarf64, dense; /* dense: entry i has the code i + 1 */
	u8 sizes[64]; /* of forms below 64 in such units, DIE_VARIES: each value has its own */
#define DIE_VARIES 255
	VEC(struct die_abbrev) v; /* by code */
	VEC(struct die_abbrev_attr) attrs;
};

struct die_unit {
	const struct die_sections *s;
	u64 offset, die, end; /* in .debug_info: header, first entry, behind the last one */
	u64 abbrev_offset;
	u16 version;
	u8 type; /* DW_UT_*; DW_UT_compile before DWARF 5 */
	u8 address_size;
	bool dwarf64;
	const struct die_abbrevs *abbrevs;
	/* From the unit's own entry, or from the skeleton's: die_unit_bases(). */
	struct die_section addr,
		ranges; /* .debug_addr and .debug_ranges, for split units of the main file */
	u64 addr_base, rnglists_base, ranges_base, low_pc;
};

enum die_attr_id {
	DIE_SIBLING,
	DIE_LOW,
	DIE_HIGH,
	DIE_RANGES,
	DIE_ORIGIN,
	DIE_SPEC,
	DIE_CALL_FILE,
	DIE_CALL_LINE,
	DIE_DECLARATION,
	DIE_STMT_LIST,
	DIE_ADDR_BASE,
	DIE_RNGLISTS_BASE,
	DIE_GNU_RANGES_BASE,
	DIE_DWO_NAME,
	DIE_LANGUAGE,
	DIE_NAME,
	DIE_LINKAGE,
	DIE_COMP_DIR,
	DIE_ATTRS
};

struct die_attr {
	const u8 *p;
	u16 form;
	int32_t implicit;
};

struct die {
	u64 offset; /* in .debug_info */
	u16 tag;
	bool children;
	u32 have; /* bit i: attr[i] is there */
	struct die_attr attr[DIE_ATTRS];
};

struct die_walk {
	const struct die_unit *u;
	const u8 *p, *end;
	u32 depth;                       /* of the entry that comes next, 0 where the walk began */
	const struct die_abbrev *abbrev; /* of the entry whose attributes come next */
	u64 steps;                       /* entries read so far */
	bool bad;
};

/*
 * Reads the header of the unit at *offset and moves *offset behind it: 1, 0 at the end, -1 when
 * damaged (then *offset is behind it too, when that can be told).
 */
int die_unit_read(const struct die_sections *s, u64 *offset, struct die_unit *u);
/* Code of the abbreviation of the unit's own entry, 0 when it has none. */
u64 die_first_code(const struct die_unit *u);
/*
 * Decodes the table of abbreviations of a unit into *a, whatever it held before (zeroed at first),
 * as far as the code `stop`, or all of it when that is 0.  -1 when it is damaged: then the table
 * ends there.  *steps grows by the work.
 */
int die_abbrevs_read(struct die_abbrevs *a, const struct die_unit *u, u64 stop, u64 *steps);
void die_abbrevs_release(struct die_abbrevs *a);
/* Whether a decoded table is that of a unit: sizes in it depend on the unit's header. */
static inline bool die_abbrevs_fit(const struct die_abbrevs *a, const struct die_unit *u)
{
	return a->offset == u->abbrev_offset && a->version == u->version &&
	       a->address_size == u->address_size && a->dwarf64 == u->dwarf64;
}
/* Takes the bases from the unit's own entry. */
void die_unit_bases(struct die_unit *u, const struct die *own);

/* Begins at an entry of the unit: its offset in .debug_info. */
void die_walk_init(struct die_walk *w, const struct die_unit *u, u64 offset);
/*
 * Next entry: offset, tag and children.  False at the end of the list in which the walk began, or
 * of the unit.  Exactly one of die_walk_attrs(), die_walk_skip() and die_walk_pass() must
 * follow.
 */
bool die_walk_next(struct die_walk *w, struct die *d);
/* Reads the attributes of the entry; then its children come next. */
void die_walk_attrs(struct die_walk *w, struct die *d);
/* Goes over the attributes; then its children come next. */
void die_walk_skip(struct die_walk *w, const struct die *d);
/* Goes over the children of the entry whose attributes were read or skipped last. */
void die_walk_over(struct die_walk *w, const struct die *d);
/* Goes over the attributes and the children. */
void die_walk_pass(struct die_walk *w, const struct die *d);

static inline bool die_has(const struct die *d, enum die_attr_id id)
{
	return d->have >> id & 1;
}
/* Number of an attribute, 0 when it is none. */
u64 die_number(const struct die_unit *u, const struct die *d, enum die_attr_id id);
/* Address; false when it is none. */
bool die_address(const struct die_unit *u, const struct die *d, enum die_attr_id id, u64 *addr);
/* Offset in .debug_info that an attribute refers to; false when it leads elsewhere. */
bool die_reference(const struct die_unit *u, const struct die *d, enum die_attr_id id, u64 *offset);
/* String of an attribute, borrowed; NULL when it has a form that is not read here. */
const char *die_string(const struct die_unit *u, const struct die *d, enum die_attr_id id);
/* Appends the ranges of an entry with `id`, at most `max`; returns how many entries were read. */
u64 die_ranges(const struct die_unit *u, const struct die *d, u32 id, u64 max, struct ranges *out);

#endif
