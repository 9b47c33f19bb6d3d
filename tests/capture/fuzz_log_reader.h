// The body of the fuzz target, for ordinary tests as well.
#pragma once

#include <string_view>

namespace refrain::tests {

/// Reads `bytes` as a capture log and prints all that `refrain show` can print of it, to nowhere.
/// Returns the exit code of `refrain show`.
int read_and_show(std::string_view bytes);

}  // namespace refrain::tests
