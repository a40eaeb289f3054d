#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pprof and OpenTelemetry files, decoded by protoc: every weight and name, labels, tables. TAP."""
import collections
import gzip
import os
import subprocess
import sys
import tempfile
import urllib.parse

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'tools'))
from tap import FIXTURE, HOST, XENFLAME, done, ok, skip_all  # noqa: E402
import protoc  # noqa: E402

if protoc.missing:
    skip_all('protoc is not installed')


def fixture(*args):
    return subprocess.run([FIXTURE, *args], stdout=subprocess.PIPE, check=True).stdout


def expected(what):
    """What was put in, by event."""
    out = collections.defaultdict(dict)
    for line in fixture('expect', what).decode().splitlines():
        event, weight, _, frames = line.split('\t')
        # Both formats take only valid UTF-8.
        key = tuple(bytes.fromhex(f).replace(b'\xff', b'\xef\xbf\xbd') for f in frames.split(','))
        if int(weight):
            out[event.encode()][key] = out[event.encode()].get(key, 0) + int(weight)
    return dict(out)


def convert(fmt, *options):
    return subprocess.run([XENFLAME, '-q', '--offline', HOST, f'--format={fmt}', *options], stdout=subprocess.PIPE, check=True).stdout


def folded(*options):
    out = {}
    for line in convert('folded', *options).split(b'\n')[:-1]:
        stack, n = line.rsplit(b' ', 1)
        out[tuple(urllib.parse.unquote_to_bytes(f) for f in stack.split(b';'))] = int(n)
    return out


for what in ('plain', 'stacks', 'hostile', 'big'):
    want = expected(what)
    p = protoc.decode('pprof.proto', 'Pprof', gzip.decompress(fixture('pprof', what)))
    got = protoc.pprof_stacks(p)
    ok(got == want, f'pprof, {what}: {sum(map(len, want.values()))} stacks', [(e, k) for e in want for k in want[e] if got.get(e, {}).get(k) != want[e][k]][:3])
    tables = [[x.one('id') for x in p[t]] for t in ('mapping', 'location', 'function')]
    ok(all(x == list(range(1, len(x) + 1)) for x in tables), f'pprof, {what}: numbers from 1 on, without gaps', tables)
    r = protoc.decode('otlp.proto', 'Request', fixture('otlp', what))
    d = r['dictionary'][0]
    profiles = r['resource_profiles'][0]['scope_profiles'][0]['profile']
    got = {d['string'][x['type'][0].one('type')]: protoc.otlp_stacks(d, x) for x in profiles}
    ok(got == want, f'OTLP, {what}: the same', [(e, k) for e in want for k in want[e] if got.get(e, {}).get(k) != want[e][k]][:3])
    ok(not protoc.otlp_wrong(d), f'OTLP, {what}: tables', protoc.otlp_wrong(d))
    refers = collections.Counter(i for x in profiles for s in x['sample'] for i in s['attribute']) + collections.Counter(i for x in profiles for i in x['attribute']) + \
        collections.Counter(i for x in d['location'] for i in x['attribute'])
    ok(set(refers) == set(range(1, len(d['attribute']))), f'OTLP, {what}: all attributes are referred to')
    ok({s.one('stack') for x in profiles for s in x['sample']} | {0} == set(range(len(d['stack']))) and
       {i for x in d['stack'] for i in x['location']} | {0} == set(range(len(d['location']))) and
       {x.one('function') for loc in d['location'] for x in loc['line']} | {0} == set(range(len(d['function']))) and
       {x.one('mapping') for x in d['location']} | {0} == set(range(len(d['mapping']))), f'OTLP, {what}: so are all stacks, locations, functions and mappings')
    identity = [(s.one('stack'), tuple(sorted(s['attribute']))) for x in profiles[:1] for s in x['sample']]
    ok(len(identity) == len(set(identity)), f'OTLP, {what}: a stack with the same attributes stands once')

# Details of the last "plain".
r = protoc.decode('otlp.proto', 'Request', fixture('otlp', 'plain'))
d, scope = r['dictionary'][0], r['resource_profiles'][0]['scope_profiles'][0]
resource = {a['key'][0].decode(): a['value'][0]['text'][0].decode() for a in r['resource_profiles'][0]['resource'][0]['attribute']}
ok(resource == {'service.name': 'xenflame', 'host.name': 'dom0 "x"'}, 'resource', resource)
ok(scope['scope'][0]['name'] == [b'xenflame'] and scope['scope'][0]['version'], 'scope', scope['scope'])
ok([d['string'][x['type'][0].one('unit')] for x in scope['profile']] == [b'cycles', b'cycles'] and all(x.one('duration') > 0 for x in scope['profile']), 'units and duration')
ok([protoc.otlp_attributes(d, x['attribute']) for x in scope['profile']] == [{'xenflame.event': e, 'xenflame.quality.lost': 3} for e in ('cycles', 'faults')], 'attributes of a profile')
wrong = 0
types, inlined = set(), 0
for s in scope['profile'][0]['sample']:
    a, frames = protoc.otlp_attributes(d, s['attribute']), protoc.otlp_frames(d, s.one('stack'))
    wrong += a['thread.name'].encode() != frames[0] or not (100 <= a['process.pid'] < 105 and 100 <= a['thread.id'] < 107 and 0 <= a['cpu.logical_number'] < 4)
    for loc in d['stack'][s.one('stack')]['location']:
        loc = d['location'][loc]
        names = [d['string'][d['function'][x.one('function')].one('name')] for x in loc['line']]
        kind = protoc.otlp_attributes(d, loc['attribute']).get('profile.frame.type')
        types.add(kind)
        module = d['string'][d['mapping'][loc.one('mapping')].one('file')]
        fn = d['function'][loc['line'][-1].one('function')]
        if names[-1] == b'do_mmu_update_[h]':
            wrong += (kind, module, d['string'][fn.one('file')], d['string'][fn.one('system_name')], loc['line'][-1].one('line')) != \
                ('hypervisor', b'xen-syms', b'arch/x86/mm.c', b'do_mmu_update', 102)
            inlined += names[0] == b'get_page_from_l1e_[h]'
        elif names[-1] == b'ksys_read':
            wrong += (kind, module, loc['line'][0].one('line')) != ('kernel', b'[kernel.kallsyms]', 0)
        elif kind is None:
            wrong += names != [frames[0]] or module != b''
ok(wrong == 0, 'attributes, mappings, files and lines')
ok(types == {'hypervisor', 'kernel', 'native', None} and inlined > 0, 'types of frames, and inlined functions', (types, inlined))

# A recording, with groups.
want = folded('--group=domain,cpu')
p = protoc.decode('pprof.proto', 'Pprof', gzip.decompress(convert('pprof', '--group=domain,cpu')))
ok(list(protoc.pprof_stacks(p).values()) == [want], f'pprof of a recording: {len(want)} stacks')
r = protoc.decode('otlp.proto', 'Request', convert('otlp', '--group=domain,cpu'))
d = r['dictionary'][0]
profile, = r['resource_profiles'][0]['scope_profiles'][0]['profile']
ok(protoc.otlp_stacks(d, profile) == want, 'OTLP of a recording: the same')
ok(not protoc.otlp_wrong(d), 'and its tables', protoc.otlp_wrong(d))
wrong = []
seen = set()
by_stack = {}
for s in p['sample']:
    a = protoc.pprof_labels(p, s)
    locations = {x.one('id'): x for x in p['location']}
    functions = {x.one('id'): x for x in p['function']}
    frames = [p['string'][functions[locations[i]['line'][0].one('function')].one('name')].decode() for i in reversed(s['location'])]
    seen.add((a['domain'], a['space']))
    if (a['domain'], f"cpu {a.get('cpu')}") != (frames[0], frames[1]) or (frames[2] in ('[xen]', '[guest]')) == ('comm' in a) or a.get('comm', frames[2]) != frames[2]:
        wrong.append((a, frames[:4]))
ok(not wrong, 'labels of pprof are what --group says', wrong[:3])
ok({'dom0', 'idle'} == {x[0] for x in seen} and {'hypervisor', 'kernel', 'user'} == {x[1] for x in seen}, 'domains and spaces', seen)
otlp = collections.Counter(tuple(sorted((k, str(v)) for k, v in protoc.otlp_attributes(d, s['attribute']).items())) for s in profile['sample'])
NAMES = {'comm': 'thread.name', 'domain': 'xenflame.domain', 'space': 'xenflame.space', 'cpu': 'cpu.logical_number', 'pid': 'process.pid', 'tid': 'thread.id'}
pprof = collections.Counter(tuple(sorted((NAMES[k], str(v)) for k, v in protoc.pprof_labels(p, s).items())) for s in p['sample'])
ok(otlp == pprof, 'attributes of OTLP are the labels of pprof', list((otlp - pprof).items())[:3])
# Without groups the same is known of each sample but of those in no process.
p = protoc.decode('pprof.proto', 'Pprof', gzip.decompress(convert('pprof')))
have = collections.Counter(tuple(sorted(protoc.pprof_labels(p, s))) for s in p['sample'])
# (A sample of a task that is just ending has pid -1.)
ok(set(have) == {('comm', 'cpu', 'domain', 'pid', 'space', 'tid'), ('cpu', 'domain', 'pid', 'space', 'tid'), ('comm', 'cpu', 'domain', 'space')}, 'labels of each sample', have)
domains = collections.Counter(protoc.pprof_labels(p, s)['domain'] for s in p['sample'] for _ in range(s['value'][0]))
grouped = collections.Counter()
for stack, n in want.items():
    grouped[stack[0].decode()] += n
ok(domains == grouped, 'domains without --group are those with it', (domains, grouped))
# A bundle holds the recording: the same of it, with its groups.
with tempfile.TemporaryDirectory() as tmp:
    bundle = os.path.join(tmp, 'b.tar.gz')
    made = subprocess.run([XENFLAME, 'bundle', '-q', '--offline', HOST, '-o', bundle], capture_output=True, check=False)
    if made.returncode:
        ok(False, 'a bundle', made.stderr.decode())
    for fmt, options in (('pprof', ()), ('pprof', ('--group=domain,cpu',)), ('otlp', ('--group=cpu',))):
        run = subprocess.run([XENFLAME, '-q', '--offline', bundle, f'--format={fmt}', *options], capture_output=True, check=False)
        if fmt == 'pprof':
            again = protoc.decode('pprof.proto', 'Pprof', gzip.decompress(run.stdout)) if run.returncode == 0 else {}
            first = protoc.decode('pprof.proto', 'Pprof', gzip.decompress(convert(fmt, *options)))
            same = again and protoc.pprof_stacks(again) == protoc.pprof_stacks(first) and [protoc.pprof_labels(again, s) for s in again['sample']] == [protoc.pprof_labels(first, s) for s in first['sample']]
        else:
            d = protoc.decode('otlp.proto', 'Request', run.stdout)
            x = d['resource_profiles'][0]['scope_profiles'][0]['profile'][0]
            same = protoc.otlp_stacks(d['dictionary'][0], x) == folded(*options)
        ok(same, f'{fmt} of a bundle {" ".join(options)}', (run.returncode, run.stderr.decode()))
linux = subprocess.run([XENFLAME, '-q', '-', '--format=pprof'], input=b'app;main 3\n', stdout=subprocess.PIPE, check=True).stdout
p = protoc.decode('pprof.proto', 'Pprof', gzip.decompress(linux))
ok([protoc.pprof_labels(p, s) for s in p['sample']] == [{'comm': 'app', 'space': 'user'}], 'no domain where nothing tells a Xen host', [protoc.pprof_labels(p, s) for s in p['sample']])
done()
