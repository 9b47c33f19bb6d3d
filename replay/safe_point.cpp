// Building graphs, where the device is known not to wait for this thread; and destroying those that no longer run.
#include <algorithm>
#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "replay/engine_impl.h"

namespace refrain::replay {

using capture::Reason;

void Engine::safe_point() noexcept {
  if (Thread* thread = impl_->this_thread()) {
    ++thread->waited;
    impl_->end_piece_of(*thread);
  }
  if (impl_->builds_pending.load(std::memory_order_acquire)) impl_->build_pending(nullptr);
  if (impl_->has_retired.load(std::memory_order_acquire)) impl_->collect_retired();
}

void Engine::Impl::build_pending(Region* only) noexcept {
  // While the program captures, nothing is asked of its streams and nothing is built.
  if (pauses.load(std::memory_order_relaxed) != 0 || captures_active.load(std::memory_order_acquire) != 0) return;
  if (only == nullptr) builds_pending.store(false, std::memory_order_release);
  for (const std::unique_ptr<Region>& region : regions) {
    if (region == nullptr || (only != nullptr && region.get() != only)) continue;
    // A job that is left alone needs none until it is looked at again: wake_when_due() asks for them.
    if (region->is_automatic() && dozes.load(std::memory_order_relaxed)) continue;
    std::uint32_t tried = 0;  // variants whose build failed stay pending until the next safe point
    for (;;) {
      Variant* variant = nullptr;
      {
        const std::lock_guard guard(region->lock);
        region->passes_since_wait = 0;
        if (region->off) break;
        for (const std::unique_ptr<Variant>& candidate : region->variants) {
          if (candidate->pending && candidate->in_use()) builds_pending.store(true, std::memory_order_release);
          if (candidate->pending && !candidate->in_use() && !candidate->dropped && candidate->id >= tried) {
            variant = candidate.get();
            break;
          }
        }
        if (variant == nullptr) break;
        tried = variant->id + 1;
        variant->busy = true;
        variant->pending = false;
      }
      const bool again = build(*region, *variant);
      const std::lock_guard guard(region->lock);
      if (again) {
        variant->pending = true;
        builds_pending.store(true, std::memory_order_release);
      }
      release(*region, *variant);
    }
  }
}

// True when a build failed, or had to wait for another thread, and should be tried again at the next safe point.
bool Engine::Impl::build(Region& region, Variant& variant) noexcept {
  bool again = false;
  const std::shared_lock held(building, std::try_to_lock);
  if (!held.owns_lock() || captures_active.load(std::memory_order_acquire) != 0) return true;
  {
    const std::lock_guard guard(region.lock);
    if (variant.dropped || region.passes < region.no_room_until) return false;
  }
  for (Segment& segment : variant.segments) {
    if (!variant.wants_graph(segment)) continue;
    if (!make_room(estimated_graph_bytes(variant.sequence, segment))) {
      region.note(Reason::memory_limit, variant.id, segment.first);
      // What could make room grows old slowly: a look at every variant at each safe point would find nothing.
      const std::lock_guard guard(region.lock);
      region.no_room_until = region.passes + region.variants.size();
      return false;
    }
    const auto start = std::chrono::steady_clock::now();
    const CUresult result = build_graph(driver, variant, segment);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    if (result != CUDA_SUCCESS) {
      fail_segment(region, variant, segment, Reason::graph_build_failed, result);
      again |= segment.state == Segment::State::waits;
      continue;
    }
    segment.memory_generation = memory_generation.load(std::memory_order_acquire);
    segment.last_stream = nullptr;
    graph_bytes.fetch_add(segment.bytes, std::memory_order_relaxed);
    builds_done.fetch_add(1, std::memory_order_relaxed);
    if (log == nullptr) continue;
    try {
      capture::GraphRecord record;
      record.region = region.rule.name;
      record.variant = variant.id;
      record.segment = static_cast<std::uint32_t>(&segment - variant.segments.data());
      record.first_operation = segment.first;
      record.nodes = segment.count;
      record.device_bytes = segment.bytes;
      record.microseconds = took.count();
      log->write(std::move(record));
    } catch (...) {
    }
  }
  return again;
}

// What comes so rarely that its graphs would be given up again before it comes back gets some only where there is room:
// else such sequences would take turns, and be built anew each time. The region's lock is held.
bool Engine::Impl::deserves_graphs(const Region& region, const Variant& variant) const noexcept {
  if (variant.gap <= region.long_unused()) return true;
  std::uint64_t bytes = graph_bytes.load(std::memory_order_relaxed);
  for (const Segment& segment : variant.segments) {
    if (variant.wants_graph(segment)) bytes += estimated_graph_bytes(variant.sequence, segment);
  }
  return bytes <= std::uint64_t{settings.max_graph_mib} << 20;
}

// Gives up the graphs of variants that were left behind, the oldest first, until `bytes` fit below the limit: the
// program may come back to the others, as it does after an evaluation.
bool Engine::Impl::make_room(std::uint64_t bytes) noexcept {
  const std::uint64_t limit = std::uint64_t{settings.max_graph_mib} << 20;
  auto fits = [&] { return graph_bytes.load(std::memory_order_relaxed) + bytes <= limit; };
  for (const std::unique_ptr<Region>& region : regions) {
    if (fits()) return true;
    if (region == nullptr) continue;
    const std::lock_guard guard(region->lock);
    for (Variant* oldest = nullptr; !fits() && (oldest = region->left_behind()) != nullptr;) {
      for (Segment& segment : oldest->segments) {
        if (segment.state != Segment::State::built) continue;
        retire(segment);
        segment.state = Segment::State::waits;
      }
    }
  }
  return fits();
}

void Engine::Impl::retire(Segment& segment) noexcept {
  if (segment.exec == nullptr) return;
  graph_bytes.fetch_sub(segment.bytes, std::memory_order_relaxed);
  const std::lock_guard guard(retired_lock);
  try {
    retired.push_back({std::exchange(segment.graph, nullptr), std::exchange(segment.exec, nullptr), segment.context,
                       segment.last_stream, nullptr, segment.bytes});
    has_retired.store(true, std::memory_order_release);
  } catch (...) {  // no memory for the note: the graph stays until the context ends
  }
  segment.exec = nullptr;
  segment.graph = nullptr;
}

// A graph is destroyed when its last stream is idle, else when an event recorded behind its last launch has passed: on
// an idle stream the program could see the event. The program must not be capturing: the event would become part of its
// graph.
void Engine::Impl::collect_retired() noexcept {
  const std::shared_lock held(building, std::try_to_lock);
  if (!held.owns_lock() || captures_active.load(std::memory_order_acquire) != 0) return;
  std::vector<RetiredGraph> work;
  {
    const std::lock_guard guard(retired_lock);
    work.swap(retired);
  }
  const RelaxedCaptureMode relaxed(driver);
  std::vector<RetiredGraph> kept;
  for (RetiredGraph& graph : work) {
    const CurrentContext current(driver, graph.context);
    const bool asks_stream = graph.done == nullptr && graph.last_stream != ended_stream;
    const bool idle = asks_stream && driver.cuStreamQuery(graph.last_stream) == CUDA_SUCCESS;
    if (asks_stream && !idle) {
      if (driver.cuEventCreate(&graph.done, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) graph.done = nullptr;
      if (graph.done != nullptr && driver.cuEventRecord(graph.done, graph.last_stream) != CUDA_SUCCESS) {
        driver.cuEventDestroy_v2(graph.done);
        graph.done = nullptr;
      }
    }
    if (idle || (graph.done != nullptr && driver.cuEventQuery(graph.done) == CUDA_SUCCESS)) {
      driver.cuGraphExecDestroy(graph.exec);
      if (graph.graph != nullptr) driver.cuGraphDestroy(graph.graph);
      if (graph.done != nullptr) driver.cuEventDestroy_v2(graph.done);
      continue;
    }
    try {
      kept.push_back(graph);
    } catch (...) {  // stays until the context ends
    }
  }
  const std::lock_guard guard(retired_lock);
  try {
    retired.insert(retired.end(), kept.begin(), kept.end());
  } catch (...) {
  }
  has_retired.store(!retired.empty(), std::memory_order_release);
}

}  // namespace refrain::replay
