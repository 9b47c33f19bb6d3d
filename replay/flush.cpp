// Issuing what a lane holds: as one graph when its segment is complete, one by one otherwise.
#include <algorithm>
#include <ctime>
#include <iterator>
#include <mutex>
#include <utility>

#include "replay/engine_impl.h"
#include "replay/issue.h"
#include "replay/planted_bug.h"

#include <fmt/format.h>

namespace refrain::replay {

using capture::Reason;

void Engine::Impl::end_hold(Lane& lane) noexcept {
  lane.holder = nullptr;
  lane.held_variant = nullptr;
  lane.held_count.store(0, std::memory_order_release);
  if (lane.kind == StreamKind::blocking) lane.shared->blocking_holding.fetch_sub(1, std::memory_order_relaxed);
  if (lane.kind == StreamKind::legacy) lane.shared->legacy_holding.fetch_sub(1, std::memory_order_relaxed);
  lanes_holding.fetch_sub(1, std::memory_order_release);
}

// The segment is complete: patch what changed, launch the graph. Any failure ends in the calls issued one by one.
CUresult Engine::Impl::launch_locked(Lane& lane) noexcept {
  Variant& variant = *lane.held_variant;
  Segment& segment = variant.segment_of(lane.held_first);
  OpenRegion& pass = *lane.holder;
  const std::uint64_t generation = memory_generation.load(std::memory_order_acquire);
  if (segment.memory_generation != generation) {
    variant.mark_addresses_changed(segment);
    segment.memory_generation = generation;
  }
  if (segment.interruptions != 0) --segment.interruptions;
  ++segment.launches;
  if (hand_over(lane)) return CUDA_SUCCESS;
  const CUresult before = launch_handed(lane);
  std::uint64_t patched = 0;
  Reason reason{};
  CUresult result = CUDA_SUCCESS;
  {
    const Issuing inside(lane);
    result = launch_graph(lane, variant, segment, patched, reason);
  }
  if (result == CUDA_SUCCESS) {
    pass.counters.replayed += segment.count;
    pass.counters.patched += patched;
    ++pass.counters.graph_launches;
    end_hold(lane);
    return before;
  }
  fail_segment(*pass.region, variant, segment, reason, result);
  const CUresult flushed = flush_locked(lane, reason, nullptr);
  return before != CUDA_SUCCESS ? before : flushed;
}

CUresult Engine::Impl::launch_graph(Lane& lane, Variant& variant, Segment& segment, std::uint64_t& patched,
                                    Reason& reason) noexcept {
  const bool dropped = drops();
  CUresult result = segment.changed != 0 && !dropped ? patch(driver, variant, segment, patched) : CUDA_SUCCESS;
  reason = result != CUDA_SUCCESS ? Reason::graph_patch_failed : Reason::graph_launch_failed;
  if (result == CUDA_SUCCESS && !dropped) result = driver.cuGraphLaunch(segment.exec, lane.stream);
  if (result == CUDA_SUCCESS) segment.last_stream = lane.stream;
  return result;
}

CUresult Engine::Impl::issue_each(Lane& lane, Variant& variant, std::uint32_t first, std::uint32_t count) noexcept {
  CUresult first_error = CUDA_SUCCESS;
  const CurrentContext current(driver, lane.context);
  for (std::uint32_t index = first; index < first + count && !drops(); ++index) {
    const CUresult result = issue(driver, variant.sequence, variant.sequence.operations[index], lane.stream);
    if (first_error == CUDA_SUCCESS) first_error = result;
  }
  return first_error;
}

namespace {

// cuda.h: "This leaves the process in an inconsistent state and any further CUDA work will return the same error."
bool breaks_the_process(CUresult error) noexcept {
  constexpr CUresult all[] = {CUDA_ERROR_ECC_UNCORRECTABLE,
                              CUDA_ERROR_NVLINK_UNCORRECTABLE,
                              CUDA_ERROR_ILLEGAL_ADDRESS,
                              CUDA_ERROR_LAUNCH_TIMEOUT,
                              CUDA_ERROR_ASSERT,
                              CUDA_ERROR_HARDWARE_STACK_ERROR,
                              CUDA_ERROR_ILLEGAL_INSTRUCTION,
                              CUDA_ERROR_MISALIGNED_ADDRESS,
                              CUDA_ERROR_INVALID_ADDRESS_SPACE,
                              CUDA_ERROR_INVALID_PC,
                              CUDA_ERROR_LAUNCH_FAILED,
                              CUDA_ERROR_EXTERNAL_DEVICE};
  return std::find(std::begin(all), std::end(all), error) != std::end(all);
}

const char* name_of_error(const Driver& driver, CUresult error) noexcept {
  const char* text = nullptr;
  return driver.cuGetErrorName(error, &text) == CUDA_SUCCESS && text != nullptr ? text : "an error without a name";
}

}  // namespace

// The program was told that a held call succeeded; its next call tells what became of it.
void Engine::Impl::keep_error(CUresult error) noexcept {
  if (error == CUDA_SUCCESS) return;
  CUresult none = CUDA_SUCCESS;
  pending_error.compare_exchange_strong(none, error, std::memory_order_acq_rel);
}

void Engine::Impl::notice_error(CUresult error) noexcept {
  if (!breaks_the_process(error) || device_failed.exchange(true, std::memory_order_acq_rel)) return;
  // What other lanes hold is issued by the next call that they order with, or by the timer.
  pauses.fetch_add(1 << 20, std::memory_order_acq_rel);
  epoch.fetch_add(1, std::memory_order_acq_rel);
  if (notify != nullptr) notify(Notice::device_failed, "", name_of_error(driver, error));
}

// The graph is given up and may be built again, a bounded number of times.
void Engine::Impl::fail_segment(Region& region, Variant& variant, Segment& segment, Reason reason,
                                CUresult error) noexcept {
  const char* text = name_of_error(driver, error);
  notice_error(error);
  fallbacks.fetch_add(1, std::memory_order_relaxed);
  const std::lock_guard guard(region.lock);
  retire(segment);
  segment.state = Segment::State::waits;
  ++region.causes[static_cast<std::size_t>(reason)];
  ++region.failures;
  ++segment.failures;
  if (segment.failures >= settings.max_failures) segment.state = Segment::State::off;
  const bool newly_off = region.failures >= settings.max_failures && !region.off;
  if (newly_off) region.off = true;
  if (region.off) ++region.causes[static_cast<std::size_t>(Reason::region_off)];
  if (newly_off && notify != nullptr) notify(Notice::region_off, region.rule.name.c_str(), text);
  log_fallback(region, variant.id, segment.first, newly_off ? Reason::region_off : reason, text);
}

void Engine::Impl::log_fallback(const Region& region, std::uint32_t variant, std::uint32_t operation, Reason reason,
                                std::string_view found) noexcept try {
  if (log == nullptr) return;
  capture::FallbackRecord record;
  record.region = region.rule.name;
  record.variant = variant;
  record.operation = operation;
  record.reason = reason;
  record.found = found;
  log->write(std::move(record));
} catch (...) {  // without memory it is told less
}

CUresult Engine::Impl::flush_locked(Lane& lane, Reason reason, const char* cause) noexcept {
  CUresult first_error = launch_handed(lane);
  const std::uint32_t count = lane.held_count.load(std::memory_order_relaxed);
  if (count == 0) return first_error;
  Variant& variant = *lane.held_variant;
  OpenRegion& pass = *lane.holder;
  CUresult result = CUDA_SUCCESS;
  {
    const Issuing inside(lane);
    result = issue_each(lane, variant, lane.held_first, count);
  }
  if (first_error == CUDA_SUCCESS) first_error = result;
  pass.counters.flushed += count;
  Region& region = *pass.region;
  const std::uint32_t id = variant.id, first = lane.held_first;
  if (reason == Reason::early_order || reason == Reason::hold_expired) variant.note_interruption(first + count);
  end_hold(lane);
  notice_error(first_error);
  if (cause == nullptr) return first_error;  // told where it was noticed
  if (!region.is_automatic()) fallbacks.fetch_add(1, std::memory_order_relaxed);
  if (region.note(reason, id, first + count)) log_fallback(region, id, first + count, reason, cause);
  return first_error;
}

// The program may be waiting for the device in a way that makes no call: a region where that happens again and again is
// taken off holding for a while.
void Engine::Impl::note_expiry(Region& region, std::uint32_t variant, std::uint32_t operation) noexcept try {
  const std::lock_guard guard(region.lock);
  if (!region.rest.timer_was_needed(region.passes)) return;
  ++region.causes[static_cast<std::size_t>(Reason::region_rests)];
  log_fallback(region, variant, operation, Reason::region_rests,
               fmt::format("eager until pass {}", region.rest.until()));
} catch (...) {  // counted all the same
}

void Engine::Impl::flush(Lane& lane, Reason reason, const char* cause) noexcept {
  const std::lock_guard guard(lane.lock);
  keep_error(flush_locked(lane, reason, cause));
}

void Engine::Impl::flush_pass(OpenRegion& pass, Reason reason, const char* cause) noexcept {
  if (pass.holding == nullptr) return;
  Lane& lane = *pass.holding;
  pass.holding = nullptr;
  const std::lock_guard guard(lane.lock);
  if (lane.holder != &pass) return;
  keep_error(flush_locked(lane, reason, cause));
}

bool Engine::Impl::expire(void* self, std::int64_t deadline) noexcept {
  Impl& impl = *static_cast<Impl*>(self);
  if (impl.lanes_holding.load(std::memory_order_seq_cst) == 0) return false;
  impl.lanes.for_each_holding([&](Lane& lane) {
    if (lane.has_handed()) impl.launch_handed_before(lane, deadline);
    const std::uint32_t held = lane.held_count.load(std::memory_order_relaxed);
    const std::int64_t since = lane.held_since.load(std::memory_order_relaxed);
    const bool goes_on = std::exchange(lane.looked_at_since, since) == since && lane.looked_at_count != held;
    lane.looked_at_count = held;
    if (since > deadline || !lane.lock.try_lock()) return;
    if (lane.held_count.load(std::memory_order_relaxed) != 0 &&
        lane.held_since.load(std::memory_order_relaxed) <= deadline) {
      // This thread has no context of its own; without one the driver would refuse the calls. They stay held then.
      const CurrentContext current(impl.driver, lane.context);
      if (!current.refused()) impl.expire_locked(lane, goes_on);
    }
    lane.lock.unlock();
  });
  return true;
}

// A program that went on launching since the timer looked last is slow, and does not wait: shorter segments are enough.
void Engine::Impl::expire_locked(Lane& lane, bool goes_on) noexcept {
  Variant& variant = *lane.held_variant;
  Region& region = *lane.holder->region;
  const std::uint32_t id = variant.id, first = lane.held_first, count = lane.held_count.load(std::memory_order_relaxed);
  const bool is_short = variant.note_expiry(first);
  keep_error(flush_locked(lane, Reason::hold_expired, "max_hold_us"));
  if (is_short && !goes_on) note_expiry(region, id, first + count);
}

}  // namespace refrain::replay
