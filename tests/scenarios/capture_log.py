"""The capture logs of one run, and whether their counters add up."""

import json
import pathlib


class CaptureLog:
    """The records of every log file in a folder; there is one file a process."""

    def __init__(self, folder):
        self.files = sorted(pathlib.Path(folder).glob("*.jsonl"))
        self.records = []
        for file in self.files:
            with open(file, encoding="utf-8") as lines:
                self.records += [json.loads(line) for line in lines if line.strip()]

    def of_kind(self, kind):
        return [record for record in self.records if record["record"] == kind]

    def final(self):
        """The counters at exit, or None when the process was ended before it could write them."""
        final = [record for record in self.of_kind("counters") if record["at_exit"]]
        return final[-1] if final else None

    def total(self, member):
        """One counter, summed over the regions."""
        return sum(region[member] for region in self.final()["regions"])

    def failures_to_replay(self):
        """Times that calls fell back against the policy's wish: what strict mode reports."""
        wished = ("eager_operation", "launch_error", "program_capture", "paused")
        return self.final().get("fallbacks", sum(self.fallbacks(*wished).values()))

    def fallbacks(self, *ignored):
        """Times that calls fell back, by reason."""
        counts = {}
        for region in self.final()["regions"]:
            for cause in region["fallbacks"]:
                if cause["reason"] not in ignored:
                    counts[cause["reason"]] = counts.get(cause["reason"], 0) + cause["count"]
        return counts


def counter_faults(final, launches):
    """One sentence for each rule that the final counters break. `launches`: what the bare run asked of the driver."""
    faults = []
    parts = final["regions"] + [final["total"]]
    for part in parts:
        name = part["region"] or "total"
        if part["calls"] != part["held"] + part["passed"]:
            faults.append(f"{name}: calls {part['calls']} != held {part['held']} + passed {part['passed']}")
        if part["held"] != part["replayed"] + part["flushed"]:
            faults.append(f"{name}: held {part['held']} != replayed {part['replayed']} + flushed {part['flushed']}")
        if part["patched"] > part["replayed"]:
            faults.append(f"{name}: patched {part['patched']} > replayed {part['replayed']}")
    for member in ("calls", "held", "passed", "replayed", "flushed", "graph_launches"):
        within = sum(region[member] for region in final["regions"])
        if within > final["total"][member]:
            faults.append(f"total {member} {final['total'][member]} < {within} of the regions")
    if launches is not None and final["launches_seen"] != launches:
        faults.append(f"launches_seen {final['launches_seen']} != {launches} that the bare run made")
    return faults
