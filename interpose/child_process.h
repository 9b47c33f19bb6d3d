// Running one child and waiting for it, as a shell does.
#pragma once

#include <string>
#include <vector>

namespace refrain::interpose {

/// Starts `program` (with its arguments, looked for in PATH) with this environment, passes on the signals that this
/// process gets, waits, and returns its exit code; 128 + signal when a signal ended it; 127 or 126 with one line when
/// it cannot be started.
int run_child(const std::vector<std::string>& program, const std::vector<std::string>& environment);

}  // namespace refrain::interpose
