# SPDX-License-Identifier: GPL-2.0-or-later
# To be read by check-patches.sh and check-boot.sh: where the sources are, and
# how long things take.
#
#   XENFLAME_CACHE   for downloads and builds, default $XDG_CACHE_HOME/xenflame
#   XEN_TREE         a tree of Xen 4.17.5 with Debian's patches, instead of the
#                    download
#   LINUX_TREE       a tree of Linux 6.12, likewise
#   JOBS             for make, default 2
cache=${XENFLAME_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/xenflame}
JOBS=${JOBS:-2}
xen_version=4.17.5+72-g01140da4e8-1
mkdir -p "$cache/dl" || exit 99

started=$(date +%s)
last=$started
steps=
step() # what has been done
{
	now=$(date +%s)
	echo "# $((now - last)) s: $1"
	steps="$steps$((now - last)) s $1; "
	last=$now
}

skip()
{
	echo "1..0 # SKIP $*"
	exit 77
}

need() # programs
{
	for program; do
		command -v "$program" >/dev/null 2>&1 || skip "no program '$program'"
	done
}

# apt with the lists of source packages in a place of its own: machines seldom
# have them configured.
source_package() # name=version
{
	a=$cache/apt
	mkdir -p "$a/parts" "$a/lists/partial"
	for f in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
		[ -f "$f" ] || continue
		sed -n 's/^deb /deb-src /p' "$f" >"$a/parts/$(basename "$f" .list).list"
	done
	for f in /etc/apt/sources.list.d/*.sources; do
		[ -f "$f" ] || continue
		sed 's/^Types:.*/Types: deb-src/' "$f" >"$a/parts/$(basename "$f")"
	done
	package=$1
	(cd "$cache/dl" &&
	 apt-get -qq -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$a/parts" \
		-o Dir::State::lists="$a/lists" update &&
	 apt-get -qq -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$a/parts" \
		-o Dir::State::lists="$a/lists" source --download-only "$package") >&2
}

# A tree of Xen 4.17.5 in the given, new directory.
unpack_xen()
{
	if [ -n "${XEN_TREE-}" ]; then
		mkdir -p "$1" && (cd "$XEN_TREE" && tar cf - --exclude=.git .) | tar xf - -C "$1"
		return
	fi
	ls "$cache/dl"/xen_*.orig.tar.xz >/dev/null 2>&1 || source_package "xen=$xen_version" || return 1
	mkdir -p "$1"
	tar xf "$(ls "$cache/dl"/xen_*.orig.tar.xz)" -C "$1" --strip-components=1
	tar xf "$(ls "$cache/dl"/xen_*.debian.tar.xz)" -C "$1"
	while read -r p; do
		case $p in
		''|'#'*) continue ;;
		esac
		patch -d "$1" -p1 -s -f --no-backup-if-mismatch <"$1/debian/patches/$p" || return 1
	done <"$1/debian/patches/series"
}

# A tree of Linux 6.12 in the given, new directory.
unpack_linux()
{
	if [ -n "${LINUX_TREE-}" ]; then
		mkdir -p "$1" && (cd "$LINUX_TREE" && tar cf - --exclude=.git .) | tar xf - -C "$1"
		return
	fi
	archive=/usr/src/linux-source-6.12.tar.xz
	[ -f $archive ] || archive=$cache/dl/linux-source-6.12.tar.xz
	if [ ! -f "$archive" ]; then
		(cd "$cache/dl" && apt-get -qq download linux-source-6.12 >&2 &&
		 dpkg-deb --fsys-tarfile linux-source-6.12_*.deb |
			tar xf - --strip-components=3 ./usr/src/linux-source-6.12.tar.xz &&
		 rm -f linux-source-6.12_*.deb) || return 1
	fi
	mkdir -p "$1"
	tar xf "$archive" -C "$1" --strip-components=1
}
