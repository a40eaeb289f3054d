/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files and folders that no signal may leave behind. */
#include <signal.h>
#include <unistd.h>

#include "base/base.h"

/* In order of making; the handler of signals reads it. */
static struct {
	char **path;
	volatile sig_atomic_t n;
	size_t cap;
	pid_t owner;
} made;

static void remove_at(size_t i)
{
	if (unlink(made.path[i]))
		rmdir(made.path[i]);
}

void temp_remove_all(void)
{
	if (getpid() == made.owner)
		while (made.n) {
			made.n--;
			remove_at((size_t)made.n);
		}
}

static void on_signal(int sig)
{
	temp_remove_all();
	signal(sig, SIG_DFL);
	raise(sig);
}

/* The list may move, and what is on it come and go. */
static void hold_signals(sigset_t *before)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, before);
}

static void release_signals(const sigset_t *before)
{
	sigprocmask(SIG_SETMASK, before, NULL);
}

void temp_note(const char *path)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	sigset_t before;
	size_t i;

	hold_signals(&before);
	for (i = 0; i < ARRAY_SIZE(signals) && !made.owner; i++) {
		struct sigaction old;

		if (!sigaction(signals[i], NULL, &old) && old.sa_handler == SIG_DFL)
			signal(signals[i], on_signal);
	}
	made.owner = getpid();
	vec_grow((void **)&made.path, &made.cap, (size_t)made.n + 1, sizeof(*made.path));
	made.path[made.n] = xstrdup(path);
	made.n++;
	release_signals(&before);
}

int temp_file(char *template, int suffix)
{
	sigset_t before;
	int fd;

	hold_signals(&before);
	fd = mkstemps(template, suffix);
	if (fd >= 0)
		temp_note(template);
	release_signals(&before);
	return fd;
}

int temp_folder(char *template)
{
	sigset_t before;
	int ret;

	hold_signals(&before);
	ret = mkdtemp(template) ? 0 : -1;
	if (!ret)
		temp_note(template);
	release_signals(&before);
	return ret;
}

void temp_forget(const char *path)
{
	size_t i, n = (size_t)made.n;
	sigset_t before;

	for (i = n; i > 0 && strcmp(made.path[i - 1], path) != 0; i--)
		;
	if (!i)
		return;
	hold_signals(&before);
	free(made.path[i - 1]);
	memmove(&made.path[i - 1], &made.path[i], (n - i) * sizeof(*made.path));
	made.n--;
	release_signals(&before);
	if (!made.n) {
		free(made.path);
		made.path = NULL;
		made.cap = 0;
	}
}

void temp_remove(const char *path)
{
	size_t i, n = strlen(path);
	char *name;

	for (i = (size_t)made.n; i > 0; i--) {
		name = made.path[i - 1];
		if (strncmp(name, path, n) != 0 || (name[n] && name[n] != '/'))
			continue;
		remove_at(i - 1);
		temp_forget(name);
	}
}
