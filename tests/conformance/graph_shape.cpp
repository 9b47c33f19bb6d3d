// The shape of graphs: dependencies, lists, clones, removal.
#include <algorithm>
#include <array>

#include "tests/conformance/capturing.h"

namespace refrain::tests::conformance {
namespace {

/// A graph of three empty nodes in a row.
struct Row {
  CUgraph graph = nullptr;
  std::array<CUgraphNode, 3> nodes{};
  Row() {
    MUST(cuGraphCreate, &graph, 0);
    MUST(cuGraphAddEmptyNode, &nodes[0], graph, nullptr, 0);
    MUST(cuGraphAddEmptyNode, &nodes[1], graph, nodes.data(), 1);
    MUST(cuGraphAddEmptyNode, &nodes[2], graph, &nodes[1], 1);
  }
  ~Row() { MUST(cuGraphDestroy, graph); }
  Row(const Row&) = delete;
  Row& operator=(const Row&) = delete;
};

}  // namespace

PROGRAM(graph_root_nodes) {
  const Row row;
  std::size_t count = 3;
  std::array<CUgraphNode, 3> roots{};
  TELL(cuGraphGetRootNodes, row.graph, roots.data(), &count);
  note("count %zu first %d rest null %d", count, roots[0] == row.nodes[0], roots[1] == nullptr && roots[2] == nullptr);
}

PROGRAM(graph_list_of_nodes) {
  const Row row;
  std::size_t count = 3;
  std::array<CUgraphNode, 3> nodes{};
  TELL(cuGraphGetNodes, row.graph, nodes.data(), &count);
  note("count %zu", count);
  for (CUgraphNode node : row.nodes) note("there %d", std::find(nodes.begin(), nodes.end(), node) != nodes.end());
}

PROGRAM(graph_list_with_little_room) {
  const Row row;
  std::size_t count = 2;
  std::array<CUgraphNode, 3> nodes{};
  TELL(cuGraphGetNodes, row.graph, nodes.data(), &count);
  note("count %zu third untouched %d", count, nodes[2] == nullptr);
}

PROGRAM(graph_list_with_much_room) {
  const Row row;
  std::size_t count = 5;
  std::array<CUgraphNode, 5> nodes;
  nodes.fill(row.nodes[0]);
  TELL(cuGraphGetNodes, row.graph, nodes.data(), &count);
  note("count %zu rest null %d", count, nodes[3] == nullptr && nodes[4] == nullptr);
}

PROGRAM(graph_dependencies_of_a_node) {
  const Row row;
  std::size_t before = 9, after = 9;
  CUgraphNode node = nullptr;
  TELL(cuGraphNodeGetDependencies, row.nodes[1], nullptr, nullptr, &before);
  TELL(cuGraphNodeGetDependentNodes, row.nodes[1], nullptr, nullptr, &after);
  note("before %zu after %zu", before, after);
  CUgraphEdgeData edge{};
  TELL(cuGraphNodeGetDependencies, row.nodes[1], &node, &edge, &before);
  note("is the first %d", node == row.nodes[0]);
  TELL(cuGraphNodeGetDependentNodes, row.nodes[1], &node, &edge, &after);
  note("is the third %d", node == row.nodes[2]);
}

PROGRAM(graph_add_and_remove_dependencies) {
  const Row row;
  TELL(cuGraphAddDependencies, row.graph, &row.nodes[0], &row.nodes[2], nullptr, 1);
  note_shape(row.graph);
  TELL(cuGraphRemoveDependencies, row.graph, &row.nodes[0], &row.nodes[2], nullptr, 1);
  note_shape(row.graph);
}

PROGRAM(graph_add_a_dependency_twice) {
  const Row row;
  TELL(cuGraphAddDependencies, row.graph, &row.nodes[0], &row.nodes[1], nullptr, 1);
  note_shape(row.graph);
}

PROGRAM(graph_remove_a_dependency_that_is_none) {
  const Row row;
  TELL(cuGraphRemoveDependencies, row.graph, &row.nodes[0], &row.nodes[2], nullptr, 1);
  note_shape(row.graph);
}

PROGRAM(graph_programmatic_dependencies) {
  const Words data = p.words(192, 1);
  const CUstream stream = p.stream();
  CUgraph graph = nullptr;
  MUST(cuGraphCreate, &graph, 0);
  std::array<CUgraphNode, 3> kernels{};
  // Each works on words of its own: a kernel that begins early must not need what the one before it does.
  unsigned words_each = 64, value = 3;
  CUdeviceptr address = 0;
  std::array<void*, 4> parameters{&address, &address, &words_each, &value};
  const CUDA_KERNEL_NODE_PARAMS params = kernel_node(p.kernel("mix"), {1, 64}, parameters.data());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    address = data.at(64 * i);
    MUST(cuGraphAddKernelNode, &kernels[i], graph, nullptr, 0, &params);
  }
  CUgraphNode fill = nullptr;
  CUDA_MEMSET_NODE_PARAMS filled{};
  filled.dst = data.address;
  filled.elementSize = 4;
  filled.width = filled.height = 1;
  CUcontext context = nullptr;
  MUST(cuCtxGetCurrent, &context);
  MUST(cuGraphAddMemsetNode, &fill, graph, nullptr, 0, &filled, context);
  CUgraphEdgeData edge{};
  edge.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
  edge.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  TELL(cuGraphAddDependencies, graph, &fill, &kernels[0], &edge, 1);
  TELL(cuGraphAddDependencies, graph, &fill, &kernels[0], nullptr, 1);
  for (std::size_t i = 1; i < kernels.size(); ++i)
    TELL(cuGraphAddDependencies, graph, &kernels[i - 1], &kernels[i], &edge, 1);
  TELL(cuGraphAddDependencies, graph, &kernels[0], &kernels[1], nullptr, 1);
  std::array<CUgraphNode, 8> from{}, to{};
  std::array<CUgraphEdgeData, 8> edges{};
  std::size_t count = edges.size();
  TELL(cuGraphGetEdges, graph, from.data(), to.data(), edges.data(), &count);
  std::array<int, 2> full{}, programmatic{};  // from a kernel, from the fill; the list has no order
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_programmatic = edges[i].type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC && edges[i].from_port == 1;
    ++(is_programmatic ? programmatic : full).at(from[i] == fill ? 1 : 0);
  }
  note("edges %zu from kernels %d full %d programmatic from the fill %d full %d programmatic", count, full[0],
       programmatic[0], full[1], programmatic[1]);
  CUgraphExec exec = nullptr;
  MUST(cuGraphInstantiate, &exec, graph, 0);
  MUST(cuGraphLaunch, exec, stream);
  MUST(cuStreamSynchronize, stream);
  note_hash("launched", data);
  value = 9;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    address = data.at(64 * i);
    TELL(cuGraphExecKernelNodeSetParams, exec, kernels[i], &params);
  }
  MUST(cuGraphLaunch, exec, stream);
  MUST(cuStreamSynchronize, stream);
  note_hash("patched", data);
  MUST(cuGraphExecDestroy, exec);
  MUST(cuGraphDestroy, graph);
}

PROGRAM(graph_dependency_on_itself) {
  const Row row;
  TELL(cuGraphAddDependencies, row.graph, &row.nodes[0], &row.nodes[0], nullptr, 1);
}

PROGRAM(graph_cycle) {
  const Row row;
  CUgraphExec exec = nullptr;
  TELL(cuGraphAddDependencies, row.graph, &row.nodes[2], &row.nodes[0], nullptr, 1);
  TELL(cuGraphInstantiate, &exec, row.graph, 0);
  note("executable %d", exec != nullptr);
}

PROGRAM(graph_node_given_a_dependency_of_another_graph) {
  const Row row;
  CUgraph other = nullptr;
  CUgraphNode node = nullptr;
  MUST(cuGraphCreate, &other, 0);
  TELL(cuGraphAddEmptyNode, &node, other, row.nodes.data(), 1);
  MUST(cuGraphDestroy, other);
}

PROGRAM(graph_destroy_node) {
  const Row row;
  TELL(cuGraphDestroyNode, row.nodes[1]);
  note_shape(row.graph);
}

PROGRAM(graph_clone) {
  const Row row;
  CUgraph clone = nullptr;
  CUgraphNode found = nullptr;
  TELL(cuGraphClone, &clone, row.graph);
  note_shape(clone);
  TELL(cuGraphNodeFindInClone, &found, row.nodes[1], clone);
  note("another node %d", found != nullptr && found != row.nodes[1]);
  TELL(cuGraphDestroy, clone);
  note_shape(row.graph);
}

PROGRAM(graph_find_in_what_is_no_clone) {
  const Row row, other;
  CUgraphNode found = nullptr;
  TELL(cuGraphNodeFindInClone, &found, row.nodes[1], other.graph);
}

PROGRAM(graph_clone_is_independent) {
  const Row row;
  CUgraph clone = nullptr;
  CUgraphNode more = nullptr;
  MUST(cuGraphClone, &clone, row.graph);
  TELL(cuGraphAddEmptyNode, &more, row.graph, nullptr, 0);
  note_shape(row.graph);
  note_shape(clone);
  MUST(cuGraphDestroy, clone);
}

PROGRAM(graph_null_arguments) {
  const Row row;
  std::size_t count = 0;
  CUgraph clone = nullptr;
  CUgraphNode node = nullptr;
  TELL(cuGraphGetNodes, row.graph, nullptr, nullptr);
  TELL(cuGraphGetNodes, nullptr, nullptr, &count);
  TELL(cuGraphClone, nullptr, row.graph);
  TELL(cuGraphClone, &clone, nullptr);
  TELL(cuGraphAddEmptyNode, &node, nullptr, nullptr, 0);
  TELL(cuGraphAddEmptyNode, nullptr, row.graph, nullptr, 0);
  TELL(cuGraphDestroy, nullptr);
  TELL(cuGraphNodeGetType, row.nodes[0], nullptr);
}

PROGRAM(graph_node_type) {
  const Row row;
  CUgraphNodeType kind = CU_GRAPH_NODE_TYPE_KERNEL;
  TELL(cuGraphNodeGetType, row.nodes[0], &kind);
  note("kind %d", static_cast<int>(kind));
}

}  // namespace refrain::tests::conformance
