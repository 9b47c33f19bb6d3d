// A whole capture log, reduced to what `refrain show` tells about it.
//
// Owns:  plain values; memory grows with regions, variants, causes and verdicts, not with operations.
// Units: bytes, microseconds, seconds since the process began to log.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "capture/log_reader.h"
#include "capture/log_record.h"

namespace refrain::capture {

struct VariantSummary {
  std::string region;
  std::uint32_t variant = 0;
  std::uint64_t pass = 0;  ///< in which it was recorded; 0: the log holds no sequence of it
  std::size_t operations = 0;
  std::vector<std::pair<std::string, std::size_t>> breaks;  ///< causes in the order of their first one, and how often
  std::set<std::uint32_t> segments;                         ///< those with a graph
  std::uint64_t builds = 0, nodes = 0, device_bytes = 0;    ///< nodes and bytes of the last build of each segment
  double microseconds = 0;                                  ///< of all builds
};

struct TimedVerdict {
  double time = 0;
  VerdictRecord verdict;
};

struct LogSummary {
  HeaderRecord header;
  std::vector<VariantSummary> variants;  ///< in the order of their first record
  std::vector<FallbackRecord> fallbacks;
  std::vector<TimedVerdict> verdicts;
  std::vector<MessageRecord> messages;
  std::optional<CountersRecord> counters;  ///< the last ones
  double counters_time = 0, last_time = 0;
  std::map<std::uint32_t, SequenceRecord>
      sequences;  ///< of the one region that was asked for, the last of each variant
  std::uint64_t unknown_records = 0;
  bool torn = false;
};

/// Reads `log` to its end. False when it is no readable log; log.error() then says why.
/// `region`: whose sequences are kept in full; empty for none.
bool summarize(LogReader& log, const std::string& region, LogSummary& summary);

}  // namespace refrain::capture
