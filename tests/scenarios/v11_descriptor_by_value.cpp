// V11: a descriptor of the size of a tensor map by value, its address and one word in its middle changing each time.
#include "tests/programs/kernel_types.h"
#include "tests/programs/scenario.h"

namespace refrain::tests {

SCENARIO(v11_descriptor_by_value) {
  constexpr unsigned n = 200;
  const Buffer pool(n * 8, 1), data(n, 2);
  const CUfunction described = scenario.kernel("described"), mix = scenario.kernel("mix");
  const CUstream stream = scenario.stream();
  Ledger ledger(scenario, {&pool, &data});
  for (int i = 0; i < scenario.iterations(); ++i) {
    const auto iteration = static_cast<unsigned>(i);
    Descriptor descriptor{};
    descriptor.n = n, descriptor.add = 5;
    descriptor.salt[13] = iteration, descriptor.salt[25] = iteration / 16;
    {
      const Range range("region tma");
      for (unsigned part = 0; part < 2; ++part) {
        descriptor.base = reinterpret_cast<unsigned*>(pool.address() + (iteration * 3 + part) % 8 * n * 4);
        launch(described, {}, stream, descriptor);
        launch(mix, {}, stream, data.address(), data.address(), n, part);
      }
    }
    ledger.take(stream);
  }
  ledger.close();
}

}  // namespace refrain::tests
