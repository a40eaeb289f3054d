/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A packed section (SHF_COMPRESSED, ELFCOMPRESS_ZLIB), unpacked as far as it is read.  Of a
 * library's debug information a recording needs a few units; unpacking all of it costs more than
 * everything else that is done with the file.
 */
#ifndef XENFLAME_PACKED_H
#define XENFLAME_PACKED_H

#include "base/base.h"

struct packed {
	u8 *p;                        /* n bytes and a NUL; those behind `have` are 0 */
	size_t n;                     /* unpacked size */
	size_t have;                  /* unpacked so far; n as well when the data are damaged */
	bool bad;                     /* they are */
	struct packed_stream *stream; /* NULL: done */
	const u8 *data;               /* packed */
	size_t data_n;
};

/*
 * `data` are the n packed bytes, borrowed until packed_free().  NULL when `full`, the size that the
 * section claims to unpack to, cannot be true.
 */
struct packed *packed_new(const u8 *data, size_t n, u64 full);
void packed_free(struct packed *k);
/* Unpacks at least the first `upto` bytes, as far as there are so many. */
void packed_need(struct packed *k, u64 upto);
/* Unpacks the string at an offset below n, up to its NUL. */
void packed_need_string(struct packed *k, u64 off);

#endif
