#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# mkinitrd.sh DIRECTORY OUTPUT [XENFLAME]: what the dom0 of check-boot has for a
# root file system, from programs of this machine: busybox, perf and xenflame with
# their libraries, the workload, and tables of symbols of both hypervisors.
set -eu
src=$(cd "$(dirname "$0")" && pwd)
root=$1/root
rm -rf "$root"
mkdir -p "$root/bin" "$root/boot" "$root/etc" "$root/lib64" "$root/usr/share/common-licenses"
cp "$(command -v busybox)" "$root/bin/busybox"
program() # file, name
{
	cp "$1" "$root/bin/$2"
	ldd "$1" | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p; s/^[[:space:]]*\(\/[^ ]*ld-linux[^ ]*\) .*/\1/p' |
	while read -r lib; do
		mkdir -p "$root$(dirname "$lib")"
		cp -L "$lib" "$root$lib"
	done
}
program "$(readlink -f "$(command -v perf)")" perf
if [ -n "${3-}" ]; then
	program "$3" xenflame
	strip -g -o "$root/boot/xen-syms-4.17.5" "$1/xen-syms"
	strip -g -o "$root/boot/xen-syms-4.17.5-stock" "$1/xen-syms.base"
	[ ! -f /etc/os-release ] || cp -L /etc/os-release "$root/etc/os-release"
fi
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
