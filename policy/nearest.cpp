#include "policy/nearest.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace refrain::policy {

namespace {

constexpr std::size_t longest = 64;

char folded(char c) noexcept {
  if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  return c == '-' ? '_' : c;
}

/// Letters to insert, delete, replace or swap with their neighbour to turn `a` into `b`; both at most `longest` long.
std::size_t distance(std::string_view a, std::string_view b) noexcept {
  using Row = std::array<std::size_t, longest + 1>;
  Row before_last{};
  Row last{};
  Row current{};
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = folded(a[i - 1]) == folded(b[j - 1]);
      current[j] = std::min({last[j] + 1, current[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      const bool swapped =
          i > 1 && j > 1 && folded(a[i - 1]) == folded(b[j - 2]) && folded(a[i - 2]) == folded(b[j - 1]);
      if (swapped) current[j] = std::min(current[j], before_last[j - 2] + 1);
    }
    before_last = last;
    last = current;
  }
  return last[b.size()];
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) noexcept {
  word = word.substr(0, longest);
  std::string_view best;
  std::size_t best_distance = longest + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t limit = std::max<std::size_t>(1, std::max(word.size(), candidate.size()) / 3);
    std::size_t cost = distance(word, candidate.substr(0, longest));
    // "max_variants" means "variants" although many letters differ.
    const bool contained = candidate.size() >= 4 && word.find(candidate) != std::string_view::npos;
    if (contained) cost = std::min(cost, limit);
    if (cost > limit || cost >= std::max(word.size(), candidate.size()) || cost >= best_distance) continue;
    best = candidate;
    best_distance = cost;
  }
  return best;
}

}  // namespace refrain::policy
