// The end of a pass: what it recorded becomes a variant, what it followed is free again.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#include "replay/addresses.h"
#include "replay/engine_impl.h"

namespace refrain::replay {

using capture::Reason;

namespace {

// An automatic region has this many passes where one that ranges delimit has one, in rough numbers.
constexpr std::uint64_t pieces_in_a_pass = 32;

// A long segment has fewer borders, and what is held of it waits for long where the program is slow: a graph of 32
// saves nearly all there, and one of 8 most, if it is complete long before the timer comes.
std::uint32_t longest_segment(RecordingPace& pace, const policy::Settings& settings) noexcept {
  constexpr std::int64_t slow_ns = 10'000;  // for one operation, its eager launch included
  constexpr std::int64_t longest_of_slow = 32, shortest = 8, share_of_hold = 3;
  const std::int64_t usual = pace.usual_ns();
  if (usual <= slow_ns) return settings.segment_max;
  const std::int64_t in_time = std::int64_t{settings.max_hold_us} * 1000 / share_of_hold / usual;
  const auto limit = static_cast<std::uint32_t>(std::clamp(in_time, shortest, longest_of_slow));
  return std::min(settings.segment_max, std::max(limit, 2 * settings.segment_min));
}

// A variant is the same place of the program as a sequence of its structure when most of what may be an address is
// equal.
bool is_same_place(const Variant& variant, const capture::Sequence& other) noexcept {
  const capture::Sequence& one = variant.sequence;
  if (one.size() != other.size() || one.structure(one.size()) != other.structure(other.size())) return false;
  std::uint64_t different = 0;
  for (std::uint32_t index = 0; index < one.size(); ++index) {
    std::uint32_t all = 0;
    different += moved_address_bytes(one, other, index, all);
    if (2 * different > variant.address_bytes) return false;
  }
  return true;
}

}  // namespace

void Engine::Impl::release(Region& region, Variant& variant) noexcept {
  variant.busy = false;
  if (variant.dropped) erase_dropped(region);
}

void Engine::Impl::erase_dropped(Region& region) noexcept {
  std::erase_if(region.variants, [&](const std::unique_ptr<Variant>& variant) {
    if (!variant->dropped || variant->in_use()) return false;
    for (Segment& segment : variant->segments) retire(segment);
    for (const std::unique_ptr<Variant>& other : region.variants) {
      // A variant that was erased in this sweep has been moved from.
      if (other != nullptr) other->followers.forget(variant.get());
    }
    if (region.last == variant.get()) region.last = nullptr;
    if (region.is_automatic()) region.trail->forget(*variant);
    sequence_bytes.fetch_sub(variant->counted_bytes, std::memory_order_relaxed);
    return true;
  });
}

Variant* Engine::Impl::add_variant(Region& region, OpenRegion& pass, capture::Sequence&& sequence,
                                   const Variant* model) noexcept try {
  // A run is cut into even parts: each is at least half as long as the longest may be.
  auto variant = std::make_unique<Variant>(std::move(sequence), region.next_variant, settings.segment_min,
                                           model != nullptr ? model->segment_max : longest_segment(pass.pace, settings),
                                           model != nullptr ? model->waits : pass.waits);
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
      variant->nodes[index].accepted_threads = model->nodes[index].accepted_threads;
      variant->nodes[index].accepted_shared = model->nodes[index].accepted_shared;
    }
  }
  if (region.is_automatic()) {
    variant->context = model != nullptr ? model->context : pass.context;
    variant->tokens = model != nullptr ? model->tokens : pass.tokens;
  }
  variant->pending = false;
  for (Segment& segment : variant->segments) {
    if (segment.count < settings.segment_min || !region.replays) segment.state = Segment::State::off;
    variant->pending |= segment.state == Segment::State::waits;
  }
  variant->last_use = pass.number;
  variant->came_again = model != nullptr || !region.is_automatic() ? variant->sequence.size() : 0;
  variant->pending &= variant->came_again != 0 && deserves_graphs(region, *variant);
  if (log != nullptr) log->write(capture::describe(variant->sequence, region.rule.name, variant->id, pass.number));
  region.variants.push_back(std::move(variant));
  Variant* added = region.variants.back().get();
  ++region.next_variant;
  if (region.is_automatic()) region.trail->add(*added);
  count_memory(*added);
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
  pass.tokens.clear();
  pass.state = pass.region->is_automatic() ? OpenRegion::State::choosing : OpenRegion::State::eager;
  pass.cursor = 0;
  pass.cached_lane = nullptr;
  pass.role_count = 0;
  pass.epoch = epoch.load(std::memory_order_acquire);
}

// Copies for addresses that have not come back in all that time only hold memory.
void Engine::Impl::drop_useless_copies(Region& region) noexcept {
  constexpr std::uint64_t interval = 1024;
  if (region.passes < region.next_sweep) return;
  region.next_sweep = region.passes + interval;
  for (const std::unique_ptr<Variant>& variant : region.variants) {
    const bool old = variant->last_use + region.long_unused() < region.passes;
    if (variant->is_copy && !variant->busy && old) variant->dropped = true;
  }
  erase_dropped(region);
}

// The variant that has the addresses which much of `done` was patched to in this pass: one that exists, or a
// copy. What follows is learnt for that one, so that the next round needs no patch; `done` stays the one for new
// addresses.
Variant* Engine::Impl::keep_addresses(Region& region, OpenRegion& pass, Variant& done) noexcept {
  done.note_use(pass.number);
  const std::uint32_t size = done.sequence.size();
  Variant* same = nullptr;
  region.for_each_at(done.context, [&](Variant& known) {
    const bool equal = known.addresses == done.addresses && known.sequence.size() == size &&
                       known.sequence.structure(size) == done.sequence.structure(size);
    if (same == nullptr && equal && &known != &done && !known.busy && !known.dropped && roles_fit(known, pass))
      same = &known;
  });
  if (same != nullptr) return same;
  const bool useful = region.addresses_return();
  if (!useful) drop_useless_copies(region);
  Variant* kept = useful ? add_copy(region, pass, done) : nullptr;
  if (kept == nullptr) return &done;
  kept->is_copy = true;
  ++region.copies;
  return kept;
}

// Copies may have half of the memory for graphs; the rest is for what has no graph at all.
Variant* Engine::Impl::add_copy(Region& region, OpenRegion& pass, const Variant& model) noexcept try {
  Reason refused{};
  const bool room = graph_bytes.load(std::memory_order_relaxed) < (std::uint64_t{settings.max_graph_mib} << 19);
  const bool full = region.is_automatic() ? !make_room_for_variant(region) : !may_record(region, refused);
  if (!region.replays || !room || full) return nullptr;
  return add_variant(region, pass, model.sequence.prefix(model.sequence.size()), &model);
} catch (const std::bad_alloc&) {
  return nullptr;
}

// What had to be waited for again and again gets a twin: one is launched while the other is filled.
void Engine::Impl::add_twin_when_due(Region& region, OpenRegion& pass, Variant& done) noexcept {
  constexpr std::uint32_t often = 4 * Variant::passes_of_a_wait;
  if (done.waits_for_itself == 0 || --done.waits_for_itself < often) return;
  done.waits_for_itself = 0;
  bool has_another = false;  // that waits to be built, or cannot be
  region.for_each_at(done.context, [&](const Variant& variant) {
    has_another |= !variant.is_built() && variant.structure() == done.structure();
  });
  if (!has_another) add_copy(region, pass, done);
}

// A place where held calls had to be issued pass after pass is a cut that the recording did not show: another thread's
// work, a wait that makes no call, a launch that is refused each time.
void Engine::Impl::learn_cut(Variant& variant) noexcept {
  if (variant.handed.load(std::memory_order_acquire) != 0) return;
  for (std::size_t index = 0; index < variant.segments.size(); ++index) {
    Segment& segment = variant.segments[index];
    const std::uint32_t before = Variant::wanted_cut(segment);
    if (before == 0) continue;
    segment.interruptions = segment.expiries = 0;
    retire(segment);
    segment.state = Segment::State::waits;
    variant.pending = true;
    builds_pending.store(true, std::memory_order_release);
    try {
      variant.cut(before, settings.segment_min);
    } catch (const std::bad_alloc&) {  // it stays one segment, and waits to be built again
    }
    count_memory(variant);
  }
}

void Engine::Impl::count_memory(Variant& variant) noexcept {
  const std::uint64_t now = variant.memory();
  sequence_bytes.fetch_add(now - std::exchange(variant.counted_bytes, now), std::memory_order_relaxed);
}

// The variant that this pass turned out to be, or nullptr. The region's lock is held.
Variant* Engine::Impl::settle(Region& region, OpenRegion& pass, bool& is_new_short) noexcept {
  Reason refused{};
  if (pass.state == OpenRegion::State::recording && pass.recording.size() != 0) {
    const bool patches = settings.patch && !region.rule.strict_parameters && !region.rule.strict_configuration;
    Variant* same = nullptr;
    region.for_each_at(pass.context, [&](Variant& known) {
      if (same != nullptr || !patches || known.busy || known.dropped || !is_same_place(known, pass.recording)) return;
      if (!roles_fit(known, pass)) return;
      for (std::uint32_t index = 0; index < known.sequence.size(); ++index) {
        const capture::Operation& operation = pass.recording.operations[index];
        known.nodes[index].accept(operation.block, operation.shared);
      }
      same = &known;
    });
    if (same != nullptr) return same;
    return add_variant(region, pass, std::move(pass.recording), nullptr);
  }
  if (pass.state != OpenRegion::State::matching || pass.cursor == 0) return nullptr;
  Variant& followed = *pass.variant;
  if (region.replays) learn_cut(followed);
  if (pass.cursor == followed.sequence.size()) {
    const std::uint32_t size = followed.sequence.size();
    followed.scratch = 2 * pass.moved > size;
    add_twin_when_due(region, pass, followed);
    const bool moved_much = 4 * pass.moved >= size;
    const bool looked_at = moved_much && region.looks_at_addresses(pass.number);
    if (!moved_much && std::exchange(followed.is_copy, false)) ++region.copies_used;
    return looked_at ? keep_addresses(region, pass, followed) : &followed;
  }
  if (region.is_automatic()) return nullptr;
  const std::uint64_t structure = followed.sequence.structure(pass.cursor);
  Variant* shorter = region.find_prefix(structure, pass.cursor, true, nullptr, [](const Variant&) { return 100u; });
  if (shorter != nullptr || !may_record(region, refused)) return shorter;
  is_new_short = true;
  try {
    return add_variant(region, pass, followed.sequence.prefix(pass.cursor), &followed);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

// The region's lock is held.
void Engine::Impl::ask_for_graphs(const Region& region, Variant& variant) noexcept {
  const bool wants = std::any_of(variant.segments.begin(), variant.segments.end(),
                                 [&](const Segment& segment) { return variant.wants_graph(segment); });
  if (!wants || variant.pending || !deserves_graphs(region, variant)) return;
  variant.pending = true;
  builds_pending.store(true, std::memory_order_release);
}

void Engine::Impl::finish(OpenRegion& pass, bool may_build) noexcept {
  Region& region = *pass.region;
  // Many ranges have no operation of their own.
  if (pass.state == OpenRegion::State::choosing && pass.counters.calls == 0) {
    return log_counters_when_due();
  }
  if (pass.epoch != epoch.load(std::memory_order_acquire)) demote(pass);
  if (pass.state == OpenRegion::State::matching && pass.cursor < pass.variant->sequence.size()) {
    flush_pass(pass, Reason::sequence_shorter, "the end of the region");
  }
  if (pass.state == OpenRegion::State::matching && pass.variant->wants_cut()) launch_handed_of(pass);
  bool is_new_short = false, build_here = false;
  {
    const std::lock_guard guard(region.lock);
    if (Variant* done = settle(region, pass, is_new_short)) {
      done->note_use(pass.number);
      ++done->passes;
      if (region.last != nullptr) region.last->followers.learn(done);
      region.last = done;
      if (done->passes > 1) done->came_again = done->sequence.size();
      ask_for_graphs(region, *done);
    }
    region.counters += pass.counters;
    ++region.passes_since_wait;
    build_here = may_build && region.replays && builds_pending.load(std::memory_order_relaxed) &&
                 region.passes_since_wait >= settings.build_after * (region.is_automatic() ? pieces_in_a_pass : 1);
  }
  if (is_new_short) note(pass, Reason::sequence_shorter, "", "the end of the region");
  if (pass.variant != nullptr) {
    const std::lock_guard guard(region.lock);
    release(region, *std::exchange(pass.variant, nullptr));
  }
  pass.recording = {};
  if (build_here && region.is_automatic()) pass.build_due.store(true, std::memory_order_relaxed);
  if (build_here && !region.is_automatic()) build_pending(&region);
  log_counters_when_due();
}

}  // namespace refrain::replay
