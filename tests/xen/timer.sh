#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The sampling timer, as the patches have it, against a clock that the test moves;
# with sanitizers, and then with mistakes put in, which the test has to notice.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$here/../..
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
PYTHON3=${PYTHON3:-python3}
CC=${CC:-cc}
n=0 rc=0

check() # description, status
{
	n=$((n + 1))
	if [ "$2" = 0 ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		grep -E '^not ok|error' "$tmp/log" | sed 's/^/# /; 10q'
		rc=1
	fi
}

command -v "$PYTHON3" >/dev/null || { echo "1..0 # SKIP no python3"; exit 0; }
command -v patch >/dev/null || { echo "1..0 # SKIP no patch(1)"; exit 0; }
sanitize='-fsanitize=address,undefined -fno-sanitize-recover=all'
echo 'int main(void) { return 0; }' >"$tmp/try.c"
# shellcheck disable=SC2086
$CC $sanitize -o "$tmp/try" "$tmp/try.c" 2>/dev/null && "$tmp/try" || {
	echo "# no sanitizers here"
	sanitize=
}

build() # directory with vpmu-timer.c
{
	# shellcheck disable=SC2086
	$CC -g -O1 -Wall -Wno-unused-function $sanitize -I"$here" -I"$1" -o "$1/test" \
		"$here/timer-test.c" >"$tmp/log" 2>&1
}

for series in xen/patches xen/4.17; do
	d=$tmp/$(basename $series)
	patches=$("$top/patches.sh" write $series "$d/p") || exit 99
	# shellcheck disable=SC2086
	"$PYTHON3" "$here/extract.py" file xen/arch/x86/cpu/vpmu-timer.c $patches |
		sed '/#include/d' >"$d/vpmu-timer.c"
	build "$d"
	check "$series: the timer compiles" $?
	timeout 60 "$d/test" >"$tmp/log" 2>&1
	check "$series: its counters and samples are right" $?
	[ "$(grep -c '^ok' "$tmp/log")" -ge 155 ]
	check "$series: $(grep -c '^ok' "$tmp/log") tests were run" $?
done

i=0
while IFS='|' read -r what edit; do
	i=$((i + 1))
	d=$tmp/mistake$i
	mkdir "$d"
	sed "$edit" "$tmp/patches/vpmu-timer.c" >"$d/vpmu-timer.c"
	if cmp -s "$tmp/patches/vpmu-timer.c" "$d/vpmu-timer.c"; then
		echo "error: the mistake changes nothing" >"$tmp/log"
		check "noticed: $what" 1
		continue
	fi
	build "$d" && timeout 60 "$d/test" >"$tmp/log" 2>&1 && s=1 || s=0
	check "noticed: $what" $s
done <<'M'
the time that a sample waits is not counted|/relative to the time of the sample/,/plan(t)/s/advance(t, NOW())/t->updated = NOW()/
overdue samples come at once|s/delay = min(delay, interval);/delay = 0;/
timers are set to the past|s/max_t(s_time_t, delay, SLACK)/delay - MILLISECS(1)/
the rate has no limit|s/t->sampled + interval)/0)/
other events count as cycles|s/(select & SEL_EVENT) !=/0 \&\& (select \& SEL_EVENT) !=/
conditions of events are ignored|s/ || (select & SEL_HOW) ||/ ||/
samples of any mode count|s/!(counts(t, i) & mode)/0/
the mask of LVTPC is ignored|s/!(vpmu->hw_lapic_lvtpc & APIC_LVT_MASKED) \&\&/1 \&\&/
everybody is sampled in any mode|s/if ( vpmu_mode & XENPMU_MODE_ALL )/if ( 1 )/
samples overwrite each other|s/ || vpmu_is_set(vpmu, VPMU_CACHED) ||/ ||/
counters have more than 48 bits|s/ACCESS_ONCE(\*page_counter(v, i)) & COUNTER_MASK/ACCESS_ONCE(*page_counter(v, i))/
the timer stays where Xen has moved it|s/migrate_timer(&t->timer, t->v->vcpu_id)/(void)0/
CPUs are asked for that cannot be|s/v->vcpu_id < nr_cpu_ids \&\& //
a CPU that went away is forgotten|s/if ( !t->running || t->gone )/if ( !t->running || t->gone || !has_cpu(t->v) )/
the end does not wait|s/vpmu_sync_irqs();/xfree(t); vpmu_sync_irqs(); return;/
M

echo "1..$n"
exit $rc
