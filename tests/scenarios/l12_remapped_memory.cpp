// L12: physical memory is released and other memory is mapped at the same address between iterations; the region copies
// to and from it and computes on it.
#include "tests/programs/mapped_memory.h"
#include "tests/programs/scenario.h"

namespace refrain::tests {

SCENARIO(l12_remapped_memory) {
  constexpr unsigned n = 900;
  const Buffer weights(n, 1), result(n, 2);
  const MappedMemory memory(scenario);
  MappedMemory::Block block = memory.map();
  const CUfunction mix = scenario.kernel("mix"), accumulate = scenario.kernel("accumulate");
  const CUstream stream = scenario.stream();
  Ledger ledger(scenario, {&weights, &result});
  for (int i = 0; i < scenario.iterations(); ++i) {
    if (i % 7 == 6) {
      CALL(cuStreamSynchronize, stream);
      memory.unmap(block);
      block = memory.map();
    }
    {
      const Range range("region offload");
      CALL(cuMemcpyDtoDAsync, memory.address(), weights.address(), n * 4, stream);
      launch(mix, {}, stream, memory.address(), memory.address(), n, 1u);
      CALL(cuMemsetD32Async, memory.address() + 4 * n, 3, n, stream);
      launch(accumulate, {}, stream, result.address(), memory.address(), n);
      launch(accumulate, {}, stream, result.address(), memory.address() + 4 * n, n);
      CALL(cuMemcpyDtoDAsync, weights.address(), memory.address(), n * 4, stream);
    }
    ledger.take(stream);
  }
  ledger.close();
  CALL(cuStreamSynchronize, stream);
  memory.unmap(block);
}

}  // namespace refrain::tests
