// L8: another size in every iteration and another number of operations in most. Recording stops at the cap; what was
// recorded still replays.
#include "tests/programs/scenario.h"

namespace refrain::tests {

SCENARIO_OF(l8_shape_churn, 400) {
  constexpr unsigned most = 2000;
  const Buffer data(most, 1), sum(most, 2);
  const CUfunction mix = scenario.kernel("mix"), accumulate = scenario.kernel("accumulate"),
                   fill = scenario.kernel("fill");
  const CUstream stream = scenario.stream();
  Ledger ledger(scenario, {&data, &sum});
  Numbers numbers(13);
  for (int i = 0; i < scenario.iterations(); ++i) {
    const unsigned n = 1000 + static_cast<unsigned>(i), kinds = i % 4 == 0 ? 0 : numbers.below(256);
    {
      const Range range("region churning");
      launch(mix, {n / 64}, stream, data.address(), sum.address(), n, 1u);
      launch(accumulate, {n / 64}, stream, sum.address(), data.address(), n);
      // Eight operations of one kernel or another: 256 structures.
      for (unsigned bit = 0; bit < 8; ++bit) {
        if ((kinds >> bit & 1) != 0) {
          launch(mix, {}, stream, data.address(), data.address(), n, bit);
        } else {
          launch(fill, {}, stream, data.address(), 100u, bit);
        }
      }
      launch(accumulate, {n / 64}, stream, sum.address(), data.address(), n);
    }
    ledger.take(stream);
  }
  ledger.close();
}

}  // namespace refrain::tests
