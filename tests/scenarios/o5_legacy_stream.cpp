// O5: the legacy NULL stream and blocking streams order each other; per-thread default streams as well. Every order
// that the program gets for nothing must stay.
#include "tests/programs/scenario.h"

namespace refrain::tests {
namespace {

constexpr unsigned n = 300;

}  // namespace

// On a blocking stream, with operations on the NULL stream in between, both ways.
SCENARIO(o5_blocking_stream_and_null_stream) {
  const Buffer data(n, 1), sum(n, 2);
  const CUfunction mix = scenario.kernel("mix"), accumulate = scenario.kernel("accumulate");
  const CUstream blocking = scenario.make_stream(CU_STREAM_DEFAULT);
  Ledger ledger(scenario, {&data, &sum});
  for (int i = 0; i < scenario.iterations(); ++i) {
    {
      const Range range("region blocking");
      launch(mix, {}, blocking, data.address(), data.address(), n, 1u);
      launch(mix, {}, blocking, data.address(), data.address(), n, static_cast<unsigned>(i) / 7);
      launch(accumulate, {}, nullptr, sum.address(), data.address(), n);
      launch(mix, {}, nullptr, sum.address(), sum.address(), n, 3u);
      launch(accumulate, {}, blocking, data.address(), sum.address(), n);
      CALL(cuMemsetD32Async, sum.address(), 5, 10, CU_STREAM_LEGACY);
      launch(accumulate, {}, blocking, data.address(), sum.address(), n);
    }
    launch(accumulate, {}, nullptr, sum.address(), data.address(), n);
    ledger.take(blocking);
  }
  ledger.close();
  CALL(cuStreamDestroy, blocking);
}

// The region on the NULL stream itself, named in both ways, and a blocking stream outside of it.
SCENARIO(o5_region_on_the_null_stream) {
  const Buffer data(n, 1), sum(n, 2);
  const CUfunction mix = scenario.kernel("mix"), accumulate = scenario.kernel("accumulate");
  const CUstream blocking = scenario.make_stream(CU_STREAM_DEFAULT);
  Ledger ledger(scenario, {&data, &sum});
  for (int i = 0; i < scenario.iterations(); ++i) {
    {
      const Range range("region null");
      launch(mix, {}, nullptr, data.address(), data.address(), n, 1u);
      launch(mix, {}, CU_STREAM_LEGACY, data.address(), data.address(), n, static_cast<unsigned>(i) / 11);
      launch(accumulate, {}, nullptr, sum.address(), data.address(), n);
      launch(mix, {}, nullptr, data.address(), sum.address(), n, 4u);
    }
    launch(accumulate, {}, blocking, sum.address(), data.address(), n);
    ledger.take(nullptr);
  }
  ledger.close();
  CALL(cuStreamDestroy, blocking);
}

// The per-thread default stream, which the NULL stream orders too.
SCENARIO(o5_per_thread_stream) {
  const Buffer data(n, 1), sum(n, 2);
  const CUfunction mix = scenario.kernel("mix"), accumulate = scenario.kernel("accumulate");
  Ledger ledger(scenario, {&data, &sum});
  for (int i = 0; i < scenario.iterations(); ++i) {
    {
      const Range range("region per thread");
      launch(mix, {}, CU_STREAM_PER_THREAD, data.address(), data.address(), n, 1u);
      launch(mix, {}, CU_STREAM_PER_THREAD, data.address(), data.address(), n, 2u);
      launch(accumulate, {}, nullptr, sum.address(), data.address(), n);
      launch(mix, {}, CU_STREAM_PER_THREAD, data.address(), sum.address(), n, 3u);
      launch(mix, {}, CU_STREAM_PER_THREAD, data.address(), data.address(), n, 4u);
    }
    ledger.take(CU_STREAM_PER_THREAD);
  }
  ledger.close();
}

// A program built for per-thread default streams: NULL means the thread's own stream.
SCENARIO(o5_per_thread_interface) {
  const Buffer data(n, 1), other_data(n, 2), sum(n, 3);
  const CUfunction mix = scenario.kernel("mix"), accumulate = scenario.kernel("accumulate");
  decltype(&::cuLaunchKernel) launch_per_thread = nullptr;
  decltype(&::cuStreamSynchronize) synchronize_per_thread = nullptr;
  CUdriverProcAddressQueryResult status{};
  auto find = [&](const char* name, void** function) {
    CALL(cuGetProcAddress, name, function, CUDA_VERSION, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status);
  };
  find("cuLaunchKernel", reinterpret_cast<void**>(&launch_per_thread));
  find("cuStreamSynchronize", reinterpret_cast<void**>(&synchronize_per_thread));
  auto work = [&](const Buffer& buffer, int iterations) {
    check(driver().cuCtxSetCurrent(scenario.context()), "cuCtxSetCurrent");
    for (int i = 0; i < iterations; ++i) {
      {
        const Range range("region own stream");
        for (unsigned part = 0; part < 4; ++part) {
          CUdeviceptr address = buffer.address();
          unsigned count = n, salt = part + static_cast<unsigned>(i) / 9;
          void* parameters[] = {&address, &address, &count, &salt};
          traced("cuLaunchKernel_ptsz", launch_per_thread(mix, 4, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr));
        }
      }
      traced("cuStreamSynchronize_ptsz", synchronize_per_thread(nullptr));
    }
  };
  work(data, 1);  // this thread's stream comes first, whatever the other thread does
  Worker other([&] { work(other_data, scenario.iterations()); });
  work(data, scenario.iterations());
  other.join();
  launch(accumulate, {}, nullptr, sum.address(), data.address(), n);
  launch(accumulate, {}, nullptr, sum.address(), other_data.address(), n);
  CALL(cuCtxSynchronize);
  const std::vector<unsigned> contents = sum.read();
  note("output %016llx", static_cast<unsigned long long>(hash_bytes(contents.data(), n * 4)));
}

}  // namespace refrain::tests
