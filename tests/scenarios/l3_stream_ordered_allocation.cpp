// L3: memory is allocated and freed in stream order inside the region, a thousand times; in the end an allocation is
// used after the region. Each pass has the real address at once, and no memory is kept.
#include "tests/programs/scenario.h"

namespace refrain::tests {

SCENARIO_OF(l3_stream_ordered_allocation, 1000) {
  constexpr unsigned n = 1u << 16;
  const Buffer input(n, 1), result(256, 2);
  const CUfunction mix = scenario.kernel("mix"), accumulate = scenario.kernel("accumulate");
  const CUstream stream = scenario.stream();
  Ledger ledger(scenario, {&result}, scenario.iterations() + 1);
  // What the process' own pool keeps: the device's free memory is everybody's.
  CUmemoryPool pool = nullptr;
  CALL(cuDeviceGetDefaultMemPool, &pool, 0);
  cuuint64_t before = 0, after = 0;
  for (int i = 0; i < scenario.iterations(); ++i) {
    if (i == 100) {
      CALL(cuStreamSynchronize, stream);
      CALL(cuMemPoolGetAttribute, pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &before);
    }
    {
      const Range range("region workspace");
      CUdeviceptr workspace = 0;
      CALL(cuMemAllocAsync, &workspace, n * 4, stream);
      note("address %s", workspace != 0 ? "given" : "missing");
      launch(mix, {}, stream, workspace, input.address(), 256u, static_cast<unsigned>(i) % 5);
      launch(mix, {}, stream, workspace, workspace, 256u, 1u);
      launch(accumulate, {}, stream, result.address(), workspace, 256u);
      CALL(cuMemFreeAsync, workspace, stream);
      launch(accumulate, {}, stream, input.address(), result.address(), 256u);
      launch(mix, {}, stream, input.address(), input.address(), 256u, 7u);
    }
    ledger.take(stream);
  }
  CALL(cuStreamSynchronize, stream);
  CALL(cuMemPoolGetAttribute, pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &after);
  note("memory kept: %s", after > before ? "yes" : "no");
  CUdeviceptr escaped = 0;
  {
    const Range range("region workspace");
    CALL(cuMemAllocAsync, &escaped, n * 4, stream);
    launch(mix, {}, stream, escaped, input.address(), 256u, 3u);
    launch(mix, {}, stream, escaped, escaped, 256u, 1u);
  }
  launch(accumulate, {}, stream, result.address(), escaped, 256u);
  ledger.take(stream);
  CALL(cuMemFreeAsync, escaped, stream);
  ledger.close();
}

}  // namespace refrain::tests
