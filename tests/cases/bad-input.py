#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Bad input to the program: one line that names the file, or a graph of what was readable and the count of what was not.

Never a crash, a hang (over 20 s), more than 1 GiB of address space for small files, or a file left half written.
"""
import os
import random
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tools'))
import tap  # noqa: E402
from tap import CORPUS, XENFLAME  # noqa: E402

LIMIT = 1 << 30

sanitized = b'__asan_init' in open(XENFLAME, 'rb').read() if os.path.exists(XENFLAME) else False
PATIENCE = 120 if sanitized else 20  # seconds
tmp = tempfile.mkdtemp(prefix='xenflame-bad-')


def limits():
    if not sanitized:
        resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))


def run(*args, stdin=None):
    try:
        return subprocess.run([XENFLAME, '--offline', *args], input=stdin, capture_output=True, timeout=PATIENCE, preexec_fn=limits)
    except subprocess.TimeoutExpired:
        return None


def check(what, problem):
    tap.ok(problem is None, what, problem)


def told(p):
    """Every line on standard error is ours, and one line."""
    for line in p.stderr.decode('utf-8', 'replace').splitlines():
        if not line.startswith('xenflame: ') or re.search(r'[\x00-\x08\x0b-\x1f\x7f]', line):
            return f'a line that is not ours: {line[:200]!r}'
    return None


def expect_error(what, args, words, status=1, stdin=None):
    out = os.path.join(tmp, 'out.svg')
    p = run(*args, '-o', out, stdin=stdin)
    err = p.stderr.decode('utf-8', 'replace') if p else ''
    problem = None
    if not p:
        problem = f'took over {PATIENCE} s'
    elif p.returncode != status:
        problem = f'exit status {p.returncode}, expected {status}: {err[:300]}'
    elif not all(re.search(w, err) for w in words):
        problem = f'expected {words} in: {err[:300]}'
    elif os.path.exists(out) or [f for f in os.listdir(tmp) if f.startswith('out.svg.')]:
        problem = 'a file was left'
    check(what, problem or told(p))


def path(name, data):
    p = os.path.join(tmp, name)
    with open(p, 'wb') as f:
        f.write(data)
    return p


def sane(p):
    """Exit status 0 or 1, our messages alone."""
    if not p:
        return 'took over 20 s'
    if p.returncode not in (0, 1):
        return f'exit status {p.returncode}: {p.stderr.decode("utf-8", "replace")[-300:]}'
    if p.returncode == 1 and not p.stderr:
        return 'failed without a message'
    return told(p)


def recording(events, fields=7):
    """A perf.data of an event without fields but ip, tid and time."""
    attr = struct.pack('<IIQQQQQ', 1, 64, 0, 1, fields, 0, 0) + bytes(16) + bytes(16)
    data = b''.join(events)
    return b'PERFILE2' + struct.pack('<7Q', 104, 80, 104, 80, 184, len(data), 0) + bytes(40) + attr + data


def record(kind, misc, body):
    body += bytes(-len(body) % 8)
    return struct.pack('<IHH', kind, misc, 8 + len(body)) + body


def mapping(pid, addr, size, offset, name):
    return record(1, 2, struct.pack('<IIQQQ', pid, pid, addr, size, offset) + name + b'\0')


def sample(pid, ip):
    return record(9, 2, struct.pack('<QIIQ', ip, pid, pid, 5))


def long_names(strings, symbols, stubs):
    """An ELF file whose names overlap: each reaches to the end of the table of strings."""
    names = b'\0.text\0.plt\0.rela.plt\0'
    out, heads = bytearray(64), [bytes(64)]

    def add(name, kind, flags, addr, data, link=0, info=0, entry=0):
        heads.append(struct.pack('<IIQQQQIIQQ', names.find(b'\0' + name) + 1 if name else 0, kind, flags, addr,
                                 len(out), len(data), link, info, 16, entry))
        out.extend(data + bytes(-len(data) % 16))

    add(b'.text', 1, 6, 0x401000, b'\x90' * 0x10000)
    add(b'', 3, 0, 0, b'\0' + b'n' * strings + b'\0')
    add(b'', 11 if stubs else 2, 0, 0, bytes(24) + b''.join(
        struct.pack('<IBBHQQ', 1 + i % 1000, 0x12, 0, 1, 0x401000 + i % 4000 * 16, 16) for i in range(symbols)), 2, 1, 24)
    add(b'.rela.plt', 4, 2, 0, b''.join(
        struct.pack('<QQq', 0x800000 + 8 * i, (1 + i % symbols) << 32 | 7, 0) for i in range(stubs)), 3, 5, 24)
    add(b'.plt', 1, 6, 0x600000, b''.join(
        b'\xff\x25' + struct.pack('<i', 0x200000 - 8 * i - 6) + b'\x90' * 10 for i in range(stubs)))
    add(b'', 3, 0, 0, names)
    load = len(out)
    out += struct.pack('<IIQQQQQQ', 1, 5, 64, 0x401040, 0x401040, 0x10000, 0x10000, 16)
    out[:64] = b'\x7fELF\x02\x01\x01' + bytes(9) + struct.pack(
        '<HHIQQQIHHHHHH', 3, 62, 1, 0, load, len(out), 0, 64, 56, 1, 64, len(heads), len(heads) - 1)
    return bytes(out) + b''.join(heads)


def symbol_files():
    os.mkdir(os.path.join(tmp, 'tree'))
    for name, content in (('symbols', long_names(8 << 20, 300000, 0)), ('stubs', long_names(1 << 20, 1000, 30000))):
        path('tree/' + name, content)
        data = path(name + '.data', recording([mapping(1, 0x400000, 0x10000, 0, b'/' + name.encode()), sample(1, 0x400205)]))
        p = run('--symfs=' + os.path.join(tmp, 'tree'), data, '-o', '-', '--format=folded')
        problem = sane(p)
        if not problem and not re.search(rb';n{1000,} 1$', p.stdout.strip()):
            problem = f'no name: {p.stdout[:80]!r} {p.stderr[:300]!r}'
        check('names as long as the table of strings: ' + name, problem)


def many_segments():
    """An address is held against each segment: no program has 65,000 of them."""
    n = 65000
    path('tree/segments', b'\x7fELF\x02\x01\x01' + bytes(9) + struct.pack('<HHIQQQIHHHHHH', 3, 62, 1, 0, 64, 0, 0, 64, 56, n, 64, 0, 0) +
         struct.pack('<IIQQQQQQ', 1, 4, 1 << 40, 0, 0, 16, 16, 1) * n)
    data = path('segments.data', recording([mapping(1, 0x400000, 0x100000, 0, b'/segments')] + [sample(1, 0x400000 + 8 * i) for i in range(40000)]))
    p = run('--symfs=' + os.path.join(tmp, 'tree'), data, '-o', '-', '--format=folded')
    problem = sane(p)
    if not problem and p.stdout.count(b'[segments+0x') != 40000:
        problem = f'not all addresses: {p.stdout[:80]!r} {p.stderr[:300]!r}'
    check('65,000 segments', problem)


def many_sections():
    """Whether a call ends at an address is read from the hypervisor's code, whatever else its file has."""
    n = 65000
    heads = bytes(64) + struct.pack('<IIQQQQIIQQ', 0, 1, 2, 0xffff82d100000000, 64, 16, 0, 0, 1, 0) * (n - 3)
    heads += struct.pack('<IIQQQQIIQQ', 0, 1, 6, 0xffff82d040200000, 64, 0x100000, 0, 0, 1, 0)
    heads += struct.pack('<IIQQQQIIQQ', 0, 3, 0, 0, 64, 16, 0, 0, 1, 0)
    file = path('xen-syms', b'\x7fELF\x02\x01\x01' + bytes(9) + struct.pack('<HHIQQQIHHHHHH', 2, 62, 1, 0, 0, 64, 0, 64, 56, 0, 64, n, n - 1) + heads)
    events = []
    for i in range(500):
        chain = [2 ** 64 - 32] + [0xffff82d040200100 + 8 * (100 * i + k) for k in range(100)]
        events.append(record(9, 3, struct.pack('<QIIQQ101Q', chain[1], 1, 1, 5, len(chain), *chain)))
    data = path('sections.data', recording(events, 7 | 32))
    p = run('--xen-syms=' + file, data, '-o', '-', '--format=folded')
    problem = sane(p)
    if not problem and p.stdout.count(b'[xen+0x') != 50000:
        problem = f'not all addresses: {p.stdout[:80]!r} {p.stderr[:300]!r}'
    check('65,000 sections', problem)


def main():
    symbol_files()
    many_segments()
    many_sections()
    small = open(os.path.join(CORPUS, 'public', 'linux-perf-data', 'sleep.data'), 'rb').read()
    pipe = open(os.path.join(CORPUS, 'public', 'linux-perf-data', 'sleep.compressed.pipe.data'), 'rb').read()

    expect_error('no such file', [os.path.join(tmp, 'absent')], ['absent', 'No such file'])
    expect_error('empty file', [path('empty', b'')], ['empty'])
    expect_error('directory', [tmp], [re.escape(tmp)])
    expect_error('text that is no perf script', [path('prose', b'Dear all,\n\nplease find attached\n' * 20)], ['prose'])
    expect_error('zeros', [path('zeros', bytes(100000))], ['zeros'])
    expect_error('noise', [path('noise', random.Random(1).randbytes(100000))], ['noise'])
    expect_error('magic alone', [path('magic', b'PERFILE2')], ['magic'])
    expect_error('an ELF file', [os.path.join(tap.TOP, 'examples', 'xen-host', 'hcload')], ['hcload'])
    expect_error('damaged gzip', [path('bad.gz', b'\x1f\x8b\x08\x00' + bytes(50))], ['bad.gz'])
    expect_error('damaged zstd', [path('bad.zst', b'\x28\xb5\x2f\xfd' + bytes(50))], ['bad.zst'])
    expect_error('damaged xz', [path('bad.xz', b'\xfd7zXZ\x00' + bytes(50))], ['bad.xz'])
    expect_error('empty standard input', ['-'], ['standard input'], stdin=b'')
    expect_error('name with control characters', [path('a\x1b[31mb\n', b'')], ['a'])
    expect_error('all samples unusable', [os.path.join(CORPUS, 'xen-stock', 'vpmu-on-cpuclock.perf.data')],
                 ['all 2316 samples are unusable', 'vpmu=off'])
    expect_error('all samples of two recordings unusable', [os.path.join(CORPUS, 'xen-stock', 'vpmu-on-cpuclock.perf.data')] * 2,
                 ['all 2316 samples are unusable'])
    folder = os.path.join(tmp, 'folder')
    shutil.copytree(os.path.join(CORPUS, 'local', 'threads_dir', 'perf.data'), folder)
    os.chmod(folder, 0o755)
    whole = run('-q', folder, '--format=folded')
    shutil.copy(os.path.join(folder, 'data.1'), os.path.join(folder, 'data.01'))
    twice = run('-q', folder, '--format=folded')
    check('a file of a folder counts once', None if whole and twice and whole.stdout and whole.stdout == twice.stdout else 'the stacks differ')
    os.mkfifo(os.path.join(folder, 'data.2'))
    expect_error('a pipe in a folder', [folder], ['data.2', 'no regular file'])
    expect_error('an event that is not there', [path('sleep.data', small), '--event=nonsense'], ['--event=nonsense', 'cycles'])
    many = b''.join(b'a 1 %d.0: 1 e%d:\n\t %x f (x)\n\n' % (i, i, i) for i in range(5000))
    for what, args, n in ('all', ['--event=all'], 5000), ('the last', ['--event=other events'], 5000 - 4096):
        p = run('-', '--format=folded', '-o', '-', *args, stdin=many)
        total = p and sum(int(line.rsplit(b' ', 1)[1]) for line in p.stdout.splitlines())
        check(f'very many events: {what}', None if total == n and b"as 'other events'" in p.stderr else f'{total} samples')
    p = run('-q', '-', '--format=folded', '-o', '-', stdin=b'x;y 5\na' + b';b' * (35 << 20) + b';c 1\nz 2\n')
    check('a line of 70 MiB: none of it is taken for a stack', None if p and p.stdout == b'x;y 5\nz 2\n' else p and (p.returncode, p.stdout[-200:], p.stderr))
    expect_error('a filter that nothing passes', [path('sleep.data', small), '--comm=nobody'], ['none of its 7 samples', "commands in it: 'sleep'"])
    expect_error('a time that nothing passes', [path('sleep.data', small), '--time=1,2'], ['none of its 7 samples', r'times are 3696\.173032 to 3696\.173097'])
    expect_error('a time of text on standard input', ['-', '--time=+1,'], ['needs a file'], stdin=b'a;b 1\n')
    expect_error('a wrong number', [path('sleep.data', small), '--width=wide'], ['--width=wide'], status=2)
    for wrong in ('--pid=1-', '--tid=x', '--cpu=5-2', '--time=x', '--only=(', '--hide=[', '--focus=(', '--prune=(', '--bgcolors=mud',
                  '--input-format=mud'):
        option, value = wrong.split('=')
        # before anything is read: this file is not there
        expect_error(f'a wrong value: {wrong}', [os.path.join(tmp, 'absent'), wrong], [option, re.escape(value)], status=2)
    expect_error('a wrong palette', [path('sleep.data', small), '--colors=mud'], ['--colors=mud'], status=2)
    for name in ('', '-', os.path.join(tmp, 'out.svg')):
        expect_error(f'no file of its own for the palette: {os.path.basename(name)}', [path('x.folded', b'a;b 1\n'), f'--palette-file={name}'],
                     ['--palette-file', 'of its own'], status=2)
    for line in (b'a->rgb(1,2,256)\n', b'a->rgb(1,2,3) b\n', b'a\n'):
        expect_error(f'a palette that holds {line}', [path('x.folded', b'a;b 1\n'), f'--palette-file={path("colors.map", line)}'], ['colors.map', 'line 1'])
        check('it is kept', None if open(os.path.join(tmp, 'colors.map'), 'rb').read() == line else 'it has changed')
    expect_error('a palette of functions where they have no colours', [path('x.folded', b'a;b 1\n'), '--colors=share', f'--palette-file={os.path.join(tmp, "new.map")}'],
                 ['--palette-file', 'share'], status=2)
    expect_error('a wrong group', [path('sleep.data', small), '--group=cpu,nonsense'], ['nonsense'], status=2)
    if os.getuid():
        p = path('secret', small)
        os.chmod(p, 0)
        expect_error('unreadable file', [p], ['secret', 'Permission denied'])

    out = os.path.join(tmp, 'kept.folded')
    with open(out, 'w', encoding='ascii') as f:
        f.write('old\n')
    run(path('empty', b''), '-o', out)
    check('a failed run keeps the old output', None if open(out, encoding='ascii').read() == 'old\n' else 'it is gone')
    p = run(path('sleep.data', small), '-o', os.path.join(tmp, 'no', 'such', 'dir.svg'))
    check('an output that cannot be written', None if p.returncode == 1 and b'dir.svg' in p.stderr else p.stderr[:200])
    if os.path.exists('/dev/full'):
        p = run(path('sleep.data', small), '-o', '/dev/full', '--format=folded')
        check('a full disk', None if p.returncode == 1 and b'/dev/full' in p.stderr else f'{p.returncode} {p.stderr[:200]}')

    # Cut at every offset of the header and the first records, then at steps.
    bad = None
    offsets = sorted(set(range(0, 400)) | set(range(400, len(small), 61)))
    for i in offsets:
        p = sane(run(path('cut', small[:i]), '-o', '-', '--format=folded'))
        bad = bad or (p and f'at {i}: {p}')
    check(f'perf.data cut at {len(offsets)} offsets', bad)
    bad = None
    for i in range(0, len(pipe), 41):
        bad = bad or sane(run('-', '-o', '-', '--format=folded', stdin=pipe[:i]))
    check('a pipe that ends early', bad)
    rng = random.Random(7)
    bad = None
    for i in range(300):
        data = bytearray(small if i % 2 else pipe)
        for _ in range(rng.choice((1, 1, 3, 20))):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        p = sane(run(path('flip', bytes(data)), '-o', '-', '--format=folded'))
        bad = bad or (p and f'flip {i}: {p}')
    check('flipped bits', bad)
    shutil.rmtree(tmp)
    tap.done()


if __name__ == '__main__':
    main()
