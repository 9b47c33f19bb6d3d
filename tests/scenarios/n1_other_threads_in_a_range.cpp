// N1: a range is opened by one thread while another one launches, on the same stream, as backward passes do. With
// process scope the other thread's operations belong to the region, with thread scope they come between.
#include <atomic>

#include "tests/programs/scenario.h"

namespace refrain::tests {
namespace {

constexpr unsigned n = 256;

}  // namespace

SCENARIO(n1_backward_on_another_thread) {
  const Buffer data(n, 1), sum(n, 2);
  const CUfunction mix = scenario.kernel("mix"), accumulate = scenario.kernel("accumulate");
  const CUstream stream = scenario.stream();
  std::atomic<int> asked{0}, done{0};
  Ledger ledger(scenario, {&data, &sum});
  Worker backward([&] {
    check(driver().cuCtxSetCurrent(scenario.context()), "cuCtxSetCurrent");
    for (int i = 1; i <= scenario.iterations(); ++i) {
      while (asked.load() < i) std::this_thread::yield();
      launch(mix, {}, stream, data.address(), sum.address(), n, static_cast<unsigned>(i) / 7);
      launch(accumulate, {}, stream, sum.address(), data.address(), n);
      launch(mix, {}, stream, data.address(), data.address(), n, 2u);
      launch(accumulate, {}, stream, sum.address(), data.address(), n);
      done.store(i);
    }
  });
  for (int i = 1; i <= scenario.iterations(); ++i) {
    {
      const Range range("region backward");
      launch(mix, {}, stream, data.address(), data.address(), n, 1u);
      launch(mix, {}, stream, data.address(), data.address(), n, 3u);
      asked.store(i);
      while (done.load() < i) std::this_thread::yield();
      launch(accumulate, {}, stream, sum.address(), data.address(), n);
      launch(mix, {}, stream, data.address(), sum.address(), n, 4u);
    }
    ledger.take(stream);
  }
  backward.join();
  ledger.close();
}

// N2: a range that is started by one thread and ended by another.
SCENARIO(n2_range_ends_on_another_thread) {
  const Buffer data(n, 1), sum(n, 2);
  const CUfunction mix = scenario.kernel("mix"), accumulate = scenario.kernel("accumulate");
  const CUstream stream = scenario.stream();
  Ledger ledger(scenario, {&data, &sum});
  for (int i = 0; i < scenario.iterations(); ++i) {
    const nvtxRangeId_t range = nvtxRangeStartA("region started");
    launch(mix, {}, stream, data.address(), sum.address(), n, static_cast<unsigned>(i) / 7);
    launch(accumulate, {}, stream, sum.address(), data.address(), n);
    launch(mix, {}, stream, data.address(), data.address(), n, 2u);
    Worker end([&] { nvtxRangeEnd(range); });
    end.join();
    launch(accumulate, {}, stream, sum.address(), data.address(), n);
    if (i % 5 == 0) nvtxRangeEnd(range);
    ledger.take(stream);
  }
  ledger.close();
}

}  // namespace refrain::tests
