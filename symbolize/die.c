/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dwarf.h>
#include <stdlib.h>

#include "symbolize/die.h"
#include "symbolize/leb.h"

#ifndef DW_AT_GNU_ranges_base
#define DW_AT_GNU_ranges_base 0x2132
#endif
#ifndef DW_AT_GNU_dwo_name
#define DW_AT_GNU_dwo_name 0x2130
#endif
#ifndef DW_AT_GNU_addr_base
#define DW_AT_GNU_addr_base 0x2133
#endif

#define MAX_ABBREVS (1u << 20)

/* ---- bytes ---- */

static u64 get(const u8 *p, size_t n, bool swap)
{
	u64 v64 = 0;
	u32 v32;
	u16 v16;

	switch (n) {
	case 1: return *p;
	case 2: memcpy(&v16, p, 2); return swap ? __builtin_bswap16(v16) : v16;
	case 4: memcpy(&v32, p, 4); return swap ? __builtin_bswap32(v32) : v32;
	case 8: memcpy(&v64, p, 8); return swap ? __builtin_bswap64(v64) : v64;
	default: return 0;
	}
}

/* Reads n bytes at an offset of a section; false when they are not all there. */
static bool section_get(const struct die_section *s, u64 off, size_t n, bool swap, u64 *v)
{
	if (off > s->n || s->n - off < n)
		return false;
	die_section_need(s, off + n);
	*v = get(s->p + off, n, swap);
	return true;
}

static bool long_uleb(const u8 **pp, const u8 *end, u64 *v)
{
	const u8 *p = *pp;
	unsigned int shift = 0;
	u64 r = 0;

	while (p < end) {
		u8 b = *p++;

		if (shift < 64)
			r |= (u64)(b & 0x7f) << shift;
		shift += 7;
		if (!(b & 0x80)) {
			*pp = p;
			*v = r;
			return true;
		}
	}
	return false;
}

static inline bool uleb(const u8 **pp, const u8 *end, u64 *v)
{
	/* One byte is by far the most frequent length. */
	if (LIKELY(*pp < end && !(**pp & 0x80))) {
		*v = *(*pp)++;
		return true;
	}
	return long_uleb(pp, end, v);
}

/* ---- forms ---- */

#define VARIES UINT32_MAX /* of sums of sizes; DIE_VARIES of one */

/* Size of a form that always has the same one, else VARIES. */
static u32 form_size(u16 form, const struct die_unit *u)
{
	u32 offset = u->dwarf64 ? 8 : 4;

	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const: return 0;
	case DW_FORM_data1:
	case DW_FORM_ref1:
	case DW_FORM_flag:
	case DW_FORM_strx1:
	case DW_FORM_addrx1: return 1;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2: return 2;
	case DW_FORM_strx3:
	case DW_FORM_addrx3: return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_ref_sup4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4: return 4;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8: return 8;
	case DW_FORM_data16: return 16;
	case DW_FORM_addr: return u->address_size;
	case DW_FORM_ref_addr: return u->version <= 2 ? u->address_size : offset;
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_sec_offset:
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt: return offset;
	default: return VARIES;
	}
}

/* Moves *pp behind a value of a form. */
static bool skip_form(const u8 **pp, const u8 *end, u16 form, const struct die_unit *u)
{
	const u8 *p = *pp;
	u64 n = 0;

	while (form == DW_FORM_indirect) {
		u64 f;

		if (!uleb(&p, end, &f) || f > UINT16_MAX)
			return false;
		form = (u16)f;
	}
	switch (form) {
	case DW_FORM_udata:
	case DW_FORM_sdata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		if (!uleb(&p, end, &n))
			return false;
		n = 0;
		break;
	case DW_FORM_string: {
		const u8 *nul = memchr(p, 0, (size_t)(end - p));

		if (!nul)
			return false;
		n = (u64)(nul - p) + 1;
		break;
	}
	case DW_FORM_exprloc:
	case DW_FORM_block:
		if (!uleb(&p, end, &n))
			return false;
		break;
	case DW_FORM_block1:
	case DW_FORM_block2:
	case DW_FORM_block4: {
		size_t width = form == DW_FORM_block1 ? 1 : form == DW_FORM_block2 ? 2 : 4;

		if ((size_t)(end - p) < width)
			return false;
		n = get(p, width, u->s->swap);
		p += width;
		break;
	}
	default:
		n = form_size(form, u);
		if (n == VARIES)
			return false;
	}
	if ((size_t)(end - p) < n)
		return false;
	*pp = p + n;
	return true;
}

/* ---- units ---- */

int die_unit_read(const struct die_sections *s, u64 *offset, struct die_unit *u)
{
	struct cursor c;
	u64 len;
	u8 address_size;

	if (*offset >= s->info.n)
		return 0;
	memset(u, 0, sizeof(*u));
	u->s = s;
	u->offset = *offset;
	u->addr = s->addr;
	u->ranges = s->ranges;
	die_section_need(&s->info, *offset + 12);
	cursor_init(&c, s->info.p + *offset, s->info.n - (size_t)*offset, s->swap);
	len = cursor_u32(&c);
	if (len == UINT32_MAX) {
		u->dwarf64 = true;
		len = cursor_u64(&c);
	}
	if (c.bad || len > cursor_left(&c)) {
		*offset = s->info.n;
		return -1;
	}
	c.end = c.p + len;
	die_section_need(&s->info, (u64)(c.end - s->info.p));
	u->end = (u64)(c.end - s->info.p);
	*offset = u->end;
	u->version = cursor_u16(&c);
	if (u->version < 2 || u->version > 5)
		return -1;
	u->type = DW_UT_compile;
	if (u->version >= 5) {
		u->type = cursor_u8(&c);
		u->address_size = cursor_u8(&c);
		u->abbrev_offset = u->dwarf64 ? cursor_u64(&c) : cursor_u32(&c);
		if (u->type == DW_UT_skeleton || u->type == DW_UT_split_compile)
			cursor_skip(&c, 8);
		else if (u->type == DW_UT_type || u->type == DW_UT_split_type)
			cursor_skip(&c, u->dwarf64 ? 16 : 12);
	} else {
		u->abbrev_offset = u->dwarf64 ? cursor_u64(&c) : cursor_u32(&c);
		u->address_size = cursor_u8(&c);
	}
	address_size = u->address_size;
	if (c.bad || (address_size != 4 && address_size != 8))
		return -1;
	u->die = (u64)(c.p - s->info.p);
	u->addr_base = u->dwarf64 ? 16 : 8;
	u->rnglists_base = u->dwarf64 ? 20 : 12;
	return 1;
}

static int abbrev_cmp(const void *pa, const void *pb)
{
	const struct die_abbrev *a = pa, *b = pb;

	return (a->code > b->code) - (a->code < b->code);
}

/* In the first `have` bytes of the section. */
static int read_abbrevs(struct die_abbrevs *a, const struct die_unit *u, u64 stop, u64 have,
			u64 *steps)
{
	const struct die_section *s = &u->s->abbrev;
	const u8 *p, *end;
	bool bad = false;
	size_t i;

	a->v.n = 0;
	a->attrs.n = 0;
	a->offset = u->abbrev_offset;
	if (!a->sizes[0] || a->version != u->version || a->address_size != u->address_size ||
	    a->dwarf64 != u->dwarf64) {
		a->version = u->version;
		a->address_size = u->address_size;
		a->dwarf64 = u->dwarf64;
		for (i = 0; i < ARRAY_SIZE(a->sizes); i++)
			a->sizes[i] = (u8)MIN(form_size((u16)i, u), DIE_VARIES);
	}
	if (u->abbrev_offset >= have)
		return -1;
	vec_reserve(&a->attrs, 1); /* also an entry without attributes has a place in the array */
	p = s->p + u->abbrev_offset;
	end = s->p + have;
	while (a->v.n < MAX_ABBREVS) {
		struct die_abbrev ab = { .attr = (u32)a->attrs.n, .sibling_at = VARIES };
		u64 tag = 0, size = 0;

		bad = !uleb(&p, end, &ab.code);
		if (bad || !ab.code)
			break;
		bad = !uleb(&p, end, &tag) || p == end;
		if (bad)
			break;
		ab.tag = tag <= UINT16_MAX ? (u16)tag : 0;
		ab.children = *p++;
		for (;;) {
			u64 name = 0, form = 0, n;
			s64 implicit = 0;

			bad = !uleb(&p, end, &name) || !uleb(&p, end, &form) || form > UINT16_MAX;
			if (bad || (!name && !form))
				break;
			if (form == DW_FORM_implicit_const) {
				struct cursor c;

				cursor_init(&c, p, (size_t)(end - p), false);
				implicit = leb_s(&c);
				p = c.p;
				bad = c.bad;
			}
			if (name == DW_AT_sibling) {
				ab.sibling_form = (u16)form;
				ab.sibling_at = (u32)size;
			}
			n = form < ARRAY_SIZE(a->sizes) ? a->sizes[form]
							: MIN(form_size((u16)form, u), DIE_VARIES);
			size = n == DIE_VARIES || size + n >= VARIES ? VARIES : size + n;
			vec_push(&a->attrs,
				 ((struct die_abbrev_attr){
					 name <= UINT16_MAX ? (u16)name : 0, (u16)form,
					 (int32_t)MAX(MIN(implicit, INT32_MAX), INT32_MIN) }));
		}
		if (bad)
			break;
		ab.attrs = (u32)(a->attrs.n - ab.attr);
		ab.size = (u32)size;
		vec_push(&a->v, ab);
		if (ab.code == stop)
			break;
	}
	*steps += a->attrs.n + a->v.n;
	a->dense = true;
	for (i = 0; i < a->v.n && a->dense; i++)
		a->dense = a->v.v[i].code == i + 1;
	if (!a->dense)
		qsort(a->v.v, a->v.n, sizeof(*a->v.v), abbrev_cmp);
	return bad ? -1 : 0;
}

int die_abbrevs_read(struct die_abbrevs *a, const struct die_unit *u, u64 stop, u64 *steps)
{
	const struct die_section *s = &u->s->abbrev;
	u64 step = s->packed ? 4096 : s->n, have;
	int r;

	/* Where the table ends is known when it has been read. */
	for (;; step *= 2) {
		have = u->abbrev_offset >= s->n || s->n - u->abbrev_offset <= step
			       ? s->n
			       : u->abbrev_offset + step;
		die_section_need(s, have);
		r = read_abbrevs(a, u, stop, have, steps);
		if (!r || have == s->n)
			return r;
	}
}

void die_abbrevs_release(struct die_abbrevs *a)
{
	vec_release(&a->v);
	vec_release(&a->attrs);
}

static inline const struct die_abbrev *find_abbrev(const struct die_abbrevs *a, u64 code)
{
	struct die_abbrev key = { .code = code };

	if (LIKELY(a->dense))
		return code && code <= a->v.n ? &a->v.v[code - 1] : NULL;
	return a->v.n ? bsearch(&key, a->v.v, a->v.n, sizeof(key), abbrev_cmp) : NULL;
}

void die_unit_bases(struct die_unit *u, const struct die *own)
{
	if (die_has(own, DIE_ADDR_BASE))
		u->addr_base = die_number(u, own, DIE_ADDR_BASE);
	if (die_has(own, DIE_RNGLISTS_BASE))
		u->rnglists_base = die_number(u, own, DIE_RNGLISTS_BASE);
	if (die_has(own, DIE_LOW))
		die_address(u, own, DIE_LOW, &u->low_pc);
}

/* ---- walking ---- */

void die_walk_init(struct die_walk *w, const struct die_unit *u, u64 offset)
{
	memset(w, 0, sizeof(*w));
	w->u = u;
	w->p = u->s->info.p + MIN(MAX(offset, u->die), u->end);
	w->end = u->s->info.p + u->end;
}

u64 die_first_code(const struct die_unit *u)
{
	const u8 *p = u->s->info.p + u->die;
	u64 code = 0;

	uleb(&p, u->s->info.p + u->end, &code);
	return code;
}

bool die_walk_next(struct die_walk *w, struct die *d)
{
	for (;;) {
		const u8 *at = w->p;
		u64 code;

		if (w->bad || w->p >= w->end)
			return false;
		w->steps++;
		if (!uleb(&w->p, w->end, &code))
			break;
		if (!code) {
			if (!w->depth)
				return false;
			w->depth--;
			continue;
		}
		w->abbrev = find_abbrev(w->u->abbrevs, code);
		if (!w->abbrev)
			break;
		d->offset = (u64)(at - w->u->s->info.p);
		d->tag = w->abbrev->tag;
		d->children = w->abbrev->children;
		d->have = 0;
		return true;
	}
	w->bad = true;
	return false;
}

static int attr_id(u16 name)
{
	switch (name) {
	case DW_AT_sibling: return DIE_SIBLING;
	case DW_AT_low_pc: return DIE_LOW;
	case DW_AT_high_pc: return DIE_HIGH;
	case DW_AT_ranges: return DIE_RANGES;
	case DW_AT_abstract_origin: return DIE_ORIGIN;
	case DW_AT_specification: return DIE_SPEC;
	case DW_AT_call_file: return DIE_CALL_FILE;
	case DW_AT_call_line: return DIE_CALL_LINE;
	case DW_AT_declaration: return DIE_DECLARATION;
	case DW_AT_stmt_list: return DIE_STMT_LIST;
	case DW_AT_addr_base:
	case DW_AT_GNU_addr_base: return DIE_ADDR_BASE;
	case DW_AT_rnglists_base: return DIE_RNGLISTS_BASE;
	case DW_AT_GNU_ranges_base: return DIE_GNU_RANGES_BASE;
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name: return DIE_DWO_NAME;
	case DW_AT_language: return DIE_LANGUAGE;
	case DW_AT_name: return DIE_NAME;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name: return DIE_LINKAGE;
	case DW_AT_comp_dir: return DIE_COMP_DIR;
	default: return -1;
	}
}

void die_walk_attrs(struct die_walk *w, struct die *d)
{
	const struct die_abbrev_attr *a = w->u->abbrevs->attrs.v + w->abbrev->attr,
				     *end = a + w->abbrev->attrs;

	for (; a < end; a++) {
		int id = attr_id(a->name);
		u16 form = a->form;

		while (form == DW_FORM_indirect && !w->bad) {
			u64 f = 0;

			if (!uleb(&w->p, w->end, &f) || f > UINT16_MAX)
				w->bad = true;
			form = (u16)f;
		}
		if (id >= 0) {
			d->attr[id] = (struct die_attr){ w->p, form, a->implicit };
			d->have |= 1u << id;
		}
		if (w->bad || !skip_form(&w->p, w->end, form, w->u)) {
			/* An attribute that is not all there must not be read. */
			if (id >= 0)
				d->have &= ~(1u << id);
			w->bad = true;
			return;
		}
	}
	if (d->children)
		w->depth++;
}

static bool skip_attrs(struct die_walk *w, const struct die_abbrev *ab)
{
	const struct die_abbrev_attr *a, *end;

	if (LIKELY(ab->size != VARIES)) {
		if ((size_t)(w->end - w->p) < ab->size)
			return false;
		w->p += ab->size;
		return true;
	}
	a = w->u->abbrevs->attrs.v + ab->attr;
	for (end = a + ab->attrs; a < end; a++) {
		size_t n = a->form < ARRAY_SIZE(w->u->abbrevs->sizes)
				   ? w->u->abbrevs->sizes[a->form]
				   : DIE_VARIES;

		if (n != DIE_VARIES && (size_t)(w->end - w->p) >= n)
			w->p += n;
		else if (!skip_form(&w->p, w->end, a->form, w->u))
			return false;
	}
	return true;
}

void die_walk_skip(struct die_walk *w, const struct die *d)
{
	if (!skip_attrs(w, w->abbrev))
		w->bad = true;
	else if (d->children)
		w->depth++;
}

/* From the attributes of an entry with children to its sibling, when it has that link and it leads
 * forwards. */
static bool jump(struct die_walk *w, const struct die_abbrev *ab)
{
	struct die d = { .have = 1u << DIE_SIBLING };
	const u8 *p = w->p, *value;
	u64 to;

	if (!ab->sibling_form)
		return false;
	if (ab->sibling_at != VARIES) {
		if ((size_t)(w->end - p) < ab->sibling_at)
			return false;
		p += ab->sibling_at;
	} else {
		const struct die_abbrev_attr *a = w->u->abbrevs->attrs.v + ab->attr;

		for (; a->name != DW_AT_sibling; a++)
			if (!skip_form(&p, w->end, a->form, w->u))
				return false;
	}
	value = p;
	if (!skip_form(&p, w->end, ab->sibling_form, w->u))
		return false;
	d.attr[DIE_SIBLING] = (struct die_attr){ value, ab->sibling_form, 0 };
	if (!die_reference(w->u, &d, DIE_SIBLING, &to) || to < (u64)(p - w->u->s->info.p) ||
	    to > w->u->end)
		return false;
	w->p = w->u->s->info.p + to;
	return true;
}

/* Goes over what `level` lists of children still hold. */
static void pass_children(struct die_walk *w, u64 level)
{
	while (level) {
		const struct die_abbrev *ab;
		u64 code;

		if (w->p >= w->end)
			return;
		w->steps++;
		if (!uleb(&w->p, w->end, &code)) {
			w->bad = true;
			return;
		}
		if (!code) {
			level--;
			continue;
		}
		ab = find_abbrev(w->u->abbrevs, code);
		if (ab && ab->children && jump(w, ab))
			continue;
		if (!ab || !skip_attrs(w, ab)) {
			w->bad = true;
			return;
		}
		level += ab->children;
	}
}

void die_walk_over(struct die_walk *w, const struct die *d)
{
	u64 to;

	if (!d->children || w->bad)
		return;
	w->depth--;
	if (die_has(d, DIE_SIBLING) && die_reference(w->u, d, DIE_SIBLING, &to) &&
	    to >= (u64)(w->p - w->u->s->info.p) && to <= w->u->end)
		w->p = w->u->s->info.p + to;
	else
		pass_children(w, 1);
}

void die_walk_pass(struct die_walk *w, const struct die *d)
{
	if (d->children && jump(w, w->abbrev))
		return;
	if (!skip_attrs(w, w->abbrev))
		w->bad = true;
	else if (d->children)
		pass_children(w, 1);
}

/* ---- values ---- */

u64 die_number(const struct die_unit *u, const struct die *d, enum die_attr_id id)
{
	const struct die_attr *a = &d->attr[id];
	const u8 *p = a->p, *end = u->s->info.p + u->end;
	struct cursor c;
	u64 v = 0;

	if (!die_has(d, id))
		return 0;
	switch (a->form) {
	case DW_FORM_data1:
	case DW_FORM_flag: return get(p, 1, false);
	case DW_FORM_data2: return get(p, 2, u->s->swap);
	case DW_FORM_data4: return get(p, 4, u->s->swap);
	case DW_FORM_data8: return get(p, 8, u->s->swap);
	case DW_FORM_sec_offset: return get(p, u->dwarf64 ? 8 : 4, u->s->swap);
	case DW_FORM_udata:
	case DW_FORM_rnglistx: uleb(&p, end, &v); return v;
	case DW_FORM_sdata: cursor_init(&c, p, (size_t)(end - p), false); return (u64)leb_s(&c);
	case DW_FORM_implicit_const: return (u64)(s64)a->implicit;
	case DW_FORM_flag_present: return 1;
	default: return 0;
	}
}

static bool indexed_address(const struct die_unit *u, u64 index, u64 *addr)
{
	if (index > u->addr.n)
		return false;
	return section_get(&u->addr, u->addr_base + index * u->address_size, u->address_size,
			   u->s->swap, addr);
}

bool die_address(const struct die_unit *u, const struct die *d, enum die_attr_id id, u64 *addr)
{
	const struct die_attr *a = &d->attr[id];
	const u8 *p = a->p;
	u64 index = 0;

	if (!die_has(d, id))
		return false;
	switch (a->form) {
	case DW_FORM_addr: *addr = get(p, u->address_size, u->s->swap); return true;
	case DW_FORM_addrx:
	case DW_FORM_GNU_addr_index: uleb(&p, u->s->info.p + u->end, &index); break;
	case DW_FORM_addrx1: index = get(p, 1, false); break;
	case DW_FORM_addrx2: index = get(p, 2, u->s->swap); break;
	case DW_FORM_addrx3:
		index = u->s->swap ? (u64)p[0] << 16 | (u64)p[1] << 8 | p[2]
				   : (u64)p[2] << 16 | (u64)p[1] << 8 | p[0];
		break;
	case DW_FORM_addrx4: index = get(p, 4, u->s->swap); break;
	default: return false;
	}
	return indexed_address(u, index, addr);
}

bool die_reference(const struct die_unit *u, const struct die *d, enum die_attr_id id, u64 *offset)
{
	const struct die_attr *a = &d->attr[id];
	const u8 *p = a->p;
	u64 v = 0;

	if (!die_has(d, id))
		return false;
	switch (a->form) {
	case DW_FORM_ref1: v = get(p, 1, false); break;
	case DW_FORM_ref2: v = get(p, 2, u->s->swap); break;
	case DW_FORM_ref4: v = get(p, 4, u->s->swap); break;
	case DW_FORM_ref8: v = get(p, 8, u->s->swap); break;
	case DW_FORM_ref_udata: uleb(&p, u->s->info.p + u->end, &v); break;
	case DW_FORM_ref_addr:
		*offset = get(p,
			      u->version <= 2 ? u->address_size
			      : u->dwarf64    ? 8
					      : 4,
			      u->s->swap);
		return true;
	default: return false;
	}
	if (v > u->end - u->offset)
		return false;
	*offset = u->offset + v;
	return true;
}

const char *die_string(const struct die_unit *u, const struct die *d, enum die_attr_id id)
{
	const struct die_attr *a = &d->attr[id];
	size_t width = u->dwarf64 ? 8 : 4;

	if (!die_has(d, id))
		return NULL;
	switch (a->form) {
	case DW_FORM_string: return (const char *)a->p; /* with its NUL, or it had been skipped */
	case DW_FORM_strp: return die_section_string(&u->s->str, get(a->p, width, u->s->swap));
	case DW_FORM_line_strp:
		return die_section_string(&u->s->line_str, get(a->p, width, u->s->swap));
	default: return NULL;
	}
}

/* ---- ranges ---- */

static void push_range(struct ranges *out, u64 lo, u64 hi, u32 id)
{
	if (lo < hi)
		vec_push(&out->r, ((struct range){ lo, hi, id }));
}

/* DWARF 2-4, section 2.17.3: pairs of addresses from a base. */
static u64 ranges_v4(const struct die_unit *u, u64 off, u32 id, u64 max, struct ranges *out)
{
	u64 base = u->low_pc, lo, hi, n, top = u->address_size == 4 ? UINT32_MAX : UINT64_MAX;

	for (n = 0; n < max; n++) {
		if (off > UINT64_MAX / 2 ||
		    !section_get(&u->ranges, off, u->address_size, u->s->swap, &lo) ||
		    !section_get(&u->ranges, off + u->address_size, u->address_size, u->s->swap,
				 &hi))
			break;
		off += 2u * u->address_size;
		if (lo == top)
			base = hi;
		else if (!lo && !hi)
			break;
		else
			push_range(out, base + lo, base + hi, id);
	}
	return n + 1;
}

/* DWARF 5, section 7.25. */
static u64 ranges_v5(const struct die_unit *u, u64 off, u32 id, u64 max, struct ranges *out)
{
	const struct die_section *s = &u->s->rnglists;
	u64 base = u->low_pc, lo, hi, n;
	struct cursor c;

	if (off >= s->n)
		return 1;
	die_section_need(s, s->n);
	cursor_init(&c, s->p + off, s->n - (size_t)off, u->s->swap);
	for (n = 0; n < max && !c.bad; n++) {
		bool ok = true;

		lo = hi = 0;
		switch (cursor_u8(&c)) {
		case DW_RLE_end_of_list: return n + 1;
		case DW_RLE_base_addressx:
			if (!indexed_address(u, leb_u(&c), &base))
				base = 0;
			continue;
		case DW_RLE_startx_endx:
			ok = indexed_address(u, leb_u(&c), &lo);
			ok &= indexed_address(u, leb_u(&c), &hi);
			break;
		case DW_RLE_startx_length:
			ok = indexed_address(u, leb_u(&c), &lo);
			hi = lo + leb_u(&c);
			break;
		case DW_RLE_offset_pair:
			lo = base + leb_u(&c);
			hi = base + leb_u(&c);
			break;
		case DW_RLE_base_address:
			base = u->address_size == 8 ? cursor_u64(&c) : cursor_u32(&c);
			continue;
		case DW_RLE_start_end:
			lo = u->address_size == 8 ? cursor_u64(&c) : cursor_u32(&c);
			hi = u->address_size == 8 ? cursor_u64(&c) : cursor_u32(&c);
			break;
		case DW_RLE_start_length:
			lo = u->address_size == 8 ? cursor_u64(&c) : cursor_u32(&c);
			hi = lo + leb_u(&c);
			break;
		default: return n + 1;
		}
		if (ok && !c.bad)
			push_range(out, lo, hi, id);
	}
	return n + 1;
}

u64 die_ranges(const struct die_unit *u, const struct die *d, u32 id, u64 max, struct ranges *out)
{
	u64 lo, hi, off;

	if (die_has(d, DIE_RANGES)) {
		off = die_number(u, d, DIE_RANGES);
		if (u->version < 5)
			return ranges_v4(u, off + u->ranges_base, id, max, out);
		if (d->attr[DIE_RANGES].form == DW_FORM_rnglistx) {
			size_t width = u->dwarf64 ? 8 : 4;
			u64 rel;

			if (off > u->s->rnglists.n ||
			    !section_get(&u->s->rnglists, u->rnglists_base + off * width, width,
					 u->s->swap, &rel))
				return 1;
			off = u->rnglists_base + rel;
		}
		return ranges_v5(u, off, id, max, out);
	}
	if (!die_has(d, DIE_HIGH) || !die_address(u, d, DIE_LOW, &lo))
		return 1;
	if (!die_address(u, d, DIE_HIGH, &hi))
		hi = lo + die_number(u, d, DIE_HIGH);
	push_range(out, lo, hi, id);
	return 1;
}
