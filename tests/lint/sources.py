#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules on the sources: who includes whom, which library is used where, licences, words. TAP."""
import os
import re
import subprocess
import sys

top = os.environ.get('abs_top_srcdir', os.path.join(os.path.dirname(__file__), '..', '..'))
os.chdir(top)

KNOWS = {
    'base': set(),
    'perf': {'base'},
    'symbolize': {'base'},
    'profile': {'base'},
    'render': {'base', 'profile'},
    'host': {'base', 'symbolize'},
    'cli': {'base', 'perf', 'symbolize', 'profile', 'render', 'host'},
}
# system header -> stages that may use it
LIBRARIES = {
    r'elfutils/|libelf|gelf|dwarf\.h|libiberty|elf\.h': {'symbolize'},
    r'cairo': {'render'},
    r'jansson': {'render', 'host', 'perf'},
    r'libxml/': {'render', 'perf'},
    r'curl/': {'host'},
}
PUBLIC = {s: {f'{s}/{s}.h'} for s in KNOWS}
PUBLIC['base'] = {'base/base.h', 'base/banned.h'}

nr = failed = 0


def check(what, problems):
    global nr, failed
    nr += 1
    print(f"{'not ' if problems else ''}ok {nr} - {what}")
    for p in problems[:20]:
        print(f'# {p}')
    failed += bool(problems)


def sources(stage):
    for name in sorted(os.listdir(stage)):
        if name.endswith(('.c', '.h')):
            path = f'{stage}/{name}'
            with open(path, encoding='utf-8') as f:
                yield path, f.read().split('\n')


for stage, known in KNOWS.items():
    bad = []
    for path, lines in sources(stage):
        for i, line in enumerate(lines, 1):
            m = re.match(r'#\s*include\s+"([^"]+)"', line)
            if m:
                inc = m.group(1)
                other = inc.split('/')[0] if '/' in inc else None
                if inc == 'config.h' or other == stage:
                    continue
                if other not in known:
                    bad.append(f'{path}:{i}: {stage}/ must not know {inc}')
                elif inc not in PUBLIC[other]:
                    bad.append(f'{path}:{i}: {inc} is private to {other}/')
            m = re.match(r'#\s*include\s+<([^>]+)>', line)
            if m:
                for rx, who in LIBRARIES.items():
                    if re.search(rx, m.group(1)) and stage not in who:
                        bad.append(f'{path}:{i}: <{m.group(1)}> belongs to {", ".join(sorted(who))}')
    check(f'includes of {stage}/', bad)

try:
    tracked = subprocess.run(['git', 'ls-files', '-z'], capture_output=True, check=True).stdout.decode().split('\0')
except (OSError, subprocess.CalledProcessError):
    tracked = [os.path.join(d, f)[2:] for d, ds, fs in os.walk('.') for f in fs if '/build' not in d and '/.git' not in d
               and 'node_modules' not in d]
tracked = [f for f in tracked if f and os.path.isfile(f)]
code = [f for f in tracked if re.search(r'\.(c|h|js|py|sh|pl|m4|am|ac)$|^quickstart$|^\.ci/run$', f)
        and not f.startswith(('tests/data/', 'xen/patches', 'linux/patches', 'tests/fuzz/corpus'))]

bad = []
for f in code:
    with open(f, encoding='utf-8') as fd:
        head = fd.read(300)
    if 'SPDX-License-Identifier:' not in head:
        bad.append(f'{f}: no SPDX line at the top')
check('every source names its licence', bad)

bad = []
for f in code:
    with open(f, encoding='utf-8') as fd:
        for i, line in enumerate(fd, 1):
            line = line.rstrip('\n')
            if line != line.rstrip():
                bad.append(f'{f}:{i}: white space at the end')
            if f.endswith(('.c', '.h')) and f.split('/')[0] in KNOWS and len(line.expandtabs(8)) > 100:
                bad.append(f'{f}:{i}: {len(line.expandtabs(8))} columns')
check('lines', bad)

words = re.compile(r'\b(TO' + r'DO|FIX' + r'ME|HACK|not implemented)\b')
bad = []
for f in code:
    if f.startswith('tests/lint/'):
        continue
    with open(f, encoding='utf-8') as fd:
        for i, line in enumerate(fd, 1):
            if words.search(line):
                bad.append(f'{f}:{i}: {line.strip()}')
check('nothing says that it is unfinished', bad)

for f in ('perf', 'symbolize', 'profile', 'render', 'host'):
    if not os.path.isdir(f):
        continue
bad = []
for stage in ('base', 'perf', 'symbolize', 'profile', 'render'):
    for path, lines in sources(stage):
        for i, line in enumerate(lines, 1):
            if re.search(r'\b(printf|puts|perror|exit|_exit|err|warn)\s*\(', line) and not re.search(r'[a-z_](printf|puts|exit|err|warn)\s*\(', line):
                bad.append(f'{path}:{i}: only cli/ prints and exits: {line.strip()}')
check('only cli/ prints and exits', bad)

print(f'1..{nr}')
sys.exit(1 if failed else 0)
