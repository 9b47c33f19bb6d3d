#include "replay/lane.h"

#include <mutex>
#include <new>

#include "replay/build.h"

namespace refrain::replay {

Lane* LaneTable::known(CUstream stream, CUcontext current) noexcept {
  const Key key = is_legacy(stream) ? Key{current, nullptr} : Key{nullptr, stream};
  const std::lock_guard guard(lock_);
  const auto found = by_stream_.find(key);
  return found != by_stream_.end() ? found->second : nullptr;
}

Lane* LaneTable::find(CUstream stream, CUcontext current) noexcept try {
  if (stream == CU_STREAM_PER_THREAD || current == nullptr) return nullptr;
  Lane* lane = known(stream, current);
  if (lane == nullptr) lane = make(stream, current);
  return lane != nullptr && lane->context == current ? lane : nullptr;
} catch (const std::bad_alloc&) {
  return nullptr;
}

Lane* LaneTable::make(CUstream stream, CUcontext current) {
  CUcontext context = current;
  StreamKind kind = StreamKind::legacy;
  int priority = 0;
  if (!is_legacy(stream)) {
    const RelaxedCaptureMode relaxed(driver_);
    unsigned flags = 0;
    if (driver_.cuStreamGetCtx(stream, &context) != CUDA_SUCCESS ||
        driver_.cuStreamGetFlags(stream, &flags) != CUDA_SUCCESS ||
        driver_.cuStreamGetPriority(stream, &priority) != CUDA_SUCCESS) {
      return nullptr;
    }
    kind = (flags & CU_STREAM_NON_BLOCKING) != 0 ? StreamKind::non_blocking : StreamKind::blocking;
  }
  const std::lock_guard guard(lock_);
  const Key key = is_legacy(stream) ? Key{context, nullptr} : Key{nullptr, stream};
  const auto [entry, is_new] = by_stream_.try_emplace(key, nullptr);
  if (!is_new) return entry->second;
  try {
    std::unique_ptr<LaneContext>& shared = contexts_[context];
    if (shared == nullptr) shared = std::make_unique<LaneContext>();
    shared->context = context;
    lanes_.reserve(lanes_.size() + 1);
    retired_.reserve(lanes_.capacity());
    Lane* lane = nullptr;
    if (!retired_.empty()) {
      lane = retired_.back();
      retired_.pop_back();
    } else {
      lane = new Lane;
    }
    const std::lock_guard lane_guard(lane->lock);
    lane->kind = kind;
    lane->priority = priority;
    lane->shared = shared.get();
    lane->context = context;
    lane->stream = is_legacy(stream) ? nullptr : stream;
    lanes_.push_back(lane);
    entry->second = lane;
    return lane;
  } catch (const std::bad_alloc&) {
    by_stream_.erase(entry);
    throw;
  }
}

void LaneTable::forget(CUstream stream) noexcept {
  const std::lock_guard guard(lock_);
  const auto found = by_stream_.find(Key{nullptr, stream});
  if (found == by_stream_.end()) return;
  std::erase(lanes_, found->second);
  retired_.push_back(found->second);  // room was reserved with the lane
  by_stream_.erase(found);
}

void LaneTable::forget_context(CUcontext context) noexcept {
  const std::lock_guard guard(lock_);
  std::erase_if(by_stream_, [&](const auto& entry) {
    if (context != nullptr && entry.second->context != context) return false;
    std::erase(lanes_, entry.second);
    retired_.push_back(entry.second);
    return true;
  });
}

}  // namespace refrain::replay
