#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings written as perf script text, folded stacks or our other readable formats, and read again: the same stacks.

perf script text has a period for every sample, so both are compared by --weight=period; it has no escape, so names with control
characters, and lines that a reader must take for addresses without a name, are left out of the comparison and counted.
"""
import glob
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'tools'))
from tap import CORPUS, HOST, TOP, XENFLAME, done, ok  # noqa: E402


def convert(source, target, *options):
    run = subprocess.run([XENFLAME, '-q', '--offline', '--event=all', *options, source, '-o', target],
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=300)
    if run.returncode:
        raise RuntimeError(run.stderr.decode(errors='replace').strip())


def stacks(path):
    """Stack -> sum, those without comparable names apart."""
    known, other = {}, 0
    for line in open(path, 'rb').read().split(b'\n')[:-1]:
        stack, count = line.rsplit(b' ', 1)
        frames = stack.split(b';')
        if b'%0' in stack or b'%1' in stack or b'%7f' in stack or any(f.startswith((b'[unknown', b'[broken')) for f in frames):
            other += 1
        else:
            known[stack] = known.get(stack, 0) + int(count)
    return known, other


sources = [HOST]
for pattern in ('**/*.data', '**/*.data.kvm', 'local/variants/*.txt', 'public/*/*.txt'):
    sources += sorted(glob.glob(os.path.join(CORPUS, pattern), recursive=True))

with tempfile.TemporaryDirectory() as tmp:
    compared = 0
    for source in sources:
        name = os.path.relpath(source, TOP)
        first, text, second, third = (os.path.join(tmp, n) for n in ('1.folded', 'x.perf-script.txt', '2.folded', '3.folded'))
        try:
            convert(source, first, '--weight=period')
        except RuntimeError:
            continue        # recordings that hold nothing to draw have tests of their own
        known, other = stacks(first)
        try:
            convert(source, text, '--weight=period')
            convert(text, second, '--weight=period')
            # The event's name is the root of folded stacks that have no event of their own.
            again, other_again = stacks(second)
            if ok(again == known, f'{name}: {len(known)} stacks, {other} not compared'):
                compared += len(known)
            else:
                for k in [k for k in known if again.get(k) != known[k]][:3]:
                    print(f'# {k!r}: {known[k]}, read back {again.get(k)}')
                for k in [k for k in again if k not in known][:3]:
                    print(f'# read back only: {k!r}')
            convert(first, third)
            lines = open(third, 'rb').read().split(b'\n')
            ok(sorted(l.split(b';', 1)[1] if b';' in l else l for l in lines if l) == sorted(l for l in open(first, 'rb').read().split(b'\n') if l),
               f'{name}: folded stacks come back as they were')
        except (RuntimeError, subprocess.TimeoutExpired) as e:
            ok(False, f'{name}: {e}')
    ok(compared > 5000, f'{compared} stacks were compared')
done()
