# SPDX-License-Identifier: GPL-2.0-or-later
# To be read by walk.sh and timer.sh, which define build(): a unit test of a file
# that the patches make, and what it says when mistakes are put into that file.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$here/../..
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
PYTHON3=${PYTHON3:-python3}
CC=${CC:-cc}
n=0 rc=0

check() # description, status
{
	n=$((n + 1))
	if [ "$2" = 0 ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		grep -E '^not ok|rror' "$tmp/log" | sed 's/^/# /; 10q'
		rc=1
	fi
}

command -v "$PYTHON3" >/dev/null || { echo "1..0 # SKIP no python3"; exit 0; }
command -v patch >/dev/null || { echo "1..0 # SKIP no patch(1)"; exit 0; }
sanitize='-fsanitize=address,undefined -fno-sanitize-recover=all'
echo 'int main(void) { return 0; }' >"$tmp/try.c"
# shellcheck disable=SC2086
$CC $sanitize -o "$tmp/try" "$tmp/try.c" 2>/dev/null && "$tmp/try" || {
	echo "# no sanitizers here"
	sanitize=
}

# Each line of standard input is a mistake, WHAT|EDIT FOR SED, that takes one check
# away. The test must fail, or a sanitizer must; a mistake has to compile.
mistakes() # file, what the test needs besides
{
	i=0
	file=$1
	shift
	while IFS='|' read -r what edit; do
		i=$((i + 1))
		d=$tmp/mistake$i
		mkdir "$d"
		for f; do
			cp "$tmp/patches/$f" "$d"
		done
		sed "$edit" "$tmp/patches/$file" >"$d/$file"
		if cmp -s "$tmp/patches/$file" "$d/$file"; then
			echo "error: the mistake changes nothing" >"$tmp/log"
			s=1
		elif build "$d"; then
			timeout 60 "$d/test" >"$tmp/log" 2>&1 && s=1 || s=0
		else
			s=1
		fi
		check "noticed: $what" $s
	done
}
