// `refrain check POLICY`: is this policy what its author believes?
#pragma once

#include <cstdio>
#include <string>

namespace refrain::policy {

/// Reads the policy at `path` (or "built-in"). Faultless: "PATH: ok" on `out`, with `print_effective` followed by the
/// whole effective policy as JSON and as a table; returns 0. Otherwise one line a fault on `err`; returns 1.
int run_check(const std::string& path, bool print_effective, std::FILE* out, std::FILE* err) noexcept;

}  // namespace refrain::policy
