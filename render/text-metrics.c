/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Widths of text in files that are drawn elsewhere, with fonts that we cannot ask.  Monospace fonts
 * advance by 0.602 em (DejaVu Sans Mono, Menlo; Courier and Liberation Mono 0.6, Consolas 0.55);
 * for all others the widths of DejaVu Sans are taken, which are those of Verdana, the widest of the
 * common ones.  So a label may end a little early, never late.
 */
#include <strings.h>

#include "render/graph.h"

#define MONO 602
#define WIDE 1204 /* East Asian characters in a monospace font: two cells */

/* Advances of U+0020 … U+007E in thousandths of an em, measured by cairo with DejaVu Sans at 1,000
 * px. */
static const u16 advance[95] = {
	318,  401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337,
	636,  636, 636, 636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531,
	1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863, 748, 787,
	603,  787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500,
	500,  613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612,
	635,  635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
};

static bool is_mono(const char *font)
{
	static const char *const words[] = { "mono",   "courier", "consolas", "menlo",
					     "monaco", "fixed",   "terminal" };
	size_t i, k;

	for (i = 0; font[i]; i++)
		for (k = 0; k < ARRAY_SIZE(words); k++)
			if (!strncasecmp(font + i, words[k], strlen(words[k])))
				return true;
	return false;
}

/* Blocks that are drawn two cells wide: Hangul Jamo, CJK, Hangul, full-width forms, emoji. */
static bool is_wide(u32 c)
{
	return (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) ||
	       (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) ||
	       (c >= 0xff00 && c <= 0xff60) || (c >= 0x1f300 && c <= 0x1faff) ||
	       (c >= 0x20000 && c <= 0x3fffd);
}

static u32 char_width(u32 c, bool mono)
{
	if (is_wide(c))
		return WIDE;
	if (mono)
		return MONO;
	if (c >= 0x20 && c < 0x7f)
		return advance[c - 0x20];
	return c < 0x20 ? 600 : 800;
}

/* Thousandths of an em, of at most n bytes; stops where `room` is exceeded and says how far it
 * came. */
static u64 width_until(const char *s, size_t n, bool mono, u64 room, size_t *stop)
{
	u64 w = 0;
	size_t i = 0;

	while (i < n) {
		u32 cp;
		int len = utf8_next(s + i, n - i, &cp);
		u32 cw = char_width(len ? cp : 0xfffd, mono);

		if (w + cw > room)
			break;
		w += cw;
		i += len ? (size_t)len : 1;
	}
	*stop = i;
	return w;
}

double label_width(const char *s, size_t n, const char *font, double size)
{
	size_t stop;

	return (double)width_until(s, n, is_mono(font), UINT64_MAX / 2, &stop) * size / 1000;
}

void label_fit(struct buf *b, const char *s, size_t n, const char *font, double size, double room)
{
	bool mono = is_mono(font);
	u64 em = room > 0 ? (u64)(room * 1000 / size) : 0, dots = char_width(0x2026, mono);
	struct buf copy = BUF_INIT;
	size_t stop;

	width_until(s, n, mono, em, &stop);
	if (stop < n) {
		if (em < dots)
			return;
		width_until(s, n, mono, em - dots, &stop);
		if (stop < 2)
			return;
	}
	/* s may lie in b, which may move. */
	buf_put(&copy, s, stop);
	buf_put(b, copy.p, copy.n);
	if (stop < n)
		buf_puts(b, "\xe2\x80\xa6");
	buf_release(&copy);
}
