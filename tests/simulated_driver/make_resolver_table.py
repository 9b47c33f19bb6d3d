#!/usr/bin/env python3
"""Writes resolver_table.inc: which exported symbol the driver's resolver gives for a name, a version and a stream flag.

    make_resolver_table.py [CUDA_INCLUDE_FOLDER] > resolver_table.inc

The versions come from the function types of cudaTypedefs.h, the symbols from replay/driver_entry_points.inc. A base name has as many
versions as exported variants, and both go up together.
"""
import collections
import pathlib
import re
import sys

here = pathlib.Path(__file__).resolve().parent
include = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/local/cuda/include")


def split(symbol):
    match = re.fullmatch(r"(cu\w+?)(?:_v(\d+))?(_ptsz|_ptds)?", symbol)
    return match.group(1), int(match.group(2) or 1), match.group(3) is not None


symbols = collections.defaultdict(list)
for line in (here.parent.parent / "replay/driver_entry_points.inc").read_text().splitlines():
    if match := re.match(r"ENTRY\((cu\w+), \w+\)", line):
        base, number, per_thread = split(match.group(1))
        symbols[base, per_thread].append((number, match.group(1)))

versions = collections.defaultdict(set)
for header in ("cudaTypedefs.h", "cudaProfilerTypedefs.h"):
    for match in re.finditer(r"\*PFN_(cu\w+?)_v(\d+)(_ptsz|_ptds)?\)", (include / header).read_text()):
        versions[match.group(1), match.group(3) is not None].add(int(match.group(2)))

rows = []
for key in sorted(symbols):
    base, per_thread = key
    if len(symbols[key]) != len(versions[key]):
        sys.exit(f"{base}: {len(symbols[key])} symbols, {len(versions[key])} versions")
    for (_, symbol), version in zip(sorted(symbols[key]), sorted(versions[key])):
        rows.append((base, per_thread, version, symbol))

print("// Made by make_resolver_table.py: VERSION(base name, per-thread default stream, first CUDA version, exported symbol)")
for base, per_thread, version, symbol in sorted(rows):
    print(f"VERSION({base}, {'true' if per_thread else 'false'}, {version}, {symbol})")
print("#undef VERSION")
