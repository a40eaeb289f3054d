#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""make bench: xenflame against peers, as ratios in one run.

Each comparison runs the commands in turn (A B A B …) and prints the medians of CPU seconds (user + system),
of wall seconds and of peak memory, and the ratios to xenflame.  The inputs are made here from a seed.
A peer that is not installed is left out and named.  Nothing is asserted.

usage: bench.py [--rounds=N] [--dir=DIR] [NAME…]     (names: see below; all without one)
"""
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
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
    # What it started itself ends with its pipes.
    stop = threading.Timer(cmd['seconds'], p.kill) if cmd.get('seconds') else None
    if stop:
        stop.start()
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = 0
    wall = time.monotonic() - start
    if stop:
        stop.cancel()
        if wall >= cmd['seconds']:
            cmd['stopped'] = True
            status = 0
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
        first = run(c)
        # One run of what does not end says it all.
        if c.get('stopped'):
            figures[c['name']].append(first)
    for _ in range(rounds):
        for c in commands:
            if not c.get('stopped'):
                figures[c['name']].append(run(c))
    med = {n: [statistics.median(x) for x in zip(*f)] for n, f in figures.items()}
    base = med[ours['name']]
    print(f"  {'':30} {'CPU s':>8} {'wall s':>8} {'MB':>8}    CPU, wall, memory in times of xenflame's")
    for c in commands:
        m = med[c['name']]
        ratio = '' if c is ours else '   '.join(f'{a / max(b, 1e-3):8.2f}x' for a, b in zip(m, base))
        print(f"  {c['name']:30} {m[0]:8.3f} {m[1]:8.3f} {m[2] / 1024:8.1f}    {ratio}"
              + (f"   (stopped after {c['seconds']} s)" if c.get('stopped') else ''))
    return med


def cmd(name, *argv, stdin=None, seconds=None):
    return {'name': name, 'argv': list(argv), 'stdin': stdin, 'seconds': seconds}


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


def recorded(d, name, program, what, *options, args=()):
    """A recording by perf, kept as NAME; None when there can be none here."""
    path = os.path.join(d, name)
    if not os.path.exists(path):
        r = subprocess.run(['perf', 'record', '-q', '-e', 'cpu-clock', *options, '-o', path, program, *args], cwd=d,
                           env={'PATH': os.environ['PATH']}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if r.returncode and not os.path.exists(path):
            print(f'\n(perf cannot record here: {what} left out)')
            return None
    return path


def test_program(d, name):
    """A program of the test data, at a place where it can run."""
    program = os.path.join(d, name)
    if not os.path.exists(program):
        shutil.copy(os.path.join(srcdir, 'tests', 'data', 'corpus', 'local', 'bin', name), program)
        os.chmod(program, 0o755)
    return program


def against_perf(title, path, seconds=None):
    """With names, as perf has them from this machine."""
    r = subprocess.run([xenflame, 'report', '-q', path], capture_output=True, text=True)
    m = re.search(r'\(([0-9]+) samples\)', r.stdout)
    compare(f'{title}: {size(path)}, {int(m[1]):,} samples' if m else f'{title}: {size(path)}',
            cmd('xenflame -> folded', xenflame, '-q', path, '-o', '-', '--format=folded'),
            cmd('perf script', 'perf', 'script', '-f', '-i', path, seconds=seconds),
            cmd('perf script --no-inline', 'perf', 'script', '-f', '--no-inline', '-i', path, seconds=seconds))


def bench_recorded(d):
    """Real recordings: perf's own costs are in symbols, which invented addresses do not have."""
    program = test_program(d, 'deep_fp')
    # perf stops by itself at a size: about 268,000 samples of 51 frames.
    path = recorded(d, 'deep51.perf.data', program, 'frame pointers', '-F', 'max', '-g', '--max-size=119M',
                    args=('120', '300', '20', '78'))
    if path:
        against_perf('frame pointers, deep stacks', path)
    path = recorded(d, 'deep.perf.data', program, 'frame pointers', '-F', 'max', '-g', '--max-size=280M', args=('240',))
    if path:
        against_perf('frame pointers, deeper stacks', path)


def bench_unwind(d):
    path = recorded(d, 'dwarf.perf.data', test_program(d, 'busy_nofp'), 'stack dumps', '-F', '997', '--call-graph=dwarf', args=('15',))
    if path:
        against_perf('stack dumps, 15 s at 997 Hz', path)


def bench_inlined(d):
    """An ordinary program with debug information, much of it inlined.  perf's default asks for inlined functions, which may take it
    minutes: it is stopped then."""
    program = os.path.join(d, 'cxx')
    source = os.path.join(srcdir, 'tests', 'data', 'corpus', 'local', 'src', 'cxx.cpp')
    if not os.path.exists(program) and (not shutil.which('g++') or subprocess.run(
            ['g++', '-O2', '-g', '-fno-omit-frame-pointer', '-pthread', source, '-o', program]).returncode):
        print('\n(g++ is not installed: no program with inlined functions)')
        return
    for name, title, options in (('cxx-fp.perf.data', 'frame pointers', ['-F', '9997', '-g']),
                                 ('cxx-dwarf.perf.data', 'stack dumps', ['-F', '997', '--call-graph=dwarf'])):
        path = recorded(d, name, program, title, *options, args=('10',))
        if path:
            against_perf(f'C++ with debug information, {title}', path, seconds=60)


def bench_memory(d):
    small = made(os.path.join(d, 'mem.1.perf.data'), mkbig, '--samples=200000', '--stacks=20000', 'OUT')
    large = made(os.path.join(d, 'mem.10.perf.data'), mkbig, '--samples=2000000', '--stacks=20000', 'OUT')
    m = compare(f'the same 20,000 stacks, 10 times the samples: {size(small)} and {size(large)}',
                fold('200,000 samples', small), fold('2,000,000 samples', large))
    print(f"  peak memory differs by {100 * (m['2,000,000 samples'][2] / m['200,000 samples'][2] - 1):.1f} %")


def bench_text(d):
    for name, samples, round in ('big.txt', 105000, 105000), ('again.txt', 436000, 105000), ('large.txt', 436000, 436000):
        path = made_text(os.path.join(d, name), maketext, 'script', str(samples), '1', str(round))
        compare(f'perf script text, {samples:,} samples, the same stacks again after {round:,}, {size(path)}',
                fold('xenflame -> folded', path, '--threads=1'), fold('xenflame, two threads', path, '--threads=2'),
                cmd('wc -l', 'wc', '-l', path))
    # Apart from the others: what runs behind a program of some seconds finds the processor's caches cold.
    path = os.path.join(d, 'big.txt')
    compare(f'the first of them, against a collapser in perl, {size(path)}', fold('xenflame -> folded', path, '--threads=1'),
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


ALL = {'data': bench_data, 'recorded': bench_recorded, 'unwind': bench_unwind, 'inlined': bench_inlined,
       'memory': bench_memory, 'text': bench_text, 'folded': bench_folded, 'xen': bench_xen}


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
