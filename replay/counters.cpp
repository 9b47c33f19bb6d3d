// Totals that add up: calls = held + passed, held = replayed + flushed. Passes that are open count when they end.
#include <algorithm>
#include <mutex>
#include <utility>

#include "replay/engine_impl.h"

namespace refrain::replay {
namespace {

void fill(capture::RegionCounters& out, const CallCounters& in) noexcept {
  out.calls = in.calls;
  out.held = in.held;
  out.passed = in.passed;
  out.replayed = in.replayed;
  out.flushed = in.flushed;
  out.patched = in.patched;
  out.graph_launches = in.graph_launches;
}

// Of one region, whose lock is held. May throw std::bad_alloc.
capture::RegionCounters describe(const Region& region) {
  capture::RegionCounters out;
  out.region = region.rule.name;
  out.passes = region.passes;
  fill(out, region.counters);
  out.variants = region.variants.size();
  if (region.is_automatic()) out.host_bytes += region.trail->memory();
  for (const std::unique_ptr<Variant>& variant : region.variants) {
    out.host_bytes += variant->counted_bytes;
    for (const Segment& segment : variant->segments) {
      if (segment.state != Segment::State::built) continue;
      ++out.graphs;
      out.graph_bytes += segment.bytes;
    }
  }
  for (std::size_t reason = 0; reason < reason_count; ++reason) {
    if (region.causes[reason] != 0)
      out.fallbacks.push_back({static_cast<capture::Reason>(reason), region.causes[reason]});
  }
  return out;
}

}  // namespace

// Without memory a region is left out, but the totals are right.
void Engine::Impl::counters(capture::CountersRecord& record) noexcept {
  CallCounters total;
  record.total = {};
  record.regions.clear();
  for (const std::unique_ptr<Region>& region : regions) {
    if (region == nullptr) continue;
    const std::lock_guard guard(region->lock);
    if (region->passes == 0) continue;
    total += region->counters;
    record.total.passes += region->passes;
    record.total.variants += region->variants.size();
    if (region->is_automatic()) record.total.host_bytes += region->trail->memory();
    for (const std::unique_ptr<Variant>& variant : region->variants) {
      record.total.graphs += static_cast<std::uint64_t>(
          std::count_if(variant->segments.begin(), variant->segments.end(),
                        [](const Segment& segment) { return segment.state == Segment::State::built; }));
    }
    try {
      record.regions.push_back(describe(*region));
    } catch (...) {
    }
  }
  const std::lock_guard guard(threads_lock);
  std::uint64_t outside = ended_outside_calls;
  record.launches_seen = ended_launches_seen;
  for (const Thread* thread : threads) {
    outside += thread->outside_calls.load(std::memory_order_relaxed);
    record.launches_seen += thread->launches_seen.load(std::memory_order_relaxed);
  }
  total.calls += outside;
  total.passed += outside;
  fill(record.total, total);
  record.total.graph_bytes = graph_bytes.load(std::memory_order_relaxed);
  record.total.host_bytes += sequence_bytes.load(std::memory_order_relaxed);
  record.graph_bytes_limit = std::uint64_t{settings.max_graph_mib} << 20;
  record.host_bytes_limit = std::uint64_t{settings.max_host_mib} << 20;
  record.fallbacks = fallbacks.load(std::memory_order_relaxed);
  if (log != nullptr) record.records_dropped = log->dropped();
}

namespace {

[[gnu::tls_model("initial-exec")]] constinit thread_local std::uint32_t ended_passes = 0;

}  // namespace

void Engine::Impl::log_counters_when_due() noexcept {
  // The clock is read once in a while only: this runs at the end of every pass. Each thread counts its own, whatever
  // their regions, so that no two write to one word.
  constexpr std::uint32_t every = 64;
  if (log == nullptr || ++ended_passes % every != 0) return;
  log_counters_when_due(now_ns());
}

void Engine::Impl::log_counters_when_due(std::int64_t now) noexcept {
  std::int64_t due = next_counters_ns.load(std::memory_order_relaxed);
  if (log == nullptr || now < due ||
      !next_counters_ns.compare_exchange_strong(due, now + std::int64_t{settings.log_interval_s} * 1'000'000'000))
    return;
  try {
    capture::CountersRecord record;
    counters(record);
    log->write(std::move(record));
  } catch (...) {
  }
}

}  // namespace refrain::replay
