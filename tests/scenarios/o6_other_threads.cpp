// O6: while one thread's region is recorded and built again and again, another one allocates, pins, waits, queries and
// loads code. A capture in a careless mode makes these calls fail.
#include <atomic>

#include "tests/programs/scenario.h"

namespace refrain::tests {
namespace {

/// One round of the calls that a global capture forbids. What fails is noted.
void disturbed_calls(CUevent event) {
  const DriverApi& cuda = driver();
  CUdeviceptr memory = 0;
  void* host = nullptr;
  CUmodule module = nullptr;
  auto expect = [](const char* name, CUresult result) {
    if (result != CUDA_SUCCESS) note("other thread: %s %d", name, static_cast<int>(result));
  };
  expect("cuMemAlloc", cuda.cuMemAlloc(&memory, 4096));
  expect("cuMemHostAlloc", cuda.cuMemHostAlloc(&host, 4096, 0));
  expect("cuCtxSynchronize", cuda.cuCtxSynchronize());
  const CUresult query = cuda.cuEventQuery(event);
  if (query != CUDA_ERROR_NOT_READY) expect("cuEventQuery", query);
  expect("cuModuleLoadData", cuda.cuModuleLoadData(&module, kernel_text()));
  expect("cuModuleUnload", cuda.cuModuleUnload(module));
  expect("cuMemFreeHost", cuda.cuMemFreeHost(host));
  expect("cuMemFree", cuda.cuMemFree(memory));
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
    while (!over.load()) {
      disturbed_calls(event);
      ++rounds;
    }
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
