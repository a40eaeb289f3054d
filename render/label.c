/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text of the pictures: numbers, names, tips, defaults of the options. */
#include "render/graph.h"

/* XML 1.0, 2.2: the characters that a document may hold. */
static bool is_xml_char(u32 c)
{
	return c == '\t' || c == '\n' || c == '\r' || (c >= 0x20 && c <= 0xd7ff) ||
	       (c >= 0xe000 && c <= 0xfffd) || (c >= 0x10000 && c <= 0x10ffff);
}

void buf_xml(struct buf *b, const char *s, size_t n)
{
	size_t i = 0;

	while (i < n) {
		u32 cp;
		int len = utf8_next(s + i, n - i, &cp);

		if (!len || !is_xml_char(cp)) {
			buf_puts(b, "\xef\xbf\xbd");
			i += len ? (size_t)len : 1;
			continue;
		}
		switch (cp) {
		case '&': buf_puts(b, "&amp;"); break;
		case '<': buf_puts(b, "&lt;"); break;
		case '>': buf_puts(b, "&gt;"); break;
		case '"': buf_puts(b, "&quot;"); break;
		case '\'': buf_puts(b, "&#39;"); break;
		case '\t': buf_puts(b, "&#9;"); break;
		case '\n': buf_puts(b, "&#10;"); break;
		case '\r': buf_puts(b, "&#13;"); break;
		default: buf_put(b, s + i, (size_t)len);
		}
		i += (size_t)len;
	}
}

void buf_xmls(struct buf *b, const char *s)
{
	buf_xml(b, s, strlen(s));
}

void buf_count(struct buf *b, u64 v, const struct render_opts *opts)
{
	char digits[24];
	int n, i;

	if (opts->factor > 0 && opts->factor != 1) {
		buf_f(b, (double)v * opts->factor, 2);
		return;
	}
	n = snprintf(digits, sizeof(digits), "%" PRIu64, v);
	for (i = 0; i < n; i++) {
		buf_putc(b, digits[i]);
		if (i + 1 < n && (n - i - 1) % 3 == 0)
			buf_putc(b, ',');
	}
}

void buf_weight(struct buf *b, u64 v, const struct render_opts *opts, const struct profile *p)
{
	const char *unit = opt_count_name(opts, p);
	size_t at = b->n;

	buf_count(b, v, opts);
	if (b->n == at + 1 && b->p[at] == '1' && !strcmp(unit, "samples"))
		unit = "sample";
	buf_putc(b, ' ');
	buf_puts(b, unit);
}

void buf_share(struct buf *b, u64 part, u64 whole)
{
	buf_f(b, whole ? 100.0 * (double)part / (double)whole : 0, 2);
	buf_putc(b, '%');
}

const char *opt_title(const struct render_opts *opts)
{
	return opts->title ? opts->title : "Flame graph";
}

const char *opt_font(const struct render_opts *opts)
{
	return opts->font && *opts->font ? opts->font : "monospace";
}

const char *opt_count_name(const struct render_opts *opts, const struct profile *p)
{
	if (opts->count_name)
		return opts->count_name;
	return p->unit ? p->unit : "samples";
}

u64 opt_total(const struct render_opts *opts, const struct view *v)
{
	u64 total = v->nodes.n ? v->nodes.v[0].total : 0;

	return opts->total > total ? opts->total : total;
}

double opt_min_width(const struct render_opts *opts)
{
	return opts->min_width < 0 ? 0.1 : opts->min_width;
}

u32 opt_frame_height(const struct render_opts *opts)
{
	return opts->frame_height ? MIN(MAX(opts->frame_height, 4), 200) : 16;
}

double opt_font_size(const struct render_opts *opts)
{
	return opts->font_size > 0 ? MIN(MAX(opts->font_size, 2), 100) : 12;
}

void box_name(struct buf *b, const struct render_input *in, const struct render_opts *opts,
	      u32 node)
{
	if (!node)
		buf_puts(b, "all");
	else
		profile_frame_name(in->profile, in->view->nodes.v[node].frame, opts->annotate_all,
				   b);
}

void box_tip(struct buf *b, const struct render_input *in, const struct render_opts *opts, u32 node)
{
	const struct view_node *n = &in->view->nodes.v[node];
	const struct strtab *t = in->profile->strings;
	const struct frame *f;

	box_name(b, in, opts, node);
	buf_puts(b, " (");
	buf_weight(b, n->total, opts, in->profile);
	buf_puts(b, ", ");
	buf_share(b, n->total, opt_total(opts, in->view));
	buf_putc(b, ')');
	if (in->view->is_diff) {
		buf_putc(b, '\n');
		diff_tip(b, in->view, node);
	}
	if (!node)
		return;
	f = &in->profile->frames.v[n->frame];
	if (f->module) {
		buf_putc(b, '\n');
		buf_put(b, strtab_get(t, f->module), strtab_len(t, f->module));
	}
	if (f->file) {
		buf_puts(b, f->module ? "  " : "\n");
		buf_put(b, strtab_get(t, f->file), strtab_len(t, f->file));
		if (f->line) {
			buf_putc(b, ':');
			buf_u64(b, f->line);
		}
	}
}

void view_weight_by_class(const struct view *v, u64 by_class[CLASS_NR])
{
	size_t i;

	memset(by_class, 0, CLASS_NR * sizeof(*by_class));
	for (i = 0; i < v->nodes.n; i++) {
		const struct view_node *n = &v->nodes.v[i];
		enum color_class c = i ? color_class_of(&v->profile->frames.v[n->frame])
				       : CLASS_OTHER;

		by_class[c] += n->self;
	}
}
