"""From before cuInit to the end of the process."""

import os
import re
import subprocess
import tempfile
import unittest

from preload import LIBRARY, PROBES, PreloadTest, environment, preloaded, probe


class Life(PreloadTest):
    def test_X6_calls_before_initialisation_and_without_a_context(self):
        self.assert_same(["before-initialisation"])

    def test_X5_arguments_and_out_parameters_arrive(self):
        self.assert_same(["arguments-arrive"])

    def test_ends_of_the_process(self):
        codes = {"exit": 21, "_exit": 22, "quick_exit": 23, "return": 24, "thread": 25, "abort": -6, "signal": -15}
        for way, code in codes.items():
            with self.subTest(way=way):
                bare = probe("end-by", way)
                result = probe("end-by", way, variables=preloaded(REFRAIN_MODE="replay"))
                self.assertEqual(bare.code, code)
                self.assertEqual((result.code, result.out, result.err), (bare.code, bare.out, ""))

    def test_forked_child_passes_everything(self):
        bare = probe("fork-child")
        result = probe("fork-child", variables=preloaded())
        self.assertEqual(bare.out, result.out)
        self.assertIn("active 0", result.out)
        self.assertEqual(result.err, "")

    def test_forked_child_leaves_the_log_to_its_parent(self):
        with tempfile.TemporaryDirectory() as folder:
            result = probe("fork-child", variables=preloaded(REFRAIN_LOG=folder + "/"))
            self.assertEqual(result.code, 0)
            logs = os.listdir(folder)
            self.assertEqual(len(logs), 1, logs)
            with open(os.path.join(folder, logs[0])) as log:
                lines = log.readlines()
            self.assertEqual(sum('"record":"header"' in l.replace(" ", "") for l in lines), 1)
            self.assertEqual(sum('"at_exit":true' in l.replace(" ", "") for l in lines), 1)

    def test_threads_that_end(self):
        bare = probe("threads-end")
        result = probe("threads-end", variables=preloaded())
        self.assertEqual((result.code, result.out), (0, bare.out))
        self.assertEqual(result.err, f"seen {8 * 101}\n")

    def test_library_is_loaded_once(self):
        result = probe("load-twice", variables=preloaded())
        self.assertEqual(result.out, "init 0\nopened 1 initialiser 1\nloaded 1, statistics by it 1\n")

    def test_statistics(self):
        result = probe("statistics", variables=preloaded())
        self.assertEqual(
            result.out,
            "before cuInit 0\ninit 0\nactive, launches 10, calls add up 1\ntoo small -1 none -1 a part 0 16 0 0\n",
        )
        for variables in ({"LD_PRELOAD": LIBRARY}, preloaded(REFRAIN_DISABLE="true"), preloaded(REFRAIN_MODE="off")):
            self.assertEqual(probe("statistics", variables=variables).out, "before cuInit 0\ninit 0\nnot active\n")

    def test_pauses_nest(self):
        result = probe("pauses", variables=preloaded(REFRAIN_MODE="replay"))
        self.assertEqual((result.code, result.err), (0, ""))
        numbers = result.out.split("\n")[1].split()
        self.assertEqual(len(set(numbers)), 1, result.out)

    def test_initialisation_that_fails_starts_nothing(self):
        result = probe("statistics", variables=preloaded(FAKE_DRIVER_INIT="100"))
        self.assertEqual(result.out, "before cuInit 0\ninit 100\nnot active\n")
        self.assertEqual(result.err, "")


class Messages(PreloadTest):
    def test_X12_driver_of_an_unknown_major_version(self):
        result = probe("statistics", variables=preloaded(FAKE_DRIVER_VERSION="14000"))
        self.assertIn("not active", result.out)
        self.assertRegex(result.err, r"\Arefrain: the driver is for CUDA 14\.0.*off\n\Z")

    def test_X12_driver_that_is_too_old(self):
        result = probe("statistics", variables=preloaded(FAKE_DRIVER_VERSION="12030"))
        self.assertIn("not active", result.out)
        self.assertRegex(result.err, r"\Arefrain: the driver is for CUDA 12\.3.*off\n\Z")

    def test_J3_faulty_variables_are_one_line_and_off(self):
        faults = {"REFRAIN_DISABLE": "yes", "REFRAIN_MODE": "reply", "REFRAIN_POLICY": "/no/such/policy.json"}
        for name, value in faults.items():
            with self.subTest(variable=name):
                result = probe("statistics", variables=preloaded(**{name: value}))
                self.assertIn("not active", result.out)
                self.assertRegex(result.err, r"\Arefrain: .*\n\Z")
                self.assertEqual(result.code, 0)

    def test_no_fault_is_told_where_cuda_is_not_used(self):
        result = subprocess.run(["true"], env=environment(**preloaded(REFRAIN_MODE="reply")), capture_output=True)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"", b""))

    def test_closed_and_broken_stderr(self):
        variables = preloaded(FAKE_DRIVER_VERSION="14000")
        command = [f"{PROBES}/probe", "statistics"]
        options = {"env": environment(**variables), "stdout": subprocess.PIPE, "text": True}
        closed = subprocess.run(["sh", "-c", 'exec "$@" 2>&-', "sh", *command], **options)
        self.assertIn("not active", closed.stdout)
        self.assertEqual(closed.returncode, 0)
        read_end, write_end = os.pipe()
        os.close(read_end)  # whoever writes now gets SIGPIPE
        broken = subprocess.run(command, stderr=write_end, **options)
        os.close(write_end)
        self.assertIn("not active", broken.stdout)
        self.assertEqual(broken.returncode, 0)

    def test_file_that_takes_the_number_of_a_closed_stderr_is_not_written(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "data")
            # stderr is closed when the program starts; then it opens a file of its own, which gets the number.
            script = f"import os; f = os.open('{path}', os.O_CREAT | os.O_WRONLY); print(f)\n" + (
                "import ctypes; d = ctypes.CDLL('libcuda.so.1'); print(d.cuInit(0), flush=True); os._exit(0)"
            )
            result = subprocess.run(
                ["sh", "-c", 'exec python3 -c "$1" 2>&-', "sh", script],
                env=environment(**preloaded(FAKE_DRIVER_VERSION="14000")), stdout=subprocess.PIPE, text=True,
            )
            self.assertEqual(result.stdout, "2\n0\n")
            self.assertEqual(os.path.getsize(path), 0)

    def test_log_that_cannot_be_written_is_one_line(self):
        result = probe("statistics", variables=preloaded(REFRAIN_LOG="/proc/no/such/folder/log.jsonl"))
        self.assertEqual(result.code, 0)
        self.assertIn("active, launches 10", result.out)
        self.assertRegex(result.err, r"\Arefrain: .*\n\Z")


if __name__ == "__main__":
    unittest.main(verbosity=2)
