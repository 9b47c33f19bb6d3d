// Complete segments that the issue thread launches while the program goes on: patching a dozen nodes takes as long as
// the program takes for a few launches.
//
// What was handed over counts as held until it is on the stream: whatever must come after it launches it first, unless
// the issue thread is at it already; then it waits for that thread as it would for one inside the driver.
#include <mutex>

#include "replay/engine_impl.h"

namespace refrain::replay {

using capture::Reason;

namespace {

// The issue thread looks every 50 us, which the system makes 100, and needs a few dozen for a dozen nodes.
constexpr std::int64_t soon_ns = 200'000;

}  // namespace

bool Engine::Impl::hand_over(Lane& lane) noexcept {
  const std::uint32_t given = lane.given.load(std::memory_order_relaxed);
  const std::uint32_t waiting = given - lane.taken.load(std::memory_order_acquire);
  if (!settings.issue_thread || waiting == Lane::most_handed || drops()) return false;
  Variant& variant = *lane.held_variant;
  Segment& segment = variant.segment_of(lane.held_first);
  const std::int64_t since = lane.held_since.load(std::memory_order_relaxed);
  if (settings.issue_above_us != 0) {
    const std::int64_t took = now_ns() - since, count = segment.count;
    // The program is about to wait for the device: it would wait for the issue thread as well, and the device for both.
    const std::int64_t to_come = variant.sequence.size() - segment.first - count;
    if (variant.is_before_wait() && took * to_come < soon_ns * count) return false;
    // Behind another one it is handed over in any case: launching it here would have to wait for that.
    if (waiting == 0 && took < std::int64_t{settings.issue_above_us} * 1000 * count) return false;
  }
  if (!issuer.start()) return false;
  OpenRegion& pass = *lane.holder;
  // They are counted when they are launched.
  pass.counters.calls -= segment.count;
  pass.counters.held -= segment.count;
  segment.set_handed(true);
  variant.handed.fetch_add(1, std::memory_order_relaxed);
  lane.handed[given % Lane::most_handed] = {&variant, pass.region, segment.first, since};
  lane.given.store(given + 1, std::memory_order_seq_cst);
  segments_handed.fetch_add(1, std::memory_order_seq_cst);
  // The lane still holds: its share in lanes_holding goes over with the segment.
  lane.holder = nullptr;
  lane.held_variant = nullptr;
  lane.held_count.store(0, std::memory_order_release);
  issuer.work_begins();
  return true;
}

CUresult Engine::Impl::launch_handed(Lane& lane) noexcept {
  if (!lane.has_handed()) return CUDA_SUCCESS;
  const std::lock_guard guard(lane.issue_lock);
  return launch_handed_locked(lane);
}

CUresult Engine::Impl::launch_handed_locked(Lane& lane) noexcept {
  if (!lane.has_handed()) return CUDA_SUCCESS;
  const CurrentContext current(driver, lane.context);
  const Issuing inside(lane);
  CUresult first_error = CUDA_SUCCESS;
  while (lane.has_handed()) {
    const CUresult result = launch_oldest(lane);
    if (first_error == CUDA_SUCCESS) first_error = result;
  }
  return first_error;
}

CUresult Engine::Impl::launch_oldest(Lane& lane) noexcept {
  const HandedSegment one = lane.oldest_handed();
  Variant& variant = *one.variant;
  Segment& segment = variant.segment_of(one.first);
  const std::uint32_t count = segment.count;
  CallCounters done;
  done.calls = done.held = count;
  Reason reason{};
  CUresult error = launch_graph(lane, variant, segment, done.patched, reason);
  if (error == CUDA_SUCCESS) {
    done.replayed = count;
    done.graph_launches = 1;
  } else {
    fail_segment(*one.region, variant, segment, reason, error);
    error = issue_each(lane, variant, one.first, count);
    done.flushed = count;
    done.patched = 0;
    notice_error(error);
  }
  {
    const std::lock_guard guard(one.region->lock);
    one.region->counters += done;
    // A pass that ended meanwhile saw it built.
    if (segment.state == Segment::State::waits) {
      variant.pending = true;
      builds_pending.store(true, std::memory_order_release);
    }
    segment.set_handed(false);
    const bool was_last = variant.handed.fetch_sub(1, std::memory_order_acq_rel) == 1;
    if (was_last && variant.dropped && !variant.busy) erase_dropped(*one.region);
  }
  lane.taken.fetch_add(1, std::memory_order_release);
  segments_handed.fetch_sub(1, std::memory_order_relaxed);
  if (lane.kind == StreamKind::blocking) lane.shared->blocking_holding.fetch_sub(1, std::memory_order_relaxed);
  if (lane.kind == StreamKind::legacy) lane.shared->legacy_holding.fetch_sub(1, std::memory_order_relaxed);
  lanes_holding.fetch_sub(1, std::memory_order_release);
  return error;
}

void Engine::Impl::launch_handed_of(OpenRegion& pass) noexcept {
  for (std::uint16_t role = 0; role < pass.role_count; ++role) {
    Lane& lane = *pass.roles[role];
    if (!lane.has_handed()) continue;
    const std::lock_guard guard(lane.lock);
    keep_error(launch_handed(lane));
  }
}

void Engine::Impl::launch_handed_before(Lane& lane, std::int64_t deadline) noexcept {
  if (!lane.issue_lock.try_lock()) return;
  if (lane.has_handed() && lane.oldest_handed().since <= deadline) {
    // This thread has no context of its own; without one the driver would refuse the calls. They wait then.
    const CurrentContext current(driver, lane.context);
    if (!current.refused()) keep_error(launch_handed_locked(lane));
  }
  lane.issue_lock.unlock();
}

bool Engine::Impl::issue_handed(void* self, std::int64_t) noexcept {
  Impl& impl = *static_cast<Impl*>(self);
  if (impl.segments_handed.load(std::memory_order_seq_cst) == 0) return false;
  const std::int64_t now = now_ns();
  impl.lanes.for_each([](const Lane& lane) { return lane.has_handed(); },
                      [&](Lane& lane) { impl.launch_handed_before(lane, now); });
  return true;
}

}  // namespace refrain::replay
