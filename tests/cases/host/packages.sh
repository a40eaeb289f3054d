#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Debian and RPM packages: that they build, twice the same bytes in other folders, with the flags of the distribution; what is in them and what they need. TAP.
# shellcheck disable=SC2154
nr=0
failed=0
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

check() { # NAME STATUS DETAIL
	nr=$((nr + 1))
	if [ "$2" = 0 ]; then
		echo "ok $nr - $1"
	else
		echo "not ok $nr - $1"
		printf '%s\n' "$3" | head -n 30 | sed 's/^/# /'
		failed=1
	fi
}

skip() { # NAME REASON
	nr=$((nr + 1))
	echo "ok $nr - $1 # SKIP $2"
}

have() {
	for tool; do
		command -v "$tool" >/dev/null || return 1
	done
}

have dpkg-buildpackage dh lintian autoreconf && debian=yes || debian=
have rpmbuild rpm cpio autoreconf xz && rpm=yes || rpm=
[ -n "$debian$rpm" ] || {
	echo '1..0 # SKIP neither dpkg-buildpackage, debhelper and lintian, nor rpmbuild'
	exit 0
}

# A copy of the sources without what is for tests alone.
sources() { # FOLDER
	mkdir -p "$1"
	tar -cf - -C "$abs_top_srcdir" --exclude=./.git --exclude='./build*' --exclude='./autom4te*' --exclude=./tests/data/corpus --exclude=./tests/fuzz/corpus \
		--exclude=./tests/browser/node_modules --exclude=perf.data.kvm --exclude=xen-syms --exclude=kallsyms . | tar -xf - -C "$1"
	chmod -R u+w "$1"
	# A source folder in which somebody has configured is none for a build outside of it.
	rm -f "$1/config.status" "$1/Makefile"
}

jobs=$(nproc)
# Nothing of this environment but what is needed.
clean() { # TIMEZONE SECONDS COMMAND FOLDER
	env -i PATH="$PATH" HOME="$tmp" TZ="$1" LC_ALL=C.UTF-8 DEB_BUILD_OPTIONS="nocheck parallel=$jobs" SOURCE_DATE_EPOCH="$2" "$3" "$4"
}

if [ -n "$debian" ]; then
	date=$(sed -n 's/^ -- .*>  //p' "$abs_top_srcdir/debian/changelog" | head -n 1)
	epoch=$(date -d "$date" +%s)
	cat >"$tmp/deb" <<-'EOS'
		#!/bin/sh
		cd "$1" && dpkg-buildpackage -b -us -uc -d >../log 2>&1
	EOS
	chmod +x "$tmp/deb"
	sources "$tmp/one/xenflame"
	mkdir -p "$tmp/another-one/with a longer name"
	cp -a "$tmp/one/xenflame" "$tmp/another-one/deeper"
	clean UTC "$epoch" "$tmp/deb" "$tmp/one/xenflame"
	check 'Debian packages are built' $? "$(tail -n 25 "$tmp/one/log")"
	(umask 027 && clean Pacific/Chatham "$epoch" "$tmp/deb" "$tmp/another-one/deeper")
	check 'and in another folder, timezone and umask' $? "$(tail -n 25 "$tmp/another-one/log")"
	for deb in xenflame xenflame-dom0 xenflame-dbgsym xenflame-dom0-dbgsym; do
		cmp "$tmp/one/$deb"_*.deb "$tmp/another-one/$deb"_*.deb >"$tmp/out" 2>&1
		check "$deb has the same bytes" $? "$(cat "$tmp/out")"
	done
	lintian --fail-on error,warning,info -I --pedantic "$tmp"/one/*.changes >"$tmp/out" 2>"$tmp/err" && [ ! -s "$tmp/out" ]
	check 'lintian finds nothing' $? "$(cat "$tmp/out" "$tmp/err")"
	for package in xenflame xenflame-dom0; do
		root=$tmp/$package
		dpkg-deb -x "$tmp/one/$package"_*.deb "$root"
		program=$root/usr/bin/xenflame
		readelf -Whld "$program" >"$tmp/elf" && readelf -Ws --dyn-syms "$program" >"$tmp/syms" && grep -q 'Type: *DYN' "$tmp/elf" &&
			grep -q GNU_RELRO "$tmp/elf" && grep -q 'FLAGS.*NOW' "$tmp/elf" && grep -q '__stack_chk_fail' "$tmp/syms" && grep -q '__[a-z]*_chk' "$tmp/syms"
		check "$package: position-independent, read-only relocations bound at the start, fortified, stack protected" $? "$(grep -E 'Type:|RELRO|FLAGS' "$tmp/elf")"
		missing=
		for verb in $("$XENFLAME" --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
			case $verb in render | help) page=xenflame.1.gz ;; *) page=xenflame-$verb.1.gz ;; esac
			[ -s "$root/usr/share/man/man1/$page" ] || missing="$missing $page"
		done
		[ -z "$missing" ] && [ -s "$root/usr/share/bash-completion/completions/xenflame" ] && [ -s "$root/usr/share/doc/$package/copyright" ]
		check "$package: man page of each verb, completion, copyright" $? "missing:$missing"
		"$program" doctor --sysroot="$tmp/one" >"$tmp/out" 2>&1
		[ $? = 1 ] && grep -q '^bad *xen ' "$tmp/out"
		check "$package: its program runs" $? "$(cat "$tmp/out")"
	done
	needs=$(dpkg-deb -f "$tmp"/one/xenflame_*.deb Depends)
	for library in libcairo2 libxml2 libcurl libdebuginfod1; do
		case $needs in *"$library"*) ;; *) needs="no $library: $needs" && break ;; esac
	done
	case $needs in 'no '*) false ;; esac
	check 'the full package needs what its program loads when it is used' $? "$needs"
	needs=$(dpkg-deb -f "$tmp"/one/xenflame-dom0_*.deb Depends | tr ',' '\n' | sed 's/^ *//; s/ .*//; s/t64$//' | sort | tr '\n' ' ')
	[ "$needs" = 'libc6 libdw1 libelf1 libjansson4 zlib1g ' ]
	check 'the dom0 package needs five others' $? "$needs"
	# The linker's answer for the whole closure, against what the documentation states.
	ldd "$tmp/xenflame-dom0/usr/bin/xenflame" | sed -n 's/^\t\(lib[^ ]*\) => .*/\1/p' | sort >"$tmp/closure"
	grep -o 'lib[a-z0-9]*\.so\.[0-9.]*[0-9]' "$abs_top_srcdir/docs/distributions.md" | sort -u >"$tmp/stated"
	! grep -qE 'cairo|xml2|curl|debuginfod|X11' "$tmp/closure"
	check 'neither cairo nor libxml2 is loaded in a dom0' $? "$(cat "$tmp/closure")"
	if grep -q 'VERSION_ID="12"' /etc/os-release; then
		cmp "$tmp/closure" "$tmp/stated" >/dev/null
		check 'what is loaded is what docs/distributions.md states' $? "$(diff "$tmp/closure" "$tmp/stated")"
	else
		skip 'what is loaded is what docs/distributions.md states' 'it is that of Debian 12'
	fi
else
	skip 'Debian packages' 'no dpkg-buildpackage, debhelper or lintian'
fi

if [ -n "$rpm" ]; then
	version=$("$XENFLAME" --version | sed 's/.* //')
	grep -qx "Version: *$version" "$abs_top_srcdir/xenflame.spec"
	check 'the spec file has this version' $? "$version"
	for library in libcairo libxml2 libcurl libdebuginfod; do
		rpmspec -q --requires --define '_lib lib64' "$abs_top_srcdir/xenflame.spec" 2>"$tmp/err" | grep -q "^${library}[^ ]*\.so\.[0-9]*()(64bit)$" || echo "$library"
	done >"$tmp/out"
	[ ! -s "$tmp/out" ]
	check 'the full RPM needs what its program loads when it is used' $? "$(cat "$tmp/out" "$tmp/err")"
	! rpmspec -q --requires --without full "$abs_top_srcdir/xenflame.spec" 2>"$tmp/err" | grep '\.so' >"$tmp/out"
	check 'and that for a dom0 does not' $? "$(cat "$tmp/out" "$tmp/err")"
	sources "$tmp/rpm/xenflame-$version"
	(cd "$tmp/rpm/xenflame-$version" && ./autogen.sh) >"$tmp/rpm/log" 2>&1
	XZ_OPT=-0 tar -cJf "$tmp/rpm/xenflame-$version.tar.xz" -C "$tmp/rpm" "xenflame-$version"
	cat >"$tmp/rpm/build" <<-'EOS'
		#!/bin/sh
		here=$(cd "$(dirname "$0")" && pwd)
		rpmbuild -tb --nodeps --without full "$here"/xenflame-*.tar.xz --define "_topdir $1" --define "_smp_mflags -j$(nproc)" \
			--define 'optflags -O1 -g -fstack-protector-all -D_FORTIFY_SOURCE=2 -ffile-prefix-map=$PWD=.' \
			--define 'use_source_date_epoch_as_buildtime 1' --define 'clamp_mtime_to_source_date_epoch 1' --define '_buildhost here' >"$1.log" 2>&1
	EOS
	chmod +x "$tmp/rpm/build"
	for where in one another-one; do
		clean UTC 1700000000 "$tmp/rpm/build" "$tmp/rpm/$where"
		check "RPM is built in $where" $? "$(tail -n 25 "$tmp/rpm/$where.log")"
	done
	one=$(find "$tmp/rpm/one/RPMS" -name 'xenflame-[0-9]*.rpm')
	cmp "$one" "$(find "$tmp/rpm/another-one/RPMS" -name 'xenflame-[0-9]*.rpm')" >"$tmp/out" 2>&1
	check 'the same bytes' $? "$(cat "$tmp/out")"
	mkdir "$tmp/rpm/root"
	rpm2cpio "$one" | (cd "$tmp/rpm/root" && cpio -id --quiet)
	readelf -Ws --dyn-syms "$tmp/rpm/root/usr/bin/xenflame" >"$tmp/syms" && grep -q '__stack_chk_fail' "$tmp/syms" && grep -q '__[a-z]*_chk' "$tmp/syms"
	check "the distribution's flags are honoured" $? "$(grep -c . "$tmp/syms")"
	[ "$(find "$tmp/rpm/root/usr/share/man/man1" -name 'xenflame*.1*' | wc -l)" = "$(find "$abs_top_srcdir/docs" -name 'xenflame*.1' | wc -l)" ] &&
		[ -s "$tmp/rpm/root/usr/share/bash-completion/completions/xenflame" ]
	check 'man pages and completion are in it' $? "$(find "$tmp/rpm/root" -type f)"
	"$tmp/rpm/root/usr/bin/xenflame" doctor --sysroot="$tmp/rpm" >"$tmp/out" 2>&1
	[ $? = 1 ] && grep -q '^bad *xen ' "$tmp/out"
	check 'its program runs' $? "$(cat "$tmp/out")"
else
	skip 'RPM' 'no rpmbuild, rpm, cpio or xz'
fi
echo "1..$nr"
exit $failed
