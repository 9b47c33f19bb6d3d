// L9: more sequences than the policy lets live, each with a kernel that runs long, so that a graph is evicted while the
// device still runs it.
#include "tests/programs/scenario.h"

namespace refrain::tests {

SCENARIO_OF(l9_evicted_while_running, 96) {
  constexpr unsigned n = 1u << 16;
  const Buffer data(n, 1), sum(n, 2);
  const CUfunction mix = scenario.kernel("mix"), accumulate = scenario.kernel("accumulate");
  const CUstream stream = scenario.stream();
  Ledger ledger(scenario, {&data, &sum});
  for (int i = 0; i < scenario.iterations(); ++i) {
    {
      const Range range("region churn");
      // The number of operations is the structure: eight of them, each a few times in a row.
      for (int part = 0; part < 2 + i / 3 % 8; ++part) {
        launch(mix, {1, 32}, stream, data.address(), data.address(), n, static_cast<unsigned>(part));
        launch(accumulate, {1, 32}, stream, sum.address(), data.address(), n);
      }
    }
    ledger.take(stream);
  }
  ledger.close();
}

}  // namespace refrain::tests
