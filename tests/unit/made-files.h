/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A folder for a test that makes files with the compiler. */
#ifndef XENFLAME_MADE_FILES_H
#define XENFLAME_MADE_FILES_H

#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "tests/unit/tap.h"

static char made_dir[64];

/* Runs a shell command, in the folder. Whether it succeeded. */
static inline bool run(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static inline bool run(const char *fmt, ...)
{
	struct buf b = BUF_INIT;
	char cmd[4096];
	va_list ap;
	bool ok;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	buf_printf(&b, "cd %s && { %s; } </dev/null", made_dir, cmd);
	ok = !system(buf_str(&b));
	if (!ok)
		printf("# failed: %s\n", cmd);
	buf_release(&b);
	return ok;
}

/* A path in the folder; one of a few static buffers. */
static inline const char *in_dir(const char *name)
{
	static char path[16][1024];
	static int turn;

	turn = (turn + 1) % 16;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", made_dir, name);
	return path[turn];
}

static inline void write_file(const char *name, const void *p, size_t n)
{
	FILE *f = fopen(in_dir(name), "we");

	if (!f || fwrite(p, 1, n, f) != n || fclose(f))
		printf("Bail out! cannot write %s\n", name);
}

static inline void write_text(const char *name, const char *text)
{
	write_file(name, text, strlen(text));
}

/* Makes the folder; false, with the skip line printed, when there is no compiler. */
static inline bool made_start(const char *tools)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(made_dir, sizeof(made_dir), "%.40s/xf-test-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(made_dir)) {
		printf("Bail out! cannot make a folder\n");
		return false;
	}
	if (run("for t in %s; do command -v $t >/dev/null || exit 1; done 2>/dev/null", tools))
		return true;
	printf("1..0 # SKIP needs %s\n", tools);
	rmdir(made_dir);
	return false;
}

static inline void made_end(void)
{
	if (!getenv("KEEP"))
		run("cd / && rm -rf %s", made_dir);
}

#endif
