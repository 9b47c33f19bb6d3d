// What a few times of steps say, whatever the odd one among them.
//
// Owns:    nothing.
// Threads: any.
// Units:   nanoseconds in and out; variations are shares of the mean.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

namespace refrain::replay {

/// Sorts the times. The mean of the middle half. With an even number of steps it takes as many short as long ones where
/// they alternate, and nothing of a step that saved a checkpoint.
inline double middle(std::span<std::int64_t> times) noexcept {
  std::ranges::sort(times);
  const std::size_t quarter = times.size() / 4;
  double sum = 0;
  for (const std::int64_t time : times.subspan(quarter, times.size() - 2 * quarter)) sum += static_cast<double>(time);
  return std::max(1.0, sum / static_cast<double>(times.size() - 2 * quarter));
}

/// The coefficient of variation.
inline double variation(std::span<const std::int64_t> times) noexcept {
  double sum = 0, squares = 0;
  for (const std::int64_t time : times) {
    sum += static_cast<double>(time);
    squares += static_cast<double>(time) * static_cast<double>(time);
  }
  const auto count = static_cast<double>(times.size());
  const double variance = (squares - sum * sum / count) / (count - 1);
  return variance <= 0 ? 0 : std::sqrt(variance) * count / sum;
}

/// The same from the middle half alone, as if it were normal. The times must be sorted.
inline double middle_variation(std::span<const std::int64_t> sorted) noexcept {
  const std::size_t quarter = sorted.size() / 4;
  const auto spread = static_cast<double>(sorted[sorted.size() - 1 - quarter] - sorted[quarter]);
  return spread / 1.35 / std::max(1.0, static_cast<double>(sorted[sorted.size() / 2]));
}

/// Sorts the values.
inline double median(std::span<float> values) noexcept {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return (static_cast<double>(values[(values.size() - 1) / 2]) + static_cast<double>(values[values.size() / 2])) / 2;
}

}  // namespace refrain::replay
