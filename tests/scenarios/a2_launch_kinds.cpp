// A2: cooperative launches and dynamic shared memory, by each of the launch calls. A1: the same work by each of them.
#include "tests/programs/scenario.h"

namespace refrain::tests {
namespace {

constexpr unsigned n = 512;

template <typename... Arguments>
void launch_ex(CUfunction function, Shape shape, CUstream stream, std::vector<CUlaunchAttribute> attributes,
               Arguments... arguments) {
  void* parameters[] = {static_cast<void*>(&arguments)..., nullptr};
  CUlaunchConfig config{};
  config.gridDimX = shape.grid, config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = shape.block, config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = shape.shared;
  config.hStream = stream;
  config.attrs = attributes.data();
  config.numAttrs = static_cast<unsigned>(attributes.size());
  CALL(cuLaunchKernelEx, &config, function, parameters, nullptr);
  (spoil(arguments), ...);
  for (CUlaunchAttribute& attribute : attributes) spoil(attribute);
  spoil(config);
}

/// The bytes of the union that the attribute does not use hold garbage.
CUlaunchAttribute attribute_of(CUlaunchAttributeID id, int value) {
  CUlaunchAttribute attribute;
  static unsigned char garbage = 0;
  std::memset(&attribute, garbage++, sizeof attribute);
  attribute.id = id;
  if (id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) attribute.value.cooperative = value;
  if (id == CU_LAUNCH_ATTRIBUTE_PRIORITY) attribute.value.priority = value;
  return attribute;
}

}  // namespace

SCENARIO(a2_launch_kinds) {
  const Buffer data(n, 1), between(n, 2), out(n, 3), reversed(n, 4), arrived(1, 5);
  const CUfunction rotate = scenario.kernel("rotate_grid"), reverse = scenario.kernel("reverse_blocks"),
                   mix = scenario.kernel("mix");
  const CUstream stream = scenario.stream();
  CALL(cuMemsetD32Async, arrived.address(), 0, 1, stream);
  Ledger ledger(scenario, {&data, &out, &reversed});
  for (int i = 0; i < scenario.iterations(); ++i) {
    {
      const Range range("region kinds");
      CUdeviceptr to = out.address(), middle = between.address(), from = data.address(), counter = arrived.address();
      unsigned count = n;
      void* parameters[] = {&to, &middle, &from, &count, &counter};
      CALL(cuLaunchCooperativeKernel, rotate, 8, 1, 1, 64, 1, 1, 0, stream, parameters);
      launch(reverse, {8, 64, 256}, stream, reversed.address(), out.address(), n);
      launch_ex(rotate, {8, 64}, stream, {attribute_of(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 1)}, out.address(),
                between.address(), reversed.address(), n, arrived.address());
      launch_ex(reverse, {8, 64, 256}, stream, {}, reversed.address(), out.address(), n);
      launch_ex(mix, {8, 64}, stream, {attribute_of(CU_LAUNCH_ATTRIBUTE_PRIORITY, 0)}, data.address(),
                reversed.address(), n, static_cast<unsigned>(i) / 9);
      // More shared memory in the later passes; the function's own limit still allows it.
      launch(reverse, {4, 128, i < 30 ? 512u : 4096u}, stream, reversed.address(), data.address(), n);
    }
    ledger.take(stream);
  }
  ledger.close();
}

// An attribute value that a driver refuses, and an attribute that none knows: the error comes from the same call.
SCENARIO(a6_refused_attributes) {
  const Buffer data(n, 1);
  const CUfunction mix = scenario.kernel("mix");
  const CUstream stream = scenario.stream();
  Ledger ledger(scenario, {&data});
  for (int i = 0; i < scenario.iterations(); ++i) {
    {
      const Range range("region attributes");
      launch(mix, {}, stream, data.address(), data.address(), n, 1u);
      launch(mix, {}, stream, data.address(), data.address(), n, 2u);
      std::vector<CUlaunchAttribute> attributes;
      if (i % 8 == 7) attributes.push_back(attribute_of(static_cast<CUlaunchAttributeID>(4711), 1));
      launch_ex(mix, {8, 64}, stream, attributes, data.address(), data.address(), n, 3u);
      launch(mix, {}, stream, data.address(), data.address(), n, 4u);
    }
    ledger.take(stream);
  }
  ledger.close();
}

}  // namespace refrain::tests
