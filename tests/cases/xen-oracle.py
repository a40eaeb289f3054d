#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every hypervisor and kernel frame of four recordings of a Xen host against answers that are not ours.

Hypervisor frames: binutils' addr2line -aife on xen-syms, the first address of a chain as it is, all others at address - 1;
function, inline chain, file and line must be equal.  For the three recordings of corpus/xen-hv its answers are in
*.oracle.txt, made with `perf script -D`; for the bundled example they are in corpus/xen-timer, for the addresses that
tests/boot/check-recording.py reads (xen-oracle.py --ask XEN-SYMS prints them).
Kernel frames: the name is looked up here in kallsyms by bisection, return addresses at address - 1 (perf itself
does not subtract, so its own names are not used).
"""
import bisect
import functools
import gzip
import importlib.util
import lzma
import os
import re
import shutil
import subprocess
import sys
import tempfile

top = os.environ.get('abs_top_srcdir') or os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
corpus = os.path.join(top, 'tests', 'data', 'corpus')
hv = os.path.join(corpus, 'xen-hv')
example = os.path.join(top, 'examples', 'xen-host')
xenflame = os.environ.get('XENFLAME', 'xenflame')

# addr2line says ':?' where DWARF has no line, and drops nothing else that we show.
CLONE = re.compile(r'(\.(isra|part|constprop|cold|lto_priv)(\.\d+)*)+$')


@functools.cache
def kallsyms(folder):
    syms = {}
    with open(os.path.join(folder, 'kallsyms'), encoding='ascii') as f:
        for line in f:
            addr, kind, name = line.split()[:3]
            if kind in 'tTwW':
                syms.setdefault(int(addr, 16), []).append(CLONE.sub('', name))
    keys = sorted(syms)
    return keys, [syms[k] for k in keys]


def kernel_frame(folder, addr, is_return):
    keys, names = kallsyms(folder)
    i = bisect.bisect_right(keys, addr - is_return) - 1
    return ('K', names[i] if i >= 0 else ['?'], hex(addr))


def hypervisor_frame(function, line):
    return ('H', function, re.sub(r' \(discriminator \d+\)$', '', line))


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
                samples[-1][1].append(hypervisor_frame(w[2], w[3]))
                prev = 'H'
            elif w[0] == 'K':
                samples[-1][1].append(kernel_frame(hv, int(w[1], 16), prev not in (None, 'H')))
                prev = 'K'
            else:
                prev = w[0]
    return samples


def example_chains():
    """Samples of the example in order: time, and (address space, address, is a return address) of each entry."""
    spec = importlib.util.spec_from_file_location('recording', os.path.join(top, 'tests', 'boot', 'check-recording.py'))
    reader = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    spec.loader.exec_module(reader)
    space = {reader.HV: 'H', reader.KERNEL: 'K'}
    for s in sorted(reader.read_samples(os.path.join(example, 'perf.data.kvm'))[0], key=lambda s: s.time):
        yield s.time, [(space.get(marker), addr, i > 0) for marker, part in s.chain for i, addr in enumerate(part)]


def ask(xen_syms):
    """What addr2line says of every hypervisor address of the example."""
    addrs = sorted({addr - is_return for _, chain in example_chains() for space, addr, is_return in chain if space == 'H'})
    subprocess.run(['addr2line', '-aife', xen_syms], input='\n'.join(map(hex, addrs)), text=True, check=True)


def asked():
    """The same as oracle() of the example."""
    answers = {}
    with lzma.open(os.path.join(corpus, 'xen-timer', 'addr2line.txt.xz'), 'rt', encoding='utf-8') as f:
        for line in f:
            if line.startswith('0x'):
                answer = answers.setdefault(int(line, 16), [])
            else:
                answer.append(hypervisor_frame(line.strip(), next(f).strip()))
    samples = []
    for time, chain in example_chains():
        frames = []
        for space, addr, is_return in chain:
            if space == 'H':
                frames += answers[addr - is_return]
            elif space == 'K':
                frames.append(kernel_frame(example, addr, is_return))
        samples.append((time, frames))
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


def compare(what, want, got):
    """One test; the number of failures."""
    bad = []
    frames = {'H': 0, 'K': 0}
    if len(want) != len(got):
        bad.append(f'{len(want)} samples expected, {len(got)} got')
    for i, ((t, w), (u, g)) in enumerate(zip(want, got)):
        for f in w:
            frames[f[0]] += 1
        if t != u or len(w) != len(g) or not all(map(same, w, g)):
            bad.append(f'sample {i} at {t}/{u}: expected {w}, got {g}')
    print(f"{'not ' if bad else ''}ok {what}: {len(want)} samples, {frames['H']} hypervisor and {frames['K']} kernel frames")
    for b in bad[:5]:
        print(f'# {b[:400]}')
    if bad:
        print(f'# {len(bad)} differences')
    return bool(bad)


def main():
    nr = failed = 0
    with tempfile.TemporaryDirectory(prefix='xenflame-oracle-') as tmp:
        copy = os.path.join(tmp, 'perf.data.kvm')
        for name, data in (('perf', 'perf.data.kvm'), ('rfc-layout', 'rfc-layout.perf.data.kvm'), ('dwarf', 'dwarf.perf.data.kvm')):
            # only these symbols: the whole symbol file, and one which went through dwz
            for syms in ('xen-syms.debug', 'xen-syms.dwz'):
                nr += 1
                shutil.copy(os.path.join(hv, data), copy)
                got = ours(copy, f'--xen-syms={hv}/{syms}', f'--kallsyms={hv}/kallsyms')
                failed += compare(f'{nr} - {name} with {syms}', oracle(name), got)
    # as it lies there, with what is beside it
    want = asked()
    failed += compare(f'{nr + 1} - the example', want, ours(os.path.join(example, 'perf.data.kvm')))
    nr += 2
    with open(os.path.join(example, 'README.md'), encoding='utf-8') as f:
        said = re.search(r'([\d,]+) samples, ([\d,]+) of them in Xen', f.read()).groups()
    is_so = tuple(f'{n:,}' for n in (len(want), sum(any(f[0] == 'H' for f in frames) for _, frames in want)))
    print(f"{'' if said == is_so else 'not '}ok {nr} - its README says how many samples there are: {is_so}")
    failed += said != is_so
    print(f'1..{nr}')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(ask(sys.argv[2]) if sys.argv[1:2] == ['--ask'] else main())
