// "Did you mean ...?" for words that are not known.
#pragma once

#include <span>
#include <string_view>

namespace refrain::policy {

/// The candidate nearest to `word`, without regard to case and to `-` against `_`; empty when none is near enough to be
/// meant. Looks at the first 64 bytes of `word`.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) noexcept;

}  // namespace refrain::policy
