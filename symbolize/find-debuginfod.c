/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files from a debuginfod server (DEBUGINFOD_URLS), only when asked for. */
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "symbolize/finder.h"

#ifdef HAVE_DEBUGINFOD
#include <elfutils/debuginfod.h>

/* Seconds for one file.  The client has no limit of its own on the whole of a transfer. */
#define TIME_LIMIT 60

#define DEBUGINFOD_FUNCTIONS(F)         \
	F(debuginfod_, begin)           \
	F(debuginfod_, end)             \
	F(debuginfod_, find_debuginfo)  \
	F(debuginfod_, find_executable) \
	F(debuginfod_, get_user_data)   \
	F(debuginfod_, set_progressfn)  \
	F(debuginfod_, set_user_data)
LIBRARY(debuginfod, SONAME_DEBUGINFOD, "debuginfod", DEBUGINFOD_FUNCTIONS);

static int progress(debuginfod_client *c, long a, long b)
{
	const struct timespec *end = debuginfod.get_user_data(c);
	struct timespec now;

	(void)a;
	(void)b;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return end && now.tv_sec > end->tv_sec;
}

char *find_debuginfod(struct symbolizer *s, const u8 *id, size_t len, bool debug)
{
	struct finder *fi = s->finder;
	const char *what = debug ? "debuginfo" : "executable";
	struct timespec end, now;
	char hex[65], *path = NULL;
	struct error err = { .msg = "" };
	int fd;

	if (fi->debuginfod_off || !len || len > 32 || s->opts.offline_only)
		return NULL;
	if (library_open(&debuginfod_library, &err)) {
		diag_add(s->diag, DIAG_SYMBOL_FILE, 1, err.msg);
		fi->debuginfod_off = true;
		return NULL;
	}
	if (!fi->debuginfod)
		fi->debuginfod = debuginfod.begin();
	if (!fi->debuginfod) {
		fi->debuginfod_off = true;
		return NULL;
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += TIME_LIMIT;
	debuginfod.set_user_data(fi->debuginfod, &end);
	debuginfod.set_progressfn(fi->debuginfod, progress);
	fd = debug ? debuginfod.find_debuginfo(fi->debuginfod, id, (int)len, &path)
		   : debuginfod.find_executable(fi->debuginfod, id, (int)len, &path);
	debuginfod.set_user_data(fi->debuginfod, NULL);
	if (fd >= 0) {
		close(fd);
		return path;
	}
	/*
	 * "No such file" is an answer, which the client also remembers in its cache.  Anything else
	 * is a server that cannot be reached or is too slow: no further file is asked for.
	 */
	if (fd == -ENOENT)
		return NULL;
	fi->debuginfod_off = true;
	build_id_hex(id, len, hex);
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec > end.tv_sec)
		diag_addf(s->diag, DIAG_SYMBOL_FILE, 1,
			  "debuginfod: no answer for %s %s within %d s; not asked again", what, hex,
			  TIME_LIMIT);
	else
		diag_addf(s->diag, DIAG_SYMBOL_FILE, 1, "debuginfod: %s %s: %s; not asked again",
			  what, hex, strerror(-fd));
	return NULL;
}

void find_debuginfod_end(struct finder *fi)
{
	if (fi->debuginfod)
		debuginfod.end(fi->debuginfod);
}

#else

char *find_debuginfod(struct symbolizer *s, const u8 *id, size_t len, bool debug)
{
	struct finder *fi = s->finder;

	(void)id;
	(void)len;
	(void)debug;
	if (!fi->debuginfod_off)
		diag_add(s->diag, DIAG_SYMBOL_FILE, 1,
			 "debuginfod: this xenflame was built without it");
	fi->debuginfod_off = true;
	return NULL;
}

void find_debuginfod_end(struct finder *fi)
{
	(void)fi;
}

#endif
