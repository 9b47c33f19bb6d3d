// Which arm the job runs in: its steps are found, some of them run eagerly to be compared, and a job for which replay
// does not pay is left alone.
#include <mutex>
#include <new>
#include <utility>

#include "replay/engine_impl.h"

namespace refrain::replay {

namespace {

// A job that runs eagerly is looked at again after so long: until then its calls cost what a pass-through costs.
constexpr std::int64_t doze_ns = 10'000'000'000;

}  // namespace

// Called for every operation outside of ranges, with the lock of the lane's pass.
void Engine::Impl::note_operation(OpenRegion& pass, std::uint64_t token) noexcept {
  if (!pass.steps->operation(token)) return;
  if (!governs) {
    pass.steps->begin();
    return;
  }
  const std::int64_t now = now_ns();
  ArmVerdict verdict;
  if (pace.step_begins(*pass.steps, now, builds_done.load(std::memory_order_relaxed), verdict)) log_verdict(verdict);
  if (pace.arm() == Arm::replay || !pace.may_doze()) return;
  doze_until.store(now + doze_ns, std::memory_order_relaxed);
  dozes.store(true, std::memory_order_relaxed);
  automatic.store(false, std::memory_order_relaxed);
}

void Engine::Impl::wake_when_due() noexcept {
  const std::int64_t now = now_ns();
  if (now < doze_until.load(std::memory_order_relaxed) || !dozes.exchange(false, std::memory_order_acq_rel)) return;
  pace.wake(now);
  automatic.store(true, std::memory_order_relaxed);
}

// The job runs eagerly from here on: what the lane held is issued, and no piece is followed or recorded.
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
