#include "policy/words.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace refrain::policy {

namespace {

constexpr std::array<std::string_view, 4> modes{"off", "observe", "replay", "strict"};
constexpr std::array<std::string_view, 3> actions{"graph", "eager", "observe"};
constexpr std::array<std::string_view, 2> scopes{"thread", "process"};

static_assert(modes.size() == static_cast<std::size_t>(Mode::strict) + 1);
static_assert(actions.size() == static_cast<std::size_t>(Action::observe) + 1);
static_assert(scopes.size() == static_cast<std::size_t>(Scope::process) + 1);

}  // namespace

std::string_view to_string(Mode mode) noexcept { return modes[static_cast<std::size_t>(mode)]; }
std::string_view to_string(Action action) noexcept { return actions[static_cast<std::size_t>(action)]; }
std::string_view to_string(Scope scope) noexcept { return scopes[static_cast<std::size_t>(scope)]; }

std::span<const std::string_view> mode_words() noexcept { return modes; }
std::span<const std::string_view> action_words() noexcept { return actions; }
std::span<const std::string_view> scope_words() noexcept { return scopes; }

std::optional<std::size_t> word_index(std::span<const std::string_view> words, std::string_view word) noexcept {
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) return std::nullopt;
  return static_cast<std::size_t>(found - words.begin());
}

std::optional<Mode> mode_named(std::string_view word) noexcept {
  const std::optional<std::size_t> index = word_index(modes, word);
  if (!index) return std::nullopt;
  return static_cast<Mode>(*index);
}

}  // namespace refrain::policy
