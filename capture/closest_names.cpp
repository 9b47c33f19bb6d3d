#include "capture/closest_names.h"

#include <algorithm>
#include <array>
#include <utility>

namespace refrain::capture {
namespace {

constexpr std::size_t most_characters = 128;

char lower(char character) noexcept {
  return character >= 'A' && character <= 'Z' ? static_cast<char>(character - 'A' + 'a') : character;
}

/// One element of a glob.
struct Element {
  enum class Kind { character, any_one, any_text } kind;
  char character;
};

/// Takes the next element off `pattern`, which is not empty.
Element next(std::string_view& pattern) noexcept {
  const char first = pattern.front();
  pattern.remove_prefix(1);
  if (first == '*') return {Element::Kind::any_text, '\0'};
  if (first == '?') return {Element::Kind::any_one, '\0'};
  if (first == '[') {
    if (const std::size_t end = pattern.find(']', 1); end != std::string_view::npos) {
      pattern.remove_prefix(end + 1);
      return {Element::Kind::any_one, '\0'};
    }
  }
  if (first == '\\' && !pattern.empty()) {
    const char escaped = pattern.front();
    pattern.remove_prefix(1);
    return {Element::Kind::character, lower(escaped)};
  }
  return {Element::Kind::character, lower(first)};
}

}  // namespace

std::size_t distance(std::string_view pattern, std::string_view name) noexcept {
  name = name.substr(0, most_characters);
  // costs[n]: the distance of the elements so far to the first n characters of the name.
  std::array<std::size_t, most_characters + 1> costs{};
  for (std::size_t n = 0; n <= name.size(); ++n) costs[n] = n;
  for (std::size_t elements = 0; !pattern.empty() && elements < most_characters; ++elements) {
    const Element element = next(pattern);
    std::size_t diagonal = costs[0];
    if (element.kind != Element::Kind::any_text) ++costs[0];
    for (std::size_t n = 1; n <= name.size(); ++n) {
      const std::size_t above = costs[n];
      if (element.kind == Element::Kind::any_text) {
        costs[n] = std::min(above, costs[n - 1]);
      } else {
        const bool same = element.kind == Element::Kind::any_one || element.character == lower(name[n - 1]);
        costs[n] = std::min({diagonal + (same ? 0 : 1), above + 1, costs[n - 1] + 1});
      }
      diagonal = above;
    }
  }
  return costs[name.size()];
}

std::vector<std::string> closest(std::string_view pattern, const std::vector<std::string>& names, std::size_t most) {
  std::vector<std::pair<std::size_t, std::string>> ranked;
  ranked.reserve(names.size());
  for (const std::string& name : names) ranked.emplace_back(distance(pattern, name), name);
  std::sort(ranked.begin(), ranked.end());
  ranked.erase(std::unique(ranked.begin(), ranked.end()), ranked.end());
  std::vector<std::string> result;
  for (std::size_t index = 0; index < std::min(most, ranked.size()); ++index) {
    result.push_back(std::move(ranked[index].second));
  }
  return result;
}

}  // namespace refrain::capture
