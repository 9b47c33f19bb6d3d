// Executable graphs: instantiation, launch, upload, end.
#include "tests/conformance/graphs.h"

namespace refrain::tests::conformance {

PROGRAM(exec_launch_several_times) {
  const Words data = p.words(64, 1);
  Mix mix(data, 5);
  Single single;
  single.kernel(kernel_node(p.kernel("mix"), {1, 64}, mix.pointers));
  const CUstream stream = p.stream();
  for (int i = 0; i < 5; ++i) TELL(cuGraphLaunch, single.exec, stream);
  TELL(cuStreamSynchronize, stream);
  note_hash("data", data);
}

PROGRAM(exec_launch_on_two_streams) {
  // One executable graph never runs beside itself.
  const Words data = p.words(64, 1);
  Mix mix(data, 5);
  Single single;
  single.kernel(kernel_node(p.kernel("mix"), {1, 64}, mix.pointers));
  const CUstream a = p.stream(), b = p.stream();
  for (int i = 0; i < 4; ++i) TELL(cuGraphLaunch, single.exec, i % 2 == 0 ? a : b);
  TELL(cuCtxSynchronize);
  note_hash("data", data);
}

PROGRAM(exec_launch_on_the_legacy_stream) {
  const Words data = p.words(64, 1);
  Mix mix(data, 5);
  Single single;
  single.kernel(kernel_node(p.kernel("mix"), {1, 64}, mix.pointers));
  single.launch(nullptr);
  note_hash("data", data);
}

PROGRAM(exec_upload) {
  const Words data = p.words(64, 1);
  Mix mix(data, 5);
  Single single;
  single.kernel(kernel_node(p.kernel("mix"), {1, 64}, mix.pointers));
  TELL(cuGraphUpload, single.exec, p.stream());
  single.launch(p.stream());
  note_hash("data", data);
}

PROGRAM(exec_outlives_its_graph) {
  const Words data = p.words(64, 1);
  Mix mix(data, 5);
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec exec = nullptr;
  MUST(cuGraphCreate, &graph, 0);
  const CUDA_KERNEL_NODE_PARAMS params = kernel_node(p.kernel("mix"), {1, 64}, mix.pointers);
  MUST(cuGraphAddKernelNode, &node, graph, nullptr, 0, &params);
  TELL(cuGraphInstantiate, &exec, graph, 0);
  TELL(cuGraphDestroy, graph);
  TELL(cuGraphLaunch, exec, p.stream());
  TELL(cuCtxSynchronize);
  TELL(cuGraphExecDestroy, exec);
  note_hash("data", data);
}

PROGRAM(exec_destroyed_while_it_runs) {
  const Words data = p.words(64, 1), out = p.words(1, 0);
  const Flag go = p.flag();
  Mix mix(data, 5);
  const CUstream stream = p.stream();
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec exec = nullptr;
  MUST(cuGraphCreate, &graph, 0);
  const CUDA_KERNEL_NODE_PARAMS params = kernel_node(p.kernel("mix"), {1, 64}, mix.pointers);
  MUST(cuGraphAddKernelNode, &node, graph, nullptr, 0, &params);
  MUST(cuGraphInstantiate, &exec, graph, 0);
  launch(p.kernel("wait_for"), {1, 1}, stream, go.device, 1u, out.address);
  TELL(cuGraphLaunch, exec, stream);
  TELL(cuGraphExecDestroy, exec);
  go.set(1);
  TELL(cuStreamSynchronize, stream);
  note_hash("data", data);
  MUST(cuGraphDestroy, graph);
}

PROGRAM(exec_flags) {
  Single single;
  cuuint64_t flags = 9;
  single.instantiate();
  TELL(cuGraphExecGetFlags, single.exec, &flags);
  note("flags %llu", static_cast<unsigned long long>(flags));
}

static void flag_of_one_kernel(Program& p, unsigned long long flag) {
  const Words data = p.words(64, 1);
  Mix mix(data, 5);
  Single single;
  CUgraphExec other = nullptr;
  cuuint64_t flags = 9;
  single.kernel(kernel_node(p.kernel("mix"), {1, 64}, mix.pointers));
  if (TELL(cuGraphInstantiate, &other, single.graph, flag) != CUDA_SUCCESS) return;
  TELL(cuGraphExecGetFlags, other, &flags);
  note("flags %llu", static_cast<unsigned long long>(flags));
  MUST(cuGraphExecDestroy, other);
}

PROGRAM(exec_flag_auto_free) { flag_of_one_kernel(p, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH); }
PROGRAM(exec_flag_device_launch) { flag_of_one_kernel(p, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH); }
PROGRAM(exec_flag_node_priority) { flag_of_one_kernel(p, CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY); }

PROGRAM(exec_unknown_flags) {
  const Single single;
  CUgraphExec exec = nullptr;
  TELL(cuGraphInstantiate, &exec, single.graph, 1ull << 20);
  TELL(cuGraphInstantiate, nullptr, single.graph, 0);
}

}  // namespace refrain::tests::conformance
