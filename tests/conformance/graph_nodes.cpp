// Graphs built by hand: each kind of node, what it says about itself, and what it does.
#include "tests/conformance/graphs.h"

namespace refrain::tests::conformance {

PROGRAM(graph_create_and_destroy) {
  CUgraph graph = nullptr;
  TELL(cuGraphCreate, &graph, 0);
  note_shape(graph);
  TELL(cuGraphDestroy, graph);
}

PROGRAM(graph_create_bad_arguments) {
  CUgraph graph = nullptr;
  TELL(cuGraphCreate, &graph, 1);
  TELL(cuGraphCreate, nullptr, 0);
}

PROGRAM(graph_kernel_node) {
  const Words data = p.words(64, 1);
  Mix mix(data, data, 5);
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  MUST(cuGraphCreate, &graph, 0);
  const CUDA_KERNEL_NODE_PARAMS given = kernel_node(p.kernel("mix"), {1, 64}, mix.pointers);
  TELL(cuGraphAddKernelNode, &node, graph, nullptr, 0, &given);
  mix.salt = 77;  // the node has its own copy
  CUDA_KERNEL_NODE_PARAMS answer{};
  TELL(cuGraphKernelNodeGetParams, node, &answer);
  note("same function %d grid %u block %u shared %u extra %d", answer.func == given.func, answer.gridDimX,
       answer.blockDimX, answer.sharedMemBytes, answer.extra != nullptr);
  if (answer.kernelParams != nullptr) note("salt %u", *static_cast<unsigned*>(answer.kernelParams[3]));
  run_graph(graph, p.stream());
  note_words("data", data);
  MUST(cuGraphDestroy, graph);
}

PROGRAM(graph_kernel_node_set_params) {
  const Words data = p.words(64, 1);
  Mix first(data, data, 5), second(data, data, 6);
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  MUST(cuGraphCreate, &graph, 0);
  CUDA_KERNEL_NODE_PARAMS params = kernel_node(p.kernel("mix"), {1, 64}, first.pointers);
  TELL(cuGraphAddKernelNode, &node, graph, nullptr, 0, &params);
  params = kernel_node(p.kernel("mix"), {2, 32}, second.pointers);
  TELL(cuGraphKernelNodeSetParams, node, &params);
  CUDA_KERNEL_NODE_PARAMS answer{};
  TELL(cuGraphKernelNodeGetParams, node, &answer);
  note("grid %u block %u", answer.gridDimX, answer.blockDimX);
  run_graph(graph, p.stream());
  note_words("data", data);
  MUST(cuGraphDestroy, graph);
}

PROGRAM(graph_kernel_node_of_a_library) {
  const Words data = p.words(64, 1);
  Mix mix(data, data, 5);
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  MUST(cuGraphCreate, &graph, 0);
  CUDA_KERNEL_NODE_PARAMS params = kernel_node(nullptr, {1, 64}, mix.pointers);
  params.kern = p.library_kernel("mix");
  TELL(cuGraphAddKernelNode, &node, graph, nullptr, 0, &params);
  CUDA_KERNEL_NODE_PARAMS answer{};
  TELL(cuGraphKernelNodeGetParams, node, &answer);
  note("same kernel %d", answer.kern == params.kern);
  run_graph(graph, p.stream());
  note_words("data", data);
  MUST(cuGraphDestroy, graph);
}

PROGRAM(graph_kernel_node_refused) {
  const Words data = p.words(64, 1);
  Mix mix(data, data, 5);
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  MUST(cuGraphCreate, &graph, 0);
  CUDA_KERNEL_NODE_PARAMS params = kernel_node(p.kernel("mix"), {0, 64}, mix.pointers);
  TELL(cuGraphAddKernelNode, &node, graph, nullptr, 0, &params);
  params = kernel_node(p.kernel("mix"), {1, 2048}, mix.pointers);
  TELL(cuGraphAddKernelNode, &node, graph, nullptr, 0, &params);
  TELL(cuGraphAddKernelNode, &node, graph, nullptr, 0, nullptr);
  note_shape(graph);
  MUST(cuGraphDestroy, graph);
}

PROGRAM(graph_fill_node) {
  const Words data = p.words(64, 1);
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  MUST(cuGraphCreate, &graph, 0);
  const CUDA_MEMSET_NODE_PARAMS fill = fill_of(data, 9);
  TELL(cuGraphAddMemsetNode, &node, graph, nullptr, 0, &fill, p.context());
  CUDA_MEMSET_NODE_PARAMS answer{};
  TELL(cuGraphMemsetNodeGetParams, node, &answer);
  note("same place %d value %u element %u width %zu height %zu", answer.dst == data.address, answer.value,
       answer.elementSize, answer.width, answer.height);
  run_graph(graph, p.stream());
  note_words("data", data);
  MUST(cuGraphDestroy, graph);
}

PROGRAM(graph_fill_node_of_rows) {
  const Words data = p.words(64, 1);
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  MUST(cuGraphCreate, &graph, 0);
  CUDA_MEMSET_NODE_PARAMS fill = fill_of(data, 0xab);
  fill.elementSize = 1;
  fill.pitch = 64;
  fill.width = 16;
  fill.height = 4;
  TELL(cuGraphAddMemsetNode, &node, graph, nullptr, 0, &fill, p.context());
  run_graph(graph, p.stream());
  note_words("row", data, 0, 6);
  note_words("row", data, 16, 6);
  MUST(cuGraphDestroy, graph);
}

PROGRAM(graph_fill_node_bad_element) {
  const Words data = p.words(64, 1);
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  MUST(cuGraphCreate, &graph, 0);
  CUDA_MEMSET_NODE_PARAMS fill = fill_of(data, 9);
  fill.elementSize = 3;
  TELL(cuGraphAddMemsetNode, &node, graph, nullptr, 0, &fill, p.context());
  TELL(cuGraphAddMemsetNode, &node, graph, nullptr, 0, nullptr, p.context());
  MUST(cuGraphDestroy, graph);
}

PROGRAM(graph_fill_node_of_nothing) {
  const Words data = p.words(64, 1);
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  MUST(cuGraphCreate, &graph, 0);
  CUDA_MEMSET_NODE_PARAMS fill = fill_of(data, 9);
  fill.width = 0;
  TELL(cuGraphAddMemsetNode, &node, graph, nullptr, 0, &fill, p.context());
  MUST(cuGraphDestroy, graph);
}

PROGRAM(graph_copy_node) {
  const Words from = p.words(64, 1), to = p.words(64, 500);
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  MUST(cuGraphCreate, &graph, 0);
  const CUDA_MEMCPY3D copy = copy_of(to, from);
  TELL(cuGraphAddMemcpyNode, &node, graph, nullptr, 0, &copy, p.context());
  CUDA_MEMCPY3D answer{};
  TELL(cuGraphMemcpyNodeGetParams, node, &answer);
  note("width %zu height %zu depth %zu", answer.WidthInBytes, answer.Height, answer.Depth);
  run_graph(graph, p.stream());
  note_words("to", to);
  MUST(cuGraphDestroy, graph);
}

PROGRAM(graph_copy_node_of_nothing) {
  const Words from = p.words(64, 1), to = p.words(64, 500);
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  MUST(cuGraphCreate, &graph, 0);
  CUDA_MEMCPY3D copy = copy_of(to, from);
  copy.WidthInBytes = 0;
  TELL(cuGraphAddMemcpyNode, &node, graph, nullptr, 0, &copy, p.context());
  MUST(cuGraphDestroy, graph);
}

PROGRAM(graph_host_node) {
  static unsigned called;
  called = 0;
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  MUST(cuGraphCreate, &graph, 0);
  CUDA_HOST_NODE_PARAMS host{};
  host.fn = [](void* data) { *static_cast<unsigned*>(data) += 3; };
  host.userData = &called;
  TELL(cuGraphAddHostNode, &node, graph, nullptr, 0, &host);
  CUDA_HOST_NODE_PARAMS answer{};
  TELL(cuGraphHostNodeGetParams, node, &answer);
  note("same function %d data %d", answer.fn == host.fn, answer.userData == host.userData);
  run_graph(graph, p.stream());
  note("called %u", called);
  MUST(cuGraphDestroy, graph);
}

PROGRAM(graph_event_nodes) {
  const CUevent event = p.event(), other = p.event();
  CUgraph graph = nullptr;
  CUgraphNode record = nullptr, wait = nullptr;
  CUevent answer = nullptr;
  MUST(cuGraphCreate, &graph, 0);
  TELL(cuEventRecord, other, p.stream());
  TELL(cuGraphAddEventRecordNode, &record, graph, nullptr, 0, event);
  TELL(cuGraphAddEventWaitNode, &wait, graph, &record, 1, other);
  TELL(cuGraphEventRecordNodeGetEvent, record, &answer);
  note("same %d", answer == event);
  TELL(cuGraphEventWaitNodeGetEvent, wait, &answer);
  note("same %d", answer == other);
  run_graph(graph, p.stream());
  TELL(cuEventQuery, event);
  MUST(cuGraphDestroy, graph);
}

PROGRAM(graph_child_node) {
  const Words data = p.words(64, 1);
  Mix mix(data, data, 5);
  CUgraph graph = nullptr, child = nullptr, inside = nullptr;
  CUgraphNode node = nullptr, in_child = nullptr;
  MUST(cuGraphCreate, &graph, 0);
  MUST(cuGraphCreate, &child, 0);
  CUDA_KERNEL_NODE_PARAMS params = kernel_node(p.kernel("mix"), {1, 64}, mix.pointers);
  MUST(cuGraphAddKernelNode, &in_child, child, nullptr, 0, &params);
  TELL(cuGraphAddChildGraphNode, &node, graph, nullptr, 0, child);
  TELL(cuGraphDestroy, child);  // the node has a clone
  TELL(cuGraphChildGraphNodeGetGraph, node, &inside);
  note_shape(inside);
  run_graph(graph, p.stream());
  note_words("data", data);
  MUST(cuGraphDestroy, graph);
}

PROGRAM(graph_empty_node_joins) {
  const Words data = p.words(64, 1), other = p.words(64, 2);
  Mix mix(data, data, 5), second(other, data, 7);
  CUgraph graph = nullptr;
  CUgraphNode a = nullptr, b = nullptr, c = nullptr;
  MUST(cuGraphCreate, &graph, 0);
  CUDA_KERNEL_NODE_PARAMS params = kernel_node(p.kernel("mix"), {1, 64}, mix.pointers);
  TELL(cuGraphAddKernelNode, &a, graph, nullptr, 0, &params);
  TELL(cuGraphAddEmptyNode, &b, graph, &a, 1);
  params = kernel_node(p.kernel("mix"), {1, 64}, second.pointers);
  TELL(cuGraphAddKernelNode, &c, graph, &b, 1, &params);
  note_shape(graph);
  note_kinds(graph);
  run_graph(graph, p.stream());
  note_words("other", other);
  MUST(cuGraphDestroy, graph);
}

PROGRAM(graph_node_of_any_kind) {
  const Words data = p.words(64, 1);
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  MUST(cuGraphCreate, &graph, 0);
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_MEMSET;
  params.memset.dst = data.address;
  params.memset.value = 3;
  params.memset.elementSize = 4;
  params.memset.width = 64;
  params.memset.height = 1;
  params.memset.ctx = p.context();
  TELL(cuGraphAddNode, &node, graph, nullptr, nullptr, 0, &params);
  note_kinds(graph);
  run_graph(graph, p.stream());
  note_words("data", data);
  MUST(cuGraphDestroy, graph);
}

PROGRAM(graph_params_of_another_kind) {
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  MUST(cuGraphCreate, &graph, 0);
  MUST(cuGraphAddEmptyNode, &node, graph, nullptr, 0);
  CUDA_KERNEL_NODE_PARAMS kernel{};
  CUDA_MEMSET_NODE_PARAMS fill{};
  TELL(cuGraphKernelNodeGetParams, node, &kernel);
  TELL(cuGraphMemsetNodeGetParams, node, &fill);
  MUST(cuGraphDestroy, graph);
}

PROGRAM(graph_kernel_node_attributes) {
  const Words data = p.words(64, 1);
  Mix mix(data, data, 5);
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr, other = nullptr;
  MUST(cuGraphCreate, &graph, 0);
  CUDA_KERNEL_NODE_PARAMS params = kernel_node(p.kernel("mix"), {4, 16}, mix.pointers);
  MUST(cuGraphAddKernelNode, &node, graph, nullptr, 0, &params);
  MUST(cuGraphAddKernelNode, &other, graph, nullptr, 0, &params);
  CUkernelNodeAttrValue value{};
  value.clusterDim = {2, 1, 1};
  TELL(cuGraphKernelNodeSetAttribute, node, CU_KERNEL_NODE_ATTRIBUTE_CLUSTER_DIMENSION, &value);
  TELL(cuGraphKernelNodeCopyAttributes, other, node);
  value = {};
  TELL(cuGraphKernelNodeGetAttribute, other, CU_KERNEL_NODE_ATTRIBUTE_CLUSTER_DIMENSION, &value);
  note("cluster %u %u %u", value.clusterDim.x, value.clusterDim.y, value.clusterDim.z);
  value = {};
  TELL(cuGraphKernelNodeGetAttribute, node, CU_KERNEL_NODE_ATTRIBUTE_COOPERATIVE, &value);
  note("cooperative %d", value.cooperative);
  MUST(cuGraphDestroy, graph);
}

PROGRAM(graph_kernel_node_attribute_not_of_nodes) {
  const Words data = p.words(64, 1);
  Mix mix(data, data, 5);
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  MUST(cuGraphCreate, &graph, 0);
  CUDA_KERNEL_NODE_PARAMS params = kernel_node(p.kernel("mix"), {4, 16}, mix.pointers);
  MUST(cuGraphAddKernelNode, &node, graph, nullptr, 0, &params);
  CUkernelNodeAttrValue value{};
  TELL(cuGraphKernelNodeGetAttribute, node, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value);
  MUST(cuGraphDestroy, graph);
}

}  // namespace refrain::tests::conformance
