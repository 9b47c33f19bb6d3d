// O6: while one thread's region is recorded and built again and again, another one allocates, pins, waits, queries and
// loads code. A capture in a careless mode makes these calls fail.
#include <atomic>

#include "tests/programs/scenario.h"

namespace refrain::tests {
namespace {

/// One round of the calls that a global capture forbids; the first error, or CUDA_SUCCESS.
CUresult disturbed_calls(CUevent event) {
  const DriverApi& cuda = driver();
  CUdeviceptr memory = 0;
  void* host = nullptr;
  CUmodule module = nullptr;
  CUresult first = CUDA_SUCCESS;
  auto note_first = [&](CUresult result) {
    if (first == CUDA_SUCCESS && result != CUDA_SUCCESS) first = result;
  };
  note_first(cuda.cuMemAlloc(&memory, 4096));
  note_first(cuda.cuMemHostAlloc(&host, 4096, 0));
  note_first(cuda.cuCtxSynchronize());
  const CUresult query = cuda.cuEventQuery(event);
  if (query != CUDA_ERROR_NOT_READY) note_first(query);
  note_first(cuda.cuModuleLoadData(&module, kernel_text()));
  note_first(cuda.cuModuleUnload(module));
  note_first(cuda.cuMemFreeHost(host));
  note_first(cuda.cuMemFree(memory));
  return first;
}

}  // namespace

SCENARIO(o6_other_threads) {
  constexpr unsigned n = 256;
  const Buffer data(n, 1), sum(n, 2);
  const CUfunction mix = scenario.kernel("mix"), accumulate = scenario.kernel("accumulate");
  const CUstream stream = scenario.stream();
  const CUevent event = scenario.make_event();
  std::atomic<bool> over{false};
  std::atomic<int> rounds{0};
  Ledger ledger(scenario, {&data, &sum});
  Worker other([&] {
    check(driver().cuCtxSetCurrent(scenario.context()), "cuCtxSetCurrent");
    CUresult first = CUDA_SUCCESS;
    while (!over.load()) {
      const CUresult result = disturbed_calls(event);
      if (first == CUDA_SUCCESS) first = result;
      ++rounds;
    }
    note("other thread %d", static_cast<int>(first));
  });
  for (int i = 0; i < scenario.iterations(); ++i) {
    {
      const Range range("region disturbed");
      for (int part = 0; part < 2 + i / 4; ++part) {
        launch(mix, {}, stream, data.address(), data.address(), n, static_cast<unsigned>(part));
        launch(accumulate, {}, stream, sum.address(), data.address(), n);
      }
      CALL(cuEventRecord, event, stream);
    }
    ledger.take(stream);
  }
  while (rounds.load() < 3) std::this_thread::yield();
  over = true;
  other.join();
  ledger.close();
}

}  // namespace refrain::tests
