#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Write a perf.data file from a readable description (tests/cases/made/*.pd).

usage: mkperf.py CASE.pd DIRECTORY

The recording and the files that lie beside it are written into DIRECTORY, which is made when it
is missing; the path of the recording is printed. The same description holds what a reader should
make of the file, see Case below. Facts about the format: Linux' include/uapi/linux/perf_event.h
and tools/perf/Documentation/perf.data-file-format.txt. Nothing here comes from a reader.

A description is read line by line. Words are split at blanks, "..." keeps blanks together, a
line that starts with # is a comment. Numbers are decimal or 0x hexadecimal, negative ones wrap
to the field's width, sums like 0x401000+0x20 and names given by `let` may stand for a number.

Expectations and settings (KEY: TEXT)
  name: TEXT             what the case shows, one line
  args: WORDS            arguments for xenflame; {dir} is the folder, {file} the recording
  stdin: yes             the recording is given on standard input, as `-`
  output: NAME           name of the recording (default perf.data)
  exit: N                expected exit status (default 0)
  expect: STACK N        expected folded line; {any} stands for any one frame, {some} for any
                         number of frames. Lines with the same stack are added up.
  allow: STACK           a stack that may appear and need not, with any count (for what the
                         format leaves to the reader); {any} and {some} as above
  diag: WORDS            one line of standard error holds all these words, in any letter case;
                         words that hold blanks stand in "..."
  nodiag: WORDS          no line of standard error holds all of them
  variants: no           the case is about this container: make no others of its records
  needs: zstd            the case needs this optional ability of the reader
  perf: REASON           `perf script` of perf 6.1 does not give these stacks, and why
  perf: same [EVENT] [except VARIANT...]    it does (the default), its other events left aside,
                         but not for these variants of run.py
  kallsyms: / xensyms: / file: NAME    a text file beside the recording, up to a line `end`

Statements on the whole file
  format file|pipe|v1|dir    container (default file); v1 is the magic of 2009, dir has streams
  endian little|big          byte order (default little)
  header KEY=N...            size (72: without the bits of features), attr_size (stride of the
                             attribute table, with the 16 bytes of its section of ids), attr_gap
                             (unused bytes before the table)
  bitmap words=32            feature bits as 32-bit words, as a 32-bit big-endian host wrote them
  auto off                   pipe: do not write attributes and features first by itself
  event NAME KEY=V...        an attribute. type= and config= numbers, or words as in the kernel
                             (hardware, software, tracepoint, raw; cycles, cpu-clock, dummy...),
                             fields= sample_type, flags=, read= read_format, branch=
                             branch_sample_type as lists of lower-case names; period= or freq=,
                             regs_user=, stack_user=, regs_intr=, clockid=, ids=A,B; size= the
                             attribute's own size field, bytes= the bytes written for it (default:
                             size), fill= value of the bytes after the known ones
  feature NAME VALUES        hostname osrelease version arch cpudesc cpuid STRING, cmdline
                             STRINGS, nrcpus ONLINE AVAILABLE, sample_time FIRST LAST,
                             event_desc (made from the events), build_id (PID MODE HEX NAME)...,
                             compressed LEN, dir_format, raw NUMBER HEX
  let NAME N                 a name for a number
  default KEY=V...           values for keys that later records leave out
  clock N                    time that the next record without time= gets; each adds 1000

Records (in the order of the file; keys of all: misc= adds to misc, mode= cpumode, time=, ev= the
event whose trailer a kernel record gets, cpu=, id= other id, noid leaves the trailer off,
size= other header.size, type= other type, cut=N drops bytes at the end, pad=HEX appends some,
count=N repeats)
  kernel [addr= len= ref= pgoff=]           MMAP of the kernel, pid -1, time 0
  mmap / mmap2 pid= addr= len= pgoff= file= [data] [maj= min= ino= gen= | build_id=HEX] [prot=
      flags=] [nonul]
  comm pid= name= [tid=] [exec] [nonul]     fork pid= ppid= [tid= ptid=]      exit pid= [...]
  sample pid= [tid=] [chain=A,B,...] [ip=] [addr= period= stream= read=V:EN:RUN:ID:LOST
      group=V:ID:LOST,... enabled= running= raw=HEX branch=FROM>TO,... hw_idx= regs=N,...|abi0
      abi= stack=HEX dyn= weight= data_src= txn= iregs= phys= cgroup= dpage= cpage= aux=HEX
      nr= chain length to claim]. In a chain HV KERNEL USER GUEST GUEST_KERNEL GUEST_USER and
      USER_DEFERRED are context markers, A*N repeats A. ip and mode default to the chain's first.
  deferred cookie= chain=                   lost n= [lid=]      lost_samples n=
  throttle / unthrottle                     read pid= value=V:EN:RUN:ID:LOST
  switch [out] / switch_cpu [out] npid=     namespaces pid= n=  cgroup cid= path=
  ksymbol addr= len= name= [unregister] [ktype=]   bpf_event btype= bid=
  text_poke addr= old=HEX new=HEX           aux off= len= [aflags=]    itrace pid=   hw_id n=
  attr NAME   header_feature NAME VALUES    update_name EVENT NAME
  round   finished_init   id_index (ID:IDX:CPU:TID[:MACHINE:VCPU])...
  tracing_data HEX   auxtrace HEX   build_id_record PID MODE HEX NAME
  record type= [body=HEX] [more=HEX*N] [u32=A,B] [u64=A,B] [text=]    any record
  filler bytes=N [type=] [seed=]            record with bytes that do not compress
  raw HEX / raw text "..."                  bytes, no record
  compress v=1|2 [chunk=N] [cut=N] [frames=each] [via=program] [overflow] ... compress end
      the records between as zstd: chunk = plain bytes a record, cut = compressed bytes a
      record; overflow: as perf 6.16 wrote COMPRESSED2 when one push made over 65528 bytes
  stream N|main                             dir: the file data.N that the next records go to
  label NAME                                names this place of the file

Damage, after all else
  patch WHERE u64=N|u32=N|u16=N|hex=H       WHERE: a byte offset, @label, @label+N, or a header
                                            field (magic size attr_size attrs.off attrs.size
                                            data.off data.size features)
  truncate N | truncate @label[+N] | truncate end-N
  append hex H | append text "..."
  wrap gzip|xz|zstd                         the whole file compressed
"""

import gzip
import hashlib
import lzma
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys


class Missing(Exception):
    """A program that this case needs is not there: skip it."""


class Mistake(Exception):
    """The description is wrong."""


FIELDS = ['ip', 'tid', 'time', 'addr', 'read', 'callchain', 'id', 'cpu', 'period', 'stream_id',
          'raw', 'branch_stack', 'regs_user', 'stack_user', 'weight', 'data_src', 'identifier',
          'transaction', 'regs_intr', 'phys_addr', 'aux', 'cgroup', 'data_page_size',
          'code_page_size', 'weight_struct']
READ = ['enabled', 'running', 'id', 'group', 'lost']
FLAGS = ['disabled', 'inherit', 'pinned', 'exclusive', 'exclude_user', 'exclude_kernel',
         'exclude_hv', 'exclude_idle', 'mmap', 'comm', 'freq', 'inherit_stat', 'enable_on_exec',
         'task', 'watermark', 'precise1', 'precise2', 'mmap_data', 'sample_id_all',
         'exclude_host', 'exclude_guest', 'exclude_callchain_kernel', 'exclude_callchain_user',
         'mmap2', 'comm_exec', 'use_clockid', 'context_switch', 'write_backward', 'namespaces',
         'ksymbol', 'bpf_event', 'aux_output', 'cgroup', 'text_poke', 'build_id',
         'inherit_thread', 'remove_on_exec', 'sigtrap', 'defer_callchain', 'defer_output']
BRANCH = {'user': 1 << 0, 'kernel': 1 << 1, 'hv': 1 << 2, 'any': 1 << 3, 'call_stack': 1 << 11,
          'no_flags': 1 << 14, 'no_cycles': 1 << 15, 'hw_index': 1 << 17, 'counters': 1 << 19}
MARKERS = {'HV': -32, 'KERNEL': -128, 'USER': -512, 'USER_DEFERRED': -640, 'GUEST': -2048,
           'GUEST_KERNEL': -2176, 'GUEST_USER': -2560}
MODES = {'unknown': 0, 'kernel': 1, 'user': 2, 'hv': 3, 'guest_kernel': 4, 'guest_user': 5}
TYPES = {'hardware': 0, 'software': 1, 'tracepoint': 2, 'hw_cache': 3, 'raw': 4, 'breakpoint': 5}
CONFIGS = {'cycles': 0, 'instructions': 1, 'cache-misses': 3, 'cpu-clock': 0, 'task-clock': 1,
           'page-faults': 2, 'dummy': 9}
FEATURES = {'tracing_data': 1, 'build_id': 2, 'hostname': 3, 'osrelease': 4, 'version': 5,
            'arch': 6, 'nrcpus': 7, 'cpudesc': 8, 'cpuid': 9, 'cmdline': 11, 'event_desc': 12,
            'sample_time': 21, 'dir_format': 24, 'compressed': 27}
HEADER = {'magic': (0, 'Q'), 'size': (8, 'Q'), 'attr_size': (16, 'Q'), 'attrs.off': (24, 'Q'),
          'attrs.size': (32, 'Q'), 'data.off': (40, 'Q'), 'data.size': (48, 'Q'),
          'types.off': (56, 'Q'), 'types.size': (64, 'Q'), 'features': (72, 'Q')}
EV_FLAGS = 'mmap,comm,freq,task,sample_id_all,mmap2,comm_exec'
EV_FIELDS = 'ip,tid,time,cpu,period,callchain'


def bits(words, names):
    """The bits of a comma list; `names` is a list in bit order or a dict of values."""
    value = 0
    for word in words.split(','):
        if not word or word == 'none':
            continue
        if word[0].isdigit():
            value |= int(word, 0)
        elif isinstance(names, dict):
            value |= names[word]
        else:
            value |= 1 << names.index(word)
    return value


def noise(count, seed):
    """Bytes that no compressor makes smaller, the same on every machine."""
    out = b''
    i = 0
    while len(out) < count:
        out += hashlib.sha256(b'%d/%d' % (seed, i)).digest()
        i += 1
    return out[:count]


class RawZstd:
    """A zstd frame of uncompressed blocks: needs no library and is the same everywhere."""

    def __init__(self):
        self.open = False

    def block(self, data, last=False):
        out = b''
        if not self.open:
            # no content size, no checksum, window 2^17
            out = struct.pack('<IBB', 0xfd2fb528, 0, (17 - 10) << 3)
            self.open = True
        pieces = [data[i:i + 65536] for i in range(0, len(data), 65536)] or [b'']
        for i, piece in enumerate(pieces):
            end = last and i == len(pieces) - 1
            out += struct.pack('<I', len(piece) << 3 | int(end))[:3] + piece
        if last:
            self.open = False
        return out


class Case:
    """One description: what the file holds and what a reader should make of it."""

    def __init__(self, path):
        self.path = path
        self.name = os.path.splitext(os.path.basename(path))[0]
        self.title = self.name
        self.args = []
        self.stdin = False
        self.output = 'perf.data'
        self.exit = 0
        self.expect = []        # (stack, count)
        self.allow = []
        self.diag = []          # lists of words
        self.nodiag = []
        self.needs = []
        self.variants = True
        self.perf = 'same'
        self.files = []         # (name, text)
        self.lines = []         # (line number, words)
        self.read()

    def read(self):
        with open(self.path, encoding='utf-8') as f:
            text = f.read().split('\n')
        i = 0
        while i < len(text):
            line = text[i].strip()
            i += 1
            if not line or line.startswith('#'):
                continue
            m = re.match(r'([a-z]+):(?:\s+(.*))?$', line)
            if not m:
                self.lines.append((i, shlex.split(line)))
                continue
            key, value = m.group(1), m.group(2) or ''
            if key in ('kallsyms', 'xensyms', 'file'):
                start = i
                while i < len(text) and text[i].strip() != 'end':
                    i += 1
                if i == len(text):
                    raise Mistake('%s:%d: no `end`' % (self.path, start))
                body = ''.join(x.strip() + '\n' for x in text[start:i])
                self.files.append((value if key == 'file' else key, body))
                i += 1
            elif key == 'name':
                self.title = value
            elif key == 'args':
                self.args += shlex.split(value)
            elif key == 'stdin':
                self.stdin = value == 'yes'
            elif key == 'output':
                self.output = value
            elif key == 'exit':
                self.exit = int(value)
            elif key == 'expect':
                stack, count = value.rsplit(' ', 1)
                self.expect.append((stack, int(count)))
            elif key == 'allow':
                self.allow.append(value)
            elif key == 'diag':
                self.diag.append(shlex.split(value))
            elif key == 'nodiag':
                self.nodiag.append(shlex.split(value))
            elif key == 'variants':
                self.variants = value != 'no'
            elif key == 'needs':
                self.needs += value.split()
            elif key == 'perf':
                self.perf = value
            else:
                raise Mistake('%s:%d: unknown key %s' % (self.path, i, key))

    def has_variants(self):
        """Whether the records alone make the case, so that any container will do."""
        fixed = ('format', 'endian', 'header', 'auto', 'raw', 'patch', 'truncate', 'append',
                 'wrap', 'compress', 'stream', 'auxtrace', 'tracing_data', 'label')
        return self.variants and not any(words[0] in fixed for _, words in self.lines)

    def write(self, folder, variant=''):
        """Writes the recording and its files; returns the path of the recording.

        variant: '', or another container for the same records: big, pipe, pipe-big, zstd."""
        os.makedirs(folder, exist_ok=True)
        writer = Writer()
        if 'big' in variant:
            writer.order = '>'
        if 'pipe' in variant:
            writer.format = 'pipe'
        lines = self.lines
        if variant == 'zstd':
            # 61 plain bytes a record: most records cross a border
            head = [x for x in lines if not hasattr(Writer, 'rec_' + x[1][0])
                    and x[1][0] not in ('default', 'clock')]
            body = [x for x in lines if x not in head]
            head.append((0, ['feature', 'compressed', '528384']))
            lines = head + [(0, ['compress', 'v=1', 'chunk=61'])] + body
            lines.append((0, ['compress', 'end']))
        for number, words in lines:
            try:
                writer.statement(words)
            except Missing:
                raise
            except Exception as e:
                raise Mistake('%s:%d: %s: %r' % (self.path, number, ' '.join(words), e)) from e
        for name, text in self.files:
            with open(os.path.join(folder, name), 'w', encoding='utf-8') as f:
                f.write(text)
        path = os.path.join(folder, self.output)
        parts = writer.finish()
        if writer.format == 'dir':
            os.makedirs(path, exist_ok=True)
            for stream, data in parts.items():
                with open(os.path.join(path, stream), 'wb') as f:
                    f.write(data)
        else:
            with open(path, 'wb') as f:
                f.write(parts['data'])
        return path


class Event:
    """An attribute (struct perf_event_attr) and its ids."""

    def __init__(self, name, keys, number):
        self.name = name
        word = keys.get('type', 'hardware')
        self.type = TYPES[word] if word in TYPES else number(word)
        word = keys.get('config', '0')
        self.config = CONFIGS[word] if word in CONFIGS else number(word)
        self.period = number(keys.get('period', keys.get('freq', '99')))
        self.fields = bits(keys.get('fields', EV_FIELDS), FIELDS)
        self.read = bits(keys.get('read', ''), READ)
        self.flags = bits(keys.get('flags', EV_FLAGS), FLAGS)
        if 'period' in keys:
            self.flags &= ~(1 << FLAGS.index('freq'))
        if 'addflags' in keys:
            self.flags |= bits(keys['addflags'], FLAGS)
        self.branch = bits(keys.get('branch', ''), BRANCH)
        self.regs_user = number(keys.get('regs_user', '0'))
        self.stack_user = number(keys.get('stack_user', '0'))
        self.clockid = number(keys.get('clockid', '0'))
        self.regs_intr = number(keys.get('regs_intr', '0'))
        self.size = number(keys.get('size', '128'))
        self.bytes = number(keys.get('bytes', str(self.size)))
        self.fill = number(keys.get('fill', '0'))
        self.ids = [number(x) for x in keys.get('ids', '').split(',') if x]

    def has(self, field):
        return self.fields >> FIELDS.index(field) & 1

    def flag(self, name):
        return self.flags >> FLAGS.index(name) & 1

    def encode(self, order):
        flags = self.flags
        if order == '>':
            # the kernel's bit fields start at the most significant bit there
            flags = int('{:064b}'.format(flags)[::-1], 2)
        out = struct.pack(order + 'IIQQQQQ', self.type, self.size, self.config, self.period,
                          self.fields, self.read, flags)
        out += struct.pack(order + 'IIQQ', 0, 0, 0, 0)
        out += struct.pack(order + 'QQIi', self.branch, self.regs_user, self.stack_user,
                           self.clockid)
        out += struct.pack(order + 'QIHHIIQQQ', self.regs_intr, 0, 0, 0, 0, 0, 0, 0, 0)
        out = out[:self.bytes]
        return out + bytes([self.fill]) * (self.bytes - len(out))


class Writer:
    """Turns statements into bytes."""

    def __init__(self):
        self.format = 'file'
        self.order = '<'
        self.header = {}
        self.auto = True
        self.bitmap32 = False
        self.events = []
        self.features = []      # (number, words) in the order given
        self.names = {}
        self.defaults = {}
        self.clock = 1000000
        self.stream = 'data'
        self.streams = {'data': bytearray()}
        self.zstd = {}          # stream -> RawZstd
        self.block = None       # (options, bytes so far) inside `compress`
        self.labels = {}
        self.damage = []
        self.wrap = None

    # numbers and packing

    def number(self, text):
        total = 0
        for sign, word in re.findall(r'([+-]?)([^+-]+)', text):
            value = self.names[word] if word in self.names else int(word, 0)
            total += -value if sign == '-' else value
        return total

    def pack(self, form, *values):
        """Packs with the file's byte order; negative values wrap."""
        out = b''
        for letter, value in zip(form, values):
            width = struct.calcsize(letter)
            out += (value & (1 << 8 * width) - 1).to_bytes(
                width, 'little' if self.order == '<' else 'big')
        return out

    def u64s(self, values):
        return b''.join(self.pack('Q', v) for v in values)

    @staticmethod
    def padded(text, to=8, nul=True):
        data = text.encode('utf-8') + (b'\0' if nul else b'')
        return data + bytes(-len(data) % to)

    def string(self, text):
        data = self.padded(text, 64)
        return self.pack('I', len(data)) + data

    # statements

    def statement(self, words):
        verb, rest = words[0], words[1:]
        keys = {}
        plain = []
        for word in rest:
            m = re.match(r'([a-z_0-9.]+)=(.*)$', word, re.S)
            if m and verb not in ('raw', 'append'):
                keys[m.group(1)] = m.group(2)
            else:
                plain.append(word)
        handler = getattr(self, 'do_' + verb, None)
        if handler:
            handler(plain, keys)
            return
        maker = getattr(self, 'rec_' + verb)
        merged = dict(self.defaults)
        merged.update(keys)
        for _ in range(self.number(keys.get('count', '1'))):
            self.emit(maker, plain, dict(merged))

    def do_format(self, plain, _):
        self.format = plain[0]

    def do_endian(self, plain, _):
        self.order = {'little': '<', 'big': '>'}[plain[0]]

    def do_header(self, _, keys):
        self.header.update({k: self.number(v) for k, v in keys.items()})

    def do_auto(self, plain, _):
        self.auto = plain[0] != 'off'

    def do_bitmap(self, _, keys):
        self.bitmap32 = keys['words'] == '32'

    def do_event(self, plain, keys):
        self.events.append(Event(plain[0], keys, self.number))

    def do_feature(self, plain, keys):
        self.features.append((plain, keys))

    def do_let(self, plain, _):
        self.names[plain[0]] = self.number(plain[1])

    def do_default(self, _, keys):
        self.defaults.update(keys)

    def do_clock(self, plain, _):
        self.clock = self.number(plain[0])

    def do_label(self, plain, _):
        # offset inside the stream of records; finish() adds where that begins
        self.labels[plain[0]] = (self.stream, len(self.streams[self.stream]))

    def do_stream(self, plain, _):
        self.stream = 'data' if plain[0] == 'main' else 'data.' + plain[0]
        self.streams.setdefault(self.stream, bytearray())

    def do_patch(self, plain, keys):
        self.damage.append(('patch', plain[0], keys))

    def do_truncate(self, plain, _):
        self.damage.append(('truncate', plain[0], {}))

    def do_append(self, plain, _):
        self.damage.append(('append', self.literal(plain), {}))

    def do_wrap(self, plain, _):
        self.wrap = plain[0]

    def do_raw(self, plain, _):
        self.out(self.literal(plain))

    @staticmethod
    def literal(plain):
        if plain[0] == 'text':
            return plain[1].encode('utf-8').replace(b'\\n', b'\n')
        return bytes.fromhex(''.join(x for x in plain if x != 'hex'))

    def do_compress(self, plain, keys):
        if plain == ['end']:
            options, data = self.block
            self.block = None
            self.compress(options, bytes(data))
            return
        keys['flags'] = plain
        self.block = (keys, bytearray())

    # records

    def out(self, data):
        if self.block is not None:
            self.block[1].extend(data)
        else:
            self.streams[self.stream].extend(data)

    def when(self, keys):
        """The time of a record: given, or the running clock."""
        if 'time' in keys:
            return self.number(keys['time'])
        if '_time' not in keys:
            keys['_time'] = self.clock
            self.clock += 1000
        return keys['_time']

    def event(self, keys):
        name = keys.get('ev')
        for event in self.events:
            if event.name == name or name is None:
                return event
        raise Mistake('no event %s' % name)

    def get(self, keys, name, default=0):
        return self.number(keys[name]) if name in keys else default

    def ident(self, keys, event):
        return self.get(keys, 'id', event.ids[0] if event.ids else 0)

    def trailer(self, keys):
        """The sample_id fields at the end of kernel records."""
        if not self.events:
            return b''
        event = self.event(keys)
        if not event.flag('sample_id_all'):
            return b''
        pid = self.get(keys, 'pid')
        out = b''
        if event.has('tid'):
            out += self.pack('II', pid, self.get(keys, 'tid', pid))
        if event.has('time'):
            out += self.pack('Q', self.when(keys))
        if event.has('id'):
            out += self.pack('Q', self.ident(keys, event))
        if event.has('stream_id'):
            out += self.pack('Q', self.get(keys, 'stream', self.ident(keys, event)))
        if event.has('cpu'):
            out += self.pack('II', self.get(keys, 'cpu'), 0)
        if event.has('identifier'):
            out += self.pack('Q', self.ident(keys, event))
        return out

    def emit(self, maker, plain, keys):
        """A maker gives (type, misc, body, has a trailer) or also bytes that follow outside."""
        made = maker(plain, keys)
        kind, misc, body, trailer = made[:4]
        after = made[4] if len(made) > 4 else b''
        kind = self.get(keys, 'type', kind) if maker != self.rec_record else kind
        misc |= MODES[keys.get('mode', 'unknown')] if kind < 64 and kind != 9 else 0
        misc |= self.get(keys, 'misc')
        if trailer and 'noid' not in plain:
            body += self.trailer(keys)
        if 'cut' in keys:
            body = body[:len(body) - self.number(keys['cut'])]
        if 'pad' in keys:
            body += bytes.fromhex(keys['pad'])
        size = self.get(keys, 'size', 8 + len(body))
        self.out(self.pack('IHH', kind, misc, size) + body + after)

    def rec_kernel(self, plain, keys):
        keys.setdefault('time', '0')
        keys['mode'] = 'kernel'
        keys['pid'] = '-1'
        keys['tid'] = '0'
        addr = self.get(keys, 'addr', 0xffffffff81000000)
        keys['pgoff'] = str(self.get(keys, 'pgoff', addr))
        keys['addr'] = str(addr)
        keys.setdefault('len', '0x1000000')
        keys['file'] = '[kernel.kallsyms]' + keys.get('ref', '_text')
        return self.rec_mmap(plain, keys)

    def map_range(self, keys):
        pid = self.get(keys, 'pid')
        keys.setdefault('mode', 'user')
        return self.pack('IIQQQ', pid, self.get(keys, 'tid', pid), self.number(keys['addr']),
                         self.number(keys['len']), self.get(keys, 'pgoff'))

    def rec_mmap(self, plain, keys):
        body = self.map_range(keys) + self.padded(keys['file'], nul='nonul' not in plain)
        return 1, 0x2000 if 'data' in plain else 0, body, True

    def rec_mmap2(self, plain, keys):
        misc = 0x2000 if 'data' in plain else 0
        body = self.map_range(keys)
        if 'build_id' in keys:
            build = bytes.fromhex(keys['build_id'])
            body += bytes([len(build), 0, 0, 0]) + build.ljust(20, b'\0')
            misc |= 0x4000
        else:
            body += self.pack('IIQQ', self.get(keys, 'maj', 8), self.get(keys, 'min', 1),
                              self.get(keys, 'ino', 77), self.get(keys, 'gen'))
        prot = 1 if 'data' in plain else 5
        body += self.pack('II', self.get(keys, 'prot', prot), self.get(keys, 'flags', 2))
        body += self.padded(keys['file'], nul='nonul' not in plain)
        return 10, misc, body, True

    def rec_comm(self, plain, keys):
        pid = self.get(keys, 'pid')
        body = self.pack('II', pid, self.get(keys, 'tid', pid))
        body += self.padded(keys['name'], nul='nonul' not in plain)
        return 3, 0x2000 if 'exec' in plain else 0, body, True

    def task(self, keys):
        pid = self.get(keys, 'pid')
        parent = self.get(keys, 'ppid', pid)
        return self.pack('IIIIQ', pid, parent, self.get(keys, 'tid', pid),
                         self.get(keys, 'ptid', parent), self.when(keys))

    def rec_fork(self, plain, keys):
        return 7, 0, self.task(keys), True

    def rec_exit(self, plain, keys):
        return 4, 0, self.task(keys), True

    def chain(self, text):
        values = []
        for word in text.split(','):
            times = 1
            if '*' in word:
                word, times = word.split('*')
            if not word:
                continue
            value = MARKERS[word] if word in MARKERS else self.number(word)
            values += [value & (1 << 64) - 1] * int(times)
        return values

    def counters(self, text, event):
        """A single counter value: V:ENABLED:RUNNING:ID:LOST, missing ones are 0."""
        parts = [self.number(x) for x in text.split(':')]
        parts += [0] * (5 - len(parts))
        names = ['value', 'enabled', 'running', 'id', 'lost']
        wanted = [n == 'value' or event.read >> READ.index(n) & 1 for n in names]
        return self.u64s(p for p, w in zip(parts, wanted) if w)

    def read_values(self, keys, event):
        if not event.read & 8:
            return self.counters(keys.get('read', '0'), event)
        members = [x.split(':') for x in keys.get('group', '0').split(',')]
        out = self.pack('Q', len(members))
        if event.read & 1:
            out += self.pack('Q', self.get(keys, 'enabled'))
        if event.read & 2:
            out += self.pack('Q', self.get(keys, 'running'))
        for member in members:
            member = [self.number(x) for x in member] + [0, 0]
            out += self.pack('Q', member[0])
            if event.read & 4:
                out += self.pack('Q', member[1])
            if event.read & 16:
                out += self.pack('Q', member[2])
        return out

    def registers(self, text, mask, keys):
        if text == 'abi0':
            return self.pack('Q', 0)
        values = [self.number(x) for x in text.split(',')] if text else []
        values += [0] * (bin(mask).count('1') - len(values))
        return self.pack('Q', self.get(keys, 'abi', 2)) + self.u64s(values)

    def rec_sample(self, plain, keys):
        event = self.event(keys)
        chain = self.chain(keys.get('chain', ''))
        mode = keys.get('mode')
        first = next((x for x in chain if x < 0xfffffffffffff000), 0)
        if mode is None:
            mode = 'user'
            for name, value in MARKERS.items():
                if chain and chain[0] == value & (1 << 64) - 1 and name.lower() in MODES:
                    mode = name.lower()
        misc = MODES[mode]
        pid = self.get(keys, 'pid')
        ident = self.ident(keys, event)
        body = b''
        if event.has('identifier'):
            body += self.pack('Q', ident)
        if event.has('ip'):
            body += self.pack('Q', self.get(keys, 'ip', first))
        if event.has('tid'):
            body += self.pack('II', pid, self.get(keys, 'tid', pid))
        if event.has('time'):
            body += self.pack('Q', self.when(keys))
        if event.has('addr'):
            body += self.pack('Q', self.get(keys, 'addr'))
        if event.has('id'):
            body += self.pack('Q', ident)
        if event.has('stream_id'):
            body += self.pack('Q', self.get(keys, 'stream', ident))
        if event.has('cpu'):
            body += self.pack('II', self.get(keys, 'cpu'), 0)
        if event.has('period'):
            body += self.pack('Q', self.get(keys, 'period', 1))
        if event.has('read'):
            body += self.read_values(keys, event)
        if event.has('callchain'):
            body += self.pack('Q', self.get(keys, 'nr', len(chain))) + self.u64s(chain)
        if event.has('raw'):
            data = bytes.fromhex(keys.get('raw', ''))
            data += bytes(-(len(data) + 4) % 8)
            body += self.pack('I', len(data)) + data
        if event.has('branch_stack'):
            pairs = [x.split('>') for x in keys.get('branch', '').split(',') if x]
            body += self.pack('Q', len(pairs))
            if event.branch & BRANCH['hw_index']:
                body += self.pack('Q', self.get(keys, 'hw_idx'))
            for source, target in pairs:
                body += self.pack('QQQ', self.number(source), self.number(target), 0)
            if event.branch & BRANCH['counters']:
                body += self.u64s([0x11] * len(pairs))
        if event.has('regs_user'):
            body += self.registers(keys.get('regs', 'abi0'), event.regs_user, keys)
        if event.has('stack_user'):
            data = bytes.fromhex(keys.get('stack', ''))
            body += self.pack('Q', len(data)) + data
            if data:
                body += self.pack('Q', self.get(keys, 'dyn', len(data)))
        if event.has('weight') or event.has('weight_struct'):
            body += self.pack('Q', self.get(keys, 'weight'))
        if event.has('data_src'):
            body += self.pack('Q', self.get(keys, 'data_src'))
        if event.has('transaction'):
            body += self.pack('Q', self.get(keys, 'txn'))
        if event.has('regs_intr'):
            body += self.registers(keys.get('iregs', 'abi0'), event.regs_intr, keys)
        for field, key in (('phys_addr', 'phys'), ('cgroup', 'cgroup'),
                           ('data_page_size', 'dpage'), ('code_page_size', 'cpage')):
            if event.has(field):
                body += self.pack('Q', self.get(keys, key))
        if event.has('aux'):
            data = bytes.fromhex(keys.get('aux', ''))
            body += self.pack('Q', len(data)) + data
        return 9, misc, body, False

    def rec_deferred(self, plain, keys):
        chain = self.chain(keys['chain'])
        body = self.pack('QQ', self.number(keys['cookie']), self.get(keys, 'nr', len(chain)))
        return 22, MODES['user'], body + self.u64s(chain), True

    def rec_lost(self, plain, keys):
        ident = self.get(keys, 'lid', self.ident(keys, self.event(keys)))
        return 2, 0, self.pack('QQ', ident, self.number(keys['n'])), True

    def rec_lost_samples(self, plain, keys):
        return 13, 0, self.pack('Q', self.number(keys['n'])), True

    def rec_throttle(self, plain, keys):
        ident = self.ident(keys, self.event(keys))
        return 5, 0, self.pack('QQQ', self.when(keys), ident, ident), True

    def rec_unthrottle(self, plain, keys):
        return (6,) + self.rec_throttle(plain, keys)[1:]

    def rec_read(self, plain, keys):
        pid = self.get(keys, 'pid')
        body = self.pack('II', pid, self.get(keys, 'tid', pid))
        return 8, 0, body + self.counters(keys['value'], self.event(keys)), True

    def rec_switch(self, plain, keys):
        return 14, 0x2000 if 'out' in plain else 0, b'', True

    def rec_switch_cpu(self, plain, keys):
        other = self.get(keys, 'npid')
        return 15, 0x2000 if 'out' in plain else 0, self.pack('II', other, other), True

    def rec_namespaces(self, plain, keys):
        pid = self.get(keys, 'pid')
        count = self.get(keys, 'n', 7)
        body = self.pack('IIQ', pid, self.get(keys, 'tid', pid), count)
        return 16, 0, body + self.u64s(v for i in range(count) for v in (4, 4026531835 + i)), True

    def rec_cgroup(self, plain, keys):
        return 19, 0, self.pack('Q', self.get(keys, 'cid')) + self.padded(keys['path']), True

    def rec_ksymbol(self, plain, keys):
        body = self.pack('QIHH', self.number(keys['addr']), self.number(keys['len']),
                         self.get(keys, 'ktype', 1), int('unregister' in plain))
        return 17, 0, body + self.padded(keys['name']), True

    def rec_bpf_event(self, plain, keys):
        body = self.pack('HHI', self.get(keys, 'btype', 1), 0, self.get(keys, 'bid', 5))
        return 18, 0, body + b'TAGTAGTA', True

    def rec_text_poke(self, plain, keys):
        old, new = bytes.fromhex(keys['old']), bytes.fromhex(keys['new'])
        body = self.pack('QHH', self.number(keys['addr']), len(old), len(new)) + old + new
        return 20, 0, body + bytes(-len(body) % 8), True

    def rec_aux(self, plain, keys):
        return 11, 0, self.pack('QQQ', self.get(keys, 'off'), self.get(keys, 'len'),
                                self.get(keys, 'aflags')), True

    def rec_itrace(self, plain, keys):
        pid = self.get(keys, 'pid')
        return 12, 0, self.pack('II', pid, pid), True

    def rec_hw_id(self, plain, keys):
        return 21, 0, self.pack('Q', self.get(keys, 'n')), True

    def rec_attr(self, plain, keys):
        event = next(e for e in self.events if e.name == plain[0])
        return 64, 0, event.encode(self.order) + self.u64s(event.ids), False

    def rec_header_feature(self, plain, keys):
        number, data = self.feature(plain, keys)
        return 80, 0, self.pack('Q', number) + data, False

    def rec_update_name(self, plain, keys):
        event = next(e for e in self.events if e.name == plain[0])
        ident = event.ids[0] if event.ids else 0
        return 78, 0, self.pack('QQ', 2, ident) + self.padded(plain[1]), False

    def rec_round(self, plain, keys):
        return 68, 0, b'', False

    def rec_finished_init(self, plain, keys):
        return 82, 0, b'', False

    def rec_id_index(self, plain, keys):
        entries = [[self.number(x) for x in word.split(':')] for word in plain]
        body = self.pack('Q', len(entries)) + b''.join(self.u64s(e[:4]) for e in entries)
        return 69, 0, body + b''.join(self.u64s(e[4:6]) for e in entries if len(e) == 6), False

    def rec_tracing_data(self, plain, keys):
        data = bytes.fromhex(plain[0])
        return 66, 0, self.pack('I', len(data)), False, data + bytes(-len(data) % 8)

    def rec_auxtrace(self, plain, keys):
        data = bytes.fromhex(plain[0]) if plain else b''
        body = self.pack('QQQIIII', self.get(keys, 'claim', len(data)), 0, 0, 0, 1, 0, 0)
        return 71, 0, body, False, data

    def rec_build_id_record(self, plain, keys):
        pid, mode, build, name = plain
        data = self.pack('i', self.number(pid)) + self.build_id(build) + self.padded(name)
        return 67, MODES[mode] | 0x8000, data, False

    def rec_record(self, plain, keys):
        body = bytes.fromhex(keys.get('body', ''))
        if 'more' in keys:
            unit, times = keys['more'].split('*')
            body += bytes.fromhex(unit) * int(times)
        body += b''.join(self.pack('I', self.number(x)) for x in keys.get('u32', '').split(',')
                         if x)
        body += self.u64s(self.number(x) for x in keys.get('u64', '').split(',') if x)
        if 'text' in keys:
            body += self.padded(keys['text'])
        return self.number(keys['type']), 0, body, 'id' in plain

    def rec_filler(self, plain, keys):
        body = noise(self.number(keys['bytes']), self.get(keys, 'seed', 1))
        return self.get(keys, 'type', 99), 0, body, False

    # compression

    def squeeze(self, options, data):
        """The zstd pieces of `data`, one a record."""
        if options.get('via') == 'program':
            tool = shutil.which('zstd')
            if not tool:
                raise Missing('the zstd program is not there')
            packed = subprocess.run([tool, '-q', '-c', '-5'], input=data, check=True,
                                    stdout=subprocess.PIPE).stdout
            cut = self.get(options, 'cut', len(packed))
            return [packed[i:i + cut] for i in range(0, len(packed), cut)]
        each = options.get('frames') == 'each'
        state = self.zstd.setdefault(self.stream, RawZstd())
        chunk = self.get(options, 'chunk', max(len(data), 1))
        pieces = [state.block(data[i:i + chunk], each) for i in range(0, len(data), chunk)]
        if 'cut' in options:
            packed = b''.join(pieces)
            cut = self.number(options['cut'])
            pieces = [packed[i:i + cut] for i in range(0, len(packed), cut)]
        return pieces

    def compress(self, options, data):
        pieces = self.squeeze(options, data)
        if options.get('v', '1') == '1':
            for piece in pieces:
                if len(piece) > 65527:
                    raise Mistake('piece of %d bytes' % len(piece))
                self.out(self.pack('IHH', 81, 0, 8 + len(piece)) + piece)
            return
        if 'overflow' not in options['flags']:
            for piece in pieces:
                size = 16 + len(piece)
                size += -size % 8
                if size > 65535:
                    raise Mistake('piece of %d bytes' % len(piece))
                self.out(self.pack('IHHQ', 83, 0, size, len(piece)) + piece
                         + bytes(size - 16 - len(piece)))
            return
        # perf 6.16 to 7.1: all pieces in one write, the first header overwritten with the sum,
        # whose rounded size does not fit 16 bits; the other headers are as the compressor left
        # them. The padding fails to be written then: nothing follows the last piece.
        total = sum(16 + len(piece) for piece in pieces)
        rounded = total + -total % 8
        if rounded < 65536:
            raise Mistake('%d bytes do not overflow' % total)
        for i, piece in enumerate(pieces):
            if i == 0:
                self.out(self.pack('IHHQ', 83, 0, rounded, total - 16) + piece)
            else:
                self.out(self.pack('IHHQ', 83, 0, 16 + len(piece), 0xdeadbeefcafef00d) + piece)

    # features

    @staticmethod
    def build_id(text):
        data = bytes.fromhex(text)
        return data.ljust(20, b'\0') + bytes([len(data), 0, 0, 0])

    def feature(self, plain, keys):
        """(number, bytes) of a feature."""
        name, values = plain[0], plain[1:]
        if name == 'raw':
            return self.number(values[0]), bytes.fromhex(''.join(values[1:]))
        number = FEATURES[name]
        if name in ('hostname', 'osrelease', 'version', 'arch', 'cpudesc', 'cpuid'):
            return number, self.string(values[0])
        if name == 'cmdline':
            return number, self.pack('I', len(values)) + b''.join(map(self.string, values))
        if name == 'nrcpus':
            # available first, then online
            return number, self.pack('II', self.number(values[1]), self.number(values[0]))
        if name == 'sample_time':
            return number, self.u64s(map(self.number, values))
        if name == 'dir_format':
            return number, self.pack('Q', 1)
        if name == 'compressed':
            return number, self.pack('IIIII', 1, 1, 1, 4, self.number(values[0]))
        if name == 'build_id':
            out = b''
            for pid, mode, build, path in zip(*[iter(values)] * 4):
                body = self.pack('I', self.number(pid)) + self.build_id(build)
                body += self.padded(path, 64)
                out += self.pack('IHH', 0, MODES[mode] | 0x8000, 8 + len(body)) + body
            return number, out
        if name == 'event_desc':
            size = max(e.bytes for e in self.events)
            out = self.pack('II', len(self.events), size)
            for e in self.events:
                out += e.encode(self.order).ljust(size, b'\0')
                out += self.pack('I', len(e.ids)) + self.string(e.name) + self.u64s(e.ids)
            return number, out
        raise Mistake('no feature %s' % name)

    # the whole file

    def finish(self):
        if self.block is not None:
            raise Mistake('compress without end')
        features = sorted((self.feature(p, k) for p, k in self.features), key=lambda x: x[0])
        records = bytes(self.streams['data'])
        if self.format == 'pipe':
            data, start = self.pipe(features, records)
        else:
            data, start = self.file(features, records)
        data = bytearray(data)
        for kind, where, keys in self.damage:
            if kind == 'append':
                data += where
            elif kind == 'truncate':
                if where.startswith('end-'):
                    at = len(data) - self.number(where[4:])
                else:
                    at = self.place(where, start)
                if not 0 <= at <= len(data):
                    raise Mistake('truncate at %d of %d' % (at, len(data)))
                del data[at:]
            else:
                at = self.place(where, start)
                for key, value in keys.items():
                    form = {'u64': 'Q', 'u32': 'I', 'u16': 'H'}
                    new = bytes.fromhex(value) if key == 'hex' else \
                        self.pack(form[key], self.number(value))
                    if at + len(new) > len(data):
                        raise Mistake('patch at %d of %d' % (at, len(data)))
                    data[at:at + len(new)] = new
        data = bytes(data)
        if self.wrap == 'gzip':
            data = gzip.compress(data, mtime=0)
        elif self.wrap == 'xz':
            data = lzma.compress(data)
        elif self.wrap == 'zstd':
            data = RawZstd().block(data, last=True)
        parts = {'data': data}
        for name, content in self.streams.items():
            if name != 'data':
                parts[name] = bytes(content)
        return parts

    def place(self, where, start):
        if where in HEADER:
            return HEADER[where][0]
        if where.startswith('@'):
            m = re.match(r'@(\w+)([+-].*)?$', where)
            stream, offset = self.labels[m.group(1)]
            if stream != 'data':
                raise Mistake('label in another stream')
            return start + offset + (self.number(m.group(2)) if m.group(2) else 0)
        return self.number(where)

    def magic(self):
        if self.format == 'v1':
            return b'PERFFILE'
        return b'PERFILE2' if self.order == '<' else b'2ELIFREP'

    def pipe(self, features, records):
        out = self.magic() + self.pack('Q', self.header.get('size', 16))
        if self.auto:
            for event in self.events:
                body = event.encode(self.order) + self.u64s(event.ids)
                out += self.pack('IHH', 64, 0, 8 + len(body)) + body
            for number, data in features:
                out += self.pack('IHHQ', 80, 0, 16 + len(data), number) + data
        return out + records, len(out)

    def file(self, features, records):
        size = self.header.get('size', 104)
        stride = self.header.get('attr_size', max([e.bytes for e in self.events] or [128]) + 16)
        ids_at = size
        ids = b''.join(self.u64s(e.ids) for e in self.events)
        attrs_at = ids_at + len(ids) + self.header.get('attr_gap', 0)
        attrs = b''
        at = ids_at
        for e in self.events:
            raw = e.encode(self.order).ljust(stride - 16, b'\0')[:stride - 16]
            attrs += raw + self.pack('QQ', at, 8 * len(e.ids))
            at += 8 * len(e.ids)
        data_at = attrs_at + len(attrs)
        bitmap = 0
        for number, _ in features:
            bitmap |= 1 << number
        step = 32 if self.bitmap32 else 64
        words = [bitmap >> i & (1 << step) - 1 for i in range(0, 256, step)]
        head = self.magic() + self.u64s([size, stride, attrs_at, len(attrs), data_at,
                                         len(records), 0, 0])
        head += b''.join(self.pack('I' if self.bitmap32 else 'Q', w) for w in words)
        out = head[:size].ljust(size, b'\0') + ids
        out = out.ljust(attrs_at, b'\0') + attrs + records
        at = len(out) + 16 * len(features)
        for _, data in features:
            out += self.pack('QQ', at, len(data))
            at += len(data)
        return out + b''.join(data for _, data in features), data_at


def main():
    if len(sys.argv) != 3:
        sys.exit('usage: mkperf.py CASE.pd DIRECTORY')
    try:
        print(Case(sys.argv[1]).write(sys.argv[2]))
    except Missing as e:
        print('skip: %s' % e)
        sys.exit(77)
    except Mistake as e:
        sys.exit('mkperf.py: %s' % e)


if __name__ == '__main__':
    main()
