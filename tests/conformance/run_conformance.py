#!/usr/bin/env python3
"""Runs the conformance programs and compares what each one prints with the transcript in expected/ (TAP).

    run_conformance.py --program build/tests/conformance/conformance --driver-folder build/tests/simulated_driver
    run_conformance.py --program build/tests/conformance/conformance --real
    run_conformance.py ... --update FOLDER        writes what was seen to FOLDER/NAME.txt and compares nothing

The transcript, the exit code (0) and an empty stderr are what counts. A driver that is not meant for a program's hardware (fewer
features than an H200) differs; the expected transcripts are those of an H200 with driver 580.
"""
import argparse
import concurrent.futures
import difflib
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
EXPECTED = HERE / "expected"


def environment_of(options):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("REFRAIN_", "NVTX_")) and name != "LD_PRELOAD"}
    if options.driver_folder:
        environment["LD_LIBRARY_PATH"] = str(options.driver_folder)
    return environment


def run(options, name):
    """What the program printed, and what is wrong with how it ended."""
    command = [options.program, name]
    try:
        done = subprocess.run(command, env=environment_of(options), capture_output=True, timeout=options.timeout,
                              check=False)
    except subprocess.TimeoutExpired as late:
        return (late.stdout or b"").decode(errors="replace"), f"no end within {options.timeout} s"
    output, errors = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace").strip()
    fault = f"exit code {done.returncode}" if done.returncode else ""
    return output, "\n".join(part for part in (fault, errors) if part)


def difference(name, output):
    path = EXPECTED / f"{name}.txt"
    if not path.exists():
        return f"there is no {path.name} in {EXPECTED}"
    expected = path.read_text(encoding="utf-8")
    lines = difflib.unified_diff(expected.splitlines(), output.splitlines(), "expected", "seen", lineterm="", n=2)
    return "\n".join(lines)


def write(folder, name, output, fault):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.txt").write_text(output, encoding="utf-8")
    fault_file = folder / f"{name}.fault"
    if fault:
        fault_file.write_text(fault + "\n", encoding="utf-8")
    else:
        fault_file.unlink(missing_ok=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="programs; all when there is none")
    parser.add_argument("--program", required=True)
    parser.add_argument("--driver-folder", type=pathlib.Path, help="folder of the simulated libcuda.so.1")
    parser.add_argument("--real", action="store_true", help="run on the driver of this machine")
    parser.add_argument("--update", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--timeout", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=max(2, os.cpu_count() or 2))
    options = parser.parse_args()
    if options.real == bool(options.driver_folder):
        parser.error("either --driver-folder or --real is needed")

    listed = subprocess.run([options.program, "--list"], capture_output=True, text=True, check=True).stdout.split()
    names = options.names or listed
    failed = 0
    print(f"1..{len(names) + (not options.names)}")
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for number, (name, (output, fault)) in enumerate(zip(names, pool.map(lambda n: run(options, n), names)), 1):
            if options.update:
                write(options.update, name, output, fault)
                shown = ""
            else:
                shown = "\n".join(part for part in (fault, difference(name, output)) if part)
            failed += bool(shown)
            print(f"{'not ok' if shown else 'ok'} {number} - {name}")
            for line in shown.splitlines()[:60]:
                print(f"# {line}")
            sys.stdout.flush()
    if not options.names:
        stale = sorted({path.stem for path in EXPECTED.glob("*.txt")} - set(listed))
        failed += bool(stale)
        print(f"{'not ok' if stale else 'ok'} {len(names) + 1} - each expected transcript has a program")
        for name in stale:
            print(f"# {name} has none")
    print(f"# {len(names)} programs, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
