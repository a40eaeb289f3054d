#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Views (filters, collapsing, groups, merged and subtracted recordings) hold in every output: the stacks of a made recording, rewritten here,
against what each format says when it is read back.  PNG and PDF cannot be read: they are those that the view's own JSON gives.  TAP."""
import collections
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import zlib

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'tools'))
from tap import XENFLAME, done, ok  # noqa: E402
import protoc  # noqa: E402

tmp = tempfile.TemporaryDirectory()


def run(*args):
    r = subprocess.run([XENFLAME, *args], capture_output=True, check=False, timeout=300)
    if r.returncode:
        raise RuntimeError(f'{args}: exit {r.returncode}: {r.stderr.decode(errors="replace")}')
    return r.stdout


# ---- the recording: (comm, [(function, module)], how often), root first ----

APP, LIBC, KERNEL, XEN = 'app', 'libc.so.6', '[kernel.kallsyms]', 'xen-syms'
BASE = {  # module -> first address
    APP: 0x401000, LIBC: 0x7f0000000000, KERNEL: 0xffffffff81000000, XEN: 0xffff82d040200000}
syscall = [('entry_SYSCALL_64', KERNEL), ('do_syscall_64', KERNEL)]
xen = [('lstar_enter', XEN), ('do_memory_op', XEN)]
STACKS = [
    ('tool', [('main', APP), ('work', APP), ('memcpy', LIBC)], 31),
    ('tool', [('main', APP), ('work', APP), ('parse', APP), ('parse', APP), ('parse', APP)], 17),
    ('tool', [('main', APP), ('work', APP), ('parse', APP), ('parse', APP), ('memcpy', LIBC)], 5),
    ('tool', [('main', APP), ('read', LIBC), *syscall, ('vfs_read', KERNEL), ('memcpy', KERNEL)], 13),
    ('tool', [('main', APP), ('read', LIBC), *syscall, ('vfs_read', KERNEL)], 3),
    ('tool', [('main', APP), ('read', LIBC), *syscall, ('vfs_read', KERNEL), *xen], 19),
    ('tool', [('main', APP)], 2),
    ('qemu', [('loop', APP), ('poll', LIBC), *syscall, *xen, ('copy_from_guest', XEN)], 23),
    ('qemu', [('loop', APP), ('work', APP), ('read', LIBC)], 7),
    ('qemu', [('loop', APP), ('poll', LIBC), ('loop', APP), ('poll', LIBC)], 11),
    ('swapper', [('cpu_startup_entry', KERNEL), ('do_idle', KERNEL), ('default_idle_call', KERNEL)], 41),
    ('swapper', [('cpu_startup_entry', KERNEL), ('do_idle', KERNEL), ('tick', KERNEL)], 4),
]
OTHER = [
    ('tool', [('main', APP), ('work', APP), ('memcpy', LIBC)], 40),
    ('tool', [('main', APP), ('work', APP), ('parse', APP), ('parse', APP), ('parse', APP)], 9),
    ('tool', [('main', APP), ('new', APP)], 6),
    ('tool', [('main', APP), ('read', LIBC), *syscall, ('vfs_read', KERNEL), *xen], 50),
]


def text(stacks, timed, tid, second):
    addresses, out = {}, []
    for i in range(max(n for _, _, n in stacks)):
        for comm, frames, n in stacks:
            if i >= n:
                continue
            second += 1
            out.append(f'{comm} {tid} [000] ' + (f'{second // 1000}.{second % 1000:03}000: ' if timed else '') + '1 cycles:\n')
            for f in reversed(frames):
                address = addresses.setdefault(f, BASE[f[1]] + 0x100 * len(addresses))
                out.append(f'\t{address:16x} {f[0]} ({f[1]})\n')
            out.append('\n')
    return ''.join(out)


def path(name, content=None):
    p = os.path.join(tmp.name, name)
    if content is not None:
        with open(p, 'w', encoding='utf-8') as f:
            f.write(content)
    return p


FILES = {(which, timed): path(f'{which}{timed}.perf.txt', text(stacks, timed, tid, second))
         for which, stacks, tid, second in (('one', STACKS, 7, 0), ('other', OTHER, 8, 5000)) for timed in (False, True)}

# ---- views, rewritten: a stack -> a stack, or None: left out.  A frame is (title, module). ----


def titled(stacks):
    return [([(comm, '')] + [(f + ('_[h]' if m == XEN else ''), m) for f, m in frames], n) for comm, frames, n in stacks]


def only(regex):
    return lambda s: s if any(re.search(regex, f) for f, _ in s) else None


def hide(regex):
    return lambda s: None if any(re.search(regex, f) for f, _ in s) else s


def focus(regex):
    return lambda s: next((s[i:] for i, (f, _) in enumerate(s) if re.search(regex, f)), None)


def prune(regex):
    return lambda s: next((s[:i + 1] for i, (f, _) in enumerate(s) if re.search(regex, f)), s)


def collapse(s):
    return [f for i, f in enumerate(s) if not i or f != s[i - 1]]


def by_module(s):
    return collapse([(m + ('_[h]' if m == XEN else ''), m) if m else (f, m) for f, m in s])


def no_idle(s):
    return None if s[-1][0] in ('default_idle_call', 'do_idle', 'cpu_startup_entry') else s


def chain(*steps):
    def f(s):
        for step in steps:
            s = step(s) if s is not None else None
        return s
    return f


VIEWS = [
    ('plain', [], lambda s: s),
    ('only', ['--only=^(vfs_read|poll)$'], only('^(vfs_read|poll)$')),
    ('only a hypervisor frame', [r'--only=_\[h\]$'], only(r'_\[h\]$')),
    ('hide', ['--hide=memcpy|tick'], hide('memcpy|tick')),
    # perf script text has a command for each sample and takes those with hypervisor frames alone for Xen's own: not at the kernel's last frame.
    ('focus', ['--focus=^(work|read|poll)$'], focus('^(work|read|poll)$')),
    ('prune', ['--prune=^(parse|poll|do_syscall_64)$'], prune('^(parse|poll|do_syscall_64)$')),
    ('collapse-recursion', ['--collapse-recursion'], collapse),
    ('by-module', ['--by-module'], by_module),
    ('no-idle', ['--no-idle'], no_idle),
    ('reverse', ['--reverse'], lambda s: s[::-1]),
    ('several', ['--no-idle', '--hide=^parse$', '--only=read', '--prune=vfs', '--by-module'],
     chain(no_idle, only('read'), hide('^parse$'), prune('vfs'), by_module)),
    ('focus and reverse', ['--focus=^(main|loop)$', '--collapse-recursion', '--reverse'], chain(focus('^(main|loop)$'), collapse, lambda s: s[::-1])),
]


def expect(stacks, view):
    found = collections.Counter()
    for s, n in stacks:
        s = view(s)
        if s is not None:
            found[';'.join(f for f, _ in s)] += n
    return found


# ---- what formats say ----

def folded(p, *options):
    found = collections.Counter()
    for line in run('-q', '--offline', p, '--format=folded', *options).decode().splitlines():
        stack, n = line.rsplit(' ', 1)
        found[stack] += int(n)
    return found


def under(name, frames):
    """Formats with a place for the command have it there, not among the frames; where a view has no commands that is the first frame."""
    return ';'.join(frames if frames and frames[0] in (name, name + '_[h]') else [name, *frames])


def chrome(p):
    found, open_, last, names = collections.Counter(), collections.defaultdict(list), {}, {}
    for e in json.load(open(p, encoding='utf-8'))['traceEvents']:
        thread = (e['pid'], e['tid'])
        if e['ph'] == 'M':
            names[(e['name'], thread)] = e['args']['name']
            continue
        if e['ts'] > last.get(thread, 0) and open_[thread]:
            found[under(names[('thread_name', thread)], open_[thread])] += e['ts'] - last.get(thread, 0)
        last[thread] = e['ts']
        if e['ph'] == 'B':
            open_[thread].append(e['name'])
        else:
            open_[thread].pop()
    # Calls that begin at one time begin a nanosecond after each other.
    return +collections.Counter({s: round(n) for s, n in found.items() if n > 0.5})


def speedscope_time(p):
    d = json.load(open(p, encoding='utf-8'))
    found = collections.Counter()
    for profile in d['profiles']:
        stack, at = [], profile['startValue']
        name = profile['name'].split(' (')[0]
        for e in profile['events']:
            if e['at'] > at and stack:
                found[under(name, stack)] += (e['at'] - at) // 1000
            at = e['at']
            if e['type'] == 'O':
                stack.append(d['shared']['frames'][e['frame']]['name'])
            else:
                stack.pop()
    return found


def firefox(p):
    d = json.load(open(p, encoding='utf-8'))
    shared, found = d['shared'], collections.Counter()
    for thread in d['threads']:
        for stack, weight in zip(thread['samples']['stack'], thread['samples']['weight']):
            frames = []
            while stack is not None:
                frames.insert(0, shared['stringArray'][shared['funcTable']['name'][shared['frameTable']['func'][shared['stackTable']['frame'][stack]]]])
                step = shared['stackTable']['prefixOffset'][stack]
                stack = stack - step if step else None
            found[under(thread['name'].split(' (')[0], frames)] += weight
    return found


def otlp(p):
    with open(p, 'rb') as f:
        r = protoc.decode('otlp.proto', 'Request', f.read())
    found = collections.Counter()
    for profile in r['resource_profiles'][0]['scope_profiles'][0]['profile']:
        for stack, n in protoc.otlp_stacks(r['dictionary'][0], profile).items():
            found[b';'.join(stack).decode()] += n
    return found


def callgrind(p):
    own, names, calls = collections.Counter(), {}, False
    for line in open(p, encoding='utf-8'):
        m = re.match(r'fn=\((\d+)\)(?: (.*))?', line)
        if m:
            names.setdefault(m[1], m[2])
            fn = names[m[1]]
        m = re.match(r'cfn=\((\d+)\) (.*)', line)
        if m:
            names[m[1]] = m[2]
        if re.match(r'[+-]?\d+ \d+$', line.strip()) and not calls:
            own[fn] += int(line.split()[1])
        calls = line.startswith('calls=')
    return +own


def own(stacks):
    found = collections.Counter()
    for s, n in stacks.items():
        found[s.rsplit(';', 1)[-1]] += n
    return found


def top(p):
    lines = open(p, encoding='utf-8').read().split('Functions\n')[1].split('\n\n')[0].splitlines()
    found = collections.Counter()
    for line in lines:
        found[line.split()[2]] += float(line.split()[0].rstrip('%'))    # functions of two modules have one name
    return found


def close(got, want):
    whole = sum(want.values())
    return set(got) == set(want) and all(abs(v - 100 * want[f] / whole) < 0.0101 for f, v in got.items())


def picture(p):
    """What is drawn above the last line, which is of remarks: rows of a PNG as they were packed, drawing commands of a PDF."""
    data = open(p, 'rb').read()
    if data.startswith(b'%PDF'):
        streams = [zlib.decompress(x) for x in re.findall(rb'/FlateDecode\s*>>\s*stream\n(.*?)\nendstream', data, re.S)]
        drawing = next(x for x in streams if b' re f' in x)
        return drawing[:drawing.rindex(b' re f')]
    width, height = struct.unpack('>II', data[16:24])
    packed, at = b'', 8
    while at < len(data):
        length, kind = struct.unpack('>I4s', data[at:at + 8])
        packed += data[at + 8:at + 8 + length] if kind == b'IDAT' else b''
        at += length + 12
    rows = zlib.decompress(packed)
    return width, height, rows[:(height - 24) * (len(rows) // height)]


def same(got, want):
    more, missing = got - want, want - got
    return '\n'.join([f'more {n} {s}' for s, n in more.items()] + [f'missing {n} {s}' for s, n in missing.items()])


formats = re.findall(r'^  (\S+)', run('--help').decode().split('Formats of the output')[1].split('\n\n')[0].split('\n', 1)[1], re.M)
if protoc.missing:
    formats.remove('otlp')
READ_BACK = ['folded', 'svg', 'html', 'perf-script', 'speedscope', 'json', 'd3', 'pprof']
WEIGHED = {'chrome': chrome, 'speedscope-time': speedscope_time, 'firefox': firefox}
ok(set(formats) <= {*READ_BACK, *WEIGHED, 'otlp', 'callgrind', 'text', 'png', 'pdf'}, 'each format is known here', formats)


def check(name, timed, want, *command):
    for fmt in formats:
        target = path(f'out.{fmt}')
        detail = 'nothing here can read it'
        try:
            run(*command, f'--format={fmt}', '-o', target, '--title=t', '--subtitle=')
            if fmt in READ_BACK:
                # Text of perf script that has no samples of its own has a period for each stack.
                detail = same(folded(target, *(['--weight=period'] if fmt == 'perf-script' else [])), want)
            elif fmt == 'otlp':
                detail = same(otlp(target), want)
            elif fmt in WEIGHED:
                got = WEIGHED[fmt](target)
                # In time a stack is as long as it was seen; without times as much as it weighs.
                detail = same(collections.Counter(dict.fromkeys(got, 1)), collections.Counter(dict.fromkeys(want, 1))) if timed else same(got, want)
            elif fmt == 'callgrind':
                detail = same(callgrind(target), own(want))
            elif fmt == 'text':
                detail = '' if close(top(target), own(want)) else f'{top(target)}\n{own(want)}'
            elif fmt in ('png', 'pdf'):
                again = path(f'again.{fmt}')
                run('-q', '--offline', path('out.json'), f'--format={fmt}', '-o', again, '--title=t', '--subtitle=')
                detail = '' if picture(target) == picture(again) else 'another picture than that of its JSON'
        except (RuntimeError, KeyError, IndexError, ValueError) as e:
            detail = f'{type(e).__name__}: {e}'
        ok(not detail, f'{name}: {fmt}', detail)


formats.sort(key=lambda f: f != 'json')     # pictures are checked by it
for name, options, view in VIEWS:
    for timed in (False, True):
        check(f'{name}{", in time" if timed else ""}', timed, expect(titled(STACKS), view), '-q', '--offline', *options, FILES[('one', timed)])
for timed in (False, True):
    one, other = FILES[('one', timed)], FILES[('other', timed)]
    when = ', in time' if timed else ''
    check(f'merge{when}', timed, expect(titled(STACKS + OTHER), lambda s: s), '-q', '--offline', one, other)
    check(f'merge and only{when}', timed, expect(titled(STACKS + OTHER), only('read')), '-q', '--offline', '--only=read', one, other)
    # A difference has no times of its own.
    check(f'subtract{when}', False, expect(titled(OTHER), lambda s: s) - expect(titled(STACKS), lambda s: s), 'diff', '-q', '--offline', '--subtract', one, other)
    check(f'subtract and by-module{when}', False, expect(titled(OTHER), by_module) - expect(titled(STACKS), by_module),
          'diff', '-q', '--offline', '--subtract', '--by-module', one, other)
done()
