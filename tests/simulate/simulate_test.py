#!/usr/bin/env python3
"""The simulation's own test, as TAP: a short campaign, the same schedule twice, and planted faults that must be found,
shrunk and found again in what was printed."""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

LEAST_REPLAYED = 40.0  # percent of the operations executed
MOST_CALLS = 30


class Tap:
    def __init__(self):
        self.count = self.failed = 0

    def check(self, title, good, text=""):
        self.count += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.count} - {title}")
        for line in text.splitlines()[-40:] if not good else ():
            print(f"# {line[:300]}")
        sys.stdout.flush()


def run(options, library, *arguments):
    command = [options.program, "--library", library, "--driver-folder", options.driver_folder, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def campaign(tap, options):
    code, text = run(options, options.library, "--seeds", options.seeds)
    lines = text.splitlines() or [""]
    tap.check(f"{options.seeds} seeds: no divergence", code == 0 and lines[-1] == f"{options.seeds} seeds, 0 divergences", text)
    share = re.search(r"operations replayed \(([\d.]+) %", text)
    tap.check(f"at least {LEAST_REPLAYED:.0f} % of the operations were replayed",
              share is not None and float(share[1]) >= LEAST_REPLAYED, text)


def twice(tap, options):
    code, text = run(options, options.library, "--twice", 25)
    tap.check("25 seeds twice: the same schedule, byte for byte", code == 0 and "25 seeds twice, 0 differ" in text, text)


def diverged(tap, options):
    """Programs that showed a fault once, as they were shrunk then."""
    for file in sorted((pathlib.Path(__file__).parent / "diverged").iterdir()):
        code, text = run(options, options.library, "--program", file)
        tap.check(f"{file.name}: no divergence", code == 0 and "no divergence" in text, text)


def planted(tap, options, library, folder):
    bug = pathlib.Path(library).stem.replace("librefrain_", "")
    # Some faults take an automatic region to show in a seed, which needs many iterations: the smallest program counts.
    code, text = run(options, library, "--seeds", 60, "--shrink-first", 3)
    found = list(re.finditer(r"shrunk to (\d+) calls:\n(program.*?)\n\nwhat it calls.*?run it again: scripts/simulate "
                             r"(--seed \d+)", text, re.DOTALL))
    calls = min(found, key=lambda one: int(one[1])) if found else None
    tap.check(f"{bug}: found", code == 1 and calls is not None, text)
    tap.check(f"{bug}: shrunk to at most {MOST_CALLS} calls", calls is not None and int(calls[1]) <= MOST_CALLS, text)
    code, text = run(options, library, *calls[3].split()) if calls else (0, text)
    tap.check(f"{bug}: the seed that was printed finds it again", code == 1 and "diverges" in text, text)
    file = folder / bug
    file.write_text(calls[2] + "\n" if calls else "", encoding="utf-8")
    code, text = run(options, library, "--program", file)
    tap.check(f"{bug}: so does the program that was printed", code == 1 and "diverges" in text, text)
    code, text = run(options, options.library, "--program", file)
    tap.check(f"{bug}: without it that program does not diverge", code == 0 and "no divergence" in text, text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--library", required=True)
    parser.add_argument("--driver-folder", required=True)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--planted", nargs="*", default=[], help="libraries with a fault")
    options = parser.parse_args()
    tap = Tap()
    campaign(tap, options)
    twice(tap, options)
    diverged(tap, options)
    with tempfile.TemporaryDirectory() as folder:
        for library in options.planted:
            planted(tap, options, library, pathlib.Path(folder))
    print(f"1..{tap.count}")
    return 1 if tap.failed else 0


if __name__ == "__main__":
    sys.exit(main())
