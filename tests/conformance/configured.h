// Launches with attributes.
#pragma once

#include <initializer_list>

#include "tests/conformance/program.h"

namespace refrain::tests::conformance {

/// An attribute whose value is all zero.
inline CUlaunchAttribute attribute(CUlaunchAttributeID id) {
  CUlaunchAttribute made{};
  std::memset(&made.value, 0, sizeof made.value);
  made.id = id;
  return made;
}

/// cuLaunchKernelEx with the arguments exactly as the kernel declares them.
template <typename... Arguments>
CUresult launch_with(std::initializer_list<CUlaunchAttribute> attributes, CUfunction function, Shape shape,
                     CUstream stream, Arguments... arguments) {
  static_assert((!std::is_same_v<Arguments, int> && ...), "kernels take unsigned values");
  std::vector<CUlaunchAttribute> list(attributes);
  void* parameters[] = {static_cast<void*>(&arguments)..., nullptr};
  CUlaunchConfig config{};
  config.gridDimX = shape.grid;
  config.blockDimX = shape.block;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = shape.shared;
  config.hStream = stream;
  config.attrs = list.data();
  config.numAttrs = static_cast<unsigned>(list.size());
  const CUresult result = driver().cuLaunchKernelEx(&config, function, parameters, nullptr);
  if (!list.empty()) std::memset(static_cast<void*>(list.data()), 0xee, list.size() * sizeof list[0]);
  return tell("cuLaunchKernelEx", result);
}

}  // namespace refrain::tests::conformance
