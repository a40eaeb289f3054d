# SPDX-License-Identifier: GPL-2.0-or-later
# XF_SONAME(NAME, LIBRARY, FUNCTION): the name under which a program linked with NAME_LIBS asks for LIBRARY, in SONAME_NAME.
# Empty: linked statically, or no shared libraries as ELF has them.
AC_DEFUN([XF_SONAME], [
	AS_VAR_PUSHDEF([xf_soname], [m4_toupper([SONAME_$1])])
	xf_soname=
	AS_IF([test $have_$1 = yes && test $late = yes], [
		AC_MSG_CHECKING([under which name $2 is loaded])
		xf_save=$LIBS
		LIBS="$m4_toupper([$1_LIBS]) $LIBS"
		AC_LINK_IFELSE([AC_LANG_CALL([], [$3])],
			[xf_soname=`$READELF -d conftest$ac_exeext 2>/dev/null | $SED -n 's/.*NEEDED.*@<:@@<:@@:>@\($2@<:@^@:>@@:>@*\.so@<:@^@:>@@:>@*\).*/\1/p'`])
		LIBS=$xf_save
		AC_MSG_RESULT([${xf_soname:-unknown}])
		AS_IF([test "x$xf_soname" = x], [late=no])
	])
	AC_DEFINE_UNQUOTED(m4_toupper([SONAME_$1]), ["$xf_soname"], [The name under which $2 is loaded])
	AS_IF([test $have_$1 = yes], [LATE_LIBS="$LATE_LIBS $m4_toupper([$1_LIBS])"])
	AS_VAR_POPDEF([xf_soname])
])

# XF_LATE: libraries that few runs need, each with all those that it needs itself, are loaded when they are used (see LIBRARY() of
# base/base.h).  Where one of them cannot be, all are linked.  LATE_LIBS: what to link with to have them from the start all the same.
AC_DEFUN([XF_LATE], [
	AC_ARG_ENABLE([late-libraries], [AS_HELP_STRING([--disable-late-libraries], [link with cairo, libxml2, libdebuginfod and libcurl instead of loading them when they are used])],
		[late=$enableval], [late=yes])
	AC_CHECK_TOOLS([READELF], [readelf eu-readelf llvm-readelf], [:])
	AC_SEARCH_LIBS([dlopen], [dl], [], [late=no])
	LATE_LIBS=
	XF_SONAME([cairo], [libcairo], [cairo_create])
	XF_SONAME([libxml2], [libxml2], [xmlParseChunk])
	XF_SONAME([debuginfod], [libdebuginfod], [debuginfod_begin])
	XF_SONAME([libcurl], [libcurl], [curl_easy_init])
	AS_IF([test $late = yes], [
		AC_DEFINE([LATE_LIBRARIES], [1], [Define to 1 when these libraries are loaded at their first use])
		CAIRO_LIBS= LIBXML2_LIBS= DEBUGINFOD_LIBS= LIBCURL_LIBS=
	])
	AC_SUBST([LATE_LIBS])
])
