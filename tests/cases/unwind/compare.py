#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks unwound from saved pieces of stack, sample by sample and address by address, against what perf printed on the recording host.

The programs of the recordings are in the corpus.  They are stripped for this test (unwind information and build id stay), so that
frames are shown as [program+0xoffset].  Libraries are taken from this machine where they are the recorded ones (xenflame compares
build ids): then every stack has perf's addresses in perf's order, or goes on where perf gave up.  Where this machine has
others, ours has nothing that perf's has not: it ends early, and where the frame pointer is followed through a library, the
library's caller is missing.

Of libraries only the presence counts: perf prints some of their functions as (inlined) without a module.  perf prints an address once for
each inlined function; callers one byte before the return address.
"""
import collections
import lzma
import os
import re
import shutil
import subprocess
import sys
import tempfile

top = os.environ.get('abs_top_srcdir') or os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', '..')
local = os.path.join(top, 'tests', 'data', 'corpus', 'local')
xenflame = os.environ.get('XENFLAME', 'xenflame')

RECORDINGS = ['dwarf/perf.data', 'dwarf_small/perf.data', 'cxx_dwarf/perf.data', 'kvm_dwarf/perf.data.kvm', 'pipe_dwarf/perf.data']

HEADER = re.compile(r'^\S.* (\d+)\.(\d{6})\d*: ')
FRAME = re.compile(r'^\s+([0-9a-f]+) (.*)$')
PROGRAM = re.compile(r'^\[([a-z_]+)\+0x([0-9a-f]+)\]$')


def lines_by_sample(text):
    """time in us -> [(address, rest)]"""
    out = collections.OrderedDict()
    frames = []
    for line in text.split('\n'):
        m = FRAME.match(line)
        if m:
            frames.append((int(m.group(1), 16), m.group(2)))
            continue
        m = HEADER.match(line)
        if m:
            frames = out.setdefault(int(m.group(1)) * 1000000 + int(m.group(2)), [])
    return out


def perf_stack(lines):
    """-> [[address or None for a library, how often or None when inlining hides it]], addresses without a module, complete"""
    runs, lost = [], set()
    last = ''
    user = [(a, r) for a, r in lines if a >> 63 == 0]
    i = 0
    while i < len(user):
        addr = user[i][0]
        k = i
        while k < len(user) and user[k][0] == addr:
            k += 1
        group = [r for _, r in user[i:k]]
        i = k
        plain = [r for r in group if not r.endswith('(inlined)')]
        last = group[-1]
        if not plain:
            lost.add(addr)
        elif '/opt/demo/' in plain[0]:
            runs.append([addr, len(plain) if len(plain) == len(group) else None])
    return runs, lost, '_start' in last or 'clone3' in last


def our_stack(lines):
    runs = []
    first, last = True, ''
    for addr, rest in lines:
        if addr >> 63:
            continue
        name = rest.rsplit(' ', 1)[0]
        m = PROGRAM.match(name)
        last = rest
        if m and not m.group(1).startswith('lib'):
            at = int(m.group(2), 16) - (0 if first else 1)
            if runs and runs[-1][0] == at and runs[-1][2]:
                runs[-1][1] += 1
            else:
                runs.append([at, 1, True])
        elif runs:
            runs[-1][2] = False
        first = False
    return [r[:2] for r in runs], last


def equal(ours, theirs):
    return len(ours) == len(theirs) and all(a == b and (n is None or n == k) for (a, k), (b, n) in zip(ours, theirs))


def is_part(ours, theirs):
    """Ours are some of theirs, in their order."""
    rest = iter(theirs)
    return all(any(a == b and (n is None or k <= n) for b, n in rest) for a, k in ours)


nr = failed = 0


def check(ok, what, *more):
    global nr, failed
    nr += 1
    print(f"{'' if ok else 'not '}ok {nr} - {what}")
    if not ok:
        failed += 1
        for m in more:
            print(f'# {m}')


def compare(name, root):
    data = os.path.join(local, name)
    text = lzma.open(os.path.join(os.path.dirname(data), 'script.txt.xz'), 'rt', encoding='utf-8').read()
    for lib in set(re.findall(r'\((/usr/lib/[^() ]+)\)', text)):
        link = root + lib
        if os.path.exists(lib) and not os.path.exists(link):
            os.makedirs(os.path.dirname(link), exist_ok=True)
            os.symlink(lib, link)
    p = subprocess.run([xenflame, '--offline', f'--symfs={root}', '--format=perf-script', '-o', '-', data], capture_output=True, text=True)
    if p.returncode:
        check(False, name, p.stderr)
        return
    same_libraries = 'has build id' not in p.stderr and all(os.path.exists(root + l) for l in re.findall(r'\((/usr/lib/[^() ]+)\)', text))
    theirs, ours = lines_by_sample(text), lines_by_sample(p.stdout)
    check(list(ours) == list(theirs), f'{name}: the same {len(theirs)} samples', f'{len(ours)} against {len(theirs)}')
    bad, longer, n_ours, n_theirs = [], 0, 0, 0
    for t, lines in theirs.items():
        want, lost, done = perf_stack(lines)
        have, last = our_stack(ours.get(t, []))
        have = [r for r in have if r[0] not in lost]
        ends = bool(have) and bool(want) and have[-1][0] == want[-1][0] if done else False
        n_theirs += done
        n_ours += ends or (done and 'libc.so' in last)
        if equal(have, want):
            continue
        if equal(have[:len(want)], want) and same_libraries and not done:
            longer += 1
        elif same_libraries or not is_part(have, want):
            bad.append(f'{t}: ours {[(hex(a), n) for a, n in have]}, perf {[(hex(a), n) for a, n in want]}')
    check(not bad, f"{name}: perf's addresses in perf's order", f'{len(bad)} differ', *bad[:5])
    if same_libraries:
        check(n_ours == n_theirs, f"{name}: each of perf's {n_theirs} complete stacks is complete", f'{n_ours} are')
    else:
        print(f'# {name}: this machine has other libraries than the recording host: parts of stacks compared')
    print(f"# {name}: {len(theirs)} samples, {longer} go on where perf gave up")


def main():
    if not shutil.which('strip'):
        print('1..0 # SKIP needs strip (binutils)')
        return 0
    root = tempfile.mkdtemp(prefix='xenflame-unwind-')
    os.makedirs(root + '/opt/demo/bin')
    for program in os.listdir(os.path.join(local, 'bin')):
        subprocess.run(['strip', '-o', f'{root}/opt/demo/bin/{program}', os.path.join(local, 'bin', program)], check=True)
    for name in RECORDINGS:
        compare(name, root)
    shutil.rmtree(root)
    print(f'1..{nr}')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
