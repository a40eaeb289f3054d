#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Is a recording of check-boot what it has to be?

check-recording.py DIRECTORY XEN-SYMS VMLINUX CONSOLE-LOG HCLOAD
check-recording.py --census FILE        counts only, of any file of one event

DIRECTORY is what the dom0 of check-boot left: perf.data.kvm and, beside it,
kallsyms, notes, xen.buildid and perf's own text. Reads perf.data by itself,
names addresses with nm(1), and prints one TAP line for each claim.
"""
import bisect
import collections
import struct
import subprocess
import sys

HV, KERNEL, USER = -32, -128, -512
MARKERS = {HV: 'HV', KERNEL: 'KERNEL', USER: 'USER'}
MODE_KERNEL, MODE_USER, MODE_HV, MODE_GUEST_KERNEL, MODE_GUEST_USER = 1, 2, 3, 4, 5

IP, TID, TIME, CALLCHAIN, ID, CPU, PERIOD, IDENTIFIER = 1, 2, 4, 32, 64, 128, 256, 1 << 16
KNOWN = IP | TID | TIME | CALLCHAIN | ID | CPU | PERIOD | IDENTIFIER

Sample = collections.namedtuple('Sample', 'mode ip pid tid time cpu period chain')


def read_samples(path):
    """Samples and the number of lost ones, of a file with one event."""
    data = open(path, 'rb').read()
    if data[:8] != b'PERFILE2':
        sys.exit('%s: no perf.data file' % path)
    attrs_at, attrs_size, data_at, data_size = struct.unpack_from('<4Q', data, 24)
    kinds = {struct.unpack_from('<Q', data, at + 24)[0]
             for at in range(attrs_at, attrs_at + attrs_size, struct.unpack_from('<Q', data, 16)[0])}
    if len(kinds) != 1 or kinds.copy().pop() & ~KNOWN:
        sys.exit('%s: sample types %s' % (path, kinds))
    kind = kinds.pop()
    samples, lost, comms = [], 0, {}
    at = data_at
    while at < data_at + data_size:
        what, misc, size = struct.unpack_from('<IHH', data, at)
        if size < 8:
            sys.exit('%s: record of %d bytes at %#x' % (path, size, at))
        if what == 9:
            samples.append(read_sample(data, at + 8, kind, misc & 7))
        elif what == 2:
            lost += struct.unpack_from('<Q', data, at + 16)[0]
        elif what == 13:
            lost += struct.unpack_from('<Q', data, at + 8)[0]
        elif what == 3:
            tid = struct.unpack_from('<I', data, at + 12)[0]
            comms[tid] = data[at + 16:at + size].split(b'\0')[0].decode()
        at += size
    return samples, lost, comms


def read_sample(data, at, kind, mode):
    def take(fmt, size=8):
        nonlocal at
        values = struct.unpack_from(fmt, data, at)
        at += size
        return values
    if kind & IDENTIFIER:
        take('<Q')
    ip = take('<Q')[0] if kind & IP else 0
    pid, tid = take('<II') if kind & TID else (0, 0)
    time = take('<Q')[0] if kind & TIME else 0
    if kind & ID:
        take('<Q')
    cpu = take('<II')[0] if kind & CPU else 0
    period = take('<Q')[0] if kind & PERIOD else 0
    chain, marker = [], None
    if kind & CALLCHAIN:
        count = take('<Q')[0]
        for entry in struct.unpack_from('<%dq' % count, data, at):
            if -4096 < entry < 0:
                marker = entry
                chain.append((marker, []))
            else:
                if marker is None:
                    chain.append((0, []))
                    marker = 0
                chain[-1][1].append(entry & 0xffffffffffffffff)
    return Sample(mode, ip, pid, tid, time, cpu, period, chain)


class Symbols:
    def __init__(self, lines, kinds='tTwW'):
        found = {}
        for line in lines:
            words = line.split()
            if len(words) >= 3 and words[1] in kinds:
                found.setdefault(int(words[0], 16), words[2])
        self.at = sorted(found)
        self.names = [found[a] for a in self.at]
        self.by_name = {n: a for a, n in found.items()}

    def name(self, addr):
        i = bisect.bisect_right(self.at, addr) - 1
        return self.names[i] if i >= 0 else None


def nm(path):
    return subprocess.run(['nm', path], check=True, stdout=subprocess.PIPE,
                          universal_newlines=True).stdout.splitlines()


def build_id(path):
    text = subprocess.run(['readelf', '-n', path], check=True, stdout=subprocess.PIPE,
                          universal_newlines=True).stdout
    for line in text.splitlines():
        if 'Build ID:' in line:
            return line.split(':')[1].strip()
    return None


def notes_build_id(raw):
    at = 0
    while at + 12 <= len(raw):
        name_size, size, kind = struct.unpack_from('<III', raw, at)
        name = raw[at + 12:at + 12 + name_size]
        at += 12 + (name_size + 3) // 4 * 4
        if kind == 3 and name == b'GNU\0':
            return raw[at:at + size].hex()
        at += (size + 3) // 4 * 4
    return None


failed = count = 0


def claim(ok, text, detail=''):
    global failed, count
    count += 1
    print('%s %d - %s%s' % ('ok' if ok else 'not ok', count, text,
                            ': ' + str(detail) if detail != '' else ''))
    failed += not ok


MODES = ['unknown', 'kernel', 'user', 'hypervisor', 'guest kernel', 'guest user']


def census(path):
    samples, lost, _ = read_samples(path)
    print('samples %d' % len(samples))
    print('lost %d' % lost)
    for mode, n in sorted(collections.Counter(s.mode for s in samples).items()):
        print('mode %s %d' % (MODES[mode], n))
    for m, n in sorted(collections.Counter(m for s in samples for m, _ in s.chain).items()):
        print('marker %s %d' % (MARKERS.get(m, m), n))


def main():
    if sys.argv[1:2] == ['--census']:
        census(sys.argv[2])
        return
    where, xen_syms, vmlinux, console, hcload = sys.argv[1:6]
    samples, lost, comms = read_samples(where + '/perf.data.kvm')
    nm_lines = nm(xen_syms)
    xen = Symbols(nm_lines)
    bounds = {w[2]: int(w[0], 16) for w in (l.split() for l in nm_lines)
              if len(w) == 3 and w[2] in ('_stext', '_etext')}
    kernel = Symbols(open(where + '/kallsyms'))
    user = Symbols(nm(hcload))

    def in_xen(addr):
        return bounds['_stext'] <= addr < bounds['_etext']

    def parts(sample, marker):
        return [a for m, entries in sample.chain if m == marker for a in entries]

    hv = [s for s in samples if s.mode == MODE_HV]
    modes = collections.Counter(s.mode for s in samples)
    claim(len(samples) >= 500, 'samples', len(samples))
    claim(len(hv) >= 100, 'samples with cpumode HYPERVISOR',
          '%d, of all: %s' % (len(hv), dict(modes)))

    claim(all(s.chain and s.chain[0][0] == HV and s.chain[0][1] and s.chain[0][1][0] == s.ip
              for s in hv),
          'each of their chains starts with the marker and the sampled address')
    claim(not [s for s in samples if s.mode != MODE_HV and parts(s, HV)],
          'no other sample has hypervisor frames')
    claim(all(in_xen(a) for s in hv for a in parts(s, HV)),
          'every hypervisor address lies in the text of Xen',
          '%d different ones' % len({a for s in hv for a in parts(s, HV)}))
    unresolved = {hex(a) for s in hv for a in parts(s, HV) if not xen.name(a)}
    claim(not unresolved, 'every hypervisor address has a symbol', ' '.join(unresolved))
    claim(not [s for s in samples if in_xen(s.ip) and s.mode != MODE_HV],
          'no sample in Xen has another cpumode')
    stray = [a for s in samples for m in (KERNEL, USER) for a in parts(s, m) if in_xen(a)]
    claim(not stray, 'no address of Xen in other parts of a chain', len(stray) or '')
    low = [a for s in samples for a in parts(s, KERNEL) if a < 1 << 63]
    claim(not low, 'no user address under the marker of the kernel', len(low) or '')
    order = collections.Counter(tuple(MARKERS.get(m, m) for m, _ in s.chain) for s in samples)
    print('# chains: ' + ', '.join('%s %d' % (' '.join(map(str, k)) or 'none', n)
                                   for k, n in order.most_common()))
    claim(set(order) <= {('HV',), ('HV', 'KERNEL'), ('HV', 'KERNEL', 'USER'), ('HV', 'USER'),
                         ('KERNEL',), ('KERNEL', 'USER'), ('USER',)},
          'markers come in order, each once')
    ksyms = [[kernel.name(a - (i > 0)) for i, a in enumerate(parts(s, KERNEL))] for s in samples]
    claim(all(n for part in ksyms for n in part), 'every kernel address has a symbol')
    bare = sum(1 for s, part in zip(samples, ksyms)
               if part and part[0].startswith('xen_hypercall') and len(part) < 2)
    calls = sum(1 for part in ksyms if part and part[0].startswith('xen_hypercall'))
    claim(bare * 50 <= calls, 'hypercalls have callers in the kernel',
          '%d of %d have none' % (bare, calls))
    enabling = sum(1 for part in ksyms if part[1:2] and part[1] in (
        'xen_force_evtchn_callback', 'check_events', 'xen_irq_enable_direct'))
    claim(enabling * 50 <= calls, 'the interrupt\'s own way in is not in the chains',
          '%d of %d' % (enabling, calls))

    # Chains known from the workload's source: from Xen through the kernel to main.
    known = collections.Counter()
    whole = 0
    # Some three seconds of each phase give at least ten of each of these.
    ways = [('hypercall', 'entry_SYSCALL_64_after_hwframe', 'work_mmap'),
            ('hypercall', 'entry_SYSCALL_64_after_hwframe', 'work_pipe'),
            ('hypercall', 'entry_SYSCALL_64_after_hwframe', 'work_privcmd'),
            ('hypercall', 'asm_exc_page_fault', 'touch_pages'),
            ('exception', 'entry_SYSCALL_64_after_hwframe', 'work_mmap')]
    for s, part in zip(samples, ksyms):
        h = [xen.name(a - (i > 0)) for i, a in enumerate(parts(s, HV))]
        u = [user.name(a - (i > 0)) for i, a in enumerate(parts(s, USER))]
        if not h or not part or 'demo_main' not in u or 'run_until' not in u:
            continue
        whole += 1
        entry = 'exception' if h[-1].startswith('handle_exception') else \
            'hypercall' if part[0].startswith('xen_hypercall') else 'other'
        for way in ways:
            known[way] += way[0] == entry and way[1] in part and way[2] in u
    for way in ways:
        claim(known[way] > 0, 'chains of %s <- %s <- %s <- demo_main' % way, known[way])
    claim(whole >= 50, 'chains from Xen through the kernel to demo_main', whole)

    # Periods: cycles since the last sample on the same CPU. An emulated CPU stands
    # still for up to a tenth of a second while another one runs, which single
    # samples show; 16 in a row do not.
    mhz = [float(l.split()[2]) for l in open(console, errors='replace').read().replace('\r', '')
           .splitlines() if l.startswith('(XEN) Detected ') and 'MHz' in l]
    last, ratios, windows, total, span = {}, [], [], 0, 0.0
    for cpu in sorted({s.cpu for s in samples}):
        times = sorted((s.time, s.period) for s in samples if s.cpu == cpu)
        pairs = [(p, (t - u) * mhz[0] / 1000) for (u, _), (t, p) in zip(times, times[1:])]
        ratios += [p / c for p, c in pairs]
        total += sum(p for p, _ in pairs)
        span += sum(c for _, c in pairs)
        for i in range(0, len(pairs) - 15, 16):
            windows.append(sum(p for p, _ in pairs[i:i + 16]) / sum(c for _, c in pairs[i:i + 16]))
    ratios.sort()
    windows.sort()
    middle = ratios[len(ratios) // 2]
    claim(0.5 <= middle <= 2, 'median of period / cycles since the last sample', '%.3f' % middle)
    claim(0.5 <= total / span <= 2, 'sum of periods / cycles that passed', '%.3f' % (total / span))
    near = sum(1 for r in windows if 0.5 <= r <= 2)
    claim(near >= 0.9 * len(windows), 'the same for 16 samples in a row, within a factor of two',
          '%d of %d, from %.2f to %.2f' % (near, len(windows), windows[0], windows[-1]))
    print('# single samples within a factor of two: %d of %d' %
          (sum(1 for r in ratios if 0.5 <= r <= 2), len(ratios)))
    per_cpu = collections.Counter(s.cpu for s in samples)
    seconds = (max(s.time for s in samples) - min(s.time for s in samples)) / 1e9
    print('# samples per second: ' + ', '.join('CPU %d %.1f' % (c, n / seconds)
                                               for c, n in sorted(per_cpu.items())))

    claim(lost == 0, 'no lost samples', lost)
    said = [int(w[w.index('samples)') - 1].strip('(')) for w in
            (l.split() for l in open(where + '/perf.out')) if 'samples)' in w]
    claim(said == [len(samples)], 'perf record counted as many', said)
    printed = sum(1 for l in open(where + '/perf.data.kvm.txt', errors='replace')
                  if l.strip() and not l.startswith(('\t', ' ' * 8)))
    claim(printed == len(samples), 'perf script prints as many', printed)

    claim(open(where + '/xen.buildid', 'rb').read().hex() == build_id(xen_syms),
          'build id of the running Xen and of xen-syms are equal', build_id(xen_syms))
    claim(notes_build_id(open(where + '/notes', 'rb').read()) == build_id(vmlinux),
          'build id of the running kernel and of vmlinux are equal', build_id(vmlinux))
    print('1..%d' % count)
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
