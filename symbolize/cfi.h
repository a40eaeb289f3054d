/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of a file's call frame information (.eh_frame) on x86-64, kept by address.
 *
 * A recording with stack dumps unwinds through the same addresses again and again.  libdwfl runs
 * the instructions of their frame description and evaluates an expression a register each time;
 * here this is done once an address, as far as the result is of the plain kind that compilers make.
 */
#ifndef XENFLAME_CFI_H
#define XENFLAME_CFI_H

#include <libelf.h>

#include "base/base.h"

#define CFI_REGS 17 /* of the psABI's numbers: general ones, then the return address */
#define CFI_RA   16

/* A register of the caller that is saved at CFA + off, or is that. */
struct cfi_saved {
	int32_t off;
	u8 reg;
	bool is_value;
};

struct cfi_row {
	u64 addr;
	bool plain; /* else only libdwfl can unwind here, and all below is unset */
	u8 cfa_reg;
	u8 nr_saved;
	int32_t cfa_off;
	u32 same;                         /* bit i: register i has not changed */
	struct cfi_saved saved[CFI_REGS]; /* by register; those in neither are undefined */
};

struct cfi;

/* `elf` is borrowed. */
struct cfi *cfi_new(Elf *elf);
void cfi_free(struct cfi *c);
/* The row that holds at a link-time address; valid until the next call. */
const struct cfi_row *cfi_find(struct cfi *c, u64 addr);

#endif
