#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""report: its numbers against ones counted here from perf script's text and from folded stacks. TAP."""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tree as t  # noqa: E402

nr = failed = 0
tmp = tempfile.TemporaryDirectory()


def check(what, ok, detail=''):
    global nr, failed
    nr += 1
    print(f"{'ok' if ok else 'not ok'} {nr} - {what}")
    if not ok:
        failed += 1
        for line in str(detail).split('\n')[:12]:
            print(f'# {line[:300]}')


def xenflame(*args):
    r = subprocess.run([os.environ['XENFLAME'], *args], capture_output=True, check=False)
    return r.returncode, r.stdout.decode(), r.stderr.decode()


def report(path, *args):
    rc, out, err = xenflame('report', '--offline', '--json', path, *args)
    return json.loads(out) if rc == 0 else {'err': err}


# Stock Xen: which hypercall, from the text that perf script prints.
text = t.corpus('xen-stock/novpmu.perf-script.txt')
path = os.path.join(tmp.name, 'novpmu.txt')
with open(path, 'w', encoding='utf-8', errors='surrogateescape') as f:
    f.write(text)
callers, samples = collections.Counter(), 0
for block in text.split('\n\n'):
    frames = re.findall(r'^\t *[0-9a-f]+ (\S+?)(?:\+0x[0-9a-f]+)? \(', block, re.M)
    samples += bool(frames)
    if len(frames) > 1 and frames[0] == 'xen_hypercall_pv':
        callers[frames[1]] += 1
j = report(path)
got = {h['caller']: h['weight'] for h in j['hypercalls']}
check('hypercalls by caller', got == callers and samples == j['total'], f'{got}\n{callers}')
check('the figures of the recording', got == {'xen_safe_halt': 846, 'xen_force_evtchn_callback': 280, 'xensyms_next_sym': 258,
                                              '__xen_set_pte': 24}, got)
check('their names', {h['caller']: h['name'] for h in j['hypercalls']} == {
    'xen_safe_halt': 'sched_op', 'xen_force_evtchn_callback': 'xen_version', 'xensyms_next_sym': 'platform_op',
    '__xen_set_pte': 'mmu_update'}, j['hypercalls'])
check('idle is split from work', (j['idle'], [h['caller'] for h in j['hypercalls'] if h['idle']]) == (846, ['xen_safe_halt']), j['idle'])
check('--no-idle leaves the work', report(path, '--no-idle')['total'] == samples - 846)

# A host with hypervisor frames: every list against the folded stacks.
host = os.path.join(os.environ['abs_top_srcdir'], 'examples/xen-host/perf.data.kvm')
j = report(host)
rc, folded, err = xenflame('--offline', host, '--format=folded')
processes, self_, hypervisor, total = collections.Counter(), collections.Counter(), 0, 0
inclusive = collections.Counter()
for line in folded.splitlines():
    stack, n = line.rsplit(' ', 1)
    frames = stack.split(';')
    total += int(n)
    processes[frames[0]] += int(n)
    self_[frames[-1]] += int(n)
    for name in set(frames[1:]):
        inclusive[name] += int(n)
    hypervisor += int(n) * frames[-1].endswith('_[h]')
check('total', j['total'] == total)
check('processes', {p['name']: p['weight'] for p in j['processes']} == processes, j['processes'])
spaces = {s['name']: s['weight'] for s in j['spaces']}
check('spaces', spaces['hypervisor'] == hypervisor and sum(spaces.values()) == total, spaces)
got, got_total = collections.Counter(), collections.Counter()
for f in j['functions']:
    name = f['function'] + ('_[h]' if f['space'] == 'hypervisor' else '')
    got[name] += f['self']
    got_total[name] += f['total']
check('self of each function', +got == +self_, [(n, got[n], self_[n]) for n in self_ if got[n] != self_[n]])
ones = collections.Counter(f['function'] for f in j['functions'])
wrong = [(n, got_total[n], inclusive[n]) for n in inclusive if got_total[n] != inclusive[n] and ones[n.removesuffix('_[h]')] == 1]
check('total of each function', not wrong, wrong)
order = [f['self'] for f in j['functions']]
check('the hottest first', order == sorted(order, reverse=True))
check('hypervisor by entry adds up', sum(e['weight'] for e in j['hypervisor_entries']) == hypervisor)
entries = {e['name']: e['weight'] for e in j['hypervisor_entries']}
multicall = sum(int(line.rsplit(' ', 1)[1]) for line in folded.splitlines()
                if re.search(r'(?<!_\[h\]);(?:(?:lstar_enter|pv_hypercall|_pv_hypercall)_\[h\];)+do_multicall_\[h\](?:;[^;]*_\[h\])*( \d+)$', line))
check('do_multicall', entries['do_multicall'] == multicall > 0, (entries['do_multicall'], multicall))
check('hypercalls are named by Xen where it tells', {h['name'] for h in j['hypercalls']} >= {'multicall', 'mmu_update', 'xen_version'},
      j['hypercalls'])
check('the hottest stack', max(int(x.rsplit(' ', 1)[1]) for x in folded.splitlines()) <= j['stacks'][0]['self'], j['stacks'][0])
check('quality is in', [q['name'] for q in j['quality']] == ['broken_stack', 'unresolved_user'] and
      all({'text', 'count', 'strict'} <= set(q) for q in j['quality']), j['quality'])

rc, text, err = xenflame('report', '--offline', host)
check('text', rc == 0 and all(x in text for x in ('Quality', 'warning: ', 'By process', 'Hypercalls', 'hypervisor', 'do_multicall')), text)
rc, md, err = xenflame('report', '--offline', '--markdown', '--anonymous', host)
tables = re.findall(r'(?:^\|.*\n)+', md, re.M)
check('Markdown: tables of one width', len(tables) == 6 and all(len({len(re.findall(r'(?<!\\)\|', row)) for row in x.splitlines()}) == 1
                                                                for x in tables), md)
check('--anonymous', 'host:' not in md and 'command:' not in md and 'kernel:' in md)
evil = os.path.join(tmp.name, 'evil.folded')
with open(evil, 'wb') as f:
    f.write('a|b`c;\x1b[31mred\u202e\xff;x 5\n'.encode())
for style in ('--markdown', '--top=3'):
    rc, out, err = xenflame('report', style, evil)
    check(f'names do no harm: {style}', rc == 0 and '\x1b' not in out and '\u202e' not in out and 'red' in out, out)
check('and the same in JSON', report(evil)['stacks'][0]['frames'][1]['function'].startswith('\x1b[31mred'))
check('twice the same', xenflame('report', host) == xenflame('report', host))
check('--strict', xenflame('report', '--offline', '--strict', host)[0] == 1)

# --fail-if, against shares counted from what JSON tells of the same recordings.
src = os.environ['abs_top_srcdir']
made = os.path.join(tmp.name, 'made')
os.mkdir(made)
subprocess.run([sys.executable, os.path.join(src, 'tests/tools/mkperf.py'), os.path.join(src, 'tests/cases/made/lost.pd'), made],
               check=True, stdout=subprocess.DEVNULL)
lost, alone = os.path.join(made, 'perf.data'), os.path.join(tmp.name, 'alone.data')
shutil.copy(host, alone)
plain = os.path.join(t.CORPUS, 'local/fp/perf.data')
for where, name, whole in ((alone, 'unresolved_hypervisor', None), (host, 'unresolved_user', None), (plain, 'unresolved_kernel', None),
                           (plain, 'broken_stack', 'samples'), (lost, 'lost', 'taken')):
    j = report(where)
    q = [e for e in j.get('quality', []) if e['name'] == name]
    if not q:
        check(f'{name}: is in the recording', False, j)
        continue
    if whole is None:
        share = float(re.search(r'\(([0-9.]+) % of all', q[0]['text']).group(1))
    else:
        share = 100 * q[0]['count'] / (j['total'] + (q[0]['count'] if whole == 'taken' else 0))
    for verb in ((), ('report',)):
        args = (*verb, '--offline', where, *(() if verb else ('--format=folded',)))
        below, above = f'--fail-if={name}>{max(share - 0.1, 0):.2f}%', f'--fail-if={name}>{min(share + 0.1, 100):.2f}%'
        usual, no, yes = xenflame(*args), xenflame(*args, above), xenflame(*args, below)
        check(f"--fail-if={name} {' '.join(verb)}: holds below {share:.2f} % alone", usual == no and usual[0] == 0 and
              yes[:2] == (1, usual[1]) and yes[2].replace(usual[2], '').strip().split('\n') ==
              [x for x in yes[2].splitlines() if x.startswith(f'xenflame: {name}: ') and x.endswith(below)], (no, yes))
rc, out, err = xenflame('report', '-q', '--offline', host, '--fail-if=unresolved>0%', '--fail-if=unresolved_user>0%', '--fail-if=lost>0%')
check('each that holds has a line, with -q too', rc == 1 and [x.split(':')[1] for x in err.splitlines()] == [' unresolved', ' unresolved_user'], err)
for bad in ('nonsense>1%', 'lost', 'lost>', 'lost>1', 'lost>x%', 'lost>-1%', 'lost>101%', 'lost>1%x', '>1%', 'los>1%', 'lost>nan%', 'other_events>1%'):
    check(f'--fail-if={bad} is wrong usage', xenflame('report', host, f'--fail-if={bad}')[0] == 2 and
          xenflame(host, '--format=folded', f'--fail-if={bad}')[:2] == (2, ''))
stale = os.path.join(t.CORPUS, 'xen-stock/vpmu-on-cpuclock.perf.data')
rc, out, err = xenflame('report', stale)
check('a recording without anything is an error', rc == 1 and 'unusable' in err and not out, (rc, out, err))
check('usage', xenflame('report')[0] == 2 and xenflame('report', host, '--top=0')[0] == 2 and xenflame('report', host, host)[0] == 2)
print(f'1..{nr}')
sys.exit(failed > 0)
