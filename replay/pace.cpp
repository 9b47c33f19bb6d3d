#include "replay/pace.h"

#include <mutex>
#include <utility>

namespace refrain::replay {

bool Pace::step_begins(LaneSteps& lane, std::int64_t now_ns, std::uint64_t builds, ArmVerdict& verdict) noexcept {
  const auto [operations, other_steps] = lane.begin();
  const std::lock_guard guard(lock_);
  if (watched_ != &lane) {
    const bool is_busier = operations >= 2 * watched_operations_;
    if (watched_ != nullptr && !is_busier && ++steps_of_others_ < most_steps_of_others) return false;
    if (watched_ != nullptr) governor_.workload_changed();
    watched_ = &lane;
  } else if (other_steps) {
    governor_.workload_changed();
  }
  watched_operations_ = operations;
  steps_of_others_ = 0;
  ++awake_;
  arm_.store(governor_.step(now_ns, std::exchange(builds_, builds) != builds), std::memory_order_relaxed);
  verdict = governor_.verdict();
  return std::exchange(measurements_, verdict.measurements) != verdict.measurements;
}

bool Pace::verdict(ArmVerdict& out) noexcept {
  const std::lock_guard guard(lock_);
  out = governor_.verdict();
  return out.measurements != 0;
}

bool Pace::may_doze() noexcept {
  const std::lock_guard guard(lock_);
  return awake_ >= steps_awake && arm() == Arm::eager && governor_.watches();
}

void Pace::wake(std::int64_t now_ns) noexcept {
  const std::lock_guard guard(lock_);
  awake_ = 0;
  governor_.slept(now_ns);
}

}  // namespace refrain::replay
