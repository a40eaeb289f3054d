/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the pictures share: boxes, labels, escaping, colours. */
#include "render/graph.h"
#include "tests/unit/export-test.h"

static struct fixture fx;
static struct view view;

static void make_view(void)
{
	struct view_opts vo = { .event = 0 };

	fixture_init(&fx);
	/* a: 60 (b: 30 of it, c: 10), d: 40; 100 in all. */
	fixture_add(&fx, "cycles", "G x|U a", 20);
	fixture_add(&fx, "cycles", "G x|U a|K b", 30);
	fixture_add(&fx, "cycles", "G x|U a|H c", 10);
	fixture_add(&fx, "cycles", "G x|U d", 39);
	fixture_add(&fx, "cycles", "G x|U d|I e", 1);
	if (view_build(&view, &fx.p, &vo, &fx.err))
		printf("Bail out! %s\n", fx.err.msg);
}

/* Index of the box of a function, or -1. */
static int box_of(const struct layout *l, const char *name)
{
	size_t i;

	for (i = 1; i < l->boxes.n; i++)
		if (!strcmp(strtab_get(
				    &fx.strings,
				    fx.p.frames.v[view.nodes.v[l->boxes.v[i].node].frame].function),
			    name))
			return (int)i;
	return -1;
}

static bool near(double a, double b)
{
	return a - b < 1e-9 && b - a < 1e-9;
}

static void test_layout(void)
{
	struct layout l;
	size_t i, k;

	layout_init(&l, &view, 1000, 0);
	EQ(l.boxes.n, 7);
	EQ(l.rows, 4);
	EQ(l.left_out, 0);
	OK(near(l.boxes.v[0].x, 0) && near(l.boxes.v[0].w, 1000));
	OK(near(l.boxes.v[box_of(&l, "a")].x, 0) && near(l.boxes.v[box_of(&l, "a")].w, 600));
	OK(near(l.boxes.v[box_of(&l, "b")].x, 0) && near(l.boxes.v[box_of(&l, "b")].w, 300));
	OK(near(l.boxes.v[box_of(&l, "c")].x, 300) && near(l.boxes.v[box_of(&l, "c")].w, 100));
	OK(near(l.boxes.v[box_of(&l, "d")].x, 600) && near(l.boxes.v[box_of(&l, "d")].w, 400));
	OK(near(l.boxes.v[box_of(&l, "e")].x, 600) && near(l.boxes.v[box_of(&l, "e")].w, 10));
	/* Boxes of a row do not overlap, and stand on their parent. */
	for (i = 0; i < l.boxes.n; i++)
		for (k = 0; k < i; k++)
			if (l.boxes.v[i].depth == l.boxes.v[k].depth)
				OK(l.boxes.v[i].x >= l.boxes.v[k].x + l.boxes.v[k].w - 1e-9);
	layout_release(&l);

	/* What is narrower than asked for is left out, with all that stands on it. */
	layout_init(&l, &view, 1000, 10.5);
	EQ(box_of(&l, "e"), -1);
	EQ(l.left_out, 1);
	EQ(l.boxes.n, 6);
	layout_release(&l);

	/* The widest five: all, x, a, d, b. */
	layout_init(&l, &view, 1000, 0);
	layout_keep(&l, &view, 0, 5);
	EQ(l.boxes.n, 5);
	EQ(l.left_out, 2);
	OK(box_of(&l, "b") > 0 && box_of(&l, "c") < 0);
	EQ(l.rows, 4);
	layout_release(&l);
	/* Of equally wide ones the parent comes first. */
	layout_init(&l, &view, 1000, 0);
	layout_keep(&l, &view, 0, 1);
	EQ(l.boxes.n, 1);
	EQ(l.boxes.v[0].node, 0);
	/* Rows are those of all boxes. */
	EQ(l.rows, 4);
	layout_release(&l);
	layout_init(&l, &view, 1000, 0);
	layout_keep(&l, &view, 10.5, 100);
	EQ(box_of(&l, "e"), -1);
	EQ(l.left_out, 1);
	layout_release(&l);
}

static const char *xml(const char *s, size_t n)
{
	static struct buf b;

	buf_clear(&b);
	buf_xml(&b, s, n);
	return buf_str(&b);
}

static const char *fit(const char *s, double room)
{
	static struct buf b;

	buf_clear(&b);
	label_fit(&b, s, strlen(s), "monospace", 10, room);
	return buf_str(&b);
}

static void test_text(void)
{
	struct render_opts o = { .factor = 0 };
	struct buf b = BUF_INIT;

	STR_EQ(xml("<a href=\"x\">'&'", 15), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;");
	STR_EQ(xml("]]>", 3), "]]&gt;");
	STR_EQ(xml("a\0b\x1b\x7f", 5), "a\xef\xbf\xbd"
				       "b\xef\xbf\xbd\x7f");
	STR_EQ(xml("\xff\xc0\x80", 3), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	STR_EQ(xml("\xed\xa0\x80", 3), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	STR_EQ(xml("\xef\xbf\xbe\xef\xbf\xbf", 6), "\xef\xbf\xbd\xef\xbf\xbd");
	STR_EQ(xml("\xf0\x9f\x94\xa5\t\n\r", 7), "\xf0\x9f\x94\xa5&#9;&#10;&#13;");

	/* 6.02 px a character. */
	STR_EQ(fit("abcdef", 36.2), "abcdef");
	STR_EQ(fit("abcdef", 36), "abcd\xe2\x80\xa6");
	STR_EQ(fit("abcdef", 18.1), "ab\xe2\x80\xa6");
	STR_EQ(fit("abcdef", 18), "");
	STR_EQ(fit("abcdef", -5), "");
	STR_EQ(fit("", 100), "");
	/* Two cells each, and never half a character. */
	STR_EQ(fit("\xe6\xbc\xa2\xe5\xad\x97x", 31), "\xe6\xbc\xa2\xe5\xad\x97x");
	STR_EQ(fit("\xe6\xbc\xa2\xe5\xad\x97xx", 31), "\xe6\xbc\xa2\xe5\xad\x97\xe2\x80\xa6");
	OK(label_width("iiii", 4, "Verdana", 10) < label_width("WWWW", 4, "Verdana", 10));
	OK(near(label_width("iiii", 4, "Courier", 10),
		label_width("WWWW", 4, "DejaVu Sans Mono", 10)));

	buf_count(&b, 1234567, &o);
	buf_putc(&b, ' ');
	buf_count(&b, 999, &o);
	buf_putc(&b, ' ');
	buf_count(&b, UINT64_MAX, &o);
	o.factor = 0.001;
	buf_putc(&b, ' ');
	buf_count(&b, 1234567, &o);
	buf_putc(&b, ' ');
	buf_share(&b, 1, 3);
	buf_putc(&b, ' ');
	buf_share(&b, 0, 0);
	STR_EQ(buf_str(&b), "1,234,567 999 18,446,744,073,709,551,615 1234.57 33.33% 0%");
	buf_release(&b);
}

/* CIE L* of a colour. */
static double lightness(struct rgb c)
{
	double v[3] = { c.r / 255.0, c.g / 255.0, c.b / 255.0 }, y, r, k;
	int i, n;

	for (i = 0; i < 3; i++) {
		/* x ** 2.4 by Newton: r ** 5 = x ** 12 */
		double x = v[i] <= 0.04045 ? 0 : (v[i] + 0.055) / 1.055, x12 = x * x * x * x, t = 1;

		x12 = x12 * x12 * x12;
		for (n = 0; n < 200 && x > 0; n++)
			t -= (t * t * t * t * t - x12) / (5 * t * t * t * t);
		v[i] = x > 0 ? t : v[i] / 12.92;
	}
	y = 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2];
	for (r = 1, k = 0; k < 100; k++)
		r -= (r * r * r - y) / (3 * r * r);
	return 116 * r - 16;
}

static struct buf palette_text;

static int palette_of(struct palette *p, const char *name, const char *background, const char *file)
{
	struct render_opts o = { .colors = name,
				 .background = background,
				 .palette_file = file,
				 .palette_text = &palette_text };
	struct render_input in = { .profile = &fx.p, .view = &view };

	fx.err.msg[0] = 0;
	buf_clear(&palette_text);
	return palette_init(p, &in, &o, &fx.err);
}

static void test_palettes(void)
{
	const char *const *name;
	struct palette p;
	FILE *f;
	u32 i, k;

	for (name = render_palette_names(); *name; name++) {
		OK(!palette_of(&p, *name, NULL, NULL));
		for (i = 1; i < view.nodes.n; i++)
			OK(p.frame[view.nodes.v[i].frame] < p.colors.n);
		palette_release(&p);
	}
	/* By share: the colours of parents are as strong as those of children or stronger. */
	OK(!palette_of(&p, "share", NULL, NULL));
	OK(p.by_share && p.colors.n == SHARE_STEPS + 1 && !palette_tells_classes(&p, &view));
	for (i = 1; i < view.nodes.n; i++) {
		struct rgb c = palette_box(&p, &view, i, false).light,
			   at = palette_box(&p, &view, view.nodes.v[i].parent, false).light;

		OK(at.g <= c.g && at.b <= c.b);
	}
	EQ(palette_box(&p, &view, 0, false).light.g, p.colors.v[SHARE_STEPS].light.g);
	OK(lightness(p.colors.v[SHARE_STEPS].light) > 52 &&
	   lightness(p.colors.v[SHARE_STEPS].dark) > 49.5);
	palette_release(&p);
	OK(palette_of(&p, "purpel", NULL, NULL) == -1);
	STR_EQ(fx.err.msg, "no palette 'purpel'");
	palette_release(&p);
	OK(palette_of(&p, NULL, "url(javascript:x)", NULL) == -1);
	palette_release(&p);
	OK(!palette_of(&p, NULL, "#f0a", NULL));
	EQ(p.paper[0].r << 16 | p.paper[0].g << 8 | p.paper[0].b, 0xff00aa);
	palette_release(&p);

	/* xen: black text on each colour has a contrast of 4.5 at least (L* over 49.5), and
	 * lightness tells classes apart. */
	OK(!palette_of(&p, "xen", NULL, NULL));
	for (i = 0; i < p.colors.n; i++) {
		OK(lightness(p.colors.v[i].light) > 52);
		OK(lightness(p.colors.v[i].dark) > 49.5);
	}
	for (i = 0; i < CLASS_NR; i++)
		for (k = 0; k < i; k++)
			if (i != CLASS_OTHER && (i == CLASS_USER || k == CLASS_HV) && k != i) {
				double d = lightness(p.colors.v[p.classes[i]].light) -
					   lightness(p.colors.v[p.classes[k]].light);
				OK(d > 4 || d < -4);
			}
	palette_release(&p);

	/* A palette file fixes colours by title. */
	f = fopen("render-graph-test.map", "w");
	if (f) {
		fputs("a->rgb(1,2,3)\nc_[h]->rgb(4, 5, 6)\noperator->->rgb(7,8,9)\n", f);
		fclose(f);
	}
	OK(!palette_of(&p, "hot", NULL, "render-graph-test.map"));
	for (i = 1; i < view.nodes.n; i++) {
		const char *s = strtab_get(&fx.strings,
					   fx.p.frames.v[view.nodes.v[i].frame].function);
		struct rgb c = p.colors.v[p.frame[view.nodes.v[i].frame]].light;

		if (!strcmp(s, "a"))
			EQ(c.r << 16 | c.g << 8 | c.b, 0x010203);
		if (!strcmp(s, "c"))
			EQ(c.r << 16 | c.g << 8 | c.b, 0x040506);
		if (!strcmp(s, "d"))
			OK(c.r >= 205);
	}
	palette_release(&p);
	/* It is to get the functions that it did not name, sorted; they keep their colours. */
	OK(strstr(buf_str(&palette_text), "a->rgb(1,2,3)\n") == palette_text.p);
	OK(strstr(buf_str(&palette_text), "\nd->rgb(2") != NULL);
	OK(strstr(buf_str(&palette_text), "\noperator->->rgb(7,8,9)\n") != NULL);
	f = fopen("render-graph-test.map", "w");
	if (f) {
		fputs(buf_str(&palette_text), f);
		fclose(f);
	}
	OK(!palette_of(&p, "aqua", NULL, "render-graph-test.map"));
	for (i = 1; i < view.nodes.n; i++)
		if (!strcmp(strtab_get(&fx.strings, fx.p.frames.v[view.nodes.v[i].frame].function),
			    "d"))
			OK(p.colors.v[p.frame[view.nodes.v[i].frame]].light.r >= 205);
	palette_release(&p);
	EQ(palette_text.n, 0);
	remove("render-graph-test.map");
	/* The first time there is none.  Comparisons do not show the colours of functions. */
	OK(!palette_of(&p, "hot", NULL, "render-graph-test.map"));
	palette_release(&p);
	OK(strstr(buf_str(&palette_text), "a->rgb(2") != NULL);
	view.is_diff = true;
	OK(!palette_of(&p, "hot", NULL, "render-graph-test.map"));
	view.is_diff = false;
	palette_release(&p);
	EQ(palette_text.n, 0);
	f = fopen("render-graph-test.map", "w");
	if (f) {
		fputs("a->rgb(1,2,256)\n", f);
		fclose(f);
	}
	OK(palette_of(&p, "hot", NULL, "render-graph-test.map") == -1);
	STR_EQ(fx.err.msg, "'render-graph-test.map': line 1: not 'function->rgb(r,g,b)'");
	palette_release(&p);
	remove("render-graph-test.map");
	buf_release(&palette_text);
}

int main(void)
{
	make_view();
	test_layout();
	test_text();
	test_palettes();
	view_release(&view);
	fixture_release(&fx);
	return tap_done();
}
