#include "policy/environment.h"

#include <fmt/core.h>

#include <optional>
#include <string_view>
#include <utility>

#include "policy/nearest.h"
#include "policy/policy_file.h"
#include "policy/words.h"

namespace refrain::policy {

namespace {

std::string wrong_value(std::string_view variable, std::string_view expected, std::string_view found) {
  return fmt::format("{}: expected {}, found \"{}\"", variable, expected, printable(found, 60));
}

/// The first fault, and how to see the others.
std::string policy_line(const std::string& path, const ParseResult& result) {
  if (result.errors.empty()) return fmt::format("{}: not enough memory to read the policy", printable(path, 4096));
  std::string line = to_string(result.errors.front());
  if (result.errors.front().line == 0) line = "REFRAIN_POLICY: " + line;
  if (const std::size_t more = result.errors.size() - 1; more > 0) {
    line += fmt::format(" (and {} more: refrain check {})", more, printable(path, 4096));
  }
  return line;
}

void read_disable(const char* value, Environment& result) {
  if (value == nullptr) return;
  const std::string_view word(value);
  if (word == "0" || word == "false") return;
  result.disabled = true;
  if (word == "1" || word == "true") return;
  result.errors.push_back(wrong_value("REFRAIN_DISABLE", "0, 1, true or false", word) + "; Refrain is off");
}

std::optional<Mode> read_mode(const char* value, Environment& result) {
  if (value == nullptr) return std::nullopt;
  const std::optional<Mode> mode = mode_named(value);
  if (!mode) {
    std::string line = wrong_value("REFRAIN_MODE", "off, observe, replay or strict", value);
    const std::string_view meant = nearest(value, mode_words());
    if (!meant.empty()) line += fmt::format("; did you mean \"{}\"?", meant);
    result.errors.push_back(std::move(line));
  }
  return mode;
}

void read(const Lookup& lookup, Environment& result) {
  const char* policy = lookup("REFRAIN_POLICY");
  const char* mode_word = lookup("REFRAIN_MODE");
  result.wanted = policy != nullptr || mode_word != nullptr;
  read_disable(lookup("REFRAIN_DISABLE"), result);
  if (result.disabled || !result.wanted) return;
  const std::optional<Mode> mode = read_mode(mode_word, result);
  if (mode == Mode::off) return;
  const std::string path(policy != nullptr ? std::string_view(policy) : built_in_name);
  ParseResult loaded = load_policy(path);
  if (!loaded.ok) result.errors.push_back(policy_line(path, loaded));
  if (!result.errors.empty()) return;
  if (mode) loaded.settings.mode = *mode;
  if (const char* log = lookup("REFRAIN_LOG")) loaded.settings.log_path = log;
  result.settings = std::move(loaded.settings);
}

}  // namespace

Environment read_environment(const Lookup& lookup) noexcept {
  Environment result;
  result.settings.mode = Mode::off;
  try {
    read(lookup, result);
  } catch (...) {
    result.settings.mode = Mode::off;
  }
  return result;
}

}  // namespace refrain::policy
