// How fast the program makes the operations that are recorded: what is held of a slow program waits for long.
//
// Owns:    the times between the operations of one recording.
// Threads: one at a time; guarded by the lock of the pass.
// Units:   nanoseconds of CLOCK_MONOTONIC.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace refrain::replay {

class RecordingPace {
 public:
  void clear() noexcept {
    last_ = 0;
    gaps_.clear();
  }
  /// An operation was recorded. May throw std::bad_alloc.
  void operation(std::int64_t now) {
    if (last_ != 0) gaps_.push_back(std::max<std::int64_t>(now - last_, 0));
    last_ = now;
  }
  /// The usual time between two operations, the eager launch included; 0 with fewer than two. A first step loads code
  /// and allocates memory here and there: the longest tenth of the times does not count.
  std::int64_t usual_ns() noexcept {
    if (gaps_.empty()) return 0;
    const auto kept = static_cast<std::ptrdiff_t>(std::max<std::size_t>(gaps_.size() - (gaps_.size() + 9) / 10, 1));
    std::nth_element(gaps_.begin(), gaps_.begin() + kept - 1, gaps_.end());
    return std::accumulate(gaps_.begin(), gaps_.begin() + kept, std::int64_t{0}) / kept;
  }

 private:
  std::int64_t last_ = 0;
  std::vector<std::int64_t> gaps_;
};

}  // namespace refrain::replay
