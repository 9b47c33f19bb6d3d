#!/usr/bin/env python3
"""Makes one allocation, mapping, thread, write and open of librefrain.so after another fail; compares with a bare run.

    system_sweep.py --breaker LIBRARY ... [--full] [scenarios]

The breaker (break_system.cpp) knows librefrain's calls by their return address. Whatever fails, the program's output,
exit code and executed operations stay those of the bare run; at most one line a cause is printed. Prints TAP.
"""

import argparse
import concurrent.futures
import os
import pathlib
import sys
import tempfile

from driver_sweep import choose
from one_run import NO_COUNTERS, OneRun, differences
from run_scenario import policy_for

REPRESENTATIVE = ("v13_rows", "j4_reasons", "n_two_threads_one_name")
KINDS = ("memory", "map", "thread", "write", "open")
# Kinds that may cost the log its last record, so that no counters are there to be checked.
LOG_MAY_FAIL = ("memory", "thread", "write", "open", "late")


class Sweep:
    def __init__(self, options):
        self.options = options
        self.runs = self.injected = self.count = self.bad = 0

    def faults_of(self, kind, count):
        for index, number in enumerate(choose(count, self.options.full) if count else ()):
            yield f"{kind}:{number}"
            # The first allocation is what the C++ library takes exceptions from when there is no other memory: without it
            # and without any other memory nothing can be thrown.
            if (self.options.full or index < 3) and (kind, number) != ("memory", 1):
                yield f"{kind}:{number}:forever"

    def attempt(self, scenario, policy, bare, fault):
        run = OneRun(self.options, scenario, policy, [self.options.breaker], REFRAIN_BREAK=fault)
        self.runs += 1
        self.injected += run.broken.get("failed", 0)
        return list(differences(bare, run, log_may_fail=fault.split(":")[0] in LOG_MAY_FAIL))

    def group(self, title, attempt, faults):
        injected, wrong = self.injected, []
        for fault, found in zip(faults, self.pool.map(attempt, faults)):
            wrong += [f"REFRAIN_BREAK={fault}: {line}" for line in found]
        if self.injected == injected:
            wrong.append("nothing was made to fail")
        self.count += 1
        self.bad += bool(wrong)
        print(f"{'not ok' if wrong else 'ok'} {self.count} - {title}: {len(faults)} runs, "
              f"{self.injected - injected} faults")
        for line in wrong[:12]:
            print("# " + line[:400])
        sys.stdout.flush()

    def scenario(self, scenario, folder):
        self.options.scenario = scenario
        folder = folder / scenario
        folder.mkdir()
        policy = policy_for(self.options, self.options.policy, folder)
        bare = OneRun(self.options, scenario)
        run = OneRun(self.options, scenario, policy, [self.options.breaker])
        if scenario in NO_COUNTERS:
            return  # it ends before the breaker can tell what it did
        for kind in KINDS:
            faults = list(self.faults_of(kind, run.broken.get(kind, 0)))
            self.group(f"{scenario}: {kind}", lambda fault: self.attempt(scenario, policy, bare, fault), faults)
        late = ["late:1000", "late:50000", "late:3000000"]
        self.group(f"{scenario}: threads start late", lambda fault: self.attempt(scenario, policy, bare, fault), late)

    def run(self):
        with tempfile.TemporaryDirectory(prefix="system-sweep-") as folder:
            self.options.folder = folder
            with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as self.pool:
                for scenario in self.options.scenarios:
                    self.scenario(scenario, pathlib.Path(folder))
        print(f"# {self.runs} runs, {self.injected} faults injected")
        print(f"1..{self.count}")
        return 1 if self.bad else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenarios", nargs="*", default=REPRESENTATIVE)
    parser.add_argument("--program", required=True)
    parser.add_argument("--library", required=True, help="librefrain.so")
    parser.add_argument("--breaker", required=True, type=os.path.abspath, help="break_system.so")
    parser.add_argument("--driver-folder", required=True, help="folder of the simulated libcuda.so.1")
    parser.add_argument("--full", action="store_true", help="more numbers")
    parser.add_argument("--iterations", type=int, default=12)
    parser.add_argument("--policy", default="replay")
    parser.add_argument("--jobs", type=int, default=2 * (os.cpu_count() or 1),
                        help="at once; some wait for what never comes")
    parser.add_argument("--timeout", type=int, default=30)
    return Sweep(parser.parse_args()).run()


if __name__ == "__main__":
    sys.exit(main())
