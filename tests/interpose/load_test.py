"""Late, repeated and unusual loading, and first use by many threads: as without Refrain."""

import unittest

from preload import LIBRARY, PreloadTest, preloaded, probe


class Load(PreloadTest):
    def test_closed_and_opened_again(self):
        bare, _ = self.assert_same(["close-and-open"])
        self.assertEqual(bare.err, "gone\n" * 3)

    def test_in_another_name_space(self):
        self.assert_same(["other-namespace"])

    def test_opened_often(self):
        self.assert_same(["open-often"])

    def test_first_used_by_many_threads(self):
        for _ in range(4):
            self.assert_same(["first-use-by-many"])

    def test_refrain_itself_comes_late(self):
        for moment in "012":
            with self.subTest(moment=moment):
                variables = preloaded(LATE_LIBRARY=LIBRARY, LATE_MOMENT=moment)
                del variables["LD_PRELOAD"]
                bare, late = probe("late-library"), probe("late-library", variables=variables)
                self.assertEqual((late.code, late.out, late.err), (bare.code, bare.out, bare.err))

    def test_a_call_is_cancelled(self):
        bare = probe("cancel-in-a-call", variables={"FAKE_DRIVER_WAIT_US": "300000"})
        self.assertEqual(bare.out.count("cancelled 1"), 3)
        for mode in ("observe", "replay"):
            result = probe("cancel-in-a-call", variables=preloaded(REFRAIN_MODE=mode, FAKE_DRIVER_WAIT_US="300000"))
            self.assertEqual((result.code, result.out, result.err), (bare.code, bare.out, bare.err))


if __name__ == "__main__":
    unittest.main(verbosity=2)
