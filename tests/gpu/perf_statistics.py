"""What interleaved blocks of steps say. Pure: raw measurements in, figures out. Units: ms, fractions, bytes.

Two ratios: that of the arms' medians, and the median over the rounds of a round's ratio. What disturbs a shared host
lasts longer than a round, so the second one varies less; it is what is judged.

A raw measurement is {"blocks": [{"arm", "ms_per_step", "steps_ms"}, ...] in the order of their running, "counters":
sums over the replay blocks or None}; arms are eager, replay and perhaps a third one that replay is held against: bound,
under the library of the bound, or ranges, with "ranges_counters" of its own. The program in C++ writes the same.
"""

import random
import statistics

RESAMPLINGS = 1000
AGAINST = ("bound", "ranges")


def variation(values):
    """Coefficient of variation, as a fraction; 0 where there is nothing to vary."""
    mean = statistics.fmean(values) if values else 0.0
    return statistics.stdev(values) / mean if len(values) > 1 and mean else 0.0


def quiet(values):
    """The first fifth: what a step takes when nobody else disturbs the host. Not for steps that run ahead of the device."""
    return sorted(values)[(len(values) - 1) // 5]


def of_arm(raw, arm, key):
    return [block[key] for block in raw["blocks"] if block["arm"] == arm]


def add(total, part):
    """Sum of two sets of counters; None stands for none."""
    if total is None or part is None:
        return part if total is None else total
    return {name: total[name] + part[name] for name in part}


def shares(counters):
    """What the counters of the replay blocks say; an empty set without counters."""
    if not counters:
        return {}

    def fraction(part, whole):
        return counters[part] / counters[whole] if counters[whole] else 0.0

    return {"replayed": fraction("replayed", "calls"), "held": fraction("held", "calls"),
            "patched": fraction("patched", "replayed"), "operations_per_graph": fraction("replayed", "graph_launches"),
            "fallbacks": counters["fallbacks"]}


def summarise(raw):
    """Figures of one run. Fails with ValueError where an arm has no block."""
    eager, replay = of_arm(raw, "eager", "ms_per_step"), of_arm(raw, "replay", "ms_per_step")
    if not eager or len(eager) != len(replay):
        raise ValueError(f"{len(eager)} eager and {len(replay)} replay blocks")
    paired = [r / e for e, r in zip(eager, replay)]
    figures = {"eager_ms": statistics.median(eager), "replay_ms": statistics.median(replay),
               "ratio": statistics.median(replay) / statistics.median(eager), "paired_ratio": statistics.median(paired),
               "block_ratios": [min(paired), max(paired)], "blocks": len(paired),
               "cv_blocks_eager": variation(eager), "cv_blocks_replay": variation(replay)}
    for arm in ("eager", "replay"):
        steps = sum(of_arm(raw, arm, "steps_ms"), [])
        figures[f"cv_{arm}"] = variation(steps)
        figures[f"steps_{arm}"] = len(steps)
        figures[f"quiet_{arm}_ms"] = quiet(steps)
    figures["quiet_ratio"] = figures["quiet_replay_ms"] / figures["quiet_eager_ms"]
    for arm in AGAINST:
        figures.update(gain(raw, figures, arm))
    figures.update(shares(raw.get("counters")))
    figures.update({f"ranges_{key}": value for key, value in shares(raw.get("ranges_counters")).items()})
    figures.update({key: raw[key] for key in ("graph_bytes", "host_bytes") if key in raw})
    if "spin_us" in raw:
        figures.update(gaps(raw, figures))
    return figures


def gain(raw, figures, arm):
    """What the third arm takes, of eager, and the part of its gain that replay has; empty without that arm.

    The share is that of the medians over the rounds, each a block of every arm: what disturbs the host lasts longer than
    a round. With it comes where nine of ten resamplings of the rounds lie.
    """
    eager, replay, third = (of_arm(raw, one, "ms_per_step") for one in ("eager", "replay", arm))
    if not third:
        return {}
    rounds = [(r / e, t / e) for e, r, t in zip(eager, replay, third)]
    result = {f"{arm}_ratio": statistics.median(third) / figures["eager_ms"],
              f"paired_{arm}_ratio": statistics.median(t for _, t in rounds),
              f"quiet_{arm}_ratio": quiet(sum(of_arm(raw, arm, "steps_ms"), [])) / figures["quiet_eager_ms"]}
    share = round_share(rounds)
    if share is not None:
        draw = random.Random(1)
        shares = (round_share(draw.choices(rounds, k=len(rounds))) for _ in range(RESAMPLINGS))
        shares = sorted(one for one in shares if one is not None) or [share]
        result["gain_share"] = share
        result["gain_share_between"] = [shares[len(shares) // 20], shares[-1 - len(shares) // 20]]
    share = gain_share(figures["quiet_ratio"], result[f"quiet_{arm}_ratio"])
    return result if share is None else {**result, "quiet_gain_share": share}


def round_share(rounds):
    return gain_share(*(statistics.median(ratios) for ratios in zip(*rounds)))


def gaps(raw, figures):
    """Time between two kernels in us: what a kernel takes in a full queue beyond its own work."""
    eager, replay = (figures[f"{arm}_ms"] * 1e3 / raw["kernels_per_step"] - raw["spin_us"]
                     for arm in ("eager", "replay"))
    return {"gap_eager_us": eager, "gap_replay_us": replay, "gap_removed": 1 - replay / eager if eager > 0 else 0.0}


def gain_share(ratio, against):
    """Part of another arm's gain that was reached; None where that one gains nothing."""
    return (1 - ratio) / (1 - against) if against < 1 else None


def judge(figures, targets):
    """[(figure, "least" or "most", wanted, seen, reached)]; seen and reached are None where nothing was measured."""
    judged = []
    for figure, direction, wanted in targets:
        seen = figures.get(figure)
        reached = None if seen is None else seen >= wanted if direction == "least" else seen <= wanted
        judged.append((figure, direction, wanted, seen, reached))
    return judged
