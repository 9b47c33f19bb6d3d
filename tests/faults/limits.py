#!/usr/bin/env python3
"""Descriptors that are closed, limits that are reached, a log that cannot be written: as bare, with at most one line a cause.

    limits.py PROGRAM LIBRARY DRIVER_FOLDER TESTS

Prints TAP.
"""

import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile

PROGRAM, LIBRARY, DRIVER_FOLDER, TESTS = map(os.path.abspath, sys.argv[1:5])
SCENARIO = "v13_rows"


def closes(*descriptors):
    def prepare(_):
        for descriptor in descriptors:
            os.close(descriptor)

    return prepare


def opens(descriptor, path):
    def prepare(folder):
        os.dup2(os.open(path.format(folder=folder), os.O_WRONLY | os.O_CREAT, 0o600), descriptor)

    return prepare


def limits(which, value):
    return lambda _: resource.setrlimit(which, (value, value))


def broken_pipe(_):
    read_end, write_end = os.pipe()
    os.close(read_end)
    os.dup2(write_end, 2)


def together(*steps):
    return lambda folder: [step(folder) for step in steps]


def without_folder(folder):
    os.mkdir(f"{folder}/gone")
    os.chdir(f"{folder}/gone")
    os.rmdir(f"{folder}/gone")


def with_signals_as_usual(_):
    # Python ignores these, and what is ignored is inherited.
    for name in ("SIGPIPE", "SIGXFSZ"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)


# Title, what happens before the program starts, other variables under Refrain.
CASES = [
    ("stdin, stdout and stderr closed", closes(0, 1, 2), {}),
    ("stdout closed", closes(1), {}),
    ("stderr closed", closes(2), {}),
    ("stderr full", opens(2, "/dev/full"), {}),
    ("stdout full", opens(1, "/dev/full"), {}),
    ("nobody reads stderr", broken_pipe, {}),
    ("the log is full from the start", None, {"REFRAIN_LOG": "/dev/full"}),
    ("the log is a folder that is not there", None, {"REFRAIN_LOG": "/no/such/folder/"}),
    ("the log is a folder in a file", None, {"REFRAIN_LOG": "/proc/version/x"}),
    ("the log is beneath a folder that was removed", without_folder, {"REFRAIN_LOG": "log.jsonl"}),
    ("files may not grow", limits(resource.RLIMIT_FSIZE, 0), {}),
    ("files may grow a little", limits(resource.RLIMIT_FSIZE, 700), {}),
    ("files may not grow, stderr is one", together(opens(2, "{folder}/errors"), limits(resource.RLIMIT_FSIZE, 0)), {}),
    ("files may not grow, and `refrain run` waits for a report",
     together(opens(9, "{folder}/report"), limits(resource.RLIMIT_FSIZE, 0)), {"REFRAIN_REPORT": "{folder}/report"}),
    ("one descriptor more", limits(resource.RLIMIT_NOFILE, 4), {}),
    ("two descriptors more", limits(resource.RLIMIT_NOFILE, 5), {}),
    ("little stack", limits(resource.RLIMIT_STACK, 256 << 10), {}),
    ("no locked memory", limits(resource.RLIMIT_MEMLOCK, 0), {}),
]


def run(prepare, loaded, others):
    with tempfile.TemporaryDirectory(prefix="limits-") as folder:
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith(("REFRAIN_", "LD_", "NVTX_"))}
        environment["LD_LIBRARY_PATH"] = DRIVER_FOLDER
        if loaded:
            os.mkdir(f"{folder}/log")
            policy = pathlib.Path(TESTS) / "scenarios" / "policies" / "replay.json"
            environment.update(LD_PRELOAD=LIBRARY, REFRAIN_POLICY=str(policy), REFRAIN_LOG=f"{folder}/log/")
            environment.update({key: value.format(folder=folder) for key, value in others.items()})

        def before():
            # pylint: disable=subprocess-popen-preexec-fn
            with_signals_as_usual(None)
            if prepare is not None:
                prepare(folder)

        done = subprocess.run([PROGRAM, SCENARIO, "--iterations", "12"], env=environment, capture_output=True,
                              preexec_fn=before, timeout=60, check=False)
        return done.returncode, done.stdout, done.stderr.decode(errors="replace").splitlines()


def main():
    failed = 0
    for number, (title, prepare, others) in enumerate(CASES, 1):
        bare, loaded = run(prepare, False, others), run(prepare, True, others)
        wrong = []
        if bare[0] != loaded[0]:
            wrong.append(f"code {bare[0]} bare, {loaded[0]} under Refrain: {loaded[2][-2:]}")
        if bare[1] != loaded[1]:
            wrong.append(f"{len(bare[1])} bytes of output bare, {len(loaded[1])} under Refrain")
        own = [line for line in loaded[2] if line.startswith("refrain: ")]
        if [line for line in loaded[2] if line not in own] != bare[2]:
            wrong.append(f"stderr {bare[2]} bare, {loaded[2]} under Refrain")
        if len(own) > 2:
            wrong.append(f"said {own}")
        failed += bool(wrong)
        print(f"{'not ok' if wrong else 'ok'} {number} - {title}: code {bare[0]}, {len(own)} lines said")
        for line in wrong:
            print("# " + line[:400])
    print(f"1..{len(CASES)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
