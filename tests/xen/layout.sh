#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The shared page as Xen's patches declare it and as Linux' patches do: compiled
# separately, compared field by field; and so are the constants.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$here/../..
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
PYTHON3=${PYTHON3:-python3}
CC=${CC:-cc}
n=0 rc=0

check() # description, status, file with detail
{
	n=$((n + 1))
	if [ "$2" = 0 ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		[ -z "${3-}" ] || sed 's/^/# /' "$3"
		rc=1
	fi
}

command -v "$PYTHON3" >/dev/null || { echo "1..0 # SKIP no python3"; exit 0; }
command -v patch >/dev/null || { echo "1..0 # SKIP no patch(1)"; exit 0; }

# What a side adds: series, header with the structures, header with the constants.
view() # side series structures constants
{
	d=$tmp/$1
	mkdir "$d"
	patches=$("$top/patches.sh" write "$2" "$d/p") || exit 99
	# shellcheck disable=SC2086
	"$PYTHON3" "$here/extract.py" added "$3" $patches >"$d/structures.txt" || exit 99
	# shellcheck disable=SC2086
	"$PYTHON3" "$here/extract.py" added "$4" $patches >"$d/constants.txt" || exit 99
	{
		cat <<'C'
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
typedef uint16_t domid_t;
#define DEFINE_XEN_GUEST_HANDLE(name) struct unused_##name

/* These fields have been there since version 0.1 of the interface. */
struct xen_pmu_regs {
	uint64_t ip;
	uint64_t sp;
	uint64_t flags;
	uint16_t cs;
	uint16_t ss;
	uint8_t cpl;
	uint8_t pad[3];
C
		# The patch adds to the end of this structure.
		sed '/^struct\|^\/\*$/,$d' "$d/structures.txt"
		echo '};'
		echo 'typedef struct xen_pmu_regs xen_pmu_regs_t;'
		sed -n '/^struct xen_pmu_hv_stacktrace {/,/^};/p' "$d/structures.txt"
		cat <<'C'
#define FIELD(s, f) printf("%-40s %5zu %5zu\n", #s "." #f, offsetof(struct s, f), \
			   sizeof(((struct s *)0)->f))
int main(void)
{
	printf("%-40s       %5zu\n", "xen_pmu_regs", sizeof(struct xen_pmu_regs));
	FIELD(xen_pmu_regs, ip);
	FIELD(xen_pmu_regs, cpl);
	FIELD(xen_pmu_regs, bp);
	printf("%-40s       %5zu\n", "xen_pmu_hv_stacktrace",
	       sizeof(struct xen_pmu_hv_stacktrace));
C
		sed -n '/^struct xen_pmu_hv_stacktrace {/,/^};/p' "$d/structures.txt" |
			sed -n 's/^[[:space:]]*[a-z][a-z0-9_ ]* \([a-z_]*\)\(\[[^]]*\]\)\{0,1\};.*/\tFIELD(xen_pmu_hv_stacktrace, \1);/p'
		sed -n 's/^#define \(XEN_PMU_HV_[A-Z_]*\)[[:space:]].*/\tprintf("%-40s %5u\\n", "\1", (unsigned)(\1));/p' \
			"$d/structures.txt"
		echo '	return 0;'
		echo '}'
	} >"$d/view.c"
	$CC -std=gnu11 -Wall -Wno-unused -Werror -o "$d/view" "$d/view.c" 2>"$d/log"
	check "$1: the structures compile" $? "$d/log"
	"$d/view" >"$d/layout" 2>&1
	sed -n 's/^#define \(XENPMU_[A-Za-z_]*\)[[:space:]]*\(.*[^[:space:]]\)[[:space:]]*$/\1 \2/p' \
		"$d/constants.txt" | sed 's:[[:space:]]*/\*.*::' | sort >"$d/constants"
}

X=xen/include/public
L=arch/x86/include/asm/xen/interface.h
view xen xen/patches $X/arch-x86/pmu.h $X/pmu.h
view xen-4.17 xen/4.17 $X/arch-x86/pmu.h $X/pmu.h
view linux linux/patches $L include/xen/interface/xenpmu.h
view linux-6.12 linux/6.12 $L include/xen/interface/xenpmu.h

for other in xen-4.17 linux linux-6.12; do
	diff "$tmp/xen/layout" "$tmp/$other/layout" >"$tmp/diff" 2>&1
	check "offsets and sizes are the same in xen and $other" $? "$tmp/diff"
done
[ "$(grep -c xen_pmu_hv_stacktrace\\. "$tmp/xen/layout")" = 8 ]
check "all fields were looked at" $? "$tmp/xen/layout"

# The words of the interface: these numbers cannot change any more once in use.
cat >"$tmp/want" <<'E'
xen_pmu_regs                                      40
xen_pmu_regs.ip                              0     8
xen_pmu_regs.cpl                            28     1
xen_pmu_regs.bp                             32     8
xen_pmu_hv_stacktrace                           1080
xen_pmu_hv_stacktrace.nr                     0     4
xen_pmu_hv_stacktrace.flags                  4     4
xen_pmu_hv_stacktrace.guest_vcpu_id          8     4
xen_pmu_hv_stacktrace.guest_domain_id       12     2
xen_pmu_hv_stacktrace.pad                   14     2
xen_pmu_hv_stacktrace.guest_regs            16    40
xen_pmu_hv_stacktrace.guest_flags           56     8
xen_pmu_hv_stacktrace.stacktrace            64  1016
XEN_PMU_HV_SAMPLE                            1
XEN_PMU_HV_GUEST_REGS                        2
XEN_PMU_HV_TRUNCATED                         4
XEN_PMU_HV_STACKTRACE_MAX                  127
E
diff -b "$tmp/want" "$tmp/xen/layout" >"$tmp/diff"
check "the layout is the one that is documented" $? "$tmp/diff"

# Linux has constants that Xen has had before, hence does not add.
while read -r name value; do
	grep -qx "$name $value" "$tmp/linux/constants" &&
		grep -qx "$name $value" "$tmp/linux-6.12/constants" &&
		grep -qx "$name $value" "$tmp/xen-4.17/constants"
	check "$name is $value everywhere" $? "$tmp/linux/constants"
done <"$tmp/xen/constants"
[ "$(wc -l <"$tmp/xen/constants")" = 4 ]
check "version, operation and features were looked at" $? "$tmp/xen/constants"

echo "1..$n"
exit $rc
