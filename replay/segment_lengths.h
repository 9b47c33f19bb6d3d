// How many operations each segment of a run gets.
//
// Threads: pure.
// Units:   operations.
// Fails:   may throw std::bad_alloc.
#pragma once

#include <cstdint>
#include <vector>

namespace refrain::replay {

/// What lies around a sequence: the program waits for the device before it, or after it.
struct Waits {
  bool before = false, after = false;
};

/// Cuts a run of `count` operations. Segments are of about the same length, and none is longer than `most`. Next to a
/// wait they begin with short ones that double: after a wait the device has nothing to do until the first segment is
/// launched, and the program waits as long as the last one takes. None is shorter than `least` unless the run is.
std::vector<std::uint32_t> segment_lengths(std::uint32_t count, std::uint32_t least, std::uint32_t most, Waits waits);

}  // namespace refrain::replay
