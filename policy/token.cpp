#include "policy/token.h"

#include <algorithm>

namespace refrain::policy {

namespace {

constexpr std::string_view white_space = " \t\r\n";
constexpr std::string_view word_characters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+-._";

std::size_t first_other(std::string_view text, std::string_view skipped, std::size_t at) noexcept {
  return std::min(text.find_first_not_of(skipped, at), text.size());
}

}  // namespace

std::size_t skip_separators(std::string_view text, std::size_t at) noexcept {
  return first_other(text, " \t\r\n,:", at);
}

std::size_t token_end(std::string_view text, std::size_t at) noexcept {
  if (at >= text.size()) return text.size();
  if (text[at] == '"') {
    for (std::size_t i = at + 1; i < text.size(); ++i) {
      if (text[i] == '\\') {
        ++i;
      } else if (text[i] == '"') {
        return i + 1;
      }
    }
    return text.size();
  }
  return std::max(at + 1, first_other(text, word_characters, at));
}

std::size_t token_that_reaches(std::string_view text, std::size_t at, std::size_t position) noexcept {
  while (true) {
    const std::size_t start = first_other(text, white_space, at);
    if (start == text.size()) return start;
    const std::size_t end = token_end(text, start);
    if (end >= position) return start;
    at = end;
  }
}

}  // namespace refrain::policy
