#!/usr/bin/env python3
"""Measures what Refrain gains on training jobs, on the GPU of this machine; scripts/gpu-check --perf runs it.

Each job runs in a process of its own, one after the other: under Refrain in interleaved blocks of eager and replayed
steps; under the library of the bound, which drops what Refrain would replay; with and without the NVTX ranges it has;
with --exact bare and under Refrain, bit for bit. A job that fails is told with its last lines, and the next one follows.
Exit code 0: every job asked for was measured, and no bit differed.
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import check
import perf_report
from perf_plan import DEFAULT, JOBS

HERE, ROOT = check.HERE, check.ROOT
POLICY = {"version": 1, "auto": True, "operations": [{"kernel": "*nccl*", "action": "eager"}]}
ALWAYS = {**POLICY, "replay": {"governor": False}}  # to see what replay itself gives
TWICE = {**ALWAYS, "limits": {"graph_mib": 128}}  # with and without ranges in one process: 64 MiB for the graphs of each
STEPS = 100  # of each arm; the seconds of the plan are for as many
LAST_LINES = 8
PARTS = ("times", "bound", "ranges", "exact")


class Failed(Exception):
    """A run that gave no result; its message says why in a line or a few."""


class Runner:
    """Options, the time that is left, and how processes are run."""

    def __init__(self, options):
        self.options = options
        self.end = time.monotonic() + options.limit
        for name, policy in (("governed", POLICY), ("always", ALWAYS), ("twice", TWICE)):
            (options.out / f"policy-{name}.json").write_text(json.dumps(policy), encoding="utf-8")
        self.thin = None  # the C++ program, once it is built

    def policy(self, name, part=None):
        kind = "twice" if part == "ranges" else "governed" if JOBS[name].governed else "always"
        return self.options.policy or self.options.out / f"policy-{kind}.json"

    def environment(self, library=None, log=None, policy=None):
        variables = {name: value for name, value in os.environ.items()
                     if not name.startswith(("REFRAIN_", "NVTX_")) and name != "LD_PRELOAD"}
        variables["PYTHONFAULTHANDLER"] = "1"
        # The second process of a compiled job takes what the first one compiled and chose.
        variables["TORCHINDUCTOR_CACHE_DIR"] = str(self.options.out / "compiled")
        variables["TRITON_CACHE_DIR"] = str(self.options.out / "compiled" / "triton")
        if library:
            log.mkdir(parents=True, exist_ok=True)
            variables.update(LD_PRELOAD=str(library), NVTX_INJECTION64_PATH=str(library),
                             REFRAIN_POLICY=str(policy), REFRAIN_LOG=f"{log}/")
        return variables

    def left(self):
        return self.end - time.monotonic()

    def run(self, name, command, limit, environment):
        """Runs a command in a session of its own; its output goes to NAME.txt. Fails with its last lines."""
        path = self.options.out / f"{name}.txt"
        limit = min(limit, self.left())
        with open(path, "w", encoding="utf-8") as output:
            process = subprocess.Popen([str(part) for part in command], env=environment, stdout=output,
                                       stderr=subprocess.STDOUT, start_new_session=True)
            try:
                code = process.wait(timeout=max(1.0, limit))
            except subprocess.TimeoutExpired:
                code = None
            try:
                os.killpg(process.pid, signal.SIGKILL)  # compilers it may have left, too
            except ProcessLookupError:
                pass
            process.wait()
        if code == 0:
            return
        lines = [line for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
        why = f"still running after {limit:.0f} s" if code is None else f"ended with {code}"
        raise Failed("\n    ".join([f"{name} {why}", *lines[-LAST_LINES:]]))

    def build_thin(self):
        """The C++ program, by the CUDA toolkit's compiler; cuBLAS of a Python package where the toolkit has none."""
        if self.thin is not None:
            return
        compiler = shutil.which("nvcc") or next((str(path) for path in [pathlib.Path("/usr/local/cuda/bin/nvcc")]
                                                 if path.exists()), None)
        if compiler is None:
            raise Failed("no nvcc")
        program = self.options.out / "thin_loop"
        basic = [compiler, "-O2", "-std=c++20", f"-I{ROOT}", HERE / "thin_loop.cu", "-o", program, "-ldl"]
        libraries = pathlib.Path(compiler).resolve().parents[1] / "lib64"
        ways = [["-arch=native", "-lcublas", "-Xlinker", f"-rpath={libraries}"]]
        packages = pathlib.Path(sys.prefix).glob("lib/python3*/site-packages/nvidia/cu13")
        for folder in packages:
            ways.append(["-arch=native", f"-I{folder}/include", f"-L{folder}/lib", "-l:libcublas.so.13",
                         "-l:libcublasLt.so.13", "-Xlinker", f"-rpath={folder}/lib"])
        for way in ways:
            try:
                self.run("thin-build", [*basic, *way], 90, self.environment())
                self.thin = program
                return
            except Failed as failure:
                last = failure
        raise last

    def command(self, name, arguments, out, deterministic=False):
        plan = JOBS[name]
        if plan.kind == "thin":
            self.build_thin()
            return [self.thin, *plan.arguments, *arguments, "--out", out]
        extra = ["--device", self.options.device] + ["--tiny"] * self.options.tiny
        extra += ["--no-deterministic"] * (self.options.no_deterministic and not deterministic)
        return [self.options.python, HERE / "perf_process.py", "--job", name, *extra, *arguments, "--out", out]

    def result(self, label, command, limit, environment, out):
        out.unlink(missing_ok=True)
        self.run(label, command, limit, environment)
        try:
            return json.loads(out.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise Failed(f"{label}: no result: {error}") from error

    def times(self, name, library, part, extra=()):
        """The raw measurement of a job in interleaved blocks under a library."""
        plan, options = JOBS[name], self.options
        steps = round(plan.steps * options.steps / STEPS) if plan.steps else options.steps
        # A job whose number of steps is part of what it shows keeps it.
        steps = plan.steps if name == "changing_shapes" else steps
        block = min(options.block_steps or plan.block_steps, steps)
        skip = plan.skip if options.skip is None else options.skip
        arguments = ["--steps", steps, "--block-steps", block, "--skip", skip, "--warm-up",
                     max(plan.warm_up, options.warm_up), *extra]
        label, limit = f"{name}-{part}", 1.5 * seconds(name, options) + 60
        out = options.out / f"{label}.json"
        policy = self.policy(name, part)
        environment = self.environment() if options.bare else self.environment(library, options.out / "log" / label, policy)
        bare = ["--bare"] if options.bare else []
        return self.result(label, self.command(name, arguments + bare, out), limit, environment, out)

    def exact(self, name):
        """Checksums of a bare run and of one under `refrain run`, always with kernels that give equal bits. Where they
        differ another bare run tells whether the job repeats itself at all."""
        options, sums = self.options, {}

        def run(part, under):
            label = f"{name}-exact-{part}"
            out = options.out / f"{label}.json"
            command = self.command(name, ["--exact", "--steps", options.exact_steps], out, deterministic=True)
            if under and not options.bare:
                log = options.out / "log" / label
                log.mkdir(parents=True, exist_ok=True)
                command = [options.build / "interpose" / "refrain", "run", "--policy", self.policy(name), "--log", f"{log}/",
                           "--", *command]
            limit = 1.5 * seconds(name, options) * max(1.0, options.exact_steps / 200) + 60
            sums[part] = self.result(label, command, limit, self.environment(), out)["checksum"]

        run("bare", False)
        run("refrain", True)
        equal = sums["bare"] == sums["refrain"]
        if not equal:
            try:
                run("bare-again", False)
                equal = None if sums["bare-again"] != sums["bare"] else False
            except Failed:  # what was seen stays a difference
                pass
        return {"steps": options.exact_steps, "equal": equal, **sums}


def seconds(name, options):
    """What one run of a job may need, by the plan and the number of steps."""
    return JOBS[name].seconds * max(0.5, options.steps / STEPS)


def of_job(runner, name):
    """Everything asked for of one job; failures become notes."""
    from perf_statistics import AGAINST, summarise
    options, result = runner.options, {"job": name, "notes": []}

    def attempt(part, function):
        if runner.left() < seconds(name, options):
            result["notes"].append(f"{part} left out: {max(0, runner.left()):.0f} s left, needs about "
                                   f"{seconds(name, options):.0f} s")
            return None
        try:
            return function()
        except Failed as failure:
            result["notes"].append(f"{part} failed: {failure}")
            return None

    library = options.build / "interpose" / "librefrain.so"
    if "times" in options.parts:
        raw = attempt("times", lambda: runner.times(name, library, "times"))
        if raw:
            result["figures"] = raw.get("figures") or summarise(raw)
            result["about"], result["checksum"] = raw.get("about", {}), raw.get("checksum")
    for arm in AGAINST:
        if arm not in options.parts or not getattr(JOBS[name], arm):
            continue
        its = options.build / "tests" / "bench" / "librefrain_bound.so" if arm == "bound" else library
        if not its.exists():
            result["notes"].append(f"{arm} left out: no {its.name} in the build")
            continue
        raw = attempt(arm, lambda arm=arm, its=its: runner.times(name, its, arm, [f"--{arm}"]))
        if raw:
            result[f"{arm}_figures"] = raw.get("figures") or summarise(raw)
    if "exact" in options.parts:
        exact = attempt("exact", lambda: runner.exact(name))
        if exact:
            result["exact"] = exact
    return perf_report.complete(result)


def parse():
    parser = argparse.ArgumentParser(prog="scripts/gpu-check --perf", description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="folder with a finished build")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "gpu-perf", help="folder for the results")
    parser.add_argument("--limit", type=float, default=540, help="seconds for everything")
    parser.add_argument("--only", help=f"jobs, separated by commas, of {', '.join(JOBS)}")
    parser.add_argument("--steps", type=int, default=STEPS,
                        help="steps of each arm; jobs of short steps take more in proportion")
    parser.add_argument("--block-steps", type=int, default=0, help="steps of a block; 0: as the job wants")
    parser.add_argument("--skip", type=int, help="steps after a change of arm that are not timed; else as the job wants")
    parser.add_argument("--warm-up", type=int, default=60)
    parser.add_argument("--parts", default="times,bound,ranges", help=f"of {', '.join(PARTS)}; separated by commas")
    parser.add_argument("--exact", action="store_true", help="the same as --parts exact")
    parser.add_argument("--exact-steps", type=int, default=200)
    parser.add_argument("--policy", type=pathlib.Path, help="instead of one that finds repeated operations anywhere")
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has PyTorch")
    parser.add_argument("--no-deterministic", action="store_true", help="times with the kernels that PyTorch takes by itself")
    parser.add_argument("--bare", action="store_true", help="without any library, to try the jobs")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--tiny", action="store_true", help="small models, to try the jobs")
    options = parser.parse_args()
    options.jobs = options.only.split(",") if options.only else list(DEFAULT)
    options.parts = ["exact"] if options.exact else options.parts.split(",")
    for word, known in [(job, JOBS) for job in options.jobs] + [(part, PARTS) for part in options.parts]:
        if word not in known:
            parser.error(f"unknown: {word}; known: {', '.join(known)}")
    for key in ("build", "out", "policy"):
        if getattr(options, key):
            setattr(options, key, getattr(options, key).resolve())
    options.out.mkdir(parents=True, exist_ok=True)
    return options


def main():
    options = parse()
    machine = check.device()
    if machine is None and options.device == "cuda" and not options.bare:
        print("gpu-check: no GPU that the driver can use")
        return 2
    machine = machine or {"gpu": "none", "driver": "none"}
    print(f"{machine['gpu']}, driver {machine['driver']}; {', '.join(options.jobs)}", flush=True)
    runner, results = Runner(options), []
    for name in options.jobs:
        began = time.monotonic()
        results.append(of_job(runner, name))
        results[-1]["wall_s"] = time.monotonic() - began
        print(f"[{results[-1]['wall_s']:5.1f} s] {perf_report.line(results[-1])}", flush=True)
        perf_report.write(options.out, results, machine, sys.argv[1:])
    print(f"written: {options.out / 'perf.md'}")
    wanted = {"times": "figures", "exact": "exact"}
    done = all(key in result for result in results for part, key in wanted.items() if part in options.parts)
    equal = all(result.get("exact", {}).get("equal", True) for result in results)
    return 0 if equal and done else 1


if __name__ == "__main__":
    sys.exit(main())
