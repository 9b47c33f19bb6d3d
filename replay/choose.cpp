// Which variant a pass follows: at its first operation, and when an operation is not the expected one.
#include <algorithm>
#include <mutex>
#include <span>

#include "replay/engine_impl.h"

namespace refrain::replay {

using capture::Reason;

// A role is bound to the stream it was recorded on, so that one executable graph never waits for itself across streams.
bool Engine::Impl::role_fits(const Variant& variant, std::uint16_t role, const Lane& lane) const noexcept {
  const CUstream recorded = variant.role_streams[role];
  return variant.role_contexts[role] == lane.context && variant.role_priorities[role] == lane.priority &&
         variant.role_kinds[role] == lane.kind && (recorded == lane.stream || recorded == ended_stream);
}

bool Engine::Impl::roles_fit(const Variant& variant, const OpenRegion& pass) const noexcept {
  for (std::uint16_t role = 0; role < pass.role_count; ++role) {
    if (!role_fits(variant, role, *pass.roles[role])) return false;
  }
  return true;
}

bool Engine::Impl::bind_role(OpenRegion& pass, std::uint16_t role, Lane& lane) noexcept {
  if (role < pass.role_count) return pass.roles[role] == &lane;
  if (!role_fits(*pass.variant, role, lane)) return false;
  const auto bound_end = pass.roles.begin() + pass.role_count;
  if (role != pass.role_count || std::find(pass.roles.begin(), bound_end, &lane) != bound_end) return false;
  pass.variant->role_streams[role] = lane.stream;
  pass.roles[pass.role_count++] = &lane;
  return true;
}

template <typename Call>
Verdict Engine::Impl::expect(const Call& call, OpenRegion& pass, Lane& lane) noexcept {
  const Variant& variant = *pass.variant;
  if (pass.cursor == variant.sequence.size()) return Verdict::differs(Reason::sequence_longer);
  const Verdict verdict = compare(call, variant, pass.cursor, pass.region->rule);
  if (!verdict.equal) return verdict;
  if (!settings.patch && !same_bytes(call, variant, pass.cursor)) return Verdict::differs(Reason::different_parameters);
  if (!bind_role(pass, variant.sequence.operations[pass.cursor].role, lane))
    return Verdict::differs(Reason::different_stream);
  return {};
}

bool Engine::Impl::may_record(const Region& region, Reason& reason) const noexcept {
  reason = Reason::region_off;
  if (region.off) return false;
  reason = Reason::variant_limit;
  if (region.variants.size() >= settings.max_variants) return false;
  reason = Reason::memory_limit;
  return sequence_bytes.load(std::memory_order_relaxed) < (std::uint64_t{settings.max_host_mib} << 20);
}

template <typename Call>
bool Engine::Impl::begins(const Call& call, const Variant& variant, const Region& region,
                          const Lane& lane) const noexcept {
  return !variant.busy && !variant.dropped && role_fits(variant, 0, lane) &&
         compare(call, variant, 0, region.rule).equal && (settings.patch || same_bytes(call, variant, 0));
}

template <typename Call>
bool Engine::Impl::begins_again(const Call& call, OpenRegion& pass, Lane& lane) noexcept {
  Region& region = *pass.region;
  const std::span followed(pass.variant->tokens.data(), pass.cursor);
  const std::uint64_t context = region.trail->context(token_of(call), followed);
  const StepPlace* const in_step = pass.steps != nullptr ? pass.steps->places.find(pass.steps->position()) : nullptr;
  bool found = false;
  const std::lock_guard guard(region.lock);
  pass.variant->busy = false;  // it may begin here itself
  region.for_each_at(context, [&](const Variant& variant) {
    found |= variant.is_built() && begins(call, variant, region, lane) && may_begin(in_step, variant);
  });
  pass.variant->busy = true;
  return found;
}

template <typename Call>
Variant* Engine::Impl::likeliest(const Call& call, Region& region, Lane& lane, std::uint64_t context,
                                 const StepPlace* in_step, Variant*& oldest) noexcept {
  auto fits = [&](const Variant& variant) {
    return begins(call, variant, region, lane) && may_begin(in_step, variant);
  };
  // The likeliest first: what followed the time before last, which is what followed last time where addresses come back
  // in each step; then that. Then whatever had most of these addresses. Then, for addresses never
  // seen, what followed last time all the same, or the variant that is patched for such.
  constexpr unsigned probably_same = 50;
  Variant* const other = region.last != nullptr ? region.last->followers.last : nullptr;
  Variant* const next =
      other != nullptr && region.last->followers.before != nullptr ? region.last->followers.before : other;
  const bool next_fits = next != nullptr && fits(*next);
  Variant* chosen = next_fits && (next->moves || likeness(call, *next, 0) >= surely_same) ? next : nullptr;
  if (chosen == nullptr && other != next && fits(*other) && likeness(call, *other, 0) >= surely_same) chosen = other;
  Variant* oldest_built = nullptr;
  unsigned most_alike = probably_same - 1;
  if (chosen != nullptr) return chosen;
  if (next_fits && next->is_built() && !region.looks_at_addresses(region.passes)) return next;
  region.for_each_at(context, [&](Variant& variant) {
    if (!fits(variant)) return;
    if (const unsigned alike = likeness(call, variant, 0); alike > most_alike) {
      most_alike = alike;
      chosen = &variant;
    }
    if (oldest == nullptr || variant.last_use < oldest->last_use) oldest = &variant;
    if (!variant.is_built()) return;
    const bool better = oldest_built == nullptr || (variant.scratch && !oldest_built->scratch) ||
                        (variant.scratch == oldest_built->scratch && variant.last_use < oldest_built->last_use);
    if (better) oldest_built = &variant;
  });
  if (chosen == nullptr && next_fits && next->is_built()) {
    constexpr std::uint32_t moved_often = 8;
    chosen = next;
    if (++next->moved >= moved_often) next->moves = true;  // no use in searching by addresses for this one
  }
  // A copy for these addresses that is not built yet is left alone where another one can be patched meanwhile.
  if (chosen != nullptr && !chosen->is_built() && oldest_built != nullptr) return oldest_built;
  return chosen != nullptr ? chosen : oldest_built;
}

// What comes again while it waits for the issue thread would have to be waited for: its shadow is needed until then.
// Another one of its structure is patched for it meanwhile.
template <typename Call>
Variant* Engine::Impl::launched_twin(const Call& call, Region& region, Lane& lane, Variant& chosen) noexcept {
  if (!chosen.in_use()) return &chosen;
  Variant* twin = nullptr;
  unsigned most_alike = 0;
  region.for_each_at(chosen.context, [&](Variant& variant) {
    if (variant.in_use() || !variant.is_built() || variant.structure() != chosen.structure()) return;
    if (variant.sequence.size() != chosen.sequence.size() || !begins(call, variant, region, lane)) return;
    const unsigned alike = likeness(call, variant, 0);
    const bool better =
        twin == nullptr || alike > most_alike || (alike == most_alike && variant.scratch > twin->scratch);
    if (!better) return;
    most_alike = alike;
    twin = &variant;
  });
  return twin != nullptr ? twin : &chosen;
}

template <typename Call>
void Engine::Impl::choose(const Call& call, OpenRegion& pass, Lane& lane) noexcept {
  Region& region = *pass.region;
  const std::lock_guard guard(region.lock);
  if (pass.number <= settings.skip) {
    pass.state = OpenRegion::State::eager;
    return;
  }
  if (region.off) {
    pass.state = OpenRegion::State::eager;
    ++region.causes[static_cast<std::size_t>(Reason::region_off)];
    return;
  }
  if (pace.arm() == Arm::eager) {
    pass.state = OpenRegion::State::eager;
    ++region.causes[static_cast<std::size_t>(Reason::eager_step)];
    return;
  }
  if (region.rest.rests(pass.number)) {
    pass.state = OpenRegion::State::eager;
    ++region.causes[static_cast<std::size_t>(Reason::region_rests)];
    return;
  }
  Variant* oldest = nullptr;
  Variant* chosen = likeliest(call, region, lane, 0, nullptr, oldest);
  Reason reason{};
  if (chosen == nullptr && may_record(region, reason)) {
    pass.state = OpenRegion::State::recording;
    return;
  }
  if (chosen == nullptr) chosen = oldest;
  if (chosen == nullptr) {
    pass.state = OpenRegion::State::eager;
    ++region.causes[static_cast<std::size_t>(reason)];
    return;
  }
  chosen = launched_twin(call, region, lane, *chosen);
  chosen->busy = true;
  pass.variant = chosen;
  pass.state = OpenRegion::State::matching;
}

template <typename Call>
bool Engine::Impl::switch_variant(const Call& call, OpenRegion& pass, Lane& lane, Reason reason) noexcept {
  Region& region = *pass.region;
  const std::uint64_t structure = pass.variant->sequence.structure(pass.cursor);
  auto suits = [&](const Variant& variant) -> unsigned {
    if (!compare(call, variant, pass.cursor, region.rule).equal) return 0;
    if (!settings.patch && !same_bytes(call, variant, pass.cursor)) return 0;
    if (!roles_fit(variant, pass)) return 0;
    const std::uint16_t role = variant.sequence.operations[pass.cursor].role;
    const bool role_suits =
        role < pass.role_count ? pass.roles[role] == &lane : role == pass.role_count && role_fits(variant, role, lane);
    return role_suits ? 1 + likeness(call, variant, pass.cursor) : 0;
  };
  Variant* other = nullptr;
  {
    const std::lock_guard guard(region.lock);
    other = region.find_prefix(structure, pass.cursor, false, pass.variant, suits);
    if (other == nullptr) return false;
    other->busy = true;
  }
  flush_pass(pass, reason, "the sequence takes another branch");
  {
    const std::lock_guard guard(region.lock);
    release(region, *pass.variant);
  }
  pass.variant = other;
  for (std::uint16_t role = 0; role < pass.role_count; ++role) other->role_streams[role] = pass.roles[role]->stream;
  return bind_role(pass, other->sequence.operations[pass.cursor].role, lane);
}

#define INSTANTIATE(Call)                                                                                     \
  template bool Engine::Impl::begins(const Call&, const Variant&, const Region&, const Lane&) const noexcept; \
  template bool Engine::Impl::begins_again(const Call&, OpenRegion&, Lane&) noexcept;                         \
  template Variant* Engine::Impl::likeliest(const Call&, Region&, Lane&, std::uint64_t, const StepPlace*,     \
                                            Variant*&) noexcept;                                              \
  template Variant* Engine::Impl::launched_twin(const Call&, Region&, Lane&, Variant&) noexcept;              \
  template Verdict Engine::Impl::expect(const Call&, OpenRegion&, Lane&) noexcept;                            \
  template void Engine::Impl::choose(const Call&, OpenRegion&, Lane&) noexcept;                               \
  template bool Engine::Impl::switch_variant(const Call&, OpenRegion&, Lane&, Reason) noexcept;
INSTANTIATE(KernelCall)
INSTANTIATE(MemsetCall)
INSTANTIATE(CopyCall)
#undef INSTANTIATE

}  // namespace refrain::replay
