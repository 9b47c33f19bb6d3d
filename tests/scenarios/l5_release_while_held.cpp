// L5: memory is freed, unmapped or unregistered in the region right after the kernels that use it were launched.
#include <cstdlib>

#include "tests/programs/mapped_memory.h"
#include "tests/programs/scenario.h"

namespace refrain::tests {

SCENARIO(l5_free_while_held) {
  constexpr unsigned n = 2048;
  const Buffer input(n, 1), result(n, 2);
  const CUfunction mix = scenario.kernel("mix"), accumulate = scenario.kernel("accumulate");
  const CUstream stream = scenario.stream();
  Ledger ledger(scenario, {&result, &input});
  for (int i = 0; i < scenario.iterations(); ++i) {
    CUdeviceptr block = 0;
    CALL(cuMemAlloc, &block, n * 4);
    {
      const Range range("region free");
      launch(mix, {}, stream, block, input.address(), n, 1u);
      launch(accumulate, {}, stream, result.address(), block, n);
      launch(accumulate, {}, stream, result.address(), block, n);
      CALL(cuMemFree, block);
      launch(accumulate, {}, stream, input.address(), result.address(), n);
      launch(mix, {}, stream, result.address(), input.address(), n, 3u);
    }
    ledger.take(stream);
  }
  ledger.close();
}

SCENARIO(l5_unregister_while_held) {
  constexpr unsigned n = 1024;
  const Buffer input(n, 1), result(n, 2);
  const CUfunction mix = scenario.kernel("mix"), accumulate = scenario.kernel("accumulate");
  const CUstream stream = scenario.stream();
  Ledger ledger(scenario, {&result, &input});
  void* host = std::aligned_alloc(4096, n * 4);
  std::memset(host, 0, n * 4);
  for (int i = 0; i < scenario.iterations(); ++i) {
    CUdeviceptr block = 0;
    CALL(cuMemHostRegister, host, n * 4, CU_MEMHOSTREGISTER_DEVICEMAP);
    CALL(cuMemHostGetDevicePointer, &block, host, 0);
    {
      const Range range("region unregister");
      launch(mix, {}, stream, block, input.address(), n, 1u);
      launch(accumulate, {}, stream, result.address(), block, n);
      launch(mix, {}, stream, block, result.address(), n, 4u);
      CALL(cuMemHostUnregister, host);
      note("host %016llx", static_cast<unsigned long long>(hash_bytes(host, n * 4)));
      launch(accumulate, {}, stream, input.address(), result.address(), n);
      launch(mix, {}, stream, result.address(), input.address(), n, 3u);
    }
    ledger.take(stream);
  }
  ledger.close();
  std::free(host);
}

// The program learns from mapped memory, without a driver call, that its kernels have run, and unmaps.
SCENARIO(l5_unmap_while_held) {
  constexpr unsigned n = 512;
  const Buffer input(n, 1), result(n, 2);
  const MappedFlag flag;
  const MappedMemory memory(scenario);
  const CUfunction mix = scenario.kernel("mix"), accumulate = scenario.kernel("accumulate"),
                   tell = scenario.kernel("tell");
  const CUstream stream = scenario.stream();
  Ledger ledger(scenario, {&result, &input});
  int missed = 0;
  for (int i = 0; i < scenario.iterations() && missed < 2; ++i) {
    MappedMemory::Block block = memory.map();
    {
      const Range range("region unmap");
      launch(mix, {}, stream, memory.address(), input.address(), n, 1u);
      launch(accumulate, {}, stream, result.address(), memory.address(), n);
      launch(tell, {1, 1}, stream, flag.device(), static_cast<unsigned>(i) + 1);
      const bool seen = flag.wait(static_cast<unsigned>(i) + 1);
      missed += seen ? 0 : 1;
      note("told %d", seen);
      memory.unmap(block);
      launch(accumulate, {}, stream, input.address(), result.address(), n);
      launch(mix, {}, stream, result.address(), input.address(), n, 3u);
    }
    ledger.take(stream);
  }
  ledger.close();
}

}  // namespace refrain::tests
