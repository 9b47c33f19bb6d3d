// What must be issued before a call that passes.
#include <algorithm>
#include <mutex>

#include "replay/engine_impl.h"
#include "replay/planted_bug.h"

namespace refrain::replay {

using capture::Reason;

// The call cuts the sequence that this thread records.
void Engine::Impl::note_break(const char* cause) noexcept {
  Thread* thread = this_thread();
  if (thread != nullptr) ++thread->orders;
  OpenRegion* pass = thread != nullptr ? current_pass(*thread) : nullptr;
  if (pass == nullptr) return;
  const PassGuard guard(*pass);
  if (pass->state != OpenRegion::State::recording) return;
  try {
    pass->recording.add_break(cause);
  } catch (...) {
    demote(*pass);
  }
}

// The legacy stream and the blocking streams of a context wait for each other's earlier work.
void Engine::Impl::order_coupled(const Lane& lane) noexcept {
  const LaneContext& shared = *lane.shared;
  const bool flush_blocking =
      lane.kind == StreamKind::legacy && shared.blocking_holding.load(std::memory_order_relaxed) != 0;
  const bool flush_legacy =
      lane.kind == StreamKind::blocking && shared.legacy_holding.load(std::memory_order_relaxed) != 0;
  if (!flush_blocking && !flush_legacy) return;
  const StreamKind kind = flush_blocking ? StreamKind::blocking : StreamKind::legacy;
  lanes.for_each_holding([&](Lane& other) {
    if (other.kind == kind && other.context == lane.context)
      flush(other, Reason::early_order, "the legacy stream's order");
  });
}

void Engine::Impl::order_stream(CUstream stream, const char* cause) noexcept {
  if (lanes_holding.load(std::memory_order_acquire) == 0) return;
  CUcontext current = nullptr;
  if (driver.cuCtxGetCurrent(&current) != CUDA_SUCCESS) current = nullptr;
  Lane* lane = stream != CU_STREAM_PER_THREAD ? lanes.known(stream, current) : nullptr;
  if (lane != nullptr) {
    order_coupled(*lane);
    if (lane->holds()) flush(*lane, Reason::early_order, cause);
    return;
  }
  // A stream never seen before holds nothing. It may be a blocking one, or the legacy one of a context without a lane.
  lanes.for_each_holding([&](Lane& other) {
    const bool coupled = is_legacy(stream) ? other.kind == StreamKind::blocking : other.kind == StreamKind::legacy;
    if (coupled) flush(other, Reason::early_order, cause);
  });
}

// A lane whose thread is inside the driver is on its way out already. Calls that eager would not make wait for that
// thread do not wait here either: it may be blocked until this very thread goes on.
void Engine::Impl::order_all(bool wait_for_issuing, const char* cause) noexcept {
  if (lanes_holding.load(std::memory_order_acquire) == 0) return;
  lanes.for_each_holding([&](Lane& lane) {
    if (!wait_for_issuing && lane.issuing.load(std::memory_order_relaxed)) return;
    flush(lane, Reason::early_order, cause);
  });
}

void Engine::order_stream(CUstream stream, EntryPoint cause) noexcept {
  impl_->note_break(name_of(cause));
  if (planted_bug == PlantedBug::forgotten_flush && cause == EntryPoint::cuEventRecord) return;
  impl_->order_stream(stream, name_of(cause));
}

void Engine::order_all(EntryPoint cause) noexcept {
  impl_->note_break(name_of(cause));
  const bool asks_event = cause == EntryPoint::cuEventQuery || cause == EntryPoint::cuEventSynchronize ||
                          cause == EntryPoint::cuEventElapsedTime || cause == EntryPoint::cuEventElapsedTime_v2;
  impl_->order_all(!asks_event && group_of(cause) != Group::memory_obtain, name_of(cause));
}

}  // namespace refrain::replay
