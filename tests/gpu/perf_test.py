#!/usr/bin/env python3
"""What the performance harness makes of measurements: statistics, measuring protocol, report, plot. Needs no GPU."""

import pathlib
import sys
import tempfile
import types
import unittest
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import check  # noqa: E402
import perf  # noqa: E402
import perf_process  # noqa: E402
import perf_report  # noqa: E402
import plot_perf  # noqa: E402
from perf_plan import DEFAULT, JOBS  # noqa: E402
from perf_statistics import AGAINST, add, gain_share, judge, quiet, summarise  # noqa: E402
from refrain_control import FIELDS, Arms  # noqa: E402


def raw(eager, replay, third=(), arm="bound", **more):
    blocks = [{"arm": name, "ms_per_step": ms, "steps_ms": [ms, ms]}
              for name, times in (("eager", eager), ("replay", replay), (arm, third)) for ms in times]
    return {"blocks": blocks, "counters": None, **more}


class FakeLibrary(Arms):
    """Counts 10 calls a step, 9 of them replayed when not paused; and the steps of each arm."""

    def __init__(self):
        self.paused, self.drops, self.ranges, self.totals = 0, False, False, dict.fromkeys(FIELDS, 0)
        self.steps = dict.fromkeys(("eager", "replay", "bound", "ranges"), 0)

    def pause(self):
        self.paused += 1

    def resume(self):
        self.paused -= 1

    def drop(self, on):
        assert self.paused
        self.drops = on

    def emit_ranges(self, on):
        self.ranges = on

    def statistics(self):
        return dict(self.totals)

    def step(self):
        self.steps["eager" if self.paused else "bound" if self.drops else "ranges" if self.ranges else "replay"] += 1
        self.totals["calls"] += 10
        self.totals["passed"] += 10 if self.paused else 1
        for name in ("held", "replayed"):
            self.totals[name] += 0 if self.paused else 9
        self.totals["graph_launches"] += 0 if self.paused else 3

    def wait(self):
        pass


class Statistics(unittest.TestCase):
    def test_medians_and_pairs(self):
        figures = summarise(raw([10, 20, 10], [8, 8, 9]))
        self.assertEqual((figures["eager_ms"], figures["replay_ms"], figures["ratio"]), (10, 8, 0.8))
        self.assertEqual(figures["paired_ratio"], 0.8)
        self.assertEqual(figures["block_ratios"], [0.4, 0.9])
        self.assertEqual(figures["steps_eager"], 6)
        self.assertEqual(figures["quiet_ratio"], 0.8)
        self.assertNotIn("replayed", figures)

    def test_quiet_steps(self):
        self.assertEqual(quiet([5, 1, 9, 2, 7, 3]), 2)
        self.assertEqual(quiet([4]), 4)

    def test_arms_must_pair(self):
        with self.assertRaises(ValueError):
            summarise({"blocks": [{"arm": "eager", "ms_per_step": 1, "steps_ms": [1]}], "counters": None})

    def test_gap(self):
        figures = summarise(raw([0.60], [0.55], spin_us=5.0, kernels_per_step=100))
        self.assertAlmostEqual(figures["gap_eager_us"], 1.0)
        self.assertAlmostEqual(figures["gap_removed"], 0.5)

    def test_share_of_gain(self):
        self.assertAlmostEqual(gain_share(0.82, 0.8), 0.9)
        self.assertIsNone(gain_share(0.9, 1.0))
        # A round in which the host was slow is slow in all arms.
        figures = summarise(raw([10, 20, 10, 10], [8.2, 16.4, 8.2, 8.2], [8, 16, 8, 8]))
        self.assertEqual(figures["bound_ratio"], 0.8)
        self.assertAlmostEqual(figures["gain_share"], 0.9)
        for edge in figures["gain_share_between"]:
            self.assertAlmostEqual(edge, 0.9)
        noisy = summarise(raw([10] * 20, [8.2, 9] * 10, [8, 8.4] * 10))
        low, high = noisy["gain_share_between"]
        self.assertLess(low, noisy["gain_share"] - 0.1)
        self.assertGreater(high, noisy["gain_share"])
        self.assertNotIn("gain_share", summarise(raw([10], [9], [10])))
        self.assertNotIn("bound_ratio", summarise(raw([10], [9])))

    def test_share_of_the_gain_of_ranges(self):
        counters = dict.fromkeys(FIELDS, 0) | {"calls": 10, "replayed": 8}
        figures = summarise(raw([10, 20], [9, 18], [8, 16], "ranges", ranges_counters=counters))
        self.assertAlmostEqual(figures["gain_share"], 0.5)
        self.assertEqual((figures["ranges_ratio"], figures["ranges_replayed"]), (0.8, 0.8))
        self.assertNotIn("bound_ratio", figures)

    def test_verdicts(self):
        wanted = (("ratio", "most", 0.5), ("replayed", "least", 0.97), ("gain_share", "least", 0.9))
        self.assertEqual([reached for *_, reached in judge({"ratio": 0.5, "replayed": 0.96}, wanted)], [True, False, None])

    def test_sum_of_counters(self):
        self.assertEqual(add(add(None, {"calls": 1}), {"calls": 2}), {"calls": 3})


class Protocol(unittest.TestCase):
    def test_only_replay_blocks_are_counted(self):
        job = FakeLibrary()
        measured = perf_process.measure(job, job, types.SimpleNamespace(steps=20, block_steps=5, skip=2, third=None))
        self.assertEqual([block["arm"] for block in measured["blocks"]], ["eager", "replay", "replay", "eager"] * 2)
        self.assertEqual(job.paused, 0)
        self.assertEqual(measured["counters"]["calls"], 200)
        figures = summarise(measured)
        self.assertEqual((figures["replayed"], figures["operations_per_graph"]), (0.9, 3.0))
        self.assertEqual(job.steps, {"eager": 28, "replay": 28, "bound": 0, "ranges": 0})

    def test_all_three_arms_run_in_every_order(self):
        job = FakeLibrary()
        measured = perf_process.measure(job, job, types.SimpleNamespace(steps=12, block_steps=2, skip=0, third="bound"))
        arms = [block["arm"] for block in measured["blocks"]]
        self.assertEqual(len({tuple(arms[at:at + 3]) for at in range(0, 18, 3)}), 6)
        self.assertEqual((job.steps, job.paused, job.drops),
                         ({"eager": 12, "replay": 12, "bound": 12, "ranges": 0}, 0, False))
        self.assertEqual(measured["counters"]["calls"], 120)

    def test_ranges_are_emitted_in_their_arm_only_and_each_arm_is_warm(self):
        job = FakeLibrary()
        options = types.SimpleNamespace(steps=12, block_steps=2, skip=1, warm_up=9, third="ranges")
        perf_process.warm_up(job, options)
        self.assertEqual(job.steps, {"eager": 0, "replay": 4, "bound": 0, "ranges": 4})
        job.steps = dict.fromkeys(job.steps, 0)
        measured = perf_process.measure(job, job, options)
        self.assertEqual((job.steps, job.paused), ({"eager": 18, "replay": 18, "bound": 0, "ranges": 18}, 0))
        for key in ("counters", "ranges_counters"):
            self.assertEqual(measured[key]["replayed"], 108)


class Report(unittest.TestCase):
    def results(self):
        return [perf_report.complete({"job": "gpt2", "notes": [], "figures": summarise(raw([10], [8.2])),
                                      "bound_figures": summarise(raw([20], [16.4], [16]))}),
                perf_report.complete({"job": "thin", "notes": ["times failed: no nvcc"]})]

    def test_table_and_lines(self):
        with tempfile.TemporaryDirectory() as folder:
            perf_report.write(pathlib.Path(folder), self.results(), {"gpu": "a GPU", "driver": "1"}, ["--only", "gpt2"])
            table = (pathlib.Path(folder) / "perf.md").read_text(encoding="utf-8")
        self.assertIn("| gpt2 | 10.000 | 8.200 | 0.8200 | 0.8200 | 0.8000 | 90.0% [90%, 90%] |", table)
        self.assertIn("- thin: times failed: no nvcc", table)
        self.assertIn("no nvcc", perf_report.line(self.results()[1]))

    def test_line_of_ranges(self):
        counters = dict.fromkeys(FIELDS, 0) | {"calls": 10, "replayed": 9}
        figures = summarise(raw([10], [9], [9.2], "ranges", ranges_counters=counters) | {"counters": counters})
        line = perf_report.line(perf_report.complete({"job": "moe_plain", "notes": [], "ranges_figures": figures}))
        for words in ("ranges 0.9200, share of gain 125.0%", "with ranges 90.00%", "(seen 1.250): yes"):
            self.assertIn(words, line)

    def test_plot(self):
        drawn = plot_perf.draw({"gpu": "a <GPU>", "date": "today", "jobs": self.results()})
        bars = xml.etree.ElementTree.fromstring(drawn).findall("{http://www.w3.org/2000/svg}rect")
        self.assertEqual(len(bars), 1 + 3 + 3)  # ground, key, one job

    def test_plot_of_nothing(self):
        xml.etree.ElementTree.fromstring(plot_perf.draw({"gpu": "", "date": "", "jobs": []}))

    def test_plan(self):
        self.assertEqual(DEFAULT[-1], "gpt2_compiled")  # slow to start
        self.assertTrue(all(hasattr(plan, arm) for plan in JOBS.values() for arm in AGAINST))
        for plan in JOBS.values():
            self.assertLessEqual({direction for _, direction, _ in plan.targets}, {"least", "most"})


class Bits(unittest.TestCase):
    """A runner whose processes give the checksums that a test wants, one after the other."""

    def exact(self, *checksums):
        self.commands, left = [], list(checksums)
        with tempfile.TemporaryDirectory() as folder:
            options = types.SimpleNamespace(out=pathlib.Path(folder), build=pathlib.Path("build"), bare=False, python="python3",
                                            device="cuda", tiny=False, no_deterministic=True, steps=100, exact_steps=200,
                                            limit=10, policy=None)
            runner = perf.Runner(options)

            def result(label, command, limit, environment, out):
                self.commands.append((label, [str(part) for part in command]))
                if not left:
                    raise perf.Failed("no time left")
                return {"checksum": left.pop(0)}

            runner.result = result
            found = runner.exact("gpt2")
        self.assertFalse(left)
        return found["equal"]

    def test_equal_bits_need_two_runs(self):
        self.assertIs(self.exact("a", "a"), True)
        self.assertEqual([label for label, _ in self.commands], ["gpt2-exact-bare", "gpt2-exact-refrain"])
        self.assertEqual(self.commands[1][1][1], "run")
        self.assertNotIn("run", self.commands[0][1])

    def test_other_bits_are_a_difference_where_a_bare_run_repeats_itself(self):
        self.assertIs(self.exact("a", "b", "a"), False)
        self.assertEqual(perf_report.exact_text({"exact": {"equal": False}}), "DIFFERENT")

    def test_a_difference_stays_one_where_no_second_bare_run_ends(self):
        self.assertIs(self.exact("a", "b"), False)
        self.assertEqual(len(self.commands), 3)

    def test_a_job_that_does_not_repeat_itself_tells_nothing(self):
        self.assertIsNone(self.exact("a", "b", "c"))
        self.assertEqual(perf_report.exact_text({"exact": {"equal": None}}), "two bare runs differ")

    def test_bits_are_compared_with_kernels_that_give_equal_ones(self):
        self.exact("a", "b", "a")
        self.assertFalse([command for _, command in self.commands if "--no-deterministic" in command])


class Memory(unittest.TestCase):
    def test_what_the_tool_says_under_refrain_is_held_against_the_bare_run(self):
        clean, faults = ["ERROR SUMMARY: 0 errors"], ["ERROR SUMMARY: 10 errors"]
        for bare, refrain, differs in ((clean, clean, False), (faults, faults, False), (clean, faults, True),
                                       (faults, clean, True), (clean, [], True), ([], [], False), ([], clean, False),
                                       ([], faults, True)):
            self.assertIs(check.memory_differs(bare, refrain), differs, (bare, refrain))

    def test_a_program_that_hangs_takes_its_children_with_it(self):
        code, output = check.run_whole(["sh", "-c", "echo said; sleep 60 & wait"], None, 0.5)
        self.assertEqual((code, output.splitlines()[0]), (124, "said"))


if __name__ == "__main__":
    unittest.main()
