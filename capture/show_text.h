// The parts of what `refrain show` prints, as text.
#pragma once

#include <cstdint>
#include <string>

#include "capture/log_summary.h"

namespace refrain::capture {

/// Program, host, rank, device, driver, mode, policy.
std::string header_text(const LogSummary& summary);
/// Tables of regions, variants, verdicts and fallbacks, and the lines on memory, rules, drops and completeness.
std::string body_text(const LogSummary& summary);
/// The operations of one recorded sequence.
std::string operations_text(const SequenceRecord& sequence);

}  // namespace refrain::capture
