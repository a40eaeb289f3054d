/* SPDX-License-Identifier: GPL-2.0-or-later */
/* xenflame diff BEFORE AFTER: two recordings -> one picture or table of what changed. */
#include <errno.h>

#include "cli/cli.h"

enum {
	OPT_NORMALIZE = OPTION_OF_VERB,
	OPT_CONFIDENCE,
	OPT_SLICES,
	OPT_FAIL_IF,
	OPT_FAIL_IF_REGRESSED,
};

static const struct option_def own_options[] = {
	{ "normalize", OPT_NORMALIZE, ARG_YES, "total|time|none",
	  "compare shares of the whole (default), weight a second, or\nweights as they are",
	  "Comparison" },
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

#define MAX_OPTIONS       120
#define REGRESSED_PERCENT 0.1

struct diff_args {
	struct draw_args draw;
	struct diff_opts diff;
	struct gate gates[MAX_LIST];
	size_t nr_gates;
	bool fail_if_regressed;
};

static void help(void)
{
	puts("usage: xenflame diff [OPTION]... BEFORE AFTER [-o OUT]\n"
	     "\n"
	     "Compares two recordings of any builds and hosts: functions match by name, module and "
	     "space.\n"
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
	char *end;
	double v;

	switch (id) {
	case OPT_NORMALIZE:
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
	case OPT_CONFIDENCE:
		errno = 0;
		v = strtod(arg, &end);
		if (end == arg || *end || errno || !(v >= 50 && v < 100)) {
			tell("--confidence=%s: expected a percentage from 50 to below 100", arg);
			return -1;
		}
		a->diff.confidence = v / 100;
		return 0;
	case OPT_SLICES:
		errno = 0;
		v = strtod(arg, &end);
		if (end == arg || *end || errno || !(v >= 5 && v <= 1000)) {
			tell("--slices=%s: expected a number from 5 to 1000", arg);
			return -1;
		}
		a->diff.slices = (u32)v;
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

static int compare(struct diff_args *a, const struct render_writer *w, const char *before_path,
		   const char *after_path)
{
	struct error err = { "" };
	struct view view = { 0 };
	struct run before, after;
	bool holds = false, degraded = false;
	int ret = EXIT_FAILED;

	run_init(&before);
	run_init(&after);
	if (run_read(&before, before_path, &a->draw.pipe, &err) ||
	    run_read(&after, after_path, &a->draw.pipe, &err))
		goto out;
	a->draw.view.event = draw_pick_event(&after, &a->draw, &err);
	if (err.msg[0])
		goto out;
	after.profile.unit = draw_unit(&after, &a->draw, a->draw.view.event);
	if (view_build_diff(&view, &after.profile, &before.profile, &a->draw.view, &a->diff, &err))
		goto out;
	vec_push(&after.facts,
		 ((struct render_fact){ .key = "compared with", .value = path_base(before_path) }));
	if (draw_write(&after, &a->draw, w, &view, &err) || check_gates(a, &view, &holds, &err))
		goto out;
	ret = holds ? EXIT_FAILED : EXIT_DONE;
	degraded = a->draw.strict && (quality_has_strict(&before) || quality_has_strict(&after));
out:
	if (!a->draw.quiet) {
		quality_tell(&before);
		quality_tell(&after);
	}
	if (err.msg[0])
		tell("%s", err.msg);
	if (degraded) {
		ret = EXIT_FAILED;
		tell("--strict: the warnings above make this a failure");
	}
	view_release(&view);
	run_release(&before);
	run_release(&after);
	if (!err.msg[0] && a->draw.open && draw_show(a->draw.output))
		ret = EXIT_FAILED;
	return ret;
}

static int run_diff(int argc, char **argv)
{
	static struct option_def all[MAX_OPTIONS];
	static struct diff_args a = { .draw = { .render = { .min_width = -1 } } };
	const struct render_writer *w;
	const char *files[3] = { NULL }, *arg;
	size_t n = 0, i;
	int c;

	for (i = 0; own_options[i].name; i++)
		if (own_options[i].id != 'h')
			all[n++] = own_options[i];
	/* Conditions are on the comparison here. */
	for (i = 0; draw_options[i].name && n + 1 < ARRAY_SIZE(all); i++)
		if (strcmp(draw_options[i].name, "fail-if"))
			all[n++] = draw_options[i];

	while ((c = options_next(argc, argv, all, &arg)) != -1) {
		if (c == 'h') {
			help();
			return EXIT_DONE;
		}
		if (c == 'V') {
			puts("xenflame " PACKAGE_VERSION);
			return EXIT_DONE;
		}
		if (c == '?' || take_own(&a, c, arg))
			return EXIT_USAGE;
	}
	for (n = 0; (arg = options_file(argc, argv)); n++)
		if (n < 2)
			files[n] = arg;
	if (n != 2) {
		tell("usage: xenflame diff BEFORE AFTER -o out.svg ('xenflame diff --help' says "
		     "more)");
		return EXIT_USAGE;
	}
	if (!a.draw.output && !a.draw.format && !a.draw.open)
		a.draw.format = "text";
	c = draw_writer(&a.draw, &w);
	if (!c)
		c = draw_keep_inputs(&a.draw, files);
	if (c)
		return c;
	/* Noise is seen in the samples' spread over time. */
	a.draw.pipe.keep_samples = a.draw.pipe.perf.keep_time = true;
	return compare(&a, w, files[0], files[1]);
}

const struct verb verb_diff = {
	.name = "diff",
	.help = "two recordings -> what changed, and how surely",
	.run = run_diff,
};
