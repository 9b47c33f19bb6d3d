// Which arm the job runs in: its steps are found, some of them run eagerly to be compared, and a job for which replay
// does not pay is left alone.
#include <mutex>
#include <new>
#include <utility>

#include "replay/engine_impl.h"

#include <fmt/format.h>

namespace refrain::replay {

namespace {

// A job that runs eagerly is looked at again after so long: until then its calls cost what a pass-through costs.
constexpr std::int64_t doze_ns = 10'000'000'000;

}  // namespace

// Called for every operation outside of ranges, with the lock of the lane's pass.
bool Engine::Impl::note_operation(OpenRegion& pass, std::uint64_t token) noexcept {
  constexpr std::uint64_t look = 1024;  // at what was replayed, once in so many operations
  const bool step_begins = pass.steps->operation(token);
  if (pass.steps->seen % look == 0 && governs && is_left_alone(pass)) return true;
  if (!step_begins) return false;
  if (!governs) {
    pass.steps->begin();
    return false;
  }
  const std::int64_t now = now_ns();
  ArmVerdict verdict;
  if (pace.step_begins(*pass.steps, now, builds_done.load(std::memory_order_relaxed), verdict)) log_verdict(verdict);
  if (pace.arm() == Arm::eager && pace.may_doze()) doze(now + doze_ns);
  return pace.arm() == Arm::eager;
}

void Engine::Impl::doze(std::int64_t until_ns) noexcept {
  doze_until.store(until_ns, std::memory_order_relaxed);
  dozes.store(true, std::memory_order_relaxed);
  automatic.store(false, std::memory_order_relaxed);
}

CallCounters Engine::Impl::automatic_counters() noexcept {
  CallCounters sum;
  for (std::size_t index = first_automatic; index < regions.size(); ++index) {
    const std::lock_guard guard(regions[index]->lock);
    sum += regions[index]->counters;
  }
  return sum;
}

// Where little of the work repeats, the look at each operation and what is recorded in vain only cost. The lane that
// has most of it tells how long a step is.
bool Engine::Impl::is_left_alone(OpenRegion& pass) noexcept {
  const CallCounters sum = automatic_counters();
  if (pass.steps->seen * 2 < sum.calls || !share_lock.try_lock()) return false;
  const std::int64_t now = now_ns();
  const StepFinder& finder = pass.steps->finder;
  const std::int64_t rest = share.rest_ns(now, sum.calls, sum.replayed, finder.lost() ? 0 : finder.period());
  share_lock.unlock();
  if (rest == 0) return false;
  doze(now + rest);
  Region& region = *pass.region;
  const std::lock_guard guard(region.lock);
  ++region.causes[static_cast<std::size_t>(capture::Reason::little_repeats)];
  try {
    log_fallback(region, 0, 0, capture::Reason::little_repeats,
                 fmt::format("eager for {:.1f} s", static_cast<double>(rest) * 1e-9));
  } catch (...) {  // counted all the same
  }
  return true;
}

void Engine::Impl::wake_when_due() noexcept {
  const std::int64_t now = now_ns();
  log_counters_when_due(now);  // no pass ends meanwhile
  if (now < doze_until.load(std::memory_order_relaxed) || !dozes.exchange(false, std::memory_order_acq_rel)) return;
  pace.wake(now);
  const CallCounters sum = automatic_counters();
  {
    const std::lock_guard guard(share_lock);
    share.rested(now, sum.calls, sum.replayed);
  }
  builds_pending.store(true, std::memory_order_release);
  automatic.store(true, std::memory_order_relaxed);
}

// The operations run eagerly from here on: what the lane held is issued, and no piece is followed or recorded.
void Engine::Impl::leave_piece(OpenRegion& pass) noexcept {
  if (pass.state == OpenRegion::State::choosing) return;
  Region& region = *pass.region;
  flush_pass(pass, capture::Reason::early_order, nullptr);
  {
    const std::lock_guard guard(region.lock);
    region.counters += pass.counters;
    region.last = nullptr;
    if (pass.variant != nullptr) release(region, *std::exchange(pass.variant, nullptr));
  }
  pass.recording = {};
  begin_piece(pass);
}

void Engine::Impl::log_verdict(const ArmVerdict& verdict) noexcept {
  if (log == nullptr) return;
  try {
    log->write(capture::VerdictRecord{"the job", verdict.arm == Arm::eager ? "eager" : "replay", verdict.eager_ms,
                                      verdict.replay_ms, verdict.ratio, verdict.cv_eager, verdict.cv_replay,
                                      verdict.pairs, verdict.steps_measured});
  } catch (...) {
  }
}

}  // namespace refrain::replay
