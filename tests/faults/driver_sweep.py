#!/usr/bin/env python3
"""Makes one driver call after another fail, and compares with a bare run.

Three kinds of calls are told apart (tests/simulated_driver/program_call.h):

* Calls that Refrain makes for itself (build, patch, launch a graph, ask): the program must not notice at all.
* Calls by which Refrain issues an operation that it held: exactly that operation is missing on the device, and the
  program is told the error by a later call.
* The program's own calls: the bare run gets the same fault, and both must be equal.

Prints TAP: one line for each scenario, kind and entry point, with the number of runs; a comment at the end has the sums.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import sys
import tempfile

from one_run import OneRun, counters_fault, differences, said_faults
from plausible_errors import ISSUES, errors_of, plain
from run_scenario import policy_for

REPRESENTATIVE = ("v13_rows", "j4_reasons", "o3_joined_by_the_host", "l5_free_while_held", "a7_two_handle_kinds",
                  "l13_two_contexts", "l3_stream_ordered_allocation", "n1_backward_on_another_thread")
# A program that waits for what failed takes as long as its own patience.
PATIENCE_S = 4
# After a kernel that used memory which the program failed to get, each call may tell, as soon as the device got there.
KERNEL_FAULT = b" 700\n"
# What is read without having waited is a matter of time.
WAITS = ("cuCtxSynchronize", "cuStreamSynchronize", "cuEventSynchronize", "cuStreamWaitEvent", "cuEventRecord", "cuMemFree")
# What they do next depends on what an operation computed, so nothing can be said of them without it.
DEPENDS_ON_RESULTS = ("v7_data_dependent_launches", "o1_host_spins_on_mapped_memory", "o1_waits_in_changing_places",
                      "o1_watchdog_polls_event")
# They end with held calls: no later call can tell the program that one failed.
ENDS_WHILE_HELD = ("l10_exit_in_another_thread", "l10_exit_with_held_calls")
# Which of their threads makes the n-th call, or how often they ask, is a matter of time.
RACING = ("n_two_threads_one_name", "o6_other_threads", "o1_stream_query_in_region")
# A program that a fault makes race with itself is seen to give different outputs in so many bare runs.
BARE_RUNS = 12


def waits_failed(run):
    """Whether a call that waits for the device told an error: also one that another call's fault has left unusable."""
    results = (line.split() for line in run.output.decode(errors="replace").splitlines())
    return any(len(words) == 2 and words[0] in WAITS and words[1] != "0" for words in results)


def choose(count, full):
    """Numbers from 1 to `count`: all small ones, then fewer and fewer, and the last."""
    numbers = set(range(1, min(count, 6 if full else 2) + 1)) | {count}
    step = 1.5 if full else 4
    at = 4.0 if not full else 6.0
    while at < count:
        numbers.add(int(at))
        at *= step
    return sorted(numbers)


def faults_of(kind, name, count, full):
    """REFRAIN_SIM_FAIL for one entry point, each number with one or all of its errors, once and for ever."""
    errors = errors_of(name)
    for index, number in enumerate(choose(count, full)):
        every = number == 1 if kind == "program" else full or number == 1
        some = errors if every and (full or kind == "library") else [errors[index % len(errors)]]
        for error in some:
            yield f"{kind}/{name}:{number}:{error}"
        if full or index in (0, 2):
            for error in some[:2]:
                yield f"{kind}/{name}:{number}:{error}:forever"


def missing_operations(bare, run):
    """How many operations of the bare trace the other lacks; None when it has one that the bare one has not there."""
    missing = 0
    for key in bare.trace.keys() | run.trace.keys():
        rest = iter(run.trace.get(key, []))
        wanted = next(rest, None)
        for operation in bare.trace.get(key, []):
            if operation == wanted:
                wanted = next(rest, None)
            else:
                missing += 1
        if wanted is not None:
            return None
    return missing


def issue_faults(bare, run, error, racing):
    """What is wrong after calls failed that issued held operations."""
    if run.code != bare.code:
        yield f"exit code {bare.code} bare, {run.code} under Refrain: {run.errors[-300:]}"
    yield from said_faults(run)
    missing = missing_operations(bare, run)
    if missing != run.failed():
        yield f"{run.failed()} calls failed, {missing} operations are missing"
    if (fault := counters_fault(bare, run, False)) is not None:
        yield fault
    lines = [[line for line in one.output.decode().splitlines() if not line.startswith("output")] for one in (bare, run)]
    if racing:  # how many results there are, and in which order, is a matter of time
        errors = [sum(line.split()[-1] == error for line in some) for some in lines]
        if not 0 < errors[1] - errors[0] <= run.failed():
            yield f"told {errors[1] - errors[0]} times of {run.failed()} failures"
        return
    if len(lines[0]) != len(lines[1]):
        yield f"{len(lines[0])} results bare, {len(lines[1])} under Refrain"
    told = [(a, b) for a, b in zip(*lines) if a != b]
    if not told:
        yield "the program was not told"
    for expected, found in told:
        if found.split()[-1] != error:
            yield f"{expected!r} bare, {found!r} under Refrain"
    if len(told) > run.failed():
        yield f"told {len(told)} times of {run.failed()} failures"


class Sweep:
    def __init__(self, options):
        self.options = options
        self.runs = self.injected = self.held = self.bad = self.count = 0

    def start(self, scenario, policy=None, fault=""):
        self.runs += 1
        variables = {"REFRAIN_SIM_FAIL": fault} if fault else {}
        return OneRun(self.options, scenario, policy, **variables)

    def try_library(self, scenario, policy, bare, fault):
        name, _, error = fault.split("/")[1].split(":")[:3]
        run = self.start(scenario, policy, fault)
        self.injected += run.failed()
        if run.failed() == 0:
            return []
        if plain(name) in ISSUES:
            return list(issue_faults(bare, run, error, scenario in RACING))
        return list(differences(bare, run))

    def try_program(self, scenario, policy, fault):
        bare = self.start(scenario, fault=fault)
        if bare.seconds > PATIENCE_S or bare.failed() == 0:
            return []
        again = self.start(scenario, fault=fault)
        ended = bare.code == 0
        if list(differences(bare, again, ended)):
            return []  # the program itself does something else each time
        run = self.start(scenario, policy, fault)
        if run.failed() != bare.failed():
            self.held += 1  # Refrain held that very call, which then cannot fail
            return []
        self.injected += run.failed()
        if KERNEL_FAULT in bare.output or KERNEL_FAULT in run.output:
            return [] if run.code == bare.code else [f"exit code {bare.code} bare, {run.code} under Refrain"]
        if plain(fault.split("/")[1].split(":")[0]) in WAITS or waits_failed(bare):
            ended = False
            for one in (bare, run):
                one.output = b"\n".join(line for line in one.output.splitlines() if not line.startswith(b"output"))
        found = list(differences(bare, run, ended, with_counters=ended))  # one thread may end it while another launches
        return [] if found and self.varies(scenario, fault, bare, ended) else found

    def varies(self, scenario, fault, bare, ended):
        """Whether the bare program itself does something else from run to run."""
        return any(list(differences(bare, self.start(scenario, fault=fault), ended)) for _ in range(BARE_RUNS))

    def group(self, title, attempt, faults):
        runs, injected = self.runs, self.injected
        wrong = []
        for fault, found in zip(faults, self.pool.map(attempt, faults)):
            wrong += [f"REFRAIN_SIM_FAIL={fault}: {line}" for line in found]
        self.count += 1
        self.bad += bool(wrong)
        print(f"{'not ok' if wrong else 'ok'} {self.count} - {title}: {self.runs - runs} runs, "
              f"{self.injected - injected} faults")
        for line in wrong[:12]:
            print("# " + line[:400])
        sys.stdout.flush()

    def scenario(self, scenario, folder):
        options = self.options
        options.scenario = scenario
        folder = folder / scenario
        folder.mkdir()
        policy = policy_for(options, options.policy, folder)
        bare = self.start(scenario)
        run = self.start(scenario, policy)
        if bare.code not in (0, 7, 8, 9) or list(differences(bare, run)):
            self.group(f"{scenario}: equal without a fault", lambda _: differences(bare, run), ["none"])
            return
        for name, count in sorted(run.calls.items()):
            if not name.startswith("library/") or bare.calls.get(name, 0) != 0:
                continue
            if plain(name.removeprefix("library/")) in ISSUES and scenario in DEPENDS_ON_RESULTS + ENDS_WHILE_HELD:
                continue
            faults = list(faults_of("library", name.removeprefix("library/"), count, options.full))
            self.group(f"{scenario}: {name}", lambda fault: self.try_library(scenario, policy, bare, fault), faults)
        if scenario in RACING + DEPENDS_ON_RESULTS:
            return
        own = [name for name in sorted(bare.calls) if name.startswith("cu") and name not in options.skip]
        faults = []
        for name in own:
            for fault in faults_of("program", name, bare.calls[name], options.full):
                if not (plain(name) in ISSUES and fault.endswith("forever")):
                    faults.append(fault)
        if not options.full:
            faults = faults[:: max(1, len(faults) // 10)]
        self.group(f"{scenario}: the program's own calls", lambda f: self.try_program(scenario, policy, f), faults)

    def run(self):
        options = self.options
        with tempfile.TemporaryDirectory(prefix="driver-sweep-") as folder:
            options.folder = folder
            with concurrent.futures.ThreadPoolExecutor(options.jobs) as self.pool:
                for scenario in options.scenarios:
                    self.scenario(scenario, pathlib.Path(folder))
        print(f"# {self.runs} runs, {self.injected} faults injected, {self.held} faults of calls that were held")
        print(f"1..{self.count}")
        return 1 if self.bad else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenarios", nargs="*", default=REPRESENTATIVE)
    parser.add_argument("--program", required=True)
    parser.add_argument("--library", required=True, help="librefrain.so")
    parser.add_argument("--driver-folder", required=True, help="folder of the simulated libcuda.so.1")
    parser.add_argument("--full", action="store_true", help="every error, and more numbers")
    parser.add_argument("--iterations", type=int, default=12)
    parser.add_argument("--policy", default="replay")
    parser.add_argument("--jobs", type=int, default=2 * (os.cpu_count() or 1),
                        help="at once; some wait for what never comes")
    parser.add_argument("--timeout", type=int, default=30)
    # A cuMemHostUnregister that fails does not wait, and a program that goes on all the same races with the device.
    parser.add_argument("--skip", nargs="*", default=["cuGetProcAddress_v2", "cuMemHostUnregister"],
                        help="calls of the program to leave alone")
    options = parser.parse_args()
    return Sweep(options).run()


if __name__ == "__main__":
    sys.exit(main())
