# SPDX-License-Identifier: GPL-2.0-or-later
# XF_OPTIONAL(NAME, pkg-config modules, what it is for): --with-NAME; have_NAME, NAME_CFLAGS, NAME_LIBS, HAVE_NAME.
AC_DEFUN([XF_OPTIONAL], [
	AC_ARG_WITH([$1], [AS_HELP_STRING([--without-$1], [leave out $3])], [], [with_$1=check])
	have_$1=no
	AS_IF([test "x$with_$1" != xno], [
		PKG_CHECK_MODULES(m4_toupper([$1]), [$2], [have_$1=yes],
			[AS_IF([test "x$with_$1" = xyes], [AC_MSG_ERROR([--with-$1: $2 not found])])])
	])
	AS_IF([test $have_$1 = yes],
		[AC_DEFINE(m4_toupper([HAVE_$1]), [1], [Define to 1 for $3])])
	AM_CONDITIONAL(m4_toupper([HAVE_$1]), [test $have_$1 = yes])
])

AC_DEFUN([XF_LIBRARIES], [
	PKG_CHECK_MODULES([DW], [libdw >= 0.171 libelf])
	PKG_CHECK_MODULES([ZLIB], [zlib])
	PKG_CHECK_MODULES([JANSSON], [jansson >= 2.10])
	XF_OPTIONAL([cairo], [cairo], [PNG and PDF])
	XF_OPTIONAL([libxml2], [libxml-2.0], [reading flame graph SVGs back])
	XF_OPTIONAL([debuginfod], [libdebuginfod], [debuginfod])
	XF_OPTIONAL([libcurl], [libcurl >= 7.66], [sending profiles to servers])
	XF_OPTIONAL([zstd], [libzstd], [zstd-compressed recordings])
	XF_OPTIONAL([libdeflate], [libdeflate], [unpacking debug information faster])
	XF_OPTIONAL([lzma], [liblzma], [xz-compressed inputs])

	XF_LATE

	have_iberty=no
	IBERTY_LIBS=
	AC_CHECK_HEADER([libiberty/demangle.h], [
		AC_CHECK_LIB([iberty], [cplus_demangle], [have_iberty=yes; IBERTY_LIBS=-liberty])
	])
	AS_IF([test $have_iberty = yes], [AC_DEFINE([HAVE_IBERTY], [1], [Define to 1 for demangling])])
	AC_SUBST([IBERTY_LIBS])
	AC_CHECK_LIB([m], [floor], [MATH_LIBS=-lm], [MATH_LIBS=])
	AC_SUBST([MATH_LIBS])
	AC_SEARCH_LIBS([pthread_create], [pthread])
])

AC_DEFUN([XF_SUMMARY], [
	AC_MSG_NOTICE([
  xenflame $VERSION
    symbols and unwinding (libdw)       yes
    demangling (libiberty)              $have_iberty
    PNG and PDF (cairo)                 $have_cairo
    SVG as input (libxml2)              $have_libxml2
    zstd recordings (libzstd)           $have_zstd
    xz inputs (liblzma)                 $have_lzma
    packed symbols (libdeflate)         $have_libdeflate
    debuginfod                          $have_debuginfod
    xenflame push (libcurl)             $have_libcurl
    cairo, libxml2, libdebuginfod, libcurl loaded when used  $late
    browser tests (Chromium, Node.js)   ${CHROMIUM:-no}, ${NODE:-no}
    compiler                            $CC $CFLAGS
    werror $enable_werror, sanitize ${enable_sanitize:-no}, fuzz ${enable_fuzz:-no}
])
])
