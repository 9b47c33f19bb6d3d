// J4: a pass that differs in one parameter of the third operation, one that differs in its kernel, one that is shorter
// and one that is longer: the log must say so.
#include "tests/programs/scenario.h"

namespace refrain::tests {

SCENARIO(j4_reasons) {
  constexpr unsigned n = 256;
  const Buffer data(n, 1), sum(n, 2);
  const CUfunction mix = scenario.kernel("mix"), accumulate = scenario.kernel("accumulate");
  const CUstream stream = scenario.stream();
  Ledger ledger(scenario, {&data, &sum});
  for (int i = 0; i < scenario.iterations(); ++i) {
    {
      const Range range("region reasons");
      launch(mix, {}, stream, data.address(), data.address(), n, 1u);
      launch(accumulate, {}, stream, sum.address(), data.address(), n);
      launch(mix, {}, stream, data.address(), sum.address(), n, i == 20 ? 0x2au : 2u);
      if (i == 30) {
        launch(accumulate, {}, stream, data.address(), sum.address(), n);
      } else {
        launch(mix, {}, stream, data.address(), data.address(), n, 3u);
      }
      if (i != 40) launch(accumulate, {}, stream, sum.address(), data.address(), n);
      if (i == 50) launch(mix, {}, stream, data.address(), sum.address(), n, 5u);
    }
    ledger.take(stream);
  }
  ledger.close();
}

// Nothing changes: no fallback, also in strict mode.
SCENARIO(j4_nothing_changes) {
  constexpr unsigned n = 256;
  const Buffer data(n, 1), sum(n, 2);
  const CUfunction mix = scenario.kernel("mix"), accumulate = scenario.kernel("accumulate");
  const CUstream stream = scenario.stream();
  Ledger ledger(scenario, {&data, &sum});
  for (int i = 0; i < scenario.iterations(); ++i) {
    {
      const Range range("region constant");
      launch(mix, {}, stream, data.address(), sum.address(), n, 1u);
      launch(accumulate, {}, stream, sum.address(), data.address(), n);
      launch(mix, {}, stream, data.address(), data.address(), n, 3u);
      launch(accumulate, {}, stream, sum.address(), data.address(), n);
    }
    ledger.take(stream);
  }
  ledger.close();
}

}  // namespace refrain::tests
