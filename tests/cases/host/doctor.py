#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""doctor: a tree for each step that fails, its verdicts, exit code and the command to type. TAP."""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'tools'))
from tap import TOP, XENFLAME, check, done  # noqa: E402
import tree as t  # noqa: E402

tmp = tempfile.TemporaryDirectory()


def doctor(tree, *args):
    r = subprocess.run([XENFLAME, 'doctor', f'--sysroot={tree.path}', '--json', *args],
                       capture_output=True, check=False)
    try:
        j = json.loads(r.stdout)
    except ValueError:
        return r.returncode, {'checks': [], 'level': r.stderr.decode()}
    return r.returncode, j


def case(name, tree, rc, level, verdicts, says=(), args=()):
    """`verdicts`: id -> verdict; `says`: id -> regular expression on its text, remedy and commands."""
    got_rc, j = doctor(tree, *args)
    by_id = {c['id']: c for c in j['checks']}
    seen = {i: by_id.get(i, {}).get('verdict') for i in verdicts}
    check(f'{name}: verdicts', seen == verdicts, f'got {seen}\nwant {verdicts}')
    check(f'{name}: exit {rc}, {level}', (got_rc, j['level'], j.get('ready')) == (rc, level, rc == 0),
          f"got {got_rc} {j['level']} {j.get('ready')}")
    for i, rx in dict(says).items():
        c = by_id.get(i, {})
        text = '\n'.join(str(c.get(k)) for k in ('text', 'remedy', 'commands'))
        check(f'{name}: {i} says {rx}', re.search(rx, text, re.S), text)
    return j


def new(name):
    return t.Tree(os.path.join(tmp.name, name))


# What was booted: stock Xen without vPMU, with it, and what Xen says when it refuses.
case('stock', t.transcript(new('stock'), 'novpmu', 'novpmu-watchdog'), 1, 'dom0',
     {'xen': 'ok', 'dom0': 'ok', 'dom0-type': 'ok', 'symbols': 'warn', 'frame-pointers': 'bad', 'vpmu': 'bad',
      'pmu-driver': 'bad', 'patched-xen': 'unknown', 'patched-linux': 'unknown', 'secure-boot': 'ok', 'cpus': 'ok', 'perf': 'ok',
      'keys': 'ok'},
     {'vpmu': r'GRUB_CMDLINE_XEN.*vpmu=on.*update-grub', 'symbols': 'xen-hypervisor-4.17-amd64-dbg', 'xen': r'4\.17\.7',
      'keys': 'xenflame record --debug-keys=', 'pmu-driver': 'PMU not available due to virtualization, using software events only'})
tree = t.transcript(new('vpmu'), 'vpmu-on', 'vpmu-on')
case('vPMU without driver', tree, 1, 'debug-keys', {'vpmu': 'ok', 'pmu-driver': 'bad', 'mode': 'warn', 'patched-xen': 'unknown'},
     {'pmu-driver': 'software events only.*address 0.*vpmu=off', 'mode': 'echo all'})
tree.put('/proc/xen/xensyms', tree.get('/proc/xen/xensyms') + 'ffff82d040200000 T vpmu_timer_interrupt\n')
case('vPMU without driver, on a Xen that has the timer', tree, 1, 'debug-keys', {'vpmu': 'ok', 'pmu-driver': 'bad'},
     {'pmu-driver': r'sample by a timer.*vpmu=timer'})
case('watchdog', t.transcript(new('watchdog'), 'novpmu', 'vpmu-and-watchdog'), 1, 'dom0', {'vpmu': 'bad'},
     {'vpmu': r'watchdog is on.*watchdog'})
case('no PMU known', t.transcript(new('intel'), 'novpmu', 'vpmu-intel-nopmu'), 1, 'dom0', {'vpmu': 'bad'},
     {'vpmu': r'PMU version 0 is not supported.*debug key.*vpmu=timer'})
tree = t.transcript(new('core-ultra'), 'novpmu', 'vpmu-intel-nopmu')
tree.put('commands/xl-dmesg', tree.get('commands/xl-dmesg').replace('PMU version 0 is', 'PMU version 6 is'))
case('a PMU that is too new', tree, 1, 'dom0', {'vpmu': 'bad'}, {'vpmu': r'PMU version 6 is not supported'})

# All there.
case('ready', t.ready(new('ready')), 0, 'stacks',
     {'xen': 'ok', 'dom0': 'ok', 'frame-pointers': 'ok', 'vpmu': 'ok', 'pmu-driver': 'ok', 'patched-xen': 'ok', 'patched-linux': 'ok',
      'mode': 'ok', 'cpus': 'ok', 'perf': 'ok'})

# Step 0: where am I?
tree = t.Tree(os.path.join(tmp.name, 'bare'))
tree.put('/etc/os-release', t.OS_RELEASE['debian'])
case('bare metal', tree, 1, 'nothing', {'xen': 'bad', 'dom0': None})
tree.put('/sys/hypervisor/type', 'kvm\n')
case('another hypervisor', tree, 1, 'nothing', {'xen': 'bad'}, {'xen': "'kvm'"})
tree = t.ready(new('domu'))
tree.put('/proc/xen/capabilities', '')
case('domU', tree, 1, 'nothing', {'dom0': 'bad'}, {'dom0': 'guest'})
tree = t.ready(new('noxenfs'))
tree.drop('/proc/xen')
case('no xenfs', tree, 1, 'nothing', {'dom0': 'bad'}, {'dom0': 'mount -t xenfs xenfs /proc/xen'})
tree = t.ready(new('pvh'))
tree.put('/sys/hypervisor/guest_type', 'PVH\n')
tree.drop('/sys/hypervisor/pmu')
for distro, rx in {'debian': 'update-grub', 'xcp-ng': 'xen-cmdline --delete-xen dom0', 'xenserver': 'xen-cmdline --delete-xen dom0',
                   'qubes': 'grub2-mkconfig', 'other': "take 'dom0' out"}.items():
    tree.put('/etc/os-release', t.OS_RELEASE[distro])
    case(f'PVH dom0, {distro}', tree, 1, 'dom0', {'dom0-type': 'bad', 'vpmu': 'bad'}, {'dom0-type': f'PVH.*debug key.*{rx}'})
tree = t.ready(new('i686'))
tree.put('commands/uname', 'Linux i686.example 6.1.0 #1 SMP x86_64 GNU/Linux\n')
case('a host of that name', tree, 0, 'stacks', {'dom0-type': 'ok'})
tree.put('commands/uname', 'Linux host 6.1.0 #1 SMP i686 GNU/Linux\n')
case('32-bit dom0', tree, 1, 'addresses', {'dom0-type': 'bad'}, {'dom0-type': '32-bit.*64-bit'})

# Step 1: frame pointers, from each of the sources.
tree = t.ready(new('nofp'))
tree.put('commands/xen-config', '# CONFIG_FRAME_POINTER is not set\n')
for distro, rx in {'debian': 'apt-get source xen', 'xcp-ng': r'xen-4\.17\.7.*-d\.gz', 'xenserver': '-d\\.gz', 'qubes': 'xen-hypervisor-debug',
                   'suse': 'CONFIG_FRAME_POINTER', 'other': 'CONFIG_FRAME_POINTER'}.items():
    tree.put('/etc/os-release', t.OS_RELEASE[distro])
    case(f'no frame pointers, {distro}', tree, 1, 'addresses', {'frame-pointers': 'bad'}, {'frame-pointers': rx})
tree.drop('commands/xen-config')
case('frame pointers by /boot', tree, 1, 'addresses', {'frame-pointers': 'bad'}, {'frame-pointers': '/boot/xen-4.17-amd64.config'})
tree.put('/boot/xen-4.17-debug.config', 'CONFIG_FRAME_POINTER=y\n')
case('two configurations that differ', tree, 1, 'addresses', {'frame-pointers': 'unknown'})
tree.put('/boot/xen-4.17.7.config', 'CONFIG_FRAME_POINTER=y\n')
case('the whole version wins', tree, 0, 'stacks', {'frame-pointers': 'ok'}, {'frame-pointers': 'xen-4.17.7.config'})
tree.put('/boot/xen-4.17.7-d.config', '# CONFIG_FRAME_POINTER is not set\n')
case('and the very name before it', tree, 0, 'stacks', {'frame-pointers': 'ok'}, {'frame-pointers': 'xen-4.17.7.config'})
tree.drop('/boot/xen-4.17.7.config', '/boot/xen-4.17-debug.config', '/boot/xen-4.17-amd64.config')
case('a debug build beside', tree, 1, 'addresses', {'frame-pointers': 'bad'}, {'frame-pointers': 'xen-4.17.7-d.config'})
tree.put('/boot/xen-syms-4.17.7.map', '0000000000000001 A XEN_FRAME_POINTER\nffff82d040200000 T _start\n')
case('the table of symbols', tree, 0, 'stacks', {'frame-pointers': 'ok'}, {'frame-pointers': 'xen-syms-4.17.7.map'})
tree.drop('/boot')
case('nothing tells', tree, 1, 'addresses', {'frame-pointers': 'unknown'})


def elf(name):
    """A program that stands for xen-syms, and its build id."""
    with open(os.path.join(t.CORPUS, 'local/bin', name), 'rb') as f:
        data = f.read()
    return data, re.search(rb'\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0(.{20})', data, re.S).group(1)


data, note = elf('busy_fp')
tree.put('/boot/xen-syms-4.17.7', data)
case('symbols of another build', tree, 1, 'addresses', {'symbols': 'warn', 'frame-pointers': 'unknown'}, {'symbols': 'another build'})
tree.put('/sys/hypervisor/properties/buildid', note)
case('symbols that fit', tree, 0, 'stacks', {'symbols': 'ok', 'frame-pointers': 'ok'}, {'symbols': note.hex(), 'frame-pointers': 'set one up'})
data, note = elf('busy_nofp')
tree.put('/boot/xen-syms-4.17.7', data)
tree.put('/sys/hypervisor/properties/buildid', note.hex() + '\n')
case('code without frame pointers', tree, 1, 'addresses', {'symbols': 'ok', 'frame-pointers': 'bad'}, {'symbols': note.hex()})
tree.put('/sys/hypervisor/properties/buildid', b'0123456789abcdef')
case('started from xen.efi', tree, 1, 'addresses', {'symbols': 'ok'}, {'symbols': 'xen.efi'})
tree.put('/sys/hypervisor/properties/buildid', '<denied>')
case('build id denied', tree, 1, 'addresses', {'symbols': 'warn'})
tree.drop('/proc/xen/xensyms')
case('no xensyms', tree, 1, 'addresses', {'symbols': 'warn'})

# Step 2: patched?
tree = t.ready(new('unpatched'))
tree.put('/sys/hypervisor/pmu/pmu_features', '0x0\n')
case('not told', tree, 1, 'addresses', {'patched-xen': 'unknown'}, {'patched-xen': '--probe'})
check('without --probe nothing is written', tree.get('/sys/hypervisor/pmu/pmu_features') == '0x0\n')
tree.put('/sys/hypervisor/pmu/pmu_features.write-errno', '8 EINVAL\n')
case('probe: unpatched', tree, 1, 'addresses', {'patched-xen': 'bad'}, {'patched-xen': 'xen/patches'}, ['--probe'])
tree.put('/sys/hypervisor/pmu/pmu_features.write-errno', '* EBUSY\n')
case('probe: busy', tree, 1, 'addresses', {'patched-xen': 'unknown'}, {'patched-xen': 'guests use vPMU'}, ['--probe'])
tree.drop('/sys/hypervisor/pmu/pmu_features.write-errno')
tree.put('/sys/hypervisor/pmu/pmu_features', '0x1\n')
case('probe: patched', tree, 0, 'stacks', {'patched-xen': 'ok'}, {}, ['--probe'])
check('--probe puts the old value back', tree.get('/sys/hypervisor/pmu/pmu_features') == '1',
      tree.get('/sys/hypervisor/pmu/pmu_features'))
tree.put('/proc/xen/xensyms', 'ffff82d040200000 T vpmu_deliver\n')
tree.put('/sys/hypervisor/pmu/pmu_features', '0x0\n')
case('patched by its symbols', tree, 0, 'stacks', {'patched-xen': 'ok'}, {'patched-xen': 'vpmu_deliver'})
tree.put('/proc/kallsyms', 'ffffffff81000000 T _text\n')
case('kernel without the patches', tree, 1, 'addresses', {'patched-linux': 'unknown'}, {'patched-linux': 'linux/patches'})

# Step 3: how vPMU is switched on.
for distro, rx in {'debian': r'GRUB_CMDLINE_XEN=.*vpmu=on.*update-grub', 'xcp-ng': r'xen-cmdline --set-xen vpmu=on',
                   'xenserver': r'xen-cmdline --set-xen vpmu=on', 'suse': r'GRUB_CMDLINE_XEN_DEFAULT.*vpmu=on.*grub2-mkconfig', 'qubes': r'GRUB_CMDLINE_XEN_DEFAULT.*vpmu=on.*grub2-mkconfig',
                   'other': r"append 'vpmu=on'"}.items():
    tree = t.transcript(new('off-' + distro), 'novpmu', 'vpmu-on', distro)
    tree.put('commands/xl-dmesg', '(XEN) Command line: dom0_mem=1G\n')
    j = case(f'vPMU off, {distro}', tree, 1, 'dom0', {'vpmu': 'bad', 'keys': 'warn'}, {'vpmu': rx})
    check(f'{distro} is known', j['distribution'] == {'debian': 'Debian', 'xcp-ng': 'XCP-ng', 'xenserver': 'XCP-ng', 'suse': 'openSUSE',
                                                      'qubes': 'Qubes', 'other': 'this system'}[distro])
    tree.put('commands/xl-dmesg', '(XEN) Command line: vpmu=on watchdog\n(XEN) NMI watchdog is enabled. Turning VPMU off.\n')
    case(f'watchdog, {distro}', tree, 1, 'dom0', {'vpmu': 'bad'}, {'vpmu': 'watchdog is on.*' + {
        'debian': 'sed .*watchdog.*update-grub', 'xcp-ng': '--delete-xen watchdog', 'xenserver': '--delete-xen watchdog',
        'suse': 'sed .*watchdog.*grub2-mkconfig', 'qubes': 'sed .*watchdog.*grub2-mkconfig', 'other': "take 'watchdog' out"}[distro]})
    tree.put('/sys/hypervisor/properties/buildid', 'f' * 40 + '\n')
    case(f'symbols and perf, {distro}', tree, 1, 'dom0', {'symbols': 'warn'}, {'symbols': {
        'debian': 'apt-get install xen-hypervisor-4.17-amd64-dbg', 'xcp-ng': 'yum install xen-hypervisor-debuginfo',
        'xenserver': 'yum install xen-hypervisor-debuginfo', 'suse': '/usr/lib/debug/xen-syms-4.17.7',
        'qubes': 'qubes-dom0-update xen-hypervisor-debug', 'other': 'keep xen-syms'}[distro]})
    tree.drop('commands/perf-version')
    case(f'perf, {distro}', tree, 1, 'debug-keys', {'perf': 'bad'}, {'perf': {
        'debian': 'apt-get install linux-perf', 'xcp-ng': 'yum install perf', 'xenserver': 'yum install perf', 'suse': 'zypper install perf',
        'qubes': 'qubes-dom0-update perf', 'other': 'tools/perf'}[distro]})
    tree.put('commands/perf-version', 'perf version 6.1\n')
    with open(os.path.join(TOP, 'docs/distributions.md'), encoding='utf-8') as f:
        docs = f.read()
    asked = [line for c in j['checks'] if c['id'] == 'vpmu' for line in c['commands'].split('\n') if not line.startswith('#')]
    missing = [line for line in asked if line not in docs]
    check(f'docs/distributions.md has the commands for {distro}', not missing and (asked or distro == 'other'), missing)
tree.put('commands/xl-dmesg', '(XEN) Command line: watchdog ucode=scan\n')
case('watchdog on the command line', tree, 1, 'dom0', {'vpmu': 'bad'}, {'vpmu': 'vpmu=on watchdog=0'})
tree.put('/sys/hypervisor/pmu/pmu_mode.errno', 'EACCES\n')
case('not root, but dom0 logs it', tree, 1, 'dom0', {'vpmu': 'bad'}, {'vpmu': 'vPMU is off'})
tree.put('commands/dmesg', '')
case('not root', tree, 1, 'dom0', {'vpmu': 'unknown'}, {'vpmu': 'root'})
tree.drop('/sys/hypervisor/pmu')
case('kernel without vPMU', tree, 1, 'dom0', {'vpmu': 'bad'}, {'vpmu': 'CONFIG_XEN'})

# Steps 4 to 7.
tree = t.ready(new('rest'))
tree.put('/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c', b'\6\0\0\0\1')
case('secure boot', tree, 0, 'stacks', {'secure-boot': 'warn'}, {'secure-boot': 'debug key'})
tree.put('/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c', b'\6\0\0\0\0')
case('secure boot off', tree, 0, 'stacks', {'secure-boot': 'ok'})
dmesg = tree.get('commands/dmesg')
tree.put('commands/dmesg', dmesg + '[    0.000000] secureboot: Secure boot enabled\n')
case('secure boot by the log', tree, 0, 'stacks', {'secure-boot': 'warn'}, {'secure-boot': 'debug key.*--debug-keys='})
tree.put('commands/dmesg', dmesg + '[    0.000000] Kernel is locked down from EFI Secure Boot mode; see man kernel_lockdown.7\n')
case('lockdown by the log', tree, 0, 'stacks', {'secure-boot': 'warn'}, {'secure-boot': 'lockdown=none'})
tree.put('commands/dmesg', dmesg)
tree.put('/sys/kernel/security/lockdown', 'none [integrity] confidentiality\n')
case('lockdown', tree, 0, 'stacks', {'secure-boot': 'warn'}, {'secure-boot': 'lockdown=none'})

vcpus = 'Name                                ID  VCPU   CPU State   Time(s) Affinity (Hard / Soft)\n'
line = 'Domain-0                             0    %2d   %3s   r--      10.1  %s / all\n'
tree.put('commands/xl-info', 'host                   : h\nnr_cpus                : 64\nxen_commandline        : dom0_max_vcpus=1-16\n')
tree.put('commands/xl-vcpu-list', vcpus + ''.join(line % (i, i, 'all') for i in range(16)))
case('16 of 64', tree, 0, 'stacks', {'cpus': 'warn'}, {'cpus': '48 of 64 processors.*dom0_max_vcpus=64 dom0_vcpus_pin'})
tree.put('commands/xl-info', 'nr_cpus                : 16\n')
case('not pinned', tree, 0, 'stacks', {'cpus': 'warn'}, {'cpus': '16 of dom0.s 16.*vcpu-pin'})
tree.put('commands/xl-vcpu-list', vcpus + ''.join(line % (i, i if i < 15 else '-', str(i)) for i in range(16)))
case('one offline', tree, 0, 'stacks', {'cpus': 'warn'}, {'cpus': '1 of 16 processors'})
tree.put('commands/xl-vcpu-list', vcpus + ''.join(line % (i, i, str(i)) for i in range(16)))
case('pinned', tree, 0, 'stacks', {'cpus': 'ok'})
# Without xl, sysfs tells how many there are of both.
for c in ('xl-info', 'xl-vcpu-list', 'xl-dmesg'):
    tree.drop('commands/' + c)
for i in range(8):
    tree.put(f'/sys/devices/system/xen_cpu/xen_cpu{i}/uevent', '')
tree.put('/sys/devices/system/cpu/online', '0-3,6\n')
case('no xl, 5 of 8', tree, 0, 'stacks', {'cpus': 'warn'}, {'cpus': '3 of 8 processors.*dom0_max_vcpus=8'})
tree.put('/sys/devices/system/cpu/online', '0-7\n')
case('no xl, 8 of 8', tree, 0, 'stacks', {'cpus': 'unknown'}, {'cpus': 'each of the 8 processors; whether they are pinned is not known'})
for text in ('7-0\n', '0-99999999\n', '0-\n', 'all\n', ''):
    tree.put('/sys/devices/system/cpu/online', text)
    case(f'no xl, {text!r} online', tree, 0, 'stacks', {'cpus': 'unknown'}, {'cpus': 'how many'})

tree.put('/sys/hypervisor/pmu/pmu_mode', 'self\n')
case('mode self', tree, 0, 'stacks', {'mode': 'warn'}, {'mode': 'echo all'})
tree.put('commands/xl-list', 'Name     ID   Mem VCPUs      State   Time(s)\nDomain-0  0  1100     2     r-----      12.3\nweb  1  512  1  -b----  1.0\n')
case('mode self, guests', tree, 0, 'stacks', {'mode': 'warn'}, {'mode': '1 guest runs.*echo hv'})
tree.put('/proc/sys/kernel/kptr_restrict', '2\n')
case('kptr_restrict', tree, 0, 'stacks', {'kernel-symbols': 'warn'}, {'kernel-symbols': 'kptr_restrict'})
tree.drop('commands/perf-version')
case('no perf', tree, 1, 'debug-keys', {'perf': 'bad'}, {'perf': 'apt-get install linux-perf'})

# A tree that points out of itself, or holds rubbish.
tree = t.ready(new('hostile'))
tree.drop('/etc/os-release', '/sys/hypervisor/version/extra')
os.symlink('/proc/self/cmdline', os.path.join(tree.path, 'sys/hypervisor/version/extra'))
tree.put('/etc/os-release', b'ID=' + b'x' * 100000 + b'\0\xff\n')
tree.put('commands/xl-vcpu-list', b'Domain-0\nDomain-0 \xff\n\n')
tree.put('commands/xl-info', 'nr_cpus : 99999999999999999999\nxen_commandline : \33[31m =vpmu watchdog\n')
rc, j = doctor(tree)
check('links stay inside', j.get('xen') == '4.17', j.get('xen'))
check('rubbish is no crash', rc in (0, 1), rc)

text = subprocess.run([XENFLAME, 'doctor', f'--sysroot={tree.path}'], capture_output=True, check=False).stdout.decode()
check('the text has a line for each check', all(re.search(rf"^{c['verdict']} +{c['id']} ", text, re.M) for c in j['checks']), text)
r = subprocess.run([XENFLAME, 'doctor', f'--sysroot={tmp.name}/none'], capture_output=True, check=False)
check('no such folder is exit 2', r.returncode == 2 and b'none' in r.stderr, r.stderr)
done()
