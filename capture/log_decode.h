// One line of a capture log as a record.
//
// Fails: by return value, with what was expected as text; never throws, whatever the bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "capture/log_record.h"

namespace refrain::capture {

enum class Decoded {
  record,     ///< the line is a record of this version
  unknown,    ///< the line is an object of a kind, or with a reason, that only another version knows
  malformed,  ///< `expected` says what the line should have been
  not_json,   ///< not even JSON: perhaps torn
};

struct DecodedLine {
  LogRecord record;
  double time = 0;
  std::uint64_t unknown_fields = 0;
  std::string expected;
};

/// `line` is without its newline. Absent fields keep their default; fields that are not known are counted.
Decoded decode(std::string_view line, DecodedLine& result) noexcept;

}  // namespace refrain::capture
