/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PNG and PDF by cairo: the picture of svg.c, box for box, without its limit on their number.
 * Text in the PDF is text; the same input gives the same bytes.
 */
#include <cairo.h>
#include <cairo-pdf.h>

#include "render/graph.h"

#if CAIRO_VERSION >= CAIRO_VERSION_ENCODE(1, 16, 0)
#define CAIRO_METADATA(F) F(cairo_, pdf_surface_set_metadata)
#else
#define CAIRO_METADATA(F)
#endif
#define CAIRO_FUNCTIONS(F)                       \
	F(cairo_, create)                        \
	F(cairo_, destroy)                       \
	F(cairo_, fill)                          \
	F(cairo_, fill_preserve)                 \
	F(cairo_, font_options_create)           \
	F(cairo_, font_options_destroy)          \
	F(cairo_, font_options_set_hint_metrics) \
	F(cairo_, image_surface_create)          \
	F(cairo_, move_to)                       \
	F(cairo_, paint)                         \
	F(cairo_, pattern_add_color_stop_rgb)    \
	F(cairo_, pattern_create_linear)         \
	F(cairo_, pattern_destroy)               \
	F(cairo_, pdf_surface_create_for_stream) \
	F(cairo_, rectangle)                     \
	F(cairo_, scale)                         \
	F(cairo_, select_font_face)              \
	F(cairo_, set_font_options)              \
	F(cairo_, set_font_size)                 \
	F(cairo_, set_line_width)                \
	F(cairo_, set_source)                    \
	F(cairo_, set_source_rgb)                \
	F(cairo_, show_page)                     \
	F(cairo_, show_text)                     \
	F(cairo_, status)                        \
	F(cairo_, status_to_string)              \
	F(cairo_, stroke)                        \
	F(cairo_, surface_destroy)               \
	F(cairo_, surface_finish)                \
	F(cairo_, surface_status)                \
	F(cairo_, surface_write_to_png_stream)   \
	F(cairo_, text_extents)                  \
	CAIRO_METADATA(F)
LIBRARY(cairo, SONAME_CAIRO, "PNG or PDF", CAIRO_FUNCTIONS);

#define MAX_SIDE   32767        /* px: what cairo's images can hold */
#define MAX_PIXELS (256u << 20) /* 1 GiB of memory */

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
/* fontconfig keeps a few patterns to the end of the program, out of sight of the leak checker. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libfontconfig\n";
}

const char *__lsan_default_options(void);
const char *__lsan_default_options(void)
{
	return "print_suppressions=0";
}
#endif

struct canvas {
	cairo_t *cr;
	struct rgb paper[2], ink, soft, label;
	bool dark;
	double ascii[95]; /* advances at the font's size */
};

static void set_rgb(cairo_t *cr, struct rgb c)
{
	cairo.set_source_rgb(cr, c.r / 255.0, c.g / 255.0, c.b / 255.0);
}

/* cairo takes only valid UTF-8 without noncharacters, and a NUL would end the text: these and
 * control characters become U+FFFD. */
static const char *clean(struct buf *to, const char *s, size_t n)
{
	size_t i = 0;

	buf_clear(to);
	while (i < n) {
		u32 cp;
		int len = utf8_next(s + i, n - i, &cp);

		if (!len || cp < 0x20 || (cp >= 0x7f && cp < 0xa0) || (cp & 0xfffe) == 0xfffe ||
		    (cp >= 0xfdd0 && cp <= 0xfdef))
			buf_puts(to, "\xef\xbf\xbd");
		else
			buf_put(to, s + i, (size_t)len);
		i += len ? (size_t)len : 1;
	}
	return buf_str(to);
}

static double width_of(cairo_t *cr, const char *s)
{
	cairo_text_extents_t e;

	cairo.text_extents(cr, s, &e);
	return e.x_advance;
}

static void measure(struct canvas *c)
{
	char s[2] = "";
	int i;

	for (i = 0; i < 95; i++) {
		s[0] = (char)(' ' + i);
		c->ascii[i] = width_of(c->cr, s);
	}
}

static double char_advance(const struct canvas *c, const char *s, size_t len)
{
	char t[5];

	if (len == 1)
		return c->ascii[(u8)s[0] - ' '];
	memcpy(t, s, len);
	t[len] = 0;
	return width_of(c->cr, t);
}

/* Cuts the clean text in b to `room` px, with "…"; false when less than two characters would be
 * left. */
static bool cut(const struct canvas *c, struct buf *b, double room)
{
	double w = 0, dots = char_advance(c, "\xe2\x80\xa6", 3);
	size_t i = 0, fits = 0, chars = 0;

	while (i < b->n) {
		u32 cp;
		size_t len = (size_t)utf8_next(b->p + i, b->n - i, &cp);

		w += char_advance(c, b->p + i, len);
		if (w > room)
			break;
		i += len;
		if (w + dots <= room) {
			fits = i;
			chars++;
		}
	}
	if (i == b->n)
		return b->n > 0;
	if (chars < 2)
		return false;
	b->n = fits;
	buf_puts(b, "\xe2\x80\xa6");
	return true;
}

static void set_font(cairo_t *cr, const char *family, bool slanted, double size)
{
	cairo.select_font_face(cr, family,
			       slanted ? CAIRO_FONT_SLANT_ITALIC : CAIRO_FONT_SLANT_NORMAL,
			       CAIRO_FONT_WEIGHT_NORMAL);
	cairo.set_font_size(cr, size);
}

static void draw_text(struct canvas *c, double x, double y, struct rgb color, const char *text,
		      bool centered)
{
	set_rgb(c->cr, color);
	cairo.move_to(c->cr, centered ? x - width_of(c->cr, text) / 2 : x, y);
	cairo.show_text(c->cr, text);
}

static struct rgb box_color(const struct canvas *c, const struct render_input *in,
			    const struct render_opts *opts, const struct palette *pal, u32 node)
{
	struct color_pair p = palette_box(pal, in->view, node, opts->negate);

	return c->dark ? p.dark : p.light;
}

static void draw_boxes(struct canvas *c, const struct render_input *in,
		       const struct render_opts *opts, const struct palette *pal,
		       const struct frame_of_picture *pic, const struct layout *l)
{
	struct buf name = BUF_INIT, label = BUF_INIT;
	char *family = NULL;
	bool slanted = false;
	size_t i;

	clean(&name, opt_font(opts), strlen(opt_font(opts)));
	family = xstrdup(buf_str(&name));
	set_font(c->cr, family, false, pic->font_size);
	measure(c);
	for (i = 0; i < l->boxes.n; i++) {
		const struct box *b = &l->boxes.v[i];

		set_rgb(c->cr, box_color(c, in, opts, pal, b->node));
		cairo.rectangle(c->cr, pic->left + b->x, picture_y(pic, l->rows, b->depth),
				b->w > 2 ? b->w - 0.5 : b->w, pic->row - 1);
		cairo.fill(c->cr);
	}
	for (i = 0; i < l->boxes.n; i++) {
		const struct box *b = &l->boxes.v[i];
		bool inlined = b->node &&
			       in->profile->frames.v[in->view->nodes.v[b->node].frame].flags &
				       FRAME_INLINED;

		if (b->w < 12)
			continue;
		buf_clear(&name);
		box_name(&name, in, opts, b->node);
		clean(&label, name.p, name.n);
		if (!cut(c, &label, b->w - 6))
			continue;
		if (inlined != slanted)
			set_font(c->cr, family, inlined, pic->font_size);
		slanted = inlined;
		draw_text(c, pic->left + b->x + 3,
			  picture_y(pic, l->rows, b->depth) + (pic->row - 1) / 2 +
				  pic->font_size * 0.3,
			  c->label, buf_str(&label), false);
	}
	free(family);
	buf_release(&name);
	buf_release(&label);
}

/* An entry of the legend; its width with the room behind it. */
static double draw_key(struct canvas *c, double x, double y, const char *text,
		       const struct color_pair *color)
{
	double swatch = color ? 16 : 0;

	if (color) {
		cairo.rectangle(c->cr, x, y - 10, 11, 11);
		set_rgb(c->cr, c->dark ? color->dark : color->light);
		cairo.fill_preserve(c->cr);
		set_rgb(c->cr, (struct rgb){ 0x5b, 0x60, 0x67 });
		cairo.set_line_width(c->cr, 0.5);
		cairo.stroke(c->cr);
	}
	draw_text(c, x + swatch, y, c->ink, text, false);
	/* Where SVG has the next one, whatever the widths of this machine's font are. */
	return swatch + label_width(text, strlen(text), "sans-serif", 12) + 18;
}

static void draw_legend(struct canvas *c, const struct render_input *in,
			const struct render_opts *opts, const struct palette *pal,
			const struct frame_of_picture *pic)
{
	u64 by_class[CLASS_NR], total = in->view->nodes.n ? in->view->nodes.v[0].total : 0;
	bool swatches = palette_tells_classes(pal, in->view);
	struct buf text = BUF_INIT, line = BUF_INIT;
	struct color_pair color;
	double x = pic->left;
	const char *key;
	size_t k;
	int i;

	view_weight_by_class(in->view, by_class);
	set_font(c->cr, "sans-serif", false, 12);
	for (i = 0; i < CLASS_NR; i++) {
		if (!by_class[i])
			continue;
		buf_clear(&text);
		buf_printf(&text, "%s ", color_class_name((enum color_class)i));
		buf_share(&text, by_class[i], total);
		x += draw_key(c, x, pic->legend_y, buf_str(&text),
			      swatches ? &pal->colors.v[pal->classes[i]] : NULL);
	}
	for (k = 0; in->view->is_diff && diff_key(in->view, opts->negate, k, &key, &color); k++)
		x += draw_key(c, x, pic->legend_y, key, k < DIFF_KEY_COLORS ? &color : NULL);
	if (pic->note_y > 0) {
		buf_clear(&text);
		diff_note(&text, in->view);
		measure(c);
		clean(&line, text.p, text.n);
		if (cut(c, &line, pic->inner))
			draw_key(c, pic->left, pic->note_y, buf_str(&line), NULL);
	}
	buf_release(&text);
	buf_release(&line);
}

static void draw_foot(struct canvas *c, const struct render_input *in,
		      const struct frame_of_picture *pic, const struct layout *l)
{
	struct buf t = BUF_INIT, line = BUF_INIT;

	if (in->nr_quality) {
		buf_plural(&t, "%n remark{|s} on quality (", in->nr_quality, "");
		buf_puts(&t, in->quality[0].text);
		buf_puts(&t, in->nr_quality > 1 ? " \xe2\x80\xa6)  " : ")  ");
	}
	if (l->left_out) {
		buf_count(&t, l->left_out, &(struct render_opts){ .factor = 1 });
		buf_plural(&t, " box{ is|es are} too narrow to be drawn.", l->left_out, "");
	}
	if (t.n) {
		set_font(c->cr, "sans-serif", false, 11);
		measure(c);
		clean(&line, t.p, t.n);
		if (cut(c, &line, pic->inner))
			draw_text(c, pic->left, pic->foot_y, c->soft, buf_str(&line), false);
	}
	buf_release(&t);
	buf_release(&line);
}

static void draw_paper(struct canvas *c, const struct frame_of_picture *pic)
{
	cairo_pattern_t *p = cairo.pattern_create_linear(0, 0, 0, pic->height);
	int i;

	for (i = 0; i < 2; i++)
		cairo.pattern_add_color_stop_rgb(p, i, c->paper[i].r / 255.0, c->paper[i].g / 255.0,
						 c->paper[i].b / 255.0);
	cairo.set_source(c->cr, p);
	cairo.paint(c->cr);
	cairo.pattern_destroy(p);
}

static void draw(cairo_t *cr, const struct render_input *in, const struct render_opts *opts,
		 const struct palette *pal, const struct frame_of_picture *pic,
		 const struct layout *l)
{
	struct canvas c = {
		.cr = cr,
		.dark = opts->dark,
		.paper = { pal->paper[0], pal->paper[1] },
		.ink = { 0x1b, 0x1f, 0x24 },
		.soft = { 0x57, 0x60, 0x6a },
		.label = { 0x10, 0x13, 0x16 },
	};
	cairo_font_options_t *fo = cairo.font_options_create();
	struct buf text = BUF_INIT;

	if (c.dark) {
		c.paper[0] = c.paper[1] = (struct rgb){ 0x14, 0x17, 0x1c };
		c.ink = (struct rgb){ 0xe6, 0xe9, 0xed };
		c.soft = (struct rgb){ 0xa3, 0xad, 0xb8 };
	}
	/* Widths that do not depend on the scale: the same labels in PNG and PDF. */
	cairo.font_options_set_hint_metrics(fo, CAIRO_HINT_METRICS_OFF);
	cairo.set_font_options(cr, fo);
	cairo.font_options_destroy(fo);
	draw_paper(&c, pic);
	set_font(cr, "sans-serif", false, 17);
	draw_text(&c, pic->width / 2, pic->title_y, c.ink,
		  clean(&text, opt_title(opts), strlen(opt_title(opts))), true);
	if (pic->subtitle_y > 0) {
		set_font(cr, "sans-serif", false, 12);
		draw_text(&c, pic->width / 2, pic->subtitle_y, c.soft,
			  clean(&text, opts->subtitle, strlen(opts->subtitle)), true);
	}
	draw_legend(&c, in, opts, pal, pic);
	draw_boxes(&c, in, opts, pal, pic, l);
	draw_foot(&c, in, pic, l);
	buf_release(&text);
}

static cairo_status_t to_out(void *closure, const unsigned char *data, unsigned int n)
{
	struct out *o = closure;

	out_write(o, data, n);
	return CAIRO_STATUS_SUCCESS;
}

/* Draws on a surface and hands it to `finish`; cairo keeps the first error, told here. */
static int draw_on(cairo_surface_t *s, double scale, const struct render_input *in,
		   const struct render_opts *opts, const struct palette *pal,
		   const struct frame_of_picture *pic, const struct layout *l, struct error *err)
{
	cairo_t *cr = cairo.create(s);
	cairo_status_t status;

	cairo.scale(cr, scale, scale);
	draw(cr, in, opts, pal, pic, l);
	cairo.show_page(cr);
	status = cairo.status(cr);
	cairo.destroy(cr);
	if (status)
		return error_set(err, "drawing: %s", cairo.status_to_string(status));
	return 0;
}

static int write_png(struct out *o, const struct render_input *in, const struct render_opts *opts,
		     const struct palette *pal, const struct frame_of_picture *pic,
		     const struct layout *l, struct error *err)
{
	double scale = opts->scale > 0 ? opts->scale : 1, w = pic->width * scale,
	       h = pic->height * scale;
	cairo_surface_t *s;
	cairo_status_t status;
	int ret;

	if (w > MAX_SIDE || h > MAX_SIDE || w * h > MAX_PIXELS)
		return error_set(err,
				 "a PNG of %.0f x %.0f pixels is too large (at most %d each way); "
				 "a smaller --width or "
				 "--scale, or SVG, HTML and PDF, can show it",
				 w, h, MAX_SIDE);
	s = cairo.image_surface_create(CAIRO_FORMAT_RGB24, (int)(w + 0.999), (int)(h + 0.999));
	ret = draw_on(s, scale, in, opts, pal, pic, l, err);
	if (!ret) {
		status = cairo.surface_write_to_png_stream(s, to_out, o);
		if (status)
			ret = error_set(err, "writing PNG: %s", cairo.status_to_string(status));
	}
	cairo.surface_destroy(s);
	return ret;
}

static int write_pdf(struct out *o, const struct render_input *in, const struct render_opts *opts,
		     const struct palette *pal, const struct frame_of_picture *pic,
		     const struct layout *l, struct error *err)
{
	const double pt = 0.75; /* a px of CSS is 1/96 inch, a point 1/72 */
	struct buf title = BUF_INIT;
	cairo_surface_t *s;
	cairo_status_t status;
	int ret;

	s = cairo.pdf_surface_create_for_stream(to_out, o, pic->width * pt, pic->height * pt);
#if CAIRO_VERSION >= CAIRO_VERSION_ENCODE(1, 16, 0)
	/* A fixed date: the same graph is the same file. */
	cairo.pdf_surface_set_metadata(s, CAIRO_PDF_METADATA_CREATE_DATE, "2000-01-01T00:00:00Z");
	cairo.pdf_surface_set_metadata(s, CAIRO_PDF_METADATA_TITLE,
				       clean(&title, opt_title(opts), strlen(opt_title(opts))));
	cairo.pdf_surface_set_metadata(s, CAIRO_PDF_METADATA_CREATOR, "xenflame");
#endif
	ret = draw_on(s, pt, in, opts, pal, pic, l, err);
	cairo.surface_finish(s);
	status = cairo.surface_status(s);
	if (!ret && status)
		ret = error_set(err, "writing PDF: %s", cairo.status_to_string(status));
	cairo.surface_destroy(s);
	buf_release(&title);
	return ret;
}

static int draw_picture(struct out *o, const struct render_input *in,
			const struct render_opts *opts, bool pdf, struct error *err)
{
	struct frame_of_picture pic;
	struct palette pal;
	struct layout l;
	int ret;

	if (palette_init(&pal, in, opts, err)) {
		palette_release(&pal);
		return -1;
	}
	picture_init(&pic, in->view, opts);
	layout_init(&l, in->view, pic.inner, opt_min_width(opts));
	picture_rows(&pic, l.rows);
	ret = pdf ? write_pdf(o, in, opts, &pal, &pic, &l, err)
		  : write_png(o, in, opts, &pal, &pic, &l, err);
	layout_release(&l);
	palette_release(&pal);
	return ret;
}

static int write_picture(struct out *o, const struct render_input *in,
			 const struct render_opts *opts, bool pdf, struct error *err)
{
	struct picture_input pi;
	int ret;

	if (library_open(&cairo_library, err))
		return -1;
	ret = picture_begin(&pi, in, opts, err);
	if (!ret)
		ret = draw_picture(o, &pi.in, opts, pdf, err);
	picture_end(&pi);
	return ret;
}

static int png_write(struct out *o, const struct render_input *in, const struct render_opts *opts,
		     struct error *err)
{
	return write_picture(o, in, opts, false, err);
}

static int pdf_write(struct out *o, const struct render_input *in, const struct render_opts *opts,
		     struct error *err)
{
	return write_picture(o, in, opts, true, err);
}

const struct render_writer writer_png = {
	.name = "png",
	.suffixes = ".png",
	.help = "picture",
	.decimals = true,
	.binary = true,
	.write = png_write,
};

const struct render_writer writer_pdf = {
	.name = "pdf",
	.suffixes = ".pdf",
	.help = "picture for print",
	.decimals = true,
	.binary = true,
	.write = pdf_write,
};
