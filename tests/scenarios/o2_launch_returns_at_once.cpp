// O2: a kernel of the region waits for a flag that the host sets right after the launch call has returned; and, O10, a
// kernel on another stream waits for a flag that the host sets only after the region. A hook that waits for the device,
// or that builds while the device waits, makes the kernels give up, and the output shows it.
#include "tests/programs/scenario.h"

namespace refrain::tests {

SCENARIO(o2_launch_returns_at_once) {
  constexpr unsigned n = 512;
  const Buffer data(n, 1), seen(1, 2);
  const MappedFlag flag;
  const CUfunction mix = scenario.kernel("mix"), wait_for = scenario.kernel("wait_for");
  const CUstream stream = scenario.stream();
  Ledger ledger(scenario, {&data, &seen});
  for (int i = 1; i <= scenario.iterations(); ++i) {
    const auto iteration = static_cast<unsigned>(i);
    {
      const Range range("region collective");
      launch(mix, {}, stream, data.address(), data.address(), n, 1u);
      launch(wait_for, {1, 1}, stream, flag.device(), 2 * iteration - 1, seen.address());
      flag.set(2 * iteration - 1);
      launch(mix, {}, stream, data.address(), data.address(), n, 2u);
      launch(mix, {}, stream, data.address(), data.address(), n, 3u);
      // The last operation of the region: its segment is complete when this call returns.
      launch(wait_for, {1, 1}, stream, flag.device(), 2 * iteration, seen.address());
    }
    flag.set(2 * iteration);
    ledger.take(stream);
  }
  ledger.close();
}

SCENARIO_OF(o10_device_waits_for_the_host, 32) {
  constexpr unsigned n = 512;
  const Buffer data(n, 1), other(n, 2), seen(1, 3);
  const MappedFlag flag;
  const CUfunction mix = scenario.kernel("mix"), fill = scenario.kernel("fill"),
                   accumulate = scenario.kernel("accumulate"), wait_for = scenario.kernel("wait_for");
  const CUstream stream = scenario.stream(), side = scenario.make_stream();
  const CUevent taken = scenario.make_event();
  Ledger ledger(scenario, {&data, &other, &seen});
  for (int i = 1; i <= scenario.iterations(); ++i) {
    const auto iteration = static_cast<unsigned>(i);
    launch(wait_for, {1, 1}, side, flag.device(), iteration, seen.address());
    {
      const Range range("region new");
      launch(mix, {}, stream, data.address(), data.address(), n, 1u);
      // From the eighth iteration on another structure every fourth time, so that building comes up again.
      for (int part = 0; part < (i >= 8 ? i / 4 : 0); ++part) {
        launch(fill, {}, stream, other.address(), n, iteration);
      }
      launch(accumulate, {}, stream, data.address(), other.address(), n);
      launch(mix, {}, stream, other.address(), data.address(), n, 2u);
    }
    flag.set(iteration);
    CALL(cuStreamSynchronize, side);
    ledger.take(stream);
    CALL(cuEventRecord, taken, stream);
    CALL(cuStreamWaitEvent, side, taken, 0);
  }
  ledger.close();
  CALL(cuStreamDestroy, side);
}

}  // namespace refrain::tests
