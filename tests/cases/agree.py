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


def read(path):
    if path.endswith('.xz'):
        return lzma.open(path, 'rt', encoding='utf-8', errors='surrogateescape').read()
    if path.endswith('.gz'):
        return gzip.open(path, 'rt', encoding='utf-8', errors='surrogateescape').read()
    return open(path, encoding='utf-8', errors='surrogateescape').read()


FRAME = re.compile(r'^(\s+)([0-9a-f]+) (.*)$')
FLAT = re.compile(r'^( *\S.*: +)([0-9a-f]+) (.*\))$')


def module_of(rest):
    """The module at the end of a line: balanced parentheses."""
    depth = 0
    for i in range(len(rest) - 1, -1, -1):
        depth += {')': 1, '(': -1}.get(rest[i], 0)
        if depth == 0:
            return rest[i:]
    return '([unknown])'


def addresses_only(text):
    """perf script text without names: `addr [unknown] (module)`; lines of inlined functions go."""
    out = []
    for line in text.split('\n'):
        m = FRAME.match(line) if line.startswith('\t') else None
        m = m or FLAT.match(line)
        if not m:
            out.append(line)
        elif not m.group(3).endswith('(inlined)'):
            out.append(f'{m.group(1)}{m.group(2)} [unknown] {module_of(m.group(3))}')
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


def frames_of(stack):
    return stack.split(';')


def rewritten(stacks, fn):
    """Stacks with their frames rewritten; None from fn leaves the stack out."""
    out = collections.Counter()
    for s, n in stacks.items():
        f = fn(frames_of(s))
        if f is not None:
            out[';'.join(f)] += n
    return out


KERNEL = re.compile(r'^\[kernel\.kallsyms\+0x([0-9a-f]+)\]$')


def no_broken(f):
    return [x for x in f if x != '[broken stack]']


def no_guests(f):
    return None if '[guest]' in f[:2] or '[xen]' in f[:2] else f


def kernel_modules(f):
    """Frames of loadable modules without their place."""
    def one(x):
        m = KERNEL.match(x)
        if m and int(m.group(1), 16) >= 0xffffffffc0000000:
            return '[kernel module]'
        return '[kernel module]' if re.match(r'^\[(xenfs|xen_[a-z]+|[a-z0-9_]+)\+0x', x) and not re.match(r'^\[(xen|busybox|hcload|exe)\+', x) else x
    return [one(x) for x in f]


def no_user(f):
    """The command, the kernel's and the hypervisor's frames."""
    return f[:2] + [x for x in f[2:] if KERNEL.match(x) or x.startswith('[xen+')]


def user_modules(f):
    return [x if KERNEL.match(x) else re.sub(r'\+0x[0-9a-f]+\]', ']', x) for x in f]


# name -> (why perf's text differs, rewrites both sides, left out of ours alone)
REASONS = {
    'broken': ('perf prints each address outside every mapping as [unknown]; we join runs of them to one [broken stack], and '
               'a user address that the recording has below the kernel marker is looked up by perf in the kernel', no_broken, None),
    'guest': ('perf script leaves samples out that were taken in, or in the hypervisor for, another domain; we show them '
              'under [guest] and [xen]', None, no_guests),
    'module': ('perf prints addresses of loadable modules as kernel addresses, we print their offset in the module', kernel_modules, None),
    'flat': ('perf 6.1 prints absolute user addresses where there is no call chain', user_modules, None),
    'unwind': ('the user part is unwound from saved stacks, which needs the libc of the recording host; what can be unwound '
               'here is compared in tests/cases/unwind', no_user, None),
}

# recording -> reasons, and stacks of one sample each that differ for one more reason
APPLIES = {
    'local/flat': ['flat'],
    'local/cxx_dwarf': ['unwind'], 'local/dwarf': ['unwind'], 'local/dwarf_small': ['unwind'],
    'local/kvm_dwarf': ['unwind'], 'local/pipe_dwarf': ['unwind'],
    'xen-stock/novpmu.perf.data': ['module'], 'xen-stock/novpmu.perf.data.kvm': ['module'],
    'xen-hv/rfc-layout': ['guest', 'broken'],
    'synth/xen/perf.data.kvm': ['guest', 'broken'], 'synth/xen/hvmark.perf.data.kvm': ['guest'],
}
# Samples taken while execve() runs, after the new program got its first mapping: perf still finds the address of the caller in
# mappings that are gone, we show [broken stack].
EXEC = {'xen-hv/perf.data.kvm': 2, 'xen-hv/rfc-layout': 1, 'xen-stock/novpmu.perf.data': 3, 'xen-stock/novpmu.perf.data.kvm': 4}


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
    yield 'xen-hv/perf.data.kvm', os.path.join(hv, 'perf.data.kvm'), os.path.join(hv, 'perf.script.txt.gz')
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
    reasons = APPLIES.get(name, [])
    plain = sum((ours & theirs).values())
    total = sum(ours.values())
    lines = []
    for r in reasons:
        _, both, alone = REASONS[r]
        if both:
            ours, theirs = rewritten(ours, both), rewritten(theirs, both)
        if alone:
            ours = rewritten(ours, alone)
    a, b = ours - theirs, theirs - ours
    unexplained = sum((a | b).values()) and max(sum(a.values()), sum(b.values()))
    print(f'# {name}: {total} samples from the recording, {sum(theirs.values())} from the text; {plain} equal as they are, '
          f'{sum((ours & theirs).values())} with: {", ".join(reasons) or "nothing"}')
    for r in reasons:
        print(f'#   {r}: {REASONS[r][0]}')
    if unexplained and unexplained == EXEC.get(name) and rewritten(a, no_user) == rewritten(b, no_user):
        print(f'#   exec: {unexplained} samples inside execve(): perf uses mappings that are gone')
        return []
    for s, n in sorted(a.items(), key=lambda x: -x[1])[:4]:
        lines.append(f'recording only: {n} {s[:300]}')
    for s, n in sorted(b.items(), key=lambda x: -x[1])[:4]:
        lines.append(f'text only: {n} {s[:300]}')
    if lines:
        lines.insert(0, f'{unexplained} samples differ')
    return lines


if __name__ == '__main__':
    sys.exit(main())
