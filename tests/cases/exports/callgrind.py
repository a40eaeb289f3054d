#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Callgrind files, read by Valgrind's callgrind_annotate: what each function costs itself and with what it calls."""
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'tools'))
from tap import FIXTURE, done, ok, skip_all  # noqa: E402

annotate = shutil.which('callgrind_annotate')

if not annotate:
    skip_all('no callgrind_annotate (valgrind)')


def expected(what):
    """Function -> sums of its own and with what it calls, by event; and the functions that recur."""
    own, below, recursive = collections.defaultdict(lambda: [0, 0]), collections.defaultdict(lambda: [0, 0]), set()
    total = [0, 0]
    for line in subprocess.run([FIXTURE, 'expect', what], stdout=subprocess.PIPE, check=True).stdout.decode().splitlines():
        event, weight, _, frames = line.split('\t')
        column = ['cycles', 'faults'].index(event)
        frames = [bytes.fromhex(f).decode(errors='replace') for f in frames.split(',')]
        own[frames[-1]][column] += int(weight)
        total[column] += int(weight)
        for f in set(frames):
            below[f][column] += int(weight)
            if frames.count(f) > 1:
                recursive.add(f)
    return own, below, recursive, total


def read(path, inclusive):
    run = subprocess.run([annotate, '--auto=no', '--threshold=100', f'--inclusive={inclusive}', path], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, env={**os.environ, 'LC_ALL': 'C'})
    found, total = {}, None
    for line in run.stdout.decode(errors='replace').splitlines():
        m = re.match(r'^ *([\d,]+) \( *[\d.]+%\) +([\d,]+)(?: \( *[\d.]+%\))? +(.*)$', line) or re.match(
            r'^ *([\d,]+) +([\d,]+)(?: \( *[\d.]+%\))? +(.*)$', line)
        if not m:
            continue
        costs = [int(m.group(1).replace(',', '')), int(m.group(2).replace(',', ''))]
        if m.group(3) == 'PROGRAM TOTALS':
            total = costs
        else:
            name = m.group(3).split(':', 1)[1]
            name = re.sub(r' \[(?:[^][]|\[[^]]*\])*\]$', '', name)
            found[name] = [a + b for a, b in zip(found.get(name, [0, 0]), costs)]
    return found, total, run.stderr.decode()


with tempfile.TemporaryDirectory() as tmp:
    for what in ('plain', 'big', 'hostile'):
        path = os.path.join(tmp, f'{what}.callgrind')
        with open(path, 'wb') as f:
            subprocess.run([FIXTURE, 'callgrind', what], stdout=f, check=True)
        own, below, recursive, total = expected(what)
        found, sums, err = read(path, 'no')
        ok(sums == total, f'{what}: totals', (sums, total))
        if what == 'hostile':
            # The tool itself cuts such names at what it takes for its own: costs are compared.
            ok(sorted(c for c in found.values() if any(c)) == sorted(own.values()), f'{what}: costs of {len(own)} functions', err)
            continue
        ok({k: v for k, v in found.items() if any(v)} == own, f'{what}: own costs of {len(own)} functions', (found, dict(own)))
        found, sums, err = read(path, 'yes')
        plain = {k: v for k, v in below.items() if k not in recursive}
        ok(len(plain) > 5 and {k: found.get(k) for k in plain} == plain, f'{what}: {len(plain)} functions with what they call', (found, plain))
        ok(not err.strip(), f'{what}: nothing is complained about', err)
done()
