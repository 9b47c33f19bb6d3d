// Whether paired times differ by more than chance: Wilcoxon's signed-rank test on the logarithms of their ratios. It
// asks no more of the noise than that it is alike in both arms, and needs fewer pairs than a sign test.
//
// Owns:    nothing.
// Threads: any.
// Units:   none.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

namespace refrain::replay {

/// How far the ratios lie above 1, negative: below, in standard deviations of what chance gives. Overwrites them.
inline double signed_rank(std::span<float> ratios) noexcept {
  for (float& ratio : ratios) {
    ratio = std::log(ratio);
    if (!std::isfinite(ratio)) ratio = 0;
  }
  std::ranges::sort(ratios, {}, [](float value) { return std::fabs(value); });
  double above = 0;
  for (std::size_t index = 0; index < ratios.size(); ++index) {
    const auto rank = static_cast<double>(index + 1);
    above += ratios[index] > 0 ? rank : ratios[index] < 0 ? 0 : rank / 2;
  }
  const auto count = static_cast<double>(ratios.size());
  const double usual = count * (count + 1) / 4;
  return count == 0 ? 0 : (above - usual) / std::sqrt(usual * (2 * count + 1) / 6);
}

}  // namespace refrain::replay
