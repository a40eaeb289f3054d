#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""record: what is set, refused, saved and put back, with a perf that hands out known recordings. TAP."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'tools'))
from tap import CORPUS, HOST, XENFLAME, check, done  # noqa: E402
import tree as t  # noqa: E402

tmp = tempfile.TemporaryDirectory()
MODE, FEATURES = 'sys/hypervisor/pmu/pmu_mode', 'sys/hypervisor/pmu/pmu_features'
FAKE = r'''#!/bin/sh
echo "$*" >>"$LOG"
cat "$TREE"/sys/hypervisor/pmu/pmu_mode "$TREE"/sys/hypervisor/pmu/pmu_features >>"$LOG"
printf "\n\n" >>"$LOG"
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	[ "$1" = -o ] && out=$2
	shift
done
[ $# -gt 0 ] && shift
if [ "$1" = wait-for-signal ] || [ "$*" = "$WAIT" ]; then
	trap 'echo got INT >>"$LOG"; cp "$DATA" "$out"; exit 130' INT
	echo ready >>"$LOG"
	while :; do sleep 0.1; done
fi
[ -n "$DATA" ] && cp "$DATA" "$out"
[ "$1" = sleep ] || "$@"
'''


os.mkdir(os.path.join(tmp.name, 'bin'))
perf = os.path.join(tmp.name, 'bin/perf')
with open(perf, 'w', encoding='utf-8') as f:
    f.write(FAKE)
os.chmod(perf, 0o755)
log = os.path.join(tmp.name, 'log')
clock = os.path.join(CORPUS, 'xen-stock/novpmu.perf.data.kvm')
stale = os.path.join(CORPUS, 'xen-stock/vpmu-on-cpuclock.perf.data.kvm')


def new(make=t.ready, **put):
    tree = make(t.Tree(os.path.join(tmp.name, 'tree')))
    tree.put(MODE, 'self\n')
    tree.put(FEATURES, '0x1\n')
    tree.put('proc/xen/xensyms', 'ffff82d040200000 T vpmu_deliver\n')
    return tree


def start(tree, *args, data=HOST, wait='none'):
    shutil.rmtree(os.path.join(tmp.name, 'out'), ignore_errors=True)
    os.mkdir(os.path.join(tmp.name, 'out'))
    with open(log, 'w', encoding='utf-8'):
        pass
    env = dict(os.environ, PATH=os.path.join(tmp.name, 'bin') + ':' + os.environ['PATH'], LOG=log, TREE=tree.path, DATA=data, WAIT=wait, TMPDIR=tmp.name)
    return subprocess.Popen([XENFLAME, 'record', f'--sysroot={tree.path}', *args], env=env, cwd=os.path.join(tmp.name, 'out'),
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def run(tree, *args, data=HOST):
    p = start(tree, *args, data=data)
    out = p.communicate(timeout=60)[0].decode(errors='replace')
    with open(log, encoding='utf-8') as f:
        return p.returncode, out, [x.strip().split('\n') for x in f.read().split('\n\n') if x.strip()]


def state(tree):
    return tree.get(MODE).strip(), tree.get(FEATURES).strip()


def saved():
    return sorted(os.listdir(os.path.join(tmp.name, 'out')))


tree = new()
rc, out, calls = run(tree, '--', 'touch', 'ran')
check('recorded', rc == 0, out)
check('a second first, then the run', [c[0].rsplit(' -- ', 1)[1] for c in calls] == ['sleep 1', 'touch ran'], calls)
check('as perf kvm, with the event', all(c[0].startswith('kvm --host --guest record -a -g -F 97 -e cycles -o ') for c in calls), calls)
check('mode and feature are set meanwhile', all(c[1:] in (['all0x9'], ['all', '0x9']) for c in calls), calls)
check('and put back', state(tree) == ('self', '0x1'), state(tree))
check('saved beside it', saved() == ['kallsyms', 'perf.data.kvm', 'ran', 'xen.buildid', 'xensyms'], saved())
with open(os.path.join(tmp.name, 'out/perf.data.kvm'), 'rb') as a, open(HOST, 'rb') as b:
    check('the recording is perf\'s', a.read() == b.read())
with open(os.path.join(tmp.name, 'out/xensyms'), encoding='utf-8') as f:
    check('xensyms is the host\'s', f.read() == tree.get('proc/xen/xensyms'))
rc, out, calls = run(new(), '--freq=199', '--event=instructions', '--no-trial', '-o', 'x.data', '-q', '--', 'true')
check('options', rc == 0 and [c[0] for c in calls] == ['kvm --host --guest record -a -g -F 199 -e instructions -o x.data -- true'] and
      not out, (out, calls))

# Refused, with the reason; everything as before.
tree = new(lambda x: t.transcript(x, 'novpmu', 'vpmu-on'))
tree.put(MODE + '.errno', 'EOPNOTSUPP\n')
rc, out, calls = run(tree, '--', 'true')
check('no vPMU: refused', rc == 1 and not calls and 'vpmu: vPMU is off' in out and '--force' in out and '--debug-keys=2' in out and not saved(), (out, calls))
rc, out, calls = run(tree, '--force', '--', 'true', data=clock)
check('no vPMU, --force: dom0 by the clock', rc == 0 and [c[0] for c in calls] == ['record -a -g -F 97 -e cpu-clock -o perf.data.kvm -- true'],
      (out, calls))
for name, data, rx in (('fell back to a clock', clock, 'software clock'), ('samples without address', stale, 'unusable')):
    tree = new()
    rc, out, calls = run(tree, '--', 'true', data=data)
    check(f'{name}: the second tells', rc == 1 and len(calls) == 1 and rx in out and not saved(), (out, calls))
    check(f'{name}: put back', state(tree) == ('self', '0x1'), state(tree))
    rc, out, calls = run(tree, '--force', '--', 'true', data=data)
    check(f'{name}: --force', rc == 0 and len(calls) == 2 and rx in out, (out, calls))
rc, out, calls = run(t.Tree(os.path.join(tmp.name, 'empty')), '--', 'true')
check('not on Xen: refused', rc == 1 and not calls and '--debug-keys' not in out, out)

# Xen says no.
tree = new()
tree.put(MODE + '.write-errno', 'all EBUSY\n')
rc, out, calls = run(tree, '--', 'true')
check('busy: hv', rc == 0 and 'hv' in calls[0][1] and 'not the guests' in out and state(tree) == ('self', '0x1'), (out, calls))
tree.put(MODE + '.write-errno', '* EPERM\n')
rc, out, calls = run(tree, '--', 'true')
check('not allowed: nothing stays changed', rc == 1 and not calls and 'pmu_mode' in out and state(tree) == ('self', '0x1'), (out, calls))
tree = new()
tree.put('proc/xen/xensyms', 'ffff82d040200000 T _start\n')
tree.put(FEATURES + '.write-errno', '0x9 EINVAL\n')
rc, out, calls = run(tree, '--', 'true')
check('no such feature: addresses', rc == 0 and state(tree) == ('self', '0x1') and '0x1' in calls[0][-1] and 'without its callers' in out, (out, calls))

# perf fails, the command fails, signals.
tree = new()
rc, out, calls = run(tree, '--no-trial', '--', 'true', data='')
check('perf writes nothing', rc == 1 and 'recorded nothing' in out and state(tree) == ('self', '0x1'), out)
rc, out, calls = run(tree, '--', 'false')
check('the command\'s failure is none of ours', rc == 0 and 'perf.data.kvm' in saved(), out)


def interrupt(sig, *args, **kw):
    tree = new()
    p = start(tree, *args, **kw)
    for _ in range(600):
        with open(log, encoding='utf-8') as f:
            if 'ready' in f.read():
                break
        time.sleep(0.1)
    during = state(tree)
    p.send_signal(sig)
    out = p.communicate(timeout=60)[0].decode()
    with open(log, encoding='utf-8') as f:
        text = f.read()
    check(f'{sig.name} {args}: set, perf ends, put back', during == ('all', '0x9') and 'got INT' in text and state(tree) == ('self', '0x1'),
          (during, state(tree), text, out))
    return p.returncode, out, text


for sig in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    rc, out, text = interrupt(sig, '--no-trial', '--', 'wait-for-signal')
    check(f'{sig.name}: the recording is kept', rc == 0 and 'perf.data.kvm' in saved(), (rc, saved(), out))
rc, out, text = interrupt(signal.SIGINT, '--', 'true', wait='sleep 1')
check('in the second before: no long run, nothing is left', rc == 1 and 'interrupted' in out and text.count('record -a') == 1 and not saved(),
      (rc, saved(), text, out))
# The debug key: an xl whose console holds the last 40000 bytes of what a real one has said, a piece for each press.
said = t.corpus('xen-stock/debug-keys-d.console.txt').replace('\r\n', '\n')
marks = [m.start() for m in re.finditer(r"^\(XEN\)[^\n]*'d' pressed", said, re.M)]
pieces = [said[a:b] for a, b in zip(marks, marks[1:] + [len(said)])]
keys = os.path.join(tmp.name, 'keys')
XL = '''#!/usr/bin/env python3
import os, sys
d = %r
n = int(open(d + '/n').read())
if sys.argv[1:] == ['debug-keys', 'd']:
    open(d + '/new', 'w').write(str(n + 1))
    os.rename(d + '/new', d + '/n')
elif sys.argv[1:] == ['dmesg']:
    text = '(XEN) boot\\n' * 100 + ''.join(open(d + '/%%d' %% (i %% %d), errors='surrogateescape').read() for i in range(n))
    sys.stdout.buffer.write(text.encode(errors='surrogateescape')[-int(open(d + '/ring').read()):])
else:
    sys.exit(1)
'''


def press_keys(*args, ring=40000, same=False):
    shutil.rmtree(keys, ignore_errors=True)
    os.mkdir(keys)
    for i, piece in enumerate(pieces):
        with open(os.path.join(keys, str(i)), 'w', encoding='utf-8', errors='surrogateescape') as f:
            f.write(pieces[0] if same else piece)
    for name, text in (('n', '0'), ('ring', str(ring)), ('xl', XL % (keys, len(pieces)))):
        with open(os.path.join(keys, name), 'w', encoding='utf-8') as f:
            f.write(text)
    os.chmod(os.path.join(keys, 'xl'), 0o755)
    out = os.path.join(keys, 'out.txt')
    r = subprocess.run([XENFLAME, 'record', '-o', out, *args], capture_output=True, check=False, timeout=60,
                       env=dict(os.environ, PATH=keys + ':' + os.environ['PATH'], XENFLAME_KEYS=keys))
    with open(os.path.join(keys, 'n'), encoding='utf-8') as f:
        n = int(f.read())
    got = ''
    if os.path.exists(out):
        with open(out, encoding='utf-8', errors='surrogateescape') as f:
            got = f.read()
    return r.returncode, r.stderr.decode(), n, got


UNTIL_5 = ('sh', '-c', f'until [ "$(cat {keys}/n)" -ge 5 ] 2>/dev/null; do sleep 0.05; done')
for same in (False, True):
    rc, err, n, got = press_keys('--debug-keys=20', '--', *UNTIL_5, same=same)
    want = ''.join(pieces[0] if same else pieces[i % len(pieces)] for i in range(n))
    check(f"--debug-keys: all that was said, once{', equal dumps too' if same else ''}", rc == 0 and n >= 5 and got == want and 'rough' in err,
          (n, len(got), len(want), err))
    path = os.path.join(keys, 'out.txt')
    r = subprocess.run([XENFLAME, '--offline', path, '--format=folded'], capture_output=True, check=False)
    check('and is drawn', r.returncode == 0 and b'_[h]' in r.stdout, r.stderr)
rc, err, n, got = press_keys('--debug-keys=20', '-q', '--', *UNTIL_5, ring=3000)
check('--debug-keys: a ring that is too small is told', rc == 0 and 'conring_size' in err and 'rough' not in err, (rc, err))
rc, err, n, got = press_keys('--debug-keys=20', '--', 'no-such-command')
check('--debug-keys: no such command', rc == 1 and 'no-such-command' in err and not n and not got, (rc, err))
pieces = ['nothing\n'] * 3
rc, err, n, got = press_keys('--debug-keys=20', '--', 'sleep', '0.3')
check('--debug-keys: a silent console is an error', rc == 1 and 'out.txt' in err, (rc, err))
check('--debug-keys: usage', run(new(), '--debug-keys=5', '--', 'true')[0] == 2 and press_keys('--debug-keys=0')[0] == 2 and
      press_keys('--debug-keys=x')[0] == 2)
left = [x for x in os.listdir(tmp.name) if x.startswith('xenflame-')]
check('nothing stays behind', not left, left)
check('usage', run(tree, '--freq=0')[0] == 2 and run(tree, '--no-such')[0] == 2)
done()
