# SPDX-License-Identifier: GPL-2.0-or-later
# XF_SANITIZE: --enable-sanitize builds with the address, undefined and leak sanitizers.
AC_DEFUN([XF_SANITIZE], [
	AC_ARG_ENABLE([sanitize],
		[AS_HELP_STRING([--enable-sanitize], [build with AddressSanitizer, UBSan and LeakSanitizer])])
	SAN_CFLAGS=
	AS_IF([test "x$enable_sanitize" = xyes],
		[SAN_CFLAGS="-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g -O1"])
	AC_SUBST([SAN_CFLAGS])
	AM_CONDITIONAL([SANITIZE], [test "x$enable_sanitize" = xyes])
])

# XF_FUZZ: --enable-fuzz makes the fuzz targets libFuzzer programs (clang); without it they replay files.
AC_DEFUN([XF_FUZZ], [
	AC_ARG_ENABLE([fuzz], [AS_HELP_STRING([--enable-fuzz], [fuzz targets with libFuzzer (needs clang)])])
	FUZZ_CFLAGS=
	FUZZ_LDFLAGS=
	AS_IF([test "x$enable_fuzz" = xyes], [
		FUZZ_CFLAGS="-fsanitize=fuzzer-no-link,address,undefined -g -O1 -fno-omit-frame-pointer"
		FUZZ_LDFLAGS="-fsanitize=fuzzer"
	])
	AC_SUBST([FUZZ_CFLAGS])
	AC_SUBST([FUZZ_LDFLAGS])
	AM_CONDITIONAL([FUZZ], [test "x$enable_fuzz" = xyes])
])
