/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xenflame record --debug-keys: presses Xen's debug key d again and again and collects what the
 * hypervisor prints, from the ring of its console.
 *
 * The ring is only read, never cleared: what is new is what stands behind the text of the reading
 * before.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/keys.h"

extern char **environ;

#define PRESSED "'d' pressed"
#define NEEDLE  64

struct keys {
	struct host *host;
	const volatile sig_atomic_t *stop;
	struct buf ring, all; /* the reading before; all that is new */
	u64 presses, overrun;
};

static int spawn(const char *const *argv, bool xl, pid_t *pid, struct error *err)
{
	posix_spawn_file_actions_t fa;
	int ret;

	if (posix_spawn_file_actions_init(&fa))
		return error_set(err, "'%s': cannot be started", argv[0]);
	ret = xl ? posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0) : 0;
	if (!ret)
		ret = posix_spawnp(pid, argv[0], &fa, NULL, (char *const *)(uintptr_t)argv,
				   environ);
	posix_spawn_file_actions_destroy(&fa);
	if (!ret)
		return 0;
	errno = ret;
	return error_errno(err, "'%s': cannot be started", argv[0]);
}

static int press(struct keys *k, struct error *err)
{
	static const char *const argv[] = { "xl", "debug-keys", "d", NULL };
	int status;
	pid_t pid;

	if (spawn(argv, true, &pid, err))
		return -1;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return error_errno(err, "xl cannot be waited for");
	/* The terminal's Ctrl-C goes to xl, too. */
	if (*k->stop)
		return 0;
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return error_set(err, "'xl debug-keys d' fails: it needs dom0 of a Xen host, and "
				      "root");
	k->presses++;
	return 0;
}

static bool has_press(const char *p, size_t n)
{
	return n && memmem(p, n, PRESSED, strlen(PRESSED));
}

/* Where in the new reading that begins which the one before had not: behind the longest overlap
 * that leaves an answer to the key, since equal dumps may follow one another; SIZE_MAX: the ring
 * was overwritten. */
static size_t find_new(const struct buf *old, const struct buf *now)
{
	size_t n = MIN(now->n, (size_t)NEEDLE), at = 0, longest = SIZE_MAX;
	const char *p;

	if (!old->n)
		return 0;
	while (n && at < old->n) {
		size_t rest;

		p = memmem(old->p + at, old->n - at, now->p, MIN(n, old->n - at));
		if (!p)
			break;
		at = (size_t)(p - old->p);
		rest = old->n - at;
		if (rest <= now->n && !memcmp(p, now->p, rest)) {
			if (longest == SIZE_MAX)
				longest = rest;
			if (has_press(now->p + rest, now->n - rest))
				return rest;
		}
		/* Less than a line in common is chance. */
		if (rest <= NEEDLE)
			break;
		at++;
	}
	return longest;
}

static int take(struct keys *k, bool first, struct error *err)
{
	struct buf now = BUF_INIT;
	int e = host_command(k->host, HOST_XL_DMESG, &now);
	size_t at;

	if (e) {
		buf_release(&now);
		errno = e;
		return error_errno(err, "'xl dmesg' fails");
	}
	if (!first) {
		at = find_new(&k->ring, &now);
		if (at == SIZE_MAX) {
			k->overrun++;
			at = 0;
		}
		if (now.n > at)
			buf_put(&k->all, now.p + at, now.n - at);
	}
	buf_release(&k->ring);
	k->ring = now;
	return 0;
}

static void wait_until(struct timespec *t, u64 hz, const volatile sig_atomic_t *stop)
{
	struct timespec now;

	t->tv_nsec += (long)(1000000000 / hz) % 1000000000;
	t->tv_sec += hz == 1;
	if (t->tv_nsec >= 1000000000) {
		t->tv_nsec -= 1000000000;
		t->tv_sec++;
	}
	clock_gettime(CLOCK_MONOTONIC, &now);
	/* Late by the whole period: from now on again. */
	if (now.tv_sec > t->tv_sec || (now.tv_sec == t->tv_sec && now.tv_nsec > t->tv_nsec)) {
		*t = now;
		return;
	}
	while (!*stop && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, t, NULL) == EINTR)
		;
}

static int collect(struct keys *k, u64 hz, pid_t *child, bool command, struct error *err)
{
	static const volatile sig_atomic_t never;
	struct timespec t;
	int status;

	clock_gettime(CLOCK_MONOTONIC, &t);
	while (!*k->stop) {
		if (press(k, err))
			return -1;
		/* What was asked for is waited for, also at the end. */
		wait_until(&t, hz, &never);
		if (take(k, false, err))
			return -1;
		if (command && *child && waitpid(*child, &status, WNOHANG) == *child) {
			*child = 0;
			return 0;
		}
	}
	return 0;
}

/* How many samples the text holds. */
static int count(const char *path, u64 *samples, struct error *err)
{
	struct pipeline_opts opts = { .perf = { .format = "xen-console" },
				      .sym = { .offline_only = true } };
	struct run run;
	int ret;
	size_t i;

	run_init(&run);
	ret = run_read(&run, path, &opts, err);
	for (*samples = i = 0; i < run.profile.events.n; i++)
		*samples += run.profile.events.v[i].samples;
	run_release(&run);
	return ret;
}

int keys_record(struct host *h, const char *output, u64 hz, const char *const *command,
		const volatile sig_atomic_t *stop, bool quiet, struct error *err)
{
	struct keys k = { .host = h, .stop = stop };
	pid_t child = 0;
	struct out out;
	u64 samples;
	int ret = -1;

	if (!quiet)
		tell("note: a rough picture: the processor that takes the key mostly shows the "
		     "handling of the key, code with interrupts off is not seen, and Xen stops "
		     "its watchdog and waits for the console while it prints");
	if (take(&k, true, err) || (*command && spawn(command, false, &child, err)))
		goto out;
	ret = collect(&k, hz, &child, *command != NULL, err);
	if (child) {
		kill(child, SIGTERM);
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (ret)
		goto out;
	ret = -1;
	if (out_open(&out, output, err))
		goto out;
	out_write(&out, k.all.p, k.all.n);
	if (out_close(&out, err))
		goto out;
	if (count(output, &samples, err))
		goto out;
	ret = 0;
	tell_count("warning: %n time{|s} the console's memory was overwritten before it was read: "
		   "a lower rate, or boot Xen with conring_size=4M",
		   k.overrun, "");
	if (!quiet) {
		buf_clear(&k.ring);
		buf_plural(&k.ring, "%n press{|es} of the key, ", k.presses, "");
		buf_plural(&k.ring, "%n stack{|s}", samples, "");
		tell("'%s': %s; 'xenflame %s -o out.svg' draws it", output, buf_str(&k.ring),
		     output);
	}
out:
	buf_release(&k.ring);
	buf_release(&k.all);
	return ret;
}
