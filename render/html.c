/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HTML: the viewer of viewer.js over the data block of data.c, for views of any size.  Without
 * scripts there is a table of the functions with the largest self.
 */
#include "render/export.h"
#include "render/graph.h"

#define TOP 40 /* lines of the table */

static const char page_css[] =
	"html, body { height: 100%; margin: 0; }\n"
	"#xenflame { height: 100%; }\n"
	"noscript { display: block; font: 14px sans-serif; padding: 12px; }\n"
	"noscript td { padding: 1px 10px; }\n";

struct top {
	frame_id frame;
	u64 self;
};

static int cmp_top(const void *pa, const void *pb)
{
	const struct top *a = pa, *b = pb;

	if (a->self != b->self)
		return a->self < b->self ? 1 : -1;
	return (a->frame > b->frame) - (a->frame < b->frame);
}

static void put_functions(struct buf *b, const struct render_input *in,
			  const struct render_opts *opts)
{
	const struct profile *p = in->profile;
	const struct view *v = in->view;
	struct top *t = xcalloc(p->frames.n + 1, sizeof(*t));
	struct buf name = BUF_INIT;
	size_t i;

	for (i = 0; i < p->frames.n; i++)
		t[i].frame = (frame_id)i;
	for (i = 1; i < v->nodes.n; i++)
		t[v->nodes.v[i].frame].self += v->nodes.v[i].self;
	qsort(t, p->frames.n, sizeof(*t), cmp_top);
	buf_puts(b, "<p>Functions by their own share:</p><table>\n");
	for (i = 0; i < p->frames.n && i < TOP && t[i].self; i++) {
		buf_puts(b, "<tr><td>");
		buf_share(b, t[i].self, opt_total(opts, v));
		buf_puts(b, "</td><td>");
		buf_clear(&name);
		profile_frame_name(p, t[i].frame, opts->annotate_all, &name);
		buf_xml(b, name.p, name.n);
		buf_puts(b, "</td><td>");
		buf_xml(b, strtab_get(p->strings, p->frames.v[t[i].frame].module),
			strtab_len(p->strings, p->frames.v[t[i].frame].module));
		buf_puts(b, "</td></tr>\n");
	}
	buf_puts(b, "</table>");
	buf_release(&name);
	free(t);
}

static void put_noscript(struct buf *b, const struct render_input *in,
			 const struct render_opts *opts)
{
	struct buf table = BUF_INIT;

	buf_puts(b, "<noscript><h1>");
	buf_xmls(b, opt_title(opts));
	buf_puts(b, "</h1><p>This page draws its graph by a script.</p>");
	if (in->view->is_diff) {
		export_diff_table(&table, in->view, opts);
		buf_puts(b, "<pre>");
		buf_xml(b, table.p, table.n);
		buf_puts(b, "</pre>");
		buf_release(&table);
	} else {
		put_functions(b, in, opts);
	}
	buf_puts(b, "</noscript>\n");
}

static int draw_html(struct out *o, const struct render_input *in, const struct render_opts *opts,
		     struct error *err)
{
	struct buf *b = &o->buf;
	struct palette pal;

	if (palette_init(&pal, in, opts, err)) {
		palette_release(&pal);
		return -1;
	}
	buf_puts(b, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
	page_comments(b, page_css);
	buf_puts(b, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		    "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
	buf_xmls(b, opt_title(opts));
	buf_puts(b, "</title>\n");
	page_style(b, page_css);
	buf_puts(b, "</head>\n<body>\n");
	put_noscript(b, in, opts);
	buf_puts(b, "<div id=\"xenflame\"></div>\n");
	out_flush_if_full(o);
	data_block(o, in, opts, &pal, true);
	out_puts(o, "<script>\n");
	out_puts(o, VIEWER_JS);
	out_puts(o, "</script>\n</body>\n</html>\n");
	palette_release(&pal);
	return 0;
}

static int write_html(struct out *o, const struct render_input *in, const struct render_opts *opts,
		      struct error *err)
{
	struct picture_input pi;
	int ret = picture_begin(&pi, in, opts, err);

	if (!ret)
		ret = draw_html(o, &pi.in, opts, err);
	picture_end(&pi);
	return ret;
}

const struct render_writer writer_html = {
	.name = "html",
	.suffixes = ".html .htm",
	.help = "viewer for graphs of any size",
	.decimals = true,
	.binary = true,
	.samples = true,
	.write = write_html,
};
