"""What the capture log of a scenario must show, beyond the same output as bare.

EXPECTATIONS[scenario][policy] is a list of checks. A check is a (title, function) pair; the function takes a CaptureLog
and gives None, or a sentence that says what is wrong.

OVERRIDES[scenario] changes settings of every policy for that scenario, and FAULTS[scenario] lists failures that the
simulated driver is asked for (REFRAIN_SIM_FAIL), each a run of its own with the policy `replay`.
"""


def replay_share(least):
    def check(log):
        calls, replayed = log.total("calls"), log.total("replayed")
        if replayed < least * calls:
            return f"{replayed} of {calls} calls replayed; fallbacks {log.fallbacks()}"
        return None

    return f"replays {least:.0%} of the region's calls or more", check


def fallbacks_at_most(share):
    def check(log):
        passes = log.total("passes")
        fallbacks = log.fallbacks("hold_expired")
        # One is always allowed, so that a scenario of few passes can be judged by a share.
        if sum(fallbacks.values()) > max(1, share * passes):
            return f"{fallbacks} in {passes} passes"
        return None

    return f"falls back in {share:.0%} of the passes at most", check


def patches_at_least(count):
    def check(log):
        patched = log.total("patched")
        return None if patched >= count else f"{patched} patched"

    return f"patches {count} operations or more", check


def graphs_at_most(count):
    def check(log):
        graphs = len(log.of_kind("graph"))
        return None if graphs <= count else f"{graphs} graphs built"

    return f"builds {count} graphs at most", check


def variants_at_most(count):
    def check(log):
        variants = log.total("variants")
        return None if variants <= count else f"{variants} variants"

    return f"keeps {count} variants at most", check


def timer_needed_at_most(times):
    def check(log):
        needed = log.fallbacks().get("hold_expired", 0)
        return None if needed <= times else f"the timer issued held calls {needed} times"

    return f"needs the timer {times} times at most", check


def nothing_replayed():
    def check(log):
        held = log.total("held")
        return None if held == 0 else f"{held} held"

    return "holds nothing", check


def nothing_lost():
    """Each launch of the program reached the driver: by a call, or as a node of a graph."""

    def check(log):
        made, replayed = log.launches_made, log.total("replayed")
        if log.launches_bare is None:  # only the simulated driver counts
            return None
        if made + replayed != log.launches_bare:
            return f"{made} made and {replayed} replayed of {log.launches_bare}"
        return None

    return "loses no launch", check


def reason(word, operation=None, found=None):
    """A fallback record with this reason (and operation index, and text of what was found)."""

    def check(log):
        for record in log.of_kind("fallback"):
            if record["reason"] != word:
                continue
            if operation is not None and record["operation"] != operation:
                continue
            if found is not None and found not in record["found"]:
                continue
            return None
        seen = [(r["reason"], r["operation"], r["found"]) for r in log.of_kind("fallback")]
        return f"no such fallback among {seen}"

    at = "" if operation is None else f" at operation {operation}"
    what = "" if found is None else f", found {found!r}"
    return f"tells {word}{at}{what}", check


OBSERVED = [nothing_replayed()]
STEADY = [replay_share(0.9), fallbacks_at_most(0.01)]

EXPECTATIONS = {
    "v1_scalars": {
        "replay": STEADY + [patches_at_least(40), graphs_at_most(2)],
        "no_patch": [reason("different_parameters", operation=2)],
        "observe": OBSERVED,
    },
    "v2_seed_and_offset": {"replay": STEADY + [patches_at_least(100), graphs_at_most(2)]},
    "v3_moving_addresses": {"replay": STEADY + [patches_at_least(100), graphs_at_most(64)]},
    "v4_gradient_accumulation": {"replay": [replay_share(0.85), variants_at_most(8)]},
    "v5_first_microbatch": {"replay": [replay_share(0.7), variants_at_most(16)]},
    "v6_sizes_change": {"replay": [replay_share(0.6)]},
    "v7_data_dependent_launches": {"replay": [replay_share(0.3)]},
    "v8_kernel_in_some_iterations": {"replay": [replay_share(0.85), variants_at_most(4)]},
    "v9_parameter_forms": {"replay": STEADY},
    "v10_padding_garbage": {"replay": STEADY + [variants_at_most(2), graphs_at_most(4)]},
    "v11_descriptor_by_value": {"replay": STEADY + [patches_at_least(50)]},
    "v13_rows": {"replay": [replay_share(0.8), patches_at_least(50)]},
    "l1_moved_memory": {"replay": [replay_share(0.8)]},
    "l3_stream_ordered_allocation": {"replay": [replay_share(0.8)]},
    "l5_free_while_held": {"replay": []},
    "l8_shape_churn": {"replay": [variants_at_most(64)], "one_variant": [variants_at_most(1)]},
    "l10_exit_with_held_calls": {"replay": [nothing_lost()]},
    "l10_exit_in_another_thread": {"replay": [nothing_lost()]},
    "l12_remapped_memory": {"replay": [replay_share(0.5)]},
    "o2_launch_returns_at_once": {"replay": [replay_share(0.5)]},
    "o1_host_spins_on_mapped_memory": {"replay": [timer_needed_at_most(8)]},
    "o1_waits_in_changing_places": {"replay": [timer_needed_at_most(30), reason("region_rests")]},
    "o3_joined_by_the_host": {"replay": [replay_share(0.5)]},
    "o5_region_on_the_null_stream": {"replay": [replay_share(0.8)]},
    "o8_program_launches_graphs": {"replay": [replay_share(0.8)]},
    "a8_host_functions": {"replay": [replay_share(0.8)]},
    "n_two_threads_one_name": {"replay": [replay_share(0.7)]},
    "n1_backward_on_another_thread": {"process_scope": [replay_share(0.7)]},
    "n4_thread_ends_in_open_range": {"replay": [replay_share(0.7)]},
    "j4_reasons": {
        "replay": [
            reason("different_function", operation=3, found="accumulate"),
            reason("sequence_shorter", operation=4),
            reason("sequence_longer", operation=5),
            replay_share(0.8),
        ],
        "strict_parameters": [reason("different_parameters", operation=2, found="2a")],
        "no_patch": [reason("different_parameters", operation=2, found="2a")],
    },
    "j4_nothing_changes": {
        "replay": STEADY + [graphs_at_most(2)],
        "no_patch": STEADY,
        "strict_parameters": STEADY,
        "strict_mode": STEADY,
        "default": [replay_share(0.85)],
        "segment_2": STEADY,
        "segment_64": STEADY,
        "observe": OBSERVED,
    },
}

# Some programs wait, without a driver call, for what they launched: each such wait lasts as long as a hold may.
SHORT_HOLD = {"hold": {"max_hold_us": 2000}}
OVERRIDES = {
    "l5_unmap_while_held": SHORT_HOLD,
    "o1_host_spins_on_mapped_memory": SHORT_HOLD,
    "o1_waits_in_changing_places": SHORT_HOLD,
    "o1_watchdog_polls_event": SHORT_HOLD,
}

# E1: the driver refuses what only Refrain asks of it. The program must not see any of it.
REFUSALS = [
    "cuGraphExecKernelNodeSetParams_v2:*:1",
    "cuGraphExecKernelNodeSetParams_v2:3:1",
    "cuGraphExecMemsetNodeSetParams:*:1",
    "cuGraphExecMemcpyNodeSetParams:*:1",
    "cuGraphInstantiateWithFlags:*:2",
    "cuGraphInstantiateWithFlags:2:1",
    "cuGraphLaunch:*:1",
    "cuGraphLaunch:2:1",
    "cuStreamBeginCapture_v2:*:1",
    "cuStreamEndCapture:*:901",
    "cuStreamEndCapture:1:901",
    "cuGraphUpload:*:1",
]
FAULTS = {"v3_moving_addresses": REFUSALS, "v13_rows": REFUSALS, "j4_nothing_changes": REFUSALS}

# Ended before Refrain can write its counters.
NO_COUNTERS = {"l10_quick_exit_with_held_calls"}
# Ended while work was queued: how much of it the device still does is a matter of time.
ENDS_WITH_QUEUED_WORK = {"l10_exit_with_held_calls", "l10_quick_exit_with_held_calls", "l10_exit_in_another_thread"}
