// The kernels as host functions: what the simulated driver runs, and what gives a launch its parameter types.
#pragma once

#include <cmath>

#include "tests/training/host_pointer.h"
#include "tests/training/kernel_types.h"

namespace refrain::tests::training::bodies {

/// Number of the simulated thread within its grid, set before each call of a body.
inline thread_local unsigned thread_index = 0;

using Floats = Pointer<float>;
using ConstFloats = Pointer<const float>;
using Words = Pointer<unsigned>;
using ConstWords = Pointer<const unsigned>;
using HostTable = TensorTableOf<Floats>;
using Table = const HostTable&;

#define KERNEL inline void
#define INDEX thread_index
#include "tests/training/kernel_bodies.h"
#undef KERNEL
#undef INDEX

}  // namespace refrain::tests::training::bodies

namespace refrain::tests::training {

/// What a launch passes for a parameter of a body.
template <typename P>
struct LaunchType {
  using type = P;
};
template <typename T>
struct LaunchType<Pointer<T>> {
  using type = T*;
};
template <>
struct LaunchType<bodies::Table> {
  using type = TensorTable;
};

}  // namespace refrain::tests::training
