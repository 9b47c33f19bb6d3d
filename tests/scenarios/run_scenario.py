#!/usr/bin/env python3
"""Runs one scenario bare, as the oracle, and under Refrain with every policy, and compares.

The output (the result of every driver call, a hash of every output buffer) and the exit code must be the same; on the
simulated driver the device must have executed the same operations in the same order; the counters of the capture log
must add up, and the log must show what expectations.py asks for. Prints TAP: one line a check.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from capture_log import CaptureLog, counter_faults
from expectations import ENDS_WITH_QUEUED_WORK, EXPECTATIONS, FAULTS, NO_COUNTERS, OVERRIDES

HERE = pathlib.Path(__file__).resolve().parent
LAUNCHES = ("cuLaunchKernel", "cuLaunchKernel_ptsz", "cuLaunchKernelEx", "cuLaunchKernelEx_ptsz",
            "cuLaunchCooperativeKernel", "cuLaunchCooperativeKernel_ptsz")
# The host never waits in the `end` shape, so other policies show nothing new there.
END_SHAPE_POLICIES = ("replay", "default", "segment_7", "short_hold")


class Tap:
    """Counts and prints checks."""

    def __init__(self):
        self.count = 0
        self.failed = 0
        self.prefix = ""

    def check(self, title, fault):
        """`fault`: None or empty when the check holds, else what is wrong."""
        self.count += 1
        self.failed += bool(fault)
        print(f"{'not ok' if fault else 'ok'} {self.count} - {self.prefix}{title}")
        for line in str(fault).splitlines()[:20] if fault else ():
            print(f"# {line[:300]}")
        sys.stdout.flush()

    def close(self):
        print(f"1..{self.count}")
        return 1 if self.failed else 0


class Run:
    """One run of the program and what it left."""

    def __init__(self, options, folder, shape, policy=None, fault=None):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True)
        self.trace = self.folder / "trace"
        self.calls = self.folder / "calls"
        self.log_folder = self.folder / "log"
        self.log_folder.mkdir()
        environment = self.environment(options, policy, fault)
        command = [options.program, options.scenario, "--wait", shape]
        try:
            done = subprocess.run(command, env=environment, capture_output=True, timeout=options.timeout, check=False)
            self.code, self.output, self.errors = done.returncode, done.stdout, done.stderr.decode(errors="replace")
        except subprocess.TimeoutExpired as late:
            self.code, self.output = "no end within %d s" % options.timeout, late.stdout or b""
            self.errors = (late.stderr or b"").decode(errors="replace")

    def environment(self, options, policy, fault):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("REFRAIN_", "NVTX_")) and name != "LD_PRELOAD"}
        if not options.real:
            environment["LD_LIBRARY_PATH"] = str(options.driver_folder)
            environment["REFRAIN_SIM_TRACE"] = str(self.trace)
            environment["REFRAIN_SIM_CALLS"] = str(self.calls)
            environment["REFRAIN_SIM_REUSE_HANDLES"] = "1"
        if policy is not None:
            preload = [str(options.library)]
            if options.preload_first:
                preload.insert(0, options.preload_first)
            environment["LD_PRELOAD"] = ":".join(preload)
            environment["NVTX_INJECTION64_PATH"] = str(options.library)
            environment["REFRAIN_POLICY"] = str(policy)
            environment["REFRAIN_LOG"] = str(self.log_folder) + "/"
        if fault is not None:
            environment["REFRAIN_SIM_FAIL"] = fault
        return environment

    def launches(self):
        """Kernel launches that reached the simulated driver, or None where it does not count."""
        if not self.calls.exists():
            return None
        counts = dict(line.split() for line in self.calls.read_text().splitlines())
        return sum(int(counts.get(name, 0)) for name in LAUNCHES)

    def foreign_errors(self):
        """The lines on stderr that are not Refrain's."""
        return [line for line in self.errors.splitlines() if not line.startswith("refrain: ")]


def first_difference(bare, run):
    """None, or the first line that differs."""
    if bare == run:
        return None
    left, right = bare.splitlines(), run.splitlines()
    for number, (expected, found) in enumerate(zip(left, right), 1):
        if expected != found:
            return f"line {number}: {expected.decode()!r} bare, {found.decode()!r} under Refrain"
    return f"{len(left)} lines bare, {len(right)} under Refrain"


def trace_difference(options, bare, run):
    if options.scenario in ENDS_WITH_QUEUED_WORK:
        return None
    if not bare.trace.exists():
        return None if not run.trace.exists() else "no bare trace"
    if not run.trace.exists():
        return "no trace"
    command = [sys.executable, options.compare, bare.trace, run.trace]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else (done.stdout + done.stderr) or "the traces differ"


def check_run(tap, options, title, bare, run):
    """The checks that every run has; the capture log, or None."""
    tap.check(f"{title}: same output", first_difference(bare.output, run.output))
    codes = None if bare.code == run.code else f"{bare.code} bare, {run.code} under Refrain: {run.errors[-500:]}"
    tap.check(f"{title}: same exit code", codes)
    extra = [line for line in run.foreign_errors() if line not in bare.foreign_errors()]
    tap.check(f"{title}: nothing else printed", "\n".join(extra))
    if not options.real:
        tap.check(f"{title}: same operations executed", trace_difference(options, bare, run))
    log = CaptureLog(run.log_folder)
    log.launches_bare, log.launches_made = bare.launches(), run.launches()
    if options.scenario in NO_COUNTERS:
        return None
    if log.final() is None:
        tap.check(f"{title}: J9 counters add up", "no counters at exit in " + str([f.name for f in log.files]))
        return None
    tap.check(f"{title}: J9 counters add up", "\n".join(counter_faults(log.final(), bare.launches())))
    return log


def check_strict(tap, title, log, run):
    """J4: strict mode says aloud that calls fell back, and only then."""
    said = "refrain: strict:" in run.errors
    count = log.failures_to_replay()
    fault = None if said == (count != 0) else f"said {said}, {count} fallbacks: {log.fallbacks()}"
    tap.check(f"{title}: J4 strict mode reports fallbacks", fault)


def policy_for(options, name, folder):
    """The policy file, with the scenario's own settings put in."""
    policy = json.loads((HERE / "policies" / f"{name}.json").read_text(encoding="utf-8"))
    # A hold that a policy makes short on purpose stays short.
    for section, settings in OVERRIDES.get(options.scenario, {}).items():
        for key, value in settings.items():
            current = policy.setdefault(section, {}).get(key)
            policy[section][key] = value if current is None else min(value, current)
    path = folder / f"{name}.json"
    path.write_text(json.dumps(policy), encoding="utf-8")
    return path


def run_policies(tap, options, folder, bare):
    expected = EXPECTATIONS.get(options.scenario, {})
    for name in options.policies:
        policy = policy_for(options, name, folder)
        run = Run(options, folder / f"each-{name}", "each", policy)
        log = check_run(tap, options, name, bare["each"], run)
        if log is not None:
            for title, check in expected.get(name, ()):
                tap.check(f"{name}: {title}", check(log))
            if name == "strict_mode":
                check_strict(tap, name, log, run)
        if name in END_SHAPE_POLICIES:
            run = Run(options, folder / f"end-{name}", "end", policy)
            check_run(tap, options, f"{name}, no waits", bare["end"], run)


def run_faults(tap, options, folder, bare):
    if options.real:
        return
    for number, fault in enumerate(FAULTS.get(options.scenario, ())):
        policy = policy_for(options, "replay", folder)
        run = Run(options, folder / f"fault-{number}", "each", policy, fault)
        check_run(tap, options, f"E1 {fault}", bare["each"], run)


def run_scenario(tap, options, folder):
    bare = {shape: Run(options, folder / f"bare-{shape}", shape) for shape in ("each", "end")}
    again = Run(options, folder / "bare-again", "each")
    for shape, run in bare.items():
        tap.check(f"bare, {shape}: ends without an error", run.errors or (None if run.output else "no output"))
    tap.check("bare: is the same twice", first_difference(bare["each"].output, again.output))
    hashes = [[line for line in run.output.splitlines() if line.startswith(b"output")] for run in bare.values()]
    if len(hashes[0]) == len(hashes[1]):
        each, end = (b"\n".join(lines) for lines in hashes)
        tap.check("bare: computes the same when the host never waits", first_difference(each, end))
    if not options.real:
        tap.check("bare: executes the same twice", trace_difference(options, bare["each"], again))
    run_policies(tap, options, folder, bare)
    run_faults(tap, options, folder, bare)


def main():
    policies = sorted(file.stem for file in (HERE / "policies").glob("*.json"))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenarios", nargs="+", help="names, or `all`")
    parser.add_argument("--program", required=True)
    parser.add_argument("--library", required=True, help="librefrain.so")
    parser.add_argument("--driver-folder", help="folder of the simulated libcuda.so.1")
    parser.add_argument("--real", action="store_true", help="run on the driver of this machine")
    parser.add_argument("--policies", nargs="+", default=policies, choices=policies)
    parser.add_argument("--compare", default=HERE.parent / "simulated_driver" / "compare_traces.py",
                        help="the program that compares two traces of the simulated driver")
    parser.add_argument("--timeout", type=int, default=120)
    parser.add_argument("--preload-first", default="", help="a sanitizer's runtime, which must come first")
    parser.add_argument("--keep", help="keep everything in this folder")
    options = parser.parse_args()
    if not options.real and not options.driver_folder:
        parser.error("--driver-folder or --real is needed")

    if options.scenarios == ["all"]:
        listed = subprocess.run([options.program, "--list"], capture_output=True, text=True, check=True)
        options.scenarios = listed.stdout.split()
    folder = pathlib.Path(options.keep or tempfile.mkdtemp(prefix="scenario-")).resolve()
    tap = Tap()
    try:
        for options.scenario in options.scenarios:
            tap.prefix = f"{options.scenario}: " if len(options.scenarios) > 1 else ""
            run_scenario(tap, options, folder / options.scenario)
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    return tap.close()


if __name__ == "__main__":
    sys.exit(main())
