/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One line table of .debug_line, decoded (DWARF 2-5, section 6.2 of each standard).
 *
 * A table is a set of sequences (with -ffunction-sections one a function), each with its
 * rows in ascending order of address.  The sequences are sorted, not the rows.
 */
#ifndef XENFLAME_LINE_H
#define XENFLAME_LINE_H

#include "symbolize/die.h"

/* Sections a table is made of; borrowed, may be empty. Those of strings must end in NUL. */
struct line_sections {
	struct die_section line, line_str, str;
	bool swap; /* of the other byte order than this machine */
};

struct line_row {
	u32 offset; /* from the start of its sequence */
	u32 file;   /* as in the program */
	u32 line;   /* 0: none */
};

struct line_sequence {
	u64 lo;
	u32 len;
	u32 row, rows; /* first row and their number */
};

struct line_file {
	const char *name; /* borrowed from the sections */
	u32 dir;
	str_id path; /* 0: not made yet */
};

struct line_table {
	VEC(struct line_row) rows;
	VEC(struct line_sequence) sequences;
	struct ranges ranges;   /* id: index in sequences */
	VEC(const char *) dirs; /* [0]: folder of compilation */
	VEC(struct line_file) files;
	u32 first_file; /* number of files[0]: 0 from DWARF 5 on, 1 before */
	u64 bytes;      /* of .debug_line that were read */
	bool bad;       /* the program is damaged; what was decoded before is kept */
};

/*
 * Decodes the table at `offset` of .debug_line.  `comp_dir` (borrowed, may be NULL) and
 * `address_size` come from the unit.  Sequences that start outside `code`
 * (flattened; NULL: those at address 0) belong to functions that the linker dropped, and are left
 * out.  Never fails: what cannot be read is not there, and `bad` is set.
 */
void line_table_init(struct line_table *t, const struct line_sections *s, u64 offset,
		     u8 address_size, const char *comp_dir, const struct ranges *code);
void line_table_release(struct line_table *t);
/* Row of an address, or NULL. */
const struct line_row *line_table_find(const struct line_table *t, u64 addr);
/*
 * Path of a file by its number: as the table has it, with the folder of compilation before it
 * when it is relative.  0 when there is no such file.
 */
str_id line_table_file(struct line_table *t, u64 number, struct strtab *strings);

#endif
