// O7: the program captures a graph of its own inside the region, with a fork and a join, while the region also launches
// on a third stream. O8: the program launches a graph of its own between the region's kernels.
#include "tests/programs/scenario.h"

namespace refrain::tests {
namespace {

constexpr unsigned n = 320;

void note_shape(CUgraph graph) {
  std::size_t nodes = 0, edges = 0;
  CALL(cuGraphGetNodes, graph, nullptr, &nodes);
  CALL(cuGraphGetEdges, graph, nullptr, nullptr, nullptr, &edges);
  note("nodes %zu edges %zu", nodes, edges);
}

}  // namespace

SCENARIO_OF(o7_program_captures, 48) {
  const Buffer data(n, 1), branch(n, 2), side(n, 3);
  const CUfunction mix = scenario.kernel("mix"), accumulate = scenario.kernel("accumulate");
  const CUstream stream = scenario.stream(), second = scenario.make_stream(), third = scenario.make_stream();
  const CUevent fork = scenario.make_event(), join = scenario.make_event();
  const CUstreamCaptureMode modes[] = {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                                       CU_STREAM_CAPTURE_MODE_RELAXED};
  Ledger ledger(scenario, {&data, &branch, &side});
  for (int i = 0; i < scenario.iterations(); ++i) {
    CUgraph graph = nullptr;
    {
      const Range range("region capturing");
      launch(mix, {}, stream, data.address(), data.address(), n, 6u);
      launch(mix, {}, stream, data.address(), data.address(), n, 7u);
      launch(mix, {}, third, side.address(), side.address(), n, 1u);
      CALL(cuStreamBeginCapture, stream, modes[i % 3]);
      launch(mix, {}, stream, data.address(), branch.address(), n, 1u);
      launch(mix, {}, third, side.address(), side.address(), n, 2u);
      CALL(cuEventRecord, fork, stream);
      CALL(cuStreamWaitEvent, second, fork, 0);
      launch(mix, {}, second, branch.address(), data.address(), n, static_cast<unsigned>(i));
      launch(mix, {}, stream, data.address(), data.address(), n, 2u);
      CUstreamCaptureStatus status{};
      CALL(cuStreamIsCapturing, second, &status);
      note("second stream captures %d", static_cast<int>(status));
      CALL(cuStreamIsCapturing, third, &status);
      note("third stream captures %d", static_cast<int>(status));
      launch(mix, {}, third, side.address(), side.address(), n, 3u);
      CALL(cuEventRecord, join, second);
      CALL(cuStreamWaitEvent, stream, join, 0);
      launch(accumulate, {}, stream, data.address(), branch.address(), n);
      CALL(cuStreamEndCapture, stream, &graph);
      launch(mix, {}, third, side.address(), side.address(), n, 4u);
      launch(mix, {}, stream, data.address(), data.address(), n, 8u);
      launch(mix, {}, stream, data.address(), data.address(), n, 9u);
    }
    note_shape(graph);
    CUgraphExec executable = nullptr;
    CALL(cuGraphInstantiate, &executable, graph, 0);
    CALL(cuGraphLaunch, executable, stream);
    CALL(cuStreamSynchronize, third);
    ledger.take(stream);
    CALL(cuStreamSynchronize, stream);
    CALL(cuGraphExecDestroy, executable);
    CALL(cuGraphDestroy, graph);
  }
  ledger.close();
  CALL(cuStreamDestroy, second);
  CALL(cuStreamDestroy, third);
}

SCENARIO(o8_program_launches_graphs) {
  const Buffer data(n, 1), sum(n, 2);
  const CUfunction mix = scenario.kernel("mix"), accumulate = scenario.kernel("accumulate");
  const CUstream stream = scenario.stream();
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  CALL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  launch(accumulate, {}, stream, sum.address(), data.address(), n);
  launch(mix, {}, stream, data.address(), sum.address(), n, 3u);
  CALL(cuStreamEndCapture, stream, &graph);
  CALL(cuGraphInstantiate, &executable, graph, 0);
  Ledger ledger(scenario, {&data, &sum});
  for (int i = 0; i < scenario.iterations(); ++i) {
    {
      const Range range("region with a graph");
      launch(mix, {}, stream, data.address(), data.address(), n, 1u);
      launch(accumulate, {}, stream, sum.address(), data.address(), n);
      CALL(cuGraphLaunch, executable, stream);
      launch(mix, {}, stream, data.address(), data.address(), n, 2u);
      launch(accumulate, {}, stream, sum.address(), data.address(), n);
    }
    ledger.take(stream);
  }
  ledger.close();
  CALL(cuStreamSynchronize, stream);
  CALL(cuGraphExecDestroy, executable);
  CALL(cuGraphDestroy, graph);
}

}  // namespace refrain::tests
