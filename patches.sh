#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The patch series for Xen and Linux: put one onto a tree, take it from a tree,
# check its form.
#
#   patches.sh write  PROJECT/BASE DIRECTORY  the patches, as files for git am
#   patches.sh apply  PROJECT/BASE TREE       apply them to a tree, no fuzz allowed
#   patches.sh import PROJECT/BASE TREE       the same, as commits of a git tree
#   patches.sh export PROJECT/BASE TREE REV   make the series of commits REV..HEAD
#   patches.sh check                          the form of all series
#
# PROJECT/BASE is xen/patches or linux/patches for the newest upstream version,
# and xen/4.17 or linux/6.12 for an older one. There is one source for each
# change: the series of an older version names patches of the newest where those
# apply as they are, and has the differences between the two patches where not
# (files that end in .delta).
set -eu
top=$(cd "$(dirname "$0")" && pwd)
all='xen/patches xen/4.17 linux/patches linux/6.12'

die()
{
	echo "patches.sh: $*" >&2
	exit 1
}

# write PROJECT/BASE DIRECTORY
write()
{
	[ -f "$top/$1/series" ] || die "no series '$1', there are: $all"
	mkdir -p "$2"
	while read -r name; do
		f=$top/$1/$name
		case $name in
		''|'#'*) continue ;;
		*.delta) f=$top/$1/../patches/$(basename "$name" .delta) ;;
		esac
		[ -f "$f" ] || die "'$1/series' names '$name', which does not exist"
		to=$2/$(basename "$f")
		cat "$f" >"$to"
		case $name in
		*.delta) patch -F0 -s -f --no-backup-if-mismatch "$to" <"$top/$1/$name" >&2 ||
			die "'$1/$name' does not apply" ;;
		esac
		echo "$to"
	done <"$top/$1/series"
}

# apply_one PATCH TREE
apply_one()
{
	patch -d "$2" -p1 -F0 -s -f --no-backup-if-mismatch <"$1" >&2 ||
		die "'$1' does not apply to '$2'"
}

# The mail's subject and body without the diff, as a commit message.
message()
{
	git mailinfo /dev/null /dev/null <"$1" | sed -n 's/^Subject: //p'
	echo
	sed -n '/^Subject:/,/^---$/p' "$1" | sed '1,/^$/d; /^---$/d'
}

import()
{
	tmp=$(mktemp -d)
	trap 'rm -rf "$tmp"' EXIT
	for p in $(write "$1" "$tmp"); do
		apply_one "$p" "$2"
		git -C "$2" add -A
		message "$p" | git -C "$2" commit -q -F -
		git -C "$2" log -1 --format='%h %s'
	done
}

export_series()
{
	into=$top/$1
	tree=$2
	rev=$3
	tmp=$(mktemp -d)
	trap 'git -C "$tree" worktree remove --force "$tmp/wt" 2>/dev/null; rm -rf "$tmp"' EXIT
	git -C "$tree" format-patch -q -N --zero-commit --no-signature -o "$tmp/new" "$rev"
	[ "$1" = "${1%/*}/patches" ] ||
		git -C "$tree" worktree add -q --detach "$tmp/wt" "$rev"
	mkdir -p "$into"
	rm -f "$into"/*.patch "$into"/*.delta
	: >"$into/series"
	for p in "$tmp/new"/*.patch; do
		name=$(basename "$p")
		if [ -d "$tmp/wt" ]; then
			commit=$(git -C "$tree" rev-list --reverse "$rev..HEAD" |
				sed -n "$(echo "$name" | sed 's/^0*\([0-9]*\)-.*/\1/')p")
			git -C "$tmp/wt" checkout -q --detach "$commit^"
			if [ -f "$into/../patches/$name" ] &&
			   patch -d "$tmp/wt" -p1 -F0 -s -f --no-backup-if-mismatch \
				<"$into/../patches/$name" >/dev/null 2>&1 &&
			   git -C "$tmp/wt" add -A &&
			   git -C "$tmp/wt" diff --quiet --cached "$commit"; then
				echo "../patches/$name" >>"$into/series"
				git -C "$tmp/wt" reset -q --hard
				continue
			fi
			git -C "$tmp/wt" reset -q --hard
			git -C "$tmp/wt" clean -qfd
			if [ -f "$into/../patches/$name" ]; then
				diff -U1 --label "a/$name" --label "b/$name" \
					"$into/../patches/$name" "$p" >"$into/$name.delta" || :
				echo "$name.delta" >>"$into/series"
				continue
			fi
		fi
		cp "$p" "$into/$name"
		echo "$name" >>"$into/series"
	done
	cat "$into/series"
}

check()
{
	exec sh "$top/tests/xen/series.sh"
}

case ${1-} in
write) write "$2" "$3" ;;
apply)
	tmp=$(mktemp -d)
	trap 'rm -rf "$tmp"' EXIT
	for p in $(write "$2" "$tmp"); do apply_one "$p" "$3"; done ;;
import) import "$2" "$3" ;;
export) export_series "$2" "$3" "$4" ;;
check) check ;;
*) sed -n '3,18s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
