/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One table an option: parsing and --help come from it. */
#include <errno.h>
#include <getopt.h>

#include "cli/cli.h"

/* What the user typed to get to these options. */
static const char *command(const char *argv0)
{
	static char name[64];
	size_t i;

	for (i = 0; verbs[i]; i++)
		if (!strcmp(argv0, verbs[i]->name)) {
			snprintf(name, sizeof(name), "xenflame %s", argv0);
			return name;
		}
	return "xenflame";
}

int options_next(int argc, char **argv, const struct option_def *defs, const char **arg)
{
	static struct option longs[MAX_OPTIONS];
	static char shorts[256];
	static const struct option_def *built;
	size_t n = 0, k = 0;
	int c;

	if (built != defs) {
		shorts[k++] = ':';
		for (; defs[n].name && n + 1 < ARRAY_SIZE(longs); n++) {
			longs[n] = (struct option){ .name = defs[n].name,
						    .val = defs[n].id,
						    .has_arg = defs[n].has_arg == ARG_YES
								       ? required_argument
								       : no_argument };
			if (defs[n].id < 256) {
				shorts[k++] = (char)defs[n].id;
				if (defs[n].has_arg == ARG_YES)
					shorts[k++] = ':';
			}
		}
		memset(&longs[n], 0, sizeof(longs[n]));
		shorts[k] = '\0';
		built = defs;
		optind = 1;
		opterr = 0;
	}
	c = getopt_long(argc, argv, shorts, longs, NULL);
	*arg = optarg;
	if (c == ':') {
		tell("option '%s' needs an argument", argv[optind - 1]);
		return '?';
	}
	if (c == '?') {
		for (n = 0; optopt && defs[n].name && defs[n].id != optopt; n++)
			;
		if (optopt && defs[n].name)
			tell("option '--%s' takes no argument", defs[n].name);
		else if (optopt)
			tell("unknown option '-%c'; '%s --help' lists them", optopt,
			     command(argv[0]));
		else
			tell("option '%s' is unknown or ambiguous; '%s --help' lists them",
			     argv[optind - 1], command(argv[0]));
		return '?';
	}
	return c;
}

bool options_answered(int id, void (*help)(void))
{
	if (id == 'h')
		help();
	else if (id == 'V')
		puts("xenflame " PACKAGE_VERSION);
	else
		return false;
	return true;
}

void options_join(struct option_def all[MAX_OPTIONS], const struct option_def *own)
{
	size_t n = 0, i, k;

	for (; own[n].name; n++)
		all[n] = own[n];
	for (i = 0, k = n; draw_options[i].name && k + 1 < MAX_OPTIONS; i++) {
		size_t at = 0;

		while (at < n && strcmp(own[at].name, draw_options[i].name) != 0)
			at++;
		if (at == n)
			all[k++] = draw_options[i];
	}
	memset(&all[k], 0, sizeof(all[k]));
}

int option_number(const char *name, const char *s, double min, double max, double *v)
{
	char *end;

	errno = 0;
	*v = strtod(s, &end);
	if (end == s || *end || errno || !(*v >= min && *v <= max)) {
		tell("--%s=%s: expected a number from %g to %g", name, s, min, max);
		return -1;
	}
	return 0;
}

int option_whole(const char *name, const char *s, u64 min, u64 max, u64 *v)
{
	const char *p = s, *end = s + strlen(s);

	if (parse_dec(&p, end, v) || p != end || *v < min || *v > max) {
		tell("--%s=%s: expected a whole number from %" PRIu64 " to %" PRIu64, name, s, min,
		     max);
		return -1;
	}
	return 0;
}

const char *options_file(int argc, char **argv)
{
	return optind < argc ? argv[optind++] : NULL;
}

void options_help(const struct option_def *defs)
{
	char left[64];

	for (; defs->name; defs++) {
		const char *h = defs->help, *nl;
		int n = 0;

		if (defs->group)
			printf("\n%s:\n", defs->group);
		if (defs->id < 256)
			n = snprintf(left, sizeof(left), "-%c, ", defs->id);
		n += snprintf(left + n, sizeof(left) - (size_t)n, "--%s", defs->name);
		if (defs->arg)
			snprintf(left + n, sizeof(left) - (size_t)n, "=%s", defs->arg);
		printf("  %-26s", left);
		if (strlen(left) > 26)
			printf("\n  %-26s", "");
		while ((nl = strchr(h, '\n'))) {
			printf(" %.*s\n  %-26s", (int)(nl - h), h, "");
			h = nl + 1;
		}
		printf(" %s\n", h);
	}
}
