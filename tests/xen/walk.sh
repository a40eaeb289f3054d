#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The walk along frame pointers, as the patches have it: its own unit test, with
# sanitizers, and then with mistakes put in, which the test has to notice.
set -u
. "$(dirname "$0")/mutants.sh"

build() # directory
{
	# shellcheck disable=SC2086
	$CC -g -O1 -Wall -Werror $sanitize -I"$here" -o "$1/test" "$1/main.c" >"$tmp/log" 2>&1
}

for series in xen/patches xen/4.17; do
	d=$tmp/$(basename $series)
	patches=$("$top/patches.sh" write $series "$d/p") || exit 99
	for f in main.c emul.h; do
		# shellcheck disable=SC2086
		"$PYTHON3" "$here/extract.py" file tools/tests/stack-walk/$f $patches >"$d/$f" || exit 99
	done
	# shellcheck disable=SC2086
	"$PYTHON3" "$here/extract.py" file xen/arch/x86/include/asm/stack-walk.h $patches |
		sed '/#include/d' >"$d/stack-walk.h"
	build "$d"
	check "$series: the unit test compiles" $?
	"$d/test" >"$tmp/log" 2>&1
	check "$series: it passes" $?
	grep -q '^[0-9]\{5,\} tests, 0 failures$' "$tmp/log"
	check "$series: it has run its tests" $?
done

mistakes stack-walk.h main.c emul.h <<'M'
unaligned frames are followed|s/!(fp % sizeof(unsigned long)) \&\&/1 \&\&/
frames below the last one are followed|s/fp >= w->low \&\&/1 \&\&/
frames beyond the stack are followed|s/ \&\& fp <= w->high \&\&/ \&\&/
the second word is not checked|s/w->high - fp >= words \* sizeof(unsigned long)/1/
one word too many|s/w->high - fp >= words \*/w->high + 8 - fp >= words */
one word too few|s/w->high - fp >= words \*/w->high - 8 - fp >= words */
addresses need not be text|s/return is_active_kernel_text(w->addr);/return true;/
exception frames are not known|s/fp = ~fp;/return false;/
exception frames are as short as others|s/words = STACK_WALK_EXC_RIP;/words = 1;/
frames may overlap|s/w->low = fp + (words + 1) \*/w->low = fp + words */
M

echo "1..$n"
exit $rc
