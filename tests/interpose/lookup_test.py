"""Look-ups of driver functions: what a program gets is what it would get without Refrain, except for hooks."""

import re
import subprocess
import unittest

from preload import LIBRARY, PROBES, PreloadTest, preloaded, probe, run


def exported_names():
    table = subprocess.run(["readelf", "-W", "--dyn-syms", LIBRARY], capture_output=True, text=True, check=True).stdout
    return {m.group(1) for m in re.finditer(r"GLOBAL +DEFAULT +\d+ +(cu[A-Z]\w+)", table)}


class Lookup(PreloadTest):
    def test_X1_resolver_asked_for_itself_in_both_forms(self):
        bare, results = self.assert_same(["resolve-itself"])
        self.assertIn("v1 0 v2 0 status 0 different 1", bare.out)
        self.assertEqual(results["observe"].err.strip(), "kinds hook hook hook")
        self.assertEqual(results["loaded, not wanted"].err.strip(), "kinds driver driver driver")
        self.assertEqual(results["disabled"].err.strip(), "kinds driver driver driver")

    def test_X2_every_name_version_and_flag_reaches_the_function_the_driver_chose(self):
        bare, results = self.assert_same(["resolve-table"])
        rows = len(bare.out.splitlines())
        self.assertGreater(rows, 637 * 30 - 1)
        # Exactly the answers that are hooked functions were exchanged.
        numbers = {n: 10000 + i for i, n in enumerate(listed_names())}
        hooked = {numbers[n] for n in exported_names()}
        special = {"hook": 0, "driver": 0}
        kinds = results["observe"].err.splitlines()
        for row, kind in zip(bare.out.splitlines(), kinds):
            number = int(row.split()[-1])
            if number < 10000 or number >= 10000 + len(numbers):
                continue  # a function with a behaviour of its own answers otherwise
            self.assertEqual(kind, "hook" if number in hooked else "driver", row)
            special[kind] += 1
        print(f"answers: {special['hook']} hooks, {special['driver']} driver's own")
        self.assertGreater(special["hook"], 1000)
        self.assertGreater(special["driver"], 1000)

    def test_X5_null_arguments_unknown_names_and_failures_leave_everything_as_the_driver_does(self):
        self.assert_same(["resolve-edges"])

    def test_every_name_by_dlsym(self):
        bare, results = self.assert_same(["look-up-all"])
        exported = exported_names()
        for line in results["observe"].err.splitlines():
            name, kind = line.split()
            self.assertEqual(kind, "hook" if name in exported else "driver", name)
        self.assertNotIn("hook", results["loaded, not wanted"].err)

    def test_X3_scopes_and_the_return_address(self):
        self.assert_same(["look-up-scopes"])

    def test_X3_dlerror(self):
        bare, results = self.assert_same(["look-up-errors"])
        self.assertIn("no error", bare.out)

    def test_X12_functions_that_the_list_does_not_know(self):
        bare, results = self.assert_same(["look-up-unknown"])
        self.assertEqual(results["observe"].err.strip(), "hook hook hook driver")

    def test_X12_more_unknown_functions_than_places(self):
        bare = probe("exhaust-trampolines")
        self.assertEqual(bare.out, "init 0\nright 300\n")
        result = probe("exhaust-trampolines", variables=preloaded())
        self.assertEqual(result.out, bare.out)
        self.assertEqual(result.err.count("refrain:"), 1, result.err)
        self.assertIn("nothing is held", result.err)
        self.assertIn("hooks 256", result.err)

    def test_X4_deep_binding_bypasses_and_is_inert(self):
        bare, results = self.assert_same(["look-up-deeply-bound"])
        for result in results.values():
            self.assertEqual(result.err, "")

    def test_X4_program_that_the_loader_binds_enters(self):
        bare = run([PROBES / "probe_linked"])
        result = run([PROBES / "probe_linked"], preloaded())
        self.assertEqual((result.code, result.out), (0, bare.out))
        self.assertEqual(result.err, "seen 1\n")

    def test_weak_references_without_a_driver_fail_as_without_a_device(self):
        bare = run([PROBES / "probe_weak"])
        self.assertEqual(bare.out, "no driver\n")
        result = run([PROBES / "probe_weak"], preloaded())
        self.assertEqual((result.code, result.out, result.err), (0, "100 3\n", ""))


def listed_names():
    source = (PROBES / "entry_points.txt").read_text()
    return source.split()


if __name__ == "__main__":
    unittest.main(verbosity=2)
