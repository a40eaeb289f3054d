#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""CPU seconds and peak memory of symbol lookups, against llvm-symbolizer and addr2line, all in one run.

usage: symbols.py [--rounds N] [--check] [FILE...]

Each tool is one process that gets all addresses on its standard input and prints functions, inlined ones too, and lines.
Rounds of all tools are interleaved and the best one counts (user + system time), so that a loaded machine harms
all alike.  Without FILE: $XEN_SYMS and $VMLINUX, or what Debian's -dbg packages install, or the example's xen-syms.
--check: exit 1 when a ratio is below its target (3 for 1,000 addresses of Xen, 4 for 100,000, 3.5 and half
the memory for 1,000 of vmlinux).
"""
import bisect
import glob
import os
import random
import shutil
import subprocess
import sys
import tempfile

top = os.environ.get('abs_top_builddir') or os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'build')
LOOKUP = os.path.join(top, 'tests', 'tools', 'symfile-lookup')


def addresses(path, n):
    """Bytes of functions, at random, all different."""
    syms = []
    for line in subprocess.run(['nm', '-S', path], capture_output=True, text=True, check=True).stdout.split('\n'):
        w = line.split()
        if len(w) == 4 and w[2] in 'tT' and int(w[1], 16) and int(w[0], 16):
            syms.append((int(w[0], 16), int(w[1], 16)))
    total = [0]
    for _, size in syms:
        total.append(total[-1] + size)
    rng, out = random.Random(4), {}
    while len(out) < min(n, total[-1] // 2):
        k = rng.randrange(total[-1])
        i = bisect.bisect_right(total, k) - 1
        out[syms[i][0] + k - total[i]] = None
    return list(out)


def measure(cmd, inp):
    with open(inp, 'rb') as f, open(os.devnull, 'wb') as null:
        p = subprocess.Popen(cmd, stdin=f, stdout=null, stderr=null)
        _, status, ru = os.wait4(p.pid, 0)
        p.returncode = status
    return (ru.ru_utime + ru.ru_stime, ru.ru_maxrss / 1024) if not status else None


def bench(path, n, rounds, targets, skip=()):
    tools = {'xenflame': [LOOKUP, path], 'llvm-symbolizer': ['llvm-symbolizer', '--obj=' + path, '--inlines'],
             'addr2line': ['addr2line', '-aife', path]}
    tools = {k: v for k, v in tools.items() if k not in skip and (k == 'xenflame' or shutil.which(v[0]))}
    addrs = addresses(path, n)
    best, failed = {}, False
    with tempfile.NamedTemporaryFile('w', suffix='.addr') as f:
        f.write(''.join(f'{a:#x}\n' for a in addrs))
        f.flush()
        for _ in range(rounds):
            for name, cmd in tools.items():
                r = measure(cmd, f.name)
                if r is None:
                    print(f'{name}: failed')
                    failed = True
                elif name not in best or r < best[name]:
                    best[name] = r
    print(f'{os.path.basename(path)} ({os.path.getsize(path) / 1e6:.1f} MB), {len(addrs)} addresses')
    own = best.get('xenflame', (0, 0))
    for name, (cpu, mb) in best.items():
        print(f'  {name:16} {cpu:8.3f} s {mb:7.1f} MB'
              + ('' if name == 'xenflame' else f'   {cpu / max(own[0], 1e-3):6.2f} x CPU {mb / own[1]:6.2f} x memory'))
    if 'llvm-symbolizer' in best and targets:
        cpu, mb = best['llvm-symbolizer']
        if cpu < targets[0] * own[0] or (targets[1] and mb < targets[1] * own[1]) or (targets[2] and own[1] > targets[2]):
            print(f'  below target: {targets[0]} x CPU, {targets[1]} x memory, at most {targets[2]} MB')
            failed = True
    return failed


def main():
    args = sys.argv[1:]
    check = '--check' in args
    rounds = int(args[args.index('--rounds') + 1]) if '--rounds' in args else 5
    files = [a for i, a in enumerate(args) if not a.startswith('--') and (not i or args[i - 1] != '--rounds')]
    if not files:
        xen = [os.environ.get('XEN_SYMS', '')] + sorted(p for p in glob.glob('/usr/lib/debug/boot/xen-syms-*') if not p.endswith('.map'))
        example = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'examples', 'xen-host', 'xen-syms')
        linux = [os.environ.get('VMLINUX', '')] + sorted(glob.glob('/usr/lib/debug/boot/vmlinux-*'))
        files = [next((p for p in xen if p), example)] + [p for p in linux if p][:1]
    failed = False
    for path in files:
        if os.path.getsize(path) > 200e6:
            failed |= bench(path, 1000, max(2, rounds // 2), (3.5, 2, 0))
        else:
            big = os.path.getsize(path) > 10e6
            failed |= bench(path, 1000, rounds, (3, 0, 35) if big else None)
            failed |= bench(path, 100000, rounds, (4, 0, 0) if big else None)
    return 1 if failed and check else 0


sys.exit(main())
