// The records of the capture log. docs and schema: configs/capture-log.schema.json.
//
// The log is JSON Lines: one object a line, each with "record" (the kind) and "time" (seconds since the process began
// to log). The first line is the header; a reader refuses a header whose version it does not know.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "capture/operation.h"

namespace refrain::capture {

inline constexpr int log_version = 1;

/// Why calls were not replayed; one word each from reasons.inc.
enum class Reason : std::uint8_t {
#define REASON(name, text) name,
#include "capture/reasons.inc"
};
const char* to_string(Reason) noexcept;    ///< the word
const char* explanation(Reason) noexcept;  ///< the text for a person

/// First line: who wrote this.
struct HeaderRecord {
  std::string refrain_version, host, program, started;  ///< `started`: ISO 8601, UTC
  int rank = -1;                                        ///< -1: the launcher told none
  std::int64_t pid = 0;
  std::string device;         ///< name of the first context's device
  int driver_version = 0;     ///< as cuDriverGetVersion tells it, 13000 for 13.0
  std::string policy_source;  ///< path, or "built-in"
  std::string policy;         ///< the effective policy as JSON text
  std::string mode;           ///< observe, replay, strict
};

struct OperationRecord {
  OperationKind kind = OperationKind::kernel;
  std::string name;  ///< mangled kernel name; the writer adds the readable one. Empty for memsets and copies
  Dimensions grid, block;
  std::uint32_t shared = 0;
  std::uint16_t role = 0;
  std::vector<std::uint32_t> parameter_sizes;  ///< bytes
  std::vector<std::uint32_t> attributes;       ///< ids
};

/// Where a sequence is cut, before operation `before`, and by which call.
struct BreakRecord {
  std::uint32_t before = 0;
  std::string cause;  ///< driver function or reason word
};

/// A recorded sequence: one variant of a region.
struct SequenceRecord {
  std::string region;
  std::uint32_t variant = 0;
  std::uint64_t pass = 0;  ///< which pass of the region was recorded, from 1
  std::vector<OperationRecord> operations;
  std::vector<BreakRecord> breaks;
};

/// A segment that became a graph.
struct GraphRecord {
  std::string region;
  std::uint32_t variant = 0, segment = 0, first_operation = 0, nodes = 0;
  std::uint64_t device_bytes = 0;  ///< change of free device memory, or an estimate where the driver tells none
  double microseconds = 0;         ///< host time to build it
};

/// Calls that fell back to eager. Written the first time a region meets a cause at an operation; counted after that.
struct FallbackRecord {
  std::string region;
  std::uint32_t variant = 0, operation = 0;
  Reason reason{};
  std::string kernel;           ///< mangled name of the recorded operation, where there is one
  std::string expected, found;  ///< bounded to 200 characters each
};

/// Counters of one region since the start. calls = held + passed; held = replayed + flushed.
struct RegionCounters {
  std::string region;
  std::uint64_t passes = 0, calls = 0, held = 0, passed = 0, replayed = 0, flushed = 0;
  std::uint64_t patched = 0;  ///< replayed operations whose node was patched
  std::uint64_t graph_launches = 0;
  std::uint64_t variants = 0, graphs = 0, graph_bytes = 0;
  std::uint64_t host_bytes = 0;  ///< host memory of what was recorded and learnt
  struct Cause {
    Reason reason{};
    std::uint64_t count = 0;  ///< times, not operations
  };
  std::vector<Cause> fallbacks;
};

/// Counters at an interval and at exit.
struct CountersRecord {
  bool at_exit = false;
  RegionCounters total;             ///< of the whole process, launches outside regions included; region is empty
  std::uint64_t launches_seen = 0;  ///< kernel launches that came through any hook
  std::uint64_t graph_bytes_limit = 0, host_bytes_limit = 0;
  std::uint64_t records_dropped = 0;
  std::uint64_t fallbacks =
      0;  ///< times that calls fell back or could not be held, the policy's own wishes not counted
  std::vector<RegionCounters> regions;
  std::vector<std::string> unmatched_rules;  ///< range patterns that no range matched
  std::vector<std::string> ranges_seen;      ///< bounded: names that no rule selected, for hints
};

/// Whether replay pays, as measured: steps ran eagerly and with replay in turn. Written each time a measurement ends.
struct VerdictRecord {
  std::string subject;                               ///< "the job", or a region's name
  std::string decision;                              ///< "replay" or "eager"
  double eager_ms = 0, replay_ms = 0;                ///< a step, medians
  double ratio = 1;                                  ///< replay over eager, median over the pairs
  double eager_variation = 0, replay_variation = 0;  ///< of a step: standard deviation over mean
  std::uint64_t pairs = 0;                           ///< of blocks of steps, one eager and one with replay
  std::uint64_t steps = 0;                           ///< measured since the start
};

/// A line of text that was also printed.
struct MessageRecord {
  std::string level, text;
};

using LogRecord = std::variant<HeaderRecord, SequenceRecord, GraphRecord, FallbackRecord, CountersRecord, VerdictRecord,
                               MessageRecord>;

}  // namespace refrain::capture
