"""What the built library needs and what it gives: read from the file."""

import re
import subprocess
import unittest

from preload import LIBRARY, PROBES

ALLOWED_NEEDS = {
    "libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1",
}
OWN_EXPORTS = {
    "dlsym", "InitializeInjectionNvtx", "InitializeInjectionNvtx2", "InitializeInjectionNvtxExtension",
    "refrain_pause", "refrain_resume", "refrain_stats",
}


def readelf(*options):
    return subprocess.run(["readelf", "-W", *options, LIBRARY], capture_output=True, text=True, check=True).stdout


class Binary(unittest.TestCase):
    def test_X3_needs_only_the_c_library(self):
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("-d")))
        self.assertLessEqual(needed, ALLOWED_NEEDS)
        self.assertIn("libc.so.6", needed)

    def test_X3_needs_no_version_after_glibc_2_34(self):
        versions = re.findall(r"Name: (\S+) ", readelf("-V"))
        self.assertIn("GLIBC_2.2.5", versions)
        for version in versions:
            found = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?", version)
            self.assertIsNotNone(found, version)
            self.assertLessEqual((int(found[1]), int(found[2])), (2, 34), version)

    def test_exports_are_the_hooks_and_our_own_names_and_nothing_else(self):
        lines = [l.split() for l in readelf("--dyn-syms").splitlines() if re.match(r" *\d+:", l)]
        exported = {l[7].split("@")[0] for l in lines if len(l) > 7 and l[6] != "UND" and l[4] in ("GLOBAL", "WEAK")}
        driver = {n for n in exported if n not in OWN_EXPORTS}
        self.assertEqual(exported - driver, OWN_EXPORTS)
        self.assertLessEqual(driver, set((PROBES / "entry_points.txt").read_text().split()))
        for name in ("cuInit", "cuGetProcAddress_v2", "cuLaunchKernel", "cuLaunchKernel_ptsz", "cuCtxSynchronize_v2"):
            self.assertIn(name, driver)
        for name in ("cuGetExportTable", "cuDeviceGet", "cuGraphAddNode"):
            self.assertNotIn(name, driver)
        print(f"exports: {len(driver)} driver functions, {len(OWN_EXPORTS)} own")

    def test_dlsym_is_exported_without_a_version(self):
        self.assertRegex(readelf("--dyn-syms"), r" dlsym\n")

    def test_thread_local_storage_is_a_few_words_in_the_initial_set(self):
        tls = re.search(r"TLS +(0x\w+) (0x\w+) (0x\w+) (0x\w+) (0x\w+)", readelf("-l"))
        self.assertIsNotNone(tls)
        size = int(tls[5], 16)
        print(f"thread-local storage: {size} bytes")
        self.assertLessEqual(size, 256)

    def test_bound_at_load_and_no_writable_code(self):
        self.assertRegex(readelf("-d"), r"NOW")
        self.assertNotRegex(readelf("-d"), r"TEXTREL")
        self.assertRegex(readelf("-l"), r"GNU_STACK +(0x\w+ ){5}RW ")


if __name__ == "__main__":
    unittest.main(verbosity=2)
