// V4: a region overwrites a gradient buffer and the program accumulates it outside of the region on the same stream, by
// a kernel or a copy, four microbatches a step. A region that is issued too late adds the last gradient four times.
#include "tests/programs/scenario.h"

namespace refrain::tests {

SCENARIO(v4_gradient_accumulation) {
  constexpr unsigned n = 512;
  const Buffer gradient(n, 1), sum(n, 2), copies(4 * n, 3), input(n, 4);
  const CUfunction mix = scenario.kernel("mix"), accumulate = scenario.kernel("accumulate");
  const CUstream stream = scenario.stream();
  Ledger ledger(scenario, {&sum, &copies});
  for (int i = 0; i < scenario.iterations(); ++i) {
    for (unsigned microbatch = 0; microbatch < 4; ++microbatch) {
      {
        const Range range("region backward");
        launch(mix, {}, stream, gradient.address(), input.address(), n, microbatch);
        launch(mix, {}, stream, gradient.address(), gradient.address(), n, 7u);
        launch(mix, {}, stream, gradient.address(), gradient.address(), n, 9u);
      }
      if (microbatch % 2 == 0) {
        launch(accumulate, {}, stream, sum.address(), gradient.address(), n);
      } else {
        CALL(cuMemcpyDtoDAsync, copies.address() + microbatch * n * 4, gradient.address(), n * 4, stream);
      }
    }
    launch(accumulate, {}, stream, input.address(), sum.address(), n);
    ledger.take(stream);
  }
  ledger.close();
}

}  // namespace refrain::tests
