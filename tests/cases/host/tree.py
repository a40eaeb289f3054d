# SPDX-License-Identifier: GPL-2.0-or-later
"""Trees of hosts, made from transcripts of booted systems (tests/data/corpus/xen-stock)."""
import lzma
import os
import shutil

from tap import CORPUS
ERRNO = {'Operation not supported': 'EOPNOTSUPP', 'Permission denied': 'EACCES'}
OS_RELEASE = {
    'debian': 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nNAME="Debian GNU/Linux"\nID=debian\n',
    'xcp-ng': 'NAME="XCP-ng"\nVERSION="8.3.0"\nID="xenenterprise"\nID_LIKE="centos rhel fedora"\n',
    'xenserver': 'NAME="XenServer"\nID="xenenterprise"\nID_LIKE="centos rhel fedora"\n',
    'qubes': 'NAME="Qubes OS"\nID=qubes\nID_LIKE="rhel fedora"\nVERSION_ID=4.2\n',
    'suse': 'NAME="openSUSE Tumbleweed"\nID="opensuse-tumbleweed"\nID_LIKE="opensuse suse"\n',
    'other': 'NAME="Void"\nID="void"\n',
}


def corpus(name):
    path = os.path.join(CORPUS, name)
    if os.path.exists(path):
        with open(path, 'rb') as f:
            return f.read().decode(errors='surrogateescape')
    with lzma.open(path + '.xz') as f:
        return f.read().decode(errors='surrogateescape')


def sections(text):
    out, name = {}, None
    for line in text.replace('\r', '').split('\n'):
        if line.startswith('=== '):
            name = line[4:]
            out[name] = []
        elif name:
            out[name].append(line)
    return out


class Tree:
    def __init__(self, path):
        self.path = path
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(path)

    def put(self, name, data):
        path = os.path.join(self.path, name.lstrip('/'))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if isinstance(data, str):
            data = data.encode(errors='surrogateescape')
        with open(path, 'wb') as f:
            f.write(data)

    def get(self, name):
        with open(os.path.join(self.path, name.lstrip('/')), encoding='utf-8', errors='surrogateescape') as f:
            return f.read()

    def drop(self, *names):
        for name in names:
            path = os.path.join(self.path, name.lstrip('/'))
            if os.path.isdir(path):
                shutil.rmtree(path)
            elif os.path.exists(path):
                os.remove(path)

    def boot_option(self, text):
        log = self.get('commands/xl-dmesg')
        self.put('commands/xl-dmesg', log.replace('Command line: console=com1', f'Command line: {text} console=com1'))


def transcript(tree, name, log, distro='debian'):
    """Stock Xen 4.17.7 with a 6.1 PV dom0 as it was seen, with vPMU as the transcript has it."""
    s = sections(corpus(f'xen-stock/{name}.out.txt'))
    for line in s['sysfs']:
        if not line.startswith('./'):
            continue
        path, value = line[2:].split(': ', 1)
        path = '/sys/hypervisor/' + path
        if value.startswith('cat: read error: '):
            tree.put(path, '')
            tree.put(path + '.errno', ERRNO[value[17:]] + '\n')
        else:
            tree.put(path, value + '\n')
    tree.put('/sys/hypervisor/properties/buildid',
             bytes.fromhex(tree.get('/sys/hypervisor/properties/buildid').strip()))
    tree.put('/proc/xen/capabilities', s['xensyms'][0] + '\n')
    tree.put('/proc/xen/xensyms', corpus('xen-stock/xensyms.txt'))
    tree.put('/proc/kallsyms', 'ffffffff81000000 T _text\n')
    for line in s['cpuinfo']:
        if line.startswith('/sys/bus/'):
            tree.put(line + '/type', '1\n')
    tree.put('commands/uname', s['uname'][0] + '\n')
    tree.put('commands/dmesg', '\n'.join(s['dmesg']) + '\n')
    tree.put('commands/xl-dmesg', '\n'.join(x for x in corpus(f'xen-stock/{log}.con.log').split('\n') if '(XEN)' in x) + '\n')
    tree.put('commands/perf-version', 'perf version 6.1.170\n')
    tree.put('/boot/xen-4.17-amd64.config', 'CONFIG_64BIT=y\n# CONFIG_FRAME_POINTER is not set\n')
    tree.put('/etc/os-release', OS_RELEASE[distro])
    return tree


def ready(tree, distro='debian'):
    """The same host with all that hypervisor stacks need."""
    transcript(tree, 'vpmu-on', 'vpmu-on', distro)
    tree.put('/sys/bus/event_source/devices/cpu/type', '4\n')
    tree.put('/sys/hypervisor/pmu/pmu_mode', 'all\n')
    tree.put('/sys/hypervisor/pmu/pmu_features', '0x8\n')
    tree.put('/proc/kallsyms', 'ffffffff81000000 T _text\nffffffff8100b000 t xen_hv_callchain\n')
    tree.put('commands/xen-config', 'CONFIG_FRAME_POINTER=y\n')
    return tree
