// E3: launches that the driver refuses, between good ones: block too large, grid of zero, too much shared memory, no
// function. Each error comes from its own call and nothing else changes.
#include "tests/programs/scenario.h"

namespace refrain::tests {

SCENARIO(e3_refused_launches) {
  constexpr unsigned n = 256;
  const Buffer data(n, 1), sum(n, 2);
  const CUfunction mix = scenario.kernel("mix"), accumulate = scenario.kernel("accumulate");
  const CUstream stream = scenario.stream();
  Ledger ledger(scenario, {&data, &sum});
  for (int i = 0; i < scenario.iterations(); ++i) {
    {
      const Range range("region errors");
      launch(mix, {}, stream, data.address(), data.address(), n, 1u);
      launch(mix, {}, stream, data.address(), data.address(), n, 2u);
      Shape shape{4, 64, 0};
      if (i % 8 == 4) shape.block = 2048;
      if (i % 8 == 5) shape.grid = 0;
      if (i % 8 == 6) shape.shared = 1u << 20;
      launch(mix, shape, stream, data.address(), data.address(), n, 3u);
      if (i % 16 == 15) launch(static_cast<CUfunction>(nullptr), {}, stream, n);
      launch(accumulate, {}, stream, sum.address(), data.address(), n);
      launch(mix, {}, stream, data.address(), sum.address(), n, 4u);
    }
    ledger.take(stream);
  }
  ledger.close();
}

// A block that is refused in every pass, the recorded one too.
SCENARIO(e3_refused_from_the_start) {
  constexpr unsigned n = 256;
  const Buffer data(n, 1);
  const CUfunction mix = scenario.kernel("mix");
  const CUstream stream = scenario.stream();
  Ledger ledger(scenario, {&data});
  for (int i = 0; i < scenario.iterations(); ++i) {
    {
      const Range range("region error");
      launch(mix, {}, stream, data.address(), data.address(), n, 1u);
      launch(mix, {4, 2048}, stream, data.address(), data.address(), n, 2u);
      launch(mix, {}, stream, data.address(), data.address(), n, 3u);
      launch(mix, {}, stream, data.address(), data.address(), n, 4u);
    }
    ledger.take(stream);
  }
  ledger.close();
}

}  // namespace refrain::tests
