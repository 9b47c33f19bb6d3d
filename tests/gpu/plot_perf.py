#!/usr/bin/env python3
"""Draws perf.json: step time of each job, eager, under Refrain and at the bound, as grouped bars with eager = 1.

  tests/gpu/plot_perf.py PERF.JSON OUT.SVG
"""

import html
import json
import pathlib
import sys

# Colours that stay apart for colour-blind readers and in grey.
ARMS = (("eager", "#9a9a9a"), ("Refrain", "#0072b2"), ("bound", "#e69f00"))
BAR, GAP, HEIGHT, LEFT, TOP, BOTTOM = 22, 26, 260, 52, 56, 64


def groups(report):
    """[(job, [1, ratio, bound ratio or None])] of the jobs that were measured."""
    return [(job["job"], [1.0, job["figures"]["ratio"], job["figures"].get("bound_ratio")])
            for job in report["jobs"] if job.get("figures")]


def text(x, y, words, size=12, anchor="middle", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" {more}>{html.escape(words)}</text>'


def axis(top, right):
    """Lines at every quarter, with their numbers."""
    parts, value = [], 0.0
    while value <= top + 1e-9:
        y = TOP + HEIGHT * (1 - value / top)
        colour = "#555" if value in (0, 1) else "#ddd"
        parts.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" stroke="{colour}"/>')
        parts.append(text(LEFT - 8, y + 4, f"{value:.2f}", 11, "end"))
        value += 0.25
    return parts


def draw(report):
    """The SVG as text."""
    measured = groups(report)
    largest = max((value for _, values in measured for value in values if value), default=1.0)
    top = max(1.25, -(-largest // 0.25) * 0.25)
    group = len(ARMS) * BAR + GAP
    right = LEFT + max(1, len(measured)) * group
    right = max(right, 440)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{right + 20}" height="{TOP + HEIGHT + BOTTOM}" '
             'font-family="sans-serif">', '<rect width="100%" height="100%" fill="white"/>',
             text(LEFT, 20, f"Step time, eager = 1 ({report['gpu']}, {report['date']})", 14, "start")]
    for i, (arm, colour) in enumerate(ARMS):
        parts.append(f'<rect x="{LEFT + 90 * i}" y="30" width="12" height="12" fill="{colour}"/>')
        parts.append(text(LEFT + 90 * i + 17, 40, arm, 12, "start"))
    parts += axis(top, right)
    for i, (job, values) in enumerate(measured):
        x = LEFT + i * group + GAP / 2
        for (_, colour), value in zip(ARMS, values):
            if value is not None:
                height = HEIGHT * value / top
                parts.append(f'<rect x="{x:.1f}" y="{TOP + HEIGHT - height:.1f}" width="{BAR - 2}" '
                             f'height="{height:.1f}" fill="{colour}"/>')
                parts.append(text(x + BAR / 2 - 1, TOP + HEIGHT - height - 4, f"{value:.2f}", 9))
            x += BAR
        middle = LEFT + i * group + group / 2
        turn = f'transform="rotate(-25 {middle:.1f} {TOP + HEIGHT + 16})"'
        parts.append(text(middle, TOP + HEIGHT + 16, job, 11, "end", turn))
    return "\n".join([*parts, "</svg>"]) + "\n"


def main():
    if len(sys.argv) != 3:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    report = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    pathlib.Path(sys.argv[2]).write_text(draw(report), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
