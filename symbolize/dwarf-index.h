/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Index over the DWARF of one ELF file: address -> function, inlined functions, lines.
 *
 * What is built, and when: the ranges of all units at the first question; the functions of a
 * unit and its line table when an address of it is asked for; the inlined code of a function when
 * an address of that function is; a name when it is shown.  .debug_aranges (clang writes none,
 * files converted from PE have a broken one) is looked at only where it tells how far a packed
 * .debug_info must be unpacked, and nothing is concluded from what it does not hold.
 */
#ifndef XENFLAME_DWARF_INDEX_H
#define XENFLAME_DWARF_INDEX_H

#include <libelf.h>

#include "symbolize/ranges.h"
#include "symbolize/symfile.h"

struct dwarf_index;

struct dwarf_hit {
	bool unit;      /* a unit says that the address is its own */
	bool assembler; /* that unit is one of assembler */
	bool function;  /* a function covers it: frames were appended, the outermost one last */
	str_id file;    /* source file and line of the address itself */
	u32 line;
	str_id name;     /* name of the outermost function, mangled when DWARF has that, or 0 */
	bool short_name; /* DWARF has only its bare name, of a language where that is not all (GCC:
			    static functions) */
	u64 function_lo; /* where the piece of code that holds the address begins */
};

/*
 * NULL with err when the file has no DWARF that libdw can read.  `elf`, `code` (ranges of its
 * sections with code, flattened; may be empty), `path` and what opts point to are borrowed.
 */
struct dwarf_index *dwarf_index_new(Elf *elf, const char *path, const struct ranges *code,
				    const struct symfile_opts *opts, struct error *err);
void dwarf_index_free(struct dwarf_index *ix);
/*
 * Appends the frames of an address; with `out` NULL only fills in *hit.  `deep`: look for functions
 * that are defined inside others too, when none was found else (costs a walk over the whole unit,
 * once).
 */
void dwarf_index_lookup(struct dwarf_index *ix, u64 addr, bool deep, struct symframes *out,
			struct dwarf_hit *hit);

#endif
