#!/usr/bin/env python3
"""Checks Refrain on the GPU of this machine and writes what was seen; scripts/gpu-check runs it.

Every check prints one line, PASS or FAIL, and the next one follows whatever it said. The exit code is 0 only if none
failed; figures of speed are reported, never judged.
"""

import argparse
import concurrent.futures
import ctypes
import datetime
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
# Steps that are counted by the profiler and by Refrain.
COUNTED = (5, 8)
SCENARIO_POLICIES = ("replay", "default", "auto")


def run_whole(command, environment, limit):
    """Runs a command in a session of its own, so that what it started ends with it; (exit code, output)."""
    with subprocess.Popen([str(part) for part in command], env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, start_new_session=True) as process:
        try:
            output, _ = process.communicate(timeout=limit)
            return process.returncode, output.decode(errors="replace")
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            return 124, output.decode(errors="replace") + f"\nstill running after {limit:.0f} s\n"


class Checks:
    """The results in hand, the time that is left, and how programs are run."""

    def __init__(self, options):
        self.options = options
        self.end = time.monotonic() + options.limit
        self.results = []
        self.details = options.out / "details"
        self.details.mkdir(parents=True, exist_ok=True)

    def environment(self, log=None):
        """Without anything of Refrain's; with `log`, what `refrain run` needs to log to that folder."""
        variables = {name: value for name, value in os.environ.items()
                     if not name.startswith(("REFRAIN_", "NVTX_")) and name != "LD_PRELOAD"}
        if log:
            log.mkdir(parents=True, exist_ok=True)
            variables["REFRAIN_LOG"] = f"{log}/"
        return variables

    def run(self, name, command, limit=240, log=None):
        """Runs a command, keeps its output among the details; (exit code, output)."""
        limit = min(limit, self.end - time.monotonic())
        if limit < 5:
            return 124, "no time left"
        try:
            code, output = run_whole(command, self.environment(log), limit)
        except OSError as error:
            code, output = 127, str(error)
        (self.details / f"{name}.txt").write_text(output, encoding="utf-8")
        return code, output

    def policy(self, auto):
        """The shipped policy for ranges alone, or for whatever repeats, always replayed."""
        path = self.options.out / f"policy-{'auto' if auto else 'ranges'}.json"
        policy = read(ROOT / "configs" / "default.json")
        policy.update({"auto": True, "regions": [], "replay": {"governor": False}} if auto else {"auto": False})
        path.write_text(json.dumps(policy), encoding="utf-8")
        return path

    def under_refrain(self, command, auto=False):
        return [self.options.build / "interpose" / "refrain", "run", "--policy", self.policy(auto), "--", *command]

    def add(self, title, passed, detail):
        """Notes one result; `passed` None: a figure, not judged."""
        word = "    " if passed is None else "PASS" if passed else "FAIL"
        print(f"{word}  {title}: {detail}", flush=True)
        self.results.append({"title": title, "passed": passed, "detail": detail})

    def failed(self):
        return sum(result["passed"] is False for result in self.results)


def last_line(output):
    lines = [line for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else "no output"


def check_training(checks):
    """The training program, on the NULL stream and on one of its own; the first is what scripts/demo runs."""
    for name, arguments in (("demo", []), ("own-stream", ["--own-stream"])):
        command = ["bash", ROOT / "scripts" / "demo", "--built", "--build", checks.options.build, *arguments]
        code, output = checks.run(f"training-{name}", command)
        said = [line[6:] for line in output.splitlines() if line.startswith("demo: ")]
        gpu = "using the GPU" in said
        checks.add(f"training program ({name})", code == 0 and gpu,
                   "; ".join(said[1:4]) if gpu and len(said) > 3 else last_line(output))


def run_scenario(checks, name):
    build = checks.options.build
    command = [sys.executable, ROOT / "tests" / "scenarios" / "run_scenario.py", name, "--real", "--program",
               build / "tests" / "scenarios" / "scenarios", "--library", build / "interpose" / "librefrain.so",
               "--policies", *SCENARIO_POLICIES]
    return (name, *checks.run(f"scenario-{name}", command, 120))


def check_scenarios(checks):
    program = checks.options.build / "tests" / "scenarios" / "scenarios"
    if not program.exists():
        checks.add("scenarios", False, f"{program} was not built")
        return
    code, listed = checks.run("scenarios", [program, "--list"])
    names = listed.split() if code == 0 else []
    bad = []
    with concurrent.futures.ThreadPoolExecutor(checks.options.jobs) as pool:
        for name, code, output in pool.map(lambda name: run_scenario(checks, name), names):
            if code != 0:
                faults = [line for line in output.splitlines() if line.startswith("not ok")]
                bad.append(f"{name} ({faults[0] if faults else last_line(output)})")
    checks.add("scenarios, real driver", bool(names) and not bad,
               f"{len(names) - len(bad)} of {len(names)} equal bare and under {', '.join(SCENARIO_POLICIES)}" +
               ("; not: " + ", ".join(bad) if bad else ""))


def check_conformance(checks):
    program = checks.options.build / "tests" / "conformance" / "conformance"
    if not program.exists():
        checks.add("conformance programs", False, f"{program} was not built")
        return
    code, output = checks.run("conformance", [sys.executable, ROOT / "tests" / "conformance" / "run_conformance.py", "--program",
                                              program, "--real", "--jobs", 3 * checks.options.jobs], 300)
    failed = [line.split(" - ", 1)[1] for line in output.splitlines() if line.startswith("not ok")]
    counted = [line for line in output.splitlines() if line.startswith("# ") and "programs" in line]
    checks.add("conformance programs", code == 0, (counted[-1][2:] if counted else last_line(output)) +
               (": " + ", ".join(failed) if failed else ""))


def sanitized_errors(checks, name, command):
    """The error count that compute-sanitizer's memcheck gives for a program, as its own words."""
    tool = ["compute-sanitizer", "--tool", "memcheck", "--target-processes", "all", "--report-api-errors", "no"]
    _, output = checks.run(f"memcheck-{name}", [*tool, *command], 120)
    return [line.strip("= ") for line in output.splitlines() if "ERROR SUMMARY" in line]


def memory_differs(bare, refrain):
    """Whether the tool says other things under Refrain than bare. It may hang and give no summary of the bare run; then
    there is nothing to compare with, and no error may be found under Refrain."""
    return set(bare) != set(refrain) if bare else any(": 0 errors" not in line for line in refrain)


def check_memory(checks):
    """What compute-sanitizer says of each scenario bare and under Refrain; a scenario may fault on purpose."""
    if shutil.which("compute-sanitizer") is None:
        checks.add("compute-sanitizer", None, "not on the PATH: left out")
        return
    build = checks.options.build
    code, listed = checks.run("scenarios", [build / "tests" / "scenarios" / "scenarios", "--list"])
    programs = {name: [build / "tests" / "scenarios" / "scenarios", name] for name in (listed.split() if code == 0 else [])}
    under = [build / "interpose" / "refrain", "run", "--policy", ROOT / "tests" / "scenarios" / "policies" / "replay.json", "--"]

    def both(name):
        bare = sanitized_errors(checks, f"{name}-bare", programs[name])
        refrain = sanitized_errors(checks, f"{name}-refrain", under + programs[name])
        if bare and not refrain:  # the tool may hang in the child of a fork, in either run
            refrain = sanitized_errors(checks, f"{name}-refrain-again", under + programs[name])
        return name, bare, refrain

    bad, clean, silent = [], 0, 0
    with concurrent.futures.ThreadPoolExecutor(2 * checks.options.jobs) as pool:
        for name, bare, refrain in pool.map(both, programs):
            silent += not bare
            clean += bool(bare) and all(": 0 errors" in line for line in bare + refrain)
            if memory_differs(bare, refrain):
                bad.append(f"{name} (bare {bare}, under Refrain {refrain})")
    checks.add("compute-sanitizer memcheck, scenarios", bool(programs) and not bad,
               f"{len(programs) - len(bad)} of {len(programs)} the same bare and under Refrain, {clean} without any error, "
               f"{silent} of which the tool gives no summary" +
               ("; not: " + ", ".join(bad) if bad else ""))


def read(path):
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def file_name(title):
    return title.lower().replace(",", "").replace(" ", "-")


def job_runs(checks, name, arguments, auto):
    """The PyTorch job bare and under Refrain: (bare, refrain, counters), each None where it failed."""
    out, name = checks.details, file_name(name)
    files = {part: out / f"{name}-{part}.json" for part in ("bare", "refrain", "counters")}
    for file in files.values():
        file.unlink(missing_ok=True)
    python = checks.options.python
    checks.run(f"{name}-bare", [python, HERE / "moe_job.py", *arguments, "--out", files["bare"]])
    checks.run(f"{name}-refrain", checks.under_refrain([python, HERE / "watch_job.py", *arguments, "--out",
                                                        files["refrain"], "--statistics", files["counters"]], auto),
               log=out / f"{name}-log")
    return tuple(read(file) for file in files.values())


def share(counters, first_step):
    """Percent of the regions' operations that were replayed from `first_step` on."""
    before, after = counters[first_step - 1], counters[-1]
    calls = after["region_calls"] - before["region_calls"]
    return 100.0 * (after["region_replayed"] - before["region_replayed"]) / calls if calls else 0.0


def check_job(checks, name, arguments, least, auto=False):
    """Exactness of a job; its share of replay where `least` is given. Returns the counters."""
    bare, refrain, counters = job_runs(checks, name, arguments, auto)
    if bare is None or refrain is None:
        checks.add(name, False, f"{'bare run' if bare is None else 'run under Refrain'} failed, see details/{file_name(name)}-*.txt")
        return None
    for key in ("losses", "gradients", "weights"):
        steps = len(bare["losses"])
        checks.add(f"{name}: {key}", bare[key] == refrain[key],
                   f"{'bit-equal' if bare[key] == refrain[key] else 'DIFFERENT'} after {steps} steps")
    if not counters or counters[-1] is None:
        checks.add(f"{name}: Refrain at work", False, "refrain_stats gave nothing")
        return None
    total = counters[-1]
    adds_up = total["calls"] == total["held"] + total["passed"] and total["held"] == total["replayed"] + total["flushed"]
    checks.add(f"{name}: counters add up", adds_up,
               f"calls {total['calls']}, held {total['held']}, passed {total['passed']}, replayed {total['replayed']}, "
               f"flushed {total['flushed']}")
    replayed = share(counters, 5)
    checks.add(f"{name}: replayed from step 5 on", None if least is None else replayed >= least, f"{replayed:.2f} %")
    return counters


def check_launches(checks, arguments, counters):
    first, last = COUNTED
    file = checks.details / "launches.json"
    file.unlink(missing_ok=True)
    checks.run("launches", [checks.options.python, HERE / "count_launches.py", *arguments, "--from-step", first, "--to-step",
                            last, "--out", file])
    counted = read(file)
    if counted is None or counters is None:
        checks.add("launches seen = the profiler's count", False, "one of the two counts failed, see details/launches.txt")
        return
    seen = counters[last]["launches_seen"] - counters[first - 1]["launches_seen"]
    checks.add("launches seen = the profiler's count", seen == counted["kernels"] and seen > 0,
               f"steps {first} to {last}: {seen} seen, {counted['kernels']} kernels by the profiler")


def report_times(checks, arguments):
    file = checks.details / "step-times.json"
    file.unlink(missing_ok=True)
    command = [checks.options.python, HERE / "step_times.py", *arguments, "--out", file]
    code, output = checks.run("step-times", checks.under_refrain(command), log=checks.details / "step-times-log")
    times = read(file) if code == 0 else None
    checks.add("step time, interleaved blocks", None if times else False,
               f"eager {times['eager_ms']:.3f} ms, replay {times['replay_ms']:.3f} ms, ratio {times['ratio']:.4f}"
               if times else last_line(output))


def report_costs(checks):
    if not (checks.options.build / "tests" / "bench" / "bench").exists():
        return
    code, output = checks.run("bench", [sys.executable, ROOT / "scripts" / "bench", "--build", checks.options.build, "--real",
                                        "--rounds", "100"], 60)
    checks.add("host cost of a call", None if code == 0 else False, "see details/bench.txt" if code == 0 else last_line(output))


def device():
    """Name of the first GPU and version of the driver's interface, as the driver tells them; None without a GPU."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    handle, version, name = ctypes.c_int(), ctypes.c_int(), ctypes.create_string_buffer(256)
    if cuda.cuInit(0) or cuda.cuDeviceGet(ctypes.byref(handle), 0) or cuda.cuDeviceGetName(name, 256, handle):
        return None
    cuda.cuDriverGetVersion(ctypes.byref(version))
    release = "release unknown"
    try:
        done = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True,
                              text=True, timeout=30, check=False)
        release = done.stdout.split()[0] if done.stdout.split() else release
    except (OSError, subprocess.TimeoutExpired):
        pass
    return {"gpu": name.value.decode(), "driver": f"{release} (CUDA {version.value // 1000}.{version.value % 1000 // 10})"}


def write_report(checks, machine):
    """results.json, and gpu-check.md: a fragment of Markdown with all that was seen."""
    out = checks.options.out
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    lines = [f"### {machine['gpu']}, {date}", "", f"Driver {machine['driver']}; command `scripts/gpu-check "
             f"{' '.join(checks.options.given)}`.", "", "| check | result | seen |", "|---|---|---|"]
    for result in checks.results:
        word = {None: "", True: "pass", False: "FAIL"}[result["passed"]]
        detail = result["detail"].replace("|", "\\|")
        lines.append(f"| {result['title']} | {word} | {detail} |")
    bench = checks.details / "bench.txt"
    if bench.exists():
        lines += ["", "```", bench.read_text(encoding="utf-8").rstrip(), "```"]
    (out / "gpu-check.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (out / "results.json").write_text(json.dumps({"date": date, **machine, "results": checks.results}, indent=1),
                                      encoding="utf-8")
    print(f"written: {out / 'gpu-check.md'}")


def parse():
    parser = argparse.ArgumentParser(prog="scripts/gpu-check", description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="folder with a finished build")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "gpu-check", help="folder for the results")
    parser.add_argument("--only", default="", help="parts, separated by commas: training, job, bf16, inside, auto, times, costs, "
                        "scenarios, conformance, memory")
    parser.add_argument("--steps", type=int, default=200, help="steps of the PyTorch job")
    parser.add_argument("--limit", type=float, default=900, help="seconds for everything")
    parser.add_argument("--jobs", type=int, default=4, help="scenarios at a time")
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has PyTorch")
    parser.add_argument("--job-arguments", nargs=argparse.REMAINDER, default=[], help="further arguments of the PyTorch job")
    options = parser.parse_args()
    options.given = sys.argv[1:]
    options.build, options.out = options.build.resolve(), options.out.resolve()
    return options


def main():
    options = parse()
    machine = device()
    if machine is None and "cpu" not in options.job_arguments:
        print("gpu-check: no GPU that the driver can use")
        return 2
    machine = machine or {"gpu": "none", "driver": "none"}
    checks = Checks(options)
    print(f"{machine['gpu']}, driver {machine['driver']}")
    extra, steps = options.job_arguments, options.steps

    def job():
        counters = check_job(checks, "PyTorch job", [*extra, "--steps", steps], 95.0)
        check_launches(checks, extra, counters)

    parts = {
        "training": lambda: check_training(checks),
        "job": job,
        "bf16": lambda: check_job(checks, "PyTorch job, bf16", [*extra, "--steps", 30, "--bf16"], 95.0),
        "inside": lambda: check_job(checks, "PyTorch job, expert loop inside a range",
                                    [*extra, "--steps", 30, "--dispatch", "inside"], None),
        "auto": lambda: check_job(checks, "PyTorch job, no range selected", [*extra, "--steps", steps], None, auto=True),
        "times": lambda: report_times(checks, extra),
        "costs": lambda: report_costs(checks),
        "scenarios": lambda: check_scenarios(checks),
        "conformance": lambda: check_conformance(checks),
        "memory": lambda: check_memory(checks),
    }
    for name, part in parts.items():
        if not options.only or name in options.only.split(","):
            part()
    write_report(checks, machine)
    print(f"{len(checks.results) - checks.failed()} passed, {checks.failed()} failed")
    return 1 if checks.failed() else 0


if __name__ == "__main__":
    sys.exit(main())
