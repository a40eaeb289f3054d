/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text for formats that take only valid Unicode: UTF-8 made valid, JSON strings (RFC 8259). */
#include "base/base.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Length of the run of plain bytes at s: those that stand for themselves in a JSON string, ASCII
 * only. */
static size_t plain_run(const char *s, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		u8 c = (u8)s[i];

		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\' || c == '<')
			break;
	}
	return i;
}

bool utf8_is_unsafe(u32 cp)
{
	return cp < 0x20 || (cp >= 0x7f && cp < 0xa0) || cp == 0x200e || cp == 0x200f ||
	       (cp >= 0x2028 && cp <= 0x202e) || (cp >= 0x2066 && cp <= 0x2069) || cp == 0xfeff;
}

static void put_utf8(struct buf *b, const char *s, size_t n, bool safe)
{
	size_t i = 0, run;
	u32 cp;
	int len;

	while (i < n) {
		run = plain_run(s + i, n - i);
		buf_put(b, s + i, run);
		i += run;
		if (i == n)
			break;
		len = utf8_next(s + i, n - i, &cp);
		if (len > 0 && safe && utf8_is_unsafe(cp)) {
			buf_putc(b, '?');
			i += (size_t)len;
		} else if (len > 0) {
			buf_put(b, s + i, (size_t)len);
			i += (size_t)len;
		} else {
			buf_puts(b, REPLACEMENT);
			i++;
		}
	}
}

void buf_utf8(struct buf *b, const char *s, size_t n)
{
	put_utf8(b, s, n, false);
}

void buf_safe(struct buf *b, const char *s, size_t n)
{
	put_utf8(b, s, n, true);
}

void make_safe(char *s)
{
	size_t n = strlen(s), i, len;
	char *to = s;
	u32 cp;

	for (i = 0; i < n; i += len) {
		len = (size_t)utf8_next(s + i, n - i, &cp);
		if (!len || utf8_is_unsafe(cp)) {
			*to++ = '?';
			len = len ? len : 1;
		} else {
			memmove(to, s + i, len);
			to += len;
		}
	}
	*to = '\0';
}

void buf_json(struct buf *b, const char *s, size_t n)
{
	size_t i = 0, run;
	u32 cp;
	int len;

	buf_putc(b, '"');
	while (i < n) {
		run = plain_run(s + i, n - i);
		buf_put(b, s + i, run);
		i += run;
		if (i == n)
			break;
		switch (s[i]) {
		case '"':
			buf_puts(b, "\\\"");
			i++;
			continue;
		case '\\':
			buf_puts(b, "\\\\");
			i++;
			continue;
		case '\n':
			buf_puts(b, "\\n");
			i++;
			continue;
		case '\t':
			buf_puts(b, "\\t");
			i++;
			continue;
		}
		len = utf8_next(s + i, n - i, &cp);
		if (!len) {
			buf_puts(b, REPLACEMENT);
			i++;
			continue;
		}
		if (cp < 0x20 || cp == '<' || cp == 0x7f || cp == 0x2028 || cp == 0x2029)
			buf_printf(b, "\\u%04x", (unsigned int)cp);
		else
			buf_put(b, s + i, (size_t)len);
		i += (size_t)len;
	}
	buf_putc(b, '"');
}
