# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests in Python share: TAP, and where the program, the sources and the recordings are (make check says; by hand they are found)."""
import os
import sys

TOP = os.environ.get('abs_top_srcdir') or os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
BUILD = os.path.abspath(os.environ.get('abs_top_builddir') or ('.' if os.path.exists('xenflame') else os.path.join(TOP, 'build')))
CORPUS = os.path.join(TOP, 'tests', 'data', 'corpus')
HOST = os.path.join(TOP, 'examples', 'xen-host', 'perf.data.kvm')
FIXTURE = os.path.join(BUILD, 'tests', 'cases', 'exports', 'export-fixture')
XENFLAME = os.path.abspath(os.environ.get('XENFLAME') or os.path.join(BUILD, 'xenflame'))

_number = _failed = 0


def ok(good, what, *details):
    """A result; details are shown when it is bad."""
    global _number, _failed
    _number += 1
    _failed += not good
    print(f"{'ok' if good else 'not ok'} {_number} - {what}")
    if not good:
        for line in '\n'.join(str(d) for d in details if d != '').split('\n')[:14]:
            print(f'# {line[:500]}')
    return good


def check(what, good, *details):
    return ok(good, what, *details)


def skip(what, why):
    """One that cannot be had here."""
    ok(True, f'{what} # SKIP {why}')


def skip_all(why):
    print(f'1..0 # SKIP {why}')
    sys.exit(0)


def done():
    print(f'1..{_number}')
    sys.exit(1 if _failed else 0)
