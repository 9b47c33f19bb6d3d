// When a region is taken off holding for a while: its held calls had to be issued by the timer again and again, so the
// program waits for the device there in a way that makes no call, or is too slow for a launch to matter.
//
// Owns:    three numbers of a region.
// Threads: guarded by the region's lock.
// Units:   passes of the region.
#pragma once

#include <algorithm>
#include <cstdint>

namespace refrain::replay {

class Rest {
 public:
  /// The timer issued what the region held. True when the region rests from here on.
  bool timer_was_needed(std::uint64_t pass) noexcept {
    const std::uint64_t calm = pass > last_ ? pass - last_ : 0;
    last_ = pass;
    expiries_ -= static_cast<std::uint32_t>(std::min<std::uint64_t>(expiries_, calm / calm_passes));
    if (calm > length_ * calm_passes) length_ = shortest;
    if (++expiries_ < most_expiries) return false;
    expiries_ = 0;
    until_ = pass + length_;
    length_ = std::min(length_ * 2, longest);
    return true;
  }
  bool rests(std::uint64_t pass) const noexcept { return pass <= until_; }
  std::uint64_t until() const noexcept { return until_; }

 private:
  // Each expiry costs the program max_hold_us at most. So many together cost it little once; resting longer each time
  // makes that less than any share of a long run.
  static constexpr std::uint32_t most_expiries = 8;
  static constexpr std::uint64_t calm_passes = 16;  ///< without an expiry, for which one is forgiven
  static constexpr std::uint64_t shortest = 64, longest = 1 << 20;

  std::uint32_t expiries_ = 0;
  std::uint64_t last_ = 0, until_ = 0, length_ = shortest;
};

}  // namespace refrain::replay
