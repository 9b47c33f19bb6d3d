// One call: hold it, or issue what must come first and let it pass.
#include <mutex>
#include <type_traits>

#include "replay/engine_impl.h"
#include "replay/look_ahead.h"

namespace refrain::replay {

using capture::Reason;

template <typename Call>
Decision Engine::Impl::hold(const Call& call, CUresult& result) noexcept {
  Thread* thread = this_thread();
  if (thread == nullptr) {
    order_all(true, "no memory");
    return Decision::pass;
  }
  if constexpr (std::is_same_v<Call, KernelCall>) Thread::add(thread->launches_seen);
  OpenRegion* pass = pauses.load(std::memory_order_acquire) == 0 ? current_pass(*thread) : nullptr;
  if (pass == nullptr && dozes.load(std::memory_order_relaxed)) wake_when_due();
  if (pass == nullptr && automatic.load(std::memory_order_relaxed) && pauses.load(std::memory_order_relaxed) == 0)
    return hold_automatic(call, *thread, result);
  if (pass == nullptr) {
    Thread::add(thread->outside_calls);
    if (lanes_holding.load(std::memory_order_acquire) != 0) order_stream(call.stream, "other work on the stream");
    return Decision::pass;
  }
  thread->after_pass = pass;
  const PassGuard guard(*pass);
  thread->after = After::ignored;
  if (pass->region == nullptr) {  // a process-scope pass that was closed just now; one around it may hold
    Thread::add(thread->outside_calls);
    if (lanes_holding.load(std::memory_order_acquire) != 0) order_stream(call.stream, "other work on the stream");
    return Decision::pass;
  }
  if (pass->epoch != epoch.load(std::memory_order_acquire)) demote(*pass);
  // A stream that is captured is asked nothing else: some questions end the capture.
  const bool captured = captures_active.load(std::memory_order_acquire) != 0 && is_capturing(call.stream);
  Lane* lane = captured ? nullptr : lane_of(call.stream, pass->cached_stream, pass->cached_context, pass->cached_lane);
  if (lane == nullptr) {
    const Reason reason = captured ? Reason::program_capture : Reason::unknown_stream;
    flush_pass(*pass, reason, nullptr);
    if (!captured) order_stream(call.stream, capture::to_string(reason));
    if (pass->state == OpenRegion::State::recording) pass->recording.add_break(capture::to_string(reason));
    note(*pass, reason, "", "");
    return Decision::report;
  }
  order_coupled(*lane);
  thread->after_lane = lane;
  return follow(call, *thread, *pass, *lane, result);
}

template <typename Call>
Decision Engine::Impl::follow(const Call& call, Thread& thread, OpenRegion& pass, Lane& lane,
                              CUresult& result) noexcept {
  if (pass.state == OpenRegion::State::choosing) choose(call, pass, lane);
  if (pass.state == OpenRegion::State::matching) {
    Verdict verdict = expect(call, pass, lane);
    if (!verdict.equal && switch_variant(call, pass, lane, verdict.reason)) verdict = {};
    if (verdict.equal) {
      if (take(call, pass, lane, result)) return Decision::held;
      thread.after = After::matched;
    } else {
      thread.after = After::mismatch;
      thread.after_reason = verdict.reason;
      flush_pass(pass, verdict.reason, nullptr);
    }
  } else if (pass.state == OpenRegion::State::recording) {
    thread.after = After::recorded;
  }
  thread.after_variant = pass.variant;
  thread.after_cursor = pass.cursor;
  if (lane.holds()) flush(lane, Reason::early_order, "a call that passes");
  return Decision::report;
}

// The driver refuses a fill or copy of memory that it does not know, and a fill whose elements are not aligned, when
// the call is made: such a call must pass.
bool Engine::Impl::is_acceptable(const KernelCall&, const Variant&, std::uint32_t) const noexcept { return true; }

bool Engine::Impl::is_acceptable(const MemsetCall& call, const Variant& variant, std::uint32_t index) const noexcept {
  if (same_bytes(call, variant, index) && is_memory_as_recorded(variant, index)) return true;
  const capture::MemsetBytes& fill = call.bytes;
  if (fill.element_size == 0 || fill.destination % fill.element_size != 0) return false;
  const std::uint64_t row = fill.width * fill.element_size;
  return is_known_memory(fill.destination, fill.height > 1 ? fill.pitch * (fill.height - 1) + row : row);
}

bool Engine::Impl::is_acceptable(const CopyCall& call, const Variant& variant, std::uint32_t index) const noexcept {
  if (same_bytes(call, variant, index) && is_memory_as_recorded(variant, index)) return true;
  return is_known_memory(call.bytes.destination, call.bytes.bytes) &&
         is_known_memory(call.bytes.source, call.bytes.bytes);
}

bool Engine::Impl::is_memory_as_recorded(const Variant& variant, std::uint32_t index) const noexcept {
  return variant.segments[variant.nodes[index].segment].memory_generation ==
         memory_generation.load(std::memory_order_acquire);
}

bool Engine::Impl::is_known_memory(std::uint64_t address, std::uint64_t bytes) const noexcept {
  CUdeviceptr base = 0;
  std::size_t size = 0;
  return driver.cuMemGetAddressRange_v2(&base, &size, address) == CUDA_SUCCESS && address >= base && bytes <= size &&
         address - base <= size - bytes;
}

template <typename Call>
bool Engine::Impl::take(const Call& call, OpenRegion& pass, Lane& lane, CUresult& result) noexcept {
  Variant& variant = *pass.variant;
  const std::uint32_t index = pass.cursor;
  Segment& segment = variant.segment_of(index);
  if (segment.is_handed()) {  // from the last time round: the shadow is needed until it is launched
    variant.waits_for_itself += Variant::passes_of_a_wait;
    const std::lock_guard guard(lane.lock);
    keep_error(launch_handed(lane));
  }
  if (segment.state != Segment::State::built || !is_acceptable(call, variant, index)) return false;
  const std::lock_guard guard(lane.lock);
  std::uint32_t moved = 0;
  if (!absorb(call, variant, index, moved)) return false;
  if (moved != 0) ++pass.moved;
  if (index == segment.first) {
    if (!timer.start()) return false;
    if (lane.held_count.load(std::memory_order_relaxed) != 0)
      keep_error(flush_locked(lane, Reason::other_thread, "another region on the same stream"));
    begin_hold(lane, pass, index);
  } else if (lane.holder != &pass || lane.held_variant != &variant ||
             lane.held_first + lane.held_count.load(std::memory_order_relaxed) != index) {
    return false;  // issued by somebody meanwhile: the rest of the segment passes
  }
  lane.held_count.store(index + 1 - segment.first, std::memory_order_relaxed);
  ++pass.counters.calls;
  ++pass.counters.held;
  ++pass.cursor;
  look_ahead(variant, pass.cursor);
  result = take_error();
  if (pass.cursor == segment.first + segment.count) {
    const CUresult launched = launch_locked(lane);
    if (result == CUDA_SUCCESS) result = launched;
  }
  return true;
}

void Engine::Impl::begin_hold(Lane& lane, OpenRegion& pass, std::uint32_t first) noexcept {
  lane.held_variant = pass.variant;
  lane.held_first = first;
  lane.holder = &pass;
  pass.holding = &lane;
  lane.held_since.store(now_ns(), std::memory_order_relaxed);
  // Visible before lanes_holding says that there is something to look for.
  lane.held_count.store(1, std::memory_order_relaxed);
  if (lane.kind == StreamKind::blocking) lane.shared->blocking_holding.fetch_add(1, std::memory_order_relaxed);
  if (lane.kind == StreamKind::legacy) lane.shared->legacy_holding.fetch_add(1, std::memory_order_relaxed);
  lanes_holding.fetch_add(1, std::memory_order_seq_cst);
  timer.work_begins();
}

Lane* Engine::Impl::lane_of(CUstream stream, CUstream& cached_stream, CUcontext& cached_context,
                            Lane*& cached_lane) noexcept {
  CUcontext current = nullptr;
  if (driver.cuCtxGetCurrent(&current) != CUDA_SUCCESS || current == nullptr) return nullptr;
  if (cached_lane != nullptr && cached_stream == stream && cached_context == current) return cached_lane;
  cached_stream = stream;
  cached_context = current;
  cached_lane = lanes.find(stream, current);
  return cached_lane;
}

bool Engine::Impl::is_capturing(CUstream stream) noexcept {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  // The legacy stream answers with an error while a blocking stream is captured; then nothing may be assumed.
  return driver.cuStreamIsCapturing(stream, &status) != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

template Decision Engine::Impl::hold(const KernelCall&, CUresult&) noexcept;
template Decision Engine::Impl::hold(const MemsetCall&, CUresult&) noexcept;
template Decision Engine::Impl::hold(const CopyCall&, CUresult&) noexcept;

}  // namespace refrain::replay
