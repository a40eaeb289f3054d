#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The text readers over the corpus. The figures to be met are not ours: EXPECTED.tsv (an independent reader of the
# recording that a text was printed from), and counts of lines by awk.
corpus=$abs_top_srcdir/tests/data/corpus
dump=$abs_top_builddir/tests/unit/text-dump
nr=0
failed=0
tab=$(printf '\t')

result() { # OK NAME NOTE
	nr=$((nr + 1))
	if [ "$1" = 1 ]; then
		echo "ok $nr - $2"
	else
		echo "not ok $nr - $2"
		echo "# $3"
		failed=1
	fi
}

text_of() {
	if [ -e "$1.xz" ]; then xzcat "$1.xz"; elif [ -e "$1.gz" ]; then zcat "$1.gz"; else cat "$1"; fi
}

file_of() {
	if [ -e "$1" ]; then echo "$1"; else echo "$1".??; fi
}

sums() { # FILE KEY: that figure of text-dump -s
	"$dump" -s "$(file_of "$1")" 2>/dev/null | tr ' ' '\n' | sed -n "s/^$2=//p" | head -n 1
}

figure() { # RECORDING COLUMN
	awk -F'\t' -v f="$1" -v c="$2" '$1 == f { print $c }' "$corpus/EXPECTED.tsv"
}

# TEXT RECORDING FRAMES PERIODS: samples as in the recording, nothing lost, nothing unknown. FRAMES: chain = as many as chain
# entries, lines = as many as lines that look like a frame, samples = one each; PERIODS: sum or one.
check() {
	text=$corpus/$1
	want_samples=$(figure "$2" 6)
	case $3 in
	chain) want_frames=$(figure "$2" 8) ;;
	lines) want_frames=$(text_of "$text" | grep -c -E "^$tab *[0-9a-f]+([ ]|\$)") ;;
	samples) want_frames=$want_samples ;;
	esac
	case $4 in
	sum) want_periods=$(figure "$2" 7) ;;
	one) want_periods=$want_samples ;;
	esac
	got="$(sums "$text" samples) $(sums "$text" frames) $(sums "$text" periods) $(sums "$text" bad)"
	want="$want_samples $want_frames $want_periods 0"
	[ "$got" = "$want" ] && [ -n "$want_samples" ] && ok=1 || ok=0
	result $ok "$1: $want" "got $got"
}

fp=local/fp/perf.data
for t in crlf header latency nocomm nosymoff ns pluspid reltime period_first srcline; do
	check local/variants/$t.txt $fp chain sum
done
check local/variants/ipsym.txt $fp chain one
check local/variants/iponly.txt $fp chain one
check local/variants/noperiod.txt $fp chain one
check local/variants/maxstack3.txt $fp lines sum
check local/variants/nocg.txt $fp samples sum
check local/variants/flat_min.txt local/flat/perf.data samples one
check local/variants/notime.txt local/fp_notime/perf.data chain sum
check local/variants/misc.txt local/sysw/perf.data chain sum
check local/variants/nodemangle.txt local/cxx/perf.data chain sum
check local/variants/regs.txt local/regs/perf.data chain sum
check local/variants/allev.txt local/kvm/perf.data.kvm chain sum
check local/variants/noinline.txt local/dwarf_small/perf.data lines sum
check local/variants/srcline_dwarf.txt local/dwarf_small/perf.data lines sum

for dir in allfields cxx fp fp_notime pipe pipe_multi pipe_z recurse regs stripped switch sysw zstd; do
	check local/$dir/script.txt local/$dir/perf.data chain sum
done
check local/multi/script.txt local/multi/perf.data chain sum
check local/threads_dir/script.txt local/threads_dir/perf.data chain sum
check local/flat/script.txt local/flat/perf.data samples sum
for dir in cxx_dwarf dwarf dwarf_small pipe_dwarf; do
	check local/$dir/script.txt local/$dir/perf.data lines sum
done
check xen-stock/novpmu.perf-script.txt xen-stock/novpmu.perf.data chain sum
check xen-stock/novpmu.perf-kvm-script.txt xen-stock/novpmu.perf.data.kvm chain sum
check xen-hv/perf.script.txt xen-hv/perf.data.kvm chain sum
check xen-hv/dwarf.script.txt xen-hv/dwarf.perf.data.kvm lines sum

# Texts without a recording, and those of which perf prints less than was recorded: every line that starts a sample is
# one (awk's way to tell them), every line of an address is a frame.
count() { # TEXT PATTERN-OF-FIRST-LINES
	text=$corpus/$1
	want="$(text_of "$text" | grep -a -c -E "$2") $(text_of "$text" | grep -a -c -E "^$tab *[0-9a-f]+ ") 0"
	got="$(sums "$text" samples) $(sums "$text" frames) $(sums "$text" bad)"
	[ "$got" = "$want" ] && [ "${want%% *}" -gt 0 ] && ok=1 || ok=0
	result $ok "$1: $want" "got $got"
}
time='[0-9]+\.[0-9]{6,9}: '
count xen-hv/rfc-layout.script.txt "$time"
count local/variants/metric.txt "$time +[0-9]+ +[a-z-]+: "
count local/multi_grp/script.txt "$time"
for t in perf-cycles-instructions-01 perf-dd-stacks-01 perf-funcab-cmd-01 perf-java-stacks-01 perf-mirageos-stacks-01 \
	perf-rust-Yamakaky-dcpu perf-vertx-stacks-01; do
	count public/FlameGraph/$t.txt "($time|^java  [0-9]+ cpu-clock: )"
done
for t in cpp-stacks-std-function go-stacks java-inline; do
	count public/inferno/$t.txt "$time"
done
for t in one-sample rust-mangled simple-with-header simple-with-pid simple; do
	count public/speedscope/$t.linux-perf.txt "[0-9]\.[0-9]{6}: "
done
count public/magic-trace/c_demo_sampling.perf "$time"
count public/node-flamegraph/perf-script-part1.txt "$time"
# A branch a line, each with a frame.
for t in hello_world_userspace ocaml_exceptions page_fault; do
	want=$(text_of "$corpus/public/magic-trace/$t.perf" | grep -c '^[0-9]')
	got="$(sums "$corpus/public/magic-trace/$t.perf" samples) $(sums "$corpus/public/magic-trace/$t.perf" frames)"
	[ "$got" = "$want $want" ] && [ "$want" -gt 0 ] && ok=1 || ok=0
	result $ok "public/magic-trace/$t.perf: $want branches" "got $got"
done

# Frames of the hypervisor, by address alone: as many as awk counts in the range that is Xen's.
for t in perf dwarf rfc-layout; do
	want=$(text_of "$corpus/xen-hv/$t.script.txt" | grep -c "^${tab}ffff82d04")
	got=$(sums "$corpus/xen-hv/$t.script.txt" hv)
	[ "$got" = "$want" ] && [ "$want" -gt 0 ] && ok=1 || ok=0
	result $ok "xen-hv/$t.script.txt: $want hypervisor frames" "got $got"
done

# Xen console: a sample for each CPU that printed itself, host part and guest part being one.
console=$corpus/xen-stock/debug-keys-d.console.txt
traces=$(text_of "$console" | grep -c 'Xen call trace:')
records=$(text_of "$console" | awk '
	/Dumping CPU[0-9]+ host state/ { n++; match($0, /CPU[0-9]+/); last = substr($0, RSTART, RLENGTH); next }
	/Dumping CPU[0-9]+ guest state/ { match($0, /CPU[0-9]+/); if (substr($0, RSTART, RLENGTH) != last) n++; last = "" }
	END { print n }')
lines=$(text_of "$console" | grep -c -E '\[<[0-9a-f]+>\] [RSF] ')
got="$(sums "$console" samples) $(sums "$console" hv)"
[ "$got" = "$records $lines" ] && [ "$traces" = 111 ] && ok=1 || ok=0
result $ok "debug-keys-d.console.txt: $records records, $traces traces, $lines lines of traces" "got $got"

# Threads and pieces change nothing.
for t in local/fp/script.txt local/variants/nocg.txt xen-hv/perf.script.txt; do
	a=$(text_of "$corpus/$t" | "$dump" -j 1 -at - | cksum)
	b=$({ text_of "$corpus/$t"; } | "$dump" -j 4 -at - | cksum)
	c=$("$dump" -j 3 -at "$(file_of "$corpus/$t")" | cksum)
	[ "$a" = "$b" ] && [ "$a" = "$c" ] && [ "${a#* }" -gt 1000 ] && ok=1 || ok=0
	result $ok "$t: the same with any number of threads" "$a, $b, $c"
done

echo "1..$nr"
exit $failed
