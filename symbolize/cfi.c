/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>

#include "symbolize/cfi.h"

/* Rows that are kept of one file; when there are more, all are forgotten. */
#define MAX_ROWS (1u << 20)

struct cfi {
	Dwarf_CFI *cfi; /* NULL: there is none */
	VEC(struct cfi_row) rows;
	struct index index;
};

struct cfi *cfi_new(Elf *elf)
{
	struct cfi *c = xcalloc(1, sizeof(*c));

	c->cfi = dwarf_getcfi_elf(elf);
	index_init(&c->index);
	return c;
}

void cfi_free(struct cfi *c)
{
	if (!c)
		return;
	dwarf_cfi_end(c->cfi);
	vec_release(&c->rows);
	index_release(&c->index);
	free(c);
}

static bool fits(Dwarf_Sword v)
{
	return v >= INT32_MIN && v <= INT32_MAX;
}

static bool plain_cfa(Dwarf_Frame *frame, struct cfi_row *row)
{
	Dwarf_Op *ops;
	size_t n;
	Dwarf_Sword off;
	u64 reg;

	if (dwarf_frame_cfa(frame, &ops, &n) || n != 1)
		return false;
	if (ops->atom >= DW_OP_breg0 && ops->atom <= DW_OP_breg31) {
		reg = ops->atom - DW_OP_breg0;
		off = (Dwarf_Sword)ops->number;
	} else if (ops->atom == DW_OP_bregx) {
		reg = ops->number;
		off = (Dwarf_Sword)ops->number2;
	} else {
		return false;
	}
	if (reg >= CFI_RA || !fits(off))
		return false;
	row->cfa_reg = (u8)reg;
	row->cfa_off = (int32_t)off;
	return true;
}

static bool plain_register(Dwarf_Frame *frame, int reg, struct cfi_row *row)
{
	Dwarf_Op mem[3], *ops;
	struct cfi_saved *s;
	Dwarf_Sword off = 0;
	size_t n, i = 1;

	if (dwarf_frame_register(frame, reg, mem, &ops, &n))
		return false;
	if (!n) {
		row->same |= (u32)!ops << reg;
		return !ops || ops == mem;
	}
	if (ops[0].atom != DW_OP_call_frame_cfa)
		return false;
	s = &row->saved[row->nr_saved++];
	if (i < n && ops[i].atom == DW_OP_plus_uconst)
		off = (Dwarf_Sword)ops[i++].number;
	s->reg = (u8)reg;
	s->off = (int32_t)off;
	s->is_value = i < n && ops[i].atom == DW_OP_stack_value;
	i += s->is_value;
	return i == n && fits(off);
}

static void make_row(struct cfi *c, u64 addr, struct cfi_row *row)
{
	Dwarf_Frame *frame;
	bool signal;
	int i;

	memset(row, 0, sizeof(*row));
	row->addr = addr;
	if (!c->cfi || dwarf_cfi_addrframe(c->cfi, addr, &frame))
		return;
	row->plain = dwarf_frame_info(frame, NULL, NULL, &signal) == CFI_RA && !signal &&
		     plain_cfa(frame, row);
	for (i = 0; i < CFI_REGS && row->plain; i++)
		row->plain = plain_register(frame, i, row);
	free(frame);
}

static bool row_eq(const void *ctx, u32 id, const void *key)
{
	return ((const struct cfi *)ctx)->rows.v[id].addr == *(const u64 *)key;
}

const struct cfi_row *cfi_find(struct cfi *c, u64 addr)
{
	u64 hash = hash_u64(addr);
	u32 id = index_find(&c->index, hash, row_eq, c, &addr);
	struct cfi_row row;

	if (LIKELY(id != INDEX_NONE))
		return &c->rows.v[id];
	if (c->rows.n >= MAX_ROWS) {
		c->rows.n = 0;
		index_clear(&c->index);
	}
	make_row(c, addr, &row);
	id = (u32)c->rows.n;
	vec_push(&c->rows, row);
	index_add(&c->index, hash, id);
	return &c->rows.v[id];
}
