// O4: an event recorded in the region is waited for by a stream outside, then by the host, and is recorded again in the
// next iteration. It always names the latest record. Elapsed times have an order.
#include "tests/programs/scenario.h"

namespace refrain::tests {

SCENARIO(o4_events_across_the_border) {
  constexpr unsigned n = 512;
  const Buffer data(n, 1), outside(n, 2), later(n, 3);
  const CUfunction mix = scenario.kernel("mix"), accumulate = scenario.kernel("accumulate");
  const CUstream stream = scenario.stream(), third = scenario.make_stream();
  const CUevent event = scenario.make_event(), consumed = scenario.make_event();
  const CUevent begin = scenario.make_event(CU_EVENT_DEFAULT), end = scenario.make_event(CU_EVENT_DEFAULT);
  Ledger ledger(scenario, {&data, &outside, &later});
  for (int i = 0; i < scenario.iterations(); ++i) {
    {
      const Range range("region events");
      CALL(cuEventRecord, begin, stream);
      launch(mix, {}, stream, data.address(), data.address(), n, 1u);
      launch(mix, {}, stream, data.address(), data.address(), n, 2u);
      CALL(cuEventRecord, event, stream);
    }
    CALL(cuStreamWaitEvent, third, event, 0);
    launch(accumulate, {}, third, outside.address(), data.address(), n);
    CALL(cuEventRecord, consumed, third);
    if (i % 3 == 0) CALL(cuEventSynchronize, event);
    CALL(cuStreamWaitEvent, stream, consumed, 0);
    {
      // Recorded again while the first wait may still be queued, this time after more work.
      const Range range("region events again");
      launch(mix, {}, stream, data.address(), data.address(), n, 3u);
      launch(accumulate, {}, stream, later.address(), data.address(), n);
      CALL(cuEventRecord, event, stream);
      launch(mix, {}, stream, later.address(), later.address(), n, 4u);
      launch(mix, {}, stream, later.address(), later.address(), n, 4u);
      CALL(cuEventRecord, end, stream);
    }
    CALL(cuEventSynchronize, end);
    float milliseconds = -1;
    CALL(cuEventElapsedTime, &milliseconds, begin, end);
    note("elapsed %s", milliseconds >= 0 ? "forward" : "backward");
    ledger.take(stream);
  }
  ledger.close();
  CALL(cuStreamDestroy, third);
}

}  // namespace refrain::tests
