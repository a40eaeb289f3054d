#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The reader of perf.data over the corpus. Oracles that are not ours: EXPECTED.tsv (an independent reader), the texts
# that perf script printed of the same files, and files that must give the same samples as another one.
corpus=$abs_top_srcdir/tests/data/corpus
census=$abs_top_builddir/tests/tools/perf-census
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
nr=0
failed=0
tab=$(printf '\t')

result() { # STATUS NAME
	nr=$((nr + 1))
	if [ "$1" = 0 ]; then
		echo "ok $nr - $2"
	else
		echo "not ok $nr - $2"
		failed=1
	fi
}

same() { # NAME EXPECTED-FILE GOT-FILE
	if [ -s "$2" ] && cmp -s "$2" "$3"; then
		result 0 "$1"
	else
		result 1 "$1"
		diff "$2" "$3" | head -n 6 | sed 's/^/# /'
	fi
}

have_zstd=0
grep -q 'define HAVE_ZSTD 1' "$abs_top_builddir/config.h" && have_zstd=1

# Compressed recordings in a program built without libzstd: says so in one test, and true.
left_out() { # FILE
	case $1 in
	*zstd/* | *pipe_z/* | *comp8*_* | *compressed*) ;;
	*) return 1 ;;
	esac
	[ $have_zstd = 0 ] || return 1
	if "$census" "$1" >/dev/null 2>"$tmp/err"; then
		result 1 "$1 needs libzstd"
	else
		grep -q 'built without libzstd' "$tmp/err"
		result $? "$1 needs libzstd, and that is told"
	fi
}

# Columns of EXPECTED.tsv: 5 events, 6-15 the figures.
while IFS=$tab read -r file kind endian size events figures; do
	[ "$file" = file ] && continue
	left_out "$corpus/$file" && continue
	figures=$(printf '%s\n' "$figures" | cut -f1-10)
	case $file in
	synth/size0.data | synth/truncated.data)
		# Its table of names is missing; the event is named by its type.
		events=$(echo "$events" | sed 's/attr0/cpu-clock/') ;;
	synth/deferred.data)
		# The independent reader leaves the deferred user parts alone; merged, it is local/fp.
		figures=$(awk -F'\t' -v OFS='\t' '$1 == "local/fp/perf.data" {
			print $6, $7, $8, $9, $10, $11, $12, $13, $14, $15 }' "$corpus/EXPECTED.tsv") ;;
	local/multi_grp/perf.data)
		# Leader sampling, split as perf script does; the figures are those of its text.
		xzcat "$corpus/local/multi_grp/script.txt.xz" | awk -v f="$figures" '
			/^[^ \t]/ { n[$NF]++; period += $(NF - 1); all++ }
			/^\t/ { frames++ }
			END {
				printf "cpu-clock=%d,task-clock=%d,page-faults=%d\n", n["cpu-clock:"], n["task-clock:"],
				       n["page-faults:"]
				split(f, v, "\t")
				printf "%d\t%.0f\t%d", all, period, frames
				for (i = 4; i <= 10; i++)
					printf "\t%s", v[i]
				print ""
			}' >"$tmp/grp"
		events=$(sed -n 1p "$tmp/grp")
		figures=$(sed -n 2p "$tmp/grp") ;;
	esac
	printf '%s\t%s\n' "$events" "$figures" >"$tmp/want"
	"$census" "$corpus/$file" | cut -f2- | sed "s/$tab*\$//" >"$tmp/got"
	same "figures of $file" "$tmp/want" "$tmp/got"
done <"$corpus/EXPECTED.tsv"

# Containers of the same samples.
samples() {
	"$census" --dump "$@" | grep '^sample'
}
samples "$corpus/local/fp/perf.data" >"$tmp/fp"
for f in size0 attr144 attr200 unknown_records comp81_split comp83_split comp83_overflow deferred bigendian pipe \
	pipe_stderr_tail; do
	left_out "$corpus/synth/$f.data" && continue
	samples "$corpus/synth/$f.data" >"$tmp/got"
	same "synth/$f.data has the samples of local/fp" "$tmp/fp" "$tmp/got"
done
sed '$d' "$tmp/fp" >"$tmp/want"
samples "$corpus/synth/truncated.data" >"$tmp/got"
same "synth/truncated.data has all of them but the last" "$tmp/want" "$tmp/got"
for f in local/fp/perf.data local/zstd/perf.data local/pipe/perf.data local/pipe_z/perf.data; do
	left_out "$corpus/$f" && continue
	samples "$corpus/$f" >"$tmp/want"
	samples - <"$corpus/$f" >"$tmp/got"
	same "$f as standard input" "$tmp/want" "$tmp/got"
	cat "$corpus/$f" | samples - >"$tmp/got"
	same "$f through a pipe" "$tmp/want" "$tmp/got"
	gzip -c "$corpus/$f" >"$tmp/packed"
	samples "$tmp/packed" >"$tmp/got"
	same "$f packed by gzip" "$tmp/want" "$tmp/got"
	if command -v xz >/dev/null && grep -q 'define HAVE_LZMA 1' "$abs_top_builddir/config.h"; then
		xz -0 -c "$corpus/$f" >"$tmp/packed"
		samples "$tmp/packed" >"$tmp/got"
		same "$f packed by xz" "$tmp/want" "$tmp/got"
	fi
	if command -v zstd >/dev/null && [ $have_zstd = 1 ]; then
		zstd -q -c "$corpus/$f" >"$tmp/packed"
		samples "$tmp/packed" >"$tmp/got"
		same "$f packed by zstd" "$tmp/want" "$tmp/got"
	fi
done

# The two ways in which hypervisor frames are recorded.
"$census" --dump --spaces "$corpus/synth/xen/perf.data.kvm" | grep '^sample' >"$tmp/want"
"$census" --dump --spaces "$corpus/synth/xen/hvmark.perf.data.kvm" | grep '^sample' >"$tmp/got"
same "Xen frames without and with PERF_CONTEXT_HV: the same chains" "$tmp/want" "$tmp/got"

# What perf script printed: comm, thread, time in microseconds, period of each sample, in its order.
if command -v xzcat >/dev/null; then
	for d in "$corpus"/local/*; do
		n=${d##*/}
		[ -e "$d/script.txt.xz" ] || continue
		rec=$d/perf.data
		[ -e "$rec" ] || rec=$d/perf.data.kvm
		left_out "$rec" && continue
		xzcat "$d/script.txt.xz" | grep -v "^$tab" | grep ': ' |
			sed -E "s/^ *(.*[^ ]) +([0-9]+)( \[[0-9]+\])?( +([0-9]+\.[0-9]+):)? +([0-9]+) +[a-z-]+: .*/\1$tab\2$tab\5$tab\6/" \
			>"$tmp/want"
		samples "$rec" |
			sed -E "s/^sample ([0-9]+) (.*) [0-9]+\/([0-9]+) \[-?[0-9]+\] event [0-9]+ period ([0-9]+) .*/\2$tab\3$tab\1$tab\4/" |
			awk -F"$tab" -v OFS="$tab" '{
				n = length($3)
				$3 = n == 20 ? "" : sprintf("%d.%06d", substr($3, 1, n - 9), substr($3, n - 8, 6))
				print
			}' >"$tmp/got"
		same "local/$n: comm, thread, time and period as perf script has them" "$tmp/want" "$tmp/got"
	done
fi

echo "1..$nr"
exit $failed
