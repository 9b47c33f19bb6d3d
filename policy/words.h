// The words of the policy's enumerations, as they stand in policy files, logs and variables.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "policy/settings.h"

namespace refrain::policy {

std::string_view to_string(Mode) noexcept;
std::string_view to_string(Action) noexcept;
std::string_view to_string(Scope) noexcept;

/// All words of an enumeration, in the order of its values.
std::span<const std::string_view> mode_words() noexcept;
std::span<const std::string_view> action_words() noexcept;
std::span<const std::string_view> scope_words() noexcept;

/// The index of `word` in `words`, exactly as written; nothing when it is none of them.
std::optional<std::size_t> word_index(std::span<const std::string_view> words, std::string_view word) noexcept;

/// The mode that `word` names; nothing when it names none.
std::optional<Mode> mode_named(std::string_view word) noexcept;

}  // namespace refrain::policy
