"""Refrain's C interface (interpose/refrain.h) for Python harnesses that run in the process under Refrain."""

import ctypes

FIELDS = ("launches_seen", "calls", "held", "passed", "replayed", "flushed", "patched", "graph_launches", "region_calls",
          "region_replayed", "graph_bytes", "fallbacks", "host_bytes")


class Statistics(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t)] + [(name, ctypes.c_uint64) for name in FIELDS]


class Arms:
    """How the steps of a comparison run: "eager", under "replay", so but with "ranges" that the job emits, or with dropped
    launches as the "bound"; by pause(), resume() and drop() of a subclass."""

    REPLAYED = ("replay", "ranges")

    def begin(self, arm):
        if arm not in self.REPLAYED:
            self.pause()
        if arm == "bound":
            self.drop(True)
            self.resume()

    def end(self, arm):
        if arm == "bound":
            self.pause()
            self.drop(False)
        if arm not in self.REPLAYED:
            self.resume()


class Control(Arms):
    """Looks the functions up in the global scope, where a preloaded library stands."""

    def __init__(self):
        scope = ctypes.CDLL(None)
        names = ("refrain_pause", "refrain_resume", "refrain_stats", "refrain_drop")
        self.functions = {name: getattr(scope, name, None) for name in names}
        for name in ("refrain_pause", "refrain_resume", "refrain_drop"):
            if self.functions[name] is not None:
                self.functions[name].restype = None

    def loaded(self):
        return self.statistics() is not None

    def pause(self):
        self.functions["refrain_pause"]()

    def resume(self):
        self.functions["refrain_resume"]()

    def drop(self, on):
        """Of the library of the bound only: whether launches are dropped from now on. While paused."""
        self.functions["refrain_drop"](int(on))

    def statistics(self):
        """The totals since the process began, or None where Refrain is not loaded or off."""
        read = self.functions["refrain_stats"]
        values = Statistics(size=ctypes.sizeof(Statistics))
        if read is None or read(ctypes.byref(values)) != 0:
            return None
        return {name: getattr(values, name) for name in FIELDS}


def difference(after, before):
    return {name: after[name] - before[name] for name in FIELDS}
