#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds the fuzz targets with libFuzzer (clang) in DIR and runs each for SECONDS, starting from the seeds.
# usage: run.sh DIR SECONDS [TARGET…]
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
dir=$1 seconds=$2
shift 2
command -v clang >/dev/null || { echo "clang is not installed" >&2; exit 77; }
mkdir -p "$dir"
cd "$dir"
[ -f Makefile ] || "$top/configure" --quiet --enable-fuzz CC=clang
targets=${*:-console d3 elf firefox folded json perf-data pprof script speedscope svg}
for t in $targets; do
	make -s "tests/fuzz/$t"
	mkdir -p "found/$t"
	set -- -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2500 -print_final_stats=1
	[ ! -f "$top/tests/fuzz/$t.dict" ] || set -- "$@" -dict="$top/tests/fuzz/$t.dict"
	echo "== $t, $seconds s"
	"tests/fuzz/$t" "$@" "found/$t" "$top/tests/fuzz/corpus/$t" 2>found/"$t".log || {
		tail -n 30 found/"$t".log
		exit 1
	}
	grep -E 'number_of_executed_units|peak_rss' found/"$t".log
done
