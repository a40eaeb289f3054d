#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What xenflame writes it reads back: folded stacks byte by byte, its own SVG and HTML to the same folded stacks,
# perf script text to the same stacks.
corpus=$abs_top_srcdir/tests/data/corpus
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
nr=0
failed=0

same() { # NAME FILE FILE
	nr=$((nr + 1))
	if [ -s "$2" ] && cmp -s "$2" "$3"; then
		echo "ok $nr - $1"
	else
		echo "not ok $nr - $1"
		diff "$2" "$3" 2>&1 | head -n 6 | cut -c 1-300 | sed 's/^/# /'
		failed=1
	fi
}

fold() { # INPUT OUTPUT
	"$XENFLAME" -q --offline "$1" --format=folded -o "$2" 2>"$tmp/err" || sed 's/^/# /' "$tmp/err"
}

file_of() {
	if [ -e "$1" ]; then echo "$1"; else echo "$1".??; fi
}

# Names of any kind, sorted as the writer sorts.
printf '%s\n' 'a b;operator new(unsigned long);x 18446744073709551000' 'a%3bb;c d%209;e%0af 1' 'a%3bb;c d%209;e%0af;%ff%01g 2' \
	'java;Lio/x%3b::run->Lio/y%3b::go 3' 'n;50%;100%25aa;%2520 4' 'x;%23y 5' >"$tmp/names.folded"
fold "$tmp/names.folded" "$tmp/out"
same 'folded: names' "$tmp/names.folded" "$tmp/out"
sed 's/$/\r/' "$tmp/names.folded" >"$tmp/crlf.folded"
fold "$tmp/crlf.folded" "$tmp/out"
same 'folded: CRLF' "$tmp/names.folded" "$tmp/out"

# Two names that look the same, and one that shares its start with them.
printf '%s\n' 'main;cafe;%fe;x%ff%81y%2541 3' 'main;caf%e8 2' 'main;caf%e9 1' >"$tmp/bytes.folded"
printf '%s\n' 'a;b 1.5' 'a;c 2' 'd 0.125' >"$tmp/decimals.folded"
printf '%s\n' 'a;b 1 3' 'a;c 2.5 0' 'd 5 5' >"$tmp/two.folded"
printf '%s\n' 'a;b_[k];c_[i] 1' 'a;d_[j];e_[h];f_[g] 2' >"$tmp/marks.folded"
printf '%s\n' 'a;b;h_[h] 1' 'a;b_[x] 2' >"$tmp/plain.folded"
printf '%s\n' 'a 18446744073709551615' 'a;b 18446744073709551616' 'c 340282366920938463463374607431768211455' \
	'd 99999999999999999999999999999999999999' 'e 170141183460469231731687303715884105728' 'f 1' >"$tmp/wide.folded"
fold "$tmp/wide.folded" "$tmp/out"
same 'folded: counts of 128 bits' "$tmp/wide.folded" "$tmp/out"
for kind in decimals two marks plain bytes; do
	fold "$tmp/$kind.folded" "$tmp/out"
	same "folded: $kind" "$tmp/$kind.folded" "$tmp/out"
	"$XENFLAME" -q "$tmp/$kind.folded" -o "$tmp/p.svg" && fold "$tmp/p.svg" "$tmp/out"
	same "SVG: $kind" "$tmp/$kind.folded" "$tmp/out"
done
for kind in names bytes; do
	"$XENFLAME" -q "$tmp/$kind.folded" -o "$tmp/p.html" && fold "$tmp/p.html" "$tmp/out"
	same "HTML: $kind" "$tmp/$kind.folded" "$tmp/out"
done
fold - "$tmp/out" <"$tmp/two.folded"
same 'folded: two columns on standard input' "$tmp/two.folded" "$tmp/out"

# Whole recordings: text, its folded stacks, its pictures.
for text in local/variants/header.txt local/cxx/script.txt xen-hv/perf.script.txt xen-stock/debug-keys-d.console.txt \
	public/FlameGraph/perf-vertx-stacks-01.txt; do
	in=$(file_of "$corpus/$text")
	"$XENFLAME" -q --offline "$in" --annotate=all -o "$tmp/want.folded"
	fold "$tmp/want.folded" "$tmp/out"
	same "$text: folded" "$tmp/want.folded" "$tmp/out"
	for kind in svg html; do
		"$XENFLAME" -q --offline "$in" -o "$tmp/p.$kind"
		"$XENFLAME" -q --offline "$tmp/p.$kind" --annotate=all -o "$tmp/out.folded"
		same "$text: $kind" "$tmp/want.folded" "$tmp/out.folded"
	done
done
# Without symbols of the hypervisor: what stands for their names comes back too.
mkdir "$tmp/bare"
cp "$corpus/xen-hv/rfc-layout.perf.data.kvm" "$tmp/bare/perf.data"
fold "$tmp/bare/perf.data" "$tmp/want.folded"
grep -q '\[xen+0x[1-9a-f]' "$tmp/want.folded" || : >"$tmp/want.folded"
"$XENFLAME" -q --offline "$tmp/bare/perf.data" -o "$tmp/p.svg"
fold "$tmp/p.svg" "$tmp/out"
same 'SVG: hypervisor frames without symbols' "$tmp/want.folded" "$tmp/out"

for text in local/variants/header.txt local/cxx/script.txt xen-hv/perf.script.txt; do
	in=$(file_of "$corpus/$text")
	"$XENFLAME" -q --offline "$in" -o "$tmp/want.folded"
	"$XENFLAME" -q --offline "$in" --format=perf-script -o "$tmp/out.txt"
	fold "$tmp/out.txt" "$tmp/out"
	same "$text: perf script text written and read" "$tmp/want.folded" "$tmp/out"
done
echo "1..$nr"
exit $failed
