#!/usr/bin/env python3
"""Step times of the job of moe_job.py, eager and under replay, in interleaved blocks of one process under Refrain.

Both arms share warm-up, clocks, allocator and machine, so that their ratio is Refrain's effect alone. In the eager blocks
Refrain is paused: its hooks are still there.
"""

import json
import statistics
import sys
import time

import torch

import moe_job
from refrain_control import Control, difference


def measure(job, steps, device):
    """Times of `steps` steps in seconds; the first one after a change of arm is left out."""
    times = []
    for step in range(steps + 1):
        began = time.perf_counter()
        job.step().item()
        if device == "cuda":
            torch.cuda.synchronize()
        if step > 0:
            times.append(time.perf_counter() - began)
    return times


def main():
    parser = moe_job.arguments()
    parser.add_argument("--blocks", type=int, default=20, help="blocks of each arm")
    parser.add_argument("--block-steps", type=int, default=10)
    parser.add_argument("--warm-up", type=int, default=20)
    options = parser.parse_args()
    control = Control()
    job = moe_job.Job(options)
    measure(job, options.warm_up, options.device)
    if not control.loaded():  # only after CUDA began: until then Refrain does nothing
        print("step_times: Refrain is not at work in this process; use: refrain run -- python3 step_times.py", file=sys.stderr)
        return 2
    before = control.statistics()
    eager, replay = [], []
    for block in range(options.blocks):
        # The order of the arms changes, so that a drift does not favour one.
        for arm in ("eager", "replay") if block % 2 == 0 else ("replay", "eager"):
            if arm == "eager":
                control.pause()
                eager.append(measure(job, options.block_steps, options.device))
                control.resume()
            else:
                replay.append(measure(job, options.block_steps, options.device))
    counted = difference(control.statistics(), before)
    all_eager, all_replay = sum(eager, []), sum(replay, [])
    ratios = [statistics.median(r) / statistics.median(e) for e, r in zip(eager, replay)]
    result = {"eager_ms": statistics.median(all_eager) * 1e3, "replay_ms": statistics.median(all_replay) * 1e3,
              "ratio": statistics.median(all_replay) / statistics.median(all_eager), "block_ratios": ratios,
              "counters": counted}
    print(f"eager {result['eager_ms']:.3f} ms, replay {result['replay_ms']:.3f} ms, ratio {result['ratio']:.4f} "
          f"(blocks {min(ratios):.4f} to {max(ratios):.4f})")
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump(result, file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
