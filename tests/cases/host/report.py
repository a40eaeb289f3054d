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
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'tools'))
from tap import CORPUS, HOST, TOP, XENFLAME, check, done  # noqa: E402
import tree as t  # noqa: E402

tmp = tempfile.TemporaryDirectory()


def xenflame(*args):
    r = subprocess.run([XENFLAME, *args], capture_output=True, check=False)
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
j = report(HOST)
rc, folded, err = xenflame('--offline', HOST, '--format=folded')
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
entries = {(e['kind'], e['name']): e['weight'] for e in j['hypervisor_entries']}
for call in 'multicall', 'mmu_update', 'iret', 'domctl':
    want = sum(int(line.rsplit(' ', 1)[1]) for line in folded.splitlines()
               if re.search(r'(?<!_\[h\]);(?:(?:lstar_enter|pv_hypercall|_pv_hypercall)_\[h\];)+do_%s_\[h\](?:;[^;]*_\[h\])*( \d+)$' % call, line))
    check(f'hypercall {call}', entries['hypercall', call] == want > 0, (entries['hypercall', call], want))
want = sum(int(line.rsplit(' ', 1)[1]) for line in folded.splitlines()
           if re.search(r'(?<!_\[h\]);handle_exception_saved_\[h\];do_page_fault_\[h\](?:;[^;]*_\[h\])*( \d+)$', line))
check('page faults of PV guests', entries['exception', 'page_fault'] == want > 0, (entries, want))
rc, by_entry, err = xenflame('--offline', '-q', '--by-entry', HOST, '--format=folded')
got = collections.Counter()
for line in by_entry.splitlines():
    stack, n = line.rsplit(' ', 1)
    if '_[h]' in stack:
        got[tuple(stack.split(';')[:2])] += int(n)
check('--by-entry has the same shares', rc == 0 and got == entries, (got, entries))
stubs = sum(int(line.rsplit(' ', 1)[1]) for line in folded.splitlines() if re.search(r';xen_hypercall_pv \d+$', line))
check('and the stubs, nothing else', sum(int(x.rsplit(' ', 1)[1]) for x in by_entry.splitlines()) == hypervisor + stubs, (hypervisor, stubs))
check('hypercalls are named by Xen where it tells', {h['name'] for h in j['hypercalls']} >= {'multicall', 'mmu_update', 'xen_version'},
      j['hypercalls'])
check('the hottest stack', max(int(x.rsplit(' ', 1)[1]) for x in folded.splitlines()) <= j['stacks'][0]['self'], j['stacks'][0])
check('quality is in', [q['name'] for q in j['quality']] == ['broken_stack', 'unresolved_user'] and
      all({'text', 'count', 'strict'} <= set(q) for q in j['quality']), j['quality'])

rc, text, err = xenflame('report', '--offline', HOST)
check('text', rc == 0 and all(x in text for x in ('Quality', 'warning: ', 'By process', 'Hypercalls', 'hypervisor', 'multicall')), text)
rc, md, err = xenflame('report', '--offline', '--markdown', '--anonymous', HOST)
tables = re.findall(r'(?:^\|.*\n)+', md, re.M)
check('Markdown: tables of one width', len(tables) == 7 and all(len({len(re.findall(r'(?<!\\)\|', row)) for row in x.splitlines()}) == 1
                                                                for x in tables), md)
check('--anonymous', 'host:' not in md and 'command:' not in md and 'kernel:' in md)
evil = os.path.join(tmp.name, 'evil.folded')
with open(evil, 'wb') as f:
    f.write('a|b`c;\x1b[31mred\u202e\xff;x 5\n'.encode())
for style in ('--markdown', '--top=3'):
    rc, out, err = xenflame('report', style, evil)
    check(f'names do no harm: {style}', rc == 0 and '\x1b' not in out and '\u202e' not in out and 'red' in out, out)
check('and the same in JSON', report(evil)['stacks'][0]['frames'][1]['function'].startswith('\x1b[31mred'))
check('twice the same', xenflame('report', HOST) == xenflame('report', HOST))
check('--strict', xenflame('report', '--offline', '--strict', HOST)[0] == 1)

# HVM guests: exits by reason; who waits, in Xen, in dom0 and in the guests.
exits = os.path.join(tmp.name, 'exits.folded')
vmx, svm = '[xen];vmx_asm_vmexit_handler_[h];vmx_vmexit_handler_[h]', '[xen];svm_vmexit_handler_[h]'
with open(exits, 'w', encoding='utf-8') as f:
    f.write(f'''{vmx};ept_handle_violation_[h];hvm_hap_nested_page_fault_[h] 3
{vmx};hvm_hlt_[h];vcpu_block_[h] 5
{vmx};hvm_hypercall_[h];do_event_channel_op_[h];evtchn_send_[h] 7
{vmx};hvm_hypercall_[h];hvm_grant_table_op_[h] 11
{vmx};vmx_do_extint_[h];do_IRQ_[h] 13
{vmx} 17
{svm};svm_do_nested_pgfault_[h] 19
{svm};no_such_intercept_[h] 23
[xen];svm_asm_do_resume_[h];svm_intr_assist_[h] 29
[xen];context_switch_[h];idle_loop_[h];default_idle_[h] 31
[xen];context_switch_[h] 37
[guest];default_idle_[g] 41
[guest];pv_native_safe_halt_[g] 43
[guest];acpi_cpu_c1_[g] 47
[guest];mutex_lock_[g] 53
swapper;xen_safe_halt_[k];xen_hypercall_pv_[k] 59
vcpu;xen_safe_halt_[k];xen_hypercall_pv_[k];irq_[k] 61
''')
j = report(exits)
check('exits by reason', {(e['kind'], e['name']): e['weight'] for e in j['hypervisor_entries']} == {
    ('exit', 'EPT violation'): 3, ('exit', 'HLT'): 5, ('hypercall', 'event_channel_op'): 7, ('hypercall', 'grant_table_op'): 11,
    ('exit', 'external interrupt'): 13, ('exit', 'vmx_vmexit_handler'): 17, ('exit', 'nested page fault'): 19,
    ('exit', 'no_such_intercept'): 23, ('return to guest', 'svm_asm_do_resume'): 29, ('idle vCPU', 'default_idle'): 31,
    ('other', 'context_switch'): 37}, j['hypervisor_entries'])
check('idle in Xen, in dom0, in guests', {s['name']: s['idle'] for s in j['spaces'] if s['idle']} ==
      {'hypervisor': 31, 'kernel': 59, 'guest kernel': 41 + 43 + 47}, j['spaces'])
check('idle by guest', {p['name']: p['idle'] for p in j['processes']} == {'[xen]': 31, '[guest]': 41 + 43 + 47, 'swapper': 59, 'vcpu': 0}, j['processes'])
check('--no-idle leaves none of them', report(exits, '--no-idle')['total'] == j['total'] - 31 - 59 - 131 and not report(exits, '--no-idle')['idle'])
rc, out, err = xenflame(exits, '--by-entry', '--no-idle', '--format=folded')
check('--by-entry: no other stacks', rc == 0 and sum(int(x.rsplit(' ', 1)[1]) for x in out.splitlines()) == 3 + 5 + 7 + 11 + 13 + 17 + 19 + 23 + 29 + 37,
      out)
check('its roots', {x.split(';')[0] for x in out.splitlines()} == {'hypercall', 'exit', 'return to guest', 'other'}, out)
rc, out, err = xenflame('report', exits)
check('both lists in text', rc == 0 and re.search(r'by hypercall\n.*grant_table_op.*by exit and other reasons\n.*exit: EPT violation', out, re.S), out)
none = os.path.join(tmp.name, 'none.folded')
with open(none, 'w', encoding='utf-8') as f:
    f.write('a;b 1\n')
rc, out, err = xenflame(none, '--by-entry', '--format=folded')
check('--by-entry: nothing to show is an error', rc == 1 and not out and 'hypercall' in err, err)
rc, out, err = xenflame(path, '--by-entry', '--format=folded')
got = collections.Counter()
for line in out.splitlines():
    got[line.split(';')[1]] += int(line.rsplit(' ', 1)[1])
check('--by-entry names hypercalls without hypervisor frames', got == {'sched_op': 846, 'xen_version': 280, 'platform_op': 258, 'mmu_update': 24},
      (got, err))

# --fail-if, against shares counted from what JSON tells of the same recordings.
made = os.path.join(tmp.name, 'made')
os.mkdir(made)
subprocess.run([sys.executable, os.path.join(TOP, 'tests/tools/mkperf.py'), os.path.join(TOP, 'tests/cases/made/lost.pd'), made],
               check=True, stdout=subprocess.DEVNULL)
lost, alone = os.path.join(made, 'perf.data'), os.path.join(tmp.name, 'alone.data')
shutil.copy(HOST, alone)
plain = os.path.join(CORPUS, 'local/fp/perf.data')
for where, name, whole in ((alone, 'unresolved_hypervisor', None), (HOST, 'unresolved_user', None), (plain, 'unresolved_kernel', None),
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
kvm = os.path.join(CORPUS, 'xen-stock/novpmu.perf.data.kvm')
rc, out, err = xenflame('report', '-q', '--offline', kvm, '--fail-if=hv_software_event>99.9%', '--fail-if=cpu_unseen>0%')
check('--fail-if=hv_software_event', rc == 1 and re.fullmatch(r'xenflame: hv_software_event: 100.00 % .*\n', err), err)
check('and not where the host was not asked for', xenflame('report', '--offline', os.path.join(CORPUS, 'xen-stock/novpmu.perf.data'),
                                                          '--fail-if=hv_software_event>0%')[0] == 0)
subprocess.run([sys.executable, os.path.join(TOP, 'tests/tools/mkperf.py'), os.path.join(TOP, 'tests/cases/made/xen-cpus-unseen.pd'), made],
               check=True, stdout=subprocess.DEVNULL)
where = os.path.join(made, 'perf.data.kvm')
rc, out, err = xenflame('report', '--offline', where, '--fail-if=cpu_unseen>74.9%')
check('--fail-if=cpu_unseen', rc == 1 and 'cpu_unseen: 75.00 % (3 of 4 processors)' in err and
      xenflame('report', '--offline', where, '--fail-if=cpu_unseen>75%')[0] == 0, err)
rc, out, err = xenflame('report', '-q', '--offline', HOST, '--fail-if=unresolved>0%', '--fail-if=unresolved_user>0%', '--fail-if=lost>0%')
check('each that holds has a line, with -q too', rc == 1 and [x.split(':')[1] for x in err.splitlines()] == [' unresolved', ' unresolved_user'], err)
for bad in ('nonsense>1%', 'lost', 'lost>', 'lost>1', 'lost>x%', 'lost>-1%', 'lost>101%', 'lost>1%x', '>1%', 'los>1%', 'lost>nan%', 'other_events>1%'):
    check(f'--fail-if={bad} is wrong usage', xenflame('report', HOST, f'--fail-if={bad}')[0] == 2 and
          xenflame(HOST, '--format=folded', f'--fail-if={bad}')[:2] == (2, ''))
stale = os.path.join(CORPUS, 'xen-stock/vpmu-on-cpuclock.perf.data')
rc, out, err = xenflame('report', stale)
check('a recording without anything is an error', rc == 1 and 'unusable' in err and not out, (rc, out, err))
check('usage', xenflame('report')[0] == 2 and xenflame('report', HOST, '--top=0')[0] == 2 and xenflame('report', HOST, HOST)[0] == 2)
done()
