/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers of variable length (DWARF 5, section 7.6), read through a bounded cursor. */
#ifndef XENFLAME_LEB_H
#define XENFLAME_LEB_H

#include "base/base.h"

/* Bits beyond 64 are dropped; a number that does not end makes the cursor bad. */
static inline u64 leb_u(struct cursor *c)
{
	const u8 *p = c->p;
	unsigned int shift = 0;
	u64 v = 0;

	if (LIKELY(!c->bad && p < c->end && !(*p & 0x80))) {
		c->p++;
		return *p;
	}
	if (c->bad)
		return 0;
	while (p < c->end) {
		u8 b = *p++;

		if (shift < 64)
			v |= (u64)(b & 0x7f) << shift;
		shift += 7;
		if (!(b & 0x80)) {
			c->p = p;
			return v;
		}
	}
	c->bad = true;
	return 0;
}

static inline s64 leb_s(struct cursor *c)
{
	const u8 *start = c->p;
	u64 v = leb_u(c);
	size_t bits = 7 * (size_t)(c->p - start);

	if (bits && bits < 64 && (c->p[-1] & 0x40))
		v |= ~(u64)0 << bits;
	return (s64)v;
}

#endif
