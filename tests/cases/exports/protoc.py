# SPDX-License-Identifier: GPL-2.0-or-later
"""Messages of protocol buffers as protoc decodes and encodes them, by our own .proto files beside this one."""
import os
import re
import shutil
import subprocess

here = os.path.dirname(os.path.abspath(__file__))
missing = shutil.which('protoc') is None
ESCAPES = {'n': b'\n', 'r': b'\r', 't': b'\t', '"': b'"', "'": b"'", '\\': b'\\'}


def protoc(mode, proto, message, data):
    return subprocess.run(['protoc', f'-I{here}', f'--{mode}={message}', proto], input=data, stdout=subprocess.PIPE, check=True, timeout=120).stdout


def text(s):
    return re.sub(rb'\\([0-7]{1,3}|.)', lambda m: bytes([int(m[1], 8)]) if m[1][:1].isdigit() else ESCAPES[m[1].decode()], s)


class Message(dict):
    """Fields by name, each a list; those not there are empty. A field without a name in the .proto has a number for one."""

    def __missing__(self, key):
        return []

    def one(self, key, default=0):
        return self[key][0] if self[key] else default


def decode(proto, message, data):
    stack = [Message()]
    for line in protoc('decode', proto, message, data).split(b'\n'):
        line = line.strip()
        if line.endswith(b' {'):
            m = Message()
            stack[-1].setdefault(line[:-2].decode(), []).append(m)
            stack.append(m)
        elif line == b'}':
            stack.pop()
        elif line:
            key, value = line.split(b': ', 1)
            assert not key.isdigit(), f'{proto} does not know field {key!r} of {message}'
            value = text(value[1:-1]) if value.startswith(b'"') else value == b'true' if value in (b'true', b'false') else int(value, 0)
            stack[-1].setdefault(key.decode(), []).append(value)
        assert not (line[:1].isdigit() and b' {' in line), f'{proto} does not know {line!r} of {message}'
    return stack[0]


def encode(proto, message, source):
    return protoc('encode', proto, message, source.encode())


# ---- what the two formats hold: event -> {(frames root first): weight} ----

def pprof_stacks(p):
    strings, functions = p['string'], {f.one('id'): f for f in p['function']}
    locations = {loc.one('id'): [strings[functions[line.one('function')].one('name')] for line in reversed(loc['line'])] for loc in p['location']}
    events = [strings[t.one('type')] for t in p['type']]
    out = {e: {} for e in events}
    for s in p['sample']:
        assert len(s['value']) == len(events)
        frames = tuple(f for loc in reversed(s['location']) for f in locations[loc])
        for e, v in zip(events, s['value']):
            if v:
                out[e][frames] = out[e].get(frames, 0) + v
    return out


def pprof_labels(p, s):
    return {p['string'][x.one('key')].decode(): p['string'][x.one('str')].decode() if x['str'] else x.one('num') for x in s['label']}


def otlp_attributes(d, list_):
    """Indexes -> {key: value}"""
    out = {}
    for i in list_:
        a = d['attribute'][i]
        key = d['string'][a.one('key')].decode()
        assert i and key not in out, f'{key} stands twice'
        v = a.one('value', Message())
        out[key] = v['text'][0].decode() if v['text'] else v['number'][0]
    return out


def otlp_frames(d, stack):
    """Names root first."""
    return tuple(d['string'][d['function'][line.one('function')].one('name')] for loc in reversed(d['stack'][stack]['location'])
                 for line in reversed(d['location'][loc]['line']))


def otlp_stacks(d, profile):
    out = {}
    for s in profile['sample']:
        assert len(s['value']) == 1
        frames = otlp_frames(d, s.one('stack'))
        out[frames] = out.get(frames, 0) + s['value'][0]
    return out


def otlp_wrong(d):
    """What the format forbids: tables without an empty first entry, entries twice, entries that nothing refers to."""
    wrong = []
    for table in ('mapping', 'location', 'function', 'string', 'attribute', 'stack'):
        entries = d[table]
        if not entries or entries[0]:
            wrong.append(f'{table}[0] is not empty')
        if len({repr(x) for x in entries}) != len(entries):
            wrong.append(f'{table}: an entry stands twice')
    if [(x.one('trace'), x.one('span')) for x in d['link']] != [(bytes(16), bytes(8))]:
        wrong.append('link[0]')
    return wrong
