#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Small recordings, damaged at every place (TAP).

usage: damage.py [--all] [PROGRAM] [CASE...]

Recordings are cut at every byte offset, and in others each 16-bit place is set to 0 and all ones,
each aligned 64-bit place to all ones and the largest signed number. xenflame must end by itself
with status 0 or 1, in bounded time and memory, and say one line that names the file when it draws
nothing. What it draws of a cut file is never more than the whole file holds. --all, and cases that
are named: both kinds of damage, also 1 as a value, for every case of the list.
"""

import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
import run as runner  # noqa: E402
from run import mkperf  # noqa: E402

CUT = ['bitmap-32', 'deferred']
WRONG = ['basic/pipe', 'deferred', 'fields-all']
ALL = ['attr-200', 'basic', 'basic/pipe', 'bitmap-32', 'comp1', 'deferred', 'fields-all', 'lbr',
       'read-group-times', 'skipped-kernel-records', 'skipped-user-records']
TIME_LIMIT = 10
# Address space that a run may take. The recordings are of one or two kilobytes.
MEMORY = 1 << 30
local = threading.local()


def uses_sanitizer(program):
    """A sanitizer maps terabytes: no limit then."""
    with open(program, 'rb') as f:
        return b'__asan_init' in f.read()


def one(program, data, whole, folder, cut):
    """What is wrong with a run over `data`, or None."""
    name = getattr(local, 'name', None)
    if not name:
        name = local.name = tempfile.mkdtemp(dir=folder)
    path = os.path.join(name, 'perf.data')
    with open(path, 'wb') as f:
        f.write(data)
    env = dict(os.environ, LC_ALL='C')
    try:
        done = subprocess.run([program, path, '-o', '-', '--format=folded'],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=TIME_LIMIT, env=env, check=False)
    except subprocess.TimeoutExpired:
        return 'no end after %d s' % TIME_LIMIT
    err = done.stderr.decode('utf-8', 'replace')
    if done.returncode < 0:
        return 'killed by %s' % signal.Signals(-done.returncode).name
    if 'Sanitizer' in err or 'runtime error:' in err:
        return 'a sanitizer complains: ' + err.split('\n')[0]
    if done.returncode not in (0, 1):
        return 'exit status %d: %s' % (done.returncode, err.split('\n')[0])
    try:
        got = runner.folded_text(done.stdout.decode('utf-8', 'replace'))
    except ValueError as e:
        return str(e)
    if done.returncode == 1 and 'perf.data' not in err:
        return 'status 1 without a line that names the file'
    if done.returncode == 0 and not got:
        return 'status 0 and nothing drawn'
    if cut and sum(got.values()) > sum(whole.values()):
        return 'more samples than the whole file holds'
    return None


def cuts(data):
    for size in range(len(data)):
        yield 'cut at %d' % size, data[:size], True


def patches(data, order, more):
    for at in range(0, len(data) - 1, 2):
        for value in (0, 1, 0xffff) if more else (0, 0xffff):
            new = struct.pack(order + 'H', value)
            if data[at:at + 2] != new:
                yield '16 bits at %d are %d' % (at, value), data[:at] + new + data[at + 2:], False
    for at in range(0, len(data) - 7, 8):
        for value in ((0, 1) if more else ()) + ((1 << 64) - 1, (1 << 63) - 1):
            new = struct.pack(order + 'Q', value)
            if data[at:at + 8] != new:
                yield '64 bits at %d are %#x' % (at, value), data[:at] + new + data[at + 8:], False


def main():
    names = [x for x in sys.argv[1:] if x != '--all']
    more = '--all' in sys.argv
    program = os.environ.get('XENFLAME')
    if names and os.path.isfile(names[0]):
        program = names.pop(0)
    if not program or not os.access(program, os.X_OK):
        print('Bail out! no xenflame: set XENFLAME or build it first')
        return 99
    program = os.path.abspath(program)
    if not uses_sanitizer(program):
        # inherited by every run
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    top = tempfile.mkdtemp(prefix='damage-')
    number = bad = 0
    try:
        more = more or bool(names)
        for name in names or (ALL if more else sorted(set(CUT + WRONG))):
            short, _, variant = name.partition('/')
            case = mkperf.Case(os.path.join(HERE, short + '.pd'))
            path = case.write(os.path.join(top, short, variant or 'plain'), variant)
            with open(path, 'rb') as f:
                data = f.read()
            order = '>' if data[:8] == b'2ELIFREP' else '<'
            done = subprocess.run([program, path, '-o', '-', '--format=folded'],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, timeout=TIME_LIMIT, check=False)
            whole = runner.folded_text(done.stdout.decode('utf-8', 'replace'))
            kinds = []
            if more or name in CUT:
                kinds.append(('cut anywhere', cuts(data)))
            if more or name in WRONG:
                kinds.append(('wrong anywhere', patches(data, order, more)))
            for what, work in kinds:
                wrong = []
                count = 0
                with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
                    jobs = [(text, pool.submit(one, program, piece, whole, top, cut))
                            for text, piece, cut in work]
                    for text, job in jobs:
                        count += 1
                        if job.result():
                            wrong.append('%s: %s' % (text, job.result()))
                number += 1
                good = not wrong and bool(whole)
                print('%sok %d - %s, %s: %d files' % ('' if good else 'not ', number, name, what,
                                                      count))
                if not whole:
                    print('#   nothing drawn of the whole file')
                for line in wrong[:20]:
                    print('#   ' + line)
                bad += not good
                sys.stdout.flush()
    finally:
        shutil.rmtree(top, ignore_errors=True)
    print('1..%d' % number)
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
