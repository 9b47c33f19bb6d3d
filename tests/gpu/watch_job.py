#!/usr/bin/env python3
"""Runs the job of moe_job.py and notes Refrain's counters before every step.

The job itself stays as it is; --statistics FILE gets a list of counters, one entry before each step and one at the end.
"""

import json
import sys

import torch

import moe_job
from refrain_control import Control


def main():
    parser = moe_job.arguments()
    parser.add_argument("--statistics", required=True, help="file for the counters")
    options = parser.parse_args()
    control = Control()
    if not control.loaded():
        print("watch_job: Refrain is not at work in this process", file=sys.stderr)
    counters = []

    def before_step(step):
        if step > options.steps and options.device == "cuda":
            torch.cuda.synchronize()
        counters.append(control.statistics())

    result = moe_job.train(options, before_step)
    with open(options.statistics, "w", encoding="utf-8") as file:
        json.dump(counters, file)
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump(result, file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
