// V1: a learning rate by value: constant at first, one change, then a change in every iteration.
#include "tests/programs/scenario.h"

namespace refrain::tests {

SCENARIO(v1_scalars) {
  constexpr unsigned n = 1000;
  const Buffer gradient(n, 1), moment(n, 2), parameter(n, 3), result(n, 4);
  const CUfunction mix = scenario.kernel("mix"), scale = scenario.kernel("scale"),
                   accumulate = scenario.kernel("accumulate");
  const CUstream stream = scenario.stream();
  Ledger ledger(scenario, {&result, &parameter});
  for (int i = 0; i < scenario.iterations(); ++i) {
    float rate = 0.5f;
    if (i >= 20) rate = 0.25f;
    if (i >= 21) rate = 1.0f / static_cast<float>(i);
    {
      const Range range("region optimizer");
      launch(mix, {}, stream, gradient.address(), parameter.address(), n, 17u);
      launch(mix, {}, stream, moment.address(), gradient.address(), n, 5u);
      launch(scale, {}, stream, result.address(), moment.address(), n, rate);
      launch(mix, {}, stream, gradient.address(), result.address(), n, 11u);
      launch(accumulate, {}, stream, parameter.address(), gradient.address(), n);
      launch(mix, {}, stream, moment.address(), parameter.address(), n, 3u);
    }
    ledger.take(stream);
  }
  ledger.close();
}

}  // namespace refrain::tests
