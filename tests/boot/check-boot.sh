#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Build Xen 4.17 and Linux 6.12 with the patch series, boot them in an emulated
# machine, record a known workload, and look at the recording. Prints TAP. See
# sources.sh for the environment. With the argument `example`, a longer workload
# is recorded, and becomes examples/xen-host with its symbols.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
. "$here/sources.sh"
need qemu-system-x86_64 gcc make flex bison bc cpio gzip patch perf busybox python3 nm readelf
b=$cache/boot
mkdir -p "$b/log"
seconds=3
if [ "${1-}" = example ]; then
	need dwz debugedit objcopy xz
	seconds=12
fi

fail() # step, log
{
	echo "Bail out! $1 failed"
	tail -n 20 "$2" | sed 's/^/# /'
	exit 1
}

# What a build depends on, so that nothing is built twice.
stamp()
{
	cat "$@" "$here"/*.config "$here/sources.sh" | sha256sum | cut -c 1-16
}
xen_stamp=$(stamp "$top"/xen/patches/*.patch "$top"/xen/4.17/*)
linux_stamp=$(stamp "$top"/linux/patches/*.patch "$top"/linux/6.12/*)

# ---- Xen, without and with the series ----
build_xen() # directory
{
	cp "$here/xen.config" "$1/xen/.config" &&
	make -C "$1/xen" olddefconfig && make -C "$1/xen" -j"$JOBS"
}
if [ "$(cat "$b/xen.stamp" 2>/dev/null)" != "$xen_stamp" ] || [ ! -f "$b/xen-syms.base" ]; then
	rm -rf "$b/xen" "$b/xen.stamp"
	unpack_xen "$b/xen" >"$b/log/xen-source" 2>&1 || fail "unpacking Xen" "$b/log/xen-source"
	step "sources of Xen"
	build_xen "$b/xen" >"$b/log/xen-base" 2>&1 || fail "building Xen" "$b/log/xen-base"
	cp "$b/xen/xen/xen" "$b/xen.base"
	cp "$b/xen/xen/xen-syms" "$b/xen-syms.base"
	step "Xen without the series"
	"$top/patches.sh" apply xen/4.17 "$b/xen" >"$b/log/xen-apply" 2>&1 ||
		fail "applying xen/4.17" "$b/log/xen-apply"
	build_xen "$b/xen" >"$b/log/xen" 2>&1 || fail "building the patched Xen" "$b/log/xen"
	cp "$b/xen/xen/xen" "$b/xen.new"
	cp "$b/xen/xen/xen-syms" "$b/xen-syms"
	cp "$b/xen/xen/.config" "$b/xen.config"
	echo "$xen_stamp" >"$b/xen.stamp"
	step "Xen with the series"
fi

# ---- Linux, likewise ----
build_linux()
{
	make -C "$b/linux" O="$b/linux-build" -j"$JOBS" bzImage
}
if [ "$(cat "$b/linux.stamp" 2>/dev/null)" != "$linux_stamp" ]; then
	rm -rf "$b/linux" "$b/linux-build" "$b/linux.stamp"
	unpack_linux "$b/linux" >"$b/log/linux-source" 2>&1 ||
		fail "unpacking Linux" "$b/log/linux-source"
	step "sources of Linux"
	mkdir -p "$b/linux-build"
	{
		make -C "$b/linux" O="$b/linux-build" tinyconfig &&
		(cd "$b/linux" && scripts/kconfig/merge_config.sh -O "$b/linux-build" -m \
			"$b/linux-build/.config" "$here/dom0.config") &&
		make -C "$b/linux" O="$b/linux-build" olddefconfig && build_linux
	} >"$b/log/linux-base" 2>&1 || fail "building Linux" "$b/log/linux-base"
	cp "$b/linux-build/arch/x86/boot/bzImage" "$b/bzImage.base"
	step "Linux without the series"
	"$top/patches.sh" apply linux/6.12 "$b/linux" >"$b/log/linux-apply" 2>&1 ||
		fail "applying linux/6.12" "$b/log/linux-apply"
	build_linux >"$b/log/linux" 2>&1 || fail "building the patched Linux" "$b/log/linux"
	cp "$b/linux-build/arch/x86/boot/bzImage" "$b/bzImage.new"
	cp "$b/linux-build/vmlinux" "$b/vmlinux"
	echo "$linux_stamp" >"$b/linux.stamp"
	step "Linux with the series"
fi

# ---- the product, as small as for a dom0, and what it runs in ----
small=
if [ -n "${XENFLAME-}" ] && [ -x "${XENFLAME-}" ]; then
	small=$XENFLAME
	# Configured in place, the sources cannot be built elsewhere: take what was built.
	if [ ! -f "$top/config.status" ]; then
		(
			mkdir -p "$b/xenflame" && cd "$b/xenflame" &&
			{ [ -f config.status ] || "$top/configure" CFLAGS='-g -O1' --without-cairo \
				--without-libxml2 --without-debuginfod --without-libcurl \
				--without-zstd --without-lzma; } &&
			make -j"$JOBS" xenflame
		) >"$b/log/xenflame" 2>&1 || fail "building a small xenflame" "$b/log/xenflame"
		small=$b/xenflame/xenflame
		step "small xenflame"
	fi
fi
"$here/mkinitrd.sh" "$b" "$b/initrd.gz" ${small:+"$small"} >"$b/log/initrd" 2>&1 || fail "making the initrd" "$b/log/initrd"
step "initial file system"

# ---- boots, two at a time: an emulated machine uses one processor ----
boot() # name, xen, kernel, options of Xen, options for dom0-init.sh
{
	begun=$(date +%s)
	rm -rf "$b/$1" "$b/$1.disk" "$b/$1.log"
	mkdir "$b/$1"
	truncate -s 256M "$b/$1.disk"
	# A comma would end the module's command line; -smap, -smep, -monitor are for
	# a PV dom0 under this emulator.
	(cd "$b" && timeout -k 5 "${BOOT_LIMIT:-400}" qemu-system-x86_64 -accel tcg,thread=single \
		-machine pc -cpu EPYC,-smap,-smep,-monitor -smp 2 -m 1280 -nodefaults -nographic \
		-no-reboot -serial "file:$1.log" -drive "file=$1.disk,if=virtio,format=raw" \
		-kernel "$2" -append "console=com1 com1=115200,8n1 loglvl=all guest_loglvl=all dom0_mem=900M,max:900M dom0_max_vcpus=2 cpuidle=0 conring_size=1M $4" \
		-initrd "$3 console=hvc0 earlyprintk=xen loglevel=6 rdinit=/init $5,initrd.gz") \
		>"$b/log/$1" 2>&1
	tar xf "$b/$1.disk" -C "$b/$1" --strip-components=1 2>>"$b/log/$1"
	rm -f "$b/$1.disk"
	echo "# $(($(date +%s) - begun)) s: boot $1: $4, $5"
}
{
	boot timer xen.new bzImage.new "vpmu=timer watchdog" "plan=timer"
	boot old-kernel xen.new bzImage.base "vpmu=timer,hv-stacktrace watchdog" "plan=probe"
	boot stock xen.base bzImage.base "" "plan=stock"
} &
boot record xen.new bzImage.new "vpmu=timer watchdog" "plan=record seconds=$seconds freq=${FREQ:-97}"
boot old-xen xen.base bzImage.new "vpmu=on" "plan=probe"
boot switch xen.new bzImage.new "vpmu=on" "plan=switch"
wait
step "boots"

n=0 rc=0
check() # description, status
{
	n=$((n + 1))
	if [ "$2" = 0 ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		rc=1
	fi
}

sound() # name: came up and went down in good order
{
	grep -q 'STEP done' "$b/$1.log" &&
	! grep -qE 'Unhandled|Panic on CPU|Oops|BUG:|WARNING:|rcu.*stall' "$b/$1.log"
	check "$1: dom0 starts, works and powers off, and nothing complains" $?
}

census() { python3 "$here/check-recording.py" --census "$b/$1/$2"; }

sound record
python3 "$here/check-recording.py" "$b/record" "$b/xen-syms" "$b/vmlinux" "$b/record.log" \
	"$b/root/bin/hcload" >"$b/log/recording" 2>&1
check "record: the recording is what it has to be" $?
sed 's/^/    /' "$b/log/recording"

sound timer
[ -s "$b/timer/clock.data" ] && [ "$(census timer clock.data | grep -cE ' (guest|hypervisor)')" = 0 ]
check "timer: samples of a software event are nobody else's" $?
grep -q 'Operation not supported' "$b/timer/switch.off"
check "timer: what was started with vpmu=timer stays with the timer" $?
awk '/ cycles / { gsub(",", "", $1); exit !($1 > 0) }' "$b/timer/stat.out" &&
	awk '/ instructions / { exit !($1 == 0) }' "$b/timer/stat.out"
check "timer: perf stat counts cycles, and no instructions" $?

sound old-xen
! grep -q 'features accepted' "$b/old-xen/facts.before"
check "old-xen: it refuses the features" $?
[ -s "$b/old-xen/clock.data" ] && [ "$(census old-xen clock.data | grep -cE ' (guest|hypervisor)')" = 0 ]
check "old-xen: samples of a software event are nobody else's" $?

sound old-kernel
grep -q 'features accepted' "$b/old-kernel/facts.before"
check "old-kernel: the features can be set" $?
census old-kernel perf.data.kvm >"$b/log/old-kernel.census"
grep -q '^samples [1-9]' "$b/log/old-kernel.census" && ! grep -qE '^mode hypervisor|^marker HV' "$b/log/old-kernel.census"
check "old-kernel: it records, and knows no hypervisor frames: $(tr '\n' ' ' <"$b/log/old-kernel.census")" $?

sound switch
[ "$(cat "$b/switch/switch.log" 2>/dev/null | tr '\n' ' ')" = "24 rc 0 features 0x18 8 rc 0 features 0x8 0 rc 0 features 0x0 16 rc 0 features 0x10 0 rc 0 features 0x0 32 rc 1 features 0x0 " ]
check "switch: from the PMU to the timer and back at run time" $?

sound stock

# ---- the product in these dom0s: what it thinks of them, and what it records ----
if [ -n "$small" ]; then
	python3 "$here/check-product.py" "$b" >"$b/log/product" 2>&1
	check "doctor's verdicts and record's doings are those that are due" $?
	sed 's/^/    /' "$b/log/product"
fi

# ---- the product draws it ----
if [ -n "${XENFLAME-}" ] && [ -x "${XENFLAME-}" ]; then
	draw() { (cd "$b/record" && "$XENFLAME" perf.data.kvm --symfs="$b/root" --xen-syms="$b/xen-syms" -o "$1"); }
	{ draw "$b/record.svg" && draw "$b/record.folded"; } >"$b/log/svg" 2>&1 &&
		grep -q 'do_mmu_update_\[h\]' "$b/record.svg"
	check "xenflame draws it, with do_mmu_update_[h]" $?
	sed 's/^/# /' "$b/log/svg"
	grep -q '^hc-[a-z]*;_start;demo_main;run_until;work_[^ ]*;entry_SYSCALL_64_after_hwframe[^ ]*;xen_hypercall_pv[^ ]*;lstar_enter_\[h\];[^ ]*pv_hypercall_\[h\];do_' "$b/record.folded"
	check "xenflame has whole chains, from _start to Xen" $?
	step "picture"
fi
if [ "${1-}" = example ] && [ $rc = 0 ]; then
	"$here/example.sh" "$b" "$b/xen" >"$b/log/example" 2>&1
	check "examples/xen-host is made of it" $?
fi
echo "1..$n"
echo "# $(($(date +%s) - started)) s in all: $steps"
exit $rc
