#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The containers that symbols and DWARF come in, built here: each must give the frames that stand in the source.

The address asked for is that of a label in inline assembler, taken by nm from the file before anything was
stripped or moved; the lines are those of the comments in the source.  No answer comes from DWARF readers.
"""
import os
import re
import shutil
import tempfile

from symlib import HERE, about, built_with, have, nm, ours, run
from tap import done, ok, skip

tmp = tempfile.mkdtemp(prefix='xenflame-containers-')


def marks(source):
    with open(source, encoding='utf-8') as f:
        return {m[1]: n for n, line in enumerate(f, 1) if (m := re.search(r'/\* @(\w+) \*/', line))}


C = marks(os.path.join(HERE, 'probe.c'))
CXX = marks(os.path.join(HERE, 'probe.cpp'))


class Missing(Exception):
    pass


def need(cmd, cwd=tmp):
    """Runs a step; what a tool is not there for, or cannot do, skips the case."""
    if not have(cmd[0]):
        raise Missing(f'no {cmd[0]}')
    r = run(cmd, cwd=cwd)
    if r.returncode:
        raise Missing(f"{' '.join(cmd)}: {(r.stderr.strip().splitlines() or ['failed'])[0]}")
    return r.stdout


def wants(define):
    if not built_with(define):
        raise Missing(f'built without {define[5:].lower()}')


def label(path, name):
    for addr, _, _, n in nm(path):
        if n == name:
            return addr
    raise Missing(f'no label {name} in {os.path.basename(path)}')


def names(frames):
    return [f for f, _ in frames]


def lines(frames):
    return [(f, os.path.basename(p)) for f, p in frames]


INLINED = [('inner', f"probe.c:{C['inner']}"), ('mid', f"probe.c:{C['mid']}"), ('outer', f"probe.c:{C['outer']}")]
HIDDEN = [('hidden', f"probe.c:{C['hidden']}")]


def case(what, build):
    """`build` makes files and yields (address, options, file, expected frames); files by name or with lines."""
    d = tempfile.mkdtemp(dir=tmp)
    shutil.copy(os.path.join(HERE, 'probe.c'), d)
    shutil.copy(os.path.join(HERE, 'probe.cpp'), d)
    try:
        wrong = []
        for addr, options, path, want in build(d):
            got = ours(path, [addr], *options)[0]
            if (lines(got) if isinstance(want[0], tuple) else names(got)) != want:
                wrong.append(f'{os.path.basename(path)} {addr:#x}: got {lines(got)}, expected {want}')
        ok(not wrong, what, *wrong)
    except Missing as e:
        skip(what, e)


def plain(cc, *flags, source='probe.c'):
    def build(d):
        exe = os.path.join(d, 'exe')
        need([cc, '-O2', '-g', *flags, source, '-o', exe], d)
        yield label(exe, 'probe'), [], exe, INLINED
        yield label(exe, 'probe_hidden'), [], exe, HIDDEN
    return build


for cc in ('gcc', 'clang'):
    for version in (2, 3, 4, 5):
        case(f'{cc}, DWARF {version}', plain(cc, f'-gdwarf-{version}'))
    case(f'{cc}, 64-bit DWARF', plain(cc, '-gdwarf64', '-gdwarf-5'))
    case(f'{cc}, sections compressed by zlib', plain(cc, '-gz=zlib'))
    case(f'{cc}, a section a function, unused ones dropped',
         plain(cc, '-ffunction-sections', '-Wl,--gc-sections'))
    case(f'{cc}, linked at a fixed address', plain(cc, '-no-pie', '-fno-pie'))
    case(f'{cc}, types in units of their own, DWARF 4', plain(cc, '-gdwarf-4', '-fdebug-types-section'))
    case(f'{cc}, types in units of their own, DWARF 5', plain(cc, '-gdwarf-5', '-fdebug-types-section'))
    case(f'{cc}, LTO', plain(cc, '-flto'))
    case(f'{cc}, linked by lld (text in a segment of its own)', plain(cc, '-fuse-ld=lld', '-Wl,--rosegment'))
    case(f'{cc}, linked by gold', plain(cc, '-fuse-ld=gold'))
    case(f'{cc}, -O0', lambda d, cc=cc: plain(cc, '-O0')(d))
case('gcc, sections compressed in the old form (.zdebug)', plain('gcc', '-gz=zlib-gnu'))
case('gcc, 32-bit', plain('gcc', '-m32', '-nostdlib', '-static', '-Wl,-emain'))
for target, flags in (('aarch64-linux-gnu', []), ('arm-linux-gnueabihf', []), ('riscv64-linux-gnu', ['-mno-relax']),
                      ('powerpc64le-linux-gnu', []), ('mips64-linux-gnu', []), ('mips-linux-gnu', [])):
    case(f'clang for {target}', plain('clang', '--target=' + target, '-nostdlib', '-static', '-fuse-ld=lld', '-Wl,-emain', *flags))


def arm_object(d):
    obj = os.path.join(d, 'mod.ko')
    need(['clang', '--target=aarch64-linux-gnu', '-O2', '-g', '-c', 'probe.c', '-o', obj], d)
    syms = need(['readelf', '-Ws', obj])
    # Symbols that only mark code and data ($x, $d) name nothing.
    yield int(re.search(r' (\w{16}) .* (\d+) probe$', syms, re.M)[1], 16), [], obj, INLINED


case('kernel module for aarch64', arm_object)


def zstd_sections(d):
    exe, packed = os.path.join(d, 'exe'), os.path.join(d, 'packed')
    need(['gcc', '-O2', '-g', 'probe.c', '-o', exe], d)
    need(['objcopy', '--compress-debug-sections=zstd', exe, packed])
    wants('HAVE_ZSTD')
    yield label(exe, 'probe'), [], packed, INLINED


case('sections compressed by zstd', zstd_sections)


def no_aranges(d):
    exe, cut = os.path.join(d, 'exe'), os.path.join(d, 'cut')
    need(['gcc', '-O2', '-g', 'probe.c', '-o', exe], d)
    need(['objcopy', '-R', '.debug_aranges', exe, cut])
    yield label(exe, 'probe'), [], cut, INLINED


case('no .debug_aranges', no_aranges)


def debuglink(strip):
    def build(d):
        exe, stripped, debug = (os.path.join(d, n) for n in ('exe', 'stripped', 'exe.debug'))
        need(['gcc', '-O2', '-g', 'probe.c', '-o', exe], d)
        if strip == 'eu':
            need(['eu-strip', '-f', debug, '-o', stripped, exe])
        else:
            need(['objcopy', '--only-keep-debug', exe, debug])
            need(['objcopy', '--strip-all', '--add-gnu-debuglink=' + debug, exe, stripped])
        yield label(exe, 'probe'), ['-d', debug], stripped, INLINED
        yield label(exe, 'probe_hidden'), ['-d', debug], stripped, HIDDEN
        yield label(exe, 'probe'), [], debug, INLINED
        yield label(exe, 'probe_hidden'), [], stripped, ['?']
        ok(about(stripped)[1] == about(debug)[1] != '-', f'build ids of both halves are equal ({strip})')
    return build


case('separate debug file made by objcopy', debuglink('binutils'))
case('separate debug file made by eu-strip', debuglink('eu'))


def prelinked(d):
    # The loaded file lies elsewhere than its debug file says, as prelink leaves it.
    exe, moved, debug = (os.path.join(d, n) for n in ('exe', 'moved', 'exe.debug'))
    need(['gcc', '-O2', '-g', '-no-pie', '-fno-pie', 'probe.c', '-o', exe], d)
    need(['objcopy', '--only-keep-debug', exe, debug])
    need(['objcopy', '--strip-all', '--change-addresses', '0x100000', exe, moved])
    yield label(exe, 'probe') + 0x100000, ['-d', debug], moved, INLINED


case('file moved against its debug file', prelinked)


def minidebug(d):
    exe, debug, stripped = (os.path.join(d, n) for n in ('exe', 'mini', 'stripped'))
    need(['gcc', '-O2', '-g', 'probe.c', '-o', exe], d)
    need(['objcopy', '--only-keep-debug', '-S', '--keep-symbol=hidden', '--keep-symbol=outer', exe, debug])
    wants('HAVE_LZMA')
    need(['xz', '-k', debug])
    need(['objcopy', '--strip-all', '--add-section', f'.gnu_debugdata={debug}.xz', exe, stripped])
    yield label(exe, 'probe_hidden'), [], stripped, ['hidden']
    yield label(exe, 'probe'), [], stripped, ['outer']


case('MiniDebugInfo', minidebug)


def split(cc, *flags):
    def build(d):
        obj, exe = os.path.join(d, 'probe.o'), os.path.join(d, 'exe')
        need([cc, '-O2', '-g', '-gsplit-dwarf', *flags, '-c', 'probe.c', '-o', obj], d)
        need([cc, obj, '-o', exe], d)
        yield label(exe, 'probe'), [], exe, INLINED
        yield label(exe, 'probe_hidden'), [], exe, HIDDEN
        os.unlink(os.path.join(d, 'probe.dwo'))
        # Without the .dwo file: the function from the symbol table, the line from the skeleton's table.
        yield label(exe, 'probe'), [], exe, [('outer', f"probe.c:{C['inner']}")]
        told = run([os.path.join(os.environ.get('abs_top_builddir', ''), 'tests/tools/symfile-lookup'), exe],
                   f"{label(exe, 'probe'):#x}\n").stderr
        ok('probe.dwo' in told, 'the missing .dwo file is told', told)
    return build


for cc in ('gcc', 'clang'):
    case(f'{cc}, split DWARF 4', split(cc, '-gdwarf-4'))
    case(f'{cc}, split DWARF 5', split(cc, '-gdwarf-5'))


def dwz_single(d):
    exe = os.path.join(d, 'exe')
    need(['gcc', '-O2', '-g', 'probe.c', '-o', exe], d)
    need(['dwz', exe])
    yield label(exe, 'probe'), [], exe, INLINED


def dwz_common(d):
    one, two, common = (os.path.join(d, n) for n in ('one', 'two', 'common'))
    need(['gcc', '-O2', '-g', 'probe.c', '-o', one], d)
    need(['gcc', '-O2', '-g', '-DOTHER', 'probe.c', '-o', two], d)
    need(['dwz', '-m', common, one, two])
    yield label(one, 'probe'), [], one, INLINED
    yield label(two, 'probe_hidden'), [], two, HIDDEN


case('dwz within a file', dwz_single)
case('dwz, common parts in a file of their own', dwz_common)


def module(suffix, packer):
    def build(d):
        if suffix in ('.xz', '.zst'):
            wants({'.xz': 'HAVE_LZMA', '.zst': 'HAVE_ZSTD'}[suffix])
        obj, path = os.path.join(d, 'mod.ko'), os.path.join(d, 'mod.ko' + suffix)
        need(['gcc', '-O2', '-g', '-fno-pie', '-ffunction-sections', '-mcmodel=kernel', '-c', 'probe.c', '-o', obj], d)
        # Where the kernel would put the sections with code: in their order, aligned, from the module's start.
        at, base, secs = 0, {}, need(['readelf', '-WS', obj])
        for m in re.finditer(r'\[ *(\d+)\] (\S+) +PROGBITS +\w+ \w+ (\w+) \w+ +(\w+) .* (\d+)$', secs, re.M):
            if 'X' in m[4] and 'A' in m[4]:
                align = max(int(m[5]), 1)
                at = (at + align - 1) // align * align
                base[int(m[1])] = at
                at += int(m[3], 16)
        syms = need(['readelf', '-Ws', obj])
        for name, want in (('probe', INLINED), ('probe_hidden', HIDDEN)):
            m = re.search(rf' (\w{{16}}) .* (\d+) {name}$', syms, re.M)
            if suffix and not os.path.exists(path):
                need(packer + [obj])
            yield int(m[1], 16) + base[int(m[2])], [], path, want
    return build


case('kernel module (ET_REL)', module('', None))
case('kernel module, .ko.xz', module('.xz', ['xz', '-k', '--check=crc32']))
case('kernel module, .ko.zst', module('.zst', ['zstd', '-q', '-k']))
case('kernel module, .ko.gz', module('.gz', ['gzip', '-k']))


def compressed_module(d):
    obj = os.path.join(d, 'mod.ko')
    need(['gcc', '-O2', '-g', '-gz=zlib', '-fno-pie', '-c', 'probe.c', '-o', obj], d)
    syms = need(['readelf', '-Ws', obj])
    m = re.search(r' (\w{16}) .* (\d+) probe$', syms, re.M)
    yield int(m[1], 16), [], obj, INLINED


case('kernel module, sections compressed', compressed_module)


def only_dynsym(d):
    lib, stripped = os.path.join(d, 'lib.so'), os.path.join(d, 'stripped.so')
    need(['gcc', '-O2', '-g', '-fPIC', '-shared', '-fvisibility=hidden', 'probe.c', '-o', lib], d)
    need(['objcopy', '--strip-all', lib, stripped])
    yield label(lib, 'probe'), [], stripped, ['outer']
    yield label(lib, 'probe_hidden'), [], stripped, ['?']
    ok(about(stripped)[0] == 'dynsym', 'the source is named dynsym')


case('shared library, stripped', only_dynsym)


def plt(cc, *flags):
    def build(d):
        src, exe = os.path.join(d, 'plt.c'), os.path.join(d, 'exe')
        with open(src, 'w', encoding='ascii') as f:
            f.write('#include <stdlib.h>\n#include <stdio.h>\nint main(void){void *p = malloc(3); puts("x"); free(p); return abs(1);}\n')
        need([cc, '-O1', '-g', '-fno-builtin', *flags, src, '-o', exe], d)
        # objdump names the stubs that calls lead to; here they are found by that name.
        text = need(['objdump', '-d', '--no-show-raw-insn', exe])
        stubs = {m[2]: int(m[1], 16) for m in re.finditer(r'^([0-9a-f]+) <(\w+)@plt>:$', text, re.M)}
        if not {'malloc', 'puts', 'free'} <= set(stubs):
            raise Missing('objdump names no stubs here')
        for name in ('malloc', 'puts', 'free'):
            yield stubs[name] + 4, [], exe, [name + '@plt']
    return build


for cc in ('gcc', 'clang'):
    case(f'{cc}, stubs of the PLT', plt(cc, '-Wl,-z,lazy'))
    case(f'{cc}, stubs of the PLT with IBT', plt(cc, '-fcf-protection=full', '-Wl,-z,lazy', '-Wl,-z,ibtplt'))
    case(f'{cc}, stubs of the PLT, bound at once', plt(cc, '-Wl,-z,now', '-no-pie', '-fno-pie'))


def cxx(cc, *flags):
    def build(d):
        exe = os.path.join(d, 'exe')
        wants('HAVE_IBERTY')
        need([cc, '-O2', '-g', *flags, 'probe.cpp', '-o', exe], d)
        yield label(exe, 'probe'), [], exe, [
            ('shapes::box<int>::grow(int)', f"probe.cpp:{CXX['grow']}"),
            ('shapes::(anonymous namespace)::twice(shapes::box<int>&, int)', f"probe.cpp:{CXX['twice']}")]
        got = ours(exe, [label(exe, 'probe_lambda')])[0]
        ok(os.path.basename(got[0][1]) == f"probe.cpp:{CXX['lambda']}" and '::' in got[0][0] and 'operator()(int)' in got[0][0],
           f'{cc} {flags}: a lambda has its line and a name', got)
        raw = ours(exe, [label(exe, 'probe')], '-r')[0]
        ok(all(n.startswith('_Z') for n in names(raw)), f'{cc} {flags}: raw names are mangled', raw)
    return build


for cc in ('g++', 'clang++'):
    case(f'{cc}, C++ names', cxx(cc))
    case(f'{cc}, C++ names, DWARF 4 with types apart', cxx(cc, '-gdwarf-4', '-fdebug-types-section'))
    case(f'{cc}, C++ names, LTO', cxx(cc, '-flto'))


def nested(d):
    src, exe = os.path.join(d, 'nested.c'), os.path.join(d, 'exe')
    with open(src, 'w', encoding='ascii') as f:
        f.write('volatile int sink;\n'
                'int main(int argc, char **argv)\n{\n'
                '\t__attribute__((noinline)) int in_it(int x)\n\t{\n'
                '\t\t__asm__ volatile("probe: nop" ::: "memory");\n\t\treturn x + sink + argc;\n\t}\n'
                '\treturn in_it(argc) + in_it(2);\n}\n')
    need(['gcc', '-O1', '-g', src, '-o', exe], d)
    yield label(exe, 'probe'), [], exe, [('in_it', 'nested.c:6')]


case('a function defined inside another one', nested)


def rust(d):
    src, exe = os.path.join(d, 'probe.rs'), os.path.join(d, 'exe')
    with open(src, 'w', encoding='ascii') as f:
        f.write('#![allow(named_asm_labels)]\nuse std::arch::asm;\n'
                'mod shapes {\n    #[inline(always)]\n    pub fn grow(x: u64) -> u64 {\n'
                '        unsafe { super::asm!("probe: nop") };\n        x + 1\n    }\n'
                '    #[inline(never)]\n    pub fn twice(x: u64) -> u64 {\n        grow(x) * 2\n    }\n}\n'
                'fn main() {\n    std::process::exit(shapes::twice(std::env::args().count() as u64) as i32);\n}\n')
    wants('HAVE_IBERTY')
    for mangling in ([], ['-C', 'symbol-mangling-version=v0']):
        need(['rustc', '-O', '-g', *mangling, src, '-o', exe], d)
        yield label(exe, 'probe'), [], exe, [('probe::shapes::grow', 'probe.rs:6'), ('probe::shapes::twice', 'probe.rs:11')]


case('Rust, both manglings', rust)


def no_sections(d):
    exe = os.path.join(d, 'exe')
    need(['gcc', '-O2', 'probe.c', '-o', exe], d)
    addr = label(exe, 'probe')
    with open(exe, 'r+b') as f:
        f.seek(0x28)
        f.write(b'\0' * 8)	# e_shoff
        f.seek(0x3c)
        f.write(b'\0' * 4)	# e_shnum, e_shstrndx
    yield addr, [], exe, ['?']
    ok(len(about(exe)[1]) == 40, 'build id from the segment of notes')


case('no section headers', no_sections)

try:
    done()
finally:
    shutil.rmtree(tmp, ignore_errors=True)
