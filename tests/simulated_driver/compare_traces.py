#!/usr/bin/env python3
"""Compares two records of executed operations (REFRAIN_SIM_TRACE): the same operations, in the same order, on each stream?

    compare_traces.py EXPECTED ACTUAL

The route of an operation (eager or graph) does not count. Prints the first difference of each stream; exit code 0 when there is
none, 1 when there is one, 2 when a file cannot be read.
"""
import sys


def read(name):
    streams = {}
    with open(name) as file:
        for number, line in enumerate(file, 1):
            fields = line.split()
            if len(fields) != 11 or fields[-1] not in ("eager", "graph"):
                sys.exit(f"{name}:{number}: not a line of a trace: {line.rstrip()}")
            _, context, stream = fields[:3]
            streams.setdefault((int(context), int(stream)), []).append(" ".join(fields[3:-1]))
    return streams


def compare(expected, actual):
    """Yields a line for each stream that differs."""
    for key in sorted(expected.keys() | actual.keys()):
        ours, theirs = expected.get(key, []), actual.get(key, [])
        if ours == theirs:
            continue
        at = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs)))
        yield f"context {key[0]}, stream {key[1]}, operation {at} (of {len(ours)} and {len(theirs)}):"
        yield f"  expected: {ours[at] if at < len(ours) else 'nothing'}"
        yield f"  actual:   {theirs[at] if at < len(theirs) else 'nothing'}"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        expected, actual = read(sys.argv[1]), read(sys.argv[2])
    except OSError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    differences = list(compare(expected, actual))
    print("\n".join(differences) if differences else f"equal: {sum(map(len, expected.values()))} operations")
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main()
