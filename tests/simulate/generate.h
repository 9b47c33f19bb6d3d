// A random program, as training is organised: phases that repeat for many iterations, with drifting scalars, moving
// addresses, branches, changing shapes and one-off interruptions, then a changed phase.
#pragma once

#include <cstdint>

#include "tests/simulate/program.h"

namespace refrain::tests::simulate {

Program generate(std::uint64_t seed);

}  // namespace refrain::tests::simulate
