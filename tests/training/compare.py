#!/usr/bin/env python3
"""Runs the training program bare and under Refrain, compares every byte of output, and tells what was replayed.

    compare.py --program build/tests/training/training --refrain build/interpose/refrain [--driver FOLDER] ...

--driver puts a folder with a libcuda.so.1 in front of the system's. Exit code 0 only if the outputs are equal, Refrain's
counters add up and at least --least percent of the regions' operations were replayed from the third step on.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile


def environment(driver):
    """This process's environment without what would change a run, with `driver` in front of the library path."""
    result = {name: value for name, value in os.environ.items()
              if not name.startswith(("REFRAIN_", "NVTX_")) and name != "LD_PRELOAD"}
    if driver:
        result["LD_LIBRARY_PATH"] = ":".join(filter(None, [str(driver), os.environ.get("LD_LIBRARY_PATH")]))
    return result


def run(command, folder, variables, limit_s):
    """Runs `command` in `folder`; its output and exit code. A run over the limit counts as failed."""
    try:
        done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, timeout=limit_s, check=False)
        return done.returncode, done.stdout, done.stderr.decode(errors="replace")
    except subprocess.TimeoutExpired as expired:
        return 124, expired.stdout or b"", f"still running after {limit_s} s"


def run_both(options, folder):
    """Runs the program twice; returns the two results, each (exit code, stdout, stderr, dump, statistics)."""
    results = []
    for name in ("bare", "refrain"):
        place = pathlib.Path(folder, name)
        place.mkdir()
        command = [str(options.program), "--steps", str(options.steps), "--layers", str(options.layers),
                   "--dump", "dump", "--statistics", "statistics.json"]
        if options.own_stream:
            command.append("--own-stream")
        variables = environment(options.driver)
        if name == "refrain":
            command = [str(options.refrain), "run", "--", *command]
            variables["REFRAIN_POLICY"] = str(options.policy)
            variables["REFRAIN_LOG"] = f"{place}/"
        code, output, errors = run(command, place, variables, options.limit)
        dump = place / "dump"
        statistics = place / "statistics.json"
        results.append((code, output, errors, dump.read_bytes() if dump.exists() else b"",
                        json.loads(statistics.read_text()) if statistics.exists() else {}))
    return results


def differences(bare, refrain):
    """What differs between the two runs, one line each."""
    lines = []
    for name, result in (("the bare run", bare), ("the run under Refrain", refrain)):
        if result[0] != 0:
            lines.append(f"{name} ended with code {result[0]}: {result[2].strip()[-2000:]}")
    if bare[1] != refrain[1]:
        pairs = zip(bare[1].decode().splitlines() + [""], refrain[1].decode().splitlines() + [""])
        first = next(((a, b) for a, b in pairs if a != b), ("", "more or fewer lines"))
        lines.append(f"output differs, first in: {first[0]!r} | {first[1]!r}")
    if bare[3] != refrain[3]:
        at = next((i for i, (a, b) in enumerate(zip(bare[3], refrain[3])) if a != b), min(len(bare[3]), len(refrain[3])))
        lines.append(f"device memory or losses differ, first at byte {at} ({len(bare[3])} and {len(refrain[3])} bytes)")
    if not bare[3]:
        lines.append("the bare run left no dump")
    return lines


def percent(part, whole):
    return 100.0 * part / whole if whole else 0.0


def report_fallbacks(log):
    """One line a region that fell back, from the last counters in the capture log."""
    counters = [record for record in map(json.loads, log.read_text().splitlines()) if record["record"] == "counters"]
    if not counters:
        print("demo: fallbacks: the log holds no counters")
        return
    lines = []
    for region in counters[-1]["regions"]:
        causes = ", ".join(f"{cause['reason']} {cause['count']}" for cause in region["fallbacks"] if cause["count"])
        if causes:
            lines.append(f"{region['region']}: {causes}")
    print("demo: fallbacks: " + ("; ".join(lines) if lines else "none"))


def report_statistics(statistics, least):
    """Prints shares and sums; true when they are as they must be."""
    if not statistics.get("loaded"):
        print("demo: Refrain was not at work in the run under Refrain")
        return False
    steady, total = statistics["steady"], statistics["total"]
    share = percent(steady["region_replayed"], steady["region_calls"])
    print(f"demo: replayed {share:.1f} %")
    print(f"demo: patched {percent(steady['patched'], steady['replayed']):.1f} % of the replayed operations")
    adds_up = total["calls"] == total["held"] + total["passed"] and total["held"] == total["replayed"] + total["flushed"]
    print(f"demo: counters {'add up' if adds_up else 'do NOT add up'}: calls {total['calls']} = held {total['held']} + "
          f"passed {total['passed']}; held {total['held']} = replayed {total['replayed']} + flushed {total['flushed']}")
    if share < least:
        print(f"demo: fewer than {least} % were replayed")
    return adds_up and share >= least


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = pathlib.Path(__file__).resolve().parent
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--refrain", type=pathlib.Path, required=True, help="the command line, refrain")
    parser.add_argument("--driver", type=pathlib.Path, help="folder with the libcuda.so.1 to use")
    parser.add_argument("--policy", type=pathlib.Path, default=here / "policy.json")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--own-stream", action="store_true")
    parser.add_argument("--least", type=float, default=95.0, help="percent that must be replayed")
    parser.add_argument("--limit", type=float, default=180.0, help="seconds that one run may take")
    options = parser.parse_args()
    for name in ("program", "refrain", "driver", "policy"):
        path = getattr(options, name)
        setattr(options, name, path.resolve() if path else None)
    with tempfile.TemporaryDirectory(prefix="refrain-demo-") as folder:
        bare, refrain = run_both(options, folder)
        found = differences(bare, refrain)
        for line in found:
            print(f"demo: {line}")
        logs = sorted(pathlib.Path(folder, "refrain").glob("refrain-*.jsonl"))
        for log in logs:
            subprocess.run([str(options.refrain), "show", str(log)], env=environment(None), check=False)
        sys.stdout.flush()
        print(f"demo: outputs {'differ' if found else 'equal'}")
        good = report_statistics(refrain[4], options.least)
        for log in logs:
            report_fallbacks(log)
    return 0 if good and not found else 1


if __name__ == "__main__":
    sys.exit(main())
