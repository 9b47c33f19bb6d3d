// V7: the host reads a count from the device in the middle of the region and launches what the count asks for, as a
// mixture of experts does; the count is sometimes zero.
#include "tests/programs/scenario.h"

namespace refrain::tests {

SCENARIO_OF(v7_data_dependent_launches, 96) {
  constexpr unsigned n = 128;
  const Buffer input(n, 1), count(1, 2), first(n, 3), second(n, 4);
  const CUfunction mix = scenario.kernel("mix"), accumulate = scenario.kernel("accumulate"),
                   count_below = scenario.kernel("count_below");
  const CUstream stream = scenario.stream();
  Ledger ledger(scenario, {&first, &second, &input});
  unsigned* tokens = nullptr;
  check(driver().cuMemHostAlloc(reinterpret_cast<void**>(&tokens), 4, 0), "cuMemHostAlloc");
  Numbers numbers(11);
  for (int i = 0; i < scenario.iterations(); ++i) {
    const unsigned limit = i % 9 == 8 ? 0 : 0x7fffffffu + numbers.below(0x40000000u);
    {
      const Range range("region experts");
      launch(mix, {}, stream, first.address(), input.address(), n, static_cast<unsigned>(i % 4));
      launch(mix, {}, stream, first.address(), first.address(), n, 3u);
      launch(count_below, {}, stream, count.address(), first.address(), n, limit);
      CALL(cuMemcpyDtoHAsync, tokens, count.address(), 4, stream);
      CALL(cuStreamSynchronize, stream);
      note("tokens %u", *tokens);
      if (*tokens > 3 * n / 4) {
        launch(mix, {}, stream, second.address(), first.address(), *tokens, 1u);
        launch(mix, {}, stream, second.address(), second.address(), *tokens, 2u);
      } else if (*tokens > 0) {
        launch(accumulate, {}, stream, second.address(), first.address(), *tokens);
        launch(mix, {}, stream, second.address(), second.address(), *tokens, 9u);
        launch(accumulate, {}, stream, second.address(), first.address(), *tokens);
      }
      launch(accumulate, {}, stream, input.address(), second.address(), n);
      launch(mix, {}, stream, first.address(), input.address(), n, 6u);
    }
    ledger.take(stream);
  }
  ledger.close();
  CALL(cuMemFreeHost, tokens);
}

}  // namespace refrain::tests
