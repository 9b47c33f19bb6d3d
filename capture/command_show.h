// `refrain show LOG`: what a capture log tells, for a person.
//
// Fails: prints one line that names file and line and says what was expected; never throws.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

namespace refrain::capture {

struct ShowOptions {
  bool json = false;                     ///< the last counters as one JSON object, and nothing else
  std::string operations;                ///< region whose recorded operations are listed, and nothing else
  std::optional<std::uint32_t> variant;  ///< which variant of that region; the lowest recorded one by default
};

/// Prints to `out`, and errors to `err`. Returns the exit code: 0; 1 when the counters do not add up; 2 when the log or
/// what was asked of it is bad.
int run_show(const std::string& path, const ShowOptions& options, std::FILE* out, std::FILE* err) noexcept;

}  // namespace refrain::capture
