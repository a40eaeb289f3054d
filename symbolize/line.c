/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "symbolize/leb.h"
#include "symbolize/line.h"

/* Numbers of the standards that are used here; <dwarf.h> has them too, but this file needs no
 * libdw. */
enum {
	LNS_COPY = 1,
	LNS_ADVANCE_PC,
	LNS_ADVANCE_LINE,
	LNS_SET_FILE,
	LNS_SET_COLUMN,
	LNS_NEGATE_STMT,
	LNS_SET_BASIC_BLOCK,
	LNS_CONST_ADD_PC,
	LNS_FIXED_ADVANCE_PC,
	LNS_SET_PROLOGUE_END,
	LNS_SET_EPILOGUE_BEGIN,
	LNS_SET_ISA,
	LNE_END_SEQUENCE = 1,
	LNE_SET_ADDRESS,
	LNE_DEFINE_FILE,
	LNE_SET_DISCRIMINATOR,
	LNCT_PATH = 1,
	LNCT_DIRECTORY,
	FORM_BLOCK2 = 0x03,
	FORM_BLOCK4 = 0x04,
	FORM_DATA2 = 0x05,
	FORM_DATA4 = 0x06,
	FORM_DATA8 = 0x07,
	FORM_STRING = 0x08,
	FORM_BLOCK = 0x09,
	FORM_BLOCK1 = 0x0a,
	FORM_DATA1 = 0x0b,
	FORM_STRP = 0x0e,
	FORM_UDATA = 0x0f,
	FORM_DATA16 = 0x1e,
	FORM_LINE_STRP = 0x1f,
};

/* A table with more files, folders or rows than this is damaged. */
#define MAX_ENTRIES (1u << 24)
#define MAX_ROWS    (1u << 28)
/* A longer part of a path is cut. */
#define MAX_PATH 4096

struct header {
	u16 version;
	bool dwarf64;
	u8 address_size, min_insn, max_ops, line_range, opcode_base;
	int8_t line_base;
	u8 lengths[256];
};

static u64 offset_of_size(struct cursor *c, bool dwarf64)
{
	return dwarf64 ? cursor_u64(c) : cursor_u32(c);
}

/* A string inside the header; one that no NUL ends is none. */
static const char *inline_str(struct cursor *c)
{
	const u8 *start = c->p, *nul = c->bad ? NULL : memchr(c->p, 0, cursor_left(c));

	if (!nul) {
		c->bad = true;
		return "";
	}
	c->p = nul + 1;
	return (const char *)start;
}

/* Value of one column of a DWARF 5 entry: a string, a number or neither. */
static void entry_value(struct cursor *c, u64 form, const struct header *h,
			const struct line_sections *s, const char **str, u64 *num)
{
	switch (form) {
	case FORM_STRING: *str = inline_str(c); break;
	case FORM_LINE_STRP:
		*str = die_section_string(&s->line_str, offset_of_size(c, h->dwarf64));
		break;
	case FORM_STRP: *str = die_section_string(&s->str, offset_of_size(c, h->dwarf64)); break;
	case FORM_DATA1: *num = cursor_u8(c); break;
	case FORM_DATA2: *num = cursor_u16(c); break;
	case FORM_DATA4: *num = cursor_u32(c); break;
	case FORM_DATA8: *num = cursor_u64(c); break;
	case FORM_UDATA: *num = leb_u(c); break;
	case FORM_DATA16: cursor_skip(c, 16); break;
	case FORM_BLOCK: cursor_skip(c, leb_u(c)); break;
	case FORM_BLOCK1: cursor_skip(c, cursor_u8(c)); break;
	case FORM_BLOCK2: cursor_skip(c, cursor_u16(c)); break;
	case FORM_BLOCK4: cursor_skip(c, cursor_u32(c)); break;
	default: c->bad = true;
	}
}

/* The two self-describing lists of DWARF 5. */
static void entries_v5(struct line_table *t, struct cursor *c, const struct header *h,
		       const struct line_sections *s, bool files)
{
	u64 types[32], forms[32], count, i;
	u8 columns = cursor_u8(c), k;

	if (columns > ARRAY_SIZE(types)) {
		c->bad = true;
		return;
	}
	for (k = 0; k < columns; k++) {
		types[k] = leb_u(c);
		forms[k] = leb_u(c);
	}
	count = leb_u(c);
	if (count > MAX_ENTRIES || (count && !columns)) {
		c->bad = true;
		return;
	}
	for (i = 0; i < count && !c->bad; i++) {
		const char *name = NULL;
		u64 dir = 0;

		for (k = 0; k < columns; k++) {
			const char *str = NULL;
			u64 num = 0;

			entry_value(c, forms[k], h, s, &str, &num);
			if (types[k] == LNCT_PATH)
				name = str;
			else if (types[k] == LNCT_DIRECTORY)
				dir = num;
		}
		if (c->bad)
			return;
		if (files)
			vec_push(&t->files,
				 ((struct line_file){ name, (u32)MIN(dir, UINT32_MAX), 0 }));
		else
			vec_push(&t->dirs, name);
	}
}

static void define_file(struct line_table *t, struct cursor *c, const char *name)
{
	u64 dir = leb_u(c);

	leb_u(c); /* time */
	leb_u(c); /* size */
	if (t->files.n < MAX_ENTRIES)
		vec_push(&t->files, ((struct line_file){ name, (u32)MIN(dir, UINT32_MAX), 0 }));
}

static void entries_v2(struct line_table *t, struct cursor *c, const char *comp_dir)
{
	const char *s;

	vec_push(&t->dirs, comp_dir);
	while (s = inline_str(c), *s)
		vec_push(&t->dirs, s);
	while (s = inline_str(c), *s)
		define_file(t, c, s);
}

/* State machine registers that matter here. */
struct state {
	u64 addr, start;
	u32 op_index, file, line;
	u32 first_row;
	bool open, drop; /* in a sequence; one that is not kept */
};

static void state_reset(struct state *st)
{
	memset(st, 0, sizeof(*st));
	st->file = 1;
	st->line = 1;
}

static void advance(struct state *st, const struct header *h, u64 ops)
{
	if (h->max_ops <= 1) {
		st->addr += ops * h->min_insn;
	} else {
		u64 all = st->op_index + ops;

		st->addr += h->min_insn * (all / h->max_ops);
		st->op_index = (u32)(all % h->max_ops);
	}
}

static bool is_dropped(u64 addr, const struct ranges *code)
{
	return code ? !ranges_find(code->r.v, code->r.n, addr) : !addr;
}

static inline void emit_row(struct line_table *t, struct state *st, const struct ranges *code)
{
	struct line_row *last;

	if (!st->open) {
		st->open = true;
		st->start = st->addr;
		st->first_row = (u32)t->rows.n;
		st->drop = is_dropped(st->addr, code);
	}
	if (st->drop)
		return;
	/* Addresses only grow inside a sequence; what claims otherwise is damaged. */
	last = t->rows.n > st->first_row ? &t->rows.v[t->rows.n - 1] : NULL;
	if (st->addr < st->start || st->addr - st->start > UINT32_MAX ||
	    (last && st->addr - st->start < last->offset) || t->rows.n >= MAX_ROWS) {
		t->bad = true;
		return;
	}
	/* Of several rows at one address the last one holds. */
	if (last && last->offset == st->addr - st->start) {
		last->file = st->file;
		last->line = st->line;
		return;
	}
	/* A row that repeats the file and the line before it says nothing new. */
	if (last && last->file == st->file && last->line == st->line)
		return;
	vec_push(&t->rows, ((struct line_row){ (u32)(st->addr - st->start), st->file, st->line }));
}

static void end_sequence(struct line_table *t, struct state *st)
{
	if (st->open && !st->drop && t->rows.n > st->first_row) {
		u64 len = st->addr - st->start;

		if (st->addr > st->start && len <= UINT32_MAX)
			vec_push(&t->sequences,
				 ((struct line_sequence){ st->start, (u32)len, st->first_row,
							  (u32)t->rows.n - st->first_row }));
		else
			t->rows.n = st->first_row;
	}
	state_reset(st);
}

static void run(struct line_table *t, struct cursor *c, const struct header *h,
		const struct ranges *code)
{
	u64 const_add = (255 - h->opcode_base) / h->line_range;
	struct {
		u8 ops;
		int16_t lines;
	} special[256];
	struct state st;
	int i;

	for (i = h->opcode_base; i < 256; i++) {
		special[i].ops = (u8)((i - h->opcode_base) / h->line_range);
		special[i].lines = (int16_t)(h->line_base + (i - h->opcode_base) % h->line_range);
	}
	state_reset(&st);
	while (cursor_left(c) && !c->bad) {
		u8 op = *c->p++;

		if (op >= h->opcode_base) {
			advance(&st, h, special[op].ops);
			st.line += (u32)(int)special[op].lines;
			emit_row(t, &st, code);
			continue;
		}
		switch (op) {
		case 0: {
			u64 len = leb_u(c);
			const u8 *p = cursor_bytes(c, len);
			struct cursor x;

			if (!p || !len) {
				c->bad = true;
				break;
			}
			cursor_init(&x, p, (size_t)len, c->swap);
			switch (cursor_u8(&x)) {
			case LNE_END_SEQUENCE: end_sequence(t, &st); break;
			case LNE_SET_ADDRESS:
				st.addr = len == 9 ? cursor_u64(&x) : len == 5 ? cursor_u32(&x) : 0;
				st.op_index = 0;
				break;
			case LNE_DEFINE_FILE: {
				const char *name = inline_str(&x);

				if (!x.bad)
					define_file(t, &x, name);
				break;
			}
			default: break;
			}
			break;
		}
		case LNS_COPY: emit_row(t, &st, code); break;
		case LNS_ADVANCE_PC: advance(&st, h, leb_u(c)); break;
		case LNS_ADVANCE_LINE: st.line += (u32)leb_s(c); break;
		case LNS_SET_FILE: st.file = (u32)leb_u(c); break;
		case LNS_CONST_ADD_PC: advance(&st, h, const_add); break;
		case LNS_FIXED_ADVANCE_PC:
			st.addr += cursor_u16(c);
			st.op_index = 0;
			break;
		default: /* skipped by the number of its operands, the known ones too */
			for (u8 k = 0; k < h->lengths[op]; k++)
				leb_u(c);
		}
	}
	/* A program must end each sequence; rows of one that it did not end belong nowhere. */
	if (st.open)
		t->rows.n = MIN(t->rows.n, st.first_row);
	t->bad |= c->bad;
}

void line_table_init(struct line_table *t, const struct line_sections *s, u64 offset,
		     u8 address_size, const char *comp_dir, const struct ranges *code)
{
	struct cursor c;
	struct header h;
	u64 unit, hlen;
	const u8 *program;
	size_t i;

	memset(t, 0, sizeof(*t));
	memset(&h, 0, sizeof(h));
	t->first_file = 1;
	if (offset >= s->line.n) {
		t->bad = true;
		return;
	}
	die_section_need(&s->line, offset + 12);
	cursor_init(&c, s->line.p + offset, s->line.n - (size_t)offset, s->swap);
	unit = cursor_u32(&c);
	if (unit == UINT32_MAX) {
		h.dwarf64 = true;
		unit = cursor_u64(&c);
	}
	if (unit > cursor_left(&c)) {
		t->bad = true;
		unit = cursor_left(&c);
	}
	c.end = c.p + unit;
	die_section_need(&s->line, (u64)(c.end - s->line.p));
	t->bytes = unit;
	h.version = cursor_u16(&c);
	h.address_size = address_size;
	if (h.version >= 5) {
		h.address_size = cursor_u8(&c);
		cursor_u8(&c); /* segment selector size */
	}
	hlen = offset_of_size(&c, h.dwarf64);
	if (c.bad || h.version < 2 || h.version > 5 || hlen > cursor_left(&c)) {
		t->bad = true;
		return;
	}
	program = c.p + hlen;
	h.min_insn = cursor_u8(&c);
	h.max_ops = h.version >= 4 ? cursor_u8(&c) : 1;
	cursor_u8(&c); /* default_is_stmt */
	h.line_base = (int8_t)cursor_u8(&c);
	h.line_range = cursor_u8(&c);
	h.opcode_base = cursor_u8(&c);
	if (c.bad || !h.line_range || !h.opcode_base) {
		t->bad = true;
		return;
	}
	for (i = 1; i < h.opcode_base; i++)
		h.lengths[i] = cursor_u8(&c);
	if (h.version >= 5) {
		t->first_file = 0;
		entries_v5(t, &c, &h, s, false);
		if (!c.bad)
			entries_v5(t, &c, &h, s, true);
		if (t->dirs.n && !t->dirs.v[0])
			t->dirs.v[0] = comp_dir;
	} else {
		entries_v2(t, &c, comp_dir);
	}
	t->bad |= c.bad;

	c.bad = false;
	c.p = program;
	run(t, &c, &h, code);

	for (i = 0; i < t->sequences.n; i++) {
		const struct line_sequence *q = &t->sequences.v[i];

		vec_push(&t->ranges.r, ((struct range){ q->lo, q->lo + q->len, (u32)i }));
	}
	ranges_flatten(&t->ranges);
}

void line_table_release(struct line_table *t)
{
	vec_release(&t->rows);
	vec_release(&t->sequences);
	vec_release(&t->ranges.r);
	vec_release(&t->dirs);
	vec_release(&t->files);
}

const struct line_row *line_table_find(const struct line_table *t, u64 addr)
{
	const struct range *r = ranges_find(t->ranges.r.v, t->ranges.r.n, addr);
	const struct line_sequence *q;
	const struct line_row *rows;
	size_t lo = 0, hi;

	if (!r)
		return NULL;
	q = &t->sequences.v[r->id];
	rows = &t->rows.v[q->row];
	hi = q->rows;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (rows[mid].offset <= addr - q->lo)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? &rows[lo - 1] : NULL;
}

str_id line_table_file(struct line_table *t, u64 number, struct strtab *strings)
{
	const char *dir = NULL, *root = NULL;
	struct line_file *f;

	if (number < t->first_file || number - t->first_file >= t->files.n)
		return 0;
	f = &t->files.v[number - t->first_file];
	if (f->path || !f->name || !*f->name)
		return f->path;
	if (*f->name != '/') {
		if (f->dir < t->dirs.n)
			dir = t->dirs.v[f->dir];
		if (dir && !*dir)
			dir = NULL;
		if (f->dir && t->dirs.n && (!dir || *dir != '/'))
			root = t->dirs.v[0];
		if (root && !*root)
			root = NULL;
	}
	f->path = strtab_addf(strings, "%.*s%s%.*s%s%.*s", MAX_PATH, root ? root : "",
			      root ? "/" : "", MAX_PATH, dir ? dir : "", dir ? "/" : "", MAX_PATH,
			      f->name);
	return f->path;
}
