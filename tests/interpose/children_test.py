"""X7: programs that use no CUDA do not notice the library, and it costs them next to nothing."""

import os
import shutil
import statistics
import subprocess
import tempfile
import time
import unittest

from preload import LIBRARY, PROBES, PreloadTest, environment, preloaded, run

WHOLE = preloaded(REFRAIN_MODE="replay")


class Children(PreloadTest):
    def same(self, command, **options):
        bare = run(command, **options)
        loaded = run(command, WHOLE, **options)
        self.assertEqual((loaded.code, loaded.out, loaded.err), (bare.code, bare.out, bare.err))
        return bare

    def test_X7_shell(self):
        self.assertEqual(self.same(["bash", "-c", "echo out; echo err >&2; exit 7"]).code, 7)
        self.same(["sh", "-c", "ls / | sort | head -3; (exit 3) || echo $?"])

    def test_X7_python(self):
        nested = "import subprocess; print(subprocess.run(['echo', 'x'], capture_output=True).stdout)"
        self.same(["python3", "-c", nested])
        self.same(["python3", "-c", "raise SystemExit(5)"])
        ask = "import ctypes\ntry: ctypes.CDLL(None).cuInit\nexcept AttributeError: print('none')"
        self.assertEqual(self.same(["python3", "-c", ask]).out, "none\n")

    def test_X7_compiler(self):
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "a.c")
            with open(source, "w") as file:
                file.write("int main(void) { return 4; }\n")
            self.same(["gcc", "-Wall", source, "-o", os.path.join(folder, "a")])
            self.assertEqual(self.same([os.path.join(folder, "a")]).code, 4)
            self.same(["gcc", "--no-such-option", source])

    def test_X7_static_program(self):
        self.assertEqual(self.same([PROBES / "probe_static"]).out, "static\n")

    def test_X7_tools(self):
        ldconfig = shutil.which("ldconfig") or "/sbin/ldconfig"
        for command in ([ldconfig, "--version"], ["git", "--version"], ["ldd", "/bin/true"], ["env", "-i", "true"]):
            with self.subTest(command=command):
                if command[0] == "ldd":
                    run(command, WHOLE)  # lists the library itself, so its output must differ
                else:
                    self.same(command)

    def test_X7_no_driver_no_thread_no_file(self):
        script = (
            "import os; maps = open('/proc/self/maps').read(); print('libcuda' in maps, 'librefrain' in maps,"
            " len(os.listdir('/proc/self/task')), sorted(os.readlink('/proc/self/fd/' + f) for f in '012') == [])"
        )
        bare = run(["python3", "-c", script])
        loaded = run(["python3", "-c", script], WHOLE)
        self.assertEqual(bare.out, "False False 1 False\n")
        self.assertEqual(loaded.out, "False True 1 False\n")
        descriptors = "import os; print(len(os.listdir('/proc/self/fd')))"
        self.same(["python3", "-c", descriptors])

    def test_X7_environment_changes_by_the_injection_only(self):
        def variables(extra):
            return set(run(["env"], extra).out.splitlines())

        # `env` prints what its own process has, after the library was loaded.
        self.assertEqual(variables({"LD_PRELOAD": LIBRARY}) - variables({}), {f"LD_PRELOAD={LIBRARY}"})
        disabled = preloaded(REFRAIN_DISABLE="1")
        self.assertEqual(variables(disabled) - variables({}), set(map("=".join, disabled.items())))
        added = variables(WHOLE) - variables({}) - set(map("=".join, WHOLE.items()))
        self.assertEqual(added, {f"NVTX_INJECTION64_PATH={os.path.realpath(LIBRARY)}"})
        chained = variables({**WHOLE, "NVTX_INJECTION64_PATH": "/opt/tool.so"})
        self.assertIn("REFRAIN_NVTX_CHAIN=/opt/tool.so", chained)
        self.assertIn(f"NVTX_INJECTION64_PATH={os.path.realpath(LIBRARY)}", chained)

    def test_X7_start_costs_little(self):
        def start(variables):
            times = []
            for _ in range(40):
                begin = time.perf_counter()
                subprocess.run(["true"], env=environment(**variables))
                times.append(time.perf_counter() - begin)
            return statistics.median(times) * 1e3

        bare, loaded = start({}), start(WHOLE)
        print(f"start of a program: {bare:.2f} ms bare, {loaded:.2f} ms loaded")
        self.assertLess(loaded - bare, 50)


if __name__ == "__main__":
    unittest.main(verbosity=2)
