# SPDX-License-Identifier: GPL-2.0-or-later
# XF_TRY_CFLAG(FLAG): adds FLAG to WARN_CFLAGS when the compiler takes it.
AC_DEFUN([XF_TRY_CFLAG], [
	AS_VAR_PUSHDEF([xf_cache], [xf_cv_cflag_$1])
	AC_CACHE_CHECK([whether $CC takes $1], [xf_cache], [
		xf_save=$CFLAGS
		CFLAGS="$CFLAGS -Werror $1"
		AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])],
			[AS_VAR_SET([xf_cache], [yes])], [AS_VAR_SET([xf_cache], [no])])
		CFLAGS=$xf_save
	])
	AS_VAR_IF([xf_cache], [yes], [WARN_CFLAGS="$WARN_CFLAGS $1"])
	AS_VAR_POPDEF([xf_cache])
])

# XF_WARNINGS: warnings that are probed; --enable-werror makes them errors.
AC_DEFUN([XF_WARNINGS], [
	AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror], [warnings are errors])])
	WARN_CFLAGS=
	XF_TRY_CFLAG([-Wall])
	XF_TRY_CFLAG([-Wextra])
	XF_TRY_CFLAG([-Wshadow])
	XF_TRY_CFLAG([-Wstrict-prototypes])
	XF_TRY_CFLAG([-Wmissing-prototypes])
	XF_TRY_CFLAG([-Wold-style-definition])
	XF_TRY_CFLAG([-Wpointer-arith])
	XF_TRY_CFLAG([-Wcast-align])
	XF_TRY_CFLAG([-Wwrite-strings])
	XF_TRY_CFLAG([-Wvla])
	XF_TRY_CFLAG([-Wundef])
	XF_TRY_CFLAG([-Wformat=2])
	XF_TRY_CFLAG([-Wnull-dereference])
	XF_TRY_CFLAG([-Wlogical-op])
	XF_TRY_CFLAG([-Wduplicated-cond])
	XF_TRY_CFLAG([-Wimplicit-fallthrough])
	XF_TRY_CFLAG([-Wno-unused-parameter])
	XF_TRY_CFLAG([-Wno-format-nonliteral])
	AS_IF([test "x$enable_werror" = xyes], [WARN_CFLAGS="$WARN_CFLAGS -Werror"])
	AC_SUBST([WARN_CFLAGS])
])
