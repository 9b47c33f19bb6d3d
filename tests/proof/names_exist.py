"""docs/proof.md names tests, files and commands: each one must exist. Prints TAP, one line a name."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WORDS = {"code type", "libcuda.so.1", "dlerror"}  # in code type, and none of ours


def names_of_tests():
    """By the way each kind is written: Suite.name, a Python test's function, a Meson test."""
    names = set()
    for file in (ROOT / "tests").rglob("*.cpp"):
        for suite, name in re.findall(r"^TEST(?:_[FP])?\((\w+),\s*(\w+)\)", file.read_text(encoding="utf-8"), re.MULTILINE):
            names.add(f"{suite}.{name}")
    for file in (ROOT / "tests").rglob("*.py"):
        names.update(re.findall(r"^ +def (test_\w+)\(", file.read_text(encoding="utf-8"), re.MULTILINE))
    for file in (ROOT / "tests").rglob("*.cpp"):
        names.update(re.findall(r"^(?:SCENARIO(?:_OF)?|PROGRAM(?:_ONCE)?)\((\w+)", file.read_text(encoding="utf-8"), re.MULTILINE))
    for file in (ROOT / "tests").rglob("meson.build"):
        names.update(re.findall(r"\btest\('([^']+)'", file.read_text(encoding="utf-8")))
    return names


def main():
    text = (ROOT / "docs" / "proof.md").read_text(encoding="utf-8")
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    quoted = sorted(set(re.findall(r"`([^`]+)`", text)) - WORDS)
    tests = names_of_tests()
    failed = 0
    for number, name in enumerate(quoted, 1):
        found = name in tests or (ROOT / name.split()[0]).exists()
        failed += not found
        print(f"{'ok' if found else 'not ok'} {number} - {name}")
    print(f"1..{len(quoted)}")
    least = 100  # a page that says so little of the tests has lost something
    return 1 if failed or len(quoted) < least else 0


if __name__ == "__main__":
    sys.exit(main())
