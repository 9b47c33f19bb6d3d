// What went wrong where in a step. A loop looks the same in each of its turns; which one is the last, only the place in
// the step tells. Where a variant was left again and again, another one is tried there, or recorded.
//
// Owns:    a table of fixed size, 6 KiB: a place that is crowded out is learnt again.
// Threads: guarded by the lock of the lane's pass.
// Units:   a position counts the lane's operations since the step began; a structure is that of a whole sequence.
#pragma once

#include <array>
#include <cstdint>

namespace refrain::replay {

struct StepPlace {
  std::uint64_t position = 0;  ///< 0: the place is free
  std::uint64_t failed = 0;    ///< the structure that was left here
  std::uint64_t fits = 0;      ///< the one that was complete here after that; 0: none yet
  std::uint32_t failures = 0;  ///< in a row

  /// Whether a variant of this structure may begin here.
  bool allows(std::uint64_t structure) const noexcept {
    constexpr std::uint32_t often = 2;
    if (failures < often) return true;
    return fits != 0 ? structure == fits : structure != failed;
  }
};

class StepPlaces {
 public:
  /// nullptr when nothing went wrong at this position.
  const StepPlace* find(std::uint64_t position) const noexcept {
    const StepPlace& place = places_[position % places_.size()];
    return position != 0 && place.position == position ? &place : nullptr;
  }
  /// A variant of this structure began at the position and was left.
  void left(std::uint64_t position, std::uint64_t structure) noexcept {
    if (position == 0) return;
    StepPlace& place = places_[position % places_.size()];
    const bool again = place.position == position && place.failed == structure;
    place = {position, structure, 0, again ? place.failures + 1 : 1};
  }
  /// It was complete.
  void completed(std::uint64_t position, std::uint64_t structure) noexcept {
    StepPlace& place = places_[position % places_.size()];
    if (position == 0 || place.position != position) return;
    if (structure == place.failed) {
      place.failures = 0;
    } else {
      place.fits = structure;
    }
  }
  /// The steps are others now.
  void forget() noexcept { places_.fill({}); }

 private:
  std::array<StepPlace, 192> places_{};
};

}  // namespace refrain::replay
