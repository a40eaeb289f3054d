#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every hypervisor and kernel frame of the three recordings in corpus/xen-hv against answers that are not ours.

Hypervisor frames: *.oracle.txt, made by `perf script -D` and binutils' addr2line -aife on xen-syms, the
first address of a chain as it is, all others at address - 1; function, inline chain, file and line must be equal.
Kernel frames: that file gives the addresses; the name is looked up here in kallsyms by bisection, return
addresses at address - 1 (perf itself does not subtract, so its own names are not used).
"""
import bisect
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile

top = os.environ.get('abs_top_srcdir') or os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
hv = os.path.join(top, 'tests', 'data', 'corpus', 'xen-hv')
example = os.path.join(top, 'examples', 'xen-host')
xenflame = os.environ.get('XENFLAME', 'xenflame')

# addr2line says ':?' where DWARF has no line, and drops nothing else that we show.
CLONE = re.compile(r'(\.(isra|part|constprop|cold|lto_priv)(\.\d+)*)+$')


def kallsyms():
    syms = {}
    with open(os.path.join(example, 'kallsyms'), encoding='ascii') as f:
        for line in f:
            addr, kind, name = line.split()[:3]
            if kind in 'tTwW':
                syms.setdefault(int(addr, 16), []).append(CLONE.sub('', name))
    keys = sorted(syms)
    return keys, [syms[k] for k in keys]


KEYS, NAMES = kallsyms()


def kernel_names(addr):
    i = bisect.bisect_right(KEYS, addr) - 1
    return NAMES[i] if i >= 0 else ['?']


def oracle(name):
    """Samples as (time, frames); a frame is ('H', function, file:line) or ('K', set of names)."""
    samples = []
    prev = None
    with gzip.open(os.path.join(hv, f'{name}.oracle.txt.gz'), 'rt', encoding='utf-8') as f:
        for line in f:
            w = line.rstrip('\n').split('\t')
            if w[0] == 'S':
                samples.append((int(w[6]), []))
                prev = None
            elif w[0] == 'H':
                samples[-1][1].append(('H', w[2], re.sub(r' \(discriminator \d+\)$', '', w[3])))
                prev = 'H'
            elif w[0] == 'K':
                addr = int(w[1], 16)
                samples[-1][1].append(('K', kernel_names(addr if prev in (None, 'H') else addr - 1), hex(addr)))
                prev = 'K'
            else:
                prev = w[0]
    return samples


def ours(data, *options):
    p = subprocess.run([xenflame, data, '--offline', '--srcline', '--format=perf-script', '-o', '-', *options], capture_output=True)
    if p.returncode:
        print(f'Bail out! exit {p.returncode}: {p.stderr.decode()}')
        sys.exit(1)
    samples = []
    lines = p.stdout.decode('utf-8', 'replace').split('\n')
    for i, line in enumerate(lines):
        m = re.match(r'\s+([0-9a-f]+) (.*)$', line)
        if m and line.startswith(('\t', '     ')):
            addr, rest = int(m.group(1), 16), m.group(2)
            src = lines[i + 1].strip() if lines[i + 1].startswith('  ') and not re.match(r'\s+[0-9a-f]{6,} ', lines[i + 1]) else ''
            src = re.sub(r' \(inlined\)$', '', src)
            name = re.sub(r' \([^()]*\)$', '', rest)
            if addr >> 43 == 0xffff800000000000 >> 43:
                samples[-1][1].append(('H', re.sub(r'_\[h\]$', '', name), src))
            elif addr >= 0xffffffff80000000:
                samples[-1][1].append(('K', name))
        else:
            m = re.search(r' (\d+)\.(\d{9}): ', line)
            if m and not line.startswith('#'):
                samples.append((int(m.group(1)) * 10**9 + int(m.group(2)), []))
    return samples


def same(theirs, our):
    if theirs[0] != our[0]:
        return False
    if theirs[0] == 'K':
        return our[1] in theirs[1]
    # addr2line without a line prints '?'; then we show none
    return theirs[1] == our[1] and (theirs[2] == our[2] or (theirs[2].endswith(('?', ':0')) and not our[2]))


def main():
    nr = failed = 0
    tmp = tempfile.mkdtemp(prefix='xenflame-oracle-')
    for name in ('perf', 'rfc-layout', 'dwarf'):
        data = os.path.join(example if name == 'perf' else hv, f'{name}.data.kvm' if name == 'perf' else f'{name}.perf.data.kvm')
        # only these symbols: the whole symbol file, and the bundled one which went through dwz
        for syms in (os.path.join(hv, 'xen-syms.debug'), os.path.join(example, 'xen-syms')):
            nr += 1
            copy = os.path.join(tmp, 'perf.data.kvm')
            shutil.copy(data, copy)
            want = oracle(name)
            got = ours(copy, f'--xen-syms={syms}', f'--kallsyms={example}/kallsyms')
            bad = []
            frames = {'H': 0, 'K': 0}
            if len(want) != len(got):
                bad.append(f'{len(want)} samples expected, {len(got)} got')
            for i, ((t, w), (u, g)) in enumerate(zip(want, got)):
                for f in w:
                    frames[f[0]] += 1
                if t != u or len(w) != len(g) or not all(map(same, w, g)):
                    bad.append(f'sample {i} at {t}/{u}: expected {w}, got {g}')
            print(f"{'not ' if bad else ''}ok {nr} - {name} with {os.path.basename(syms)}: {len(want)} samples, "
                  f"{frames['H']} hypervisor and {frames['K']} kernel frames")
            for b in bad[:5]:
                print(f'# {b[:400]}')
            if bad:
                print(f'# {len(bad)} differences')
                failed += 1
    shutil.rmtree(tmp)
    print(f'1..{nr}')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
