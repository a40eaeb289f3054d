/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The wire format of protocol buffers.
 *
 * Facts: protobuf.dev/programming-guides/encoding.  A message is fields: a key, number * 8 + wire
 * type, and a value.  Wire types: 0 varint, 1 eight bytes, 2 length and bytes, 5 four bytes; others
 * have been given up and are refused.  A varint has seven bits a byte, the lowest first, with 0x80
 * on all but the last.
 */
#include "base/base.h"

#define NUMBER_MAX 536870911

/* ---- reading ---- */

bool pb_take_varint(struct pb_part *b, u64 *v)
{
	int shift;

	*v = 0;
	for (shift = 0; shift < 70 && b->n; shift += 7) {
		u8 c = *b->p;

		b->p++;
		b->n--;
		if (shift == 63 && c > 1)
			return false;
		*v |= (u64)(c & 0x7f) << shift;
		if (!(c & 0x80))
			return true;
	}
	return false;
}

int pb_take(struct pb_part *b, struct pb_field *f)
{
	u64 key, n;
	size_t i;

	if (!b->n)
		return 0;
	if (!pb_take_varint(b, &key) || key >> 3 == 0 || key >> 3 > NUMBER_MAX)
		return -1;
	f->number = (u32)(key >> 3);
	f->wire = key & 7;
	f->value = 0;
	switch (f->wire) {
	case 0: return pb_take_varint(b, &f->value) ? 1 : -1;
	case 1:
	case 5:
		n = f->wire == 1 ? 8 : 4;
		if (b->n < n)
			return -1;
		for (i = 0; i < n; i++)
			f->value |= (u64)b->p[i] << 8 * i;
		b->p += n;
		b->n -= (size_t)n;
		return 1;
	case 2:
		if (!pb_take_varint(b, &n) || n > b->n)
			return -1;
		f->bytes = (struct pb_part){ b->p, (size_t)n };
		b->p += n;
		b->n -= (size_t)n;
		return 1;
	default: return -1;
	}
}

/* ---- writing ---- */

void pb_put_varint(struct buf *b, u64 v)
{
	while (v >= 0x80) {
		buf_putc(b, (char)(v | 0x80));
		v >>= 7;
	}
	buf_putc(b, (char)v);
}

void pb_put_number(struct buf *b, u32 field, u64 v)
{
	if (!v)
		return;
	pb_put_varint(b, (u64)field << 3);
	pb_put_varint(b, v);
}

void pb_put_fixed64(struct buf *b, u32 field, u64 v)
{
	int i;

	if (!v)
		return;
	pb_put_varint(b, (u64)field << 3 | 1);
	for (i = 0; i < 64; i += 8)
		buf_putc(b, (char)(v >> i));
}

void pb_put_bytes(struct buf *b, u32 field, const void *p, size_t n)
{
	pb_put_varint(b, (u64)field << 3 | 2);
	pb_put_varint(b, n);
	buf_put(b, p, n);
}
