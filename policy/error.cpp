#include "policy/error.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace refrain::policy {

namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

constexpr bool continues_character(char c) noexcept { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

std::string to_string(const PolicyError& error) {
  std::string line = printable(error.file, 4096);
  if (error.line != 0) line += fmt::format(":{}:{}", error.line, error.column);
  if (!error.key.empty()) line += ": " + error.key;
  line += fmt::format(": expected {}, found {}", error.expected, error.found);
  if (!error.nearest.empty()) line += fmt::format("; did you mean \"{}\"?", error.nearest);
  return line;
}

std::string printable(std::string_view text, std::size_t limit) {
  const bool cut = text.size() > limit;
  if (cut) {
    while (limit > 0 && continues_character(text[limit])) --limit;
    text = text.substr(0, limit);
  }
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      result += fmt::format("\\x{:02x}", byte);
    } else {
      result += c;
    }
  }
  if (cut) result += "...";
  return result;
}

void ErrorList::add(std::size_t offset, std::string key, std::string expected, std::string found, std::string nearest) {
  if (full()) return;
  const std::string_view before = text_.substr(0, std::min(offset, text_.size()));
  const std::size_t newline = before.rfind('\n');
  std::string_view on_line = newline == std::string_view::npos ? before : before.substr(newline + 1);
  if (newline == std::string_view::npos && on_line.starts_with(byte_order_mark)) {
    on_line.remove_prefix(byte_order_mark.size());
  }
  PolicyError error;
  error.file = file_;
  error.line = 1 + static_cast<unsigned>(std::count(before.begin(), before.end(), '\n'));
  error.column = 1 + static_cast<unsigned>(
                         std::count_if(on_line.begin(), on_line.end(), [](char c) { return !continues_character(c); }));
  error.key = std::move(key);
  error.expected = std::move(expected);
  error.found = std::move(found);
  error.nearest = std::move(nearest);
  errors_.push_back(std::move(error));
}

std::vector<PolicyError> ErrorList::take() {
  std::stable_sort(errors_.begin(), errors_.end(), [](const PolicyError& a, const PolicyError& b) {
    return std::tie(a.line, a.column) < std::tie(b.line, b.column);
  });
  return std::exchange(errors_, {});
}

}  // namespace refrain::policy
