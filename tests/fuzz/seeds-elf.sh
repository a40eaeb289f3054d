#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes small seeds for tests/fuzz/elf: one container each, a few KB.
# usage: seeds-elf.sh OUTDIR
set -e
out=$(mkdir -p "$1" && cd "$1" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
cat > s.c <<'C'
volatile int sink;
static inline __attribute__((always_inline)) int inner(int x) { sink = x; return x + sink; }
static inline __attribute__((always_inline)) int mid(int x) { if (x) { int y = inner(x); return y * 3; } return 1; }
__attribute__((noinline)) static int outer(int x) { return mid(x) + 1; }
__attribute__((used)) void _start(void) { sink = outer(sink); if (sink) __builtin_trap(); }
C
cat > s.cpp <<'C'
volatile int sink;
namespace n { template <class T> struct b { T v; inline __attribute__((always_inline)) T f(T x) { sink = x; return v + x; } }; }
__attribute__((noinline)) static int g(n::b<int> &b) { return b.f(3); }
extern "C" __attribute__((used)) void _start() { n::b<int> b = { 1 }; sink = g(b); }
C
flags="-O2 -nostdlib -static -Wl,--build-id -fno-asynchronous-unwind-tables -Wl,-z,noseparate-code"
for v in 2 3 4 5; do
	gcc $flags -gdwarf-$v s.c -o "$out/gcc-dwarf$v"
	if command -v clang >/dev/null; then
		clang $flags -gdwarf-$v s.c -o "$out/clang-dwarf$v"
	fi
done
g++ $flags -g s.cpp -o "$out/cxx"
g++ $flags -gdwarf-4 -fdebug-types-section s.cpp -o "$out/cxx-types4"
g++ $flags -gdwarf-5 -fdebug-types-section s.cpp -o "$out/cxx-types5"
gcc $flags -gdwarf64 -gdwarf-5 s.c -o "$out/dwarf64"
gcc $flags -ffunction-sections -g s.c -o "$out/sections"
gcc $flags -g -gz=zlib s.c -o "$out/zlib"
gcc $flags -g -gz=zlib-gnu s.c -o "$out/zlib-gnu"
objcopy --compress-debug-sections=zstd "$out/gcc-dwarf5" "$out/zstd" 2>/dev/null || rm -f "$out/zstd"
gcc -O2 -g -c s.c -o "$out/object"
gzip -9nc "$out/object" > "$out/object-gz"
xz -9c "$out/object" > "$out/object-xz"
zstd -q19c "$out/object" > "$out/object-zst"
for v in 4 5; do
	gcc -O2 -g -gdwarf-$v -gsplit-dwarf -c s.c -o s.o && gcc $flags s.o -o "$out/split$v"
done
objcopy --only-keep-debug "$out/gcc-dwarf5" "$out/debug"
objcopy --strip-all --add-gnu-debuglink="$out/debug" "$out/gcc-dwarf5" "$out/stripped"
objcopy -S --keep-symbol=outer --only-keep-debug "$out/gcc-dwarf5" mini && xz -9 mini
objcopy --strip-all --add-section .gnu_debugdata=mini.xz "$out/gcc-dwarf5" "$out/minidebug"
cp "$out/gcc-dwarf5" "$out/dwz"
dwz "$out/dwz" 2>/dev/null || rm "$out/dwz"
printf 'int f(void); int g(void) { return f() + f(); }\n' > l.c
gcc -O1 -shared -fPIC -nostdlib -Wl,-z,lazy -Wl,-z,noseparate-code l.c -o "$out/plt"
gcc -O1 -shared -fPIC -nostdlib -fcf-protection=full -Wl,-z,ibtplt -Wl,-z,noseparate-code l.c -o "$out/plt-ibt"
gcc $flags s.c -o "$out/symtab"
printf 'ffffffff81000000 T _text\nffffffff81000010 t f.isra.0\nffffffffc0000000 t g\t[mod]\n' > "$out/kallsyms"
printf '0xffff82d040200000 T _start\n0xffff82d040200010 t a.c#f\n0xffff82d040200020 T _etext\n' > "$out/map"
printf '7f0000001000 100 first\n7f0000001080 10 _ZN1a1bEv\n' > "$out/perfmap"
python3 - "$out/jitdump" <<'PY'
import struct, sys
def record(kind, body):
    return struct.pack('<IIQ', kind, 16 + len(body), 2) + body
def load(addr, size, index, name):
    return record(0, struct.pack('<IIQQQQ', 7, 7, addr, addr, size, index) + name + b'\0' + b'\x90' * size)
data = struct.pack('<IIIIIIQQ', 0x4a695444, 1, 40, 62, 0, 7, 1, 0)
data += load(0x7f0000001000, 32, 1, b'first')
data += record(2, struct.pack('<QQ', 0x7f0000001008, 2) + struct.pack('<QII', 0x7f0000001008, 3, 0) + b'a.js\0' +
               struct.pack('<QII', 0x7f000000100c, 4, 0) + b'\xff\0')
data += load(0x7f0000001008, 8, 2, b'_ZN1a1bEv')
data += record(4, struct.pack('<QQQ', 0, 0, 0)) + record(1, struct.pack('<IIQQQQQ', 7, 7, 0x7f0000002000, 0x7f0000001008, 0x7f0000002000, 8, 2))
open(sys.argv[1], 'wb').write(data + record(3, b''))
PY
