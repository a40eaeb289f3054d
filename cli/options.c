/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One table an option: parsing and --help come from it. */
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
	static struct option longs[128];
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
