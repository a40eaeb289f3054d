#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Other tools' profiles as input: what we export is read back with the same stacks; small files as others write them; damaged ones. TAP."""
import glob
import gzip
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'tools'))
from tap import CORPUS, HOST, TOP, XENFLAME, done, ok  # noqa: E402

tmp = tempfile.TemporaryDirectory()


def run(*args):
    verb = [args[0]] if args[0] == 'diff' else []
    r = subprocess.run([XENFLAME, *verb, '-q', '--offline', *args[len(verb):]], capture_output=True, check=False, timeout=300)
    return r.returncode, r.stdout, r.stderr.decode(errors='replace')


def path(name, content=None):
    p = os.path.join(tmp.name, name)
    if content is not None:
        with open(p, 'wb') as f:
            f.write(content if isinstance(content, bytes) else json.dumps(content).encode())
    return p


def folded(source, *options):
    rc, out, err = run(source, '--format=folded', *options)
    return sorted(out.split(b'\n')[:-1]) if rc == 0 else f'exit {rc}: {err}'


FORMATS = ('speedscope', 'json', 'd3', 'pprof', 'firefox')
sources = [HOST]
for pattern in ('**/*.data', '**/*.data.kvm', 'local/variants/*.txt', 'public/*/*.txt'):
    sources += sorted(glob.glob(os.path.join(CORPUS, pattern), recursive=True))

compared = 0
for source in sources:
    name = os.path.relpath(source, TOP)
    for options in ((), ('--event=all', '--annotate=all')):
        first = folded(source, *options)
        if isinstance(first, str):
            continue        # recordings that hold nothing to draw have tests of their own
        if options and b'[' not in b''.join(first):
            continue
        for fmt in FORMATS:
            if options and fmt == 'd3':
                continue        # has no events
            target = path(f'x.{fmt}')
            rc, out, err = run(source, f'--format={fmt}', '-o', target, *options)
            again = folded(target, *options) if rc == 0 else err
            if ok(again == first, f'{name} {" ".join(options)}: {fmt}, {len(first)} stacks',
                  again if isinstance(again, str) else '\n'.join([f'missing {x!r}' for x in first if x not in again][:4] +
                                                                 [f'more {x!r}' for x in again if x not in first][:4])):
                compared += len(first)
ok(compared > 5000, f'{compared} stacks were compared')

# Lines of the sources: pictures and text have them too.
lines = folded(sources[0], '--srcline')
ok(len(lines) > len(folded(sources[0])), f'{len(lines)} stacks with --srcline')
for fmt in (*FORMATS, 'svg', 'html', 'perf-script', 'folded'):
    target = path(f'x.{fmt}')
    rc, out, err = run(sources[0], '--srcline', f'--format={fmt}', '-o', target)
    again = folded(target, '--srcline')
    ok(again == lines, f'--srcline: {fmt}', again if isinstance(again, str) else [x for x in again if x not in lines][:3])

# As others write them.
scope = {'$schema': 'https://www.speedscope.app/file-format-schema.json', 'shared': {'frames': [{'name': 'main'}, {'name': 'f;g', 'file': 'a.c', 'line': 3}, {'name': 'h_[h]'}]},
         'profiles': [{'type': 'sampled', 'name': 'one', 'unit': 'none', 'startValue': 0, 'endValue': 6, 'samples': [[0, 1], [0], [0, 1, 2], [0, 1]], 'weights': [1, 2, 3, 4]},
                      {'type': 'sampled', 'name': 'two', 'unit': 'none', 'startValue': 0, 'endValue': 1, 'samples': [[2]], 'weights': [7]}]}
ok(folded(path('a.json', scope)) == [b'main 2', b'main;f%3bg 5', b'main;f%3bg;h_[h] 3'], 'speedscope, sampled', folded(path('a.json')))
ok(folded(path('a.json'), '--event=two') == [b'h_[h] 7'], 'and its second profile', folded(path('a.json'), '--event=two'))
ok(folded(path('bom.json', b'\xef\xbb\xbf \n' + json.dumps(scope, indent=1).encode())) == folded(path('a.json')), 'with a byte order mark and blanks')
ev = dict(scope, profiles=[{'type': 'evented', 'name': 't1', 'unit': 'milliseconds', 'startValue': 0, 'endValue': 9, 'events': [
    {'type': 'O', 'frame': 0, 'at': 1.5}, {'type': 'O', 'frame': 1, 'at': 2}, {'type': 'C', 'frame': 1, 'at': 4.25}, {'type': 'C', 'frame': 0, 'at': 5}]},
    {'type': 'evented', 'name': 't2', 'unit': 'milliseconds', 'startValue': 0, 'endValue': 9, 'events': [
        {'type': 'O', 'frame': 0, 'at': 0}, {'type': 'C', 'frame': 0, 'at': 1}]}])
ok(folded(path('ev.json', ev)) == [b'main 2.25', b'main;f%3bg 2.25'], 'speedscope, evented: time between events, threads added up', folded(path('ev.json')))
tree = {'name': 'root', 'value': 10, 'children': [{'name': 'a', 'value': 7, 'children': [{'name': 'b', 'value': 3}, {'name': 'k', 'value': 1, 'libtype': 'kernel', 'children': []}]},
                                                  {'name': 'c', 'value': 3}]}
ok(folded(path('t.json', tree)) == [b'a 3', b'a;b 3', b'a;k 1', b'c 3'], 'd3', folded(path('t.json')))
ok(folded(path('t.json'), '--annotate=all') == [b'a 3', b'a;b 3', b'a;k_[k] 1', b'c 3'], 'd3: libtype is the space', folded(path('t.json'), '--annotate=all'))
rc, out, err = run('diff', path('t.json'), path('a.json'), '--format=folded')
ok(rc == 0 and out, 'profiles of two tools are compared', err)

# A comparison keeps both columns.
one, two = path('1.folded', b'a;b 3\na;c 4\n'), path('2.folded', b'a;b 5\na;d 1\n')
rc, out, err = run('diff', one, two, '-o', path('d.json'))
want = sorted(run('diff', one, two, '--format=folded')[1].split(b'\n')[:-1])
ok(rc == 0 and len(want) == 3 and folded(path('d.json')) == want, 'a comparison in our JSON', (folded(path('d.json')), want))

# Firefox Profiler: the same two threads as versions of its format have them.
def columns(length=None, **cols):
    return dict(cols, length=len(next(iter(cols.values()))) if length is None else length)


STRINGS = ['main', 'read', 'ksys_read', '0x1f40', 'libc.so.6', 'src/main.c', 'do_mmu_update_[h]']
CATEGORIES = [{'name': n, 'color': c, 'subcategories': ['Other']} for n, c in (('Other', 'grey'), ('User', 'yellow'), ('Kernel', 'orange'))]
LIBS = [{'name': 'libc.so.6', 'path': '/usr/lib/libc.so.6'}, {'name': 'prog', 'path': ''}]
FRAMES = columns(address=[-1] * 5, inlineDepth=[0, 0, 0, 0, 1], category=[1, 1, 2, 1, None], subcategory=[0, 0, 0, 0, None], func=[0, 1, 2, 3, 4],
                 line=[7, None, None, None, None])
FUNCS = columns(name=[0, 1, 2, 3, 6], resource=[-1, 0, -1, 0, -1], isJS=[False] * 5, fileName=[5, None, None, None, None])
RESOURCES = columns(lib=[0], name=[4], host=[None], type=[1])
PREFIX = [None, 0, 1, 1, 2]        # main; main,read; main,read,ksys_read; main,read,[libc+0x1f40]; …,ksys_read,do_mmu_update
STACKS = columns(frame=[0, 1, 2, 3, 4], prefix=PREFIX)


def threads(**more):
    return [dict(name='worker', processName='prog', pid='7', tid=8, samples=columns(stack=[2, None, 3, 2], time=[1, 2, 3, 4], weight=[1, 2, 3, 4], weightType='samples'), **more),
            dict(name='prog', processName='prog', pid='7', tid=7, samples=columns(stack=[4, 0], time=[1, 2], weight=None, weightType='samples'), **more)]


def firefox(version, thread_tables=None, shared=None, **more):
    return dict({'meta': {'interval': 1, 'version': 20, 'preprocessedProfileVersion': version, 'categories': CATEGORIES}, 'threads': threads(**(thread_tables or {}))},
                **dict({'shared': shared} if shared else {}, **more))


old = {'stackTable': STACKS, 'frameTable': FRAMES, 'funcTable': FUNCS, 'resourceTable': RESOURCES, 'nativeSymbols': columns(name=[])}
sources = columns(filename=[5], id=[None])
funcs58 = {k: v for k, v in FUNCS.items() if k != 'fileName'} | {'source': [0, None, None, None, None]}
new = dict(old, funcTable=funcs58, sources=sources, stringArray=STRINGS)
offsets = columns(frame=STACKS['frame'], prefixOffset=[0 if p is None else i - p for i, p in enumerate(PREFIX)])
versions = {
    20: firefox(20, dict(old, stringTable=STRINGS, libs=LIBS)), 40: firefox(40, dict(old, stringArray=STRINGS, libs=LIBS)), 41: firefox(41, dict(old, stringArray=STRINGS), libs=LIBS),
    56: firefox(56, old, {'stringArray': STRINGS}, libs=LIBS), 58: firefox(58, dict(old, funcTable=funcs58), {'stringArray': STRINGS, 'sources': sources}, libs=LIBS),
    60: firefox(60, None, new, libs=LIBS), 66: firefox(66, None, dict(new, stackTable=offsets), libs=LIBS),
    70: firefox(70, None, dict(new, stackTable=offsets, frameTable=dict(FRAMES, lib=[-1, 0, -1, 0, -1]), resourceTable=columns(name=[4], host=[None], type=[1])), libs=LIBS),
}
want = [b'prog;main 1', b'prog;main;read;ksys_read_[k];do_mmu_update_[h] 1', b'prog;worker 2', b'prog;worker;main;read;[libc.so.6+0x1f40] 3', b'prog;worker;main;read;ksys_read_[k] 5']
for version, profile in versions.items():
    got = folded(path('f.json', profile), '--annotate=all')
    ok(got == want, f'Firefox Profiler, version {version}', got)
ok(folded(path('f.json.gz', gzip.compress(json.dumps(versions[66]).encode()))) == [x.replace(b'_[k]', b'') for x in want], 'and gzipped', folded(path('f.json.gz')))
rc, out, err = run(path('f.json', versions[66]), '--format=json')
frames = {f['function']: f for f in json.loads(out)['frames']} if rc == 0 else {}
ok(rc == 0 and (frames['main'].get('file'), frames['main'].get('line'), frames['read']['module'], frames['ksys_read']['space'], frames['do_mmu_update']['space'],
                'inlined' in frames['do_mmu_update'].get('flags', [])) == ('src/main.c', 7, 'libc.so.6', 'kernel', 'hypervisor', True), 'and its files, lines, modules, spaces', frames or err)
mixed = firefox(66, None, dict(new, stackTable=offsets), libs=LIBS)
mixed['threads'][1]['samples'].update(weight=[0.25, 2.5], weightType='tracing-ms')
ok(folded(path('f.json', mixed), '--event=tracing-ms', '--annotate=all') == [b'prog;main 2.5', b'prog;main;read;ksys_read_[k];do_mmu_update_[h] 0.25'], 'another kind of weight is another event',
   folded(path('f.json', mixed), '--event=tracing-ms', '--annotate=all'))
mixed['threads'][0]['nativeAllocations'] = columns(stack=[1, 2], weight=[8, -8], time=[1, 2])
for i, names in enumerate(([0, 1, 2], [1])):
    mixed['threads'][i]['markers'] = columns(name=names, data=[None] * len(names), startTime=[1] * len(names), endTime=[None] * len(names), phase=[0] * len(names))
mixed['counters'] = [{'name': 'malloc', 'category': 'Memory', 'samples': columns(count=[1, 2], time=[1, 2])}]
r = subprocess.run([XENFLAME, '--offline', path('f.json', mixed), '--format=folded'], capture_output=True, check=False, timeout=60)
ok(r.returncode == 0 and b'left out: 2 allocations, 4 markers, 1 counters; ' in r.stderr, 'allocations, markers and counters are left out and told', r.stderr)
r = subprocess.run([XENFLAME, '--offline', path('f.json', versions[66]), '--format=folded'], capture_output=True, check=False, timeout=60)
ok(r.returncode == 0 and b'left out' not in r.stderr and b'newer' not in r.stderr, 'and nothing is told where there are none', r.stderr)
newer = dict(versions[70], meta=dict(versions[70]['meta'], preprocessedProfileVersion=71))
r = subprocess.run([XENFLAME, '--offline', path('f.json', newer), '--format=folded'], capture_output=True, check=False, timeout=60)
ok(r.returncode == 0 and b'newer than 70' in r.stderr, 'a version that is not known yet is told', r.stderr)

# What must not be believed.
deep = b'{"name":"r","value":1,"children":[' * 3000 + b']}' * 3000
bad = {
    'nesting beyond bounds': deep, 'an array': b'[1, 2]', 'half a file': json.dumps(scope).encode()[:-40],
    'weights missing': dict(scope, profiles=[dict(scope['profiles'][0], weights=[1])]),
    'a profile of another type': dict(scope, profiles=[{'type': 'x'}]),
    'no frames': dict(scope, shared={}),
    'time that goes back': dict(ev, profiles=[dict(ev['profiles'][0], events=[{'type': 'O', 'frame': 0, 'at': 5}, {'type': 'C', 'frame': 0, 'at': 4}])]),
    'a frame closed that is not open': dict(ev, profiles=[dict(ev['profiles'][0], events=[{'type': 'C', 'frame': 0, 'at': 4}])]),
    'our JSON of another version': {'format': 'xenflame-profile', 'version': 2},
    'our JSON with a parent behind its node': {'format': 'xenflame-profile', 'version': 1, 'frames': [{'function': 'f', 'space': 'user'}], 'event': 0, 'events': [],
                                               'nodes': {'frame': [None, 0, 0], 'parent': [None, 2, 1], 'self': [0, 1, 1], 'total': [2, 1, 1]}},
    'our JSON with columns of two lengths': {'format': 'xenflame-profile', 'version': 1, 'frames': [], 'event': 0, 'events': [], 'nodes': {'frame': [None], 'parent': [], 'self': [0]}},
    'a number that is too large': b'{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"a"}]},"profiles":[{"type":"sampled","samples":[[0]],"weights":[99999999999999999999]}]}',
}
def changed(version, fn):
    p = json.loads(json.dumps(versions[version]))
    fn(p)
    return p


def endless(n):
    """Many threads with the same long stack."""
    p = firefox(66, None, dict(new, stackTable=columns(frame=[0] * n, prefixOffset=[0] + [1] * (n - 1))), libs=LIBS)
    p['threads'] = [dict(p['threads'][0], samples=columns(stack=[n - 1], time=[0], weight=[1]))] * 800
    return p


bad.update({
    'Firefox Profiler: no tables': changed(66, lambda p: p['shared'].update(stackTable={})),
    'Firefox Profiler: columns of two lengths': changed(66, lambda p: p['shared']['stackTable']['prefixOffset'].pop()),
    'Firefox Profiler: no strings': changed(40, lambda p: p['threads'][1].pop('stringArray')),
    'Firefox Profiler: no samples': changed(40, lambda p: p['threads'][1].pop('samples')),
    'Firefox Profiler: weights missing': changed(66, lambda p: p['threads'][0]['samples']['weight'].pop()),
    'Firefox Profiler: no threads': changed(66, lambda p: p.pop('threads')),
    'Firefox Profiler: as Firefox makes it': changed(66, lambda p: p['meta'].pop('preprocessedProfileVersion')),
    'Firefox Profiler: frames without end': endless(90000),
})
for what, content in bad.items():
    rc, out, err = run(path('bad.json', content), '--format=folded')
    ok(rc == 1 and err.startswith('xenflame: ') and not out, f'refused: {what}', (rc, out[:80], err))
for what, profile in (('frames out of range', {'samples': [[0, 99], [0]], 'weights': [1, 2]}), ('weights below 0', {'samples': [[0, 1], [0]], 'weights': [-1, 2]}),
                      ('weights that are no numbers', {'samples': [[0, 1], [0]], 'weights': ['x', 2]}), ('a stack that is none', {'samples': [5, [0]], 'weights': [1, 2]})):
    p = path('part.json', dict(scope, profiles=[dict(scope['profiles'][0], **profile)]))
    r = subprocess.run([XENFLAME, '--offline', p, '--format=folded'], capture_output=True, check=False, timeout=60)
    ok((r.returncode, r.stdout) == (0, b'main 2\n') and b'1 stack without' in r.stderr, f'left out and told: {what}', (r.stdout, r.stderr))
for what, fn in (('a stack out of range', lambda p: p['threads'][0]['samples'].update(stack=[2, None, 99, 2])), ('a parent behind its stack', lambda p: p['shared']['stackTable']['prefixOffset'].__setitem__(3, -1)),
                 ('a parent before the first stack', lambda p: p['shared']['stackTable']['prefixOffset'].__setitem__(3, 4)), ('a frame out of range', lambda p: p['shared']['stackTable']['frame'].__setitem__(3, 9)),
                 ('a weight that is none', lambda p: p['threads'][0]['samples'].update(weight=[1, 2, '3', 4]))):
    r = subprocess.run([XENFLAME, '--offline', path('part.json', changed(66, fn)), '--format=folded', '--annotate=all'], capture_output=True, check=False, timeout=60)
    ok((r.returncode, sorted(r.stdout.split(b'\n')[:-1])) == (0, [x for x in want if b'0x1f40' not in x]) and b'1 stack without' in r.stderr, f'Firefox Profiler, left out and told: {what}', (r.stdout, r.stderr))
# pprof, by hand: two sample types, packed and single numbers, an inlined function, a location without functions.
def varint(v):
    out = b''
    while v >= 0x80:
        out += bytes([v & 0x7f | 0x80])
        v >>= 7
    return out + bytes([v])


def num(n, v):
    return varint(n << 3) + varint(v)


def msg(n, b):
    return varint(n << 3 | 2) + varint(len(b)) + b


strings = ['', 'samples', 'count', 'cpu', 'main', 'inner', 'outer', '/usr/lib/libx.so', 'a.c']
body = (msg(1, num(1, 1) + num(2, 2)) + msg(1, num(1, 3) + num(2, 2)) +
        msg(2, msg(1, varint(77) + varint(5)) + msg(2, varint(3) + varint(30))) + msg(2, num(1, 9) + num(1, 5) + num(2, 1) + num(2, 0)) +
        msg(3, num(1, 2) + num(5, 7)) + msg(4, num(1, 5) + msg(4, num(1, 1))) +
        msg(4, num(1, 77) + num(2, 2) + msg(4, num(1, 2) + num(2, 12)) + msg(4, num(1, 3))) + msg(4, num(1, 9) + num(2, 2) + num(3, 0x1234)) +
        msg(5, num(1, 1) + num(2, 4)) + msg(5, num(1, 2) + num(2, 5) + num(4, 8)) + msg(5, num(1, 3) + num(2, 6)) +
        b''.join(msg(6, x.encode()) for x in strings))
ok(folded(path('h.pb', body)) == [b'main;[libx.so+0x1234] 1', b'main;outer;inner 3'], 'pprof, by hand', folded(path('h.pb')))
ok(folded(path('h.pb'), '--event=cpu') == [b'main;outer;inner 30'], 'and its second sample type', folded(path('h.pb'), '--event=cpu'))
for what, content in (('half a file', body[:len(body) // 2]), ('a value too few', body + msg(2, num(1, 5) + num(2, 1))), ('an endless number', body + b'\xff' * 12),
                      ('a length beyond the end', body + b'\x12\x7f')):
    rc, out, err = run(path('bad.pb', content), '--format=folded', '--input-format=pprof')
    ok(rc == 1 and err.startswith('xenflame: ') and not out, f'pprof refused: {what}', (rc, out[:80], err))
crashes = []
for i in range(0, len(body), 2):
    for c in (0, 0x7f, 0x80, 0xff):
        rc, out, err = run(path('fuzz.pb', body[:i] + bytes([c]) + body[i + 1:]), '--format=folded', '--input-format=pprof')
        if rc not in (0, 1) or (rc == 1 and not err):
            crashes.append((i, c, rc))
ok(not crashes, 'damaged bytes of pprof do no harm', crashes)
# Bytes changed one by one: an answer each time, never a crash.
for what, profile in (('speedscope', scope), ('Firefox Profiler', versions[66])):
    data = bytearray(json.dumps(profile).encode())
    crashes = []
    for i in range(0, len(data), 7 if what == 'speedscope' else 23):
        for c in b'0]"\xff':
            one = bytearray(data)
            one[i] = c
            rc, out, err = run(path('fuzz.json', bytes(one)), '--format=folded')
            if rc not in (0, 1) or (rc == 1 and not err):
                crashes.append((i, c, rc))
    ok(not crashes, f'damaged bytes of {what} do no harm', crashes)
done()
