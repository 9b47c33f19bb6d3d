// The pace of the job: where its steps begin, and in which arm they run (governor.h).
//
// Every lane's operations are followed by a finder of their own; the steps of the lane that has most operations are the
// job's. All lanes run in one arm.
//
// Owns:    the governor.
// Threads: arm() by any thread. step_begins() by the thread that has the lane's pass; one lock, taken once a step.
// Units:   nanoseconds of CLOCK_MONOTONIC.
// Fails:   never; where no step is found everything is replayed.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "replay/governor.h"
#include "replay/lock.h"
#include "replay/step_finder.h"
#include "replay/step_places.h"

namespace refrain::replay {

/// Whether the variant may begin at a place of the step; `in_step`: what went wrong there, or nullptr.
template <typename AnyVariant>
bool may_begin(const StepPlace* in_step, const AnyVariant& variant) noexcept {
  return in_step == nullptr || in_step->allows(variant.structure());
}

/// The operations of one lane.
struct LaneSteps {
  StepFinder finder;
  std::uint64_t context = 0;     ///< the last six operations: each moves those before it by eleven bits
  std::uint64_t generation = 0;  ///< of the finder, at the last step
  std::uint64_t operations = 0;  ///< since the last step, and
  std::uint64_t seen = 0;        ///< since the beginning
  StepPlaces places;

  /// Where the operation that comes now is in its step, from 1; 0 when that is not known.
  std::uint64_t position() const noexcept { return finder.lost() ? 0 : operations; }
  struct Step {
    std::uint64_t operations;
    bool other;  ///< than those before: another marker
  };
  Step begin() noexcept {
    const bool other = std::exchange(generation, finder.generation()) != finder.generation();
    if (other) places.forget();
    return {std::exchange(operations, 0), other};
  }
  /// True when a step begins with this operation. `token`: one word for what it does.
  bool operation(std::uint64_t token) noexcept {
    ++operations;
    ++seen;
    context = (context << 11) ^ token;
    return finder.operation(context);
  }
};

class Pace {
 public:
  Arm arm() const noexcept { return arm_.load(std::memory_order_relaxed); }
  /// A step begins on a lane. `builds`: how many graphs have been built so far. True when there is a new verdict.
  bool step_begins(LaneSteps& lane, std::int64_t now_ns, std::uint64_t builds, ArmVerdict& verdict) noexcept;
  /// The last verdict; false while there is none.
  bool verdict(ArmVerdict& out) noexcept;
  /// True when the job runs eagerly and needs no watching for a while: until wake() nothing need be told.
  bool may_doze() noexcept;
  void wake(std::int64_t now_ns) noexcept;

 private:
  static constexpr std::uint32_t steps_awake = 160;  ///< enough for the governor to see that the job has changed
  static constexpr std::uint32_t most_steps_of_others = 64;  ///< the watched lane has gone silent

  std::atomic<Arm> arm_{Arm::replay};
  Lock lock_;
  Governor governor_;
  const LaneSteps* watched_ = nullptr;
  std::uint64_t watched_operations_ = 0;  ///< of a step of the lane that is watched
  std::uint64_t builds_ = 0;
  std::uint32_t measurements_ = 0;
  std::uint32_t steps_of_others_ = 0;  ///< on other lanes, since the last step of the one that is watched
  std::uint32_t awake_ = 0;
};

}  // namespace refrain::replay
