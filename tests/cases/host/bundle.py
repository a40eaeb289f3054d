#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""bundle: the same bytes out as from the recording; its tar by Python's tarfile and perf; hostile ones do nothing. TAP."""
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'tools'))
from tap import CORPUS, TOP, XENFLAME, check, done  # noqa: E402
import tree as t  # noqa: E402

tmp = tempfile.TemporaryDirectory()
private = os.path.join(tmp.name, 'private')
os.mkdir(private)
ENV = dict(os.environ, TMPDIR=private, HOME=os.path.join(tmp.name, 'home'))


def xenflame(*args, **kw):
    r = subprocess.run([XENFLAME, *args], capture_output=True, check=False, env=ENV, **kw)
    return r.returncode, r.stdout, r.stderr.decode(errors='replace')


def folder(name, *files):
    path = os.path.join(tmp.name, name)
    os.mkdir(path)
    for f in files:
        shutil.copy2(f, path)
    return path


def formats(path):
    """What is seen of a recording, as bytes."""
    return {f: xenflame('--offline', path, *f.split())[:2] for f in
            ('--format=folded', '--format=svg', '--format=json --no-idle', '--format=pprof --srcline', '--reverse --format=text')}


local = os.path.join(CORPUS, 'local')
host = folder('host', *(os.path.join(TOP, 'examples/xen-host', f) for f in ('perf.data.kvm', 'xen-syms', 'kallsyms', 'hcload')))
recordings = {'host': os.path.join(host, 'perf.data.kvm')}
for name, programs in {'fp': ['busy_fp'], 'cxx': ['cxx_fp'], 'dwarf_small': ['busy_fp', 'busy_nofp'], 'stripped': ['busy_stripped'],
                       'pipe': ['busy_fp']}.items():
    recordings[name] = os.path.join(folder(name, os.path.join(local, name, 'perf.data'), *(os.path.join(local, 'bin', p) for p in programs)),
                                    'perf.data')

away = os.path.join(tmp.name, 'away')
os.mkdir(away)
suffixes = ['.tar.zst', '.tar.gz', '.tar']
for i, (name, path) in enumerate(recordings.items()):
    want = formats(path)
    out = os.path.join(away, name + suffixes[i % 3])
    rc, _, err = xenflame('bundle', '--offline', path, '-o', out)
    if rc and 'no zstd' in err:
        out = os.path.join(away, name + '.tar.gz')
        rc, _, err = xenflame('bundle', '--offline', path, '-o', out)
    check(f'{name}: bundled', rc == 0, err)
    # The files are elsewhere: all must be in the bundle.
    os.rename(os.path.dirname(path), os.path.dirname(path) + '.away')
    got = formats(out)
    for f, w in want.items():
        check(f'{name}: {f} has the same bytes', w[0] == 0 and len(w[1]) > 100 and got[f] == w, (got[f][0], len(got[f][1]), len(w[1])))
    os.rename(os.path.dirname(path) + '.away', os.path.dirname(path))
    if name == 'dwarf_small':
        check('pieces of stacks are told', 'passwords' in err, err)
    else:
        check('and not where there are none', 'passwords' not in err, err)
def events(data):
    """Offset and sample_type of each event of a perf.data."""
    stride, at, n = struct.unpack_from('=3Q', data, 16)
    return [(at + i * stride, struct.unpack_from('=Q', data, at + i * stride + 24)[0]) for i in range(n // stride)]


def pieces(data):
    """Slices of the stack dumps that are nowhere else in it (perf's own stack may hold a record); in the samples here DATA_SRC alone follows."""
    at, n = struct.unpack_from('=2Q', data, 40)
    room = struct.unpack_from('=I', data, events(data)[0][0] + 88)[0]
    end, out, rest = at + n, [], [data[:at], data[at + n:]]
    while at < end:
        kind, _, size = struct.unpack_from('=IHH', data, at)
        if kind != 9:
            rest.append(data[at:at + size])
        elif size > room + 32 and struct.unpack_from('=Q', data, at + size - room - 24)[0] == room:
            stack = data[at + size - room - 16:at + size - 16]
            out += [stack[i:i + 48] for i in range(0, room, 48) if len(set(stack[i:i + 48])) > 20]
        at += size
    rest = b''.join(rest)
    return [s for s in out if s not in rest]


def as_folder(data, where):
    """A recording as perf record --threads would have made it: samples in data.N, all else in data."""
    at, n = struct.unpack_from('=2Q', data, 40)
    bits = int.from_bytes(data[72:104], 'little')
    end, rest, parts = at + n, b'', {number: b'' for number in (0, 2, 10)}
    while at < end:
        kind, _, size = struct.unpack_from('=IHH', data, at)
        if kind == 9:
            number = sorted(parts, key=lambda k: len(parts[k]))[0]
            parts[number] += data[at:at + size]
        else:
            rest += data[at:at + size]
        at += size
    begin, gone = struct.unpack_from('=Q', data, 40)[0], n - len(rest)
    features = b''.join(struct.pack('=2Q', off - gone, size) for off, size in
                        (struct.unpack_from('=2Q', data, end + 16 * i) for i in range(bin(bits).count('1'))))
    os.mkdir(where)
    for name, text in {'data': data[:48] + struct.pack('=Q', len(rest)) + data[56:begin] + rest + features + data[end + len(features):],
                       **{f'data.{number}': part for number, part in parts.items()}}.items():
        with open(os.path.join(where, name), 'wb') as f:
            f.write(text)


def same_elsewhere(what, path, *args, hide=(), want_name=None, host=False):
    """Bundles `path`, takes all files away, and compares."""
    out = os.path.join(away, what.replace(' ', '-') + '.tar')
    offline = [] if host else ['--offline']
    want = xenflame(*offline, *args, path, '--format=folded')
    rc, _, err = xenflame('bundle', *offline, *args, path, '-o', out)
    for d in hide:
        os.rename(d, d + '.away')
    got = xenflame('--offline', out, '--format=folded')
    check(f'{what}: the same bytes and words elsewhere', rc == 0 and want[0] == 0 and got == want, (err, got[2], want[2], len(got[1]), len(want[1])))
    if want_name:
        check(f'{what}: {want_name} is in it', want_name.encode() in got[1], got[1][:500])
    for d in hide:
        os.rename(d + '.away', d)
    return out


# perf record --threads makes a folder.
where = folder('threads', os.path.join(local, 'bin/cxx_fp'))
shutil.copytree(os.path.join(local, 'threads_dir/perf.data'), os.path.join(where, 'perf.data'))
with open(os.path.join(where, 'perf.data', 'kcore'), 'w') as f:
    f.write('no data\n')
out = same_elsewhere('a folder', os.path.join(where, 'perf.data'), hide=[where])
with tarfile.open(out) as tar:
    check('a folder: all its files', {'perf.data/data', 'perf.data/data.0', 'perf.data/data.1'} <= set(tar.getnames()), tar.getnames())
rc, _, err = xenflame('bundle', '--offline', os.path.join(where, 'perf.data'), '-o', out)
with tarfile.open(out) as tar:
    check('a folder: what is none of its data is left out, and told', rc == 0 and 'kcore' in err and 'perf.data/kcore' not in tar.getnames(), err)
check('a folder: a slash at the end', xenflame('bundle', '--offline', '-q', os.path.join(where, 'perf.data') + '/', '-o', out)[0] == 0 and
      xenflame('--offline', out, '--format=folded')[:2] == xenflame('--offline', os.path.join(where, 'perf.data'), '--format=folded')[:2])
rc, _, err = xenflame('bundle', '--offline', '--anonymous', os.path.join(where, 'perf.data'), '-o', out)
with open(out, 'rb') as f:
    data = f.read()
with open(os.path.join(where, 'perf.data/data'), 'rb') as f:
    check('a folder: --anonymous', rc == 0 and b'cxx_fp 1' not in data.replace(b'\0', b' ') and b'--threads' in f.read() and b'--threads' not in data and
          xenflame('--offline', out, '--format=folded')[0] == 0, err)
rc, _, err = xenflame('bundle', '--offline', '--strip-stacks', os.path.join(where, 'perf.data'), '-o', out)
check('a folder without dumps: --strip-stacks leaves it', rc == 0 and xenflame('--offline', out, '--format=folded')[:2] ==
      xenflame('--offline', os.path.join(where, 'perf.data'), '--format=folded')[:2], err)

# Links of a recording that somebody else has made fetch nothing of this machine.
secret = os.path.join(folder('secret'), 'shadow')
with open(secret, 'wb') as f:
    f.write(b'root:not for others:1:0:9:7:::\n')
for links, kind in (({'notes': secret, 'xen.buildid': '../secret/shadow', 'xensyms': secret}, 'file'), ({'perf.data/data.1': secret}, 'folder'),
                    ({'perf.data/data.1': '../../secret/shadow'}, 'folder'), ({'perf.data/data': secret}, 'folder')):
    where = folder('linked')
    (shutil.copytree if kind == 'folder' else shutil.copy)(os.path.join(local, 'threads_dir' if kind == 'folder' else 'fp', 'perf.data'), os.path.join(where, 'perf.data'))
    for name, target in links.items():
        if os.path.exists(os.path.join(where, name)):
            os.unlink(os.path.join(where, name))
        os.symlink(target, os.path.join(where, name))
    for option in ((), ('--strip-stacks',)):
        rc, _, err = xenflame('bundle', '--offline', *option, os.path.join(where, 'perf.data'), '-o', out)
        data = b''
        if rc == 0:
            with open(out, 'rb') as f:
                data = f.read()
            os.unlink(out)
        check(f'links out of a {kind} fetch nothing: {", ".join(links)} {" ".join(option)}', rc == (kind == 'folder') and b'not for others' not in data and
              (all(os.path.join(where, name) in err for name in links)) and not os.path.exists(out), (rc, err))
    shutil.rmtree(where)
where = folder('linked')
shutil.copytree(os.path.join(local, 'threads_dir/perf.data'), os.path.join(where, 'perf.data'))
os.rename(os.path.join(where, 'perf.data/data.1'), os.path.join(where, 'perf.data/first'))
os.symlink('first', os.path.join(where, 'perf.data/data.1'))
same_elsewhere('a link inside the folder', os.path.join(where, 'perf.data'), hide=[where])

# The symbols of guests, given or beside.
for beside in (False, True):
    guest, elsewhere = folder(f'guest-{beside}'), folder(f'elsewhere-{beside}')
    subprocess.run([sys.executable, os.path.join(TOP, 'tests/tools/mkperf.py'), os.path.join(TOP, 'tests/cases/made/filter-host.pd'), guest], check=True,
                   stdout=subprocess.DEVNULL)
    symbols = os.path.join(guest, 'guest-kallsyms') if beside else os.path.join(elsewhere, 'web.kallsyms')
    with open(symbols, 'w', encoding='utf-8') as f:
        f.write('ffffffff81000000 T _text\nffffffff81000200 T guest_work\nffffffff81000300 T _etext\n')
    same_elsewhere('symbols of a guest ' + ('beside' if beside else 'given'), os.path.join(guest, 'perf.data'),
                   *([] if beside else ['--guest-kallsyms=' + symbols]), hide=[guest, elsewhere], want_name='[guest];guest_work')

# What several debug files have in common is in a third one (dwz).
if shutil.which('gcc') and shutil.which('dwz') and shutil.which('objcopy') and shutil.which('perf'):
    src = folder('dwz')
    with open(os.path.join(src, 'spin.c'), 'w', encoding='utf-8') as f:
        f.write('''struct common { int a, b, c, d, e, f, g, h; long x[8]; };
static volatile unsigned long n;
static inline __attribute__((always_inline)) void inlined_work(struct common *c) { for (int i = 0; i < 1000; i++) n += c->a + i; }
__attribute__((noinline)) void outer_work(struct common *c) { inlined_work(c); }
int main(int argc, char **argv) { struct common c = { argc }; for (int i = 0; i < NR; i++) outer_work(&c); return 0; }
''')
    for name, size in ('one', 60000), ('two', 60001):
        subprocess.run(['gcc', '-O1', '-g', '-fno-omit-frame-pointer', f'-DNR={size}', 'spin.c', '-o', name], cwd=src, check=True)
        subprocess.run(['objcopy', '--only-keep-debug', name, name + '.debug'], cwd=src, check=True)
        subprocess.run(['objcopy', '--strip-debug', name], cwd=src, check=True)
    os.mkdir(os.path.join(src, 'common'))
    subprocess.run(['dwz', '-m', 'common/alt.debug', '-M', os.path.join(src, 'common/alt.debug'), 'one.debug', 'two.debug'], cwd=src, check=True)
    subprocess.run(['perf', 'record', '-q', '-e', 'cpu-clock:u', '-F', '997', '-g', '-o', 'perf.data', './one'], cwd=src, check=False,
                   env={'PATH': os.environ['PATH'], 'HOME': src}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ids = {n: re.search(r'Build ID: (\w+)', subprocess.run(['readelf', '-n', n], cwd=src, capture_output=True, text=True, check=True).stdout)[1]
           for n in ('one', 'common/alt.debug')}
    os.makedirs(os.path.join(src, 'd/.build-id', ids['one'][:2]))
    os.rename(os.path.join(src, 'one.debug'), os.path.join(src, 'd/.build-id', ids['one'][:2], ids['one'][2:] + '.debug'))
    with open(os.path.join(src, 'd/.build-id', ids['one'][:2], ids['one'][2:] + '.debug'), 'rb') as f:
        check('dwz: a file of its own is used', b'.gnu_debugaltlink' in f.read())
    out = same_elsewhere('dwz', os.path.join(src, 'perf.data'), f'--debug-dir={src}/d', hide=[src], host=True, want_name='outer_work;inlined_work')
    with tarfile.open(out) as tar:
        check('dwz: it is in the store', any(n.startswith('.debug/') and n.endswith(ids['common/alt.debug'] + '/debug') for n in tar.getnames()),
              tar.getnames())
else:
    check('dwz # SKIP no gcc, dwz, objcopy or perf', True)

# Stack dumps are unwound and gone.
xen = os.path.join(CORPUS, 'xen-hv')
for name, files, env in (('dwarf', [os.path.join(local, 'dwarf/perf.data'), *(os.path.join(local, 'bin', p) for p in ('busy_fp', 'busy_nofp'))], None),
                         ('hv', [os.path.join(xen, f) for f in ('dwarf.perf.data.kvm', 'xensyms')], b'HOME=/root'),
                         ('cxx_dwarf', [os.path.join(local, 'cxx_dwarf/perf.data'), os.path.join(local, 'bin/cxx_fp')], b'PATH=')):
    path = os.path.join(folder(f'strip-{name}', *files), os.path.basename(files[0]))
    out = os.path.join(away, f'strip-{name}.tar')
    want = {f: xenflame('--offline', path, *f.split())[:2] for f in ('--format=folded', '--format=folded --srcline --addrs', '--no-idle --reverse --format=folded')}
    told = xenflame('--offline', path, '--format=folded')[2]
    rc, _, err = xenflame('bundle', '--offline', '--strip-stacks', path, '-o', out)
    check(f'--strip-stacks {name}: bundled', rc == 0 and 'passwords' not in err and 'look different' not in err, err)
    with open(path, 'rb') as f:
        old = f.read()
    with tarfile.open(out) as tar:
        new = tar.extractfile(os.path.basename(path)).read()
    os.rename(os.path.dirname(path), os.path.dirname(path) + '.away')
    for f, w in want.items():
        check(f'--strip-stacks {name}: {f} has the same bytes', w[0] == 0 and len(w[1]) > 1000 and xenflame('--offline', out, *f.split())[:2] == w)
    got = xenflame('--offline', out, '--format=folded')[2]
    check(f'--strip-stacks {name}: the same quality is told', got == told and (name != 'hv' or 'saved piece of stack' in told), (got, told))
    os.rename(os.path.dirname(path) + '.away', os.path.dirname(path))
    stack = pieces(old)
    check(f'--strip-stacks {name}: nothing of the stacks is left', len(stack) > 100 and not any(s in new for s in stack) and
          (env is None or (env in old and env not in new)), len(stack))
    check(f'--strip-stacks {name}: neither stack nor registers in its events', all(st & 0x3000 == 0x3000 for _, st in events(old)) and
          all(st & 0x3020 == 0x20 and new[at + 80:at + 92] == bytes(12) for at, st in events(new)), events(new))
    rc, _, err = xenflame('bundle', '--offline', '--strip-stacks', '--anonymous', path, '-o', out)
    with open(out, 'rb') as f:
        check(f'--strip-stacks {name}: with --anonymous', rc == 0 and not any(s in f.read() for s in stack[:50]) and
              xenflame('--offline', out, '--format=folded')[:2] == want['--format=folded'], err)
    if shutil.which('perf'):
        plain = os.path.join(tmp.name, 'stripped.data')
        with open(plain, 'wb') as f:
            f.write(new)
        n = [len(re.findall(rb'^\S', subprocess.run(['perf', 'script', '-i', p, '-F', 'comm,ip'], capture_output=True, check=False, env=ENV).stdout, re.M))
             for p in (path, plain)]
        check(f'--strip-stacks {name}: plain perf reads all samples', n[0] == n[1] > 100, n)
    else:
        check(f'--strip-stacks {name}: plain perf # SKIP no perf', True)
    # The same as a folder.
    os.rename(path, path + '.file')
    as_folder(old, path)
    want_folder = xenflame('--offline', path, '--format=folded', '--srcline')
    check(f'--strip-stacks {name}: a folder is the same recording', want_folder[:2] == xenflame('--offline', path + '.file', '--format=folded', '--srcline')[:2])
    for more in ((), ('--anonymous',)):
        rc, _, err = xenflame('bundle', '--offline', '--strip-stacks', *more, path, '-o', out)
        os.rename(os.path.dirname(path), os.path.dirname(path) + '.away')
        with open(out, 'rb') as f:
            data = f.read()
        check(f'--strip-stacks {name}: a folder {" ".join(more)}', rc == 0 and 'look different' not in err and xenflame('--offline', out, '--format=folded', '--srcline') == want_folder and
              not any(s in data for s in stack[:50]) and (env is None or env not in data), err)
        os.rename(os.path.dirname(path) + '.away', os.path.dirname(path))
    with open(os.path.join(path, 'data.10'), 'rb+') as f:
        f.truncate(os.path.getsize(f.name) - 3)
    os.unlink(out)
    rc, _, err = xenflame('bundle', '--offline', '--strip-stacks', path, '-o', out)
    check(f'--strip-stacks {name}: a folder with a file that is cut off', rc == 1 and 'data.10' in err and not os.path.exists(out), err)
    shutil.rmtree(path)
    os.rename(path + '.file', path)
    # Damage: refused, or without the stacks all the same; a size that is not its own, a cut, a byte anywhere.
    evil_path, evil_out = os.path.join(tmp.name, 'evil.data'), os.path.join(tmp.name, 'evil-out.tar')
    spoiled = [old[:len(old) // 2], old[:40] + struct.pack('=2Q', 264, 1 << 62) + old[56:], old[:24] + struct.pack('=2Q', 1 << 40, 1 << 40) + old[40:]]
    for at in range(struct.unpack_from('=Q', old, 40)[0], len(old), len(old) // 15):
        spoiled.append(old[:at] + b'\xff' * 8 + old[at + 8:])
    bad = []
    for i, data in enumerate(spoiled):
        with open(evil_path, 'wb') as f:
            f.write(data)
        rc, _, err = xenflame('bundle', '--offline', '--strip-stacks', evil_path, '-o', evil_out)
        if rc not in (0, 1) or (rc == 1 and 'xenflame: ' not in err):
            bad.append((i, rc, err))
        elif rc == 0:
            with open(evil_out, 'rb') as f:
                made = f.read()
            if any(s in made for s in stack[::50]):
                bad.append((i, 'stack bytes left'))
    check(f'--strip-stacks {name}: damage does no harm', not bad, bad)
out = os.path.join(away, 'refused.tar')
rc, _, err = xenflame('bundle', '--offline', '--strip-stacks', os.path.join(local, 'pipe_dwarf/perf.data'), '-o', out)
check('--strip-stacks: a pipe is refused with a reason', rc == 1 and 'header at the front' in err and not os.path.exists(out), err)
rc, _, err = xenflame('bundle', '--offline', '--strip-stacks', recordings['fp'], '-o', out)
with tarfile.open(out) as tar, open(recordings['fp'], 'rb') as f:
    check('--strip-stacks: one without dumps is as it was', rc == 0 and tar.extractfile('perf.data').read() == f.read(), err)

# A separate debug file, found by its build id.
debug = os.path.join(tmp.name, 'debug/.build-id/7e')
os.makedirs(debug)
shutil.copy2(os.path.join(local, 'bin/busy_fp'), os.path.join(debug, 'e7a364c1d42720f70afc7f5448ad53e26f26e1.debug'))
out = os.path.join(away, 'separate.tar.gz')
option = '--debug-dir=' + os.path.join(tmp.name, 'debug')
rc, _, err = xenflame('bundle', '--offline', option, recordings['stripped'], '-o', out)
want = xenflame('--offline', option, recordings['stripped'], '--format=folded')
shutil.rmtree(os.path.join(tmp.name, 'debug'))
check('a separate debug file is in', rc == 0 and b'[busy_stripped' not in want[1] and
      xenflame(out, '--format=folded')[:2] == want[:2], err)
check('nothing stays behind', os.listdir(private) == [], os.listdir(private))

# The archive, by another reader.
out = os.path.join(away, 'again.tar.gz')
xenflame('bundle', '--offline', recordings['host'], '-o', out)
with open(out, 'rb') as f:
    first = f.read()
xenflame('bundle', '--offline', recordings['host'], '-o', out)
with open(out, 'rb') as f:
    check('twice the same bytes', f.read() == first)
with tarfile.open(out) as tar:
    names = tar.getnames()
    manifest = json.load(tar.extractfile(names[0]))
    check('the manifest comes first', names[0] == 'manifest.json' and manifest['format'] == 'xenflame-bundle')
    check('and lists all', [f['name'] for f in manifest['files']] == names[1:] == sorted(names[1:]), names)
    sums = {m.name: hashlib.sha256(tar.extractfile(m).read()).hexdigest() for m in tar if m.isfile()}
    check('with their sums', all(sums[f['name']] == f['sha256'] for f in manifest['files'] if 'sha256' in f))
    check('links stay inside', all(not m.linkname.startswith('/') for m in tar))
    check('what is needed is in', {'perf.data.kvm', 'xen-syms', 'kallsyms'} <= set(names), names)
    with open(os.path.join(host, 'perf.data.kvm'), 'rb') as f:
        check('the recording is as it was', sums['perf.data.kvm'] == hashlib.sha256(f.read()).hexdigest())
    where = os.path.join(tmp.name, 'unpacked')
    tar.extractall(where)
if shutil.which('perf'):
    for cache, there in ((os.path.join(where, '.debug'), True), (os.path.join(tmp.name, 'empty'), False)):
        r = subprocess.run(['perf', '--buildid-dir', cache, 'script', '-i', os.path.join(where, 'perf.data.kvm'), '-F', 'comm,ip,sym'],
                           capture_output=True, check=False, env=ENV)
        check(f"plain perf finds names {'with' if there else 'not without'} it", (b'map_protect' in r.stdout) == there and
              (b'do_mmap' in r.stdout) == there, r.stderr)
else:
    check('plain perf # SKIP no perf', True)

# Facts of the host: what doctor says of them is the same.
tree = t.transcript(t.Tree(os.path.join(tmp.name, 'tree')), 'novpmu', 'novpmu-watchdog')
tree.put('commands/xl-info', 'host                   : secret-host\nnr_cpus                : 2\n')
tree.put('commands/xl-list', 'Name     ID   Mem VCPUs      State   Time(s)\nDomain-0  0  1100     2     r-----      12.3\nsecret-guest  1  512  1  -b----  1.0\n')
tree.put('commands/uname', 'Linux secret-host 6.1.0-57-amd64 #1 SMP x86_64 GNU/Linux\n')
tree.put('commands/xl-vcpu-list', 'Name ID VCPU CPU State Time(s) Affinity\nDomain-0 0 0 0 r-- 10.1 0 / all\nsecret-guest 1 0 1 -b- 1.0 all / all\n')
tree.put('/proc/cmdline', 'root=/dev/mapper/secret--host--vg-root ro ip=10.0.0.2:::255.0.0.0:secret-host:eth0 quiet\n')
out = os.path.join(away, 'facts.tar')
rc, _, err = xenflame('bundle', '--offline', f'--sysroot={tree.path}', recordings['host'], '-o', out)
where = os.path.join(tmp.name, 'facts')
with tarfile.open(out) as tar:
    tar.extractall(where)
a, b = (xenflame('doctor', '--json', f'--sysroot={d}') for d in (tree.path, where))
check('doctor says the same of the bundle', a == b and b'dom0' in a[1], f'{a}\n{b}')
out = os.path.join(away, 'anonymous.tar')
rc, _, err = xenflame('bundle', '--offline', '--anonymous', f'--sysroot={tree.path}', recordings['host'], '-o', out)
with open(out, 'rb') as f:
    data = f.read()
check('--anonymous: no names', rc == 0 and b'secret-' not in data and b'vg-root ro ip=10.0.0.2' in data and b'Domain-0 0 0 0' in data and b'scripts/workload' not in data and b'nr_cpus' in data, err)
check('--anonymous: the same picture', xenflame('--offline', '--anonymous', out, '--format=folded')[:2] ==
      xenflame('--offline', recordings['host'], '--format=folded')[:2])
rc, _, err = xenflame('bundle', '--offline', '--anonymous', os.path.join(away, 'fp.tar.gz'), '-o', out)
check('a bundle of a bundle is refused', rc == 1 and 'already' in err, err)
rc, _, err = xenflame('bundle', '--offline', '--anonymous', recordings['pipe'], '-o', out)
check('--anonymous is refused where it cannot be done', rc == 1 and '--anonymous' in err, err)
check('report has the same words', xenflame('report', os.path.join(away, 'facts.tar')) == xenflame('report', '--offline', recordings['host']))
check('every verb reads a bundle', xenflame('report', os.path.join(away, 'facts.tar'))[0] == 0 and
      xenflame('diff', os.path.join(away, 'facts.tar'), recordings['host'], '--offline')[0] == 0)
check('usage', xenflame('bundle')[0] == 2 and xenflame('bundle', recordings['fp'], '-o', 'x.zip')[0] == 2)


# Bundles that nobody should trust.
def make(entries, manifest=None, cut=None, first='manifest.json'):
    """entries: (name, bytes) files, (name, target) links, TarInfo."""
    buf = io.BytesIO()
    with tarfile.open(fileobj=buf, mode='w', format=tarfile.USTAR_FORMAT) as tar:
        files = [{'name': e.name if isinstance(e, tarfile.TarInfo) else e[0],
                  'sha256': hashlib.sha256(e[1]).hexdigest() if not isinstance(e, tarfile.TarInfo) and isinstance(e[1], bytes) else ''}
                 for e in entries]
        m = manifest if manifest is not None else json.dumps({'format': 'xenflame-bundle', 'recording': 'a.folded', 'files': files}).encode()
        for e in [(first, m), *entries]:
            if isinstance(e, tarfile.TarInfo):
                tar.addfile(e)
                continue
            i = tarfile.TarInfo(e[0])
            if isinstance(e[1], bytes):
                i.size = len(e[1])
                tar.addfile(i, io.BytesIO(e[1]))
            else:
                i.type, i.linkname = tarfile.SYMTYPE, e[1]
                tar.addfile(i)
    return buf.getvalue()[:cut]


def info(name, **kw):
    i = tarfile.TarInfo(name)
    for k, v in kw.items():
        setattr(i, k, v)
    return i


good = ('a.folded', b'a;b 1\n')
path = os.path.join(tmp.name, 'evil.tar')
outside = os.path.join(tmp.name, 'outside')
os.mkdir(outside)


def evil(what, data, rx=None):
    with open(path, 'wb') as f:
        f.write(data)
    rc, out, err = xenflame(path, '--format=folded')
    ok = rc == 0 and out == b'a;b 1\n' if rx is None else rc == 1 and rx in err
    check(what, ok and os.listdir(outside) == [] and os.listdir(private) == [], (rc, out, err, os.listdir(outside), os.listdir(private)))


evil('a good one', make([good]))
evil('gzip', gzip.compress(make([good])))
evil('a name that leads up', make([good, ('../outside/x', b'x')]), 'manifest')
evil('a name that leads up later', make([good, ('a/../../outside/x', b'x')]), 'manifest')
evil('an absolute name', make([good, (outside + '/x', b'x')]), 'manifest')
evil('a link that leads up', make([good, ('l', '../outside')]), 'leads out')
evil('an absolute link', make([good, ('l', outside)]), 'leads out')
evil('a link that leads up in the middle', make([good, ('d/l', 'x/../../outside')]), 'leads out')
evil('a file through a link', make([good, ('l', 'd'), ('l/x', b'x')]), 'link')
evil('a link through a link', make([good, ('a/b', 'c'), ('a/b/x', '../../y')]), 'link')
evil('twice the same file', make([good, good]), 'cannot write')
evil('a device', make([good, info('dev', type=tarfile.CHRTYPE, devmajor=1, devminor=3)]), 'none that a bundle may hold')
evil('a hard link', make([good, info('h', type=tarfile.LNKTYPE, linkname='/etc/passwd')]), 'none that a bundle may hold')
evil('not in the manifest', make([good, ('x', b'x')], json.dumps({'files': [{'name': 'a.folded', 'sha256': hashlib.sha256(good[1]).hexdigest()}]}).encode()),
     'not in its manifest')
evil('a wrong sum', make([good], json.dumps({'files': [{'name': 'a.folded', 'sha256': '0' * 64}], 'recording': 'a.folded'}).encode()), 'sum')
evil('a manifest that is none', make([good], b'[]'), 'manifest')
evil('no recording named', make([good], json.dumps({'files': [{'name': 'a.folded', 'sha256': hashlib.sha256(good[1]).hexdigest()}]}).encode()),
     'names no recording')
evil('a recording outside', make([good], json.dumps({'files': [{'name': 'a.folded', 'sha256': hashlib.sha256(good[1]).hexdigest()}],
                                                     'recording': '../../etc/passwd'}).encode()), 'names no recording')
evil('the recording is a link', make([good, ('r', 'a.folded')], json.dumps({'recording': 'r', 'files': [
    {'name': 'a.folded', 'sha256': hashlib.sha256(good[1]).hexdigest()}, {'name': 'r'}]}).encode()), 'names no recording')
whole = make([good])
for cut in (1024 + 100, 1536, 2048, 2100):
    evil(f'cut off at {cut}', whole[:cut], 'damaged')
evil('gzip cut off', gzip.compress(whole)[:-60], 'damaged')
huge = bytearray(make([good]))
at = huge.index(b'a.folded\0')
huge[at + 124:at + 136] = b'77777777777\0'
huge[at + 148:at + 156] = b'        '
huge[at + 148:at + 156] = b'%06o\0 ' % sum(huge[at:at + 512])
evil('a size that is not there', bytes(huge), 'damaged')
done()
