#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes small seeds for tests/fuzz/perf-data from recordings: a few records of each type, a few small feature sections.

usage: seeds-perf-data.py OUTDIR RECORDING..."""
import os
import struct
import sys


def trim(records, swap):
    seen, out = {}, b""
    for kind, rec in records:
        seen[kind] = seen.get(kind, 0) + 1
        if seen[kind] <= (4 if kind == 9 else 2) and len(rec) <= 4096:
            out += rec
    return out


def walk(data, pos, end, order):
    while pos + 8 <= end:
        kind, _, size = struct.unpack_from(order + "IHH", data, pos)
        if size < 8 or pos + size > end:
            return
        yield kind, data[pos:pos + size]
        pos += size


def seed(data):
    order = "<" if data[:8] == b"PERFILE2" else ">"
    size = struct.unpack_from(order + "Q", data, 8)[0]
    if size == 16:
        return data[:16] + trim(walk(data, 16, len(data), order), order)
    stride, at, n, start, length = struct.unpack_from(order + "5Q", data, 16)
    bits = struct.unpack_from(order + "Q", data, 72)[0]
    end = start + length if length else len(data)
    body = trim(walk(data, start, min(end, len(data)), order), order)
    feats, table = [], end
    for bit in range(64):
        if bits >> bit & 1 and length:
            off, size = struct.unpack_from(order + "QQ", data, table)
            table += 16
            if size <= 400:
                feats.append((bit, data[off:off + size]))
    ids, attrs, base = b"", b"", 104
    total = sum(struct.unpack_from(order + "Q", data, at + i + stride - 8)[0] for i in range(0, n, stride))
    for i in range(0, n, stride):
        off, size = struct.unpack_from(order + "QQ", data, at + i + stride - 16)
        attrs += data[at + i:at + i + stride - 16] + struct.pack(order + "QQ", base + len(ids), size)
        ids += data[off:off + size]
    begin = base + total + len(attrs)
    head = data[:8] + struct.pack(order + "8Q", 104, stride, base + total, len(attrs), begin,
                                  len(body) if length else 0, 0, 0)
    head += struct.pack(order + "4Q", sum(1 << bit for bit, _ in feats), 0, 0, 0)
    out = head + ids + attrs + body
    off = len(out) + 16 * len(feats)
    for _, f in feats:
        out += struct.pack(order + "QQ", off, len(f))
        off += len(f)
    return out + b"".join(f for _, f in feats)


def main():
    out, files = sys.argv[1], sys.argv[2:]
    for path in files:
        parts = path.rstrip("/").split("/")
        name = parts[-2] + "-" + parts[-1].replace("perf.data", "").replace("..", ".").strip(".") if "perf.data" in parts[-1] else parts[-1]
        with open(path, "rb") as f:
            data = f.read()
        # Compressed records are one stream: not to be cut.
        small = data if b"\x28\xb5\x2f\xfd" in data[:4096] and len(data) < 16384 else seed(data)
        with open(os.path.join(out, name.strip("-")), "wb") as f:
            f.write(small)
        print(name.strip("-"), len(small))


main()
