#include "replay/step_finder.h"

#include <algorithm>
#include <utility>

namespace refrain::replay {
namespace {

constexpr std::uint32_t least_period = 64;  ///< loops of a kernel or two are no steps
constexpr std::uint32_t least_even = 12;    ///< by chance, gaps that differ at random come so once in 10^7 contexts
constexpr std::uint64_t least_demand = 1 << 13;
constexpr std::uint32_t longest_search = 1 << 22;  ///< 12 steps of 10^5 operations, met at the wrong moment
constexpr std::uint64_t longest_rest = 1 << 26;
constexpr std::uint64_t most_patience = 1 << 26;
constexpr std::uint32_t most_odd = 1 << 20;
constexpr std::uint32_t enough_even = 4;  ///< in a row, after which an interruption is over

bool about(std::uint64_t gap, std::uint64_t period) noexcept { return gap * 4 >= period * 3 && gap * 4 <= period * 5; }

std::uint64_t nearer(std::uint64_t period, std::uint64_t gap) noexcept { return period + gap / 8 - period / 8; }

}  // namespace

bool StepFinder::marker_came() noexcept {
  if (marker_.context == 0) return false;
  const std::uint64_t gap = now_ - marker_.last;
  marker_.last = now_;
  if (about(gap, marker_.period)) {
    marker_.period = nearer(marker_.period, gap);
    marker_.covered += gap;
    ++marker_.even;
    if (++marker_.even_in_a_row >= enough_even) {
      if (missing_) {
        // It was an interruption, and the next of its kind must not look like the end of the workload.
        marker_.patience = std::clamp(marker_.longest * 2, marker_.patience, most_patience);
        marker_.odd_allowed = std::clamp(marker_.odd_in_a_row * 2, marker_.odd_allowed, most_odd);
        marker_.odd = 0;
        missing_ = false;
        searching_ = searching_ && start_ < marker_.since;
      }
      marker_.odd_in_a_row = 0;
    }
  } else {
    marker_.longest = std::max(marker_.longest, gap);
    marker_.even_in_a_row = 0;
    ++marker_.odd;
    const bool uneven = marker_.odd >= marker_.odd_allowed * 2 && marker_.odd * 2 > marker_.even;
    if (++marker_.odd_in_a_row >= marker_.odd_allowed || uneven) {
      if (!searching_) begin_search();
      if (!missing_) missing_since_ = now_;
      missing_ = true;
    }
  }
  due_ = searching_ ? 0 : now_ + marker_.patience;
  if (marker_.even + marker_.odd >= 16 * marker_.odd_allowed) {
    marker_.even /= 2;
    marker_.odd /= 2;
  }
  return true;
}

void StepFinder::begin_search() noexcept {
  // What has held for long is not left for what comes during an evaluation.
  const std::uint64_t held = marker_.context == 0 ? 0 : now_ - marker_.since;
  demand_ = std::clamp(held / 8, least_demand, std::max(least_demand, marker_.period * 64));
  places_.fill({});
  start_ = now_;
  next_choice_ = 0;
  searching_ = true;
}

// Nothing comes evenly. It is looked for again, but more and more rarely.
void StepFinder::rest() noexcept {
  if (marker_.context != 0) {
    previous_ = marker_;
    ++generation_;
  }
  marker_ = {};
  searching_ = missing_ = false;
  rest_ = std::clamp<std::uint64_t>(rest_ * 2, longest_search, longest_rest);
  due_ = now_ + rest_;
}

// The marker before this one: training goes on after an evaluation that was long enough to be taken for the workload.
bool StepFinder::previous_came() noexcept {
  const std::uint64_t gap = now_ - previous_.last;
  previous_.last = now_;
  if (!about(gap, previous_.period)) return false;
  std::swap(marker_, previous_);
  marker_.patience = std::min(marker_.patience * 4, most_patience);
  marker_.odd_allowed = std::min(marker_.odd_allowed * 4, most_odd);
  marker_.odd = marker_.odd_in_a_row = 0;
  took_ = 0;
  ++generation_;
  missing_ = searching_ = false;
  due_ = now_ + marker_.patience;
  return true;
}

bool StepFinder::search(std::uint64_t context) noexcept {
  if (!searching_) {
    missing_ = marker_.context != 0;
    missing_since_ = now_;
    begin_search();
  }
  if (context == previous_.context && context != 0 && lost() && previous_came()) return true;
  const bool ends = now_ - start_ >= longest_search;
  if (ends && (marker_.context == 0 || now_ - marker_.last > longest_search / 2)) {
    rest();
    return false;
  }
  if (ends || (!young() && !lost() && marker_.covered * 4 >= (now_ - marker_.since) * 3)) {
    searching_ = false;
    due_ = now_ + (lost() ? longest_search : marker_.patience);
    return false;
  }
  const auto at = static_cast<std::uint32_t>(now_ - start_);
  Place& place = places_[context * 0x9e3779b97f4a7c15 >> (64 - table_bits)];
  if (place.context != context) {
    // First come, first kept: but not what comes too rarely for a step that this search can prove by now, nor what
    // comes many times a step. So the table fills with what comes once.
    const std::uint32_t gaps = std::uint32_t{place.even} + place.odd;
    const bool stale = at - place.last > std::max<std::uint32_t>(1 << 10, at / 8);
    const bool inner =
        gaps >= 8 && (place.gap < least_period || std::uint64_t{place.even} * place.gap * 2 < place.last - place.first);
    if (place.context == 0 || stale || inner) place = {context, at, at, 0, 0, 0};
    return false;
  }
  const std::uint32_t gap = at - place.last, before = std::exchange(place.last, at);
  if (about(gap, place.gap)) {
    place.gap = static_cast<std::uint32_t>(nearer(place.gap, gap));
    if (place.even < UINT16_MAX) ++place.even;
  } else if (place.odd++ >= place.even) {
    place.gap = gap;
    place.even = 1;
    place.odd = 0;
    place.first = before;
  }
  if (at < demand_ || at < next_choice_ || !proven(place, at)) return false;
  next_choice_ = at + std::max<std::uint32_t>(1 << 10, at / 64);
  const Place* chosen = choose(at);
  if (chosen == nullptr || !better(*chosen)) return false;
  const bool begins = chosen->context == context;
  take(*chosen);
  return begins;
}

// A loop within the step has even gaps too, but only for a part of it: the even gaps must make up most of the time
// since the context came first, and that must be most of the search.
bool StepFinder::proven(const Place& place, std::uint32_t at) const noexcept {
  return place.context != 0 && place.even >= least_even && place.gap >= least_period &&
         std::uint32_t{place.odd} * 8 <= place.even && at - place.last <= place.gap * 2 &&
         (place.last - place.first) * 2 >= at &&
         std::uint64_t{place.even} * place.gap * 4 >= std::uint64_t{at - place.first} * 3;
}

const StepFinder::Place* StepFinder::choose(std::uint32_t at) const noexcept {
  std::uint32_t largest = 0, hoped = 0;
  for (const Place& place : places_) {
    if (proven(place, at))
      largest = std::max(largest, place.gap);
    else if (place.even >= 2 && place.odd == 0 && at - place.last <= place.gap * 2)
      hoped = std::max(hoped, place.gap);
  }
  // A larger one that has been even so far: the step whose microbatches these are. Not the evaluation after many steps.
  if (hoped > largest + largest / 2 && hoped / 16 <= largest) return nullptr;
  const Place* best = nullptr;
  for (const Place& place : places_) {
    if (!proven(place, at) || place.gap < largest - largest / 8) continue;
    if (best == nullptr || place.odd < best->odd || (place.odd == best->odd && place.even > best->even)) best = &place;
  }
  return best;
}

// What was chosen first may be a loop within the step. It leaves out a good part of the step, then, as the step does
// not.
bool StepFinder::better(const Place& place) const noexcept {
  // What went away together with the marker is no better: so much later it is not proven any more.
  if (marker_.context == 0) return true;
  if (lost()) return now_ - (missing_ ? missing_since_ : marker_.last) > std::uint64_t{8} * place.gap;
  return std::uint64_t{place.gap} * 2 >= marker_.period * 3 && marker_.covered * 4 < (now_ - marker_.since) * 3;
}

void StepFinder::take(const Place& place) noexcept {
  if (missing_ && !young()) previous_ = marker_;
  marker_ = {};
  marker_.context = place.context;
  marker_.period = place.gap;
  marker_.since = now_;
  marker_.last = start_ + place.last;
  marker_.patience = 4 * marker_.period;
  took_ = now_ - start_;
  ++generation_;
  missing_ = false;
  rest_ = 0;
}

}  // namespace refrain::replay
