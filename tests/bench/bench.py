#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""make bench: xenflame against peers, as ratios in one run.

Each comparison runs the commands in turn (A B A B …) and prints the medians of CPU seconds (user + system),
of wall seconds and of peak memory, and the ratios to xenflame.  The inputs are made here from a seed.
A peer that is not installed is left out and named.  Nothing is asserted.

usage: bench.py [--rounds=N] [--dir=DIR] [NAME…]     (names: see below; all without one)
"""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

builddir = os.environ.get('abs_top_builddir', 'build')
srcdir = os.environ.get('abs_top_srcdir', '.')
xenflame = os.environ.get('XENFLAME', os.path.join(builddir, 'xenflame'))
mkbig = os.path.join(builddir, 'tests', 'bench', 'mkbig')
maketext = os.path.join(builddir, 'tests', 'bench', 'make-text')

# make check fills freed memory to find mistakes; that is no way to measure.
os.environ.pop('MALLOC_PERTURB_', None)

rounds = 3
workdir = None
names = []
for arg in sys.argv[1:]:
    if arg.startswith('--rounds='):
        rounds = int(arg[9:])
    elif arg.startswith('--dir='):
        workdir = arg[6:]
    else:
        names.append(arg)


def run(cmd):
    """(cpu, wall, peak KiB) of one run; output is thrown away, input is cmd[0] when it is a file object's name."""
    stdin = open(cmd['stdin'], 'rb') if cmd.get('stdin') else subprocess.DEVNULL
    start = time.monotonic()
    p = subprocess.Popen(cmd['argv'], stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = 0
    wall = time.monotonic() - start
    if cmd.get('stdin'):
        stdin.close()
    if status:
        print(f"  ({cmd['name']}: exit status {os.waitstatus_to_exitcode(status)})")
    return usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss


def compare(title, ours, *peers):
    print(f'\n{title}')
    commands = [ours]
    for p in peers:
        if shutil.which(p['argv'][0]):
            commands.append(p)
        else:
            print(f"  ({p['argv'][0]} is not installed)")
    figures = {c['name']: [] for c in commands}
    for c in commands:
        run(c)
    for _ in range(rounds):
        for c in commands:
            figures[c['name']].append(run(c))
    med = {n: [statistics.median(x) for x in zip(*f)] for n, f in figures.items()}
    base = med[ours['name']]
    print(f"  {'':30} {'CPU s':>8} {'wall s':>8} {'MB':>8}    CPU, wall, memory in times of xenflame's")
    for c in commands:
        m = med[c['name']]
        ratio = '' if c is ours else '   '.join(f'{a / max(b, 1e-3):8.2f}x' for a, b in zip(m, base))
        print(f"  {c['name']:30} {m[0]:8.3f} {m[1]:8.3f} {m[2] / 1024:8.1f}    {ratio}")
    return med


def cmd(name, *argv, stdin=None):
    return {'name': name, 'argv': list(argv), 'stdin': stdin}


def fold(name, path, *options):
    return cmd(name, xenflame, '-q', '--offline', path, '-o', '-', '--format=folded', *options)


def made(path, *argv):
    if not os.path.exists(path):
        tmp = path + '.tmp'
        subprocess.run([a if a != 'OUT' else tmp for a in argv], check=True)
        os.rename(tmp, path)
    return path


def made_text(path, *argv):
    if not os.path.exists(path):
        with open(path + '.tmp', 'wb') as f:
            subprocess.run(argv, check=True, stdout=f)
        os.rename(path + '.tmp', path)
    return path


def size(path):
    return f'{os.path.getsize(path) / 1e6:.0f} MB'


def bench_data(d):
    path = made(os.path.join(d, 'big.perf.data'), mkbig, '--samples=200000', 'OUT')
    compare(f'perf.data, 200,000 samples of 51 frames, {size(path)}', fold('xenflame -> folded', path),
            cmd('perf script', 'perf', 'script', '-f', '-i', path),
            cmd('perf script --no-inline', 'perf', 'script', '-f', '--no-inline', '-i', path))


def bench_recorded(d):
    """A real recording: perf's own costs are in symbols, which invented addresses do not have."""
    path = os.path.join(d, 'deep.perf.data')
    program = os.path.join(d, 'deep_fp')
    if not os.path.exists(path):
        shutil.copy(os.path.join(srcdir, 'tests', 'data', 'corpus', 'local', 'bin', 'deep_fp'), program)
        os.chmod(program, 0o755)
        r = subprocess.run(['perf', 'record', '-q', '-e', 'cpu-clock', '-F', 'max', '-g', '-o', path, program, '20'], cwd=d,
                           env={'PATH': os.environ['PATH']}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if r.returncode:
            print('\n(perf cannot record here: no real recording)')
            return
    compare(f'a recording by perf of a program with deep stacks, {size(path)}', cmd('xenflame -> folded', xenflame, '-q', path, '-o', '-',
            '--format=folded'), cmd('perf script', 'perf', 'script', '-f', '-i', path),
            cmd('perf script --no-inline', 'perf', 'script', '-f', '--no-inline', '-i', path))


def bench_unwind(d):
    path = os.path.join(d, 'dwarf.perf.data')
    program = os.path.join(d, 'busy_nofp')
    if not os.path.exists(path):
        shutil.copy(os.path.join(srcdir, 'tests', 'data', 'corpus', 'local', 'bin', 'busy_nofp'), program)
        os.chmod(program, 0o755)
        r = subprocess.run(['perf', 'record', '-q', '-e', 'cpu-clock', '-F', '997', '--call-graph=dwarf', '-o', path, program, '15'],
                           cwd=d, env={'PATH': os.environ['PATH']}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if r.returncode:
            print('\n(perf cannot record here: no recording with stack dumps)')
            return
    compare(f'stack dumps, 15 s at 997 Hz, {size(path)}', cmd('xenflame -> folded', xenflame, '-q', path, '-o', '-',
            '--format=folded'), cmd('perf script --no-inline', 'perf', 'script', '-f', '--no-inline', '-i', path))


def bench_memory(d):
    small = made(os.path.join(d, 'mem.1.perf.data'), mkbig, '--samples=200000', '--stacks=20000', 'OUT')
    large = made(os.path.join(d, 'mem.10.perf.data'), mkbig, '--samples=2000000', '--stacks=20000', 'OUT')
    m = compare(f'the same 20,000 stacks, 10 times the samples: {size(small)} and {size(large)}',
                fold('200,000 samples', small), fold('2,000,000 samples', large))
    print(f"  peak memory differs by {100 * (m['2,000,000 samples'][2] / m['200,000 samples'][2] - 1):.1f} %")


def bench_text(d):
    path = made_text(os.path.join(d, 'big.txt'), maketext, 'script', '105000', '1')
    compare(f'perf script text, 105,000 samples, {size(path)}', fold('xenflame -> folded', path, '--threads=1'),
            fold('xenflame, two threads', path, '--threads=2'),
            cmd('wc -l', 'wc', '-l', path),
            cmd('collapse.pl', 'perl', os.path.join(srcdir, 'tests', 'bench', 'collapse.pl'), stdin=path))


def bench_folded(d):
    path = made_text(os.path.join(d, 'big.folded'), maketext, 'folded', '500000', '1')
    compare(f'folded stacks -> SVG, 500,000 stacks, {size(path)}',
            cmd('xenflame -> svg', xenflame, '-q', '--offline', path, '-o', os.path.join(d, 'big.svg')),
            cmd('wc -l', 'wc', '-l', path))


def bench_xen(d):
    path = os.path.join(srcdir, 'examples', 'xen-host', 'perf.data.kvm')
    compare('the bundled recording of a Xen host -> SVG',
            cmd('xenflame -> svg', xenflame, '-q', '--offline', path, '-o', os.path.join(d, 'xen.svg')),
            cmd('perf script --no-inline', 'perf', 'script', '-f', '--no-inline', '-i', path))


ALL = {'data': bench_data, 'recorded': bench_recorded, 'unwind': bench_unwind, 'memory': bench_memory, 'text': bench_text, 'folded': bench_folded, 'xen': bench_xen}


def main():
    d = workdir or tempfile.mkdtemp(prefix='xenflame-bench-')
    os.makedirs(d, exist_ok=True)
    print(f'medians of {rounds} runs each, in turn')
    try:
        for name in names or ALL:
            if name not in ALL:
                sys.exit(f'bench.py: {name}: expected one of {" ".join(ALL)}')
            ALL[name](d)
    finally:
        if not workdir:
            shutil.rmtree(d)


if __name__ == '__main__':
    main()
