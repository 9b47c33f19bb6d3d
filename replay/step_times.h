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

/// All of them count: where a step is short because the one after it waits, only their sum says how long they took.
/// Longer ones than `longest` are left out.
inline double mean(std::span<const std::int64_t> times, std::int64_t longest) noexcept {
  double sum = 0, count = 0;
  for (const std::int64_t time : times) {
    if (time > longest) continue;
    sum += static_cast<double>(time);
    ++count;
  }
  return count > 0 ? sum / count : static_cast<double>(longest);
}

/// The coefficient of variation of what `count` steps in a row take together. At least two such sums must be there.
inline double variation_of_sums(std::span<const std::int64_t> times, std::size_t count, std::int64_t longest) noexcept {
  double sum = 0, squares = 0;
  const std::size_t sums = times.size() / count;
  for (std::size_t index = 0; index < sums; ++index) {
    const double one = mean(times.subspan(index * count, count), longest);
    sum += one;
    squares += one * one;
  }
  const auto all = static_cast<double>(sums);
  const double variance = (squares - sum * sum / all) / (all - 1);
  return variance <= 0 ? 0 : std::sqrt(variance) * all / sum;
}

/// Sorts the values.
inline double median(std::span<float> values) noexcept {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return (static_cast<double>(values[(values.size() - 1) / 2]) + static_cast<double>(values[values.size() / 2])) / 2;
}

}  // namespace refrain::replay
