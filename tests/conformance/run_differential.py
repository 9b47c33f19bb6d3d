#!/usr/bin/env python3
"""Runs every conformance program (or the training program) bare and under Refrain, and compares (TAP, one line a program).

    run_differential.py --policy replay --program build/tests/conformance/conformance
                        --library build/interpose/librefrain.so --driver-folder build/tests/simulated_driver

Each program runs its body several times in one process, each time in an NVTX range that the policy selects, so that Refrain
records the first pass and holds and replays later ones. What must be equal: the transcript (results and out-parameters of every
call, contents of buffers), exit code and stderr, and on the simulated driver what the device executed, in its order on each
stream. Refrain's counters must add up. The last check is how many operations were replayed in all.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "scenarios"), str(HERE.parent / "simulated_driver")]
from capture_log import CaptureLog, counter_faults  # noqa: E402
from compare_traces import compare, read  # noqa: E402

POLICIES = {file.stem: file for folder in (HERE.parent / "scenarios" / "policies", HERE / "policies")
            for file in sorted(folder.glob("*.json"))}
# Graphs that cost so much that the least limit holds only a few of them.
DRIVER_SETTINGS = {"tiny_caps": {"REFRAIN_SIM_GRAPH_NODE_BYTES": "262144"}}
PADDED = ("kernel scale ",)


class Run:
    """One run of a program: what it printed, how it ended, and what Refrain and the simulated driver wrote."""

    def __init__(self, options, arguments, folder, policy):
        folder.mkdir(parents=True)
        self.trace = folder / "trace"
        self.log = folder / "log"
        self.log.mkdir()
        self.dump = folder / "dump"
        environment = self.environment(options, policy)
        try:
            done = subprocess.run([*arguments, *(["--dump", self.dump] if options.training else [])], env=environment,
                                  capture_output=True, timeout=options.timeout, check=False)
            self.code, self.output, errors = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired as late:
            self.code, self.output, errors = f"no end within {options.timeout} s", late.stdout or b"", late.stderr or b""
        self.errors = [line for line in errors.decode(errors="replace").splitlines() if not line.startswith("refrain: ")]

    def environment(self, options, policy):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("REFRAIN_", "NVTX_")) and name != "LD_PRELOAD"}
        if not options.real:
            environment["LD_LIBRARY_PATH"] = str(options.driver_folder)
            environment["REFRAIN_SIM_TRACE"] = str(self.trace)
            environment["REFRAIN_SIM_REUSE_HANDLES"] = "1"
            environment.update(DRIVER_SETTINGS.get(options.policy, {}))
        if policy is not None:
            environment["LD_PRELOAD"] = ":".join(filter(None, [options.preload_first, str(options.library)]))
            environment["NVTX_INJECTION64_PATH"] = str(options.library)
            environment["REFRAIN_POLICY"] = str(policy)
            environment["REFRAIN_LOG"] = f"{self.log}/"
        return environment


def output_difference(bare, run):
    expected, seen = bare.output.splitlines(), run.output.splitlines()
    for number, (left, right) in enumerate(zip(expected, seen), 1):
        if left != right:
            return f"line {number}: {left.decode()!r} bare, {right.decode()!r} under Refrain"
    return "" if len(expected) == len(seen) else f"{len(expected)} lines bare, {len(seen)} under Refrain"


def operations(trace, training):
    """What each stream executed. The training program passes padding as it lies on its stack, so that the hash of these
    parameters is another one in each run; its results show whether the values came through."""
    streams = read(trace)
    if training:
        streams = {key: [line.rsplit(" ", 1)[0] if line.startswith(PADDED) else line for line in lines]
                   for key, lines in streams.items()}
    return streams


def trace_difference(bare, run, training):
    if not bare.trace.exists() or not run.trace.exists():
        return "" if bare.trace.exists() == run.trace.exists() else "only one of the runs has a trace"
    return "\n".join(compare(operations(bare.trace, training), operations(run.trace, training)))


def faults_of(options, name, bare, run):
    """What is wrong, one line each, and how many operations were held and replayed."""
    faults = [output_difference(bare, run)]
    if bare.code != run.code:
        faults.append(f"exit code {bare.code} bare, {run.code} under Refrain")
    if bare.errors != run.errors:
        faults.append(f"stderr {bare.errors} bare, {run.errors} under Refrain")
    if options.training and bare.dump.read_bytes() != run.dump.read_bytes():
        faults.append("device memory or losses differ")
    if not options.real:
        faults.append(trace_difference(bare, run, options.training))
    final = CaptureLog(run.log).final()
    counts = {"calls": 0, "held": 0, "replayed": 0}
    if final is None:
        faults.append("no counters at exit")
    else:
        faults += counter_faults(final, None)
        counts = {member: sum(region[member] for region in final["regions"]) for member in counts}
    return [fault for fault in faults if fault], counts


def run_one(options, name, policy, folder):
    command = [options.program, name, "--repeat", str(options.repeat), "--range"]
    if options.training:
        command = [options.program, *name.split()]
    place = folder / name.replace(" ", "_")
    bare, run = (Run(options, command, place / kind, used) for kind, used in (("bare", None), ("refrain", policy)))
    result = faults_of(options, name, bare, run)
    if not options.keep:
        shutil.rmtree(place, ignore_errors=True)
    return result


def policy_file(options, folder):
    """The policy; for the training program with every range a region."""
    policy = json.loads(POLICIES[options.policy].read_text(encoding="utf-8"))
    if options.training:
        for rule in policy.get("regions", []):
            rule["range"] = "*"
    path = folder / f"{options.policy}.json"
    path.write_text(json.dumps(policy), encoding="utf-8")
    return path


def names_of(options):
    if options.names:
        return options.names
    if options.training:
        return ["--steps 12 --layers 2", "--steps 12 --layers 2 --own-stream"]
    return subprocess.run([options.program, "--list"], capture_output=True, text=True, check=True).stdout.split()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="programs; all when there is none")
    parser.add_argument("--policy", required=True, choices=sorted(POLICIES))
    parser.add_argument("--program", required=True)
    parser.add_argument("--training", action="store_true", help="the program is the training program")
    parser.add_argument("--library", required=True, help="librefrain.so")
    parser.add_argument("--driver-folder", type=pathlib.Path, help="folder of the simulated libcuda.so.1")
    parser.add_argument("--real", action="store_true", help="run on the driver of this machine")
    parser.add_argument("--repeat", type=int, default=12)
    parser.add_argument("--least-replayed", type=int, default=0, help="operations that must be replayed in all")
    parser.add_argument("--preload-first", default="", help="a sanitizer's runtime, which must come first")
    parser.add_argument("--timeout", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=max(8, os.cpu_count() or 8),
                        help="at once; most of a program's time it waits")
    parser.add_argument("--keep", help="keep everything in this folder")
    options = parser.parse_args()
    if options.real == bool(options.driver_folder):
        parser.error("either --driver-folder or --real is needed")

    names = names_of(options)
    folder = pathlib.Path(options.keep or tempfile.mkdtemp(prefix="differential-")).resolve()
    totals = {"calls": 0, "held": 0, "replayed": 0}
    failed = 0
    folder.mkdir(parents=True, exist_ok=True)
    print(f"1..{len(names) + 1}")
    try:
        policy = policy_file(options, folder)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            results = pool.map(lambda name: run_one(options, name, policy, folder), names)
            for number, (name, (faults, counts)) in enumerate(zip(names, results), 1):
                failed += bool(faults)
                totals = {member: totals[member] + counts[member] for member in totals}
                print(f"{'not ok' if faults else 'ok'} {number} - {options.policy}: {name}")
                for line in "\n".join(faults).splitlines()[:20]:
                    print(f"# {line[:300]}")
                sys.stdout.flush()
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    few = totals["replayed"] < options.least_replayed
    failed += few
    print(f"{'not ok' if few else 'ok'} {len(names) + 1} - {options.policy}: {options.least_replayed} operations or more replayed")
    print(f"# {options.policy}: {len(names)} programs, {failed} failed; {totals['calls']} operations in regions, "
          f"{totals['held']} held, {totals['replayed']} replayed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
