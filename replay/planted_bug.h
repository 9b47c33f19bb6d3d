// A fault that the Meson option `planted_bug` compiles in on purpose, to show that the tests find it. None otherwise.
#pragma once

namespace refrain::replay {

enum class PlantedBug {
  none,
  skipped_word,     ///< a changed fourth parameter of a kernel is not noticed
  forgotten_flush,  ///< an event is recorded without issuing what the stream's lane holds
};

#ifndef REFRAIN_PLANTED_BUG
#define REFRAIN_PLANTED_BUG none
#endif
inline constexpr PlantedBug planted_bug = PlantedBug::REFRAIN_PLANTED_BUG;

}  // namespace refrain::replay
