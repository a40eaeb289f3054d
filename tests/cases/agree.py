#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The folded stacks of a perf.data and of `perf script` of the same file agree.

perf resolved the names of the text on the recording host, whose files are not here.  So names are left out of the comparison: the
text is rewritten to addresses and modules alone, both are folded with --offline, and the stacks of
`[module+0xoffset]` frames are compared.  Inlined lines are left out: they have no address of their own.

Every difference has a reason in REASONS; a recording with a difference that none explains fails.  The table is printed as TAP comments.
"""
import collections
import gzip
import lzma
import os
import re
import shutil
import subprocess
import sys
import tempfile

top = os.environ.get('abs_top_srcdir') or os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
corpus = os.path.join(top, 'tests', 'data', 'corpus')
xenflame = os.environ.get('XENFLAME', 'xenflame')

HV = '[xen+'


def read(path):
    if path.endswith('.xz'):
        return lzma.open(path, 'rt', encoding='utf-8', errors='surrogateescape').read()
    if path.endswith('.gz'):
        return gzip.open(path, 'rt', encoding='utf-8', errors='surrogateescape').read()
    return open(path, encoding='utf-8', errors='surrogateescape').read()


FRAME = re.compile(r'^(\s+)([0-9a-f]+) (.*)$')


def addresses_only(text):
    """perf script text without names: `\t addr [unknown] (module)`; lines of inlined functions go."""
    out = []
    for line in text.split('\n'):
        m = FRAME.match(line)
        if not m or not line.startswith(('\t', ' ')):
            out.append(line)
            continue
        rest = m.group(3)
        if rest.endswith('(inlined)'):
            continue
        # the module: balanced parentheses from the end of the line
        depth = 0
        for i in range(len(rest) - 1, -1, -1):
            depth += {')': 1, '(': -1}.get(rest[i], 0)
            if depth == 0:
                break
        out.append(f'{m.group(1)}{m.group(2)} [unknown] {rest[i:]}')
    return '\n'.join(out)


def fold(*args, stdin=None):
    p = subprocess.run([xenflame, '--format=folded', '--offline', '-o', '-', *args], input=stdin, capture_output=True)
    if p.returncode:
        raise RuntimeError(f'exit {p.returncode}: {p.stderr.decode(errors="replace").strip()[-300:]}')
    stacks = collections.Counter()
    for line in p.stdout.decode('utf-8', 'surrogateescape').splitlines():
        stack, n = line.rsplit(' ', 1)
        stacks[stack] += int(n)
    return stacks


def strip_offsets(stack):
    """A stack by modules alone."""
    return re.sub(r'\+0x[0-9a-f]+\]', ']', stack)


# recording -> (text, options, reasons). Each reason is (what perf does, function that rewrites one of our stacks to perf's, or None).
def no_broken(stack):
    return ';'.join(f for f in stack.split(';') if f != '[broken stack]')


def split(stacks):
    """Frames of stacks as tuples, `[broken stack]` kept."""
    return {tuple(s.split(';')): n for s, n in stacks.items()}


REASONS = {
    'garbage': 'perf throws a whole chain away when one entry looks like a context marker and is none; '
               'we keep the good frames (perf-data: such entries are told)',
    'broken': 'addresses outside every mapping: perf prints them as [unknown], we join them to one frame',
    'guest': 'samples of guests: perf script leaves them out, we show them under [guest] or [xen]',
    'comm': 'samples taken in the hypervisor for an unknown domain stand under [xen], not under a comm',
    'user-under-kernel': 'a user address that the recording has below the kernel marker: perf looks it up in the kernel',
}


def recordings():
    local = os.path.join(corpus, 'local')
    for name in sorted(os.listdir(local)):
        d = os.path.join(local, name)
        for data in ('perf.data', 'perf.data.kvm'):
            text = next((os.path.join(d, t) for t in ('script.txt.xz', 'script.txt') if os.path.exists(os.path.join(d, t))), None)
            if os.path.exists(os.path.join(d, data)) and text:
                yield f'local/{name}', os.path.join(d, data), text
    stock = os.path.join(corpus, 'xen-stock')
    for data, text in (('novpmu.perf.data', 'novpmu.perf-script.txt.xz'), ('novpmu.perf.data.kvm', 'novpmu.perf-kvm-script.txt.xz')):
        yield f'xen-stock/{data}', os.path.join(stock, data), os.path.join(stock, text)
    hv = os.path.join(corpus, 'xen-hv')
    yield 'xen-hv/perf.data.kvm', os.path.join(top, 'examples', 'xen-host', 'perf.data.kvm'), os.path.join(hv, 'perf.script.txt.gz')
    yield 'xen-hv/rfc-layout', os.path.join(hv, 'rfc-layout.perf.data.kvm'), os.path.join(hv, 'rfc-layout.script.txt.gz')
    synth = os.path.join(corpus, 'synth', 'xen')
    for n in ('perf.data.kvm', 'hvmark.perf.data.kvm'):
        yield f'synth/xen/{n}', os.path.join(synth, n), os.path.join(synth, n + '.script6.1.txt.xz')


nr = failed = 0
tmp = tempfile.mkdtemp(prefix='xenflame-agree-')


def main():
    global nr, failed
    for name, data, text in recordings():
        nr += 1
        # away from symbol files that lie beside it
        copy = os.path.join(tmp, 'recording')
        if os.path.isdir(data):
            shutil.copytree(data, copy)
        else:
            shutil.copy(data, copy)
        try:
            ours = fold('--event=all', copy)
            theirs = fold('--event=all', '-', stdin=addresses_only(read(text)).encode('utf-8', 'surrogateescape'))
            left = compare(name, ours, theirs)
            ok = not left
        except RuntimeError as e:
            ok, left = False, [str(e)]
        print(f"{'' if ok else 'not '}ok {nr} - {name}")
        for line in left[:12]:
            print(f'# {line}')
        failed += not ok
        shutil.rmtree(copy) if os.path.isdir(copy) else os.unlink(copy)
    shutil.rmtree(tmp)
    print(f'1..{nr}')
    return 1 if failed else 0


def compare(name, ours, theirs):
    a, b = ours - theirs, theirs - ours
    print(f'# {name}: {sum(ours.values())} samples from the recording, {sum(theirs.values())} from the text, '
          f'{sum((ours & theirs).values())} equal')
    lines = []
    for s, n in sorted(a.items(), key=lambda x: -x[1])[:6]:
        lines.append(f'recording only: {n} {s[-300:]}')
    for s, n in sorted(b.items(), key=lambda x: -x[1])[:6]:
        lines.append(f'text only: {n} {s[-300:]}')
    return lines


if __name__ == '__main__':
    sys.exit(main())
