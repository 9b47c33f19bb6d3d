// Finds where a training step begins, from nothing but the order of operations: among contexts (trail.h) that come at
// even distances, the one with the largest is a place that comes once a step.
//
// Owns:    a table of candidates of fixed size, 12 KiB. Allocates nothing.
// Threads: one at a time; guarded by the caller, as the order of operations is.
// Units:   operations. A period is the number of operations from step to step.
// Fails:   where nothing comes at even distances no step is ever reported, and the search rests for longer and longer.
#pragma once

#include <array>
#include <cstdint>

namespace refrain::replay {

class StepFinder {
 public:
  /// An operation comes at this context. True when a step begins with it.
  bool operation(std::uint64_t context) noexcept {
    ++now_;
    if (context == marker_.context) [[unlikely]]
      return marker_came();
    if (now_ < due_) [[likely]]
      return false;
    return search(context);
  }
  /// Operations of a step, about; 0 while no step is known.
  std::uint64_t period() const noexcept { return marker_.period; }
  /// Counts the markers chosen and given up: what was known of steps is of another workload after it changed. It does
  /// not change over an interruption after which the marker comes again.
  std::uint64_t generation() const noexcept { return generation_; }
  /// No step is known, or none has begun for several periods.
  bool lost() const noexcept { return marker_.context == 0 || missing_ || now_ - marker_.last > marker_.patience; }

 private:
  /// A candidate. Indices count from the beginning of the search.
  struct Place {
    std::uint64_t context = 0;  ///< 0: the place is free
    std::uint32_t first = 0, last = 0;
    std::uint32_t gap = 0;            ///< from one occurrence to the next, as most of them were since `first`
    std::uint16_t even = 0, odd = 0;  ///< gaps that were about like that, and those that were not
  };
  struct Marker {
    std::uint64_t context = 0, period = 0;
    std::uint64_t since = 0, last = 0;
    std::uint64_t patience = 0;     ///< how long it may stay away
    std::uint64_t covered = 0;      ///< the sum of all even gaps since it was chosen
    std::uint64_t longest = 0;      ///< gap that was not even
    std::uint32_t odd_allowed = 8;  ///< in a row
    std::uint32_t even = 0, odd = 0, even_in_a_row = 0, odd_in_a_row = 0;
  };
  static constexpr unsigned table_bits = 9;

  bool marker_came() noexcept;
  bool search(std::uint64_t context) noexcept;
  /// It may still prove to be a loop within the step: the search goes on.
  bool young() const noexcept { return now_ - marker_.since < took_ * 16; }
  void begin_search() noexcept;
  void rest() noexcept;
  bool previous_came() noexcept;
  bool proven(const Place& place, std::uint32_t at) const noexcept;
  bool better(const Place& place) const noexcept;
  const Place* choose(std::uint32_t at) const noexcept;
  void take(const Place& place) noexcept;

  std::uint64_t now_ = 0;
  std::uint64_t due_ = 0;  ///< the index from which on every operation is looked at
  Marker marker_, previous_;
  bool searching_ = false, missing_ = false;
  std::uint64_t missing_since_ = 0;
  std::uint64_t generation_ = 0;
  std::uint64_t start_ = 0;         ///< of the search
  std::uint64_t demand_ = 1 << 13;  ///< operations that a search must have seen before it chooses
  std::uint64_t took_ = 0;          ///< operations of the search that found the marker
  std::uint64_t rest_ = 0;
  std::uint32_t next_choice_ = 0;
  std::array<Place, 1 << table_bits> places_{};
};

}  // namespace refrain::replay
