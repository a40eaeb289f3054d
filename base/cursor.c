/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bounded reading of untrusted bytes, digits and UTF-8. */
#include "base/base.h"

void cursor_init(struct cursor *c, const void *p, size_t n, bool swap)
{
	c->start = c->p = p;
	c->end = c->start + n;
	c->swap = swap;
	c->bad = false;
}

const u8 *cursor_bytes(struct cursor *c, size_t n)
{
	const u8 *p = c->p;

	if (UNLIKELY(c->bad || cursor_left(c) < n)) {
		c->bad = true;
		return NULL;
	}
	c->p += n;
	return p;
}

void cursor_skip(struct cursor *c, size_t n)
{
	cursor_bytes(c, n);
}

u8 cursor_u8(struct cursor *c)
{
	const u8 *p = cursor_bytes(c, 1);

	return p ? *p : 0;
}

u16 cursor_u16(struct cursor *c)
{
	const u8 *p = cursor_bytes(c, 2);
	u16 v = 0;

	if (p)
		memcpy(&v, p, 2);
	return c->swap ? __builtin_bswap16(v) : v;
}

u32 cursor_u32(struct cursor *c)
{
	const u8 *p = cursor_bytes(c, 4);
	u32 v = 0;

	if (p)
		memcpy(&v, p, 4);
	return c->swap ? __builtin_bswap32(v) : v;
}

u64 cursor_u64(struct cursor *c)
{
	const u8 *p = cursor_bytes(c, 8);
	u64 v = 0;

	if (p)
		memcpy(&v, p, 8);
	return c->swap ? __builtin_bswap64(v) : v;
}

const char *cursor_str(struct cursor *c, size_t *len)
{
	const char *s = (const char *)c->p;
	const char *nul;

	if (c->bad || c->p == c->end) {
		*len = 0;
		return "";
	}
	nul = memchr(s, 0, cursor_left(c));
	*len = nul ? (size_t)(nul - s) : cursor_left(c);
	c->p += *len + (nul ? 1 : 0);
	return s;
}

int parse_dec(const char **p, const char *end, u64 *v)
{
	const char *s = *p;
	u64 r = 0;
	u8 d;

	for (; s < end && (d = (u8)(*s - '0')) <= 9; s++) {
		if (UNLIKELY(r > UINT64_MAX / 10 - 1) &&
		    (r > UINT64_MAX / 10 || (r == UINT64_MAX / 10 && d > UINT64_MAX % 10)))
			return -1;
		r = r * 10 + d;
	}
	if (s == *p)
		return -1;
	*p = s;
	*v = r;
	return 0;
}

const u8 hex_digits[256] = {
	['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
	['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
	['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16, ['A'] = 11, ['B'] = 12,
	['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

int parse_hex(const char **p, const char *end, u64 *v)
{
	const char *s = *p;
	u32 high = 0, low = 0;
	u64 r = 0;
	u8 d, more;
	int i;

	/* 16 digits, as the kernel writes addresses: two halves that do not wait for each other. */
	if (end - s >= 16 && hex_digits[(u8)s[15]]) {
		for (i = 0; i < 8; i++) {
			d = hex_digits[(u8)s[i]];
			more = hex_digits[(u8)s[i + 8]];
			if (!d || !more)
				break;
			high = high << 4 | (d - 1u);
			low = low << 4 | (more - 1u);
		}
		if (i == 8) {
			r = (u64)high << 32 | low;
			s += 16;
		}
	}
	for (; s < end && (d = hex_digits[(u8)*s]); s++) {
		if (r >> 60)
			return -1;
		r = r << 4 | (d - 1u);
	}
	if (s == *p)
		return -1;
	*p = s;
	*v = r;
	return 0;
}

int utf8_next(const char *str, size_t n, u32 *cp)
{
	const u8 *s = (const u8 *)str;
	u32 c, min;
	int len, i;

	if (!n)
		return 0;
	c = s[0];
	if (c < 0x80) {
		*cp = c;
		return 1;
	}
	if (c >= 0xc2 && c <= 0xdf) {
		len = 2;
		c &= 0x1f;
		min = 0x80;
	} else if ((c & 0xf0) == 0xe0) {
		len = 3;
		c &= 0x0f;
		min = 0x800;
	} else if (c >= 0xf0 && c <= 0xf4) {
		len = 4;
		c &= 0x07;
		min = 0x10000;
	} else {
		return 0;
	}
	if (n < (size_t)len)
		return 0;
	for (i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < min || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*cp = c;
	return len;
}

bool utf8_valid(const char *s, size_t n)
{
	u32 cp;
	int len;

	while (n) {
		len = utf8_next(s, n, &cp);
		if (!len)
			return false;
		s += len;
		n -= (size_t)len;
	}
	return true;
}

void build_id_hex(const u8 *id, size_t n, char *out)
{
	size_t i;

	for (i = 0; i < n; i++) {
		out[2 * i] = "0123456789abcdef"[id[i] >> 4];
		out[2 * i + 1] = "0123456789abcdef"[id[i] & 15];
	}
	out[2 * n] = '\0';
}
