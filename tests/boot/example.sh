#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# example.sh DIRECTORY XEN-SOURCES: make examples/xen-host of what check-boot left
# in DIRECTORY, and beside the test data the answers of addr2line about it.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
to=$top/examples/xen-host
answers=$top/tests/data/corpus/xen-timer
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
for f in record/perf.data.kvm record/kallsyms; do
	install -m 644 "$1/$f" "$to"
done
install -m 755 "$1/root/bin/hcload" "$to"

# Symbols without code, with a path of the sources that is nobody's.
objcopy --only-keep-debug "$1/xen-syms" "$tmp/whole"
debugedit -b "$2" -d /usr/src/xen "$tmp/whole"
# dwz gives up where location lists are missing, and binutils does not follow what
# it makes: so the answers are of the file before it.
mkdir -p "$answers"
python3 "$top/tests/cases/xen-oracle.py" --ask "$tmp/whole" | xz -9 >"$answers/addr2line.txt.xz"
dwz "$tmp/whole" -o "$tmp/small"
objcopy --remove-section='.debug_loc*' --compress-debug-sections=zlib "$tmp/small" "$tmp/xen-syms"
install -m 644 "$tmp/xen-syms" "$to"
