// O3: work forks to a second stream and joins again, in the ways that programs do it: joined in the region, joined
// after it, never joined by an event, waiting for an event from before the region, and a third stream of another
// thread.
#include <sched.h>

#include <atomic>

#include "tests/programs/scenario.h"

namespace refrain::tests {
namespace {

constexpr unsigned n = 400;

struct Kernels {
  explicit Kernels(const Scenario& scenario) : mix(scenario.kernel("mix")), accumulate(scenario.kernel("accumulate")) {}
  CUfunction mix, accumulate;
};

}  // namespace

SCENARIO(o3_joined_in_the_region) {
  const Kernels kernels(scenario);
  const Buffer data(n, 1), branch(n, 2), sum(n, 3);
  const CUstream first = scenario.stream(), second = scenario.make_stream();
  const CUevent fork = scenario.make_event(), join = scenario.make_event();
  Ledger ledger(scenario, {&data, &branch, &sum});
  for (int i = 0; i < scenario.iterations(); ++i) {
    {
      const Range range("region forked");
      launch(kernels.mix, {}, first, data.address(), sum.address(), n, static_cast<unsigned>(i) / 9);
      launch(kernels.mix, {}, first, data.address(), data.address(), n, 1u);
      CALL(cuEventRecord, fork, first);
      CALL(cuStreamWaitEvent, second, fork, 0);
      launch(kernels.mix, {}, second, branch.address(), data.address(), n, 2u);
      launch(kernels.accumulate, {}, first, sum.address(), data.address(), n);
      launch(kernels.mix, {}, second, branch.address(), branch.address(), n, 3u);
      launch(kernels.mix, {}, first, sum.address(), sum.address(), n, 4u);
      CALL(cuEventRecord, join, second);
      CALL(cuStreamWaitEvent, first, join, 0);
      launch(kernels.accumulate, {}, first, sum.address(), branch.address(), n);
      launch(kernels.mix, {}, first, sum.address(), sum.address(), n, 5u);
    }
    ledger.take(first);
  }
  ledger.close();
  CALL(cuStreamDestroy, second);
}

SCENARIO(o3_joined_after_the_region) {
  const Kernels kernels(scenario);
  const Buffer data(n, 1), branch(n, 2), sum(n, 3);
  const CUstream first = scenario.stream(), second = scenario.make_stream();
  const CUevent before = scenario.make_event(), fork = scenario.make_event(), join = scenario.make_event();
  Ledger ledger(scenario, {&data, &branch, &sum});
  for (int i = 0; i < scenario.iterations(); ++i) {
    launch(kernels.mix, {}, first, data.address(), data.address(), n, 8u);
    CALL(cuEventRecord, before, first);
    {
      const Range range("region open fork");
      CALL(cuStreamWaitEvent, second, before, 0);
      launch(kernels.mix, {}, second, branch.address(), data.address(), n, 2u);
      launch(kernels.mix, {}, second, branch.address(), branch.address(), n, 3u);
      launch(kernels.accumulate, {}, first, sum.address(), sum.address(), n);
      launch(kernels.mix, {}, first, sum.address(), sum.address(), n, static_cast<unsigned>(i) / 5);
      CALL(cuEventRecord, join, second);
      launch(kernels.mix, {}, first, sum.address(), sum.address(), n, 6u);
    }
    CALL(cuStreamWaitEvent, first, join, 0);
    launch(kernels.accumulate, {}, first, data.address(), branch.address(), n);
    ledger.take(first);
  }
  ledger.close();
  CALL(cuEventDestroy, fork);
  CALL(cuStreamDestroy, second);
}

SCENARIO(o3_joined_by_the_host) {
  const Kernels kernels(scenario);
  const Buffer data(n, 1), branch(n, 2);
  const CUstream first = scenario.stream(), second = scenario.make_stream();
  Ledger ledger(scenario, {&data, &branch});
  for (int i = 0; i < scenario.iterations(); ++i) {
    {
      const Range range("region two streams");
      for (unsigned part = 0; part < 4; ++part) {
        const bool on_first = part % 2 == 0;
        const Buffer& buffer = on_first ? data : branch;
        for (unsigned step = 0; step < 3; ++step) {
          launch(kernels.mix, {}, on_first ? first : second, buffer.address(), buffer.address(), n, step);
        }
      }
    }
    CALL(cuStreamSynchronize, second);
    ledger.take(first);
    CALL(cuStreamSynchronize, first);
  }
  ledger.close();
  CALL(cuStreamDestroy, second);
}

SCENARIO(o3_third_stream_of_another_thread) {
  const Kernels kernels(scenario);
  const Buffer data(n, 1), branch(n, 2);
  const CUstream first = scenario.stream();
  const CUevent fork = scenario.make_event(), join = scenario.make_event();
  std::atomic<int> forked{0}, joined{0};
  Ledger ledger(scenario, {&data, &branch});
  Worker helper([&] {
    check(driver().cuCtxSetCurrent(scenario.context()), "cuCtxSetCurrent");
    const CUstream third = scenario.make_stream();
    for (int i = 1; i <= scenario.iterations(); ++i) {
      while (forked.load() < i) sched_yield();
      CALL(cuStreamWaitEvent, third, fork, 0);
      launch(kernels.mix, {}, third, branch.address(), data.address(), n, 3u);
      launch(kernels.mix, {}, third, branch.address(), branch.address(), n, 4u);
      CALL(cuEventRecord, join, third);
      joined.store(i);
    }
    CALL(cuStreamDestroy, third);
  });
  for (int i = 1; i <= scenario.iterations(); ++i) {
    {
      const Range range("region with another thread");
      launch(kernels.mix, {}, first, data.address(), data.address(), n, 1u);
      launch(kernels.mix, {}, first, data.address(), data.address(), n, 2u);
      CALL(cuEventRecord, fork, first);
      forked.store(i);
      while (joined.load() < i) sched_yield();
      CALL(cuStreamWaitEvent, first, join, 0);
      launch(kernels.accumulate, {}, first, data.address(), branch.address(), n);
      launch(kernels.mix, {}, first, data.address(), data.address(), n, 5u);
    }
    ledger.take(first);
  }
  helper.join();
  ledger.close();
}

}  // namespace refrain::tests
