#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# --help, the man page, the completion and the README agree on the options.
set -u
n=0 rc=0
check() { # description, condition status, detail
	n=$((n + 1))
	if [ "$2" = 0 ]; then echo "ok $n - $1"; else echo "not ok $n - $1"; echo "# $3"; rc=1; fi
}
same() { # description, list a, list b
	d=$(printf '%s\n' "$2" | { printf '%s\n' "$3" >"$tmp"; diff - "$tmp"; }) && s=0 || s=1
	check "$1" $s "$(echo "$d" | tr '\n' ' ')"
}
tmp=$(mktemp) || exit 99
trap 'rm -f "$tmp"' EXIT

for verb in $("$XENFLAME" --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
	case $verb in render|help) page=$abs_top_srcdir/docs/xenflame.1 ;; *) page=$abs_top_srcdir/docs/xenflame-$verb.1 ;; esac
	[ -f "$page" ]; check "a man page for $verb" $? "$page is missing"
	help=$("$XENFLAME" "$verb" --help | grep -oE '^  (-., )?--[a-z-]+' | grep -oE -- '--[a-z-]+' | sort -u)
	man=$(sed -n '/^\.SH OPTIONS/,/^\.SH [^O]/p' "$page" | grep -E '^\.(BR?|TP)' | sed 's/\\-/-/g; s/\\f.//g' |
		grep -oE -- '--[a-z-]+' | sort -u)
	same "options of '$verb' in --help and in $(basename "$page")" "$help" "$man"
	all="${all-}
$help"
done
completion=$(grep -oE -- '--[a-z-]+' "$abs_top_srcdir/docs/xenflame.bash" | sort -u)
same "--help of all verbs and the completion" "$(echo "$all" | sed '/^$/d' | sort -u)" "$completion"
unknown=$(grep -E 'xenflame ' "$abs_top_srcdir/README.md" | grep -v configure | grep -oE -- ' --[a-z-]+' | tr -d ' ' | sort -u |
	while read -r o; do echo "$all" | grep -qx -e "$o" || echo "$o"; done)
[ -z "$unknown" ]; check "the README uses no unknown option" $? "unknown: $unknown"
verbs=$("$XENFLAME" help | sed -n '/^Verbs:/,/^$/s/^  \([a-z]*\) .*/\1/p')
for verb in $verbs; do
	case $verb in help) plain=$("$XENFLAME" --help) ;; *) plain=$("$XENFLAME" "$verb" --help) ;; esac
	said=$("$XENFLAME" help "$verb"); [ "$said" = "$plain" ]; check "'help $verb' is '$verb --help'" $? "$said"
done
# shellcheck disable=SC2016
offered=$(PATH=$(dirname "$XENFLAME"):$PATH bash -c '. "$1"; COMP_WORDS=(xenflame ""); COMP_CWORD=1; _xenflame
	printf "%s\n" "${COMPREPLY[@]}"' - "$abs_top_srcdir/docs/xenflame.bash")
for verb in $verbs; do
	echo "$offered" | grep -qx "$verb"; check "the completion offers $verb" $? "$offered"
done
"$XENFLAME" help no-such-verb >"$tmp" 2>&1; [ $? = 2 ]; check "help on an unknown verb is exit 2" $? "$(cat "$tmp")"
"$XENFLAME" --version | grep -qx 'xenflame [0-9.]*'; check "--version" $? "$("$XENFLAME" --version)"
"$XENFLAME" --no-such-option >"$tmp" 2>&1; [ $? = 2 ]; check "an unknown option is exit 2" $? "$(cat "$tmp")"
"$XENFLAME" >"$tmp" 2>&1; [ $? = 2 ]; check "no argument is exit 2" $? "$(cat "$tmp")"
if command -v man >/dev/null; then
	for page in "$abs_top_srcdir"/docs/*.1; do
		LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>"$tmp" >/dev/null
		[ ! -s "$tmp" ]; check "$(basename "$page") has no troff warning" $? "$(head -n 1 "$tmp")"
	done
fi
echo "1..$n"
exit $rc
