# SPDX-License-Identifier: GPL-2.0-or-later
# XF_PROG_CC_C11: C11, or stop.
AC_DEFUN([XF_PROG_CC_C11], [
	AC_LANG_PUSH([C])
	AC_MSG_CHECKING([whether $CC takes C11 with an option])
	xf_found=no
	for xf_flag in "" -std=gnu11 -std=c11; do
		xf_save=$CFLAGS
		CFLAGS="$CFLAGS $xf_flag"
		AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <stdalign.h>
#if __STDC_VERSION__ < 201112L
#error not C11
#endif]], [[_Static_assert(sizeof(long long) == 8, "64 bit");]])],
			[xf_found=yes], [])
		CFLAGS=$xf_save
		AS_IF([test $xf_found = yes], [break])
	done
	AS_IF([test $xf_found = no], [AC_MSG_RESULT([no]); AC_MSG_ERROR([a C11 compiler is needed])])
	CFLAGS="$CFLAGS $xf_flag"
	AC_MSG_RESULT([yes ${xf_flag:-(none needed)}])
	AC_LANG_POP([C])
])
