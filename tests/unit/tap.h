/* SPDX-License-Identifier: GPL-2.0-or-later */
/* TAP for unit tests: each check prints a line; tap_done() prints the plan. */
#ifndef XENFLAME_TAP_H
#define XENFLAME_TAP_H

#include "base/base.h"

static int tap_nr, tap_failed;

static inline bool tap_line(bool ok, const char *file, int line, const char *what)
{
	printf("%sok %d - %s:%d %s\n", ok ? "" : "not ", ++tap_nr, path_base(file), line, what);
	tap_failed += !ok;
	return ok;
}

#define OK(cond) tap_line(!!(cond), __FILE__, __LINE__, #cond)

/* Equal integers; both values are printed when they differ. */
#define EQ(a, b)                                                                      \
	do {                                                                          \
		u64 tap_a = (u64)(a), tap_b = (u64)(b);                               \
		if (!tap_line(tap_a == tap_b, __FILE__, __LINE__, #a " == " #b))      \
			printf("# got %" PRIu64 " (0x%" PRIx64 "), expected %" PRIu64 \
			       " (0x%" PRIx64 ")\n",                                  \
			       tap_a, tap_a, tap_b, tap_b);                           \
	} while (0)

/* Equal strings. */
#define STR_EQ(a, b)                                                                    \
	do {                                                                            \
		const char *tap_a = (a), *tap_b = (b);                                  \
		if (!tap_line(!strcmp(tap_a, tap_b), __FILE__, __LINE__, #a " == " #b)) \
			printf("# got '%s', expected '%s'\n", tap_a, tap_b);            \
	} while (0)

static inline int tap_done(void)
{
	printf("1..%d\n", tap_nr);
	return tap_failed ? 1 : 0;
}

#endif
