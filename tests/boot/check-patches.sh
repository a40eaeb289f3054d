#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# check-patches.sh [SERIES...]: put the series onto their trees, patch by patch and
# without fuzz, and compile after each patch all that it touches: Xen with frame
# pointers and without, Linux with Xen (which has guest perf events) and without.
# With all patches of a series for Xen, the whole of Xen is built.
# Prints TAP. See sources.sh for the environment, and further:
#
#   XEN_UPSTREAM_TREE    a tree of the version in xen/BASE for xen/patches
#   LINUX_UPSTREAM_TREE  a tree of the version in linux/BASE for linux/patches
#
# Without these two the newest series are not tried; neither version can be had
# from Debian's stable archive.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
. "$here/sources.sh"
need gcc make flex bison bc patch python3
w=$cache/patches
n=0 rc=0
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

check() # description, status, log
{
	n=$((n + 1))
	if [ "$2" = 0 ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		[ -z "${3-}" ] || grep -E 'error:|warning:|\*\*\*|rejects|FAILED|not apply' "$3" | head -n 10 |
			cut -c 1-200 | sed 's/^/# /'
		rc=1
	fi
}

touched() # patch; the files it changes
{
	sed -n 's:^+++ b/::p' "$1"
}

# ---- Xen: $1 series, $2 tree ----
xen_config() # tree, y or n
{
	{
		# With what has code in the files that are touched, or uses what they define.
		sed '/FRAME_POINTER/d; /XEN_GUEST\|PVH_GUEST/d; s/^# \(CONFIG_HVM\|CONFIG_MEM_SHARING\|CONFIG_XENOPROF\) is not set/\1=y/' \
			"$here/xen.config"
		printf "CONFIG_XSM=y\nCONFIG_PV32=y\n"
		if [ "$2" = y ]; then
			echo CONFIG_FRAME_POINTER=y
		else
			echo '# CONFIG_FRAME_POINTER is not set'
		fi
	} >"$1/xen/.config"
	make -C "$1/xen" olddefconfig
}

# Headers that the build itself makes, which single objects need. The rule is what
# the hypervisor's own rule does before it comes to objects.
xen_headers() # tree
{
	grep -q '^headers-for-objects:' "$1/xen/Makefile" || {
		sed -n '/^\$(TARGET): outputmakefile/,/asm-offsets\.h$/p' "$1/xen/Makefile" |
			sed 's/^\$(TARGET):/\nheaders-for-objects:/' >"$tmp/rule"
		grep -q asm-offsets "$tmp/rule" || return 1
		cat "$tmp/rule" >>"$1/xen/Makefile"
	}
	make -C "$1/xen" -j"$JOBS" headers-for-objects
}

# The objects that a patch can break: those of the sources that it changes and,
# if it changes a header, those of all that know what is in these headers.
xen_objects() # tree, patch
{
	{
		touched "$2" | grep '^xen/.*\.c$'
		! touched "$2" | grep -q '^xen/.*\.h$' ||
			(cd "$1" && grep -rlE 'vpmu|xenpmu|stack_walk' --include='*.c' xen/common xen/arch/x86 xen/xsm)
	} | sort -u | while read -r f; do
		# Without a Makefile beside it, it is included by another one.
		[ ! -f "$1/${f%/*}/Makefile" ] || echo "$f" | sed 's:^xen/::; s:c$:o:'
	done
}

try_xen()
{
	for fp in y n; do
		mkdir -p "$2.$fp" && (cd "$2" && tar cf - .) | tar xf - -C "$2.$fp"
		{ xen_config "$2.$fp" $fp && xen_headers "$2.$fp"; } >"$tmp/log" 2>&1
		check "$1: configured, frame pointers: $fp" $? "$tmp/log"
	done
	for p in $("$top/patches.sh" write "$1" "$tmp/$1"); do
		name=$(basename "$p" .patch)
		for fp in y n; do
			patch -d "$2.$fp" -p1 -F0 -s -f --no-backup-if-mismatch <"$p" >"$tmp/log" 2>&1
			check "$1: $name applies, frame pointers: $fp" $? "$tmp/log"
			objects=$(xen_objects "$2.$fp" "$p")
			[ -n "$objects" ] || continue
			# shellcheck disable=SC2086
			{
				xen_headers "$2.$fp" && make -C "$2.$fp/xen" -j"$JOBS" $objects &&
				(cd "$2.$fp/xen" && ls -l $objects)
			} >"$tmp/log" 2>&1
			check "$1: $(echo "$objects" | wc -l) objects after $name, frame pointers: $fp" $? "$tmp/log"
		done
		# Its Makefile wants a configured tree; this is what it does. Xen's headers
		# are the real ones here.
		t=$2.y/tools/tests/stack-walk
		case $(touched "$p") in
		*tools/tests/stack-walk*)
			{
				sed '/#include/d' "$2.y/xen/arch/x86/include/asm/stack-walk.h" >"$t/stack-walk.h" &&
				gcc -g -Wall -Werror -I"$2.y/xen/include" -o "$t/test" "$t/main.c" && "$t/test"
			} >"$tmp/log" 2>&1
			check "$1: the unit test, $(tail -n 1 "$tmp/log")" $? "$tmp/log" ;;
		esac
	done
	make -C "$2.y/xen" -j"$JOBS" >"$tmp/log" 2>&1
	check "$1: the whole of Xen with the series" $? "$tmp/log"
	step "$1"
}

# ---- Linux: $1 series, $2 tree ----
try_linux()
{
	for guest in y n; do
		mkdir -p "$2.$guest"
		{
			make -C "$2" O="$2.$guest" tinyconfig
			{ cat "$here/dom0.config"
			  [ $guest = y ] || printf '# CONFIG_XEN is not set\n# CONFIG_XEN_PV is not set\n'; } >"$tmp/config"
			[ $guest = y ] || sed -i '/^CONFIG_XEN/d' "$tmp/config"
			(cd "$2" && scripts/kconfig/merge_config.sh -O "$2.$guest" -m "$2.$guest/.config" "$tmp/config")
			make -C "$2" O="$2.$guest" olddefconfig &&
			make -C "$2" O="$2.$guest" -j"$JOBS" prepare
		} >"$tmp/log" 2>&1
		[ "$(grep -c '^CONFIG_GUEST_PERF_EVENTS=y' "$2.$guest/.config")" = "$([ $guest = y ] && echo 1 || echo 0)" ]
		check "$1: configured, guest perf events: $guest" $? "$tmp/log"
	done
	for p in $("$top/patches.sh" write "$1" "$tmp/$1"); do
		name=$(basename "$p" .patch)
		patch -d "$2" -p1 -F0 -s -f --no-backup-if-mismatch <"$p" >"$tmp/log" 2>&1
		check "$1: $name applies" $? "$tmp/log"
		if [ -x "$2/scripts/checkpatch.pl" ] && command -v perl >/dev/null; then
			# Who signs off is for whoever sends them; the repository has no such lines.
			perl "$2/scripts/checkpatch.pl" --root="$2" --no-summary --terse \
				--ignore MISSING_SIGN_OFF,FILE_PATH_CHANGES "$p" >"$tmp/log" 2>&1
			check "$1: checkpatch of $name" $? "$tmp/log"
		fi
		for guest in y n; do
			objects='kernel/events/core.o kernel/events/callchain.o arch/x86/events/core.o'
			[ $guest = n ] || objects="$objects arch/x86/xen/pmu.o arch/x86/xen/irq.o"
			# shellcheck disable=SC2086
			make -C "$2" O="$2.$guest" -j"$JOBS" W= $objects >"$tmp/log" 2>&1 &&
				! grep -q 'warning:' "$tmp/log"
			check "$1: objects after $name, guest perf events: $guest" $? "$tmp/log"
		done
	done
	step "$1"
}

copy_tree() # from, to
{
	mkdir -p "$2" && (cd "$1" && tar cf - --exclude=.git .) | tar xf - -C "$2"
}

for series in ${*:-xen/4.17 linux/6.12 xen/patches linux/patches}; do
	t=$w/$(echo "$series" | tr / -)
	rm -rf "$t" "$t".[yn]
	mkdir -p "$w"
	case $series in
	xen/4.17) unpack_xen "$t" >"$tmp/log" 2>&1 || skip "no sources of Xen" ;;
	linux/6.12) unpack_linux "$t" >"$tmp/log" 2>&1 || skip "no sources of Linux" ;;
	xen/patches)
		[ -n "${XEN_UPSTREAM_TREE-}" ] || continue
		copy_tree "$XEN_UPSTREAM_TREE" "$t" ;;
	linux/patches)
		[ -n "${LINUX_UPSTREAM_TREE-}" ] || continue
		copy_tree "$LINUX_UPSTREAM_TREE" "$t" ;;
	*) skip "no series '$series'" ;;
	esac
	step "sources for $series"
	case $series in
	xen/*) try_xen "$series" "$t" ;;
	linux/*) try_linux "$series" "$t" ;;
	esac
	[ $rc != 0 ] || rm -rf "$t" "$t".[yn]
done
echo "1..$n"
echo "# $(($(date +%s) - started)) s in all: $steps"
exit $rc
