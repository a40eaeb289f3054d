#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the program does around the stages: defaults, --open, --strict, filters, merging, the same bytes each time.

Right answers for the filters are counted here in corpus/xen-hv/perf.oracle.txt, which perf made.
"""
import glob
import gzip
import lzma
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tools'))
import tap  # noqa: E402
from tap import CORPUS, XENFLAME  # noqa: E402

example = os.path.join(CORPUS, 'xen-hv', 'perf.data.kvm')
tmp = tempfile.mkdtemp(prefix='xenflame-program-')


def check(what, problem):
    tap.ok(problem is None, what, problem)


def run(*args, cwd=None, env=None, stdin=None, stdout=subprocess.PIPE):
    return subprocess.run([XENFLAME, *args], cwd=cwd, env=dict(os.environ, **(env or {})), input=stdin, stdout=stdout,
                          stderr=subprocess.PIPE, check=False)


def equal(what, a, b):
    check(what, None if a == b else f'{a!r} and {b!r}')


def folded(*args, **kw):
    p = run('-q', '--offline', '--format=folded', '-o', '-', *args, **kw)
    return sum(int(line.rsplit(b' ', 1)[1]) for line in p.stdout.splitlines()) if p.returncode == 0 else p.stderr


def wide():
    """Counts of 2^64 and more: exact in folded stacks of one column, told wherever they are not."""
    most, names = (1 << 128) - 1, {}

    def lines(*files, out='folded'):
        p = run('--offline', f'--format={out}', '-o', '-', *files)
        return p.stdout.decode(), p.stderr.decode().count('\n'), p.stderr.decode()

    for name, text in (('wide', f'a {1 << 64}\na;b {(1 << 64) - 1}\na;b;c {1 << 120}\nd {1 << 64}\nd {1 << 64}\ne 5\n'),
                       ('again', f'a;b 1\nd {10 ** 38}\n'), ('decimals', 'a 0.25\ne 1.5\n'),
                       ('both', f'a {1 << 64}.5\ne 1.25\n'), ('most', f'a {most}\na 1\n'),
                       ('columns', f'a 1 {1 << 64}\nb 2 3\n'), ('huge', f'a {most + 1}\nb 1\n'),
                       ('halves', f'a {1 << 63}\nb {1 << 63}\n'), ('large', f'a {1 << 120}\n'), ('tiny', 'b 0.000000001\n'),
                       ('long', f'a {1 << 64}\n' * 5 + f'b {1 << 64}\n' * ((1 << 20) - 3) + f'c {1 << 64}\n' * 5)):
        names[name] = os.path.join(tmp, f'{name}.folded')
        with open(names[name], 'w', encoding='ascii') as f:
            f.write(text)
    once = f'a {1 << 64}\na;b {(1 << 64) - 1}\na;b;c {1 << 120}\nd {2 << 64}\ne 5\n'
    equal('wide counts', lines(names['wide'])[:2], (once, 0))
    two = f'a {1 << 64}\na;b {1 << 64}\na;b;c {1 << 120}\nd {(2 << 64) + 10 ** 38}\ne 5\n'
    for order in (('wide', 'again'), ('again', 'wide')):
        equal('wide counts of two files', lines(*(names[x] for x in order))[:2], (two, 0))
    fine = once.replace(f'a {1 << 64}\n', f'a {1 << 64}.25\n', 1).replace('e 5', 'e 6.5')
    for order in (('wide', 'decimals'), ('decimals', 'wide')):
        equal('wide counts and decimals of two files', lines(*(names[x] for x in order))[:2], (fine, 0))
    equal('wide counts of stacks that become one', lines(names['wide'], '--prune=^a$')[:2], (f'a {(2 << 64) - 1 + (1 << 120)}\nd {2 << 64}\ne 5\n', 0))
    text, n, told = lines(names['both'])
    check('wide counts leave no decimals, which is told', None if text == f'a {(1 << 64) + 1}\ne 1\n' and n == 1 and 'rounded' in told else (text, told))
    text, n, told = lines(names['huge'])
    check('a count of more than 128 bits is told', None if text == 'b 1\n' and n == 1 and 'line not understood' in told else (text, told))
    text, n, told = lines(names['most'])
    check('a sum of more than 128 bits is told', None if text == f'a {most}\n' and n == 1 and '1 stack has 2^128 - 1 or more' in told else (text, told))
    text, n, told = lines(names['columns'])
    check('wide counts of two columns are told', None if text == f'a 1 {(1 << 64) - 1}\nb 2 3\n' and n == 1 and 'the whole and 1 stack come to' in told
          else (text, told))
    for form in ('svg', 'text', 'json', 'speedscope', 'd3'):
        _, n, told = lines(names['wide'], out=form)
        check(f'wide counts are told: {form}', None if n == 1 and 'sums end at 18446744073709551615, which the whole and 4 stacks come to' in told else told)
    _, n, told = lines(names['halves'], out='text')
    check('a whole that is too much is told', None if n == 1 and f'sums end at {(1 << 64) - 1}, which the whole comes to, so' in told else told)
    text, n, told = lines(names['large'], names['tiny'])
    equal('a count that is too much with decimals is told', [text, n, f'1 stack has {most // 10 ** 9} or more' in told],
          [f'a {most // 10 ** 9}.{most % 10 ** 9}\nb 0.000000001\n', 1, True])
    equal('more wide counts than wait at once', lines(names['long'])[:2], (f'a {5 << 64}\nb {(1 << 20) - 3 << 64}\nc {5 << 64}\n', 0))
    equal('--strict: sums that came to their end', [run('--strict', '-q', f'--format={f}', '-o', '-', names['wide']).returncode for f in ('text', 'folded')], [1, 0])
    _, n, told = lines(names['wide'], names['decimals'], out='text')
    check('wide counts with decimals are told', None if n == 1 and 'sums end at 184467440737095516, ' in told else told)
    p = run('report', names['wide'])
    check('wide counts are told: report', None if p.stdout.count(b'sums end at') == 1 else p.stdout)
    p = run('diff', names['wide'], names['again'])
    check('wide counts are told: diff', None if p.stderr.count(b'sums end at') == 1 else p.stderr)


def domains():
    """--group=domain against what the roots of ungrouped stacks say."""
    console = os.path.join(tmp, 'console.txt')
    with lzma.open(os.path.join(CORPUS, 'xen-stock', 'debug-keys-d.console.txt.xz')) as f, open(console, 'wb') as out:
        out.write(f.read())
    guests = os.path.join(tmp, 'guests.txt')
    with open(guests, 'w', encoding='ascii') as f:
        for vm, name in (('', 'a'), ('VM:  77 VCPU:000 ', 'b'), ('VM:  78 VCPU:001 ', 'c'), ('VM:  77 VCPU:002 ', 'd')):
            f.write(f'{vm}app 5 [000] 1.0: 1 cycles:\n\t401000 {name} (/bin/app)\n\n')
    for name, recording, more in (('console log', console, {}), ('recording', os.path.join(CORPUS, 'xen-hv', 'rfc-layout.perf.data.kvm'), {}),
                                  ('recording of guests', guests, {'app;a': 'dom0', 'app;b': 'guest 77', 'app;c': 'guest 78', 'app;d': 'guest 77'})):
        expected = {}
        for line in run('-q', '--offline', '--format=folded', '-o', '-', recording).stdout.decode().splitlines():
            stack, n = line.rsplit(' ', 1)
            root = stack.split(';')[0]
            of = more.get(stack) or (('idle' if 'idle_loop_[h]' in stack.split(';') else 'other domains') if root in ('[xen]', '[guest]')
                                     else re.sub(r'^d(\d+)$', r'dom\1', root) if re.match(r'd\d+$', root) else 'dom0')
            expected[of] = expected.get(of, 0) + int(n)
        got = {}
        for line in run('-q', '--offline', '--format=folded', '--group=domain', '-o', '-', recording).stdout.decode().splitlines():
            stack, n = line.rsplit(' ', 1)
            top_name = urllib.parse.unquote(stack.split(';')[0])
            got[top_name] = got.get(top_name, 0) + int(n)
        equal(f'--group=domain of a {name}', got, expected)
        check('which has several', None if len(got) > 1 else got)


def begun(p):
    """The file NAME.XXXXXX that a process is writing to."""
    while p.poll() is None:
        for link in glob.glob(f'/proc/{p.pid}/fd/*'):
            try:
                name = os.readlink(link)
            except OSError:
                continue
            if re.search(r'\.(svg|html)\.......$', name):
                return name
        time.sleep(0.01)
    return None


def oracle():
    with gzip.open(os.path.join(CORPUS, 'xen-hv', 'perf.oracle.txt.gz'), 'rt') as f:
        for line in f:
            if line.startswith('S\t'):
                _, _, comm, pid, tid, cpu, time, mode = line.split('\t')
                yield comm, int(pid), int(tid), int(cpu), int(time), int(mode)


def main():
    samples = list(oracle())
    first, last = samples[0][4], samples[-1][4]

    equal('all samples', folded(example), len(samples))
    equal('--comm', folded('--comm=hc-mmap', example), sum(s[0] == 'hc-mmap' for s in samples))
    equal('--cpu', folded('--cpu=1', example), sum(s[3] == 1 for s in samples))
    equal('--cpu with a range', folded('--cpu=0-1', example), len(samples))
    pids = sorted({s[1] for s in samples if 0 < s[1] < 1 << 31})
    lo, hi = pids[3], pids[40]
    equal('--pid', folded(f'--pid={pids[0]},{lo}-{hi}', example), sum(s[1] == pids[0] or lo <= s[1] <= hi for s in samples))
    equal('--tid', folded(f'--tid={pids[5]}', example), sum(s[2] == pids[5] for s in samples))
    equal('--time', folded('--time=10,20.5', example), sum(10 * 10**9 <= s[4] <= 20_500_000_000 for s in samples))
    equal('--time from', folded('--time=30,', example), sum(s[4] >= 30 * 10**9 for s in samples))
    half = first + (last - first) // 2
    equal('--time in percent', folded('--time=0%-50%', example), sum(s[4] <= half for s in samples))
    equal('--comm and --cpu', folded('--comm=hc-mmap', '--cpu=0', example), sum(s[0] == 'hc-mmap' and s[3] == 0 for s in samples))
    equal('two recordings add up', folded(example, os.path.join(CORPUS, 'xen-hv', 'dwarf.perf.data.kvm')), len(samples) + 563)
    shallow = os.path.join(tmp, 'shallow.folded')
    with open(shallow, 'w', encoding='ascii') as f:
        f.write('x;f_[h] 5\nx;g 2\n')
    one, two = (run(*[shallow] * n, '-o', os.path.join(tmp, 'n.folded')).stderr for n in (1, 2))
    a, b = (re.search(rb'(\d+) of the hypervisor samples have a single', text) for text in (one, two))
    check('each recording is counted once', None if a and b and 2 * int(a[1]) == int(b[1]) else (one, two))
    p = run('diff', os.path.join(CORPUS, 'xen-stock', 'vpmu-on-cpuclock.perf.data'), example)
    check('a comparison with unusable samples', None if p.returncode == 1 and b'all 2316 samples are unusable' in p.stderr
          and b'vpmu=off' in p.stderr else p.stderr)
    p = run('diff', example, example, '--only=nothing has this name')
    check('a comparison of nothing', None if p.returncode == 1 and b'no stack passes --only' in p.stderr else p.stderr)
    names = []
    for i, text in enumerate(('a;b 1\na 2\n', 'a;b 0.25\na 2.5\n')):
        names.append(os.path.join(tmp, f'decimals-{i}.folded'))
        with open(names[i], 'w', encoding='ascii') as f:
            f.write(text)
    for order in (names, names[::-1]):
        equal('decimals of one of two files', run('-q', *order, '--format=folded', '-o', '-').stdout, b'a 4.5\na;b 1.25\n')
    for name in ('speedscope', 'd3'):
        p = run(names[1], f'--format={name}', '-o', os.path.join(tmp, f'n.{name}'))
        equal(f'decimals in {name}', (p.stderr, run('-q', os.path.join(tmp, f'n.{name}'), '--format=folded', '-o', '-').stdout), (b'', b'a 2.5\na;b 0.25\n'))
        with open(os.path.join(tmp, f'n.{name}'), encoding='utf-8') as f:
            check(f'as they are in {name}', None if re.search(r'\b0\.25\b', f.read()) else 'no 0.25')
    for name in ('json', 'pprof', 'perf-script', 'callgrind', 'firefox', 'chrome'):
        p = run(names[1], f'--format={name}', '-o', os.path.join(tmp, f'n.{name}'))
        check(f'no decimals in {name}, and told once', None if p.returncode == 0 and p.stderr.count(b'100 times as large') == 1 else p.stderr)
    p = run('-q', '--time=1,', names[0], '-o', os.path.join(tmp, 'n.folded'))
    check('--time without times', None if p.returncode == 1 and b'filters' in p.stderr else p.stderr)
    p = run('-q', '--offline', '--by-module', '--format=folded', '-o', '-', example)
    check('modules of the hypervisor are told apart', None if b';xen-syms_[h] ' in p.stdout else p.stdout[:200])
    p = run('--format=folded', '-o', os.path.join(tmp, 'n.folded'), '--input-format=folded', example)
    check('bad lines are told once', None if p.stderr.count(b'lines not understood') == 1 else p.stderr)
    p = run('-o', os.path.join(tmp, 'a\x1b[31m.nonsense'), example)
    check('no control characters in messages', None if b'\x1b' not in p.stderr and p.returncode == 2 else p.stderr)
    many = '9223372036854775808'
    equal('counts beyond 64 bits', folded('-', stdin=f'a;b {many}\na;b {many}\n'.encode()), 1 << 64)
    wide()
    with open(example, 'rb') as f:
        equal('standard input', folded('-', stdin=f.read()), len(samples))
    synth = os.path.join(CORPUS, 'synth', 'xen', 'hvmark.perf.data.kvm')
    equal('--guest and --host', folded('--guest', synth) + folded('--host', synth), folded(synth))

    here = os.path.join(tmp, 'here')
    os.mkdir(here)
    shutil.copy(os.path.join(CORPUS, 'local', 'fp', 'perf.data'), os.path.join(here, 'perf.data'))
    p = run('-q', '-o', 'x.folded', cwd=here)
    check('perf.data of the folder', None if p.returncode == 0 and os.path.exists(os.path.join(here, 'x.folded')) else p.stderr)
    shutil.copy(example, os.path.join(here, 'perf.data.kvm'))
    run('-q', '--offline', '-o', 'y.folded', cwd=here)
    check('perf.data.kvm comes first', None if b'_[h]' in open(os.path.join(here, 'y.folded'), 'rb').read() else 'no hypervisor frames')

    os.unlink(os.path.join(here, 'perf.data.kvm'))
    os.unlink(os.path.join(here, 'perf.data'))
    shutil.copytree(os.path.join(CORPUS, 'local', 'threads_dir', 'perf.data'), os.path.join(here, 'perf.data'))
    p = run('-q', '--offline', '-o', 'z.folded', cwd=here)
    check('a recording that is a folder', None if p.returncode == 0 else p.stderr)
    shutil.rmtree(os.path.join(here, 'perf.data'))
    shutil.copy(os.path.join(CORPUS, 'local', 'fp', 'perf.data'), os.path.join(here, 'perf.data'))
    with open(os.path.join(here, 'perf.data'), 'rb') as f:
        data = f.read()
    for args in (['perf.data'], ['diff', example, 'perf.data'], ['report', 'perf.data']):
        p = run(*args, '-q', '-o', './perf.data', *[] if args[0] == 'report' else ['--format=folded'], cwd=here)
        check(f'{args[0]}: the recording is not written over',
              None if p.returncode == 2 and data == open(os.path.join(here, 'perf.data'), 'rb').read() else (p.returncode, p.stderr))
    os.symlink('target.folded', os.path.join(here, 'link.folded'))
    open(os.path.join(here, 'target.folded'), 'wb').close()
    run('-q', '--offline', '-o', 'link.folded', cwd=here)
    check('a link stays one', None if os.path.islink(os.path.join(here, 'link.folded')) and
          os.path.getsize(os.path.join(here, 'target.folded')) else 'it is none')
    with open(os.path.join(here, 'out.folded'), 'wb') as f:
        os.symlink('/proc/self/fd/1', os.path.join(here, 'stdout'))
        p = run('-q', '--offline', '-o', 'stdout', '--format=folded', cwd=here, stdout=f)
    check('standard output by another name', None if p.returncode == 0 and os.path.islink(os.path.join(here, 'stdout')) and
          os.path.getsize(os.path.join(here, 'out.folded')) else p.stderr)

    browser = os.path.join(tmp, 'browser')
    with open(browser, 'w', encoding='ascii') as f:
        f.write(f'#!/bin/sh\ncp "$1" {tmp}/shown\n')
    os.chmod(browser, 0o755)
    p = run('-q', '--open', example, env={'BROWSER': browser})
    shown = os.path.join(tmp, 'shown')
    check('--open', None if p.returncode == 0 and open(shown, 'rb').read(15).lower().startswith(b'<!doctype html') else p.stderr)
    before = set(glob.glob('/tmp/xenflame-??????.*'))
    p = run('-q', '--open', '--format=folded', example, env={'BROWSER': browser})
    check('--open with a format', None if p.returncode == 0 and b'_[h]' in open(shown, 'rb').read() else p.stderr)
    made = set(glob.glob('/tmp/xenflame-??????.*')) - before
    check('the file has the suffix of the format', None if any(name.endswith('.folded') for name in made) else made)
    for name in made:
        os.unlink(name)
    run('-q', '--open', os.path.join(tmp, 'absent'), env={'BROWSER': browser})
    made = set(glob.glob('/tmp/xenflame-??????.*')) - before - made
    check('a failed --open leaves no file', made or None)
    p = run('-q', '--open', '-o', '-', example, env={'BROWSER': browser})
    check('--open of standard output', None if p.returncode == 2 and b'--open' in p.stderr else p.stderr)
    p = run('-q', '--open', '-o', os.path.join(tmp, 'o.svg'), example, env={'BROWSER': '/nonexistent'})
    check('--open without a browser', None if p.returncode == 1 and b'BROWSER' in p.stderr else p.stderr)

    colors, picture = os.path.join(tmp, 'colors.map'), os.path.join(tmp, 'colored.svg')
    with open(colors, 'w', encoding='ascii') as f:
        f.write('g->rgb(1,2,3)\n')
    other = os.path.join(tmp, 'other.folded')
    with open(other, 'w', encoding='ascii') as f:
        f.write('x;new_function 5\n')
    for what, args in (('a comparison', ['diff', shallow, other, '-o', picture]), ('an output that cannot be', [other, '-o', os.path.join(tmp, 'no', 'x.svg')]),
                       ('an output that is full', [other, '-o', '/dev/full', '--format=svg']), ('nothing to draw', [other, '--only=absent', '-o', picture])):
        if args[2] == '/dev/full' and not os.path.exists('/dev/full'):
            continue
        p = run(*args, '-q', f'--palette-file={colors}')
        check(f'the palette file stays: {what}', None if p.returncode == (args[0] != 'diff') and open(colors, encoding='ascii').read() == 'g->rgb(1,2,3)\n'
              and not glob.glob(colors + '?*') else (p.returncode, p.stderr, open(colors, encoding='ascii').read()))
    p = run(other, '-q', f'--palette-file={os.path.join(tmp, "no", "colors.map")}', '-o', os.path.join(tmp, 'uncolored.svg'))
    check('a palette file that cannot be: no output', None if p.returncode == 1 and b'colors.map' in p.stderr and not glob.glob(os.path.join(tmp, 'uncolored*')) else p.stderr)
    for name in ('svg', 'html', 'png'):
        os.truncate(colors, 0)
        p = run(shallow, '-q', '--colors=hot', f'--palette-file={colors}', '-o', os.path.join(tmp, f'colored.{name}'))
        if b'names no format' in p.stderr:
            continue
        with open(colors, encoding='ascii') as f:
            check(f'functions without a colour are added: {name}', None if re.fullmatch(r'f_\[h\]->rgb\(.*\)\ng->rgb\(.*\)\nx->rgb\(.*\)\n', f.read()) else p.stderr)

    # It waits for the file of colours when its output has been begun.
    fifo = os.path.join(tmp, 'fifo')
    os.mkfifo(fifo)
    for sig, args in ((signal.SIGINT, ['-o', os.path.join(tmp, 'cut.svg')]), (signal.SIGTERM, ['-o', os.path.join(tmp, 'cut.svg')]),
                      (signal.SIGHUP, ['--open'])):
        # make in the background of a shell has it ignored
        with subprocess.Popen([XENFLAME, '-q', f'--palette-file={fifo}', shallow, *args], stderr=subprocess.PIPE,
                              preexec_fn=lambda: signal.signal(sig, signal.SIG_DFL)) as p:
            name = begun(p)
            p.send_signal(sig)
        check(f'{sig.name} leaves no file: {args[0]}', None if name and p.returncode == -sig and not os.path.exists(name) and
              not os.path.exists(name[:-7]) else (name, p.returncode))
    with subprocess.Popen([XENFLAME, '-q', f'--palette-file={fifo}', shallow, '-o', os.path.join(tmp, 'whole.svg')],
                          preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)) as p:
        begun(p)
        p.send_signal(signal.SIGHUP)
        with open(fifo, 'wb'):
            pass
        with open(fifo, 'rb') as f:     # with the colours that it has given out
            f.read()
    check('an ignored signal stays ignored', None if p.returncode == 0 and os.path.exists(os.path.join(tmp, 'whole.svg')) else p.returncode)

    p = run('--strict', '--offline', os.path.join(here, 'perf.data'), '-o', os.path.join(tmp, 's.folded'))
    check('--strict', None if p.returncode == 1 and b'--strict' in p.stderr and os.path.exists(os.path.join(tmp, 's.folded'))
          else (p.returncode, p.stderr))
    p = run('--offline', os.path.join(here, 'perf.data'), '-o', os.path.join(tmp, 's.folded'))
    check('without --strict', None if p.returncode == 0 and b'warning: ' in p.stderr else (p.returncode, p.stderr))

    for suffix in ('svg', 'html', 'folded', 'speedscope.json', 'perf.txt'):
        a, b = os.path.join(tmp, 'a.' + suffix), os.path.join(tmp, 'b.' + suffix)
        run('-q', '--offline', example, '-o', a)
        run('-q', '--offline', 'perf.data.kvm', '-o', b, cwd=os.path.dirname(example), env={'LC_ALL': 'tr_TR.UTF-8', 'TZ': 'Asia/Tokyo'})
        data = open(a, 'rb').read()
        check(f'the same {suffix} each time', None if len(data) > 1000 and data == open(b, 'rb').read() else 'they differ')
        check(f'no path of this machine in the {suffix}', None if tmp.encode() not in data and os.getcwd().encode() not in data else 'there is')
        run('-q', '--offline', '--anonymous', example, '-o', b)
        check(f'--anonymous {suffix}', None if b'kvm --host --guest record' not in open(b, 'rb').read() else 'the command is in it')

    if os.path.exists('/dev/full'):
        for args in (['--help'], ['--version'], ['diff', '--help'], ['doctor', '--help'], ['doctor']):
            with open('/dev/full', 'wb') as f:
                p = run(*args, stdout=f)
            check(f"{' '.join(args)} on a full disk", None if p.returncode == 1 and b'cannot write' in p.stderr else (p.returncode, p.stderr))
    p = subprocess.run(f'"{XENFLAME}" -q --offline "{example}" -o - --format=folded >&-', shell=True, capture_output=True, check=False)
    check('closed standard output', None if p.returncode == 1 and b'cannot write' in p.stderr else (p.returncode, p.stderr))
    closed = os.path.join(tmp, 'closed.folded')
    p = subprocess.run(f'"{XENFLAME}" --offline "{example}" -o "{closed}" <&- >&- 2>&-', shell=True, check=False)
    check('closed standard streams', None if p.returncode == 0 and b'xenflame: ' not in open(closed, 'rb').read() else p.returncode)
    os.mkdir(os.path.join(tmp, 'bare'))
    alone = os.path.join(tmp, 'bare', 'perf.data.kvm')
    shutil.copy(example, alone)
    for name, why in ((os.path.join(tmp, 'absent'), b'No such file'), (os.path.join(tmp, 'bare'), b'no hypervisor symbols')):
        p = run('--offline', f'--xen-syms={name}', alone, '-o', os.path.join(tmp, 'n.folded'))
        check(f'--xen-syms: {why.decode()}', None if name.encode() in p.stderr and why in p.stderr else p.stderr)
    p = run('--quiet=1', example)
    check('an option that takes no argument', None if p.returncode == 2 and b"'--quiet' takes no argument" in p.stderr else p.stderr)
    for verb in ('diff', 'doctor', 'report', 'render'):
        p = run(verb, '--bogus')
        check(f'{verb}: an unknown option', None if p.returncode == 2 and f"'xenflame {verb} --help'".encode() in p.stderr else p.stderr)
    one = os.path.join(tmp, 'one.folded')
    with open(one, 'w', encoding='ascii') as f:
        f.write('x;f_[h] 1\n')
    for name, said in (('text', rb'^Flame graph: samples, 1 sample\n'), ('svg', rb'<title>all \(1 sample, 100%\)')):
        p = run(one, f'--format={name}', '--fail-if=hv_depth_1>5%', '-o', '-')
        check(f'one sample, as {name}', None if re.search(said, p.stdout) and b' (1 of 1 sample), ' in p.stderr else (p.stdout[-300:], p.stderr))
    p = run(one, '--comm=y', '--format=text', '-o', '-')
    check('the only sample is filtered', None if p.returncode == 1 and b"its only sample does not pass the filters" in p.stderr else p.stderr)
    told = os.path.join(tmp, 'told.txt')
    with open(told, 'w', encoding='ascii') as f:
        f.write('# ========\n# hostname : box\n# os release : 6.1.2\n# nrcpus avail : 3\n#\n' + ''.join(
            f'x 1 [000] {t}.5: 1 cycles: \n\t 1 f (x)\n\n' for t in (10, 12)) + 'x 1 [000] 12.6: PERF_RECORD_LOST lost 7\n')
    line = b'kernel 6.1.2 \xc2\xb7 processors: 3 \xc2\xb7 2 s \xc2\xb7 lost samples: 7\n'
    for args, said in (([], b'box \xc2\xb7 ' + line), (['--anonymous'], line), (['--subtitle=mine'], b'mine\n'), (['--subtitle='], None),
                       ([told], b'2 recordings \xc2\xb7 lost samples: 14\n')):
        p = run('-q', told, *args, '--format=text', '-o', '-')
        lines = p.stdout.splitlines(True)
        check(f'the second line of the title: {args}', None if lines[1] == said or said is None and b'\xc2\xb7' not in p.stdout else p.stdout[:200])
    mixed = os.path.join(tmp, 'mixed.txt')
    with open(mixed, 'w', encoding='ascii') as f:
        f.write('qemu 7 [000] 1.5: 1 cycles: \n\tffffffff81000010 gf ([guest.kernel.kallsyms.7])\n\nx 1 [001] 1.6: 1 cycles: \n\t 400010 f (/x)\n\n')
    for form in ('folded', 'perf-script'):
        again = os.path.join(tmp, f'mixed.{form}')
        run('-q', mixed, f'--format={form}', '-o', again)
        for option, stack in (('--guest', b'[guest];gf 1\n'), ('--host', b'x;f 1\n')):
            for name in (mixed, again):
                equal(f'{option} of text, {os.path.basename(name)}', run('-q', option, name, '--format=folded', '-o', '-').stdout, stack)
    alike = os.path.join(tmp, 'alike.txt')
    for names in (('zz', 'aa', 'mm'), ('aa', 'mm', 'zz'), ('mm', 'zz', 'aa')):
        with open(alike, 'w', encoding='ascii') as f:
            f.write('a 1 1.5: 1 cycles:u: \n' + ''.join(f'\t          400010 [unknown] (/lib/{name}.so)\n' for name in names) + '\n')
        p = run(alike, '--format=folded', '-o', '-')
        check(f'modules that lack as many names are in order: {names}',
              None if b'user frames: aa.so 33.3 %, mm.so 33.3 %, zz.so 33.3 %)' in p.stderr else p.stderr)
    for word, near in (('dif', 'diff'), ('reprot', 'report'), ('rec', 'record'), ('doctr', 'doctor'), ('psuh', 'push')):
        p = run(word, 'a', 'b', '-o', os.path.join(tmp, 'n.svg'), cwd=here)
        check(f'{word}: the verb that is meant', None if p.returncode == 2 and f"did you mean 'xenflame {near}'".encode() in p.stderr else p.stderr)
    for args in (['stacks'], ['help', 'stacks']):
        p = run(*args, cwd=here)
        check(f"{' '.join(args)}: no verb is near", None if p.returncode == 2 and b"'xenflame help' lists the verbs" in p.stderr else p.stderr)
    shutil.copy(shallow, os.path.join(here, 'dif'))
    p = run('dif', '-q', '--format=folded', '-o', '-', cwd=here)
    equal('a file with such a name', (p.returncode, p.stdout), (0, b'x;f_[h] 5\nx;g 2\n'))
    p = run('dif.folded', cwd=here)
    check('a name of a file is no verb', None if p.returncode == 1 and b'No such file' in p.stderr else (p.returncode, p.stderr))
    for verb in (['diff', 'a'], ['report'], ['push', '--to=http://127.0.0.1:9'], ['bundle']):
        wrong = '--input-format=mud' if verb == ['bundle'] else '--pid=x'
        p = run(*verb, 'absent', wrong)
        check(f'{verb[0]}: a wrong value', None if p.returncode == 2 and wrong.encode() in p.stderr else (p.returncode, p.stderr))
    for wrong in ('--threads=1.5', '--threads=0', '--threads=17', '--width=100.5', '--height=1e2'):
        p = run(wrong, 'absent')
        check(f'{wrong} is no whole number in its range',
              None if p.returncode == 2 and f'{wrong}: expected a whole number from '.encode() in p.stderr else (p.returncode, p.stderr))
    for args in (['render', '-', '-'], ['diff', '-', '-'], ['diff', '-', shallow, '--', shallow, '-']):
        with open(shallow, 'rb') as f:
            p = subprocess.run([XENFLAME, args[0], '--format=folded', *args[1:]], stdin=f, capture_output=True, check=False)
        check(f"{args[0]} with {len(args) - 1} arguments: standard input is read once", None if p.returncode == 2 and b'once' in p.stderr else (p.returncode, p.stderr))
    master, slave = pty.openpty()
    p = run('-q', example, stdout=slave)
    check('no SVG on a terminal', None if p.returncode == 2 and b'terminal' in p.stderr else (p.returncode, p.stderr))
    os.close(slave)
    os.close(master)
    p = subprocess.run(f'"{XENFLAME}" -q --offline "{example}" -o - --format=folded | head -n 1', shell=True, capture_output=True, check=False)
    check('a reader that goes away', None if p.stdout.count(b'\n') == 1 and b'rror: ' not in p.stderr else p.stderr)
    domains()
    shutil.rmtree(tmp)
    tap.done()


if __name__ == '__main__':
    main()
