"""The performance jobs: how each is run, what is wanted of it. Owns no state; imports nothing that is slow.

Units: seconds, steps; shares and ratios as fractions.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Plan:
    kind: str  # "torch" and "jax": a job of perf_process.py; "thin": a mode of the C++ program
    seconds: float  # what one run is expected to need at most, with 100 steps an arm; for keeping within the limit
    targets: tuple = ()  # (figure, "least" or "most", value)
    bound: bool = False  # whether the bound is measured as well
    ranges: bool = False  # whether steps with hand-placed NVTX ranges are measured in turn with those without
    steps: int = 0  # steps of each arm where the number asked for does not fit the job, else 0
    block_steps: int = 10
    skip: int = 2  # steps after a change of arm that are not timed
    warm_up: int = 0  # 0: as asked for
    arguments: tuple = ()
    governed: bool = False  # whether the governor may choose eager steps, else everything is replayed


# Steps of a PyTorch job on a shared host are slow or quick for many steps in a row: 0.85 of a deviation is still there a
# step later, 0.5 ten steps later. Arms that change every few steps are slow and quick together, which halves what the
# medians of their ratios vary by.
QUICK_CHANGES = {"block_steps": 3, "skip": 1}

# In the order of a full run: the first ones say most, what is slow to start comes last.
JOBS = {
    "gpt2": Plan("torch", 40, (("replayed", "least", 0.97), ("gain_share", "least", 0.90)), bound=True, **QUICK_CHANGES),
    "mixtral": Plan("torch", 45, (("replayed", "least", 0.95), ("gain_share", "least", 0.85)), bound=True,
                    **QUICK_CHANGES),
    "thin": Plan("thin", 15, (("paired_ratio", "most", 0.45),), bound=True, steps=1000, block_steps=50, warm_up=200),
    "jax": Plan("jax", 40, (("paired_ratio", "most", 0.70),), bound=True, steps=500, block_steps=50, warm_up=200),
    "queue": Plan("thin", 15, (("gap_removed", "least", 0.50),), steps=200, block_steps=20,
                  arguments=("--mode", "queue")),
    # The governor has decided before the timed steps, as it has for nearly all of a long run.
    "gpu_bound": Plan("torch", 75, (("paired_ratio", "most", 1.005),), warm_up=700, governed=True),
    # 2,000 steps in all. What a length needs when it comes first, a tenth of a second, is over before the timed steps.
    "changing_shapes": Plan("torch", 75, (("paired_ratio", "most", 1.01),), steps=640, warm_up=720,
                            governed=True),
    "mixtral_loop": Plan("torch", 150, (("paired_ratio", "most", 1.01),), warm_up=400, governed=True,
                         **QUICK_CHANGES),
    "moe": Plan("torch", 60, bound=True),
    # The same without NVTX ranges. What two arms replay has twice the steps to be found in, and more to find its way
    # after a change.
    "moe_plain": Plan("torch", 100, (("gain_share", "least", 0.95),), ranges=True, warm_up=120, skip=5),
    "gpt2_compiled": Plan("torch", 120, (("gain_share", "least", 0.85),), bound=True, **QUICK_CHANGES),
}
DEFAULT = tuple(JOBS)
