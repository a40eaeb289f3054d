#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# mkinitrd.sh DIRECTORY OUTPUT: what the dom0 of check-boot has for a root file
# system, from programs of this machine: busybox, perf with its libraries, and
# the workload.
set -eu
src=$(cd "$(dirname "$0")" && pwd)
root=$1/root
rm -rf "$root"
mkdir -p "$root/bin" "$root/lib64" "$root/usr/share/common-licenses"
cp "$(command -v busybox)" "$root/bin/busybox"
perf=$(readlink -f "$(command -v perf)")
cp "$perf" "$root/bin/perf"
ldd "$perf" | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p; s/^[[:space:]]*\(\/[^ ]*ld-linux[^ ]*\) .*/\1/p' |
while read -r lib; do
	mkdir -p "$root$(dirname "$lib")"
	cp -L "$lib" "$root$lib"
done
cd "$src"
${CC:-gcc} -g -ffile-prefix-map="$PWD"=/usr/src/xenflame/tests/boot \
	-O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls -ffreestanding \
	-fno-stack-protector -fno-builtin -fno-pie -no-pie -nostdlib -static \
	-fcf-protection=none -Wl,--eh-frame-hdr,--build-id -o "$root/bin/hcload" hcload.c
cp workload.sh "$root/workload.sh"
cp dom0-init.sh "$root/init"
cp -L /usr/share/common-licenses/GPL-2 /usr/share/common-licenses/GPL-3 \
	"$root/usr/share/common-licenses/"
chmod 755 "$root/init"
(cd "$root" && find . | sort | cpio -o -H newc --quiet | gzip -1 -n) >"$2.new"
mv "$2.new" "$2"
