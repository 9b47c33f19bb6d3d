// V8: a cast kernel that runs only when a weight cache is cold: in the first iteration, the tenth and the twentieth.
#include "tests/programs/scenario.h"

namespace refrain::tests {

SCENARIO(v8_kernel_in_some_iterations) {
  constexpr unsigned n = 640;
  const Buffer weight(n, 1), cast(n, 2), out(n, 3);
  const CUfunction mix = scenario.kernel("mix"), accumulate = scenario.kernel("accumulate"),
                   fill = scenario.kernel("fill");
  const CUstream stream = scenario.stream();
  Ledger ledger(scenario, {&weight, &cast, &out});
  for (int i = 0; i < scenario.iterations(); ++i) {
    {
      const Range range("region autocast");
      launch(mix, {}, stream, out.address(), weight.address(), n, 1u);
      if (i == 0 || i == 10 || i == 20) launch(fill, {}, stream, cast.address(), n, static_cast<unsigned>(i));
      launch(accumulate, {}, stream, out.address(), cast.address(), n);
      launch(mix, {}, stream, weight.address(), out.address(), n, 2u);
      launch(accumulate, {}, stream, weight.address(), out.address(), n);
    }
    ledger.take(stream);
  }
  ledger.close();
}

}  // namespace refrain::tests
