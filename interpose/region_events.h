// Ranges that the policy selects, made regions of the engine.
//
// Threads: any.
#pragma once

#include "capture/log_record.h"
#include "policy/selector.h"
#include "policy/settings.h"

namespace refrain::interpose {

/// From here on ranges open and close regions. `selector` and the engine must live as long as the process. False: no
/// memory.
bool connect_ranges(const policy::Selector& selector) noexcept;
/// Ranges only nest from here on.
void disconnect_ranges() noexcept;

/// Adds to `counters` the rules that selected no range, and the names that no rule selected.
void report_ranges(const policy::Settings& settings, capture::CountersRecord& counters);

}  // namespace refrain::interpose
