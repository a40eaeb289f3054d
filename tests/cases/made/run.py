#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Run xenflame over recordings that tests/tools/mkperf.py makes from the *.pd files here (TAP).

usage: run.py [--with-perf] [--no-variants] [--keep DIR] [-v] [PROGRAM] [CASE...]

PROGRAM is the xenflame to test (default: $XENFLAME, then xenflame of the build folder). CASE is a
name like `basic` or a path; without one all cases run. A case that says nothing about its own
container is also run as big-endian, pipe and zstd-compressed recording: the answer is the same.
--with-perf also compares what `perf script` makes of the file with the expected stacks, which
checks the description and the writer, not xenflame; without a PROGRAM only that is done.
--without=zstd skips cases that need an optional ability of the program.
"""

import fnmatch
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', '..', 'tools'))
sys.dont_write_bytecode = True
import mkperf  # noqa: E402

TIME_LIMIT = 20
VARIANTS = ('', 'big', 'pipe', 'pipe-big', 'zstd')


def folded_text(text):
    """Folded lines as a Counter; raises ValueError for a line that is none."""
    out = Counter()
    for line in text.split('\n'):
        if not line:
            continue
        m = re.match(r'(.*) (\d+)$', line)
        if not m:
            raise ValueError('no folded line: %r' % line)
        out[m.group(1)] += int(m.group(2))
    return out


def pattern(stack):
    """A regular expression for a stack with {any} and {some}."""
    out = ''
    for frame in stack.split(';'):
        if frame == '{some}':
            out += '(?:;[^;]+)*'
        elif frame == '{any}':
            out += ';[^;]+'
        else:
            out += ';' + re.escape(frame).replace(r'\{any\}', '[^;]+')
    return re.compile(out + '$')


def compare(case, got):
    """What is wrong with the folded stacks, as lines."""
    wrong = []
    left = Counter(got)
    want = Counter()
    wild = Counter()
    for stack, count in case.expect:
        (wild if '{' in stack else want)[stack] += count
    for stack, count in want.items():
        have = left.pop(stack, 0)
        if have != count:
            wrong.append('%s: expected %d, got %d' % (stack, count, have))
    for stack, count in wild.items():
        rule = pattern(stack)
        have = 0
        for other in list(left):
            if rule.match(';' + other):
                have += left.pop(other)
        if have != count:
            wrong.append('%s: expected %d, got %d' % (stack, count, have))
    rules = [pattern(x) for x in case.allow]
    for stack, count in left.items():
        if not any(rule.match(';' + stack) for rule in rules):
            wrong.append('%s: expected 0, got %d' % (stack, count))
    return wrong


def holds(words, line):
    line = line.lower()
    return all(word.lower() in line for word in words)


def run_program(program, case, path, folder):
    args = [x.replace('{dir}', folder).replace('{file}', path) for x in case.args]
    source = subprocess.DEVNULL
    name = path
    if case.stdin:
        source = open(path, 'rb')
        name = '-'
    command = [program, name, '-o', '-', '--format=folded'] + args
    env = dict(os.environ, LC_ALL='C', XENFLAME_TEST='1')
    try:
        done = subprocess.run(command, stdin=source, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=TIME_LIMIT, env=env, check=False)
    except subprocess.TimeoutExpired:
        return ['no end after %d s' % TIME_LIMIT], ''
    finally:
        if case.stdin:
            source.close()
    out = done.stdout.decode('utf-8', 'replace')
    err = done.stderr.decode('utf-8', 'replace')
    wrong = []
    if done.returncode < 0:
        return ['killed by %s' % signal.Signals(-done.returncode).name], err
    if 'Sanitizer' in err or 'runtime error:' in err:
        wrong.append('a sanitizer complains')
    if done.returncode != case.exit:
        wrong.append('exit status %d, expected %d' % (done.returncode, case.exit))
    try:
        wrong += compare(case, folded_text(out))
    except ValueError as e:
        wrong.append(str(e))
    for words in case.diag:
        if not any(holds(words, line) for line in err.split('\n')):
            wrong.append('standard error has no line with: %s' % ' '.join(words))
    for words in case.nodiag:
        if any(holds(words, line) for line in err.split('\n')):
            wrong.append('standard error has a line with: %s' % ' '.join(words))
    return wrong, err


def perf_can(case, variant):
    words = case.perf.split()
    skip = words[words.index('except') + 1:] if 'except' in words else []
    return words[0] == 'same' and variant not in skip


def perf_folded(case, path, folder):
    """Folded stacks from `perf script`: an oracle that shares no code with us.

    perf 6.1 prints user addresses of chains relative to the file, as we do."""
    command = ['perf', 'script', '-i', path, '--no-inline', '-F', 'comm,tid,event,ip,sym,dso']
    if any(name == 'kallsyms' for name, _ in case.files):
        command += ['--kallsyms', os.path.join(folder, 'kallsyms')]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=60, check=False)
    words = case.perf.split(' except ')[0].split()
    event = words[1] if len(words) > 1 else None
    out = Counter()
    stack = None
    head = None
    for line in done.stdout.decode('utf-8', 'replace').split('\n') + ['']:
        m = re.match(r'\t?\s+([0-9a-f]+) (.*) \((.*)\)$', line)
        if m and head is not None:
            address, symbol, dso = m.groups()
            if symbol != '[unknown]':
                frame = symbol
            elif dso == '[unknown]':
                frame = '[broken stack]'
            else:
                frame = '[%s+0x%s]' % (os.path.basename(dso), address.lstrip('0') or '0')
            if not (frame == '[broken stack]' and stack and stack[-1] == frame):
                stack.append(frame)
            continue
        if head is not None:
            if event is None or head[1] == event:
                out[';'.join([head[0]] + stack[::-1])] += 1
            head = None
        m = re.match(r'\s*(\S.*?)\s+(-?\d+)\s+(\S+?):\s*$', line)
        if m:
            head = (m.group(1), m.group(3))
            stack = []
    return out, done.stderr.decode('utf-8', 'replace')


def main():
    options = {'perf': False, 'variants': True, 'keep': None, 'verbose': False}
    without = set()
    names = []
    argv = sys.argv[1:]
    while argv:
        arg = argv.pop(0)
        if arg == '--with-perf':
            options['perf'] = True
        elif arg == '--no-variants':
            options['variants'] = False
        elif arg == '--keep':
            options['keep'] = argv.pop(0)
        elif arg.startswith('--without='):
            without.update(arg.split('=', 1)[1].split(','))
        elif arg == '-v':
            options['verbose'] = True
        elif arg in ('-h', '--help'):
            print(__doc__)
            return 0
        else:
            names.append(arg)
    program = os.environ.get('XENFLAME')
    if names and os.path.isfile(names[0]) and not names[0].endswith('.pd'):
        program = names.pop(0)
    if not program:
        for place in (os.environ.get('top_builddir', '.'), os.path.join(HERE, '..', '..', '..')):
            if os.access(os.path.join(place, 'xenflame'), os.X_OK):
                program = os.path.join(place, 'xenflame')
                break
    if program:
        program = os.path.abspath(program)
        if not os.access(program, os.X_OK):
            print('Bail out! %s is no program' % program)
            return 99
    elif not options['perf']:
        print('Bail out! no xenflame: set XENFLAME or build it first')
        return 99
    if options['perf'] and not shutil.which('perf'):
        print('# no perf here: the writer is not compared with it')
        options['perf'] = False

    all_names = sorted(x for x in os.listdir(HERE) if x.endswith('.pd'))
    wanted = []
    for name in all_names:
        short = name[:-3]
        if not names or any(fnmatch.fnmatch(short, os.path.basename(n).removesuffix('.pd'))
                            for n in names):
            wanted.append(os.path.join(HERE, name))
    if not wanted:
        print('Bail out! no such case')
        return 99
    top = options['keep'] or tempfile.mkdtemp(prefix='made-')
    number = bad = 0

    def report(good, what, lines=(), skip=None):
        nonlocal number, bad
        number += 1
        if skip:
            print('ok %d - %s # SKIP %s' % (number, what, skip))
            return
        print('%sok %d - %s' % ('' if good else 'not ', number, what))
        if not good:
            bad += 1
        for line in lines:
            print('#   ' + line)
        sys.stdout.flush()

    try:
        for path in wanted:
            case = mkperf.Case(path)
            for variant in VARIANTS:
                if variant and not (options['variants'] and case.has_variants()):
                    continue
                what = '%s%s: %s' % (case.name, '/' + variant if variant else '', case.title)
                needs = set(case.needs) | ({'zstd'} if variant == 'zstd' else set())
                folder = os.path.join(top, case.name, variant or 'plain')
                try:
                    file = case.write(folder, variant)
                except mkperf.Missing as e:
                    report(True, what, skip=str(e))
                    continue
                if program and needs & without:
                    report(True, what, skip='the program is built without it')
                elif program:
                    wrong, err = run_program(program, case, file, folder)
                    lines = list(wrong)
                    if wrong or options['verbose']:
                        lines += ['stderr: ' + x for x in err.split('\n')[:12] if x]
                    report(not wrong, what, lines)
                if options['perf'] and perf_can(case, variant):
                    got, err = perf_folded(case, file, folder)
                    wrong = compare(case, got)
                    lines = list(wrong)
                    if wrong:
                        lines += ['perf: ' + x for x in err.split('\n')[:12] if x]
                    report(not wrong, 'perf agrees on ' + what, lines)
    finally:
        if not options['keep']:
            shutil.rmtree(top, ignore_errors=True)
    print('1..%d' % number)
    if bad:
        print('# %d of %d failed' % (bad, number))
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
