// cuGraphExecUpdate: an executable graph takes over a whole graph, if that has the same shape.
#include "tests/conformance/graphs.h"

namespace refrain::tests::conformance {
namespace {

void note_update(CUgraphExec exec, CUgraph graph) {
  CUgraphExecUpdateResultInfo info{};
  TELL(cuGraphExecUpdate, exec, graph, &info);
  note("outcome %d", static_cast<int>(info.result));
}

/// Captures `count` launches of `mix` into a new graph.
CUgraph captured(Program& p, CUstream stream, const Words& data, unsigned count, unsigned salt) {
  CUgraph graph = nullptr;
  MUST(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  for (unsigned i = 0; i < count; ++i) {
    launch(p.kernel("mix"), {1, 64}, stream, data.address, data.address, 64u, salt + i);
  }
  MUST(cuStreamEndCapture, stream, &graph);
  return graph;
}

}  // namespace

PROGRAM(update_parameters) {
  const Words data = p.words(64, 1);
  const CUstream stream = p.stream();
  const CUgraph first = captured(p, stream, data, 2, 5), second = captured(p, stream, data, 2, 50);
  CUgraphExec exec = nullptr;
  MUST(cuGraphInstantiate, &exec, first, 0);
  TELL(cuGraphLaunch, exec, stream);
  note_update(exec, second);
  TELL(cuGraphLaunch, exec, stream);
  TELL(cuStreamSynchronize, stream);
  note_hash("data", data);
  MUST(cuGraphExecDestroy, exec);
  MUST(cuGraphDestroy, first);
  MUST(cuGraphDestroy, second);
}

PROGRAM(update_more_nodes) {
  const Words data = p.words(64, 1);
  const CUstream stream = p.stream();
  const CUgraph first = captured(p, stream, data, 2, 5), second = captured(p, stream, data, 3, 50);
  CUgraphExec exec = nullptr;
  MUST(cuGraphInstantiate, &exec, first, 0);
  note_update(exec, second);
  TELL(cuGraphLaunch, exec, stream);
  TELL(cuStreamSynchronize, stream);
  note_hash("data", data);
  MUST(cuGraphExecDestroy, exec);
  MUST(cuGraphDestroy, first);
  MUST(cuGraphDestroy, second);
}

PROGRAM(update_other_kind_of_node) {
  const Words data = p.words(64, 1);
  const CUstream stream = p.stream();
  const CUgraph first = captured(p, stream, data, 1, 5);
  CUgraph second = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec exec = nullptr;
  const CUDA_MEMSET_NODE_PARAMS fill = fill_of(data, 3);
  MUST(cuGraphCreate, &second, 0);
  MUST(cuGraphAddMemsetNode, &node, second, nullptr, 0, &fill, p.context());
  MUST(cuGraphInstantiate, &exec, first, 0);
  note_update(exec, second);
  MUST(cuGraphExecDestroy, exec);
  MUST(cuGraphDestroy, first);
  MUST(cuGraphDestroy, second);
}

PROGRAM(update_other_function) {
  const Words data = p.words(64, 1);
  Mix mix(data, 5);
  Single first, second;
  const CUstream stream = p.stream();
  first.kernel(kernel_node(p.kernel("mix"), {1, 64}, mix.pointers));
  second.kernel(kernel_node(p.kernel("accumulate"), {1, 64}, mix.pointers));
  note_update(first.exec, second.graph);
  first.launch(stream);
  note_hash("data", data);
}

PROGRAM(update_other_dependencies) {
  CUgraph first = nullptr, second = nullptr;
  CUgraphNode a = nullptr, b = nullptr;
  CUgraphExec exec = nullptr;
  MUST(cuGraphCreate, &first, 0);
  MUST(cuGraphAddEmptyNode, &a, first, nullptr, 0);
  MUST(cuGraphAddEmptyNode, &b, first, &a, 1);
  MUST(cuGraphCreate, &second, 0);
  MUST(cuGraphAddEmptyNode, &a, second, nullptr, 0);
  MUST(cuGraphAddEmptyNode, &b, second, nullptr, 0);
  MUST(cuGraphInstantiate, &exec, first, 0);
  note_update(exec, second);
  MUST(cuGraphExecDestroy, exec);
  MUST(cuGraphDestroy, first);
  MUST(cuGraphDestroy, second);
}

PROGRAM(update_null_arguments) {
  Single single;
  single.instantiate();
  CUgraphExecUpdateResultInfo info{};
  TELL(cuGraphExecUpdate, single.exec, nullptr, &info);
  TELL(cuGraphExecUpdate, nullptr, single.graph, &info);
}

}  // namespace refrain::tests::conformance
