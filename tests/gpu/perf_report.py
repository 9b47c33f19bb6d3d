"""What the performance jobs showed, as lines, as a table in Markdown and as JSON. Pure, but for write()."""

import datetime
import json

from perf_plan import JOBS
from perf_statistics import AGAINST, judge

COLUMNS = ("job", "eager ms", "replay ms", "ratio", "in pairs", "bound or ranges", "share of gain", "replayed", "patched", "ops a graph",
           "CV eager, steps / blocks", "CV replay", "target", "reached", "exact")
SYMBOLS = {"least": ">=", "most": "<="}


def complete(result):
    """Adds what needs more than one run: the bound, or steps with ranges, with the share of their gain, from the process
    of its own, in which all three arms ran; the verdict."""
    figures = dict(result.get("figures") or {})
    for arm in AGAINST:
        three = result.get(f"{arm}_figures", {})
        figures = figures or dict(three)
        shared = (f"{arm}_ratio", "gain_share", "gain_share_between", "quiet_gain_share")
        figures.update({key: three[key] for key in shared if key in three})
    if figures:
        result["figures"] = figures
    result["targets"] = judge(figures, JOBS[result["job"]].targets)
    return result


def shown(value, pattern):
    return "" if value is None else pattern.format(value)


def target_text(result, with_seen=False):
    """What is wanted, and what was seen where the table has no column for it."""
    words = []
    for figure, direction, wanted, seen, _ in result["targets"]:
        word = f"{figure.replace('_', ' ')} {SYMBOLS[direction]} {wanted:g}"
        if with_seen:
            word += f" (seen {shown(seen, '{:.3f}') or 'nothing'})"
        words.append(word)
    return ", ".join(words)


def reached_text(result):
    if not result["targets"]:
        return ""
    return ", ".join({True: "yes", False: "NO", None: "?"}[reached] for *_, reached in result["targets"])


def exact_text(result):
    exact = result.get("exact")
    words = {True: "bit-equal", False: "DIFFERENT", None: "two bare runs differ"}
    return "" if exact is None else words[exact["equal"]]


def variation_text(figures, arm):
    """Of the steps and of the blocks: steps that return before the device is done vary without meaning anything."""
    return f"{figures[f'cv_{arm}']:.1%} / {figures[f'cv_blocks_{arm}']:.1%}" if figures else ""


def share_text(figures):
    """Part of the third arm's gain, and where nine of ten resamplings lie."""
    if "gain_share" not in figures:
        return "none"
    low, high = figures["gain_share_between"]
    return f"{figures['gain_share']:.1%} [{low:.0%}, {high:.0%}]"


def third_arm(figures):
    """The arm that replay is held against, or None."""
    return next((arm for arm in AGAINST if f"{arm}_ratio" in figures), None)


def row(result):
    f = result.get("figures", {})
    third = third_arm(f)
    return (result["job"], shown(f.get("eager_ms"), "{:.3f}"), shown(f.get("replay_ms"), "{:.3f}"),
            shown(f.get("ratio"), "{:.4f}"), shown(f.get("paired_ratio"), "{:.4f}"), shown(f.get(f"{third}_ratio"), "{:.4f}"), share_text(f) if third else "",
            shown(f.get("replayed"), "{:.2%}"), shown(f.get("patched"), "{:.1%}"),
            shown(f.get("operations_per_graph"), "{:.1f}"), variation_text(f, "eager"), variation_text(f, "replay"),
            target_text(result), reached_text(result), exact_text(result))


def line(result):
    """One line for a job, as it ends."""
    f = result.get("figures", {})
    parts = []
    if f:
        parts.append(f"eager {f['eager_ms']:.3f} ms, replay {f['replay_ms']:.3f} ms, ratio {f['ratio']:.4f} "
                     f"(paired {f['paired_ratio']:.4f}, {f['block_ratios'][0]:.3f} to {f['block_ratios'][1]:.3f}), "
                     f"CV of steps {f['cv_eager']:.1%} and {f['cv_replay']:.1%}, of blocks "
                     f"{f['cv_blocks_eager']:.1%} and {f['cv_blocks_replay']:.1%}")
    third = third_arm(f)
    if third:
        t = result[f"{third}_figures"]
        parts.append(f"in one process eager {t['eager_ms']:.3f} ms, replay {t['paired_ratio']:.4f}, {third} "
                     f"{t[f'paired_{third}_ratio']:.4f}, share of gain {share_text(f)} (of quiet steps "
                     f"{shown(f.get('quiet_gain_share'), '{:.1%}') or 'none'})")
        if "ranges_replayed" in t:
            parts.append(f"replayed there {t['replayed']:.2%}, with ranges {t['ranges_replayed']:.2%}")
    if "replayed" in f:
        parts.append(f"replayed {f['replayed']:.2%}, held {f['held']:.2%}, patched {f['patched']:.1%}, "
                     f"{f['operations_per_graph']:.1f} ops a graph, graphs {f.get('graph_bytes', 0) / 2**20:.1f} MiB, "
                     f"host {f.get('host_bytes', 0) / 2**20:.1f} MiB")
    if "gap_removed" in f:
        parts.append(f"gap {f['gap_eager_us']:.3f} -> {f['gap_replay_us']:.3f} us")
    if exact_text(result):
        parts.append(exact_text(result))
    if f and result["targets"]:
        parts.append(f"wanted {target_text(result, with_seen=True)}: {reached_text(result)}")
    return f"{result['job']}: " + "; ".join(parts + result["notes"])


def table(results, head):
    lines = [head, "", "| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    lines += ["| " + " | ".join(row(result)) + " |" for result in results]
    notes = [f"- {result['job']}: {note}" for result in results for note in result["notes"]]
    return "\n".join(lines + ([""] + notes if notes else [])) + "\n"


def write(out, results, machine, given):
    """perf.json and perf.md; after every job, so that a run that is cut off leaves what it has."""
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    about = {"date": date, **machine, "command": f"scripts/gpu-check --perf {' '.join(given)}".strip()}
    (out / "perf.json").write_text(json.dumps({**about, "jobs": results}, indent=1), encoding="utf-8")
    head = f"### {machine['gpu']}, {date}\n\nDriver {machine['driver']}; command `{about['command']}`."
    (out / "perf.md").write_text(table(results, head), encoding="utf-8")
