#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the seeds of d3, firefox, json, pprof and speedscope: a few stacks, written by our own writers, and small files as others write them.

usage: XENFLAME=… seeds-stacks.py OUTDIR"""
import gzip
import json
import os
import subprocess
import sys
import tempfile

out = sys.argv[1]
FOLDED = 'app;main;f%3bg 3\napp;main;read;ksys_read_[k];do_mmu_update_[h] 2\nother;[lib.so+0x10] 1\n'
DIFF = 'app;main 3 4\napp;f 2 0\n'
TEXT = '\n'.join(f'app {100 + i}/{100 + i} [00{i}] {i}.5: {10 + i} cycles: \n\t401000 main+0x1 (/usr/bin/app)\n\t401100 start+0x2 (/usr/bin/app)\n' for i in range(3)) + '\n'


def put(fmt, name, data):
    os.makedirs(os.path.join(out, fmt), exist_ok=True)
    with open(os.path.join(out, fmt, name), 'wb') as f:
        f.write(data if isinstance(data, bytes) else json.dumps(data).encode())


def write(fmt, text, *options):
    with tempfile.NamedTemporaryFile('w', suffix='.txt') as f:
        f.write(text)
        f.flush()
        return subprocess.run([os.environ.get('XENFLAME', 'xenflame'), '-q', '--offline', f.name, f'--format={fmt}', *options], check=True, stdout=subprocess.PIPE).stdout


for name, text in (('folded', FOLDED), ('text', TEXT)):
    for fmt in ('d3', 'firefox', 'json', 'speedscope', 'pprof'):
        data = write(fmt, text, '--event=all', '--annotate=all')
        put(fmt, name, gzip.decompress(data) if fmt == 'pprof' else data)
put('json', 'diff', write('json', DIFF))
put('speedscope', 'time', write('speedscope-time', TEXT))
put('speedscope', 'evented', {'shared': {'frames': [{'name': 'a', 'file': 'a.c', 'line': 3}, {'name': 'b'}]}, 'profiles': [
    {'type': 'evented', 'name': 't', 'unit': 'ms', 'startValue': 0, 'endValue': 5, 'events': [
        {'type': 'O', 'frame': 0, 'at': 0.5}, {'type': 'O', 'frame': 1, 'at': 1}, {'type': 'C', 'frame': 1, 'at': 2.25}, {'type': 'C', 'frame': 0, 'at': 5}]}]})
put('d3', 'decimals', {'name': 'r', 'value': 2.5, 'children': [{'name': 'a', 'value': 1.25, 'children': [{'name': 'k', 'value': 1, 'libtype': 'kernel'}]}]})
tables = {'stackTable': {'frame': [0, 1, 0], 'prefix': [None, 0, 1]}, 'frameTable': {'func': [0, 1], 'line': [3, None], 'category': [0, 1], 'subcategory': [0, 0], 'inlineDepth': [0, 1]},
          'funcTable': {'name': [0, 1], 'resource': [0, -1], 'fileName': [2, None]}, 'resourceTable': {'lib': [0], 'name': [3]}}
thread = {'name': 'worker', 'processName': 'prog', 'samples': {'stack': [2, None, 1], 'weight': [1, 2.5, 3], 'weightType': 'tracing-ms'}}
meta = {'preprocessedProfileVersion': 40, 'categories': [{'name': 'User', 'subcategories': ['Other', 'JIT']}, {'name': 'Guest', 'subcategories': ['Other', 'Kernel', 'User']}]}
strings = ['main', '0x1f40', 'a.c', 'libc.so.6']
put('firefox', 'version-40', {'meta': meta, 'threads': [dict(thread, libs=[{'name': 'libc.so.6', 'path': ''}], stringTable=strings, **tables)] * 2})
put('firefox', 'version-60', {'meta': dict(meta, preprocessedProfileVersion=60), 'libs': [{'name': 'libc.so.6', 'path': '/lib/libc.so.6'}], 'threads': [thread, dict(thread, name='prog')],
                              'shared': dict(tables, stringArray=strings, sources={'filename': [2]}, funcTable={'name': [0, 1], 'resource': [0, -1], 'source': [0, None]})})
