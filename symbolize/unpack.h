/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whole files in memory, packed ones unpacked: gzip (RFC 1952), xz, zstd (RFC 8878). */
#ifndef XENFLAME_UNPACK_H
#define XENFLAME_UNPACK_H

#include "base/base.h"

enum packing { PACKED_NOT, PACKED_GZIP, PACKED_XZ, PACKED_ZSTD };

/* By the first bytes. */
enum packing unpack_kind(const u8 *p, size_t n);
/*
 * Appends the unpacked bytes to `out`: at most UNPACK_MAX, and no more than 2000 times the packed
 * size.  Fails with the reason, also when this build has no library for it.  `name` is for the
 * message.
 */
#define UNPACK_MAX (1u << 30)
int unpack(enum packing kind, const u8 *p, size_t n, struct buf *out, const char *name,
	   struct error *err) MUST_CHECK;

#endif
