/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The program: a verb is the first word, without one it is render. */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <unistd.h>

#include "cli/cli.h"

const struct verb *const verbs[] = {
	&verb_render, &verb_bundle, &verb_diff, &verb_doctor, &verb_record,
	&verb_report, &verb_push,   &verb_help, NULL,
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

static const struct verb *verb_by_name(const char *name)
{
	size_t i;

	for (i = 0; verbs[i] && strcmp(verbs[i]->name, name) != 0; i++)
		;
	return verbs[i];
}

#define WORD_MAX 16

/* How many letters are to be put in, left out, replaced, or swapped with the next one to make `a`
 * into `b`; both shorter than WORD_MAX. */
static size_t letters_apart(const char *a, const char *b)
{
	size_t d[WORD_MAX][WORD_MAX], n = strlen(a), m = strlen(b), i, k;

	for (i = 0; i <= n; i++)
		d[i][0] = i;
	for (k = 0; k <= m; k++)
		d[0][k] = k;
	for (i = 1; i <= n; i++)
		for (k = 1; k <= m; k++) {
			d[i][k] = MIN(d[i - 1][k - 1] + (a[i - 1] != b[k - 1]),
				      MIN(d[i - 1][k], d[i][k - 1]) + 1);
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
				d[i][k] = MIN(d[i][k], d[i - 2][k - 2] + 1);
		}
	return d[n][m];
}

/* The verb that a mistyped or shortened one may stand for, or NULL. */
static const struct verb *verb_near(const char *word)
{
	const struct verb *best = NULL;
	size_t least = SIZE_MAX, n = strlen(word), i;

	for (i = 0; n < WORD_MAX && verbs[i]; i++) {
		const char *name = verbs[i]->name;
		size_t d = n > 1 && !strncmp(name, word, n) ? 1 : letters_apart(word, name);

		if (d <= strlen(name) / 3 && d < least) {
			least = d;
			best = verbs[i];
		}
	}
	return best;
}

/* Whether the first argument was meant as a verb: a word that no file here is named. */
static bool is_mistyped(const char *arg)
{
	const char *p;

	for (p = arg; *p >= 'a' && *p <= 'z'; p++)
		;
	return *arg && !*p && access(arg, F_OK) && errno == ENOENT;
}

/* Tells it, and the verb that may be meant. */
static int no_verb(const char *word, const char *problem)
{
	const struct verb *near = verb_near(word);

	if (near)
		tell("'%s' is %s; did you mean 'xenflame %s'?", word, problem, near->name);
	else
		tell("'%s' is %s; 'xenflame help' lists the verbs", word, problem);
	return EXIT_USAGE;
}

static int run_help(int argc, char **argv)
{
	char name[WORD_MAX], option[] = "--help", *args[] = { name, option, NULL };
	const struct verb *v = &verb_render;

	if (argc == 2 && strcmp(argv[1], "-h") != 0 && strcmp(argv[1], option) != 0)
		v = verb_by_name(argv[1]);
	if (argc > 2) {
		tell("usage: xenflame help [VERB]");
		return EXIT_USAGE;
	}
	if (!v)
		return no_verb(argv[1], "no verb");
	if (v == &verb_help)
		v = &verb_render;
	snprintf(name, sizeof(name), "%s", v->name);
	return v->run(2, args);
}

const struct verb verb_help = {
	.name = "help",
	.help = "this text, or that of a verb: xenflame help VERB",
	.run = run_help,
};

int main(int argc, char **argv)
{
	const struct verb *v = NULL;

	reserve_standard_streams();

	/* Numbers and the order of names are the same everywhere; only the encoding of the terminal
	 * matters, and we write bytes. */
	setlocale(LC_ALL, "C");
	/* A closed pipe is told by write(), with our message and exit code. */
	signal(SIGPIPE, SIG_IGN);
	file_map_guard();
	mem_give_back();

	if (argc > 1)
		v = verb_by_name(argv[1]);
	if (v)
		return finish(v->run(argc - 1, argv + 1));
	if (argc > 1 && is_mistyped(argv[1]))
		return no_verb(argv[1], "neither a verb nor a file that is here");
	return finish(verb_render.run(argc, argv));
}
