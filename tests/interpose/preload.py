"""How the tests start a program bare and under Refrain.

The build gives the paths by variables: REFRAIN_LIBRARY, REFRAIN_COMMAND, PROBES (the folder of the probe programs and
their libraries) and FAKE_DRIVER (the folder of the fake libcuda.so.1).
"""

import dataclasses
import os
import pathlib
import subprocess
import unittest

LIBRARY = os.environ["REFRAIN_LIBRARY"]
COMMAND = os.environ.get("REFRAIN_COMMAND", "")
PROBES = pathlib.Path(os.environ["PROBES"])
FAKE_DRIVER = os.environ["FAKE_DRIVER"]


@dataclasses.dataclass
class Result:
    code: int
    out: str
    err: str


def environment(**variables):
    """This process' variables without any of Refrain's, with the fake driver to be found, and `variables`."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("REFRAIN_", "LD_", "NVTX_", "FAKE_"))}
    clean["LD_LIBRARY_PATH"] = f"{FAKE_DRIVER}:{PROBES}"
    clean.update(variables)
    return clean


def run(command, variables=None, **options):
    words = [str(word) for word in command]
    settings = {"env": environment(**(variables or {})), "capture_output": True, "text": True, "timeout": 120}
    done = subprocess.run(words, **settings, **options)
    return Result(done.returncode, done.stdout, done.stderr)


def preloaded(**variables):
    """The variables under which Refrain is loaded; it observes unless told otherwise."""
    return {"LD_PRELOAD": LIBRARY, "REFRAIN_MODE": "observe", "REFRAIN_LOG": "", **variables}


def probe(*arguments, variables=None, **options):
    return run([PROBES / "probe", *arguments], variables, **options)


class PreloadTest(unittest.TestCase):
    maxDiff = 4000

    def assert_same(self, arguments, **variables):
        """The probe does the same bare, loaded without a wish, disabled, off, observing and replaying."""
        bare = probe(*arguments)
        self.assertEqual(bare.code, 0, bare.err)
        self.assertNotEqual(bare.out, "")
        ways = {
            "loaded, not wanted": {"LD_PRELOAD": LIBRARY},
            "disabled": preloaded(REFRAIN_DISABLE="1"),
            "mode off": preloaded(REFRAIN_MODE="off"),
            "observe": preloaded(),
            "replay": preloaded(REFRAIN_MODE="replay"),
        }
        results = {}
        for name, way in ways.items():
            with self.subTest(way=name):
                results[name] = probe(*arguments, variables={**way, **variables})
                self.assertEqual(results[name].out, bare.out)
                self.assertEqual(results[name].code, 0)
        return bare, results
