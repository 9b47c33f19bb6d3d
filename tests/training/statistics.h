// What Refrain did in this process, where it is loaded: read through its C interface, written as JSON for a harness.
#pragma once

#include <optional>
#include <string>

#include "interpose/refrain.h"

namespace refrain::tests::training {

/// Nothing where Refrain is not loaded or off.
std::optional<refrain_statistics> statistics();

/// Writes the totals, and what was added since `before`; false when the file cannot be written.
bool write_statistics(const std::string& path, const std::optional<refrain_statistics>& before,
                      const std::optional<refrain_statistics>& after);

}  // namespace refrain::tests::training
