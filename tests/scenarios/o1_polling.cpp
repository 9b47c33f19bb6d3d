// O1: another thread polls an event that was recorded in the region; the region itself polls its stream; and the
// program polls mapped memory without any driver call. No poll may see "done" early or "not ready" for ever.
#include <sched.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/programs/scenario.h"

namespace refrain::tests {
namespace {

/// Polls until the answer is another one than "not ready"; ten seconds at most.
template <typename Query>
CUresult poll(Query query) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  CUresult result = query();
  while (result == CUDA_ERROR_NOT_READY && std::chrono::steady_clock::now() < end) {
    sched_yield();
    result = query();
  }
  return result;
}

}  // namespace

SCENARIO(o1_watchdog_polls_event) {
  constexpr unsigned n = 512;
  const Buffer data(n, 1), sum(n, 2);
  const MappedFlag told;
  const CUfunction mix = scenario.kernel("mix"), accumulate = scenario.kernel("accumulate"),
                   tell = scenario.kernel("tell");
  const CUstream stream = scenario.stream();
  const CUevent event = scenario.make_event();
  std::atomic<int> recorded{0}, seen{0};
  Ledger ledger(scenario, {&data, &sum});
  Worker watchdog([&] {
    check(driver().cuCtxSetCurrent(scenario.context()), "cuCtxSetCurrent");
    for (int i = 1; i <= scenario.iterations(); ++i) {
      while (recorded.load() < i) sched_yield();
      const CUresult result = poll([&] { return driver().cuEventQuery(event); });
      // The kernel before the event told the host its number: "done" before that is a lie.
      note("event %d, told %d", static_cast<int>(result), told.get() >= static_cast<unsigned>(i));
      seen.store(i);
    }
  });
  for (int i = 1; i <= scenario.iterations(); ++i) {
    {
      const Range range("region watched");
      launch(mix, {}, stream, data.address(), sum.address(), n, 1u);
      launch(accumulate, {}, stream, sum.address(), data.address(), n);
      launch(tell, {1, 1}, stream, told.device(), static_cast<unsigned>(i));
      CALL(cuEventRecord, event, stream);
      recorded.store(i);
      launch(mix, {}, stream, data.address(), data.address(), n, 2u);
      launch(accumulate, {}, stream, sum.address(), data.address(), n);
    }
    while (seen.load() < i) sched_yield();
    ledger.take(stream);
  }
  watchdog.join();
  ledger.close();
  CALL(cuEventDestroy, event);
}

SCENARIO(o1_stream_query_in_region) {
  constexpr unsigned n = 512;
  const Buffer data(n, 1), sum(n, 2);
  const MappedFlag told;
  const CUfunction mix = scenario.kernel("mix"), accumulate = scenario.kernel("accumulate"),
                   tell = scenario.kernel("tell");
  const CUstream stream = scenario.stream();
  Ledger ledger(scenario, {&data, &sum});
  for (int i = 1; i <= scenario.iterations(); ++i) {
    {
      const Range range("region queried");
      launch(mix, {}, stream, data.address(), sum.address(), n, 1u);
      launch(accumulate, {}, stream, sum.address(), data.address(), n);
      launch(tell, {1, 1}, stream, told.device(), static_cast<unsigned>(i));
      const CUresult result = poll([&] { return driver().cuStreamQuery(stream); });
      note("stream %d, told %u", static_cast<int>(result), told.get());
      launch(mix, {}, stream, data.address(), data.address(), n, 2u);
      launch(accumulate, {}, stream, sum.address(), data.address(), n);
    }
    ledger.take(stream);
  }
  ledger.close();
}

SCENARIO(o1_host_spins_on_mapped_memory) {
  constexpr unsigned n = 512;
  const Buffer data(n, 1), sum(n, 2);
  const MappedFlag told;
  const CUfunction mix = scenario.kernel("mix"), accumulate = scenario.kernel("accumulate"),
                   tell = scenario.kernel("tell");
  const CUstream stream = scenario.stream();
  Ledger ledger(scenario, {&data, &sum});
  int missed = 0;
  for (int i = 1; i <= scenario.iterations() && missed < 2; ++i) {
    {
      const Range range("region spinning");
      launch(mix, {}, stream, data.address(), sum.address(), n, 1u);
      launch(accumulate, {}, stream, sum.address(), data.address(), n);
      launch(tell, {1, 1}, stream, told.device(), static_cast<unsigned>(i));
      const bool seen = told.wait(static_cast<unsigned>(i));
      missed += seen ? 0 : 1;
      note("told %d", seen);
      launch(mix, {}, stream, data.address(), data.address(), n, 2u);
      launch(accumulate, {}, stream, sum.address(), data.address(), n);
    }
    ledger.take(stream);
  }
  ledger.close();
}

// No single place is to blame, and the wait is another thread's: the region has to be taken off holding.
SCENARIO_OF(o1_waits_in_changing_places, 200) {
  constexpr unsigned n = 512, places = 6;
  const Buffer data(n, 1), sum(n, 2);
  const MappedFlag told;
  const CUfunction mix = scenario.kernel("mix"), tell = scenario.kernel("tell");
  const CUstream stream = scenario.stream();
  Ledger ledger(scenario, {&data, &sum});
  unsigned count = 0;
  int missed = 0;
  for (int i = 1; i <= scenario.iterations() && missed < 2; ++i) {
    {
      const Range range("region waiting");
      for (unsigned place = 0; place < places; ++place) {
        launch(mix, {}, stream, data.address(), sum.address(), n, place);
        launch(tell, {1, 1}, stream, told.device(), ++count);
        if (place + 1 == static_cast<unsigned>(i) % places) {
          bool seen = false;
          std::thread waiter([&] { seen = told.wait(count); });
          waiter.join();
          missed += seen ? 0 : 1;
          note("told %d", seen);
        }
      }
    }
    ledger.take(stream);
  }
  ledger.close();
}

}  // namespace refrain::tests
