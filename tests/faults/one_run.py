"""One run of a scenario with a fault, and the questions that both sweeps ask about it."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent / "scenarios"), str(HERE.parent / "simulated_driver")]

from capture_log import CaptureLog, counter_faults  # noqa: E402
from compare_traces import compare, read  # noqa: E402
from expectations import ENDS_WITH_QUEUED_WORK, NO_COUNTERS  # noqa: E402
from run_scenario import first_difference  # noqa: E402

LAUNCHES = ("cuLaunchKernel", "cuLaunchKernel_ptsz", "cuLaunchKernelEx", "cuLaunchKernelEx_ptsz",
            "cuLaunchCooperativeKernel", "cuLaunchCooperativeKernel_ptsz")


class OneRun:
    """What one run did and left; its files are gone when it has been read."""

    def __init__(self, options, scenario, policy=None, preload=(), **variables):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="fault-", dir=options.folder))
        self.scenario = scenario
        try:
            environment = self.environment(options, folder, policy, preload, variables)
            command = [options.program, scenario, "--iterations", str(options.iterations)]
            begin = time.monotonic()
            self.start(command, environment, options.timeout)
            self.seconds = time.monotonic() - begin
            self.trace = read(folder / "trace") if (folder / "trace").exists() else {}
            self.calls = self.read_counts(folder / "calls")
            self.broken = self.read_counts(folder / "broken")
            self.log = CaptureLog(folder / "log")
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def start(self, command, environment, timeout):
        try:
            done = subprocess.run(command, env=environment, capture_output=True, timeout=timeout, check=False)
            self.code, self.output, self.errors = done.returncode, done.stdout, done.stderr.decode(errors="replace")
        except subprocess.TimeoutExpired as late:
            self.code, self.output = f"no end within {timeout} s", late.stdout or b""
            self.errors = (late.stderr or b"").decode(errors="replace")

    @staticmethod
    def environment(options, folder, policy, preload, variables):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("REFRAIN_", "NVTX_", "LD_"))}
        (folder / "log").mkdir()
        environment["LD_LIBRARY_PATH"] = str(options.driver_folder)
        environment["REFRAIN_SIM_TRACE"] = str(folder / "trace")
        environment["REFRAIN_SIM_CALLS"] = str(folder / "calls")
        environment["REFRAIN_SIM_REUSE_HANDLES"] = "1"
        environment["REFRAIN_BREAK_COUNTS"] = str(folder / "broken")
        if policy is not None:
            environment["LD_PRELOAD"] = ":".join([str(options.library), *map(str, preload)])
            environment["NVTX_INJECTION64_PATH"] = str(options.library)
            environment["REFRAIN_POLICY"] = str(policy)
            environment["REFRAIN_LOG"] = str(folder / "log") + "/"
        environment.update(variables)
        return environment

    @staticmethod
    def read_counts(file):
        if not file.exists():
            return {}
        return {name: int(count) for name, count in map(str.split, file.read_text().splitlines())}

    def launches(self):
        return sum(self.calls.get(name, 0) for name in LAUNCHES)

    def failed(self):
        """Driver calls that were made to fail."""
        return self.calls.get("failed", 0)


def said_faults(run):
    """Whatever is printed beyond one line a cause, or by anybody but Refrain."""
    lines = run.errors.splitlines()
    yield from (f"printed: {line}" for line in lines if not line.startswith("refrain: "))
    kinds = [line.split(":")[1][:24] for line in lines if line.startswith("refrain: ") and " calls replayed (" not in line]
    yield from (f"printed twice: {kind}" for kind in set(kinds) if kinds.count(kind) > 1)


def counters_fault(bare, run, log_may_fail):
    """What is wrong with the counters at exit, or None."""
    if run.scenario in NO_COUNTERS or not run.log.files:
        return None
    final = run.log.final()
    if final is None:
        return None if log_may_fail else "no counters at exit"
    return "; ".join(counter_faults(final, bare.launches())) or None


def differences(bare, run, with_trace=True, log_may_fail=False, with_counters=True):
    """A sentence for each way in which the program could notice, or the counters do not add up."""
    if run.code != bare.code:
        yield f"exit code {bare.code} bare, {run.code} under Refrain: {run.errors[-300:]}"
    if (difference := first_difference(bare.output, run.output)) is not None:
        yield difference
    own = set(bare.errors.splitlines())
    yield from (fault for fault in said_faults(run) if fault.removeprefix("printed: ") not in own)
    if with_trace and run.scenario not in ENDS_WITH_QUEUED_WORK:
        yield from compare(bare.trace, run.trace)
    if with_counters and (fault := counters_fault(bare, run, log_may_fail)) is not None:
        yield fault
