// Whether the counters of a log add up. A counter that does not would mean a call that was lost or doubled.
#pragma once

#include <string>
#include <vector>

#include "capture/log_record.h"

namespace refrain::capture {

/// One sentence for each rule that is broken; empty when all hold:
/// calls = held + passed and held = replayed + flushed, in each region and in total; patched <= replayed;
/// no sum over the regions is greater than the total.
/// In counters of a running process, calls that are held just then are neither replayed nor flushed yet, and regions
/// and total are not of the very same moment: there, replayed + flushed may be less than held, and sums are not
/// compared.
std::vector<std::string> violations(const CountersRecord& counters);

}  // namespace refrain::capture
