// Whether enough of the work repeats for a look at each operation to pay. A job whose shapes change in every step is
// recorded again and again, and little of it is ever replayed: it is left alone for a while, and looked at again.
//
// Owns:    the counts at the begin of a window.
// Threads: one at a time; guarded by the caller.
// Units:   operations; nanoseconds of a monotonic clock.
#pragma once

#include <algorithm>
#include <cstdint>

namespace refrain::replay {

class ReplayShare {
 public:
  /// How long the job shall be left alone from now on; 0: not at all. `seen` and `replayed`: operations since the
  /// start. `period`: operations of a step, 0 while that is not known.
  std::int64_t rest_ns(std::int64_t now_ns, std::uint64_t seen, std::uint64_t replayed, std::uint64_t period) noexcept {
    if (began_ns_ == 0) begin(now_ns, seen, replayed);
    // Operations are recorded where they come for the third time, and replayed some steps later. A look costs, so the
    // next ones are shorter.
    const std::uint64_t steps = std::max(std::min(period * many_steps, most), period * few_steps);
    if (seen - seen_ < (period != 0 ? std::max(steps, least) : unknown) >> (rests_ != 0)) return 0;
    const std::int64_t took = now_ns - began_ns_;
    const bool enough = (replayed - replayed_) * wanted >= seen - seen_;
    begin(now_ns, seen, replayed);
    const int times = std::min(rests_ + (rests_ != 0 ? 3 : 2), most_times);  // 4, then 16, 32 and 64 times as long
    rests_ = enough ? 0 : std::min(rests_ + 1, most_times);
    if (enough) return 0;
    return std::min(took << times, std::max(longest_ns, took * 8));
  }
  /// The job was left alone until now.
  void rested(std::int64_t now_ns, std::uint64_t seen, std::uint64_t replayed) noexcept {
    begin(now_ns, seen, replayed);
  }

 private:
  // One operation in so many. Of a job that replays one in six, a step was 6 % slower while it was looked at (GPU); of
  // one that replays half, in short pieces, it takes as long as eagerly at best (simulated driver).
  // docs/measurements.md
  static constexpr std::uint64_t wanted = 4;
  static constexpr std::uint64_t many_steps = 64, few_steps = 8;
  static constexpr std::uint64_t least = 1 << 12, most = 1 << 17, unknown = 1 << 20;
  static constexpr int most_times = 6;
  static constexpr std::int64_t longest_ns = 60'000'000'000;

  void begin(std::int64_t now_ns, std::uint64_t seen, std::uint64_t replayed) noexcept {
    began_ns_ = now_ns;
    seen_ = seen;
    replayed_ = replayed;
  }

  std::int64_t began_ns_ = 0;
  std::uint64_t seen_ = 0, replayed_ = 0;
  int rests_ = 0;  ///< in a row
};

}  // namespace refrain::replay
