// How deeply a JSON text is nested, before it is parsed: what walks a parsed value recurses once a level.
#pragma once

#include <cstddef>
#include <string_view>

namespace refrain::capture {

/// Texts nested deeper are refused; the log itself needs 5 levels, and the policy inside the header a few more.
inline constexpr std::size_t deepest_json = 64;

constexpr std::size_t json_depth(std::string_view text) noexcept {
  std::size_t depth = 0, deepest = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char character = text[at];
    if (in_string) {
      if (character == '\\') ++at;
      if (character == '"') in_string = false;
      continue;
    }
    if (character == '"') in_string = true;
    if (character == '[' || character == '{') deepest = ++depth > deepest ? depth : deepest;
    if ((character == ']' || character == '}') && depth > 0) --depth;
  }
  return deepest;
}

}  // namespace refrain::capture
