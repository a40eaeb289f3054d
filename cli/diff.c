/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xenflame diff BEFORE AFTER, or BEFORE... -- AFTER...: recordings of two sides -> one picture or
 * table of what changed.
 */
#include <errno.h>
#include <unistd.h>

#include "cli/cli.h"

enum {
	OPT_NORMALIZE = OPTION_OF_VERB,
	OPT_CONFIDENCE,
	OPT_SLICES,
	OPT_WIDTH_BY,
	OPT_SUBTRACT,
	OPT_FAIL_IF,
	OPT_FAIL_IF_REGRESSED,
};

static const struct option_def own_options[] = {
	{ "normalize", OPT_NORMALIZE, ARG_YES, "total|time|none",
	  "compare shares of the whole (default), weight a second, or\nweights as they are",
	  "Comparison" },
	{ "width-by", OPT_WIDTH_BY, ARG_YES, "after|before|union",
	  "what widths in pictures are: AFTER (default; what has vanished has\nnone and is "
	  "listed), "
	  "BEFORE, or the larger of both in each stack",
	  NULL },
	{ "subtract", OPT_SUBTRACT, ARG_NO, NULL,
	  "AFTER minus BEFORE as a plain flame graph, in any format: what is\nless than nothing is "
	  "taken for nothing; weights as they are unless\n--normalize says otherwise",
	  NULL },
	{ "confidence", OPT_CONFIDENCE, ARG_YES, "PERCENT", "of the intervals; 99 unless given",
	  NULL },
	{ "slices", OPT_SLICES, ARG_YES, "N", "slices of time that show the noise; 20 unless given",
	  NULL },
	{ "fail-if", OPT_FAIL_IF, ARG_YES, "CONDITION",
	  "exit 1 when it holds: FRAME>+2% (percent of the whole more than\n"
	  "before), FRAME>5% (share after), FRAME>x1.5 (times before), or with\n"
	  "'<'; self:FRAME for its own weight; FRAME '*' is any (may repeat)",
	  NULL },
	{ "fail-if-regressed", OPT_FAIL_IF_REGRESSED, ARG_NO, NULL,
	  "exit 1 when the own weight of a function has grown beyond noise,\n"
	  "by 0.1% of the whole or more",
	  NULL },
	{ "help", 'h', ARG_NO, NULL, "this text", "Other" },
	{ NULL, 0, ARG_NO, NULL, NULL, NULL },
};

#define REGRESSED_PERCENT 0.1

struct diff_args {
	struct draw_args draw;
	struct diff_opts diff;
	struct gate gates[MAX_LIST];
	size_t nr_gates;
	bool fail_if_regressed, subtract, normalized;
};

/* The recordings of a side. */
struct side {
	const char *files[MAX_LIST + 1]; /* NULL-terminated */
	size_t nr_files;
	struct run *runs; /* n of them, once they are read */
	struct profile **profiles;
	size_t n;
};

static void help(void)
{
	puts("usage: xenflame diff [OPTION]... BEFORE AFTER [-o OUT]\n"
	     "       xenflame diff [OPTION]... [-o OUT] BEFORE... -- AFTER...\n"
	     "\n"
	     "Compares recordings of any builds and hosts: functions match by name, module and "
	     "space.\n"
	     "With several recordings a side, noise is what they differ by among themselves.\n"
	     "OUT may be any format; without it a table of what changed, and how surely, is "
	     "printed.");
	options_help(own_options);
	puts("\nOptions for output, input, symbols, view and picture are those of 'xenflame "
	     "--help'.\n"
	     "\nExit status: 0 done, 1 failed or a condition holds, 2 wrong usage.");
}

static int take_own(struct diff_args *a, int id, const char *arg)
{
	struct error err = { "" };
	double v;
	u64 whole;

	switch (id) {
	case OPT_NORMALIZE:
		a->normalized = true;
		if (!strcmp(arg, "total")) {
			a->diff.norm = DIFF_BY_TOTAL;
		} else if (!strcmp(arg, "time")) {
			a->diff.norm = DIFF_BY_TIME;
		} else if (!strcmp(arg, "none")) {
			a->diff.norm = DIFF_NONE;
		} else {
			tell("--normalize=%s: expected total, time or none", arg);
			return -1;
		}
		return 0;
	case OPT_WIDTH_BY:
		if (!strcmp(arg, "after")) {
			a->diff.width = DIFF_WIDTH_AFTER;
		} else if (!strcmp(arg, "before")) {
			a->diff.width = DIFF_WIDTH_BEFORE;
		} else if (!strcmp(arg, "union")) {
			a->diff.width = DIFF_WIDTH_UNION;
		} else {
			tell("--width-by=%s: expected after, before or union", arg);
			return -1;
		}
		return 0;
	case OPT_SUBTRACT: a->subtract = true; return 0;
	case OPT_CONFIDENCE:
		if (option_number("confidence", arg, 50, 99.9999, &v))
			return -1;
		a->diff.confidence = v / 100;
		return 0;
	case OPT_SLICES:
		if (option_whole("slices", arg, 5, 1000, &whole))
			return -1;
		a->diff.slices = (u32)whole;
		return 0;
	case OPT_FAIL_IF:
		if (a->nr_gates == ARRAY_SIZE(a->gates)) {
			tell("more than %d conditions", MAX_LIST);
			return -1;
		}
		if (gate_parse(&a->gates[a->nr_gates++], arg, &err)) {
			tell("%s", err.msg);
			return -1;
		}
		return 0;
	case OPT_FAIL_IF_REGRESSED: a->fail_if_regressed = true; return 0;
	default: return draw_take_option(&a->draw, id, arg);
	}
}

/* Lines of text, each told by itself. */
static void tell_lines(struct buf *text)
{
	const char *s = buf_str(text), *end;

	for (; *s; s = end + 1) {
		end = strchr(s, '\n');
		tell("%.*s", (int)(end - s), s);
	}
}

/* Whether a condition holds; a condition on a function that is nowhere is an error. */
static int check_gates(const struct diff_args *a, const struct view *v, bool *holds,
		       struct error *err)
{
	struct buf text = BUF_INIT;
	u32 matched, failed = 0;
	int ret = 0;
	size_t i;

	for (i = 0; i < a->nr_gates; i++) {
		failed += gate_check(&a->gates[i], v, &text, &matched);
		if (!matched)
			ret = error_set(
				err, "--fail-if=%s: neither recording has a function '%.*s'",
				a->gates[i].text, (int)a->gates[i].name_len, a->gates[i].name);
	}
	if (a->fail_if_regressed)
		failed += gate_regressed(v, REGRESSED_PERCENT, &text);
	tell_lines(&text);
	buf_release(&text);
	*holds = failed > 0;
	return ret;
}

static void side_release(struct side *s)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		run_release(&s->runs[i]);
	free(s->runs);
	free(s->profiles);
}

static int side_read(struct side *s, const struct pipeline_opts *opts, struct error *err)
{
	size_t n = s->nr_files;

	s->runs = xcalloc(n, sizeof(*s->runs));
	s->profiles = xcalloc(n, sizeof(struct profile *));
	for (s->n = 0; s->n < n; s->n++) {
		run_init(&s->runs[s->n]);
		s->profiles[s->n] = &s->runs[s->n].profile;
	}
	for (n = 0; n < s->n; n++) {
		if (run_read(&s->runs[n], s->files[n], opts, err))
			return -1;
		if (s->runs[n].two_columns)
			return error_set(err,
					 "'%s': holds a comparison: 'xenflame %s -o out.svg' draws "
					 "it",
					 s->files[n], s->files[n]);
	}
	return 0;
}

static bool side_has_strict(const struct side *s)
{
	size_t i;

	for (i = 0; i < s->n && !quality_has_strict(&s->runs[i]); i++)
		;
	return i < s->n;
}

static void side_tell(const struct side *s)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		quality_tell(&s->runs[i], s->files[i]);
}

/* "new.data", "new.data and 2 more"; with folders where the names alone are the same. */
static void put_side(struct buf *b, const struct side *s, bool folders)
{
	buf_puts(b, folders ? s->files[0] : path_base(s->files[0]));
	if (s->n > 1)
		buf_printf(b, " and %zu more", s->n - 1);
}

static void add_fact(struct run *r, const char *key, const struct buf *value)
{
	vec_push(&r->facts, ((struct render_fact){
				    .key = key,
				    .value = arena_strndup(&r->facts_arena, value->p, value->n) }));
}

/* Title and facts: what was compared with what, and how. */
static void describe(struct diff_args *a, const struct side *before, struct side *after,
		     const struct view *v, struct buf *title)
{
	struct run *r = &after->runs[0];
	struct buf b = BUF_INIT;
	bool folders = !strcmp(path_base(before->files[0]), path_base(after->files[0]));

	put_side(&b, before, folders);
	add_fact(r, "before", &b);
	buf_clear(&b);
	put_side(&b, after, folders);
	add_fact(r, "after", &b);
	if (!a->draw.render.title) {
		put_side(title, a->subtract ? after : before, folders);
		buf_puts(title, a->subtract ? " minus " : " \xe2\x86\x92 ");
		put_side(title, a->subtract ? before : after, folders);
		a->draw.render.title = buf_str(title);
	}
	buf_clear(&b);
	render_diff_terms(&b, v);
	add_fact(r, "compared", &b);
	buf_release(&b);
}

static void subtract(struct side *after, struct view *v)
{
	struct run *r = &after->runs[0];
	double whole = (double)view_base_total(v, 0) * v->diff->base_scale, floored;

	view_subtract(v, &floored);
	if (floored > 0)
		diag_addf(&r->diag, DIAG_NOTE, 1,
			  "subtracted: %.2f%% of BEFORE is more than AFTER has in the same stacks; "
			  "nothing is left of these",
			  whole > 0 ? 100 * floored / whole : 0);
}

static int compare(struct diff_args *a, const struct render_writer *w, struct side *before,
		   struct side *after)
{
	struct error err = { "" }, gate_err = { "" };
	struct buf title = BUF_INIT;
	struct view view = { 0 };
	struct diff_input in;
	bool holds = false, degraded = false;
	int ret = EXIT_FAILED;

	if (side_read(before, &a->draw.pipe, &err) || side_read(after, &a->draw.pipe, &err))
		goto out;
	a->draw.view.event = draw_pick_event(&after->runs[0], &a->draw, &err);
	if (err.msg[0])
		goto out;
	after->profiles[0]->unit = draw_unit(&after->runs[0], &a->draw, a->draw.view.event);
	in = (struct diff_input){ .after = after->profiles,
				  .before = before->profiles,
				  .nr_after = after->n,
				  .nr_before = before->n };
	if (view_build_diff(&view, &in, &a->draw.view, &a->diff, &err))
		goto out;
	describe(a, before, after, &view, &title);
	if (check_gates(a, &view, &holds, &gate_err))
		holds = true;
	if (a->subtract)
		subtract(after, &view);
	if (draw_write(&after->runs[0], &a->draw, w,
		       &(struct render_input){ .profile = view.profile, .view = &view }, &err))
		goto out;
	ret = holds ? EXIT_FAILED : EXIT_DONE;
	degraded = a->draw.strict && (side_has_strict(before) || side_has_strict(after));
out:
	if (!a->draw.quiet) {
		side_tell(before);
		side_tell(after);
	}
	if (err.msg[0])
		tell("%s", err.msg);
	if (gate_err.msg[0])
		tell("%s", gate_err.msg);
	if (degraded) {
		ret = EXIT_FAILED;
		tell("--strict: the warnings above make this a failure");
	}
	view_release(&view);
	side_release(before);
	side_release(after);
	buf_release(&title);
	if (!err.msg[0] && !gate_err.msg[0] && a->draw.open && draw_show(a->draw.output))
		ret = EXIT_FAILED;
	return ret;
}

/* Where "--" parts the sides: its index, 0 when there is none. */
static int find_border(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--"); i++)
		;
	return i < argc ? i : 0;
}

static int usage(void)
{
	tell("usage: xenflame diff BEFORE AFTER -o out.svg, or xenflame diff -o out.svg BEFORE... "
	     "-- AFTER... ('xenflame diff --help' says more)");
	return EXIT_USAGE;
}

static int add_file(struct side *s, const char *file)
{
	if (s->nr_files == MAX_LIST) {
		tell("more than %d files", MAX_LIST);
		return -1;
	}
	s->files[s->nr_files++] = file;
	return 0;
}

static int run_diff(int argc, char **argv)
{
	static struct option_def all[MAX_OPTIONS];
	static struct diff_args a = { .draw = { .render = { .min_width = -1 } } };
	static struct side before, after;
	const struct render_writer *w;
	const char *arg;
	int c, border = find_border(argc, argv), k;

	/* Conditions are on the comparison here: an option of its own. */
	options_join(all, own_options);
	while ((c = options_next(border ? border : argc, argv, all, &arg)) != -1) {
		if (options_answered(c, help))
			return EXIT_DONE;
		if (c == '?' || take_own(&a, c, arg))
			return EXIT_USAGE;
	}
	while ((arg = options_file(border ? border : argc, argv)))
		if (add_file(&before, arg))
			return EXIT_USAGE;
	for (k = border + 1; border && k < argc; k++) {
		if (argv[k][0] == '-' && argv[k][1] && access(argv[k], F_OK)) {
			tell("'%s' is no file: options stand before the files of AFTER", argv[k]);
			return EXIT_USAGE;
		}
		if (add_file(&after, argv[k]))
			return EXIT_USAGE;
	}
	/* Two files alone need no border, wherever it is. */
	if ((!before.nr_files || !after.nr_files) && before.nr_files + after.nr_files == 2) {
		const struct side both = before.nr_files ? before : after;

		before = (struct side){ .files = { both.files[0] }, .nr_files = 1 };
		after = (struct side){ .files = { both.files[1] }, .nr_files = 1 };
	} else if (!before.nr_files || !after.nr_files) {
		return usage();
	}
	if (!a.draw.output && !a.draw.format && !a.draw.open)
		a.draw.format = "text";
	if (a.subtract && a.diff.width != DIFF_WIDTH_AFTER) {
		tell("--subtract draws what is left of AFTER: it takes no --width-by");
		return EXIT_USAGE;
	}
	if (a.subtract && !a.normalized)
		a.diff.norm = DIFF_NONE;
	c = draw_writer(&a.draw, &w);
	if (!c)
		c = draw_keep_inputs(&a.draw, before.files);
	if (!c)
		c = draw_keep_inputs(&a.draw, after.files);
	if (!c)
		c = draw_stdin_once(before.files, after.files);
	if (c)
		return c;
	/* Noise is seen in the samples' spread over time. */
	a.draw.pipe.keep_samples = true;
	return compare(&a, w, &before, &after);
}

const struct verb verb_diff = {
	.name = "diff",
	.help = "two recordings -> what changed, and how surely",
	.run = run_diff,
};
