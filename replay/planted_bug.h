// A fault that is compiled in on purpose: by the Meson option `planted_bug` to show that the tests find it, in the
// benchmark's library to show what could be gained at most. None otherwise.
#pragma once

#include <atomic>

namespace refrain::replay {

enum class PlantedBug {
  none,
  skipped_word,     ///< a changed fourth parameter of a kernel is not noticed
  forgotten_flush,  ///< an event is recorded without issuing what the stream's lane holds
  dropped_launch,   ///< where launches_drop, nothing that could be held is issued: launches that cost nothing
};

#ifndef REFRAIN_PLANTED_BUG
#define REFRAIN_PLANTED_BUG none
#endif
inline constexpr PlantedBug planted_bug = PlantedBug::REFRAIN_PLANTED_BUG;

/// Of `dropped_launch`, and defined by the benchmark's library only, which sets it by refrain_drop().
extern std::atomic<bool> launches_drop;

}  // namespace refrain::replay
