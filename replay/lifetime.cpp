// Things go away, or change under what was recorded; and the program's own capture.
#include <algorithm>
#include <mutex>

#include "replay/engine_impl.h"

namespace refrain::replay {
namespace {

template <typename Affected>
void drop_variants(Engine::Impl& impl, Affected affected) noexcept {
  for (const std::unique_ptr<Region>& region : impl.regions) {
    if (region == nullptr) continue;
    const std::lock_guard guard(region->lock);
    for (const std::unique_ptr<Variant>& variant : region->variants) variant->dropped |= affected(*variant);
    impl.erase_dropped(*region);
  }
}

// Graphs are given up and built again at the next safe point; what was recorded stays.
template <typename Affected>
void rebuild(Engine::Impl& impl, Affected affected) noexcept {
  for (const std::unique_ptr<Region>& region : impl.regions) {
    if (region == nullptr) continue;
    const std::lock_guard guard(region->lock);
    for (const std::unique_ptr<Variant>& variant : region->variants) {
      if (!affected(*variant)) continue;
      // What failed with the old state may do with the new one.
      region->failures = 0;
      region->off = false;
      if (variant->in_use()) {
        variant->dropped = true;  // its pass is using it: record it again
        continue;
      }
      for (Segment& segment : variant->segments) {
        const bool gave_up = segment.failures != 0 && segment.state == Segment::State::off;
        if (segment.state != Segment::State::built && !gave_up) continue;
        impl.retire(segment);
        segment.state = Segment::State::waits;
        segment.failures = 0;
        variant->pending = true;
      }
    }
  }
  impl.builds_pending.store(true, std::memory_order_release);
}

}  // namespace

void Engine::code_unloads(std::uint64_t owner) noexcept {
  order_all(EntryPoint::cuModuleUnload);
  const std::lock_guard held(impl_->building);
  impl_->epoch.fetch_add(1, std::memory_order_acq_rel);
  // A library's functions may have been launched through the module inside it, which nobody can name here: a handle
  // that owns no function known by itself is taken to own all that are known by module.
  bool owns_by_itself = false;
  auto uses = [&](const Variant& variant, auto belongs) {
    return std::any_of(variant.sequence.functions.begin(), variant.sequence.functions.end(), belongs);
  };
  for (const std::unique_ptr<Region>& region : impl_->regions) {
    if (region == nullptr) continue;
    const std::lock_guard guard(region->lock);
    for (const std::unique_ptr<Variant>& variant : region->variants) {
      owns_by_itself |=
          uses(*variant, [&](const FunctionPointer& f) { return f->owner == owner && !f->is_kernel_handle; });
    }
  }
  drop_variants(*impl_, [&](const Variant& variant) {
    return uses(variant, [&](const FunctionPointer& f) {
      return f->owner == owner || f->owner == 0 || (!owns_by_itself && !f->is_kernel_handle);
    });
  });
  impl_->functions.forget(owner, !owns_by_itself);
  impl_->function_states.clear();
}

void Engine::context_ends(CUcontext context) noexcept {
  order_all(EntryPoint::cuCtxDestroy_v2);
  const std::lock_guard held(impl_->building);
  impl_->epoch.fetch_add(1, std::memory_order_acq_rel);
  {
    // The context takes its graphs with it: what still runs must not be destroyed by hand, what does not is forgotten.
    const std::lock_guard guard(impl_->retired_lock);
    std::erase_if(impl_->retired,
                  [&](const RetiredGraph& graph) { return context == nullptr || graph.context == context; });
  }
  drop_variants(*impl_, [&](Variant& variant) {
    const bool affected = context == nullptr || std::find(variant.role_contexts.begin(), variant.role_contexts.end(),
                                                          context) != variant.role_contexts.end();
    if (affected && !variant.in_use()) {
      for (Segment& segment : variant.segments) {
        if (segment.exec == nullptr) continue;
        impl_->graph_bytes.fetch_sub(segment.bytes, std::memory_order_relaxed);
        segment.exec = nullptr;
        segment.graph = nullptr;
        segment.state = Segment::State::off;
      }
    }
    return affected;
  });
  impl_->lanes.forget_context(context);
  impl_->functions.forget_all();
  impl_->function_states.clear();
}

void Engine::stream_ends(CUstream stream) noexcept {
  order_stream(stream, EntryPoint::cuStreamDestroy_v2);
  if (is_legacy(stream) || stream == CU_STREAM_PER_THREAD) return;
  const std::lock_guard held(impl_->building);
  impl_->epoch.fetch_add(1, std::memory_order_acq_rel);
  impl_->lanes.forget(stream);
  impl_->capture_ended_on(stream);
  for (const std::unique_ptr<Region>& region : impl_->regions) {
    if (region == nullptr) continue;
    const std::lock_guard guard(region->lock);
    for (const std::unique_ptr<Variant>& variant : region->variants) {
      std::replace(variant->role_streams.begin(), variant->role_streams.end(), stream, ended_stream);
      for (Segment& segment : variant->segments) {
        if (segment.last_stream == stream) segment.last_stream = ended_stream;
      }
    }
  }
  const std::lock_guard guard(impl_->retired_lock);
  for (RetiredGraph& graph : impl_->retired) {
    if (graph.last_stream == stream) graph.last_stream = ended_stream;
  }
}

void Engine::memory_ends() noexcept {
  order_all(EntryPoint::cuMemFree_v2);
  impl_->memory_generation.fetch_add(1, std::memory_order_acq_rel);
}

void Engine::state_changes(EntryPoint cause) noexcept {
  order_all(cause);
  impl_->epoch.fetch_add(1, std::memory_order_acq_rel);
  rebuild(*impl_, [](const Variant&) { return true; });
}

void Engine::function_state_changes(const void* function, int which, int value, EntryPoint cause) noexcept {
  if (impl_->function_states.has(function, which, value)) return;
  order_all(cause);
  const auto handle = reinterpret_cast<CUfunction>(const_cast<void*>(function));
  const Code code = impl_->functions.code_of(handle);
  bool any = false;
  rebuild(*impl_, [&](const Variant& variant) {
    const bool uses = std::any_of(variant.sequence.functions.begin(), variant.sequence.functions.end(),
                                  [&](const FunctionPointer& f) { return code.may_be(*f); });
    any |= uses;
    return uses;
  });
  if (any) impl_->epoch.fetch_add(1, std::memory_order_acq_rel);
}

void Engine::function_state_changed(const void* function, int which, int value) noexcept {
  impl_->function_states.set(function, which, value);
}

// ---- the program's own capture

// From before the call on nothing is built: the program's capture would take it, or be ended by it.
void Engine::capture_begins(CUstream stream) noexcept {
  order_all(EntryPoint::cuStreamBeginCapture_v2);
  const std::lock_guard held(impl_->building);
  const std::lock_guard guard(impl_->captures_lock);
  try {
    impl_->capturing.push_back(stream);
    impl_->captures_active.store(static_cast<int>(impl_->capturing.size()), std::memory_order_release);
  } catch (...) {
    impl_->captures_active.store(1 << 30, std::memory_order_release);  // every stream is asked from here on
  }
}

void Engine::capture_began(CUstream stream, CUresult result) noexcept {
  if (result != CUDA_SUCCESS) impl_->capture_ended_on(stream);
}

void Engine::capture_ended(CUstream stream) noexcept {
  // An invalidated capture ends with an error; only the driver knows whether it has ended.
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (impl_->driver.cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE)
    return;
  impl_->capture_ended_on(stream);
}

void Engine::Impl::capture_ended_on(CUstream stream) noexcept {
  const std::lock_guard guard(captures_lock);
  // One: a stream that captures already may be begun again, in vain, and threads share one name for their own streams.
  const auto found = std::find(capturing.begin(), capturing.end(), stream);
  if (found == capturing.end()) return;
  capturing.erase(found);
  captures_active.store(static_cast<int>(capturing.size()), std::memory_order_release);
}

}  // namespace refrain::replay
