/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Growing bytes and the fixed number formats. */
#include "base/base.h"

void buf_release(struct buf *b)
{
	free(b->p);
	memset(b, 0, sizeof(*b));
}

void buf_reserve(struct buf *b, size_t more)
{
	if (UNLIKELY(b->cap - b->n < more))
		vec_grow((void **)&b->p, &b->cap, b->n + more, 1);
}

void buf_put(struct buf *b, const void *p, size_t n)
{
	if (!n)
		return;
	buf_reserve(b, n);
	memcpy(b->p + b->n, p, n);
	b->n += n;
}

void buf_puts(struct buf *b, const char *s)
{
	buf_put(b, s, strlen(s));
}

void buf_putc(struct buf *b, char c)
{
	buf_reserve(b, 1);
	b->p[b->n++] = c;
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int n;

	buf_reserve(b, 128);
	va_start(ap, fmt);
	n = vsnprintf(b->p + b->n, b->cap - b->n, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	if ((size_t)n >= b->cap - b->n) {
		buf_reserve(b, (size_t)n + 1);
		va_start(ap, fmt);
		vsnprintf(b->p + b->n, b->cap - b->n, fmt, ap);
		va_end(ap);
	}
	b->n += (size_t)n;
}

void buf_u64(struct buf *b, u64 v)
{
	char tmp[20];
	size_t i = sizeof(tmp);

	do {
		tmp[--i] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	buf_put(b, tmp + i, sizeof(tmp) - i);
}

void buf_u128(struct buf *b, u128 v)
{
	char tmp[39];
	size_t i = sizeof(tmp);

	for (; v > UINT64_MAX; v /= 10)
		tmp[--i] = (char)('0' + (unsigned)(v % 10));
	buf_u64(b, (u64)v);
	buf_put(b, tmp + i, sizeof(tmp) - i);
}

const char base64_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void buf_base64(struct buf *b, const void *bytes, size_t n)
{
	const char *digits = base64_digits;
	const u8 *p = bytes;
	char *t;

	buf_reserve(b, n / 3 * 4 + 4);
	for (t = b->p + b->n; n >= 3; n -= 3, p += 3, t += 4) {
		u32 v = (u32)p[0] << 16 | (u32)p[1] << 8 | p[2];

		t[0] = digits[v >> 18];
		t[1] = digits[v >> 12 & 63];
		t[2] = digits[v >> 6 & 63];
		t[3] = digits[v & 63];
	}
	if (n) {
		u32 v = (u32)p[0] << 16 | (n > 1 ? (u32)p[1] << 8 : 0);

		t[0] = digits[v >> 18];
		t[1] = digits[v >> 12 & 63];
		t[2] = n > 1 ? digits[v >> 6 & 63] : '=';
		t[3] = '=';
		t += 4;
	}
	b->n = (size_t)(t - b->p);
}

void buf_hex(struct buf *b, u64 v)
{
	char tmp[16];
	size_t i = sizeof(tmp);

	do {
		tmp[--i] = "0123456789abcdef"[v & 15];
		v >>= 4;
	} while (v);
	buf_put(b, tmp + i, sizeof(tmp) - i);
}

void buf_plural(struct buf *b, const char *text, u64 n, const char *subject)
{
	const char *p;

	for (p = text; *p; p++) {
		switch (*p) {
		case '%':
			if (*++p == 'n')
				buf_u64(b, n);
			else
				buf_puts(b, subject);
			break;
		case '{':
			if (n != 1)
				p = strchr(p, '|');
			break;
		case '|': p = strchr(p, '}'); break;
		case '}': break;
		default: buf_putc(b, *p);
		}
	}
}

void buf_f(struct buf *b, double v, int digits)
{
	static const u64 pow10[] = { 1,      10,      100,      1000,      10000,
				     100000, 1000000, 10000000, 100000000, 1000000000 };
	u64 scale = pow10[digits], whole, frac;
	double scaled;

	if (!(v == v)) {
		buf_puts(b, "0");
		return;
	}
	if (v < 0) {
		scaled = -v * (double)scale + 0.5;
		if (scaled >= 1)
			buf_putc(b, '-');
	} else {
		scaled = v * (double)scale + 0.5;
	}
	if (scaled >= 1.8e19)
		scaled = 1.8e19; /* no caller comes near: shares and pixels */
	whole = (u64)scaled / scale;
	frac = (u64)scaled % scale;
	buf_u64(b, whole);
	if (!frac)
		return;
	buf_putc(b, '.');
	while (frac) {
		scale /= 10;
		buf_putc(b, (char)('0' + frac / scale));
		frac %= scale;
	}
}

const char *buf_str(struct buf *b)
{
	buf_reserve(b, 1);
	b->p[b->n] = '\0';
	return b->p;
}
