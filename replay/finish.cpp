// The end of a pass: what it recorded becomes a variant, what it followed is free again.
#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

#include "replay/engine_impl.h"

namespace refrain::replay {

using capture::Reason;

namespace {

// Two sequences of one structure are the same place of the program when most of their operations have equal bytes.
bool is_same_place(const capture::Sequence& one, const capture::Sequence& other) noexcept {
  if (one.size() != other.size() || one.structure(one.size()) != other.structure(other.size())) return false;
  std::uint32_t equal = 0;
  for (std::uint32_t index = 0; index < one.size(); ++index) {
    const capture::Operation& a = one.operations[index];
    const capture::Operation& b = other.operations[index];
    equal += a.byte_count == b.byte_count && std::equal(one.bytes_of(a), one.bytes_of(a) + a.byte_count, other.bytes_of(b));
  }
  return 2 * equal >= one.size();
}

}  // namespace

void Engine::Impl::release(Region& region, Variant& variant) noexcept {
  variant.busy = false;
  if (variant.dropped) erase_dropped(region);
}

void Engine::Impl::erase_dropped(Region& region) noexcept {
  std::erase_if(region.variants, [&](const std::unique_ptr<Variant>& variant) {
    if (!variant->dropped || variant->busy) return false;
    for (Segment& segment : variant->segments) retire(segment);
    for (const std::unique_ptr<Variant>& other : region.variants) {
      // A variant that was erased in this sweep has been moved from.
      if (other != nullptr && other->successor == variant.get()) other->successor = nullptr;
    }
    if (region.last == variant.get()) region.last = nullptr;
    sequence_bytes.fetch_sub(variant->memory(), std::memory_order_relaxed);
    return true;
  });
}

Variant* Engine::Impl::add_variant(Region& region, OpenRegion& pass, capture::Sequence&& sequence, const Variant* model) noexcept try {
  auto variant = std::make_unique<Variant>(std::move(sequence), region.next_variant, settings.segment_max);
  for (std::uint16_t role = 0; role < pass.role_count; ++role) {
    const Lane& lane = *pass.roles[role];
    variant->role_contexts.push_back(lane.context);
    variant->role_priorities.push_back(lane.priority);
    variant->role_kinds.push_back(lane.kind);
    variant->role_streams.push_back(lane.stream);
  }
  if (model != nullptr) {
    for (std::uint32_t index = 0; index < variant->sequence.size(); ++index) {
      variant->nodes[index].accepted_block = model->nodes[index].accepted_block;
      variant->nodes[index].accepted_shared = model->nodes[index].accepted_shared;
    }
  }
  variant->pending = false;
  for (Segment& segment : variant->segments) {
    if (segment.count < settings.segment_min || !region.replays) segment.state = Segment::State::off;
    variant->pending |= segment.state == Segment::State::waits;
  }
  variant->last_use = pass.number;
  if (log != nullptr) log->write(capture::describe(variant->sequence, region.rule.name, variant->id, pass.number));
  region.variants.push_back(std::move(variant));
  Variant* added = region.variants.back().get();
  ++region.next_variant;
  sequence_bytes.fetch_add(added->memory(), std::memory_order_relaxed);
  if (added->pending) builds_pending.store(true, std::memory_order_release);
  return added;
} catch (const std::bad_alloc&) {
  return nullptr;
}

// The pass can no longer follow or record: something it relied on has changed. What it held was issued by whoever
// changed that.
void Engine::Impl::demote(OpenRegion& pass) noexcept {
  flush_pass(pass, Reason::state_changed, "state changed");
  if (pass.variant != nullptr) {
    const std::lock_guard guard(pass.region->lock);
    release(*pass.region, *std::exchange(pass.variant, nullptr));
  }
  pass.recording = {};
  pass.state = OpenRegion::State::eager;
  pass.cached_lane = nullptr;
  pass.role_count = 0;
  pass.epoch = epoch.load(std::memory_order_acquire);
}

void Engine::Impl::finish(OpenRegion& pass) noexcept {
  Region& region = *pass.region;
  if (pass.epoch != epoch.load(std::memory_order_acquire)) demote(pass);
  const bool followed = pass.state == OpenRegion::State::matching;
  const bool is_short = followed && pass.cursor < pass.variant->sequence.size();
  if (is_short) flush_pass(pass, Reason::sequence_shorter, "the end of the region");
  passes.fetch_add(1, std::memory_order_relaxed);
  bool noted_short = false;
  {
    const std::lock_guard guard(region.lock);
    Variant* done = nullptr;
    Reason refused{};
    if (followed && !is_short) {
      done = pass.variant;
      done->scratch = 2 * pass.counters.patched > done->sequence.size();
      // New addresses nearly everywhere: keep them as a variant of their own, so that they need no patch when they return.
      const bool room = graph_bytes.load(std::memory_order_relaxed) < (std::uint64_t{settings.max_graph_mib} << 19);
      if (done->scratch && region.replays && room && may_record(region, refused)) {
        try {
          // What follows is learnt for the variant that keeps these addresses, not for the one that goes on moving.
          Variant* kept = add_variant(region, pass, done->sequence.prefix(done->sequence.size()), done);
          done->last_use = pass.number;
          ++done->passes;
          if (kept != nullptr) done = kept;
        } catch (const std::bad_alloc&) {
        }
      }
    } else if (is_short && pass.cursor > 0) {
      const capture::Sequence& longer = pass.variant->sequence;
      done = region.find_prefix(longer.structure(pass.cursor), pass.cursor, true, nullptr, [](const Variant&) { return true; });
      if (done == nullptr && may_record(region, refused)) {
        try {
          done = add_variant(region, pass, longer.prefix(pass.cursor), pass.variant);
        } catch (const std::bad_alloc&) {
        }
        noted_short = true;
      }
    } else if (pass.state == OpenRegion::State::recording && pass.recording.size() != 0) {
      for (const std::unique_ptr<Variant>& known : region.variants) {
        if (!known->busy && !known->dropped && is_same_place(known->sequence, pass.recording)) done = known.get();
      }
      if (done == nullptr) done = add_variant(region, pass, std::move(pass.recording), nullptr);
    }
    if (done != nullptr) {
      done->last_use = pass.number;
      ++done->passes;
      if (region.last != nullptr) region.last->successor = done;
      region.last = done;
      const bool waits = std::any_of(done->segments.begin(), done->segments.end(),
                                     [](const Segment& segment) { return segment.state == Segment::State::waits; });
      if (waits && !done->pending) {
        done->pending = true;
        builds_pending.store(true, std::memory_order_release);
      }
    }
    region.counters += pass.counters;
    ++region.passes_since_wait;
  }
  if (noted_short) note(pass, Reason::sequence_shorter, "", "the end of the region");
  const bool build_here = region.replays && builds_pending.load(std::memory_order_relaxed) &&
                          region.passes_since_wait >= settings.build_after;
  if (pass.variant != nullptr) {
    const std::lock_guard guard(region.lock);
    release(region, *std::exchange(pass.variant, nullptr));
  }
  pass.recording = {};
  if (build_here) build_pending(&region);
  log_counters_when_due();
}

}  // namespace refrain::replay
