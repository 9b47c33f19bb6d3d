// What one process did, as it tells it at its exit: a line for the person, and a line for `refrain run`.
//
// `refrain run` names a file in REFRAIN_REPORT; every process below it that used CUDA appends one line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace refrain::interpose {

inline constexpr const char* report_variable = "REFRAIN_REPORT";

struct Summary {
  std::uint64_t calls = 0;  ///< that could have been held
  std::uint64_t replayed = 0;
  std::uint64_t graph_launches = 0;
  std::uint64_t fallbacks = 0;  ///< times
  bool strict = false;          ///< the policy's mode is strict
  long pid = 0;
  bool has_verdict = false;  ///< it was measured whether replay pays; the next three tell the last outcome
  bool runs_eagerly = false;
  double eager_ms = 0, replay_ms = 0;  ///< a step
  std::string log;                     ///< file; empty: none
};

/// For the person; without the prefix and the end of line.
std::string describe(const Summary& summary);

/// One line of the report, with its end.
std::string report_line(const Summary& summary);
/// Reads it back; false when it is no such line.
bool read_report_line(std::string_view line, Summary& summary);

/// Appends the line to the report that the environment names, if it names one. A failure is nobody's business.
void append_report(const Summary& summary) noexcept;

}  // namespace refrain::interpose
