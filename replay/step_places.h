// What went wrong where in a step. A loop looks the same in each of its turns; which one is the last, only the place in
// the step tells. Where a variant was left twice, another one is tried there; where two that are tried in turn fail in
// the same ways again and again, a new one is recorded; and where one was complete then, only that begins. Of steps
// that follow from data nothing is said.
//
// Owns:    a table of fixed size, 144 KiB, once something went wrong: a place that is crowded out is learnt again.
// Threads: guarded by the lock of the lane's pass.
// Units:   a position counts the lane's operations since the step began; a structure is that of a whole sequence.
// Fails:   without memory nothing is learnt.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

namespace refrain::replay {

class StepPlace {
 public:
  /// Whether a variant of this structure may begin here.
  bool allows(std::uint64_t structure) const noexcept {
    if (fits_ != 0) return word(structure) == fits_;
    if (needs_its_own()) return false;
    return in_a_row_ < often || word(structure) != last_[0].structure;
  }

 private:
  friend class StepPlaces;
  static constexpr std::uint8_t often = 2;    ///< once is chance
  static constexpr std::uint8_t surely = 4;   ///< what follows from data does not go the same way so often
  static constexpr std::uint8_t trust = 250;  ///< so many complete variants until a lost fit is forgotten

  /// One that was left, how, and how often in just that way.
  struct Left {
    std::uint32_t structure = 0, how = 0;
    std::uint8_t times = 0;
  };

  static std::uint32_t word(std::uint64_t value) noexcept {
    return std::max(static_cast<std::uint32_t>(value ^ value >> 32), 1U);
  }
  /// The program does the same here in every step, and it is none of the two that are tried in turn.
  bool needs_its_own() const noexcept { return distrust_ == 0 && last_[0].times >= surely && last_[1].times >= surely; }
  void left(std::uint64_t structure, std::uint64_t how) noexcept {
    const Left now{word(structure), word(how), 1};
    if (now.structure == fits_) {
      fits_ = 0;
      last_ = {};
      distrust_ = trust;
    }
    const bool again = now.structure == last_[0].structure;
    in_a_row_ = again ? often : std::uint8_t{1};
    if (!again) std::swap(last_[0], last_[1]);
    const bool same = now.structure == last_[0].structure && now.how == last_[0].how;
    const std::uint8_t times = last_[0].times;
    last_[0] = now;
    if (same) last_[0].times = std::min<std::uint8_t>(times + 1, surely);
  }
  void completed(std::uint64_t structure) noexcept {
    if (distrust_ != 0) --distrust_;
    if (word(structure) == last_[0].structure)
      in_a_row_ = 0;
    else if (in_a_row_ >= often || needs_its_own())
      fits_ = word(structure);
  }

  std::uint32_t position_ = 0;  ///< 0: the place is free
  std::uint32_t fits_ = 0;      ///< the structure that was complete here after others were left; 0: none yet
  std::array<Left, 2> last_{};  ///< the latest first
  std::uint8_t in_a_row_ = 0;   ///< how often the latest was left
  std::uint8_t distrust_ = 0;
};

class StepPlaces {
 public:
  static constexpr std::size_t count = 4096;

  /// nullptr when nothing is known to go wrong at this position, or when it goes now this way, now that, everywhere.
  const StepPlace* find(std::uint64_t position) const noexcept { return follows_data_ ? nullptr : at(position); }
  /// A variant of this structure began at the position and was left. `how`: one word for where, and for what came
  /// instead.
  void left(std::uint64_t position, std::uint64_t structure, std::uint64_t how) noexcept {
    if (position == 0) return;
    if (places_ == nullptr) places_.reset(new (std::nothrow) StepPlace[count]);
    if (places_ == nullptr) return;
    StepPlace& place = places_[position % count];
    if (place.position_ != static_cast<std::uint32_t>(position)) {
      place = {};
      place.position_ = static_cast<std::uint32_t>(position);
    }
    if (place.fits_ == StepPlace::word(structure)) count_fit(lost_);
    place.left(structure, how);
  }
  /// It was complete.
  void completed(std::uint64_t position, std::uint64_t structure) noexcept {
    StepPlace* const place = at(position);
    if (place == nullptr) return;
    if (place->fits_ == StepPlace::word(structure)) count_fit(kept_);
    place->completed(structure);
  }
  /// The steps are others now.
  void forget() noexcept {
    if (places_ != nullptr) std::fill_n(places_.get(), count, StepPlace{});
    lost_ = kept_ = 0;
    follows_data_ = false;
  }

 private:
  // Where what fits is lost as often as that, what came there last says nothing of what comes next. Unrestricted, the
  // likeliest is complete more often, so that it must be kept much longer before places count again.
  void count_fit(std::uint32_t& fits) noexcept {
    constexpr std::uint32_t some = 8, often = 16, hardly_ever = 256, most = 4096;
    ++fits;
    follows_data_ = lost_ > some && lost_ * (follows_data_ ? hardly_ever : often) > kept_;
    if (fits < most) return;  // later ones count more
    lost_ /= 2;
    kept_ /= 2;
  }
  StepPlace* at(std::uint64_t position) const noexcept {
    if (position == 0 || places_ == nullptr) return nullptr;
    StepPlace& place = places_[position % count];
    return place.position_ == static_cast<std::uint32_t>(position) ? &place : nullptr;
  }

  std::unique_ptr<StepPlace[]> places_;
  std::uint32_t lost_ = 0, kept_ = 0;  ///< of what fitted, when it came next
  bool follows_data_ = false;
};

}  // namespace refrain::replay
