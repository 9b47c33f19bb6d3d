// V2: a random generator's state by value. The offset grows at every launch and jumps back once, as a checkpoint's
// recomputation makes it do.
#include "tests/programs/kernel_types.h"
#include "tests/programs/scenario.h"

namespace refrain::tests {

SCENARIO(v2_seed_and_offset) {
  constexpr unsigned n = 777;
  const auto iterations = static_cast<std::size_t>(scenario.iterations());
  const Buffer log(4 * iterations, 1), second_log(4 * iterations, 2), mask(n, 3), second_mask(n, 4), data(n, 5);
  const CUfunction seeded = scenario.kernel("seeded"), accumulate = scenario.kernel("accumulate");
  const CUstream stream = scenario.stream();
  Ledger ledger(scenario, {&log, &second_log, &mask, &second_mask, &data});
  unsigned long long offset = 0;
  for (int i = 0; i < scenario.iterations(); ++i) {
    if (i == 40) offset = 64;
    {
      const Range range("region dropout");
      launch(seeded, {}, stream, log.address(), mask.address(), n, static_cast<unsigned>(i), Seed{1234, offset});
      launch(accumulate, {}, stream, data.address(), mask.address(), n);
      launch(seeded, {}, stream, second_log.address(), second_mask.address(), n, static_cast<unsigned>(i),
             Seed{1234, offset + 4});
      launch(accumulate, {}, stream, data.address(), second_mask.address(), n);
    }
    offset += 8;
    ledger.take(stream);
  }
  ledger.close();
}

}  // namespace refrain::tests
