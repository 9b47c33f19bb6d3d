#include "replay/governor.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "replay/signed_rank.h"
#include "replay/step_times.h"

namespace refrain::replay {
namespace {

constexpr std::uint32_t least_warm = 16, most_warm = 128, least_quiet = 8;
// A clear difference shows in short blocks, whatever the noise: where long ones would be needed, these come first. Most
// noise of a shared host comes and goes within a second or two, so that short ones have the same on both sides. Their
// length fits no rhythm of steps that programs have.
constexpr std::uint32_t pilot_steps = 7, least_pilot = 24;
constexpr double clear_difference = 0.03, small_difference = 0.02;
constexpr double block_ns = 20e6;
constexpr std::uint32_t least_steps = 4;
constexpr double wanted_cv = 0.02;       ///< of a block
constexpr std::uint32_t least_sums = 4;  ///< that show how much blocks vary
constexpr std::uint32_t check_steps = 8;
constexpr std::uint64_t check_interval = 1000;
constexpr std::int64_t check_interval_ns = 60'000'000'000;
constexpr std::uint64_t check_share = 100;  ///< one step in so many runs in the arm that has lost
constexpr std::uint32_t most_against = 3;
constexpr double margin = 0.002;
// It looks after every fourth pair from the eighth on. By chance one look says this of either side once in 200 times;
// with 8 pairs all must agree.
constexpr std::uint32_t first_look = 8, look_interval = 4;
constexpr double certain = 2.5;
constexpr double unusual = 1.3;  ///< of the usual time of a step, or one part in it
constexpr std::uint32_t watch_steps = 32, most_unusual = 4;
constexpr std::uint64_t calm_steps = 4096, shortest_wait = 64, longest_wait = 1 << 16;

// A step that saves a checkpoint says nothing of the arm it runs in. Where steps as long come often, they are part of
// the program, and what they took counts.
std::int64_t longest_usual(std::span<const std::int64_t> times) noexcept {
  constexpr std::int64_t long_step = 4;
  constexpr std::size_t rare = 8, few = 4;
  std::array<std::int64_t, 64> sorted{};
  const std::size_t count = std::min(times.size(), sorted.size());
  std::copy_n(times.begin(), count, sorted.begin());
  std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(count));
  const std::int64_t limit = long_step * sorted[count / 2];
  std::size_t above = 0, last = 0, least = count, most = 0;  // distances between long steps
  for (std::size_t index = 0; index < count; ++index) {
    if (times[index] <= limit) continue;
    if (above++ > 0) {
      least = std::min(least, index - last);
      most = std::max(most, index - last);
    }
    last = index;
  }
  const bool comes_evenly = above >= few && most - least <= 2;
  return comes_evenly || above * rare > count ? std::numeric_limits<std::int64_t>::max() : limit;
}

Arm other(Arm arm) noexcept { return arm == Arm::replay ? Arm::eager : Arm::replay; }

}  // namespace

Arm Governor::step(std::int64_t now_ns, bool built_something) noexcept {
  const std::int64_t took = now_ns - now_;
  now_ = now_ns;
  if (!started_) {
    started_ = true;
    return arm_;
  }
  ++steps_;
  if (known_ && arm_ != verdict_.arm) {
    ++spent_;
    ++verdict_.steps_lost;
  }
  switch (state_) {
    case State::waiting:
      if (--wait_ == 0) {
        state_ = State::warming;
        use(Arm::replay);
      }
      break;
    case State::warming: warm(took, built_something); break;
    case State::measuring:
    case State::checking: measure(took, built_something); break;
    case State::decided: watch(took); break;
  }
  return arm_;
}

// A workload that changes again and again would be measured all the time: it keeps what won last for longer each time.
void Governor::workload_changed() noexcept {
  const bool calm = steps_ - armed_at_ >= calm_steps + backoff_;
  backoff_ = calm || verdict_.measurements == 0 ? 0 : std::clamp(backoff_ * 2, shortest_wait, longest_wait);
  armed_at_ = steps_;
  wait_ = backoff_;
  filled_ = warmed_ = quiet_ = against_ = 0;
  known_ = false;
  verdict_.phase = ArmVerdict::Phase::warming;
  state_ = wait_ > 0 ? State::waiting : State::warming;
  use(wait_ > 0 ? verdict_.arm : Arm::replay);
}

void Governor::slept(std::int64_t now_ns) noexcept {
  if (usual_ns_ > 0) steps_ += static_cast<std::uint64_t>(static_cast<double>(now_ns - now_) / usual_ns_);
  now_ = now_ns;
}

void Governor::use(Arm arm) noexcept {
  // What was queued before the change drains in the step after it.
  if (arm != arm_) skip_ = pilot_ ? pilot_skip_ : std::max(1u, full_steps_ / 8);
  arm_ = arm;
}

void Governor::warm(std::int64_t took, bool built_something) noexcept {
  times_[filled_++ % most_steps] = took;
  quiet_ = built_something ? 0 : quiet_ + 1;
  if (++warmed_ < most_warm && (warmed_ < least_warm || quiet_ < least_quiet)) return;
  const std::span<std::int64_t> times(times_.data(), std::min(filled_, most_steps));
  longest_ = longest_usual(times);
  builds_always_ = quiet_ < least_quiet;
  // Where steps differ in a rhythm, as those of a program that runs ahead of the device and waits for it now and then,
  // what a whole turn of it takes varies much less.
  std::uint32_t calm = least_steps;
  while (calm <= times.size() / least_sums && variation_of_sums(times, calm, longest_) > wanted_cv / 2) ++calm;
  const bool is_calm = calm <= times.size() / least_sums;
  if (!is_calm && warmed_ < most_steps) return;
  const double noise = variation_of_sums(times, 1, longest_) / wanted_cv;
  const double step_ns = middle(times);
  const double steps = std::max(block_ns / step_ns, is_calm ? calm : noise * noise);
  full_steps_ = is_calm ? calm : least_steps;
  while (full_steps_ <= most_steps / 2 && full_steps_ < steps) full_steps_ *= 2;
  pilot_ = full_steps_ > 2 * pilot_steps;
  pilot_skip_ = static_cast<std::uint32_t>(std::clamp(block_ns / 2 / step_ns, 2.0, std::max(2.0, full_steps_ / 8.0)));
  begin_blocks(State::measuring, pilot_ ? pilot_steps : full_steps_);
}

void Governor::begin_blocks(State state, std::uint32_t steps) noexcept {
  state_ = state;
  block_steps_ = steps;
  block_ = filled_ = dropped_ = 0;
  if (state == State::measuring) verdict_.phase = ArmVerdict::Phase::measuring;
  use(arm_of_block());
}

// ABBA: a drift is for one arm in a pair and for the other in the next, and every second change of arm falls away.
// A check begins with what has won, which runs anyway.
Arm Governor::arm_of_block() const noexcept {
  const Arm first = state_ == State::checking ? verdict_.arm : Arm::replay;
  return block_ % 4 == 0 || block_ % 4 == 3 ? first : other(first);
}

void Governor::measure(std::int64_t took, bool built_something) noexcept {
  if (skip_ > 0) {
    --skip_;
    return;
  }
  // What was built now will be replayed for long; but a workload that builds all the time is measured as it is.
  if (built_something && !builds_always_ && dropped_ < block_steps_) {
    ++dropped_;
    return;
  }
  ++verdict_.steps_measured;
  times_[filled_++] = took;
  if (filled_ < block_steps_) return;
  const std::span<std::int64_t> times(times_.data(), filled_);
  Block& block = blocks_[static_cast<std::size_t>(arm_)][block_ / 2];
  block.cv = static_cast<float>(variation(times));
  block.ns = static_cast<float>(mean(times, longest_));
  filled_ = dropped_ = 0;
  if (++block_ % 2 == 0) end_pair();
  if (state_ == State::measuring || state_ == State::checking) use(arm_of_block());
}

void Governor::end_pair() noexcept {
  const std::uint32_t pairs = block_ / 2;
  std::array<float, most_pairs> ratios;
  for (std::uint32_t pair = 0; pair < pairs; ++pair) ratios[pair] = blocks_[0][pair].ns / blocks_[1][pair].ns;
  const double ratio = median({ratios.data(), pairs});
  if (state_ == State::checking) return end_check(ratio);
  if (pairs < first_look || pairs % look_interval != 0) return;
  const double sign = signed_rank({ratios.data(), pairs});
  const double least = pilot_ ? clear_difference : margin;
  if (ratio < 1 - least && sign <= -certain) return decide(Arm::replay, ratio);
  if (ratio > 1 + least && sign >= certain) return decide(Arm::eager, ratio);
  if (pilot_) {
    const bool is_small = pairs >= least_pilot && std::fabs(ratio - 1) < small_difference;
    if (pairs < most_pairs && !is_small) return;
    pilot_ = false;
    begin_blocks(State::measuring, full_steps_);
  } else if (pairs == most_full_pairs) {
    decide(ratio < 1 - margin ? Arm::replay : Arm::eager, ratio);
  }
}

void Governor::decide(Arm arm, double ratio) noexcept {
  const std::uint32_t pairs = block_ / 2;
  verdict_.phase = ArmVerdict::Phase::decided;
  verdict_.arm = arm;
  verdict_.ratio = ratio;
  verdict_.pairs = pairs;
  ++verdict_.measurements;
  auto summarize = [&](Arm which, double& ms, double& cv) {
    std::array<float, most_pairs> values;
    const auto& blocks = blocks_[static_cast<std::size_t>(which)];
    std::ranges::transform(blocks, values.begin(), [](const Block& block) { return block.ns; });
    ms = median({values.data(), pairs}) / 1e6;
    std::ranges::transform(blocks, values.begin(), [](const Block& block) { return block.cv; });
    cv = median({values.data(), pairs});
  };
  summarize(Arm::replay, verdict_.replay_ms, verdict_.cv_replay);
  summarize(Arm::eager, verdict_.eager_ms, verdict_.cv_eager);
  if (!known_) {
    spent_ = 0;
    spent_since_ = steps_;
  }
  known_ = true;
  pilot_ = false;
  usual_ns_ = 0;
  against_ = unusual_ = 0;
  await_check();
}

void Governor::await_check() noexcept {
  // A check that contradicted the verdict is looked into sooner.
  const int sooner = against_ > 0 ? 4 : 1;
  next_check_ = steps_ + check_interval / sooner;
  next_check_ns_ = now_ + check_interval_ns / sooner;
  state_ = State::decided;
  filled_ = 0;
  use(verdict_.arm);
}

void Governor::end_check(double ratio) noexcept {
  const bool against = verdict_.arm == Arm::replay ? ratio > 1 + margin : ratio < 1 - margin;
  against_ = against ? against_ + 1 : 0;
  if (against_ < most_against) return await_check();
  begin_blocks(State::measuring, full_steps_);
}

void Governor::watch(std::int64_t took) noexcept {
  if (skip_ > 0) {
    --skip_;
    return;
  }
  times_[filled_++] = took;
  if (filled_ == watch_steps) {
    filled_ = 0;
    const double step_ns = middle({times_.data(), watch_steps});
    if (usual_ns_ == 0) usual_ns_ = step_ns;
    const bool odd = step_ns > usual_ns_ * unusual || step_ns * unusual < usual_ns_;
    unusual_ = odd ? unusual_ + 1 : 0;
    if (unusual_ == most_unusual) return workload_changed();
  }
  if (steps_ < next_check_ || now_ < next_check_ns_) return;
  const std::uint64_t allowed = (steps_ - spent_since_) / check_share;
  const std::uint32_t steps =
      allowed > spent_ + std::uint64_t{2} * full_steps_ ? full_steps_ : std::min(full_steps_, check_steps);
  if (allowed > spent_ + steps) begin_blocks(State::checking, steps);
}

}  // namespace refrain::replay
