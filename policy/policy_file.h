// Reading a policy from its file.
#pragma once

#include <string>
#include <string_view>

#include "policy/parser.h"

namespace refrain::policy {

/// Stands for the policy that is built in, wherever the path of a policy file is expected; also its Settings::source.
inline constexpr std::string_view built_in_name = "built-in";

/// Reads and parses the file at `path`, or the built-in policy by its name. A file that is missing, not readable, not a
/// regular file, empty or larger than 1 MiB is an error without line. Never waits: pipes and devices are not opened.
ParseResult load_policy(const std::string& path) noexcept;

}  // namespace refrain::policy
