// V5: the first of four microbatches overwrites, the others accumulate; all under one range name.
#include "tests/programs/scenario.h"

namespace refrain::tests {

SCENARIO(v5_first_microbatch) {
  constexpr unsigned n = 300;
  const Buffer gradient(n, 1), scratch(n, 2), input(n, 3);
  const CUfunction mix = scenario.kernel("mix"), accumulate = scenario.kernel("accumulate");
  const CUstream stream = scenario.stream();
  Ledger ledger(scenario, {&gradient, &scratch});
  for (int i = 0; i < scenario.iterations(); ++i) {
    for (unsigned microbatch = 0; microbatch < 4; ++microbatch) {
      const Range range("region mb");
      launch(mix, {}, stream, scratch.address(), input.address(), n, microbatch);
      launch(mix, {}, stream, scratch.address(), scratch.address(), n, 1u);
      if (microbatch == 0) {
        launch(mix, {}, stream, gradient.address(), scratch.address(), n, 0u);
      } else {
        launch(accumulate, {}, stream, gradient.address(), scratch.address(), n);
      }
      launch(mix, {}, stream, input.address(), gradient.address(), n, 2u);
      launch(mix, {}, stream, scratch.address(), input.address(), n, 4u);
    }
    ledger.take(stream);
  }
  ledger.close();
}

}  // namespace refrain::tests
