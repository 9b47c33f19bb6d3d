// N: two threads in ranges of the same name at the same time; two selected ranges nested; a range that stays open at
// the thread's end.
#include <atomic>

#include "tests/programs/scenario.h"

namespace refrain::tests {
namespace {

constexpr unsigned n = 256;

void note_contents(const char* name, const Buffer& buffer) {
  const std::vector<unsigned> contents = buffer.read();
  note("output %s %016llx", name, static_cast<unsigned long long>(hash_bytes(contents.data(), buffer.bytes())));
}

}  // namespace

SCENARIO(n_two_threads_one_name) {
  const CUfunction mix = scenario.kernel("mix"), accumulate = scenario.kernel("accumulate");
  const Buffer first_data(n, 1), first_sum(n, 2), second_data(n, 3), second_sum(n, 4);
  auto work = [&](const Buffer& data, const Buffer& sum, CUstream stream) {
    check(driver().cuCtxSetCurrent(scenario.context()), "cuCtxSetCurrent");
    for (int i = 0; i < scenario.iterations(); ++i) {
      {
        const Range range("region shared name");
        launch(mix, {}, stream, data.address(), sum.address(), n, static_cast<unsigned>(i) / 5);
        launch(accumulate, {}, stream, sum.address(), data.address(), n);
        launch(mix, {}, stream, data.address(), data.address(), n, 2u);
        launch(accumulate, {}, stream, sum.address(), data.address(), n);
        launch(mix, {}, stream, data.address(), data.address(), n, 3u);
      }
      if (scenario.wait_each()) CALL(cuStreamSynchronize, stream);
    }
  };
  const CUstream second = scenario.make_stream();
  Worker other([&] { work(second_data, second_sum, second); });
  work(first_data, first_sum, scenario.stream());
  other.join();
  CALL(cuCtxSynchronize);
  note_contents("first", first_sum);
  note_contents("second", second_sum);
  CALL(cuStreamDestroy, second);
}

SCENARIO(n_nested_regions) {
  const Buffer data(n, 1), sum(n, 2);
  const CUfunction mix = scenario.kernel("mix"), accumulate = scenario.kernel("accumulate");
  const CUstream stream = scenario.stream();
  Ledger ledger(scenario, {&data, &sum});
  for (int i = 0; i < scenario.iterations(); ++i) {
    {
      const Range outer("region outer");
      launch(mix, {}, stream, data.address(), sum.address(), n, 1u);
      launch(accumulate, {}, stream, sum.address(), data.address(), n);
      for (unsigned layer = 0; layer < 3; ++layer) {
        const Range inner("region inner");
        launch(mix, {}, stream, data.address(), data.address(), n, layer);
        launch(accumulate, {}, stream, sum.address(), data.address(), n);
        const Range unselected("other");
        launch(mix, {}, stream, data.address(), data.address(), n, 9u);
      }
      launch(mix, {}, stream, data.address(), sum.address(), n, static_cast<unsigned>(i) / 7);
      launch(accumulate, {}, stream, sum.address(), data.address(), n);
    }
    ledger.take(stream);
  }
  ledger.close();
}

// Each thread ends in an open range, its last calls unflushed by anything that it does itself.
SCENARIO_OF(n4_thread_ends_in_open_range, 24) {
  const Buffer data(n, 1), sum(n, 2);
  const CUfunction mix = scenario.kernel("mix"), accumulate = scenario.kernel("accumulate");
  const CUstream stream = scenario.stream();
  Ledger ledger(scenario, {&data, &sum});
  for (int i = 0; i < scenario.iterations(); ++i) {
    Worker worker([&] {
      check(driver().cuCtxSetCurrent(scenario.context()), "cuCtxSetCurrent");
      nvtxRangePushA("region never popped");
      launch(mix, {}, stream, data.address(), sum.address(), n, 1u);
      launch(accumulate, {}, stream, sum.address(), data.address(), n);
      launch(mix, {}, stream, data.address(), data.address(), n, 3u);
      launch(accumulate, {}, stream, sum.address(), data.address(), n);
      launch(mix, {}, stream, data.address(), data.address(), n, 5u);
    });
    worker.join();
    ledger.take(stream);
  }
  nvtxRangePop();
  nvtxRangePop();
  ledger.close();
}

// More pops than pushes, and ranges that stay open for good.
SCENARIO(n4_crossed_pops) {
  const Buffer data(n, 1), sum(n, 2);
  const CUfunction mix = scenario.kernel("mix"), accumulate = scenario.kernel("accumulate");
  const CUstream stream = scenario.stream();
  Ledger ledger(scenario, {&data, &sum});
  auto work = [&] {
    launch(mix, {}, stream, data.address(), sum.address(), n, 1u);
    launch(accumulate, {}, stream, sum.address(), data.address(), n);
    launch(mix, {}, stream, data.address(), data.address(), n, 3u);
  };
  for (int i = 0; i < scenario.iterations(); ++i) {
    nvtxRangePushA("region crossed");
    work();
    if (i % 4 == 1) nvtxRangePop();
    if (i % 4 != 2) nvtxRangePop();
    work();
    ledger.take(stream);
  }
  ledger.close();
}

}  // namespace refrain::tests
