#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The form of the patch series: complete, well-formed, and in the style of the
# projects that they are for.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$here/../..
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
PYTHON3=${PYTHON3:-python3}
TAB=$(printf '\t')
n=0 rc=0

# What is in $tmp/bad is wrong.
none() # description
{
	n=$((n + 1))
	if [ ! -s "$tmp/bad" ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		sed 's/^/# /; 20q' "$tmp/bad"
		rc=1
	fi
	: >"$tmp/bad"
}

command -v "$PYTHON3" >/dev/null || { echo "1..0 # SKIP no python3"; exit 0; }
command -v patch >/dev/null || { echo "1..0 # SKIP no patch(1)"; exit 0; }

for series in xen/patches xen/4.17 linux/patches linux/6.12; do
	dir=$top/$series
	base=$(basename "$series")
	project=${series%/*}
	"$top/patches.sh" write "$series" "$tmp/$series" >"$tmp/list" 2>"$tmp/bad" ||
		echo "patches.sh failed" >>"$tmp/bad"
	none "$series: each patch can be made"
	patches=$(cat "$tmp/list")

	grep "^$base: " "$top/$project/BASE" >/dev/null || echo "no line '$base:'"  >"$tmp/bad"
	none "$series: $project/BASE says what it is for"

	{
		(cd "$dir" && ls ./*.patch ./*.delta 2>/dev/null) | sed 's:^\./::' | while read -r f; do
			grep -qx "$f" "$dir/series" || echo "not in series: $f"
		done
		i=0
		for p in $patches; do
			i=$((i + 1))
			case $(basename "$p") in
			"$(printf '%04d' $i)"-*.patch) ;;
			*) echo "number $i is $(basename "$p")" ;;
			esac
		done
		# Both series of a project are the same changes.
		(cd "$tmp/$series" && ls) | diff - "$tmp/$project.names" 2>/dev/null
		[ "$base" != patches ] || (cd "$tmp/$series" && ls) >"$tmp/$project.names"
	} >"$tmp/bad" 2>/dev/null
	[ "$base" = patches ] && : >"$tmp/bad.2" && grep -v '^[<>0-9]' "$tmp/bad" >"$tmp/bad.2"
	[ "$base" = patches ] && mv "$tmp/bad.2" "$tmp/bad"
	none "$series: files are numbered, none is missing or left over"

	# shellcheck disable=SC2086
	"$PYTHON3" "$here/extract.py" lines $patches >"$tmp/lines" 2>"$tmp/bad"
	[ -s "$tmp/lines" ] || echo "nothing is added" >>"$tmp/bad"
	none "$series: hunks are whole"

	# shellcheck disable=SC2086
	LC_ALL=C grep -n '[^ -~	]' $patches >"$tmp/bad"
	none "$series: ASCII only"

	grep -n "[ $TAB]\$" "$tmp/lines" | grep -v "${TAB}\$" >"$tmp/bad"
	grep -n "${TAB}[^$TAB]*[ ]\$" "$tmp/lines" >>"$tmp/bad"
	none "$series: no white space at the end of lines"

	for p in $patches; do
		name=$(basename "$p")
		subject=$(sed -n '/^Subject: /,/^$/p' "$p" | tr -d '\n' |
			sed 's/^Subject: \[PATCH\] //')
		[ ${#subject} -le 72 ] || echo "$name: subject of ${#subject} characters"
		case $subject in
		*:\ *.) echo "$name: subject ends in a full stop" ;;
		*:\ *) ;;
		*) echo "$name: subject without a prefix" ;;
		esac
		sed -n '/^Subject: /,/^---$/p' "$p" | sed '1,/^$/d; /^---$/d' >"$tmp/body"
		[ "$(wc -w <"$tmp/body")" -ge 20 ] || echo "$name: says too little"
		awk -v n="$name" 'length > 75 { print n ": line of " length " characters" }' "$tmp/body"
	done >"$tmp/bad"
	none "$series: messages have a subject and a body of the right size"

	# shellcheck disable=SC2086
	grep -nE '(^|[^a-z])(TOD[O]|XX[X]|HAC[K]|[Nn]ot implemente[d])([^a-z]|$)' "$tmp/lines" >"$tmp/bad"
	grep -nE '^(Signed-off-by|Co-authored|Reviewed-by|Tested-by|Change-Id):' $patches >>"$tmp/bad"
	none "$series: nothing that must not be there"

	for p in $patches; do
		sed -n '/^new file mode/,/^@@/p; ' "$p" | sed -n 's:^+++ b/::p' | while read -r f; do
			case $f in
			*.c|*.h|*.rst) ;;
			*) continue ;;
			esac
			"$PYTHON3" "$here/extract.py" file "$f" "$p" | sed -n 1p |
				grep 'SPDX-License-Identifier: ' >/dev/null || echo "$f: no licence in line 1"
		done
	done >"$tmp/bad"
	none "$series: new files say their licence first"

	case $project in
	xen)
		grep -E "^[^$TAB]*\.[chS]$TAB" "$tmp/lines" | grep -E '^[^	]*	.*	' >"$tmp/bad"
		none "$series: Xen's code is indented by blanks"
		awk -F '\t' '$1 ~ /\.([chS]|rst|pandoc|md)$/ && length($2) > 80 { print }' "$tmp/lines" >"$tmp/bad"
		none "$series: lines of Xen have 80 characters at most"
		grep -E "^[^$TAB]*\.[ch]$TAB" "$tmp/lines" | grep -vE "$TAB *(#|/?\*)" |
			grep -E "(^|[ $TAB])(if|while|for|switch|for_each_vcpu) ?(\([^ ]|\()" |
			grep -vE "(if|while|for|switch|for_each_vcpu) \( .*|(if|while|for|switch) \( *$" |
			grep -vE "tools/tests" >"$tmp/bad"
		none "$series: conditions stand as Xen wants them"
		grep -E "^[^$TAB]*\.[ch]$TAB" "$tmp/lines" | grep -E "(\)|else|do) *\{ *\$" |
			grep -vE '#define|\(\{' >"$tmp/bad"
		none "$series: braces stand on lines of their own"
		grep -E '//' "$tmp/lines" | grep -E "\.[ch]$TAB" | grep -v '://' >"$tmp/bad"
		none "$series: comments are /* */"
		grep -E "^xen/include/public/" "$tmp/lines" | grep -iE 'page_size|page_shift|4096' >"$tmp/bad"
		none "$series: the public header knows no page size"
		;;
	linux)
		grep -E "^[^$TAB]*\.[ch]$TAB" "$tmp/lines" | grep -E "$TAB {8}" >"$tmp/bad"
		none "$series: Linux' code is indented by tabs"
		cut -f 2- "$tmp/lines" | expand | awk 'length > 100 { print }' >"$tmp/bad"
		none "$series: lines of Linux have 100 characters at most"
		grep -E "^[^$TAB]*\.[ch]$TAB" "$tmp/lines" | grep -E "(^|[ $TAB])(if|while|for|switch)(\(| \( )" >"$tmp/bad"
		none "$series: conditions stand as Linux wants them"
		;;
	esac
done

for project in xen linux; do
	count=$(wc -l <"$tmp/$project.names")
	head -n 1 "$top/$project/patches/cover.txt" | grep -q "^Subject: \[PATCH v2 0*/*0*0/0*$((count))\] " ||
		head -n 1 "$top/$project/patches/cover.txt" >"$tmp/bad"
	LC_ALL=C grep -n '[^ -~	]' "$top/$project/patches/cover.txt" >>"$tmp/bad"
	sed 1d "$top/$project/patches/cover.txt" | awk 'length > 75 { print "line of " length }' >>"$tmp/bad"
	none "$project: the cover letter counts $count patches"
	for p in "$tmp/$project/patches"/*.patch; do
		subject=$(sed -n '/^Subject: /,/^$/p' "$p" | tr -d '\n' | sed 's/^Subject: \[PATCH\] //')
		grep -qF "$subject" "$top/$project/README.md" 2>/dev/null || echo "$subject"
	done >"$tmp/bad"
	none "$project: README.md has each patch by its subject"
done

echo "1..$n"
exit $rc
