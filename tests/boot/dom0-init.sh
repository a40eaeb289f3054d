#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Process 1 of the dom0 that check-boot starts. The kernel's command line says
# what to do:
#   plan=record     features and mode as for a profile, and a recording of it
#   plan=timer      the product's own recordings, then other things to do with the
#                   timer's counters
#   plan=probe      only short recordings, for combinations of patched and
#                   unpatched hypervisor and kernel
#   plan=switch     several values for pmu_features, one after the other
#   plan=stock      nothing but the product, which has to do without
# In each, the product's doctor looks at the machine first, as it was started.
#   features=N      what to write into pmu_features
#   seconds=N       length of each of the phases of the workload
#   freq=N          samples per second and CPU to ask for
# What is left in /out goes to the first disk as a tar archive.
/bin/busybox mkdir -p /proc /sys /dev /tmp /out /etc /usr/bin /sbin
/bin/busybox --install -s /bin
export PATH=/bin HOME=/tmp PERF_PAGER=cat
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mount -t xenfs xenfs /proc/xen
echo 'root:x:0:0::/:/bin/sh' >/etc/passwd
echo -1 >/proc/sys/kernel/perf_event_paranoid
echo 0 >/proc/sys/kernel/kptr_restrict
echo 100000 >/proc/sys/kernel/perf_event_max_sample_rate

plan=probe features=24 seconds=2 freq=199
for w in $(cat /proc/cmdline); do
	case $w in
	plan=*|features=*|seconds=*|freq=*) eval "$w" ;;
	esac
done

pmu=/sys/hypervisor/pmu
cd /out
echo "STEP start uptime $(cut -d' ' -f1 /proc/uptime)"
cat /sys/hypervisor/properties/buildid >xen.buildid
cat /proc/kallsyms >kallsyms
cat /sys/kernel/notes >notes
cat /proc/xen/xensyms >xensyms
uname -a >uname
for a in hc-mmap hc-touch hc-fork hc-privcmd hc-pipe hc-net hc-spin hc-console; do
	ln -s hcload /bin/$a
done

facts()
{
	echo "mode $(cat $pmu/pmu_mode 2>&1)"
	echo "features $(cat $pmu/pmu_features 2>&1)"
	grep LOC: /proc/interrupts
}

# record NAME OPTIONS... -- COMMAND...
record()
{
	n=$1
	shift
	echo "STEP $n uptime $(cut -d' ' -f1 /proc/uptime)"
	perf "$@" >$n.out 2>&1
	echo "rc $?" >>$n.out
}

settings()
{
	echo "$(cat $pmu/pmu_mode 2>&1) $(cat $pmu/pmu_features 2>&1)"
}

# product NAME ARGUMENTS...: what xenflame says, and the settings around it
product()
{
	n=$1
	shift
	echo "STEP $n uptime $(cut -d' ' -f1 /proc/uptime)"
	settings >$n.settings
	xenflame "$@" >$n.out 2>$n.err
	echo "$?" >$n.rc
	settings >>$n.settings
}

if [ -x /bin/xenflame ]; then
	product doctor doctor --json
	product probe doctor --json --probe
	[ "$plan" != record ] || product text doctor
	if [ "$plan" = timer ] || [ "$plan" = stock ]; then
		mkdir taken forced
		product taken record -o taken/perf.data.kvm -- hc-mmap 1
		product forced record --force --no-trial -o forced/perf.data.kvm -- hc-mmap 1
	fi
	if [ "$plan" = timer ]; then
		# One without an end, which somebody ends.
		mkdir ended
		settings >ended.settings
		xenflame record -o ended/perf.data.kvm >ended.out 2>ended.err &
		p=$!
		i=0
		until [ -s ended/perf.data.kvm ] || [ $i = 60 ]; do
			sleep 1
			i=$((i + 1))
		done
		sleep 1
		settings >>ended.settings
		kill -INT $p
		wait $p
		echo "$?" >ended.rc
		settings >>ended.settings
	fi
fi

facts >facts.before
{ echo "$features" >$pmu/pmu_features; } 2>>facts.before && echo "features accepted" >>facts.before
{ echo all >$pmu/pmu_mode; } 2>>facts.before && echo "mode accepted" >>facts.before
facts >facts.after

if [ "$plan" = record ]; then
	record perf kvm --host --guest record -a -F "$freq" -g -m 1M \
		-o perf.data.kvm -- sh /workload.sh "$seconds"
	cat /proc/cpuinfo >cpuinfo
elif [ "$plan" = timer ]; then
	record clock record -a -g -e cpu-clock -F 199 -o clock.data -- hc-mmap 2
	record dwarf kvm --host --guest record -a -F "$freq" --call-graph dwarf,1024 -m 4M \
		-o dwarf.data.kvm -- hc-mmap 2
	record stat stat -a -e cycles,instructions -- hc-spin 2

	# The other source of samples was not there when the hypervisor started.
	{ echo 8 >$pmu/pmu_features; } 2>switch.off
	echo "rc $?" >>switch.off
elif [ "$plan" = switch ]; then
	for value in 24 8 0 16 0 32; do
		echo "$value"
		echo "$value" 2>/dev/null >$pmu/pmu_features
		echo "rc $?"
		echo "features $(cat $pmu/pmu_features)"
	done >switch.log
	record clock record -a -g -e cpu-clock -F 199 -o clock.data -- hc-mmap 1
elif [ "$plan" = probe ]; then
	record perf kvm --host --guest record -a -F "$freq" -g -m 1M \
		-o perf.data.kvm -- hc-mmap 2
	record clock record -a -g -e cpu-clock -F 199 -o clock.data -- hc-mmap 2
fi
for f in perf.data.kvm clock.data; do
	[ -e $f ] && perf script -i $f -F comm,pid,cpu,time,event,ip,sym >$f.txt 2>$f.err
done
facts >facts.end
dmesg >dmesg
cd /
tar cf /tmp/out.tar out && dd if=/tmp/out.tar of=/dev/vda bs=64k 2>/dev/null
sync
echo "STEP done uptime $(cut -d' ' -f1 /proc/uptime)"
poweroff -f
