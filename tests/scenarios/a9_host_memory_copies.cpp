// A9: copies from host memory that is overwritten as soon as the call returns, and to host memory that is read then.
#include "tests/programs/scenario.h"

namespace refrain::tests {

SCENARIO(a9_host_memory_copies) {
  constexpr unsigned n = 256;
  const Buffer data(n, 1), sum(n, 2);
  const CUfunction mix = scenario.kernel("mix"), accumulate = scenario.kernel("accumulate");
  const CUstream stream = scenario.stream();
  Ledger ledger(scenario, {&data, &sum});
  for (int i = 0; i < scenario.iterations(); ++i) {
    {
      const Range range("region host copies");
      launch(mix, {}, stream, data.address(), data.address(), n, 1u);
      launch(mix, {}, stream, data.address(), data.address(), n, 2u);
      unsigned on_stack[16];
      for (unsigned& word : on_stack) word = static_cast<unsigned>(i) * 3;
      CALL(cuMemcpyHtoDAsync, data.address() + 64, on_stack, sizeof on_stack, stream);
      spoil(on_stack);
      launch(accumulate, {}, stream, sum.address(), data.address(), n);
      launch(accumulate, {}, stream, sum.address(), data.address(), n);
      unsigned answer[8] = {};
      CALL(cuMemcpyDtoHAsync, answer, sum.address(), sizeof answer, stream);
      CALL(cuStreamSynchronize, stream);
      note("answer %016llx", static_cast<unsigned long long>(hash_bytes(answer, sizeof answer)));
      launch(mix, {}, stream, data.address(), sum.address(), n, 4u);
      launch(mix, {}, stream, data.address(), data.address(), n, 5u);
    }
    ledger.take(stream);
  }
  ledger.close();
}

}  // namespace refrain::tests
