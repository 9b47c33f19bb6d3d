#!/usr/bin/env python3
"""Every way in which a program with held calls ends, forks or starts others: bare and under Refrain, on the simulated driver.

Output, exit code or signal, what stderr says, files left behind and (generously) the time must be those of the bare run;
where the program waited for the device at its end, so must be the executed operations. Prints TAP.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

PROGRAM, LIBRARY, DRIVER_FOLDER, TESTS = map(os.path.abspath, sys.argv[1:5])
sys.path += [str(pathlib.Path(TESTS) / "simulated_driver")]

from compare_traces import compare, read  # noqa: E402

POLICY = pathlib.Path(TESTS) / "scenarios" / "policies" / f"{sys.argv[5] if len(sys.argv) > 5 else 'replay'}.json"
SLOWER_S = 5
# The device may or may not get to what is queued at the end; other programs write the same trace, or the order of streams
# is a matter of time.
ENDS_QUEUED = ("return", "exit", "_exit", "quick_exit", "abort", "terminated", "killed", "segment-fault",
               "uncaught-exception", "static-destructor", "exit-of-a-thread", "exit-while-a-thread-launches")
STARTS_OTHERS = ("fork-and-execute", "vfork-and-execute", "spawn", "system", "pipe", "replace-itself",
                 "fork-with-held-calls", "first-use")
# Others write a log as well. Who is ended at once may not have opened it.
LOGS = {"fork-and-execute": 2, "vfork-and-execute": 2, "spawn": 2, "system": 2, "pipe": 2, "replace-itself": 2}
ENDED_AT_ONCE = ("_exit", "quick_exit", "abort", "terminated", "killed", "segment-fault", "uncaught-exception",
                 "replace-itself")


class Run:
    def __init__(self, way, loaded):
        with tempfile.TemporaryDirectory(prefix="life-") as name:
            folder = pathlib.Path(name)
            for part in ("here", "temporary", "log"):
                (folder / part).mkdir()
            environment = {key: value for key, value in os.environ.items()
                           if not key.startswith(("REFRAIN_", "LD_", "NVTX_"))}
            environment.update(LD_LIBRARY_PATH=DRIVER_FOLDER, TMPDIR=str(folder / "temporary"),
                               REFRAIN_SIM_TRACE=str(folder / "trace"))
            if loaded:
                environment.update(LD_PRELOAD=LIBRARY, REFRAIN_POLICY=str(POLICY), REFRAIN_LOG=str(folder / "log") + "/")
            begin = time.monotonic()
            done = subprocess.run([PROGRAM, way], env=environment, cwd=folder / "here", capture_output=True, text=True,
                                  timeout=60, preexec_fn=no_core, check=False)
            self.seconds = time.monotonic() - begin
            self.code, self.output = done.returncode, done.stdout
            lines = done.stderr.splitlines()
            self.errors = [line for line in lines if not line.startswith("refrain: ")]
            self.said = [line for line in lines if line.startswith("refrain: ")]
            compared = way not in ENDS_QUEUED + STARTS_OTHERS
            self.trace = read(folder / "trace") if compared and (folder / "trace").exists() else {}
            self.left = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
            self.left = [path for path in self.left if path != "trace"]
            self.replays = any(re.search(r"[1-9]\d* of \d+ calls replayed", line) for line in self.said)


def no_core():
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def differences(way, bare, run):
    if run.code != bare.code:
        yield f"code {bare.code} bare, {run.code} under Refrain: {run.errors}"
    for number, (expected, found) in enumerate(zip(bare.output.splitlines(), run.output.splitlines()), 1):
        if expected != found:
            yield f"line {number}: {expected!r} bare, {found!r} under Refrain"
    if len(bare.output) != len(run.output):
        yield f"{len(bare.output)} bytes bare, {len(run.output)} under Refrain"
    if run.errors != bare.errors:
        yield f"stderr {bare.errors} bare, {run.errors} under Refrain"
    if run.seconds > bare.seconds + SLOWER_S:
        yield f"{bare.seconds:.1f} s bare, {run.seconds:.1f} s under Refrain"
    logs = [path for path in run.left if path.startswith("log/") and path.endswith(".jsonl")]
    if [path for path in run.left if path not in logs] != bare.left:
        yield f"files {bare.left} bare, {run.left} under Refrain"
    wanted = LOGS.get(way, 1)
    if len(logs) not in ((wanted - 1, wanted) if way in ENDED_AT_ONCE else (wanted,)):
        yield f"{len(logs)} logs"
    yield from compare(bare.trace, run.trace)


def main():
    ways = subprocess.run([PROGRAM, "--list"], env={"LD_LIBRARY_PATH": DRIVER_FOLDER}, capture_output=True, text=True,
                          check=True).stdout.split()
    failed = replaying = 0
    for number, way in enumerate(ways, 1):
        bare, run = Run(way, False), Run(way, True)
        wrong = list(differences(way, bare, run))
        failed += bool(wrong)
        replaying += run.replays
        print(f"{'not ok' if wrong else 'ok'} {number} - {way}: code {bare.code}, {bare.seconds:.2f} s bare, "
              f"{run.seconds:.2f} s under Refrain")
        for line in wrong[:12]:
            print("# " + line[:300])
        sys.stdout.flush()
    # Those that are ended at once cannot tell.
    good = replaying >= len(ways) // 2
    print(f"{'ok' if good else 'not ok'} {len(ways) + 1} - {replaying} of {len(ways)} say that they replayed")
    print(f"1..{len(ways) + 1}")
    return 1 if failed or not good else 0


if __name__ == "__main__":
    sys.exit(main())
