/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How far the work is, for people who wait. */
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

static struct {
	const char *what;
	u64 start_ms, last_ms;
	bool on, shown;
} state;

static u64 now_ms(void)
{
	struct timespec ts;

	if (clock_gettime(CLOCK_MONOTONIC, &ts))
		return 0;
	return (u64)ts.tv_sec * 1000 + (u64)ts.tv_nsec / 1000000;
}

void progress_start(const char *what)
{
	state.what = what;
	state.on = isatty(STDERR_FILENO);
	state.shown = false;
	state.start_ms = state.last_ms = now_ms();
}

void progress_update(u64 done, u64 total)
{
	u64 ms;

	if (!state.on)
		return;
	ms = now_ms();
	if (ms - state.start_ms < 1000 || ms - state.last_ms < 200)
		return;
	state.last_ms = ms;
	state.shown = true;
	if (total)
		fprintf(stderr, "\rxenflame: %s %3" PRIu64 "%%", state.what,
			MIN(done, total) * 100 / total);
	else
		fprintf(stderr, "\rxenflame: %s %" PRIu64 " MiB", state.what, done >> 20);
	fflush(stderr);
}

void progress_end(void)
{
	if (state.shown)
		fputs("\r\033[K", stderr);
	state.on = state.shown = false;
}
