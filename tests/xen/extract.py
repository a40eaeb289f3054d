#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Take code out of the text of patches.

extract.py file PATH PATCH...      a file that one of the patches creates
extract.py added PATH PATCH...     all lines that the patches add to a file, in
                                   the order of the file as far as can be told
extract.py lines PATCH...          PATH<TAB>TEXT for each line that is added
"""
import re
import sys


def parse(path):
    """Yield (file, is_new, [(hunk start, [(sign, text)])]) of one patch."""
    name, new, hunks, left = None, False, [], (0, 0)
    for line in open(path, encoding='utf-8', errors='surrogateescape').read().split('\n'):
        if left[0] > 0 or left[1] > 0:
            sign = line[:1] or ' '
            if sign == '\\':
                continue
            if sign not in ' +-':
                raise SystemExit('%s: hunk of %s ends early' % (path, name))
            hunks[-1][1].append((sign, line[1:]))
            left = (left[0] - (sign != '+'), left[1] - (sign != '-'))
            continue
        m = re.match(r'@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@', line)
        if m:
            left = (int(m.group(1) or 1), int(m.group(3) or 1))
            hunks.append((int(m.group(2)), []))
        elif line.startswith('diff --git '):
            if name:
                yield name, new, hunks
            name, new, hunks = line.split(' b/', 1)[1], False, []
        elif line.startswith('new file mode'):
            new = True
    if left != (0, 0):
        raise SystemExit('%s: last hunk of %s is short' % (path, name))
    if name:
        yield name, new, hunks


def main():
    what, args = sys.argv[1], sys.argv[2:]
    if what == 'lines':
        for patch in args:
            for name, _, hunks in parse(patch):
                for _, lines in hunks:
                    for sign, text in lines:
                        if sign == '+':
                            print('%s\t%s' % (name, text))
        return
    wanted, patches = args[0], args[1:]
    found = False
    for patch in patches:
        for name, new, hunks in parse(patch):
            if name != wanted or (what == 'file' and not new):
                continue
            found = True
            for _, lines in hunks:
                for sign, text in lines:
                    if sign == '+':
                        print(text)
    if not found:
        raise SystemExit('no patch %s %s' % ('creates' if what == 'file' else 'adds to', wanted))


if __name__ == '__main__':
    main()
