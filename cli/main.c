/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The program: a verb is the first word, without one it is render. */
#include <locale.h>
#include <signal.h>

#include "cli/cli.h"

const struct verb *const verbs[] = {
	&verb_render,
	&verb_diff,
	&verb_doctor,
	&verb_report,
	NULL,
};

void tell(const char *fmt, ...)
{
	va_list ap;

	fputs("xenflame: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

int main(int argc, char **argv)
{
	size_t i;

	/* Numbers and the order of names are the same everywhere; only the encoding of the terminal matters, and we write bytes. */
	setlocale(LC_ALL, "C");
	/* A closed pipe is told by write(), with our message and exit code. */
	signal(SIGPIPE, SIG_IGN);

	if (argc > 1)
		for (i = 0; verbs[i]; i++)
			if (!strcmp(argv[1], verbs[i]->name))
				return verbs[i]->run(argc - 1, argv + 1);
	return verb_render.run(argc, argv);
}
