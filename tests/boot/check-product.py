#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Was the product right about the dom0s of check-boot, and did it do no harm?

check-product.py DIRECTORY

DIRECTORY has a folder for each boot, with what dom0-init.sh left there: of NAME,
NAME.out, NAME.err and NAME.rc, and in NAME.settings pmu_mode and pmu_features
before and after (and, of the recording that is ended by a signal, meanwhile).
Prints one TAP line for each claim.
"""
import json
import os
import subprocess
import sys

# In each boot the same things are right with dom0 and its tools.
USUAL = {'xen': 'ok', 'dom0': 'ok', 'dom0-type': 'ok', 'symbols': 'ok', 'frame-pointers': 'ok',
         'perf': 'ok', 'kernel-symbols': 'ok', 'cpus': 'unknown', 'keys': 'unknown'}
# There is no xl in them.
USUALLY_SAYS = {'cpus': 'a vCPU for each of the 2 processors', 'keys': "there is no 'xl' here"}

# Boot: exit status, level, verdicts, what texts say; then the same with --probe where that
# finds out more.
DOCTOR = {
    # All is there, and started with the timer.
    'timer': (0, 'stacks', {'vpmu': 'ok', 'pmu-driver': 'ok', 'patched-xen': 'ok', 'patched-linux': 'ok',
                            'mode': 'warn'}, {}, {}),
    'record': (0, 'stacks', {'vpmu': 'ok', 'pmu-driver': 'ok', 'patched-xen': 'ok', 'patched-linux': 'ok',
                             'mode': 'warn'}, {}, {}),
    # An unpatched kernel on it.
    'old-kernel': (1, 'addresses', {'vpmu': 'ok', 'pmu-driver': 'ok', 'patched-xen': 'ok',
                                    'patched-linux': 'unknown'},
                   {'patched-linux': 'linux/patches'}, {}),
    # A patched kernel on a stock Xen, whose vPMU is on but has no PMU to offer.
    'old-xen': (1, 'debug-keys', {'vpmu': 'ok', 'pmu-driver': 'bad', 'patched-xen': 'unknown',
                                  'patched-linux': 'ok'},
                {'pmu-driver': 'has no counters'}, {'patched-xen': 'bad'}),
    # Both patched, and again no PMU.
    'switch': (1, 'debug-keys', {'vpmu': 'ok', 'pmu-driver': 'bad', 'patched-xen': 'ok',
                                 'patched-linux': 'ok'},
               {'pmu-driver': 'vpmu=timer'}, {'patched-xen': 'ok'}),
    # Neither, as installed: no vPMU.
    'stock': (1, 'dom0', {'vpmu': 'bad', 'pmu-driver': 'bad', 'patched-xen': 'unknown',
                          'patched-linux': 'unknown'},
              {'vpmu': 'vpmu=on'}, {}),
}

count = failed = 0


def claim(ok, text, detail=''):
    global count, failed
    count += 1
    print('%s %d - %s' % ('ok' if ok else 'not ok', count, text))
    if not ok:
        failed += 1
        for line in str(detail).split('\n')[:12]:
            print('#   %s' % line[:300])


def left(boot, name):
    """What is in a file that a boot left."""
    path = os.path.join(sys.argv[1], boot, name)
    if not os.path.exists(path):
        return None
    with open(path, encoding='utf-8', errors='replace') as f:
        return f.read()


def doctor(boot, name, rc, level, verdicts, says):
    out = left(boot, name + '.out')
    try:
        found = json.loads(out or '')
    except ValueError:
        claim(False, '%s: %s prints JSON' % (boot, name), '%s\n%s' % (out, left(boot, name + '.err')))
        return
    checks = {c['id']: c for c in found['checks']}
    got = {i: checks.get(i, {}).get('verdict') for i in verdicts}
    claim(got == verdicts, '%s: %s: verdicts' % (boot, name),
          '\n'.join('%s: %s, expected %s: %s' % (i, got[i], verdicts[i], checks.get(i, {}).get('text'))
                    for i in verdicts if got[i] != verdicts[i]))
    claim((left(boot, name + '.rc') or '').strip() == str(rc) and found['level'] == level and
          found['ready'] == (rc == 0), '%s: %s: exit status %d, level %s' % (boot, name, rc, level),
          '%s %s %s' % (left(boot, name + '.rc'), found['level'], found['ready']))
    for i, text in says.items():
        c = checks.get(i, {})
        whole = ' '.join(str(c.get(k)) for k in ('text', 'remedy', 'commands'))
        claim(text in whole, "%s: %s: %s says '%s'" % (boot, name, i, text), whole)


def settings(boot, name, expected):
    got = (left(boot, name + '.settings') or '').split('\n')[:-1]
    claim(got == expected, '%s: %s: pmu_mode and pmu_features %s' % (boot, name, ', then '.join(expected)), got)


def census(boot, name):
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'check-recording.py')
    r = subprocess.run([sys.executable, script, '--census', os.path.join(sys.argv[1], boot, name)],
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, check=False)
    return dict(line.rsplit(' ', 1) for line in r.stdout.splitlines() if ' ' in line)


def holds_chains(boot, name):
    n = census(boot, name + '/perf.data.kvm')
    claim(int(n.get('samples', 0)) > 20 and n.get('lost') == '0' and
          n.get('mode hypervisor', '0') == n.get('marker HV') != None and 'marker USER' in n,
          '%s: %s: holds chains of the hypervisor, and loses nothing' % (boot, name), n)


def main():
    for boot, (rc, level, verdicts, says, probed) in DOCTOR.items():
        verdicts = dict(USUAL, **verdicts)
        says = dict(USUALLY_SAYS, **says)
        doctor(boot, 'doctor', rc, level, verdicts, says)
        doctor(boot, 'probe', rc, level, dict(verdicts, **probed), says)
        for name in ('doctor', 'probe'):
            got = (left(boot, name + '.settings') or '').split('\n')
            claim(len(got) == 3 and got[0] == got[1], '%s: %s: changes nothing' % (boot, name), got)
    text = left('record', 'text.out') or ''
    claim(text.endswith("\nReady: the hypervisor's call chains can be recorded.\n"), 'record: doctor says it in words', text)

    # Ready: recorded, and everything as before.
    claim(left('timer', 'taken.rc') == '0\n', 'timer: record: exit status 0',
          '%s%s' % (left('timer', 'taken.out'), left('timer', 'taken.err')))
    settings('timer', 'taken', ['self 0x10', 'self 0x10'])
    holds_chains('timer', 'taken')
    for name in ('kallsyms', 'notes', 'xensyms', 'xen.buildid'):
        claim(os.path.getsize(os.path.join(sys.argv[1], 'timer/taken', name)) > 0
              if os.path.exists(os.path.join(sys.argv[1], 'timer/taken', name)) else False,
              'timer: record: saves %s' % name)
    claim(left('timer', 'ended.rc') == '0\n', 'timer: record ended by a signal: exit status 0',
          '%s%s' % (left('timer', 'ended.out'), left('timer', 'ended.err')))
    settings('timer', 'ended', ['self 0x10', 'all 0x18', 'self 0x10'])
    holds_chains('timer', 'ended')

    # Not even addresses: refused, unless told.
    claim(left('stock', 'taken.rc') == '1\n' and 'vpmu' in (left('stock', 'taken.err') or '') and
          '--force' in (left('stock', 'taken.err') or ''), 'stock: record: refuses, and says why',
          '%s%s' % (left('stock', 'taken.out'), left('stock', 'taken.err')))
    claim(not os.path.exists(os.path.join(sys.argv[1], 'stock/taken/perf.data.kvm')), 'stock: record: leaves no file')
    claim(left('stock', 'forced.rc') == '0\n', 'stock: record --force: exit status 0',
          '%s%s' % (left('stock', 'forced.out'), left('stock', 'forced.err')))
    n = census('stock', 'forced/perf.data.kvm')
    claim(int(n.get('samples', 0)) > 20 and 'marker KERNEL' in n and 'mode hypervisor' not in n,
          'stock: record --force: holds dom0, nothing of the hypervisor', n)
    print('1..%d' % count)
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
