// From the text of a policy to settings, or to everything that is wrong with it.
//
// Fails: never by an exception; without memory the result is not ok and may name no error.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "policy/error.h"
#include "policy/settings.h"

namespace refrain::policy {

/// The version of the policy format that this parser reads.
inline constexpr unsigned policy_version = 1;

// Bounds of the parts that are not in settings.inc.
inline constexpr std::size_t max_rules = 1024;  ///< in each of "regions" and "operations"
inline constexpr std::size_t max_name_bytes = 256;
inline constexpr std::size_t max_pattern_bytes = 1024;
inline constexpr std::size_t max_path_bytes = 4095;

struct ParseResult {
  bool ok = false;
  Settings settings;                ///< as the policy says; mode off and the rest default when not ok
  std::vector<PolicyError> errors;  ///< in the order of the text, at most ErrorList::limit
};

/// Reads `text`. `file` is its name in errors and in Settings::source.
ParseResult parse_policy(std::string_view text, std::string_view file) noexcept;

}  // namespace refrain::policy
