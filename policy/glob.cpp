#include "policy/glob.h"

#include <cstddef>

#include "policy/selector.h"

namespace refrain::policy {

namespace {

struct Character {
  char32_t code;
  std::size_t bytes;
};

/// The character at `at`. A byte that is not part of valid UTF-8 counts as a character of its own, unequal to any
/// other.
Character character_at(std::string_view text, std::size_t at) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  if (lead < 0x80) return {lead, 1};
  const Character alone{static_cast<char32_t>(0x110000 + lead), 1};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || at + bytes > text.size()) return alone;
  char32_t code = lead & (0x7Fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return alone;
    code = (code << 6) | (byte(at + i) & 0x3Fu);
  }
  return {code, bytes};
}

/// A bracket expression, read once: whether it is well formed, and whether `code` is one of its characters.
struct Bracket {
  bool closed = false;
  bool descending = false;  ///< has a range such as z-a, which no character is in
  bool contains = false;
  std::size_t next = 0;  ///< offset after the closing bracket
};

char32_t bracket_character(std::string_view pattern, std::size_t& at) noexcept {
  if (pattern[at] == '\\' && at + 1 < pattern.size()) ++at;
  const Character character = character_at(pattern, at);
  at += character.bytes;
  return character.code;
}

Bracket read_bracket(std::string_view pattern, std::size_t at, char32_t code) noexcept {
  Bracket result;
  ++at;
  const bool negated = at < pattern.size() && pattern[at] == '!';
  if (negated) ++at;
  bool contains = false;
  for (bool first = true; at < pattern.size(); first = false) {
    if (pattern[at] == ']' && !first) {
      result.closed = true;
      result.contains = contains != negated;
      result.next = at + 1;
      return result;
    }
    const char32_t low = bracket_character(pattern, at);
    char32_t high = low;
    if (at + 1 < pattern.size() && pattern[at] == '-' && pattern[at + 1] != ']') {
      ++at;
      high = bracket_character(pattern, at);
    }
    if (high < low) result.descending = true;
    if (low <= code && code <= high) contains = true;
  }
  result.next = pattern.size();
  return result;
}

struct Step {
  bool matched;
  std::size_t next;
};

/// Compares the element at `at`, which is not `*`, with one character.
Step match_one(std::string_view pattern, std::size_t at, char32_t code) noexcept {
  if (pattern[at] == '?') return {true, at + 1};
  if (pattern[at] == '[') {
    const Bracket bracket = read_bracket(pattern, at, code);
    return {bracket.closed && bracket.contains, bracket.next};
  }
  if (pattern[at] == '\\' && at + 1 < pattern.size()) ++at;
  const Character wanted = character_at(pattern, at);
  return {wanted.code == code, at + wanted.bytes};
}

}  // namespace

bool matches(std::string_view pattern, std::string_view text) noexcept {
  constexpr std::size_t none = std::string_view::npos;
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t after_star = none;  // only the last star ever needs to give way, so there is one place to return to
  std::size_t star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      after_star = ++p;
      if (p == pattern.size()) return true;
      star_text = t;
      continue;
    }
    const Character character = character_at(text, t);
    if (p < pattern.size()) {
      const Step step = match_one(pattern, p, character.code);
      if (step.matched) {
        p = step.next;
        t += character.bytes;
        continue;
      }
    }
    if (after_star == none) return false;
    p = after_star;
    star_text += character_at(text, star_text).bytes;
    t = star_text;
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

const char* glob_fault(std::string_view pattern) noexcept {
  for (std::size_t at = 0; at < pattern.size();) {
    if (pattern[at] == '\\') {
      if (at + 1 == pattern.size()) return "a backslash with nothing after it";
      at += 2;
    } else if (pattern[at] == '[') {
      // [^a] excludes in some globs and includes in others: refused, so that nobody gets the opposite of his wish.
      if (at + 1 < pattern.size() && pattern[at + 1] == '^') return "[^ (write [! to exclude, [\\^ for the character)";
      const Bracket bracket = read_bracket(pattern, at, 0);
      if (!bracket.closed) return "a bracket [ that is not closed";
      if (bracket.descending) return "a range in brackets that runs backwards";
      at = bracket.next;
    } else {
      ++at;
    }
  }
  return nullptr;
}

bool matches_everything(std::string_view pattern) noexcept {
  return !pattern.empty() && pattern.find_first_not_of('*') == std::string_view::npos;
}

}  // namespace refrain::policy
