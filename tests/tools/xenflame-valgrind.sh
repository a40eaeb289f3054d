#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# xenflame under valgrind, for the case suites: any error or leak is exit status 99.
# XENFLAME_PROGRAM is the program.
exec valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite --track-origins=no \
	"${XENFLAME_PROGRAM:?}" "$@"
