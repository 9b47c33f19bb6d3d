"""The command line, `refrain`."""

import json
import os
import signal
import subprocess
import tempfile
import time
import unittest

from preload import COMMAND, LIBRARY, PROBES, PreloadTest, environment, run


NO_CUDA = "refrain: no process on this machine told at its end that it had used CUDA\n"


def refrain(*arguments, variables=None, **options):
    return run([COMMAND, *arguments], variables, **options)


class Run(PreloadTest):
    def test_exit_codes_are_the_programs_own(self):
        codes = {"exit 0": 0, "exit 1": 1, "exit 255": 255, "kill -TERM $$": 143, "kill -KILL $$": 137}
        for script, code in codes.items():
            with self.subTest(script=script):
                self.assertEqual(refrain("run", "--", "sh", "-c", script).code, code)

    def test_program_that_cannot_be_started(self):
        missing = refrain("run", "--", "/no/such/program")
        self.assertEqual(missing.code, 127)
        self.assertRegex(missing.err, r"\Arefrain: /no/such/program: .*\n" + NO_CUDA + r"\Z")
        self.assertEqual(refrain("run", "--", "/etc/passwd").code, 126)

    def test_output_and_input_go_through(self):
        result = refrain("run", "--", "sh", "-c", "cat; echo err >&2", input="text\n")
        self.assertEqual((result.code, result.out), (0, "text\n"))
        self.assertEqual(result.err, "err\n" + NO_CUDA)
        off = refrain("run", "--mode", "off", "--", "sh", "-c", "echo err >&2")
        self.assertEqual(off.err, "err\n")

    def test_variables_that_the_program_gets(self):
        names = ["LD_PRELOAD", "NVTX_INJECTION64_PATH", "REFRAIN_POLICY", "REFRAIN_MODE", "REFRAIN_NVTX_CHAIN"]
        show = "; ".join(f"echo ${name}" for name in names)
        result = refrain("run", "--mode", "observe", "--", "sh", "-c", show)
        library = os.path.realpath(LIBRARY)
        self.assertEqual(result.out.splitlines(), [library, library, "built-in", "observe", ""])

    def test_earlier_preloads_and_injections_are_kept(self):
        other = str(PROBES / "libprobe_dependency.so")
        show = "echo $LD_PRELOAD; echo $REFRAIN_NVTX_CHAIN"
        before = {"LD_PRELOAD": other, "NVTX_INJECTION64_PATH": "/opt/tool.so"}
        result = refrain("run", "--", "sh", "-c", show, variables=before)
        self.assertEqual(result.out.splitlines(), [f"{os.path.realpath(LIBRARY)}:{other}", "/opt/tool.so"])

    def test_paths_are_made_absolute(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "p.json"), "w") as file:
                json.dump(minimal_policy(), file)
            show = "echo $REFRAIN_POLICY $REFRAIN_LOG"
            result = refrain("run", "--policy", "p.json", "--log", "logs/", "--", "sh", "-c", show, cwd=folder)
            real = os.path.realpath(folder)
            self.assertEqual(result.out.split(), [f"{real}/p.json", f"{real}/logs/"])

    def test_bad_policy_mode_and_library_are_refused_before_the_program_starts(self):
        with tempfile.TemporaryDirectory() as folder:
            bad = os.path.join(folder, "bad.json")
            with open(bad, "w") as file:
                file.write('{"version": 1, "regoins": []}')
            wrong = (["--policy", bad], ["--policy", "/no/such.json"], ["--mode", "fast"], ["--library", "/no/such.so"])
            for arguments in wrong:
                with self.subTest(arguments=arguments):
                    result = refrain("run", *arguments, "--", "echo", "started")
                    self.assertEqual((result.code, result.out), (2, ""))
                    self.assertNotEqual(result.err, "")

    def test_signals_are_passed_on(self):
        script = "trap 'echo got; exit 9' TERM; echo ready; while :; do sleep 0.05; done"
        command = [COMMAND, "run", "--", "sh", "-c", script]
        process = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "ready\n")
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=20)
        self.assertEqual((process.returncode, out), (9, "got\n"))

    def test_strict_fallbacks_make_a_success_a_failure(self):
        tell = 'echo "refrain 1 $$ {} 10 5 1 {} /tmp/x.jsonl" >> $REFRAIN_REPORT; exit {}'
        for strict, fallbacks, own, code in [(1, 2, 0, 3), (1, 2, 5, 5), (1, 0, 0, 0), (0, 2, 0, 0)]:
            with self.subTest(strict=strict, fallbacks=fallbacks, own=own):
                result = refrain("run", "--", "sh", "-c", tell.format(strict, fallbacks, own))
                self.assertEqual(result.code, code, result.err)
                self.assertIn("next: refrain show /tmp/x.jsonl", result.err)

    def test_program_with_cuda_is_told_what_to_type_next(self):
        with tempfile.TemporaryDirectory() as folder:
            result = refrain("run", "--mode", "observe", "--log", folder + "/", "--", PROBES / "probe", "statistics")
            self.assertEqual(result.code, 0)
            self.assertIn("active, launches 10", result.out)
            logs = os.listdir(folder)
            self.assertEqual(len(logs), 1)
            self.assertIn(f"refrain: next: refrain show {os.path.realpath(folder)}/{logs[0]}\n", result.err)
            shown = refrain("show", os.path.join(folder, logs[0]))
            self.assertEqual(shown.code, 0, shown.err)

    def test_report_is_removed(self):
        with tempfile.TemporaryDirectory() as folder:
            refrain("run", "--", "true", variables={"TMPDIR": folder})
            self.assertEqual(os.listdir(folder), [])


class Verbs(PreloadTest):
    def test_help_and_version(self):
        self.assertRegex(refrain("--version").out, r"\Arefrain \d+\.\d+\.\d+\n\Z")
        for verb in ([], ["run"], ["check"], ["show"]):
            result = refrain(*verb, "--help")
            self.assertEqual(result.code, 0)
            self.assertIn("refrain", result.out)

    def test_wrong_use_is_2(self):
        for arguments in ([], ["run"], ["walk"], ["check"], ["show", "--variant", "1", "x"]):
            with self.subTest(arguments=arguments):
                self.assertEqual(refrain(*arguments).code, 2)

    def test_check(self):
        self.assertEqual(refrain("check", "built-in").out, "built-in: ok\n")
        self.assertGreater(len(refrain("check", "--effective", "built-in").out), 500)
        self.assertEqual(refrain("check", "/no/such.json").code, 1)

    def test_show_of_no_log(self):
        result = refrain("show", "/no/such.jsonl")
        self.assertEqual(result.code, 2)
        self.assertIn("/no/such.jsonl", result.err)


def minimal_policy():
    return {"version": 1, "mode": "observe", "regions": []}


if __name__ == "__main__":
    unittest.main(verbosity=2)
