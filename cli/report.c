/* SPDX-License-Identifier: GPL-2.0-or-later */
/* xenflame report: a recording as text for a mail or a bug report, as Markdown, or as JSON. */
#include "cli/cli.h"

enum { OPT_JSON = OPTION_OF_VERB, OPT_MARKDOWN, OPT_TOP };

static const struct option_def own_options[] = {
	{ "markdown", OPT_MARKDOWN, ARG_NO, NULL, "Markdown, for issue trackers", "Report" },
	{ "json", OPT_JSON, ARG_NO, NULL, "for programs", NULL },
	{ "top", OPT_TOP, ARG_YES, "N", "lines of each list; 15 unless given", NULL },
	{ "help", 'h', ARG_NO, NULL, "this text", "Other" },
	{ NULL, 0, ARG_NO, NULL, NULL, NULL },
};

#define NAME_CHARS   90
#define STACKS       5
#define STACK_FRAMES 16

enum style { STYLE_TEXT, STYLE_MARKDOWN, STYLE_JSON };

struct report {
	struct draw_args draw;
	enum style style;
	size_t top;

	struct run *run;
	const struct view *view;
	struct summary sum;
	struct buf *out, tmp;
};

static void help(void)
{
	puts("usage: xenflame report [OPTION]... FILE\n"
	     "\n"
	     "Text for a mail or a bug report: what was recorded, how good it is, shares by space "
	     "and by\n"
	     "process, hypercalls, hottest functions and stacks. FILE is what 'xenflame FILE' "
	     "reads.");
	options_help(own_options);
	puts("\nOptions for output, input, symbols and view are those of 'xenflame --help'.\n"
	     "\nExit status: 0 done, 1 failed (with --strict also when degraded) or a condition "
	     "holds, 2 wrong usage.");
}

/* ---- pieces ---- */

/* A name from the input: no control characters, nothing that turns the direction of text, not too
 * long. */
static void put_text(struct report *r, const char *s, size_t n, bool code, size_t max)
{
	struct buf *b = r->out;
	size_t i = 0, chars = 0;

	if (code)
		buf_putc(b, '`');
	while (i < n) {
		u32 cp = 0;
		int len = utf8_next(s + i, n - i, &cp);

		if (++chars > max) {
			buf_puts(b, "...");
			break;
		}
		if (!len || cp < 0x20 || (cp >= 0x7f && cp < 0xa0) || cp == 0x200e ||
		    cp == 0x200f || (cp >= 0x2028 && cp <= 0x202e) ||
		    (cp >= 0x2066 && cp <= 0x2069) || cp == 0xfeff)
			buf_putc(b, '?');
		else if (r->style == STYLE_MARKDOWN && cp == '`')
			buf_putc(b, '\'');
		else if (r->style == STYLE_MARKDOWN && cp == '|')
			buf_puts(b, "\\|");
		else if (r->style == STYLE_MARKDOWN && !code && strchr("*_<>[]#\\", (int)cp) &&
			 cp < 0x80)
			buf_printf(b, "\\%c", (int)cp);
		else
			buf_put(b, s + i, (size_t)len);
		i += len ? (size_t)len : 1;
	}
	if (code)
		buf_putc(b, '`');
}

static void put_name(struct report *r, const char *s, size_t n, bool code)
{
	put_text(r, s, n, code, NAME_CHARS);
}

static void put_id(struct report *r, str_id id)
{
	put_name(r, strtab_get(&r->run->strings, id), strtab_len(&r->run->strings, id),
		 r->style == STYLE_MARKDOWN);
}

static void put_frame(struct report *r, frame_id id)
{
	buf_clear(&r->tmp);
	profile_frame_name(&r->run->profile, id, r->draw.render.annotate_all || r->run->annotated,
			   &r->tmp);
	put_name(r, buf_str(&r->tmp), r->tmp.n, r->style == STYLE_MARKDOWN);
}

/* "12.34%", without a sign when nothing can be said. */
static void put_share(struct report *r, u64 part)
{
	double share = r->sum.total ? 100.0 * (double)part / (double)r->sum.total : 0;

	buf_printf(r->out, r->style == STYLE_TEXT ? "%7.2f%%" : "%.2f%%", share);
}

static void put_weight(struct report *r, u64 w)
{
	u64 scale = r->run->profile.weight_scale;

	if (r->style == STYLE_TEXT)
		buf_printf(r->out, "  %10" PRIu64 "  ", scale > 1 ? w / scale : w);
	else
		buf_printf(r->out, "%" PRIu64, scale > 1 ? w / scale : w);
}

/* Heading of a list; `columns` as Markdown writes them ("Share | Weight | Name"). */
static void head(struct report *r, const char *title, const char *columns)
{
	const char *s;

	if (r->style == STYLE_TEXT) {
		buf_printf(r->out, "\n%s\n", title);
		return;
	}
	buf_printf(r->out, "\n### %s\n\n", title);
	if (!columns)
		return;
	buf_printf(r->out, "| %s |\n|", columns);
	for (s = columns; s; s = strchr(s, '|')) {
		s += *s == '|';
		buf_puts(r->out, strchr(s, '|') ? "---:|" : "---|");
	}
	buf_putc(r->out, '\n');
}

static void row(struct report *r)
{
	if (r->style == STYLE_MARKDOWN)
		buf_puts(r->out, "| ");
}

static void cell(struct report *r)
{
	if (r->style == STYLE_MARKDOWN)
		buf_puts(r->out, " | ");
}

static void end(struct report *r)
{
	buf_puts(r->out, r->style == STYLE_MARKDOWN ? " |\n" : "\n");
}

static void rest(struct report *r, size_t n)
{
	if (n > r->top)
		buf_printf(r->out,
			   r->style == STYLE_MARKDOWN ? "\n%zu more.\n" : "          (%zu more)\n",
			   n - r->top);
}

/* ---- text and Markdown ---- */

static void write_facts(struct report *r)
{
	size_t i;

	if (r->style == STYLE_MARKDOWN)
		buf_puts(r->out, "## xenflame report\n\n");
	for (i = 0; i < r->run->facts.n; i++) {
		const struct render_fact *f = &r->run->facts.v[i];

		buf_printf(r->out, r->style == STYLE_MARKDOWN ? "- %s: " : "%-14s ", f->key);
		put_text(r, f->value, strlen(f->value), false, SIZE_MAX);
		buf_putc(r->out, '\n');
	}
}

static void write_quality(struct report *r)
{
	struct buf line = BUF_INIT;
	size_t i;

	head(r, "Quality", NULL);
	if (!r->run->diag.entries.n)
		buf_puts(r->out, r->style == STYLE_MARKDOWN ? "Nothing to remark.\n"
							    : "  nothing to remark\n");
	for (i = 0; i < r->run->diag.entries.n; i++) {
		const struct diag_entry *e = &r->run->diag.entries.v[i];

		buf_clear(&line);
		diag_format(&r->run->diag, e, &line);
		buf_puts(r->out, r->style == STYLE_MARKDOWN ? "- " : "  ");
		buf_puts(r->out, diag_is_strict(e->kind) ? "warning: " : "note: ");
		if (r->style == STYLE_MARKDOWN)
			put_text(r, buf_str(&line), line.n, false, SIZE_MAX);
		else
			buf_puts(r->out, buf_str(&line));
		buf_putc(r->out, '\n');
	}
	buf_release(&line);
}

static void write_parts(struct report *r, const char *title, const char *what,
			const struct summary_part *p, size_t n)
{
	size_t i;

	head(r, title, what);
	for (i = 0; i < n && i < r->top; i++) {
		row(r);
		put_share(r, p[i].weight);
		cell(r);
		put_weight(r, p[i].weight);
		cell(r);
		put_id(r, p[i].name);
		if (p[i].idle)
			buf_printf(r->out, " (%.2f%% idle)",
				   100.0 * (double)p[i].idle / (double)r->sum.total);
		end(r);
	}
	rest(r, n);
}

static void write_spaces(struct report *r)
{
	int i;

	head(r, "Where the time goes", "Share | Weight | Space");
	for (i = 0; i < SPACE_NR; i++) {
		if (!r->sum.by_space[i])
			continue;
		row(r);
		put_share(r, r->sum.by_space[i]);
		cell(r);
		put_weight(r, r->sum.by_space[i]);
		cell(r);
		buf_puts(r->out, space_name((enum space)i));
		if (r->sum.idle_by_space[i])
			buf_printf(r->out, " (%.2f%% idle)",
				   100.0 * (double)r->sum.idle_by_space[i] / (double)r->sum.total);
		end(r);
	}
	row(r);
	put_share(r, r->sum.idle);
	cell(r);
	put_weight(r, r->sum.idle);
	cell(r);
	buf_puts(r->out, "of all this is idle");
	end(r);
}

static void write_hypercalls(struct report *r)
{
	const struct summary *s = &r->sum;
	u64 all = 0, idle = 0;
	size_t i;

	if (!s->hypercalls.n)
		return;
	for (i = 0; i < s->hypercalls.n; i++) {
		all += s->hypercalls.v[i].weight;
		idle += s->hypercalls.v[i].idle ? s->hypercalls.v[i].weight : 0;
	}
	head(r, "Hypercalls of the kernel", "Share | Weight | Hypercall");
	for (i = 0; i < s->hypercalls.n && i < r->top; i++) {
		const struct summary_hypercall *h = &s->hypercalls.v[i];

		row(r);
		put_share(r, h->weight);
		cell(r);
		put_weight(r, h->weight);
		cell(r);
		put_id(r, h->caller);
		if (h->name) {
			buf_puts(r->out, " -> ");
			put_id(r, h->name);
		}
		if (h->idle)
			buf_puts(r->out, " (idle)");
		end(r);
	}
	rest(r, s->hypercalls.n);
	buf_printf(r->out,
		   r->style == STYLE_MARKDOWN
			   ? "\nIn hypercalls: %.2f%%, of it work %.2f%%, idle %.2f%%.\n"
			   : "  in hypercalls %.2f%%: work %.2f%%, idle %.2f%%\n",
		   100.0 * (double)all / (double)s->total,
		   100.0 * (double)(all - idle) / (double)s->total,
		   100.0 * (double)idle / (double)s->total);
}

/* The hypervisor by hypercall, or by all else that it is entered for. */
static void write_entries(struct report *r, bool hypercalls)
{
	const struct summary *s = &r->sum;
	size_t i, n = 0;

	for (i = 0; i < s->entries.n; i++) {
		const struct summary_entry *e = &s->entries.v[i];

		if ((e->kind == ENTRY_HYPERCALL) != hypercalls)
			continue;
		if (!n)
			head(r,
			     hypercalls ? "In the hypervisor, by hypercall"
					: "In the hypervisor, by exit and other reasons",
			     hypercalls ? "Share | Weight | Hypercall" : "Share | Weight | Reason");
		if (n++ >= r->top)
			continue;
		row(r);
		put_share(r, e->weight);
		cell(r);
		put_weight(r, e->weight);
		cell(r);
		if (!hypercalls)
			buf_printf(r->out, "%s: ", entry_kind_name(e->kind));
		put_id(r, e->name);
		if (e->idle)
			buf_printf(r->out, " (%.2f%% idle)",
				   100.0 * (double)e->idle / (double)s->total);
		end(r);
	}
	rest(r, n);
}

static void write_functions(struct report *r, bool by_total)
{
	size_t i;

	summary_sort_functions(&r->sum, r->view, by_total);
	head(r,
	     by_total ? "Hottest functions with what they call"
		      : "Hottest functions by their own time",
	     by_total ? "Total | Self | Function" : "Self | Total | Function");
	for (i = 0; i < r->sum.functions.n && i < r->top; i++) {
		const struct summary_function *f = &r->sum.functions.v[i];
		str_id module = r->run->profile.frames.v[f->frame].module;

		if (!by_total && !f->self)
			break;
		row(r);
		put_share(r, by_total ? f->total : f->self);
		cell(r);
		put_share(r, by_total ? f->self : f->total);
		cell(r);
		if (r->style == STYLE_TEXT)
			buf_puts(r->out, "  ");
		put_frame(r, f->frame);
		if (module) {
			buf_puts(r->out, "  ");
			put_id(r, module);
		}
		end(r);
	}
}

static void write_stacks(struct report *r)
{
	const struct view *v = r->view;
	bool markdown = r->style == STYLE_MARKDOWN;
	size_t i;

	head(r, "Hottest stacks, innermost function first", NULL);
	for (i = 0; i < r->sum.stacks.n; i++) {
		u32 node = r->sum.stacks.v[i], k;
		u64 self = v->nodes.v[node].self;

		if (markdown)
			buf_puts(r->out, i ? "\n- " : "- ");
		put_share(r, self);
		for (k = 0; node; node = v->nodes.v[node].parent, k++) {
			if (k == STACK_FRAMES && v->nodes.v[node].depth > 1) {
				buf_printf(r->out,
					   markdown ? ", %u more, " : "\n           (%u more)",
					   v->nodes.v[node].depth - 1);
				while (v->nodes.v[node].depth > 1)
					node = v->nodes.v[node].parent;
			}
			buf_puts(r->out, !markdown ? (k ? "\n           " : "   ")
					 : k       ? " < "
						   : " ");
			put_frame(r, v->nodes.v[node].frame);
		}
		buf_puts(r->out, markdown ? "" : "\n");
	}
	if (markdown)
		buf_putc(r->out, '\n');
}

static void write_text(struct report *r)
{
	write_facts(r);
	write_quality(r);
	write_spaces(r);
	write_parts(r, "By process", "Share | Weight | Process", r->sum.processes.v,
		    r->sum.processes.n);
	write_hypercalls(r);
	write_entries(r, true);
	write_entries(r, false);
	write_functions(r, false);
	write_functions(r, true);
	write_stacks(r);
}

/* ---- JSON ---- */

static void json_key(struct buf *b, const char *sep, const char *key)
{
	buf_puts(b, sep);
	buf_json(b, key, strlen(key));
	buf_putc(b, ':');
}

static void json_str(struct buf *b, const char *sep, const char *key, const char *value)
{
	json_key(b, sep, key);
	buf_json(b, value, strlen(value));
}

static void json_num(struct buf *b, const char *sep, const char *key, u64 value)
{
	json_key(b, sep, key);
	buf_u64(b, value);
}

static void json_parts(struct report *r, const char *key, const struct summary_part *p, size_t n)
{
	struct buf *b = r->out;
	size_t i;

	json_key(b, ",\n", key);
	buf_putc(b, '[');
	for (i = 0; i < n; i++) {
		buf_puts(b, i ? ",\n" : "\n");
		json_str(b, "{", "name", strtab_get(&r->run->strings, p[i].name));
		json_num(b, ",", "weight", p[i].weight);
		json_num(b, ",", "idle", p[i].idle);
		buf_putc(b, '}');
	}
	buf_putc(b, ']');
}

static void json_frame(struct report *r, const char *sep, frame_id id)
{
	const struct frame *f = &r->run->profile.frames.v[id];

	json_str(r->out, sep, "function", strtab_get(&r->run->strings, f->function));
	json_str(r->out, ",", "space", space_name((enum space)f->space));
	if (f->module)
		json_str(r->out, ",", "module", strtab_get(&r->run->strings, f->module));
}

static void write_json(struct report *r)
{
	struct summary *s = &r->sum;
	struct buf *b = r->out, line = BUF_INIT;
	size_t i;

	json_str(b, "{", "format", "xenflame-report");
	json_num(b, ",", "version", 1);
	json_str(b, ",\n", "generator", PACKAGE_STRING);
	json_key(b, ",\n", "facts");
	buf_putc(b, '[');
	for (i = 0; i < r->run->facts.n; i++) {
		buf_puts(b, i ? ",\n" : "\n");
		json_str(b, "{", "key", r->run->facts.v[i].key);
		json_str(b, ",", "value", r->run->facts.v[i].value);
		buf_putc(b, '}');
	}
	buf_putc(b, ']');
	json_key(b, ",\n", "quality");
	buf_putc(b, '[');
	for (i = 0; i < r->run->diag.entries.n; i++) {
		const struct diag_entry *e = &r->run->diag.entries.v[i];

		buf_clear(&line);
		diag_format(&r->run->diag, e, &line);
		buf_puts(b, i ? ",\n" : "\n");
		json_str(b, "{", "name", diag_name(e->kind));
		json_str(b, ",", "text", buf_str(&line));
		json_num(b, ",", "count", e->count);
		json_key(b, ",", "strict");
		buf_puts(b, diag_is_strict(e->kind) ? "true}" : "false}");
	}
	buf_putc(b, ']');
	json_str(b, ",\n", "unit", r->run->profile.unit);
	json_num(b, ",\n", "weight_scale",
		 r->run->profile.weight_scale ? r->run->profile.weight_scale : 1);
	json_num(b, ",\n", "total", s->total);
	json_num(b, ",\n", "idle", s->idle);
	json_key(b, ",\n", "spaces");
	buf_putc(b, '[');
	for (i = 0; i < SPACE_NR; i++) {
		buf_puts(b, i ? ",\n" : "\n");
		json_str(b, "{", "name", space_name((enum space)i));
		json_num(b, ",", "weight", s->by_space[i]);
		json_num(b, ",", "idle", s->idle_by_space[i]);
		buf_putc(b, '}');
	}
	buf_putc(b, ']');
	json_parts(r, "processes", s->processes.v, s->processes.n);
	json_key(b, ",\n", "hypercalls");
	buf_putc(b, '[');
	for (i = 0; i < s->hypercalls.n; i++) {
		buf_puts(b, i ? ",\n" : "\n");
		json_str(b, "{", "caller", strtab_get(&r->run->strings, s->hypercalls.v[i].caller));
		json_key(b, ",", "name");
		if (s->hypercalls.v[i].name)
			buf_json(b, strtab_get(&r->run->strings, s->hypercalls.v[i].name),
				 strtab_len(&r->run->strings, s->hypercalls.v[i].name));
		else
			buf_puts(b, "null");
		json_num(b, ",", "weight", s->hypercalls.v[i].weight);
		json_key(b, ",", "idle");
		buf_puts(b, s->hypercalls.v[i].idle ? "true}" : "false}");
	}
	buf_putc(b, ']');
	json_key(b, ",\n", "hypervisor_entries");
	buf_putc(b, '[');
	for (i = 0; i < s->entries.n; i++) {
		buf_puts(b, i ? ",\n" : "\n");
		json_str(b, "{", "kind", entry_kind_name(s->entries.v[i].kind));
		json_str(b, ",", "name", strtab_get(&r->run->strings, s->entries.v[i].name));
		json_num(b, ",", "weight", s->entries.v[i].weight);
		json_num(b, ",", "idle", s->entries.v[i].idle);
		buf_putc(b, '}');
	}
	buf_putc(b, ']');
	json_key(b, ",\n", "functions");
	buf_putc(b, '[');
	for (i = 0; i < s->functions.n; i++) {
		buf_puts(b, i ? ",\n" : "\n");
		json_frame(r, "{", s->functions.v[i].frame);
		json_num(b, ",", "self", s->functions.v[i].self);
		json_num(b, ",", "total", s->functions.v[i].total);
		buf_putc(b, '}');
	}
	buf_putc(b, ']');
	json_key(b, ",\n", "stacks");
	buf_putc(b, '[');
	for (i = 0; i < s->stacks.n; i++) {
		u32 node = s->stacks.v[i];
		const char *sep = "";

		buf_puts(b, i ? ",\n" : "\n");
		json_num(b, "{", "self", r->view->nodes.v[node].self);
		json_key(b, ",", "frames");
		buf_putc(b, '[');
		for (; node; node = r->view->nodes.v[node].parent, sep = ",") {
			buf_puts(b, sep);
			json_frame(r, "{", r->view->nodes.v[node].frame);
			buf_putc(b, '}');
		}
		buf_puts(b, "]}");
	}
	buf_puts(b, "]}\n");
	buf_release(&line);
}

/* ---- the verb ---- */

static int write_report(struct report *r, struct error *err)
{
	struct out out;

	if (r->draw.anonymous)
		draw_drop_identifying_facts(r->run);
	if (out_open(&out, r->draw.output ? r->draw.output : "-", err))
		return -1;
	r->out = &out.buf;
	summary_build(&r->sum, r->view, STACKS);
	if (r->style == STYLE_JSON)
		write_json(r);
	else
		write_text(r);
	summary_release(&r->sum);
	buf_release(&r->tmp);
	return out_close(&out, err);
}

static int report(struct report *r, const char *path)
{
	struct error err = { "" };
	struct view view = { 0 };
	int ret = EXIT_FAILED;
	bool degraded = false;
	struct run run;

	run_init(&run);
	r->run = &run;
	r->view = &view;
	if (run_read(&run, path, &r->draw.pipe, &err))
		goto out;
	r->draw.view.event = draw_pick_event(&run, &r->draw, &err);
	if (err.msg[0])
		goto out;
	run.profile.unit = draw_unit(&run, &r->draw, r->draw.view.event);
	if (view_build(&view, &run.profile, &r->draw.view, &err))
		goto out;
	if (!view.nodes.v[0].total) {
		error_set(&err, "'%s': no stack passes the filters", path);
		goto out;
	}
	draw_note_limits(&run, &(struct render_input){ .view = &view });
	if (write_report(r, &err))
		goto out;
	degraded = r->draw.strict && quality_has_strict(&run);
	ret = EXIT_DONE;
out:
	if (err.msg[0]) {
		if (!r->draw.quiet)
			quality_tell(&run, NULL);
		tell("%s", err.msg);
	} else if (degraded) {
		tell("--strict: the report has warnings");
	}
	if (ret == EXIT_DONE &&
	    (quality_gates_check(r->draw.gates, r->draw.nr_gates, &run) || degraded))
		ret = EXIT_FAILED;
	view_release(&view);
	run_release(&run);
	return ret;
}

static int run_report(int argc, char **argv)
{
	static struct option_def all[MAX_OPTIONS];
	static struct report r = { .top = 15 };
	const char *arg, *file;
	u64 v;
	int c;

	options_join(all, own_options);
	while ((c = options_next(argc, argv, all, &arg)) != -1) {
		if (options_answered(c, help))
			return EXIT_DONE;
		switch (c) {
		case OPT_JSON: r.style = STYLE_JSON; break;
		case OPT_MARKDOWN: r.style = STYLE_MARKDOWN; break;
		case OPT_TOP:
			if (option_whole("top", arg, 1, 100000, &v))
				return EXIT_USAGE;
			r.top = (size_t)v;
			break;
		default:
			if (c == '?' || draw_take_option(&r.draw, c, arg))
				return EXIT_USAGE;
		}
	}
	file = options_file(argc, argv);
	if (!file)
		file = draw_default_file();
	if (!file || options_file(argc, argv)) {
		tell("usage: xenflame report FILE ('xenflame report --help' says more)");
		return EXIT_USAGE;
	}
	if (r.draw.view.invert || r.draw.format || r.draw.open) {
		tell("report: --reverse, --format and --open have no meaning here");
		return EXIT_USAGE;
	}
	c = draw_keep_inputs(&r.draw, (const char *const[]){ file, NULL });
	if (c)
		return c;
	return report(&r, file);
}

const struct verb verb_report = {
	.name = "report",
	.help = "a recording as text for a mail or a bug report",
	.run = run_report,
};
