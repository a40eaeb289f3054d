/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Style and script of SVG and HTML.  Where a server sends a strict Content-Security-Policy, these
 * run only when it names their hashes; they are the same in all files of a version, and each file
 * tells them in a comment.
 */
#include "render/graph.h"

static const char license[] =
	"<!-- A flame graph made by xenflame. SPDX-License-Identifier of style and script: "
	"GPL-2.0-or-later -->\n";

/* "'sha256-…'" of what stands in an element: a line end, then the parts. */
static void put_hash(struct buf *b, const char *first, const char *second)
{
	struct buf text = BUF_INIT;
	u8 sum[32];

	buf_printf(&text, "\n%s%s", first, second);
	sha256(text.p, text.n, sum);
	buf_puts(b, "'sha256-");
	buf_base64(b, sum, sizeof(sum));
	buf_putc(b, '\'');
	buf_release(&text);
}

void page_comments(struct buf *b, const char *css)
{
	buf_puts(b, license);
	buf_puts(b, "<!-- Content-Security-Policy: default-src 'none'; script-src ");
	put_hash(b, VIEWER_JS, "");
	buf_puts(b, "; style-src ");
	put_hash(b, css, VIEWER_CSS);
	buf_puts(b, " -->\n");
}

void page_style(struct buf *b, const char *css)
{
	buf_puts(b, "<style>\n");
	buf_puts(b, css);
	buf_puts(b, VIEWER_CSS);
	buf_puts(b, "</style>\n");
}
