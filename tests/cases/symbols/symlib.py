# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of symbol files share: TAP, the tool under test, and the tools it is held against."""
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'tools'))
from tap import BUILD, CORPUS  # noqa: E402

LOOKUP = os.path.join(BUILD, 'tests', 'tools', 'symfile-lookup')
HERE = os.path.dirname(os.path.abspath(__file__))
XEN = os.path.join(CORPUS, 'xen-hv')

def have(program):
    return shutil.which(program) is not None


def built_with(define):
    """Whether config.h has an optional library."""
    try:
        with open(os.path.join(BUILD, 'config.h'), encoding='ascii') as f:
            return re.search(rf'^#define {define} 1$', f.read(), re.M) is not None
    except OSError:
        return False


def run(cmd, text=None, **kw):
    return subprocess.run(cmd, input=text, capture_output=True, encoding='utf-8', errors='replace', check=False, **kw)


def normal(place):
    """file:line with the path normalised; '?' for what is not known."""
    file, _, line = place.rpartition(':')
    file = '?' if file in ('??', '?', '') else os.path.normpath(file)
    return file + ':' + ('?' if line in ('0', '?', '') else line)


def ours(path, addrs, *options):
    """Frames of each address: [(function, file:line)], innermost first."""
    r = run([LOOKUP, *options, path], ''.join(f'{a:#x}\n' for a in addrs))
    if r.returncode:
        return [[('failed: ' + r.stderr.strip(), '?:?')] for _ in addrs]
    out = []
    for block in r.stdout.rstrip('\n').split('\n\n'):
        out.append([(f, normal(p)) for f, p in (line.split('\t') for line in block.split('\n')[1:])])
    return out


def about(path, *options):
    """(source, build id, first and last text address, share of functions with a frame pointer)."""
    w = run([LOOKUP, '-b', *options, path], '').stdout.split()
    return (w[0], w[1], int(w[2], 16), int(w[3], 16), float(w[4])) if len(w) == 5 else None


def llvm(path, addrs):
    r = run(['llvm-symbolizer', '--obj=' + path, '--output-style=LLVM', '--inlines'], ''.join(f'{a:#x}\n' for a in addrs))
    out = []
    for block in r.stdout.rstrip('\n').split('\n\n'):
        lines = block.split('\n')
        frames = []
        for name, place in zip(lines[0::2], lines[1::2]):
            frames.append(('?' if name == '??' else name, normal(place.rsplit(':', 1)[0])))
        out.append(frames)
    return out


def binutils(path, addrs):
    r = run(['addr2line', '-aifCe', path], ''.join(f'{a:#x}\n' for a in addrs))
    out = []
    lines = iter(r.stdout.split('\n'))
    for line in lines:
        if re.fullmatch(r'0x[0-9a-f]{16}', line):
            out.append([])
        elif line:
            place = re.sub(r' \(discriminator \d+\)$', '', next(lines, ''))
            out[-1].append(('?' if line == '??' else line, normal(place)))
    return out


def nm(path, *options):
    """(address, size, type, name) of the symbols that have an address."""
    out = []
    for line in run(['nm', '-S', *options, path]).stdout.split('\n'):
        m = re.fullmatch(r'([0-9a-f]+)(?: ([0-9a-f]+))? (\S) (.+)', line)
        if m:
            out.append((int(m[1], 16), int(m[2] or '0', 16), m[3], m[4]))
    return out
