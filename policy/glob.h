// Anchored globs: what is wrong with a pattern. The matching itself is declared in selector.h.
#pragma once

#include <string_view>

namespace refrain::policy {

/// What makes `pattern` malformed, as a phrase for an error line; nullptr when it is well formed.
const char* glob_fault(std::string_view pattern) noexcept;

/// True when `pattern` matches any text because it consists of `*` alone.
bool matches_everything(std::string_view pattern) noexcept;

}  // namespace refrain::policy
