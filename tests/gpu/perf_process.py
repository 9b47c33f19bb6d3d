#!/usr/bin/env python3
"""One performance job in a process of its own: times in interleaved blocks, or a checksum after so many steps.

Run by perf.py. Times need refrain_pause and refrain_resume, and with --bound refrain_drop, of the library of the bound;
with --ranges the job emits its NVTX ranges in the third arm only. All arms share warm-up, clocks, allocator and machine,
so that their ratios are the library's effect alone.
"""

import argparse
import gc
import itertools
import json
import sys
import time

from perf_plan import JOBS
from perf_statistics import add, summarise
from refrain_control import Control, difference


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--job", required=True, choices=[name for name, plan in JOBS.items() if plan.kind != "thin"])
    parser.add_argument("--exact", action="store_true", help="only run --steps steps and write the checksum")
    parser.add_argument("--steps", type=int, default=100, help="steps of each arm, or of the job with --exact")
    parser.add_argument("--block-steps", type=int, default=10)
    parser.add_argument("--skip", type=int, default=2, help="steps after a change of arm that are not timed")
    parser.add_argument("--warm-up", type=int, default=60)
    third = parser.add_mutually_exclusive_group()
    third.add_argument("--bound", action="store_const", dest="third", const="bound",
                       help="a third arm, in which launches are dropped")
    third.add_argument("--ranges", action="store_const", dest="third", const="ranges",
                       help="a third arm, in which the job emits its NVTX ranges, as it does in no other")
    parser.add_argument("--bare", action="store_true", help="no library at all: both arms are the same; to try a job")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--tiny", action="store_true", help="a small model, to try a job")
    parser.add_argument("--no-deterministic", action="store_true", help="the kernels that PyTorch takes by itself")
    parser.add_argument("--out", required=True, help="file for the result")
    return parser.parse_args()


def make_job(options):
    """The job after its first step. One that a strict demand for determinism refuses gets the weak one."""
    if JOBS[options.job].kind == "jax":
        import jax_job
        job = jax_job.Job(options)
        job.step()
        return job
    import perf_jobs
    try:
        job = perf_jobs.make(options, strict=True)
        job.step()
    except RuntimeError as error:
        if "deterministic" not in str(error):
            raise
        print(f"{options.job}: only warned of: {str(error).splitlines()[0][:200]}", file=sys.stderr)
        job = perf_jobs.make(options, strict=False)
        job.step()
    return job


def block(job, steps):
    """`steps` steps between two waits for the device: ms a step, and when each step returned."""
    job.wait()
    began = last = time.perf_counter()
    times = []
    for _ in range(steps):
        job.step()
        now = time.perf_counter()
        times.append((now - last) * 1e3)
        last = now
    job.wait()
    end = time.perf_counter()
    times[-1] += (end - last) * 1e3
    return {"ms_per_step": (end - began) * 1e3 / steps, "steps_ms": times}


def warm_up(job, options):
    """Steps that are not timed. Where two arms are replayed each has its share, in blocks."""
    for step in range(options.warm_up - 1):
        if options.third == "ranges":
            job.emit_ranges(step // options.block_steps % 2 == 1)
        job.step()


def measure(job, control, options):
    """Raw measurement (perf_statistics.py) of a job that is warm."""
    blocks, counters = [], {"replay": None, "ranges": None}
    # The order of the arms changes, so that a drift does not favour one.
    arms = ("eager", "replay", options.third) if options.third else ("eager", "replay")
    orders = itertools.cycle(itertools.permutations(arms))
    for _, order in zip(range(max(1, options.steps // options.block_steps)), orders):
        for arm in order:
            control.begin(arm)
            if options.third == "ranges":
                job.emit_ranges(arm == "ranges")
            for _ in range(options.skip):
                job.step()
            job.wait()
            before = control.statistics()
            blocks.append({"arm": arm, **block(job, options.block_steps)})
            after = control.statistics()
            control.end(arm)
            if arm in counters and before and after:
                counters[arm] = add(counters[arm], difference(after, before))
    raw = {"blocks": blocks, "counters": counters["replay"], "ranges_counters": counters["ranges"]}
    last = control.statistics()
    if last:
        raw["graph_bytes"], raw["host_bytes"] = last["graph_bytes"], last["host_bytes"]
    return raw


class NoLibrary:
    """Stands for the library where there is none."""

    def begin(self, arm):
        pass

    end = begin

    def statistics(self):
        return None


def main():
    options = parse()
    began = time.perf_counter()
    job = make_job(options)
    result = {"job": options.job, "about": job.about()}
    if options.exact:
        for _ in range(options.steps - 1):
            job.step()
        result["steps"] = options.steps
    else:
        warm_up(job, options)
        job.wait()
        control = NoLibrary() if options.bare else Control()
        wanted = "refrain_drop" if options.third == "bound" else "refrain_pause"
        if not options.bare and control.functions[wanted] is None:
            print(f"no library with {wanted} is loaded", file=sys.stderr)
            return 2
        if not options.bare and not control.loaded():
            print("Refrain is loaded, but off in this process", file=sys.stderr)
            return 2
        gc.collect()
        gc.freeze()
        ready = time.perf_counter()
        result.update(measure(job, control, options))
        result["figures"] = summarise(result)
        result["measuring_s"] = time.perf_counter() - ready
    # After dropped launches the numbers mean nothing, and reading them may fail.
    if options.third != "bound":
        result["checksum"] = job.finish()
    result["process_s"] = time.perf_counter() - began
    with open(options.out, "w", encoding="utf-8") as file:
        json.dump(result, file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
