#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Function, inline chain, file and line held against llvm-symbolizer and addr2line.

They differ from each other, too.  Each difference must belong to a class of which it is known who is right; the
classes are functions below, each counted; one that fits none is a failure.  What
decides a class is never our own answer alone, but the symbol table as nm prints it, or the third tool.
"""
import bisect
import collections
import glob
import os
import random
import re
import shutil
import tempfile

from symlib import HERE, XEN, binutils, built_with, have, llvm, nm, ours, run
from tap import done, ok, skip

tmp = tempfile.mkdtemp(prefix='xenflame-peers-')
CLONE = re.compile(r'(\.(isra|part|constprop|cold|lto_priv|llvm|localalias)(\.\d+)*)+$')


class Symbols:
    """Text symbols as nm prints them: who covers an address by size, which labels lie at or before it."""

    def __init__(self, path):
        syms = [s for s in nm(path) if s[2] in 'tTwWiV']
        dyn = [] if syms else [s for s in nm(path, '-D') if s[2] in 'tTwWiV']
        # nm -C would lose which demangled name belongs to which address; c++filt is asked once.
        names = [re.sub(r'@.*', '', s[3]) for s in syms + dyn]
        shown = run(['c++filt'], '\n'.join(names)).stdout.split('\n') if have('c++filt') else names
        self.all = sorted((s[0], s[1], n, d) for s, n, d in zip(syms + dyn, names, shown))
        self.starts = [s[0] for s in self.all]
        self.longest = max([s[1] for s in self.all] or [0])

    def covering(self, addr):
        i = bisect.bisect_right(self.starts, addr)
        while i > 0 and self.starts[i - 1] + self.longest > addr:
            i -= 1
            lo, size, name, shown = self.all[i]
            if size and lo <= addr < lo + size:
                yield lo, size, name, shown

    def named(self, shown):
        return [s for s in self.all if shown in (s[2], s[3])]


def outer(frames):
    return frames[-1][0] if frames else '?'


def fold(name):
    name = re.sub(r' (\[clone [^]]*\]|\(\.[a-z0-9.]*\))', '', name)
    return CLONE.sub('', name)


def bare(name):
    """The last part of a C++ name: demanglers and compilers differ in how they write types, defaults and lambdas."""
    name = fold(name)
    # Which operator it is cannot always be told: operator< of <char> is written "operator<<char>", too.
    name = re.sub(r'operator\s*(\(\)|<=>|<<=?|>>=?|->\*?|[<>]=?|[^\w\s(]+)', lambda m: 'operator' + ' <'[m[1][0] == '<'], name)
    out, level = [], 0
    for c in name:
        if c in '<([{':
            level += 1
        elif c in '>)]}':
            level -= 1
        elif not level:
            out.append(c)
    return re.sub(r'( const| volatile|&)+$', '', ''.join(out)).strip().rpartition('::')[2].split(' ')[-1]


def same_places(a, b):
    return [p for _, p in a] == [p for _, p in b]


def same_names(a, b):
    return [bare(f) for f, _ in a] == [bare(f) for f, _ in b]


def folder_once(frames):
    """time/time/x.c for x.c compiled in ./time: a relative folder of compilation, put before a path that has it already."""
    return [(f, re.sub(r'^([^/].*)/\1/', r'\1/', p)) for f, p in frames]


# ---- classes: who differs, and how it is known who is right ----

class Question:
    def __init__(self, addr, we, they, third, syms):
        self.addr, self.we, self.they, self.third, self.syms = addr, we, they, third, syms
        self.cover = list(syms.covering(addr))


def clone(q):
    """.isra, .part, .cold: they print the linker's name, we fold it; all else is equal."""
    return same_places(q.we, q.they) and [fold(f) for f, _ in q.we] == [fold(f) for f, _ in q.they]


def padding(q):
    """No symbol with a size covers the address: no function is there; they name the one before, or a line."""
    return q.we == [('?', '?:?')] and not q.cover


def label_inside(q):
    """A label without a size lies nearer than the beginning of the function that holds it: the function is right."""
    theirs = [s for s in q.syms.named(outer(q.they)) if not s[1] and s[0] <= q.addr]
    return bool(theirs) and outer(q.we) in [fold(n) for s in q.cover for n in s[2:]] and same_places(q.we, q.they)


def file_index(q):
    """DWARF 5's first file taken for the second (binutils before 2.41): functions and lines equal, the third has our files."""
    return q.third is not None and same_places(q.we, q.third) and same_names(q.we, q.they) and \
        [p.rpartition(':')[2] for _, p in q.we] == [p.rpartition(':')[2] for _, p in q.they]


def alias(q):
    """They print another name of the function: it stands in the symbol table as covering the address."""
    return same_places(q.we, q.they) and same_names(q.we[:-1], q.they[:-1]) and \
        any(fold(outer(q.they)) in (fold(s[2]), fold(s[3])) for s in q.cover)


def fixup(q):
    """Xen's out-of-line fixup code: [fixup x.o] for the label dir/x.o.unlikely."""
    m = re.fullmatch(r'\[fixup (.*)\]', outer(q.we))
    return bool(m) and outer(q.they).endswith(m[1] + '.unlikely')


def symbol_file(q):
    """The file of an STT_FILE symbol without a line: a guess about code that DWARF says nothing of."""
    return same_names(q.we, q.they) and all(a == b or (b.endswith(':?') and a.endswith(':?'))
                                            for (_, a), (_, b) in zip(q.we, q.they))


def short_name(q):
    """C++: the same function, written in another way, or with its types and namespace by one of both."""
    return same_places(q.we, q.they) and same_names(q.we, q.they)


def plt(q):
    """Stubs of the PLT have neither symbol nor DWARF: callee@plt is ours."""
    return outer(q.we).endswith('@plt') and len(q.we) == 1 and not q.cover


def outvoted(q):
    """The third tool gives our answer, frame by frame."""
    return q.third is not None and same_places(q.we, q.third) and same_names(q.we, q.third)


LLVM = [clone, padding, label_inside, plt, fixup, short_name, alias, symbol_file, outvoted]
BINUTILS = [clone, padding, label_inside, plt, fixup, short_name, file_index, alias, symbol_file, outvoted]


def compare(what, path, addrs, *options):
    syms = Symbols(options[1] if options and options[0] == '-d' else path)
    we = ours(path, addrs, *options)
    answers = {}
    for tool, ask in (('llvm-symbolizer', llvm), ('addr2line', binutils)):
        answers[tool] = [folder_once(f) for f in ask(path, addrs)] if have(tool) else None
    for tool, classes in (('llvm-symbolizer', LLVM), ('addr2line', BINUTILS)):
        they = answers[tool]
        other = answers['addr2line' if tool == 'llvm-symbolizer' else 'llvm-symbolizer']
        if they is None:
            skip(f'{what}: {tool}', f'no {tool}')
            continue
        if not ok(len(they) == len(we) == len(addrs), f'{what}: {tool} answers {len(addrs)} addresses', len(they), len(we)):
            continue
        count, unexplained = collections.Counter(), []
        for i, addr in enumerate(addrs):
            if we[i] == they[i]:
                count['equal'] += 1
                continue
            q = Question(addr, we[i], they[i], other[i] if other else None, syms)
            for c in classes:
                if c(q):
                    count[c.__name__] += 1
                    break
            else:
                unexplained.append(f'{addr:#x}\n  ours   {we[i]}\n  theirs {they[i]}'[:1500])
        print(f'# {what}, {tool}: ' + ', '.join(f'{n} {k}' for k, n in count.most_common()))
        ok(not unexplained, f'{what}: every difference from {tool} has a class', len(unexplained), *unexplained)


def call_sites(path):
    """Addresses that are looked up for return addresses: the byte before the one that a call returns to."""
    out, calls, last = run(['objdump', '-d', '--no-show-raw-insn', path]).stdout, [], False
    for m in re.finditer(r'^\s*([0-9a-f]+):\s+(?:bnd |notrack )*(\S+)', out, re.M):
        if last:
            calls.append(int(m[1], 16) - 1)
        last = m[2] in ('call', 'callq')
    return calls


def random_code(path, n):
    syms = [s for s in nm(path) if s[2] in 'tT' and s[1]]
    rng = random.Random(20)
    total = [0]
    for s in syms:
        total.append(total[-1] + s[1])
    out = []
    for _ in range(n):
        k = rng.randrange(total[-1])
        i = bisect.bisect_right(total, k) - 1
        out.append(syms[i][0] + k - total[i])
    return out


def named_classes():
    """The classes of trap, each on addresses of Xen that have it, with the right answer from nm."""
    path = os.path.join(XEN, 'xen-syms.debug')
    syms = Symbols(path)
    parts = [s for s in syms.all if s[1] and CLONE.search(s[2])]
    got = ours(path, [s[0] for s in parts])
    bad = [f'{s[2]}: {g}' for s, g in zip(parts, got) if outer(g) != fold(s[2])]
    ok(parts and not bad, f'clone suffixes are folded ({len(parts)} symbols)', *bad)
    got = ours(path, [s[0] for s in parts], '-r')
    bad = [f'{s[2]}: {g}' for s, g in zip(parts, got)
           if outer(g) not in [a[2] for a in syms.covering(s[0])]]
    ok(parts and not bad, 'clone suffixes are kept with raw names', *bad)

    holes = []
    for a, b in zip(syms.all, syms.all[1:]):
        end = a[0] + a[1]
        if a[1] and end < b[0] and b[0] - end < 64 and not any(syms.covering(end)) and b[1]:
            holes.append(end)
    bad = [f'{a:#x}: {g}' for a, g in zip(holes, ours(path, holes)) if g != [('?', '?:?')]]
    ok(holes and not bad, f'padding behind a function is no function ({len(holes)} places)', *bad)

    inside = []
    for s in syms.all:
        cover = [c for c in syms.covering(s[0]) if c[0] < s[0]]
        if not s[1] and cover:
            inside.append((s, cover))
    got = ours(path, [s[0] for s, _ in inside])
    bad = [f'{s[2]}: {g}' for (s, c), g in zip(inside, got) if outer(g) not in [fold(n[2]) for n in c]]
    if inside:
        ok(not bad, f'a label inside a function does not name it ({len(inside)} labels)', *bad)
    else:
        skip('a label inside a function does not name it', 'this file has none')

    alone = [s for s in syms.all if not s[1] and not any(syms.covering(s[0]))]
    got = ours(path, [s[0] for s in alone])
    at = collections.defaultdict(set)
    for s in syms.all:
        at[s[0]].add(s[2])
    bad = [f'{s[2]}: {g}' for s, g in zip(alone, got)
           if outer(g) not in at[s[0]] and not outer(g).startswith('[fixup') and outer(g) != '?']
    unnamed = sum(outer(g) == '?' for g in got)
    ok(alone and not bad and unnamed * 10 < len(alone),
       f'a label without a size names code that nothing else covers ({len(alone)} labels, {unnamed} at the end of a section)', *bad)

    same = collections.defaultdict(list)
    for s in syms.all:
        same[s[0]].append(s)
    edges = [v for v in same.values() if len(v) > 1 and any(s[1] for s in v) and any(not s[1] for s in v)]
    got = ours(path, [v[0][0] for v in edges])
    bad = [f'{v}: {g}' for v, g in zip(edges, got) if outer(g) not in [fold(s[2]) for s in v if s[1]]]
    ok(edges and not bad, f'of symbols at one address the one with a size is taken ({len(edges)} places)', *bad)

    file_twice = collections.Counter(s[2] for s in syms.all if s[1])
    ok(file_twice.most_common(1)[0][1] > 1, 'static functions of one name are in the file')
    many = [s for s in syms.all if s[2] == file_twice.most_common(1)[0][0]]
    places = {ours(path, [s[0]])[0][-1][1].rpartition(':')[0] for s in many}
    ok(len(places) == len(many), f'{len(many)} functions named {many[0][2]} keep apart by their files', *places)


def whole_names(what, path):
    """A function that DWARF gives its bare name only (GCC: static ones, lambdas, templates of them) has its symbol's."""
    syms = Symbols(path)
    starts = sorted({s[0] for s in nm(path) if s[1] and s[2] in 'tTwW'})
    got = ours(path, starts, '-n')
    bad = [f'{a:#x}: {g}' for a, g in zip(starts, got) if outer(g) not in [fold(s[3]) for s in syms.covering(a)]]
    templates = sum('<' in outer(g) for g in got)
    ok(templates > 20 and not bad, f'{what}: {len(starts)} functions are called what nm -C calls them ({templates} templates)', *bad)


try:
    xen = os.path.join(XEN, 'xen-syms.debug')
    named_classes()
    compare('Xen, 2,000 addresses', xen, random_code(xen, 2000))
    for path in sorted(glob.glob('/usr/lib/debug/boot/xen-syms-*') + glob.glob('/boot/xen-syms-*') + os.environ.get('XEN_SYMS', '').split())[:2]:
        if path.endswith('.map'):
            continue
        compare(f'{os.path.basename(path)}, all call sites', path, call_sites(path))
        compare(f'{os.path.basename(path)}, 2,000 addresses', path, random_code(path, 2000))

    for path in (os.environ.get('VMLINUX', '').split() + sorted(glob.glob('/usr/lib/debug/boot/vmlinux-*')))[:1]:
        compare(f'{os.path.basename(path)}, 2,000 addresses', path, random_code(path, 2000))

    exe = os.path.join(tmp, 'many')
    for cc in ('g++', 'clang++'):
        if not built_with('HAVE_IBERTY'):
            skip(f'C++ by {cc}', 'built without iberty')
            continue
        r = run([cc, '-std=c++17', '-O2', '-g', os.path.join(HERE, 'many.cpp'), '-o', exe]) if have(cc) else None
        if not r or r.returncode:
            skip(f'C++ by {cc}', f'{cc} cannot build it')
            continue
        whole_names(f'C++ by {cc}', exe)
        compare(f'C++ by {cc}, all call sites', exe, call_sites(exe))
        compare(f'C++ by {cc}, 2,000 addresses', exe, random_code(exe, 2000))

    libc = next((p for p in ('/lib/x86_64-linux-gnu/libc.so.6', '/lib64/libc.so.6') if os.path.exists(p)), None)
    note = re.search(r'Build ID: (\w+)', run(['readelf', '-n', libc]).stdout) if libc else None
    debug = f'/usr/lib/debug/.build-id/{note[1][:2]}/{note[1][2:]}.debug' if note else None
    sites = call_sites(libc) if libc else []
    if debug and os.path.exists(debug):
        compare('libc with its debug file, 4,000 call sites', libc, random.Random(5).sample(sites, min(4000, len(sites))), '-d', debug)
    else:
        skip('libc with its debug file', 'no debug file for it here')
    done()
finally:
    shutil.rmtree(tmp, ignore_errors=True)
