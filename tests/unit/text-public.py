# SPDX-License-Identifier: GPL-2.0-or-later
"""perf script texts of other people against what other collapsers print for them (tests/data/corpus/public).

Those tools rewrite names; the rewriting is done here to what our reader says, so that stacks, counts and marks can
be compared exactly. What then still differs stands in text-public.tsv, each line with its reason, and nothing else may.
"""
import collections
import hashlib
import lzma
import os
import re
import subprocess
import sys

SRC = os.environ["abs_top_srcdir"]
BUILD = os.environ["abs_top_builddir"]
CORPUS = SRC + "/tests/data/corpus/public/"
HAS_ADDR, INLINED, UNKNOWN = 1, 2, 4

nr = 0
failed = 0


def result(ok, name, notes=()):
    global nr, failed
    nr += 1
    failed += not ok
    print("%sok %d - %s" % ("" if ok else "not ", nr, name))
    for line in notes:
        print("# " + line[:400])


def find(path):
    return next((p for p in (path, path + ".xz") if os.path.exists(p)), None)


def read(path):
    path = find(path)
    opener = lzma.open if path.endswith(".xz") else open
    with opener(path, "rb") as f:
        return f.read().decode()


def samples(path):
    """(event, pid, tid, comm, period, frames root first) as our reader has them."""
    text = subprocess.run([BUILD + "/tests/unit/text-dump", "-x", path], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=True).stdout.decode()
    for line in text.split("\n")[:-1]:
        event, pid, tid, comm, period, *frames = line.split("\x1f")
        yield event, int(pid), int(tid), comm, int(period), [f.split("\x1e") for f in frames]


def tidy(name, java, inferno):
    """Their way with names: `;` taken away, arguments cut off, quotes dropped, Java's L cut off."""
    name = name.replace(";", ":")
    if inferno:                         # not within <>
        depth = 0
        for i, c in enumerate(name):
            depth += (c == "<") - (c == ">")
            if c == "(" and not depth and not name.startswith("(anonymous namespace)", i) and not re.search(r"\.\(.*\)\.", name):
                name = name[:i]
                break
    elif not re.search(r"\.\(.*\)\.", name):
        name = re.sub(r"\((?!anonymous namespace\)).*", "", name)
    name = name.replace('"', "").replace("'", "")
    if java and "/" in name:
        name = re.sub(r"^L", "", name)
    return name


def fold(path, kind, inferno):
    """Our samples in their words."""
    out = collections.Counter()
    first = None
    for event, pid, tid, comm, period, frames in samples(path):
        first = first or event
        if event != first:      # they read the first event only
            continue
        name = comm.replace(" ", "_")
        if kind in ("pid", "tid"):
            name += "-%s" % ("?" if pid < 0 else pid) + ("/%d" % tid if kind == "tid" else "")
        java = name == "java"       # not with --pid, --tid
        stack = [name]
        for symbol, addr, module, space, flags in frames:
            flags = int(flags)
            parts = symbol.split("->") if symbol else ["[unknown]"]
            if symbol.startswith("("):          # they skip these
                continue
            for i, part in enumerate(parts):
                if not symbol:
                    # the module's name for a name that is missing, with --addrs the address too
                    part = module.split("/")[-1] or "unknown"
                    part = "[%s <%s>]" % (part, addr) if kind == "addrs" else "[%s]" % part
                else:
                    part = tidy(part, java, inferno)
                if kind in ("kernel", "all") and "kernel" in space and module:
                    part += "_[k]"
                elif kind in ("jit", "all") and re.match(r"/tmp/perf-\d+\.map$", module):
                    part += "_[j]"
                elif (kind == "all" or inferno) and i:
                    part += "_[i]"
                stack.append(part)
        out[";".join(stack)] += period
    return out


def theirs(path):
    out = collections.Counter()
    for line in read(path).split("\n"):
        if line:
            stack, count = line.rsplit(" ", 1)
            out[stack] += int(count)
    return out


def short(stack):
    """A long stack by its end and a hash of all of it."""
    if len(stack) <= 120:
        return stack
    return "...%s #%s" % (stack[-80:], hashlib.sha256(stack.encode()).hexdigest()[:12])


def main():
    expected = collections.defaultdict(dict)
    for line in open(SRC + "/tests/unit/text-public.tsv"):
        if not line.startswith("#"):
            name, stack, their, our, reason = line.rstrip("\n").split("\t")
            assert reason
            expected[name][stack] = (int(their), int(our))
    jobs = []
    for text in sorted(os.listdir(CORPUS + "FlameGraph")):
        base = re.sub(r"\.txt(\.xz)?$", "", text)
        if base != "results":
            for kind in ("pid", "tid", "kernel", "jit", "all", "addrs"):
                jobs.append(("FlameGraph/" + base, "FlameGraph/results/%s-collapsed-%s.txt" % (base, kind), kind, False))
    for text in sorted(os.listdir(CORPUS + "inferno")):
        base = re.sub(r"\.txt(\.xz)?$", "", text)
        if find(CORPUS + "inferno/results/%s-collapsed.txt" % base):
            jobs.append(("inferno/" + base, "inferno/results/%s-collapsed.txt" % base, "", True))
    for text, answer, kind, inferno in jobs:
        ours = fold(find(CORPUS + text + ".txt"), kind, inferno)
        want = theirs(CORPUS + answer)
        found = {short(s): (want[s], ours[s]) for s in sorted(set(ours) | set(want)) if ours[s] != want[s]}
        name = answer.split("/")[-1][:-len(".txt")]
        known = expected.pop(name, {})
        result(found == known, "%s: %d stacks, %d known differences" % (name, len(want), len(known)),
               ["%s\t%s\t%d\t%d" % (name, s, *found[s]) for s in found if found[s] != known.get(s)] +
               ["gone: " + s for s in known if s not in found])
    result(not expected, "every listed difference is of a file that was read", list(expected))
    print("1..%d" % nr)
    return failed > 0


sys.exit(main())
