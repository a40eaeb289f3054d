#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# make install DESTDIR: all that belongs there, nothing outside the prefix, nothing of this machine in the program.
nr=0
failed=0
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

check() { # NAME STATUS DETAIL
	nr=$((nr + 1))
	if [ "$2" = 0 ]; then
		echo "ok $nr - $1"
	else
		echo "not ok $nr - $1"
		printf '%s\n' "$3" | sed 's/^/# /'
		failed=1
	fi
}

unset MAKEFLAGS MFLAGS MAKELEVEL
out=$(make -C "$abs_top_builddir" install DESTDIR="$tmp/root" 2>&1)
check 'make install' $? "$(echo "$out" | tail -n 5)"
prefix=$(sed -n 's/^prefix = //p' "$abs_top_builddir/Makefile")
root=$tmp/root$prefix
[ -x "$root/bin/xenflame" ]
check 'the program' $? "$(find "$tmp/root" -type f)"
for verb in $("$XENFLAME" --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
	case $verb in render | help) page=xenflame.1 ;; *) page=xenflame-$verb.1 ;; esac
	[ -s "$root/share/man/man1/$page" ]
	check "$page" $? "$(ls "$root/share/man/man1")"
done
[ -s "$root/share/bash-completion/completions/xenflame" ] && ! head -n 1 "$root/share/bash-completion/completions/xenflame" | grep -q '^#!'
check 'the completion' $? "$(find "$root/share" -name '*completion*')"
[ "$(cd "$tmp/root" && find . -type f ! -path ".$prefix/*")" = '' ]
check 'nothing outside the prefix' $? "$(cd "$tmp/root" && find . -type f ! -path ".$prefix/*")"
"$root/bin/xenflame" doctor --sysroot="$tmp" >"$tmp/out" 2>&1
[ $? = 1 ] && grep -q '^bad *xen ' "$tmp/out"
check 'it runs' $? "$(cat "$tmp/out")"
cp "$root/bin/xenflame" "$tmp/stripped" && ${STRIP:-strip} "$tmp/stripped" 2>/dev/null
! grep -q -a -F "$abs_top_srcdir" "$tmp/stripped"
check 'the stripped program does not name the folder where it was built' $? "$(grep -a -o -F "$abs_top_srcdir" "$tmp/stripped" | head -n 3)"
echo "1..$nr"
exit $failed
