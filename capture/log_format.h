// Records as lines of the capture log.
//
// Threads: each LogFormat belongs to one thread at a time.
// Units:   seconds since the process began to log.
// Fails:   std::bad_alloc only. Text that is not UTF-8 is repaired, text that is too long is cut and ends in "...".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "capture/demangle.h"
#include "capture/log_record.h"

namespace refrain::capture {

/// No line is longer. A sequence that would be is replaced by a message that says so.
inline constexpr std::size_t longest_line = 48 << 20;

/// Bounds of texts, in characters, and of lists, in elements.
inline constexpr std::size_t longest_region = 256, longest_kernel = 4096, longest_readable = 1024, longest_value = 200,
                             longest_text = 4096, longest_policy = 1 << 20;
inline constexpr std::size_t most_parameters = 4096, most_names = 1024, most_regions = 16384;

/// `text`, cut to `characters` characters, the last three of which are then "...".
std::string bounded(std::string_view text, std::size_t characters);

class LogFormat {
 public:
  /// One JSON object and a newline.
  std::string line(const LogRecord& record, double time);

 private:
  ReadableNames readable_;
};

/// The same object over several lines, for people.
std::string pretty(const LogRecord& record, double time);

}  // namespace refrain::capture
