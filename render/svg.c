/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SVG: one file that is readable as a picture (the widest boxes with labels and tips, title,
 * legend) wherever scripts do not run, and the viewer where they do.  From top to bottom: style,
 * data block (all of the view, see data.c), script, picture.  Positions across are percentages, so
 * that the picture follows its width; colours are attributes, since a page's policy may refuse
 * styles.
 */
#include "render/graph.h"

#define STATIC_BOXES 1200 /* at most; all of them are in the data block */
#define STATIC_MIN   0.3  /* px: narrower ones would not be seen in the picture */

static const char static_css[] =
	".xf-live-svg > .xf-static { display: none; }\n"
	"@media (prefers-color-scheme: dark) {\n"
	"\t.xf-paper { fill: #14171c; }\n"
	"\t.xf-ink { fill: #e6e9ed; }\n"
	"\t.xf-soft { fill: #a3adb8; }\n"
	"}\n"
	"@media print { .xf-paper { fill: none; } .xf-ink, .xf-soft { fill: #000; } }\n";

/* Position across in percent of the inner drawing; four decimals are 0.001 px of 1,180. */
static void put_percent(struct buf *b, double v)
{
	buf_f(b, v, 4);
	buf_putc(b, '%');
}

static void put_box(struct buf *b, const struct render_input *in, const struct render_opts *opts,
		    const struct palette *pal, const struct frame_of_picture *pic,
		    const struct layout *l, const struct box *box, struct buf *tmp)
{
	const struct view *v = in->view;
	double y = picture_y(pic, l->rows, box->depth);
	struct rgb c = palette_box(pal, v, box->node, opts->negate).light;
	size_t at;

	buf_puts(b, "<rect x=\"");
	put_percent(b, box->x / pic->inner * 100);
	buf_puts(b, "\" y=\"");
	buf_f(b, y, 1);
	buf_puts(b, "\" width=\"");
	/* A gap between neighbours, where there is room for one. */
	put_percent(b, (box->w > 2 ? box->w - 0.5 : box->w) / pic->inner * 100);
	buf_puts(b, "\" height=\"");
	buf_f(b, pic->row - 1, 1);
	buf_puts(b, "\" fill=\"");
	buf_rgb(b, c);
	buf_puts(b, "\"><title>");
	buf_clear(tmp);
	box_tip(tmp, in, opts, box->node);
	buf_xml(b, tmp->p, tmp->n);
	buf_puts(b, "</title></rect>");

	buf_clear(tmp);
	box_name(tmp, in, opts, box->node);
	at = tmp->n;
	label_fit(tmp, tmp->p, at, opt_font(opts), pic->font_size, box->w - 6);
	if (tmp->n > at) {
		buf_puts(b, "<text x=\"");
		put_percent(b, box->x / pic->inner * 100);
		buf_puts(b, "\" dx=\"3\" y=\"");
		buf_f(b, y + (pic->row - 1) / 2 + pic->font_size * 0.3, 1);
		if (box->node &&
		    in->profile->frames.v[v->nodes.v[box->node].frame].flags & FRAME_INLINED)
			buf_puts(b, "\" font-style=\"italic");
		buf_puts(b, "\">");
		buf_xml(b, tmp->p + at, tmp->n - at);
		buf_puts(b, "</text>");
	}
	buf_putc(b, '\n');
}

static void put_text(struct buf *b, const char *x, double y, const char *attrs, const char *text)
{
	buf_printf(b, "<text x=\"%s\" y=\"", x);
	buf_f(b, y, 1);
	buf_printf(b, "\"%s>", attrs);
	buf_xmls(b, text);
	buf_puts(b, "</text>\n");
}

static void put_swatch(struct buf *b, double x, double y, struct rgb color)
{
	buf_puts(b, "<rect x=\"");
	buf_f(b, x, 1);
	buf_puts(b, "\" y=\"");
	buf_f(b, y - 10, 1);
	buf_puts(b, "\" width=\"11\" height=\"11\" rx=\"2\" fill=\"");
	buf_rgb(b, color);
	buf_puts(b, "\" stroke=\"#5b6067\" stroke-width=\".5\"/>");
}

/* An entry of the legend; its width with the room behind it. */
static double put_key(struct buf *b, double x, double y, const char *text, const struct rgb *color)
{
	double swatch = color ? 16 : 0;

	if (color)
		put_swatch(b, x, y, *color);
	buf_puts(b, "<text x=\"");
	buf_f(b, x + swatch, 1);
	buf_puts(b, "\" y=\"");
	buf_f(b, y, 1);
	buf_puts(b, "\">");
	buf_xmls(b, text);
	buf_puts(b, "</text>\n");
	return swatch + label_width(text, strlen(text), "sans-serif", 12) + 18;
}

static void put_legend(struct buf *b, const struct render_input *in, const struct render_opts *opts,
		       const struct palette *pal, const struct frame_of_picture *pic)
{
	u64 by_class[CLASS_NR], total = in->view->nodes.n ? in->view->nodes.v[0].total : 0;
	bool swatches = palette_tells_classes(pal, in->view);
	struct buf text = BUF_INIT;
	struct color_pair color;
	double x = pic->left;
	const char *key;
	size_t i;
	int c;

	view_weight_by_class(in->view, by_class);
	buf_puts(b, "<g font-size=\"12\" font-family=\"sans-serif\" fill=\"#1b1f24\" "
		    "class=\"xf-ink\">\n");
	for (c = 0; c < CLASS_NR; c++) {
		if (!by_class[c])
			continue;
		buf_clear(&text);
		buf_printf(&text, "%s ", color_class_name((enum color_class)c));
		buf_share(&text, by_class[c], total);
		x += put_key(b, x, pic->legend_y, buf_str(&text),
			     swatches ? &pal->colors.v[pal->classes[c]].light : NULL);
	}
	for (i = 0; in->view->is_diff && diff_key(in->view, opts->negate, i, &key, &color); i++)
		x += put_key(b, x, pic->legend_y, key, i < DIFF_KEY_COLORS ? &color.light : NULL);
	if (pic->note_y > 0) {
		size_t n;

		buf_clear(&text);
		diff_note(&text, in->view);
		n = text.n;
		label_fit(&text, text.p, n, "sans-serif", 12, pic->inner);
		put_key(b, pic->left, pic->note_y, buf_str(&text) + n, NULL);
	}
	buf_puts(b, "</g>\n");
	buf_release(&text);
}

#define FOOT_ATTRS " font-size=\"11\" font-family=\"sans-serif\" fill=\"#57606a\" class=\"xf-soft\""

static void put_foot(struct buf *b, const struct render_input *in,
		     const struct frame_of_picture *pic, const struct layout *l)
{
	struct buf t = BUF_INIT;

	if (l->left_out) {
		buf_printf(&t, "The widest %zu of ", l->boxes.n - 1);
		buf_count(&t, in->view->nodes.n - 1, &(struct render_opts){ .factor = 1 });
		buf_puts(&t, " boxes; all are in the file. ");
	}
	buf_puts(&t, "Open the file in a browser to zoom and search.");
	put_text(b, "10", pic->foot_y, FOOT_ATTRS, buf_str(&t));
	/* The first remark on quality, as far as there is room: the others are a click away in the
	 * viewer. */
	if (in->nr_quality) {
		double used = label_width(t.p, t.n, "sans-serif", 11) + 20;
		struct buf remark = BUF_INIT, x = BUF_INIT;
		size_t n;

		buf_puts(&remark, in->quality[0].text);
		if (in->nr_quality > 1)
			buf_printf(&remark, " (and %zu more)", in->nr_quality - 1);
		n = remark.n;
		label_fit(&remark, remark.p, n, "sans-serif", 11, pic->inner - used);
		buf_f(&x, pic->left + used, 1);
		put_text(b, buf_str(&x), pic->foot_y, FOOT_ATTRS, buf_str(&remark) + n);
		buf_release(&remark);
		buf_release(&x);
	}
	buf_release(&t);
}

static void put_picture(struct out *o, const struct render_input *in,
			const struct render_opts *opts, const struct palette *pal,
			const struct frame_of_picture *pic, const struct layout *l)
{
	struct buf *b = &o->buf, tmp = BUF_INIT;
	size_t i;

	buf_puts(b, "<g class=\"xf-static\" role=\"img\" aria-label=\"");
	buf_xmls(b, opt_title(opts));
	buf_puts(b, "\">\n");
	if (memcmp(&pal->paper[0], &pal->paper[1], sizeof(pal->paper[0]))) {
		buf_puts(b,
			 "<linearGradient id=\"xf-paper\" y2=\"1\" x2=\"0\"><stop stop-color=\"");
		buf_rgb(b, pal->paper[0]);
		buf_puts(b, "\"/><stop offset=\"1\" stop-color=\"");
		buf_rgb(b, pal->paper[1]);
		buf_puts(b, "\"/></linearGradient>\n<rect class=\"xf-paper\" width=\"100%\" "
			    "height=\"100%\" fill=\"url(#xf-paper)\"/>\n");
	} else {
		buf_puts(b, "<rect class=\"xf-paper\" width=\"100%\" height=\"100%\" fill=\"");
		buf_rgb(b, pal->paper[0]);
		buf_puts(b, "\"/>\n");
	}
	put_text(b, "50%", pic->title_y,
		 " text-anchor=\"middle\" font-size=\"17\" font-family=\"sans-serif\" "
		 "fill=\"#1b1f24\" class=\"xf-ink\"",
		 opt_title(opts));
	if (pic->subtitle_y > 0)
		put_text(b, "50%", pic->subtitle_y,
			 " text-anchor=\"middle\" font-size=\"12\" font-family=\"sans-serif\" "
			 "fill=\"#57606a\" class=\"xf-soft\"",
			 opts->subtitle);
	put_legend(b, in, opts, pal, pic);
	buf_puts(b, "<svg x=\"");
	put_percent(b, pic->left / pic->width * 100);
	buf_puts(b, "\" width=\"");
	put_percent(b, pic->inner / pic->width * 100);
	buf_puts(b, "\"><g fill=\"#101316\" font-size=\"");
	buf_f(b, pic->font_size, 2);
	buf_puts(b, "\" font-family=\"");
	buf_xmls(b, opt_font(opts));
	buf_puts(b, "\">\n");
	for (i = 0; i < l->boxes.n; i++) {
		put_box(b, in, opts, pal, pic, l, &l->boxes.v[i], &tmp);
		out_flush_if_full(o);
	}
	buf_puts(b, "</g></svg>\n");
	put_foot(b, in, pic, l);
	buf_puts(b, "</g>\n");
	buf_release(&tmp);
}

static int draw_svg(struct out *o, const struct render_input *in, const struct render_opts *opts,
		    struct error *err)
{
	struct frame_of_picture pic;
	struct palette pal;
	struct layout l;
	struct buf *b = &o->buf;

	if (palette_init(&pal, in, opts, err)) {
		palette_release(&pal);
		return -1;
	}
	picture_init(&pic, in->view, opts);
	layout_init(&l, in->view, pic.inner, opt_min_width(opts));
	layout_keep(&l, in->view, STATIC_MIN, STATIC_BOXES);
	picture_rows(&pic, l.rows);

	buf_puts(b, "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n"
		    "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"");
	buf_f(b, pic.width, 0);
	buf_puts(b, "\" height=\"");
	buf_f(b, pic.height, 1);
	buf_puts(b, "\">\n");
	page_comments(b, static_css);
	buf_puts(b, "<title>");
	buf_xmls(b, opt_title(opts));
	buf_puts(b, "</title>\n");
	page_style(b, static_css);
	out_flush_if_full(o);
	data_block(o, in, opts, &pal, false);
	out_puts(o, "<script><![CDATA[\n");
	out_puts(o, VIEWER_JS);
	out_puts(o, "]]></script>\n");
	put_picture(o, in, opts, &pal, &pic, &l);
	out_puts(o, "</svg>\n");
	layout_release(&l);
	palette_release(&pal);
	return 0;
}

static int write_svg(struct out *o, const struct render_input *in, const struct render_opts *opts,
		     struct error *err)
{
	struct picture_input pi;
	int ret = picture_begin(&pi, in, opts, err);

	if (!ret)
		ret = draw_svg(o, &pi.in, opts, err);
	picture_end(&pi);
	return ret;
}

const struct render_writer writer_svg = {
	.name = "svg",
	.suffixes = ".svg",
	.help = "interactive picture; readable without scripts too",
	.decimals = true,
	.binary = true,
	.write = write_svg,
};
