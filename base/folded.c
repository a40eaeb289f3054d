/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names in folded stacks: an escape for the bytes that would be taken for the format's own. */
#include "base/base.h"

static bool is_escape(const char *s, size_t n)
{
	return n >= 3 && s[0] == '%' && hex_digit(s[1]) >= 0 && hex_digit(s[2]) >= 0;
}

/* Where the name's last word starts with its space, when that word could be read as a count; else
 * n. */
static size_t count_like_tail(const char *s, size_t n)
{
	size_t i = n;

	while (i && memchr("0123456789.+-eE", s[i - 1], 15))
		i--;
	return i && s[i - 1] == ' ' ? i - 1 : n;
}

/* Bytes that stand as they are wherever they are; most are of these. */
static bool is_plain(char c)
{
	return c > '%' && c < 0x7f && c != ';';
}

void folded_escape(struct buf *b, const char *s, size_t n)
{
	size_t i = 0, from, tail = count_like_tail(s, n);
	bool escape;
	u32 cp;
	int len;

	for (;;) {
		for (from = i; i < n && is_plain(s[i]); i++)
			;
		buf_put(b, s + from, i - from);
		if (i == n)
			break;
		len = utf8_next(s + i, n - i, &cp);
		if (!len)
			escape = true;
		else if (len > 1)
			escape = i == 0 && cp == 0xfeff; /* would be taken for a byte order mark */
		else if (s[i] == '%')
			escape = is_escape(s + i, n - i);
		else if (s[i] == ' ' || s[i] == '#')
			escape = i == 0 || i == tail;
		else
			escape = (u8)s[i] < 0x20 || s[i] == 0x7f || s[i] == ';';
		if (escape) {
			buf_putc(b, '%');
			buf_putc(b, "0123456789abcdef"[(u8)s[i] >> 4]);
			buf_putc(b, "0123456789abcdef"[(u8)s[i] & 15]);
			i++;
		} else {
			buf_put(b, s + i, (size_t)len);
			i += (size_t)len;
		}
	}
}

void folded_unescape(struct buf *b, const char *s, size_t n)
{
	const char *end = s + n, *next;

	while (s < end) {
		next = memchr(s, '%', (size_t)(end - s));
		if (!next)
			next = end;
		buf_put(b, s, (size_t)(next - s));
		s = next;
		if (s == end)
			break;
		if (is_escape(s, (size_t)(end - s))) {
			buf_putc(b, (char)(hex_digit(s[1]) << 4 | hex_digit(s[2])));
			s += 3;
		} else {
			buf_putc(b, *s++);
		}
	}
}
