#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Libraries that are loaded when they are used: a run that needs none opens none; one that cannot be loaded is told by name.

The oracle is the loader itself: in a folder that it searches first lie files of these names that are no libraries.  TAP.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tools'))
from tap import BUILD, TOP, XENFLAME, check, done, skip_all  # noqa: E402

config = os.path.join(BUILD, 'config.h')

PICTURE = '''<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg">
<g><title>all (3 samples, 100%)</title><rect x="10" y="30" width="90" height="15"/></g>
<g><title>main (3 samples, 100%)</title><rect x="10" y="14" width="90" height="15"/></g></svg>
'''


def macros():
    with open(config, encoding='utf-8') as f:
        return dict(re.findall(r'^#define (\w+) (.*)$', f.read(), re.M))


have = macros()
sonames = {name: have.get(f'SONAME_{name}', '').strip('"') for name in ('CAIRO', 'LIBXML2', 'LIBCURL', 'DEBUGINFOD')}
sonames = {name: soname for name, soname in sonames.items() if soname}
if 'LATE_LIBRARIES' not in have or not sonames:
    skip_all('this build loads no library later')
tmp = tempfile.mkdtemp(prefix='xenflame-libraries-')
bogus = os.path.join(tmp, 'bogus')
os.mkdir(bogus)
for soname in sonames.values():
    with open(os.path.join(bogus, soname), 'w', encoding='utf-8') as f:
        f.write('this is no library\n')
folded = os.path.join(tmp, 'a.folded')
picture = os.path.join(tmp, 'a.svg')
for name, text in ((folded, 'a;b 1\na;c 2\n'), (picture, PICTURE)):
    with open(name, 'w', encoding='utf-8') as f:
        f.write(text)


def run(*args, found=False, **env):
    clean = {k: v for k, v in os.environ.items() if k not in ('DEBUGINFOD_URLS', 'LD_LIBRARY_PATH')}
    if not found:
        clean['LD_LIBRARY_PATH'] = bogus
    return subprocess.run([XENFLAME, *args], capture_output=True, text=True, timeout=120, env={**clean, **env})


def said(p):
    return f'exit {p.returncode}\n{p.stdout[:400]}\n{p.stderr[:2000]}'


# What needs none of them.
corpus = os.path.join(TOP, 'tests', 'data', 'corpus', 'local')
p = run('--version')
check('--version opens none of them', p.returncode == 0 and not p.stderr, said(p))
p = run(folded, '-o', '-', '--format=folded')
check('folded stacks as input and output: none', (p.returncode, p.stdout) == (0, 'a;b 1\na;c 2\n'), said(p))
for suffix in ('svg', 'html', 'json', 'pb.gz'):
    out = os.path.join(tmp, f'out.{suffix}')
    p = run(folded, '-o', out)
    check(f'{suffix} as output: none', p.returncode == 0 and not p.stderr and os.path.getsize(out) > 0, said(p))
for name in ('fp', 'dwarf_small'):
    args = (os.path.join(corpus, name, 'perf.data'), '--format=folded', '-o', '-')
    p, q = run(*args), run(*args, found=True)
    check(f'the recording {name}: none', p.returncode == q.returncode == 0 and p.stdout and (p.stdout, p.stderr) == (q.stdout, q.stderr), said(p))

# What needs one.
NEEDS = {
    'CAIRO': [('PNG', (folded, '-o', os.path.join(tmp, 'out.png'))), ('PDF', (folded, '-o', os.path.join(tmp, 'out.pdf')))],
    'LIBXML2': [('an SVG of another program', (picture, '--format=folded', '-o', '-'))],
    'LIBCURL': [('push', ('push', folded, '--to=http://127.0.0.1:9'))],
}
for name, uses in NEEDS.items():
    for what, args in uses if name in sonames else ():
        p = run(*args)
        lines = p.stderr.splitlines()
        lines = [line for line in lines if not line.startswith('xenflame: note: ')]
        check(f'{what}: exit 1, one line that names the library',
              p.returncode == 1 and len(lines) == 1 and lines[0].startswith('xenflame: ') and sonames[name] in lines[0] and 'needs' in lines[0], said(p))
        left = [f for f in os.listdir(tmp) if f.endswith(('.png', '.pdf'))]
        check(f'{what}: nothing is left behind', not left, left)
if 'DEBUGINFOD' in sonames:
    args = (os.path.join(corpus, 'stripped', 'perf.data'), '--debuginfod', '--format=folded', '-o', '-')
    p = run(*args)
    lines = [line for line in p.stderr.splitlines() if sonames['DEBUGINFOD'] in line]
    check('debuginfod: told once, and a graph without it', p.returncode == 0 and p.stdout and len(lines) == 1, said(p))
    p = run('--strict', *args)
    check('debuginfod: an error with --strict', p.returncode == 1 and sonames['DEBUGINFOD'] in p.stderr, said(p))

# The same with the libraries that are there.
if 'CAIRO' in sonames:
    out = os.path.join(tmp, 'out.png')
    p = run(folded, '-o', out, found=True)
    check('PNG with the library there', p.returncode == 0 and open(out, 'rb').read(4) == b'\x89PNG', said(p))
if 'LIBXML2' in sonames:
    p = run(picture, '--format=folded', '-o', '-', found=True)
    check('an SVG of another program with the library there', p.returncode == 0 and p.stdout == 'main 3\n', said(p))
shutil.rmtree(tmp)
done()
