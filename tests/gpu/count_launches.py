#!/usr/bin/env python3
"""Counts what the job of moe_job.py launches on the GPU, by PyTorch's profiler and without Refrain.

The counts of steps FROM to TO are compared with Refrain's own count of launches in a run of the same steps, so that no
launch can pass by unseen.
"""

import json
import pathlib
import sys
import tempfile

import torch

import moe_job


def count(events):
    """Kernels, memsets and copies among the events of a trace."""
    found = {"kernel": 0, "gpu_memset": 0, "gpu_memcpy": 0}
    for event in events:
        if event.get("cat") in found:
            found[event["cat"]] += 1
    return {"kernels": found["kernel"], "memsets": found["gpu_memset"], "copies": found["gpu_memcpy"]}


def main():
    parser = moe_job.arguments()
    parser.add_argument("--from-step", type=int, default=5)
    parser.add_argument("--to-step", type=int, default=8)
    options = parser.parse_args()
    options.steps = options.to_step + 1  # the last step also sums gradients, so it is not counted
    activity = torch.profiler.ProfilerActivity
    on_gpu = options.device == "cuda"
    profile = torch.profiler.profile(activities=[activity.CUDA if on_gpu else activity.CPU], acc_events=True)

    def before_step(step):
        if step == options.from_step or step == options.to_step + 1:
            if on_gpu:
                torch.cuda.synchronize()
            (profile.start if step == options.from_step else profile.stop)()

    result = moe_job.train(options, before_step)
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder, "trace.json")
        profile.export_chrome_trace(str(trace))
        counts = count(json.loads(trace.read_text(encoding="utf-8"))["traceEvents"])
    counts.update(from_step=options.from_step, to_step=options.to_step, losses=result["losses"])
    print(f"steps {options.from_step} to {options.to_step}: {counts['kernels']} kernels, {counts['memsets']} memsets, "
          f"{counts['copies']} copies")
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump(counts, file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
