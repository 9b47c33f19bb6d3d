// L1: memory that a recorded sequence used is freed, other memory is obtained in its place, and the program passes a
// third address from then on. Nothing may write to the two others.
#include <optional>

#include "tests/programs/scenario.h"

namespace refrain::tests {

SCENARIO(l1_moved_memory) {
  constexpr unsigned n = 4096;
  const Buffer input(n, 1), result(n, 2), elsewhere(n, 3);
  std::optional<Buffer> old;
  old.emplace(n, 4u);
  std::optional<Buffer> in_its_place;
  const CUfunction mix = scenario.kernel("mix"), accumulate = scenario.kernel("accumulate");
  const CUstream stream = scenario.stream();
  Ledger ledger(scenario, {&input, &result, &elsewhere});
  for (int i = 0; i < scenario.iterations(); ++i) {
    if (i == 30) {
      old.reset();
      in_its_place.emplace(n, 5u);
    }
    const CUdeviceptr target = old ? old->address() : elsewhere.address();
    {
      const Range range("region moved");
      launch(mix, {}, stream, target, input.address(), n, static_cast<unsigned>(i) / 10);
      launch(accumulate, {}, stream, result.address(), target, n);
      launch(mix, {}, stream, target, target, n, 2u);
      launch(accumulate, {}, stream, input.address(), result.address(), n);
    }
    ledger.take(stream);
    if (in_its_place && i % 8 == 0) {
      CALL(cuStreamSynchronize, stream);
      const std::vector<unsigned> untouched = in_its_place->read();
      note("untouched %016llx", static_cast<unsigned long long>(hash_bytes(untouched.data(), n * 4)));
    }
  }
  ledger.close();
}

}  // namespace refrain::tests
