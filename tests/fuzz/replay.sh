#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Gives each fuzz target its corpus: tests/fuzz/corpus/NAME for tests/fuzz/NAME. A crash is a missing plan.
nr=0
for dir in "$abs_top_srcdir"/tests/fuzz/corpus/*/; do
	name=$(basename "$dir")
	target=$abs_top_builddir/tests/fuzz/$name
	[ -x "$target" ] || continue
	nr=$((nr + 1))
	if out=$("$target" "$dir" 2>&1) && ! echo "$out" | grep -q '^not ok' && echo "$out" | grep -q '^1\.\.[1-9]'; then
		echo "ok $nr - $name: $(echo "$out" | grep -c '^ok') files"
	else
		echo "not ok $nr - $name"
		echo "$out" | tail -n 30 | sed 's/^/# /'
	fi
done
echo "1..$nr"
[ $nr -gt 0 ]
