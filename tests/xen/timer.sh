#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The sampling timer, as the patches have it, against a clock that the test moves;
# with sanitizers, and then with mistakes put in, which the test has to notice.
set -u
. "$(dirname "$0")/mutants.sh"

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

mistakes vpmu-timer.c <<'M'
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
