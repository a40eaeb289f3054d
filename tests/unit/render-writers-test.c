/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SVG, HTML, PNG, PDF and text as files: well-formed whatever the names are, the same twice,
 * options honoured. */
#include "config.h"

#ifdef HAVE_LIBXML2
#include <libxml/parser.h>
#include <libxml/tree.h>
#endif

#include "render/graph.h"
#include "tests/unit/export-test.h"

static struct fixture fx;
static struct view view;

static void write_to(struct buf *b, const char *format, const struct render_opts *o)
{
	static const struct render_quality quality[] = { { "lost", "5 samples lost ]]></script><b>",
							   5, true } };
	static const struct render_fact facts[] = { { "host", "</script>&\x01" } };
	struct render_input in = { .profile = &fx.p,
				   .view = &view,
				   .facts = facts,
				   .nr_facts = 1,
				   .quality = quality,
				   .nr_quality = 1 };
	const struct render_writer *w = render_writer_by_name(format);
	struct out out;

	buf_clear(b);
	out_open_mem(&out, b);
	OK(w != NULL);
	if (!w)
		return;
	fx.err.msg[0] = 0;
	if (w->write(&out, &in, o, &fx.err)) {
		out_abort(&out);
		return;
	}
	OK(!out_close(&out, &fx.err));
}

static size_t count_of(const char *hay, const char *needle)
{
	size_t n = 0;

	for (; (hay = strstr(hay, needle)); hay += strlen(needle))
		n++;
	return n;
}

static void make_view(const char *const *stacks, size_t n)
{
	struct view_opts vo = { .event = 0 };
	size_t i;

	fixture_init(&fx);
	fx.p.unit = "samples";
	for (i = 0; i < n; i++)
		fixture_add(&fx, "cycles", stacks[i], i + 1);
	OK(!view_build(&view, &fx.p, &vo, &fx.err));
}

static void done_view(void)
{
	view_release(&view);
	fixture_release(&fx);
}

#ifdef HAVE_LIBXML2
static void quiet(void *ctx, const char *msg, ...)
{
	(void)ctx;
	(void)msg;
}

static bool well_formed(const struct buf *b)
{
	xmlDocPtr doc;
	bool ok;

	xmlSetGenericErrorFunc(NULL, quiet);
	doc = xmlReadMemory(b->p, (int)b->n, "x.svg", NULL,
			    XML_PARSE_NONET | XML_PARSE_HUGE | XML_PARSE_NOERROR);
	ok = doc != NULL;
	xmlFreeDoc(doc);
	return ok;
}
#endif

/* Every byte in a name, and the sequences that end something in XML, HTML or JSON. */
static void test_names(void)
{
	static const char *const stacks[] = {
		"G comm|U <script>",
		"G comm|U </script>",
		"G comm|U ]]>",
		"G comm|U -->",
		"G comm|U \"'><&",
		"G comm|H \\",
		"G comm|H \xff\xfe\xed\xa0\x80",
		"G comm|H \xef\xbf\xbe\xef\xbf\xbf",
		"G comm|I \xe2\x80\xa8\xe2\x80\xa9",
		"G ]]>|K a",
	};
	static const char evil[] = "]]></style></script><b a=\"'\" &x; -- \x01\xff";
	struct render_opts o = { .title = evil,
				 .subtitle = evil,
				 .notes = evil,
				 .font = evil,
				 .count_name = evil,
				 .name_type = evil,
				 .min_width = -1 };
	struct buf b = BUF_INIT, c = BUF_INIT;
	char all[300] = "G comm|U ";
	const char *formats[] = { "svg", "html", "text", "png", "pdf" };
	size_t i, n = 9;

	make_view(stacks, ARRAY_SIZE(stacks));
	for (i = 1; i < 256; i++)
		if (i != '|')
			all[n++] = (char)i;
	all[n] = 0;
	fixture_add(&fx, "cycles", all, 7);
	view_release(&view);
	OK(!view_build(&view, &fx.p, &(struct view_opts){ .event = 0 }, &fx.err));

	for (i = 0; i < ARRAY_SIZE(formats); i++) {
		if (!render_writer_by_name(formats[i]))
			continue;
		write_to(&b, formats[i], &o);
		STR_EQ(fx.err.msg, "");
		write_to(&c, formats[i], &o);
		OK(b.n > 100 && b.n == c.n && !memcmp(b.p, c.p, b.n));
		if (i > 1)
			continue;
		OK(utf8_valid(b.p, b.n));
		/* Elements are ours: one data block, one script; none by a name. */
		buf_putc(&b, 0);
		EQ(count_of(b.p, "<script"), 2);
		EQ(count_of(b.p, "</script>"), 2);
		EQ(count_of(b.p, "<b a="), 0);
		EQ(count_of(b.p, "]]>"), i == 0 ? 1 : 0);
		b.n--;
#ifdef HAVE_LIBXML2
		if (i == 0) {
			OK(well_formed(&b));
			/* The check can fail. */
			buf_puts(&b, "<");
			OK(!well_formed(&b));
		}
#endif
	}
	buf_release(&b);
	buf_release(&c);
	done_view();
}

static void test_options(void)
{
	static const char *const stacks[] = { "G comm|U main|H hv", "G comm|U main|K kernel",
					      "G comm|U other" };
	struct render_opts o = { .min_width = -1 };
	struct buf b = BUF_INIT;

	make_view(stacks, ARRAY_SIZE(stacks)); /* 1 + 2 + 3 */
	write_to(&b, "svg", &o);
	OK(strstr(buf_str(&b), "width=\"1200\"") != NULL);
	OK(strstr(buf_str(&b), "<title>hv_[h] (1 sample, 16.67%)&#10;xen-syms") != NULL);
	OK(strstr(buf_str(&b), ">Flame graph</text>") != NULL);
	OK(strstr(buf_str(&b), " style=") == NULL);
	OK(strstr(buf_str(&b), " onload=") == NULL && strstr(buf_str(&b), " onclick=") == NULL);
	OK(strstr(buf_str(&b), "innerHTML") == NULL);
	OK(strstr(buf_str(&b), "type=\"application/json\"") != NULL);

	o.title = "T";
	o.subtitle = "S";
	o.count_name = "ticks";
	o.width = 800;
	o.frame_height = 20;
	o.font = "Courier";
	o.font_size = 10;
	o.factor = 1000;
	o.total = 12;
	o.annotate_all = true;
	o.background = "#123456";
	write_to(&b, "svg", &o);
	OK(strstr(buf_str(&b), "width=\"800\"") != NULL);
	OK(strstr(buf_str(&b), "height=\"19\"") != NULL);
	OK(strstr(buf_str(&b), ">T</text>") != NULL && strstr(buf_str(&b), ">S</text>") != NULL);
	OK(strstr(buf_str(&b), "font-size=\"10\" font-family=\"Courier\"") != NULL);
	OK(strstr(buf_str(&b), "<title>kernel_[k] (2000 ticks, 16.67%)") != NULL);
	OK(strstr(buf_str(&b), "fill=\"#123456\"") != NULL);

	/* Root at the top: rows the other way round. */
	{
		struct render_opts up = { .min_width = -1 },
				   down = { .min_width = -1, .icicle = true };
		struct frame_of_picture f;

		picture_init(&f, &(struct view){ 0 }, &up);
		OK(picture_y(&f, 4, 0) > picture_y(&f, 4, 3));
		picture_init(&f, &(struct view){ 0 }, &down);
		OK(picture_y(&f, 4, 0) < picture_y(&f, 4, 3));
	}
	o.colors = "none such";
	write_to(&b, "svg", &o);
	STR_EQ(fx.err.msg, "no palette 'none such'");
	done_view();

	/* Large data are packed, unless plain ones are asked for. */
	o = (struct render_opts){ .min_width = -1 };
	make_view(stacks, ARRAY_SIZE(stacks));
	{
		char name[64];
		int i;

		for (i = 0; i < 2000; i++) {
			snprintf(name, sizeof(name), "G comm|U function_%d", i);
			fixture_add(&fx, "cycles", name, 3);
		}
	}
	view_release(&view);
	OK(!view_build(&view, &fx.p, &(struct view_opts){ .event = 0 }, &fx.err));
	write_to(&b, "html", &o);
	OK(strstr(buf_str(&b), "data-encoding=\"gzip+base85\"") != NULL);
	o.plain_data = true;
	write_to(&b, "html", &o);
	OK(strstr(buf_str(&b), "type=\"application/json\"") != NULL);
	OK(strstr(buf_str(&b), "\"function_0\"") != NULL);
	buf_release(&b);
	done_view();
}

static void test_text(void)
{
	static const char *const stacks[] = { "G comm|U main|H hv\x1b[31m\xe2\x80\xae",
					      "G comm|U main|K kernel", "G comm|U main|U main" };
	struct render_opts o = { .min_width = -1, .columns = 60 };
	struct buf b = BUF_INIT;
	const char *p, *eol;

	make_view(stacks, ARRAY_SIZE(stacks));
	write_to(&b, "text", &o);
	OK(strchr(buf_str(&b), '\x1b') == NULL);
	OK(strstr(buf_str(&b), "hv?[31m?_[h]") != NULL);
	OK(strstr(buf_str(&b), "  50.00% 100.00%  main") !=
	   NULL); /* self 3 of 6, total 6: recursion once */
	OK(strstr(buf_str(&b), "5 samples lost") != NULL);
	for (p = buf_str(&b); *p; p = eol + 1) {
		eol = strchr(p, '\n');
		if (!eol)
			break;
		OK(eol - p <= 62); /* "…" and such are longer in bytes */
	}
	o.color = true;
	write_to(&b, "text", &o);
	OK(strstr(buf_str(&b), "\x1b[38;5;208mhv?") != NULL);
	buf_release(&b);
	done_view();
}

static void test_pictures(void)
{
	static const char *const stacks[] = { "G comm|U main|H hv", "G comm|U main|K kernel" };
	struct render_opts o = { .min_width = -1, .scale = 2, .width = 300 };
	struct buf b = BUF_INIT;

	if (!render_writer_by_name("png")) {
		OK(!render_writer_by_path("x.pdf"));
		return;
	}
	make_view(stacks, ARRAY_SIZE(stacks));
	write_to(&b, "png", &o);
	OK(b.n > 24 && !memcmp(b.p, "\x89PNG\r\n\x1a\n", 8));
	if (b.n > 24)
		EQ((u8)b.p[18] << 8 | (u8)b.p[19], 600);
	o.scale = 1000;
	write_to(&b, "png", &o);
	OK(strstr(fx.err.msg, "is too large") != NULL);
	o.scale = 1;
	write_to(&b, "pdf", &o);
	OK(b.n > 100 && !memcmp(b.p, "%PDF-", 5));
	buf_release(&b);
	done_view();
}

static void test_empty(void)
{
	struct render_opts o = { .min_width = -1 };
	const struct render_writer *const *w;
	struct buf b = BUF_INIT;

	make_view(NULL, 0);
	for (w = render_writers(); *w; w++) {
		write_to(&b, (*w)->name, &o);
		STR_EQ(fx.err.msg, "");
	}
	buf_release(&b);
	done_view();
}

int main(void)
{
	test_names();
	test_options();
	test_text();
	test_pictures();
	test_empty();
#ifdef HAVE_LIBXML2
	xmlCleanupParser();
#endif
	return tap_done();
}
