// Operations outside of all ranges. Each lane has a region of its own whose passes begin and end by themselves: where
// operations have come in the same order before, a piece of them is recorded, and held when it comes again.
//
// A piece begins at a place that is known by the operations before it (trail.h), and ends at a call that orders, at a
// place where another piece begins, or when it is long enough. So pieces fit together in whatever order the program
// makes them come, and one that goes another way is left at once: the next begins within a few operations.
#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

#include "replay/engine_impl.h"

namespace refrain::replay {

using capture::Reason;

namespace {

// A piece this long saves nearly all that a longer one would, and an operation that does not fit loses less of it.
constexpr std::uint32_t most_operations = 64;
// A shorter piece does not end where another begins: one kernel again and again would be pieces of one operation.
constexpr std::uint32_t least_operations = 16;
// An operation is recorded where it comes for the third time: what a program does while it starts comes twice at most.
constexpr std::uint32_t least_seen = 2;
constexpr std::uint16_t most_unfit = 3;
// Of one lane. The least recently used one makes room.
constexpr std::size_t most_variants = 1024;

// One word for what an operation does, for a look at the order of operations that costs nearly nothing.
std::uint64_t word_of(const KernelCall& call) noexcept {
  return reinterpret_cast<std::uint64_t>(call.function) * 0x9e3779b97f4a7c15;
}
std::uint64_t word_of(const MemsetCall&) noexcept { return 0xbf58476d1ce4e5b9; }
std::uint64_t word_of(const CopyCall&) noexcept { return 0x94d049bb133111eb; }

}  // namespace

OpenRegion* Engine::Impl::automatic_pass(Lane& lane) noexcept {
  if (OpenRegion* known = lane.automatic.load(std::memory_order_acquire)) return known;
  const std::lock_guard guard(lane.lock);
  if (OpenRegion* known = lane.automatic.load(std::memory_order_relaxed)) return known;
  const std::size_t number = first_automatic + automatic_taken.load(std::memory_order_relaxed);
  if (number >= regions.size()) return nullptr;
  auto* pass = new (std::nothrow) OpenRegion(true);
  if (pass == nullptr) return nullptr;
  const std::size_t mine = first_automatic + automatic_taken.fetch_add(1, std::memory_order_relaxed);
  if (mine >= regions.size()) {
    delete pass;
    return nullptr;
  }
  pass->region = regions[mine].get();
  if (pass->region->replays) pass->steps.reset(new (std::nothrow) LaneSteps);
  pass->epoch = epoch.load(std::memory_order_acquire);
  begin_piece(*pass);
  lane.automatic.store(pass, std::memory_order_release);
  return pass;
}

void Engine::Impl::begin_piece(OpenRegion& pass) noexcept {
  pass.state = OpenRegion::State::choosing;
  pass.cursor = 0;
  pass.holding = nullptr;
  pass.role_count = 0;
  pass.counters = {};
  pass.moved = 0;
  pass.pace.clear();
  pass.tokens.clear();
  const std::lock_guard guard(pass.region->lock);
  pass.number = pass.region->begin_pass();
}

template <typename Call>
Decision Engine::Impl::hold_automatic(const Call& call, Thread& thread, CUresult& result) noexcept {
  const std::uint64_t now = epoch.load(std::memory_order_acquire);
  if (thread.cached_epoch != now) {
    thread.cached_lane = nullptr;
    thread.automatic = nullptr;
    thread.cached_epoch = now;
  }
  const bool captured = captures_active.load(std::memory_order_acquire) != 0 && is_capturing(call.stream);
  Lane* lane =
      captured ? nullptr : lane_of(call.stream, thread.cached_stream, thread.cached_context, thread.cached_lane);
  OpenRegion* pass = lane != nullptr ? automatic_pass(*lane) : nullptr;
  if (pass == nullptr) {
    Thread::add(thread.outside_calls);
    if (lanes_holding.load(std::memory_order_acquire) != 0) order_stream(call.stream, "other work on the stream");
    return Decision::pass;
  }
  thread.after_pass = pass;
  thread.after_lane = lane;
  thread.automatic = pass;
  thread.after = After::ignored;
  Decision decision;
  {
    const PassGuard guard(*pass);
    if (pass->epoch != now) demote(*pass);
    order_coupled(*lane);
    const bool alone = pass->steps != nullptr && note_operation(*pass, word_of(call));
    if (alone || pace.arm() == Arm::eager) {
      leave_piece(*pass);
      if (lane->holds()) flush(*lane, Reason::early_order, "a call that passes");
      Thread::add(thread.outside_calls);
      thread.after_pass = nullptr;
      return Decision::pass;
    }
    decision = follow_automatic(call, thread, *pass, *lane, result);
  }
  build_when_due(*pass);
  return decision;
}

void Engine::Impl::build_when_due(OpenRegion& pass) noexcept {
  if (!pass.build_due.load(std::memory_order_relaxed)) return;
  if (pass.build_due.exchange(false, std::memory_order_acq_rel)) build_pending(pass.region);
}

template <typename Call>
Decision Engine::Impl::follow_automatic(const Call& call, Thread& thread, OpenRegion& pass, Lane& lane,
                                        CUresult& result) noexcept {
  // A call of this thread that orders ends what is recorded. What other threads do meanwhile comes at any time.
  const bool same_thread = pass.last_thread == &thread;
  const bool ordered = same_thread && pass.orders != thread.orders;
  const bool waited = same_thread && pass.waited != thread.waited;
  pass.last_thread = &thread;
  pass.orders = thread.orders;
  pass.waited = thread.waited;
  if (pass.state == OpenRegion::State::recording && ordered && pass.recording.size() != 0) {
    pass.waits.after = waited;
    finish_piece(pass);
  }
  if (pass.state == OpenRegion::State::matching) {
    const Verdict verdict = expect(call, pass, lane);
    if (!verdict.equal)
      lose_place(pass, verdict.reason, token_of(call));
    else if (ordered && is_broken(pass) && begins_again(call, pass, lane))
      lose_place(pass, Reason::early_order);
  }
  if (pass.state != OpenRegion::State::matching) {
    thread.after_token = token_of(call);
    if (pass.state == OpenRegion::State::recording && ends_before(pass, thread.after_token)) finish_piece(pass);
    const bool follows = std::exchange(pass.follows_piece, false);
    if (pass.state == OpenRegion::State::choosing) find_place(call, thread.after_token, pass, lane);
    // What cannot be held, and so ended the piece, begins none.
    if (follows) note_end(*pass.region, ordered, waited, ordered || pass.state == OpenRegion::State::matching);
    if (pass.state == OpenRegion::State::recording && pass.recording.size() == 0) pass.waits = {waited, false};
  }
  if (pass.state == OpenRegion::State::matching) {
    if (take(call, pass, lane, result)) {
      if (pass.cursor == pass.variant->sequence.size()) finish_piece(pass);
      return Decision::held;
    }
    thread.after = After::matched;
  } else {
    thread.after = pass.state == OpenRegion::State::recording ? After::recorded : After::unplaced;
  }
  thread.after_variant = pass.variant;
  thread.after_cursor = pass.cursor;
  if (lane.holds()) flush(lane, Reason::early_order, "a call that passes");
  return Decision::report;
}

namespace {

// The last operations are a few that come again and again: one long piece has fewer borders than many short ones.
bool is_short_loop(const std::vector<std::uint64_t>& tokens) noexcept {
  constexpr std::size_t longest = least_operations / 2;
  if (tokens.size() < least_operations) return false;
  for (std::size_t period = 1; period <= longest; ++period) {
    if (std::equal(tokens.end() - longest, tokens.end(), tokens.end() - longest - static_cast<std::ptrdiff_t>(period)))
      return true;
  }
  return false;
}

}  // namespace

bool Engine::Impl::ends_before(OpenRegion& pass, std::uint64_t token) noexcept {
  const std::uint32_t size = pass.recording.size();
  if (size >= std::min(most_operations, settings.max_operations)) return true;
  if (size < least_operations) return false;
  const std::uint64_t context = pass.region->trail->context(token);
  if (context == pass.context) return !is_short_loop(pass.tokens);
  const std::lock_guard guard(pass.region->lock);
  const Place* place = pass.region->trail->find(context);
  return place != nullptr && place->variants != nullptr;
}

// While it rests no piece begins or ends: so many operations are as much as one. The region's lock is held.
bool Engine::Impl::rests(OpenRegion& pass) noexcept {
  constexpr std::uint32_t operations_of_a_pass = least_operations;
  Region& region = *pass.region;
  if (!region.rest.rests(pass.number)) return false;
  if (++pass.rested % operations_of_a_pass == 0) pass.number = region.begin_pass();
  return true;
}

template <typename Call>
void Engine::Impl::find_place(const Call& call, std::uint64_t token, OpenRegion& pass, Lane& lane) noexcept {
  Region& region = *pass.region;
  if (region.off) return;
  const std::uint64_t context = region.trail->context(token);
  pass.position = pass.steps != nullptr ? pass.steps->position() : 0;
  const StepPlace* const in_step = pass.steps != nullptr ? pass.steps->places.find(pass.position) : nullptr;
  const std::lock_guard guard(region.lock);
  if (rests(pass)) return;
  Variant* oldest = nullptr;
  Variant* chosen = likeliest(call, region, lane, context, in_step, oldest);
  if (chosen == nullptr && oldest == nullptr) chosen = begun_anywhere(call, token, region, lane, in_step);
  // One that begins here and has no graph yet is followed until it came again, and left alone while it waits for one.
  const bool may_come_again = oldest != nullptr && oldest->came_again != oldest->sequence.size();
  if (chosen == nullptr && may_come_again) chosen = oldest;
  if (chosen != nullptr) {
    chosen = launched_twin(call, region, lane, *chosen);
    chosen->busy = true;
    pass.variant = chosen;
    pass.state = OpenRegion::State::matching;
    bind_role(pass, 0, lane);
    return;
  }
  const Place* place = region.trail->find(context);
  if (place == nullptr || place->seen < least_seen + settings.skip || place->unfit >= most_unfit) return;
  if (oldest != nullptr || !make_room_for_variant(region)) return;
  pass.context = context;
  pass.state = OpenRegion::State::recording;
}

// After work of another kind nothing is known of what came before. The addresses tell whether it is the same place.
template <typename Call>
Variant* Engine::Impl::begun_anywhere(const Call& call, std::uint64_t token, Region& region, Lane& lane,
                                      const StepPlace* in_step) noexcept {
  const Place* place = region.trail->find(Trail::first_only(token));
  Variant* best = nullptr;
  unsigned most_alike = surely_same - 1;
  constexpr int most_tried = 16;  // the youngest: a kernel that begins hundreds of them tells too little
  int tried = 0;
  for (Variant* variant = place != nullptr ? place->variants : nullptr; variant != nullptr && tried < most_tried;
       variant = variant->same_first, ++tried) {
    const bool may = begins(call, *variant, region, lane) && may_begin(in_step, *variant);
    const unsigned alike = may ? likeness(call, *variant, 0) : 0;
    if (alike <= most_alike) continue;
    most_alike = alike;
    best = variant;
  }
  return best;
}

// The least recently used variant makes room when the program has left it behind.
bool Engine::Impl::make_room_for_variant(Region& region) noexcept {
  const bool full = region.variants.size() >= most_variants ||
                    sequence_bytes.load(std::memory_order_relaxed) >= (std::uint64_t{settings.max_host_mib} << 20);
  if (!full) return true;
  Variant* oldest = nullptr;
  for (const std::unique_ptr<Variant>& variant : region.variants) {
    if (!variant->in_use() && (oldest == nullptr || variant->last_use < oldest->last_use)) oldest = variant.get();
  }
  if (oldest == nullptr || oldest->last_use + region.long_unused() >= region.passes) return false;
  oldest->dropped = true;
  erase_dropped(region);
  return true;
}

// A short piece ended at a call that orders. Where that call does not come any more, as an allocation of the first
// steps does not, it is left behind with those of its kind, and a longer one is recorded.
void Engine::Impl::note_end(Region& region, bool ordered, bool waited, bool tells) noexcept {
  constexpr std::uint32_t often = 3;
  const std::lock_guard guard(region.lock);
  Variant* ended = region.last;
  if (ended == nullptr) return;
  ended->note_what_follows(waited);
  if (!tells || ended->sequence.size() >= least_operations) return;
  ended->needless_ends = ordered ? 0 : ended->needless_ends + 1;
  if (ended->needless_ends < often) return;
  const std::uint32_t size = ended->sequence.size();
  region.for_each_at(ended->context, [&](Variant& variant) { variant.dropped |= variant.sequence.size() == size; });
  erase_dropped(region);
}

void Engine::Impl::count_unplaced(OpenRegion& pass, std::uint64_t token) noexcept {
  Trail& trail = *pass.region->trail;
  {
    const std::lock_guard guard(pass.region->lock);
    if (Place* place = trail.at(trail.context(token))) ++place->seen;
  }
  trail.push(token);
  const std::lock_guard guard(pass.region->lock);
  pass.region->counters += pass.counters;
  pass.counters = {};
}

// The piece is complete: what was recorded becomes a variant, what was followed is free again.
void Engine::Impl::finish_piece(OpenRegion& pass) noexcept {
  Region& region = *pass.region;
  const std::vector<std::uint64_t>& tokens =
      pass.state == OpenRegion::State::matching ? pass.variant->tokens : pass.tokens;
  const std::size_t kept = std::min<std::size_t>(tokens.size(), Trail::context_length - 1);
  for (std::size_t index = tokens.size() - kept; index < tokens.size(); ++index) region.trail->push(tokens[index]);
  if (pass.state == OpenRegion::State::recording && pass.recording.size() < settings.segment_min) {
    const std::lock_guard guard(region.lock);
    if (Place* place = region.trail->at(pass.context)) ++place->unfit;
    pass.state = OpenRegion::State::choosing;
    pass.recording = {};
  }
  if (pass.steps != nullptr) {
    const capture::Sequence& done = pass.state == OpenRegion::State::matching ? pass.variant->sequence : pass.recording;
    if (done.size() != 0) pass.steps->places.completed(pass.position, done.structure(done.size()));
  }
  finish(pass, true);
  begin_piece(pass);
  pass.follows_piece = true;
}

void Engine::Impl::end_piece_of(Thread& thread) noexcept {
  OpenRegion* pass = std::exchange(thread.automatic, nullptr);
  if (pass == nullptr || thread.cached_epoch != epoch.load(std::memory_order_acquire)) return;
  const PassGuard guard(*pass);
  if (pass->last_thread != &thread || pass->epoch != thread.cached_epoch) return;
  if (pass->state == OpenRegion::State::recording && pass->recording.size() != 0) {
    pass->waits.after = true;
    finish_piece(*pass);
  }
  if (pass->state == OpenRegion::State::matching && pass->cursor != 0) lose_place(*pass, Reason::early_order);
}

bool Engine::Impl::is_broken(OpenRegion& pass) noexcept {
  Variant& variant = *pass.variant;
  if (pass.cursor == variant.sequence.size()) return false;
  const Segment& segment = variant.segment_of(pass.cursor);
  if (segment.state != Segment::State::built || segment.first == pass.cursor) return false;
  if (pass.holding == nullptr) return true;
  const std::lock_guard guard(pass.holding->lock);
  return pass.holding->holder != &pass;
}

// The operation that comes is another one: what is held is issued, and the trail goes on from here.
void Engine::Impl::lose_place(OpenRegion& pass, Reason reason, std::uint64_t found) noexcept {
  Region& region = *pass.region;
  Variant& left = *pass.variant;
  // What is issued before a call that orders is noted there, now or when it was issued.
  const bool noted = is_broken(pass) || (reason == Reason::early_order && pass.holding != nullptr);
  if (pass.steps != nullptr && reason != Reason::early_order)
    pass.steps->places.left(pass.position, left.structure(), found + pass.cursor);
  flush_pass(pass, reason, nullptr);
  if (left.wants_cut()) launch_handed_of(pass);  // what was handed over cannot be cut; nothing else needs it launched
  const std::uint32_t first = pass.cursor - std::min(pass.cursor, Trail::context_length - 1);
  for (std::uint32_t index = first; index < pass.cursor; ++index) region.trail->push(left.tokens[index]);
  {
    const std::lock_guard guard(region.lock);
    if (!noted) left.note_interruption(pass.cursor);
    learn_cut(left);
    region.last = nullptr;
    left.came_again = std::max(left.came_again, pass.cursor);
    ask_for_graphs(region, left);
  }
  if (reason != Reason::early_order) note(pass, reason, "", "");
  {
    const std::lock_guard guard(region.lock);
    region.counters += pass.counters;
    pass.variant = nullptr;
    release(region, left);
  }
  begin_piece(pass);
}

#define INSTANTIATE(Call) template Decision Engine::Impl::hold_automatic(const Call&, Thread&, CUresult&) noexcept;
INSTANTIATE(KernelCall)
INSTANTIATE(MemsetCall)
INSTANTIATE(CopyCall)
#undef INSTANTIATE

}  // namespace refrain::replay
