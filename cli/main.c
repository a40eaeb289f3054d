/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The program: a verb is the first word, without one it is render. */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <unistd.h>

#include "cli/cli.h"

const struct verb *const verbs[] = {
	&verb_render, &verb_bundle, &verb_diff, &verb_doctor,
	&verb_record, &verb_report, &verb_push, NULL,
};

void tell(const char *fmt, ...)
{
	char line[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	make_safe(line);
	fprintf(stderr, "xenflame: %s\n", line);
}

void tell_count(const char *text, u64 n, const char *subject)
{
	struct buf b = BUF_INIT;

	if (n) {
		buf_plural(&b, text, n, subject);
		tell("%s", buf_str(&b));
	}
	buf_release(&b);
}

/* A standard stream that the caller has closed must not become the number of a file that is opened
 * here. */
static void reserve_standard_streams(void)
{
	int fd;

	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
			_exit(EXIT_FAILED);
}

/* What printf() has written is told here when it did not arrive. */
static int finish(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	tell("'standard output': cannot write: %s", strerror(errno));
	return status == EXIT_DONE ? EXIT_FAILED : status;
}

int main(int argc, char **argv)
{
	size_t i;

	reserve_standard_streams();

	/* Numbers and the order of names are the same everywhere; only the encoding of the terminal
	 * matters, and we write bytes. */
	setlocale(LC_ALL, "C");
	/* A closed pipe is told by write(), with our message and exit code. */
	signal(SIGPIPE, SIG_IGN);

	if (argc > 1)
		for (i = 0; verbs[i]; i++)
			if (!strcmp(argv[1], verbs[i]->name))
				return finish(verbs[i]->run(argc - 1, argv + 1));
	return finish(verb_render.run(argc, argv));
}
