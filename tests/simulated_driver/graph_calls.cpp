// The shape of graphs: cuGraphCreate, dependencies, lists of nodes and edges, clones.
#include <algorithm>
#include <cstdio>
#include <tuple>

#include "tests/simulated_driver/entry.h"
#include "tests/simulated_driver/graph.h"
#include "tests/simulated_driver/memory.h"
#include "tests/simulated_driver/options.h"

using namespace refrain::tests::simulated;

namespace {

bool plain(const CUgraphEdgeData& data) { return data.from_port == 0 && data.to_port == 0 && data.type == 0; }

/// CUDA's way to hand out a list: the count when there is no array, else as much as fits, and zero behind it.
template <class T>
void give_list(const std::vector<T>& all, T* out, size_t* count) {
  if (out != nullptr) {
    for (size_t i = 0; i < *count; ++i) out[i] = i < all.size() ? all[i] : T{};
    *count = std::min(*count, all.size());
  } else {
    *count = all.size();
  }
}

struct Edges {
  std::vector<CUgraphNode> from, to;
  std::vector<CUgraphEdgeData> data;
  void add(CUgraphNode before, CUgraphNode after, const CUgraphEdgeData& edge) {
    from.push_back(before);
    to.push_back(after);
    data.push_back(edge);
  }
};

CUresult give_edges(const Edges& edges, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data, size_t* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (data == nullptr && (from != nullptr || to != nullptr) &&
      !std::all_of(edges.data.begin(), edges.data.end(), plain)) {
    return CUDA_ERROR_LOSSY_QUERY;
  }
  const size_t room = *count;
  for (auto [list, out] : {std::pair{&edges.from, from}, std::pair{&edges.to, to}}) {
    if (out == nullptr) continue;
    *count = room;
    give_list(*list, out, count);
  }
  if (data != nullptr) {
    *count = room;
    give_list(edges.data, data, count);
  }
  if (from == nullptr && to == nullptr && data == nullptr) *count = edges.data.size();
  return CUDA_SUCCESS;
}

CUresult graph_edges(CUgraph handle, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data, size_t* count) {
  const std::lock_guard lock(graph_lock());
  const auto graph = graphs().find(handle);
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Edges edges;
  for (const auto& node : graph->nodes) {
    for (const Dependency& dependency : node->dependencies)
      edges.add(dependency.node->handle, node->handle, dependency.data);
  }
  return give_edges(edges, from, to, data, count);
}

CUresult dependencies_of(CUgraphNode handle, CUgraphNode* out, CUgraphEdgeData* data, size_t* count) {
  const std::lock_guard lock(graph_lock());
  const auto node = nodes().find(handle);
  if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Edges edges;
  for (const Dependency& dependency : node->dependencies) edges.add(dependency.node->handle, handle, dependency.data);
  return give_edges(edges, out, nullptr, data, count);
}

CUresult dependents_of(CUgraphNode handle, CUgraphNode* out, CUgraphEdgeData* data, size_t* count) {
  const std::lock_guard lock(graph_lock());
  const auto node = nodes().find(handle);
  const auto graph = node != nullptr ? node->graph.lock() : nullptr;
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Edges edges;
  for (const auto& other : graph->nodes) {
    for (const Dependency& dependency : other->dependencies) {
      if (dependency.node == node) edges.add(handle, other->handle, dependency.data);
    }
  }
  return give_edges(edges, nullptr, out, data, count);
}

CUresult change_dependencies(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to,
                             const CUgraphEdgeData* data, size_t count, bool add) {
  const std::lock_guard lock(graph_lock());
  const auto graph = graphs().find(handle);
  if (graph == nullptr || (count != 0 && (from == nullptr || to == nullptr))) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i) {
    const auto before = node_in(from[i], graph);
    const auto after = node_in(to[i], graph);
    if (before == nullptr || after == nullptr || before == after) return CUDA_ERROR_INVALID_VALUE;
    const auto same = [&](const Dependency& dependency) { return dependency.node == before; };
    const bool exists = std::any_of(after->dependencies.begin(), after->dependencies.end(), same);
    if (exists == add) return CUDA_ERROR_INVALID_VALUE;
    const bool programmatic = data != nullptr && data[i].type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
    if (add && programmatic && !std::holds_alternative<KernelLaunch>(before->work)) return CUDA_ERROR_INVALID_VALUE;
    if (add) {
      after->dependencies.push_back({before, data != nullptr ? data[i] : CUgraphEdgeData{}});
    } else {
      std::erase_if(after->dependencies, same);
    }
  }
  return CUDA_SUCCESS;
}

}  // namespace

SIM(cuGraphCreate)(CUgraph* out, unsigned flags) {
  if (out == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  *out = create_graph()->handle;
  return CUDA_SUCCESS;
}
SIM(cuGraphDestroy)(CUgraph handle) {
  const auto graph = graphs().find(handle);
  if (graph == nullptr || graph->child) return CUDA_ERROR_INVALID_VALUE;
  destroy_graph(graph);
  return CUDA_SUCCESS;
}
SIM(cuGraphDestroyNode)(CUgraphNode handle) {
  const auto node = nodes().find(handle);
  if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  destroy_node(node);
  return CUDA_SUCCESS;
}
SIM(cuGraphClone)(CUgraph* out, CUgraph original) {
  const auto graph = graphs().find(original);
  if (graph == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto clone = clone_graph(*graph, false);
  clone->clone_of = graph;
  *out = clone->handle;
  return CUDA_SUCCESS;
}
SIM(cuGraphNodeFindInClone)(CUgraphNode* out, CUgraphNode original, CUgraph clone_handle) {
  const std::lock_guard lock(graph_lock());
  const auto clone = graphs().find(clone_handle);
  if (clone == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto found = clone->from_original.find(original);
  if (found == clone->from_original.end()) return CUDA_ERROR_INVALID_VALUE;
  *out = found->second;
  return CUDA_SUCCESS;
}
SIM(cuGraphGetNodes)(CUgraph handle, CUgraphNode* out, size_t* count) {
  const std::lock_guard lock(graph_lock());
  const auto graph = graphs().find(handle);
  if (graph == nullptr || count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<CUgraphNode> all;
  for (const auto& node : graph->nodes) all.push_back(node->handle);
  give_list(all, out, count);
  return CUDA_SUCCESS;
}
SIM(cuGraphGetRootNodes)(CUgraph handle, CUgraphNode* out, size_t* count) {
  const std::lock_guard lock(graph_lock());
  const auto graph = graphs().find(handle);
  if (graph == nullptr || count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<CUgraphNode> roots;
  for (const auto& node : graph->nodes) {
    if (node->dependencies.empty()) roots.push_back(node->handle);
  }
  give_list(roots, out, count);
  return CUDA_SUCCESS;
}
SIM(cuGraphNodeGetType)(CUgraphNode handle, CUgraphNodeType* type) {
  const auto node = nodes().find(handle);
  if (node == nullptr || type == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *type = type_of(node->work);
  return CUDA_SUCCESS;
}
SIM(cuGraphGetEdges)(CUgraph graph, CUgraphNode* from, CUgraphNode* to, size_t* count) {
  return graph_edges(graph, from, to, nullptr, count);
}
SIM(cuGraphGetEdges_v2)(CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data, size_t* count) {
  return graph_edges(graph, from, to, data, count);
}
SIM(cuGraphNodeGetDependencies)(CUgraphNode node, CUgraphNode* out, size_t* count) {
  return dependencies_of(node, out, nullptr, count);
}
SIM(cuGraphNodeGetDependencies_v2)(CUgraphNode node, CUgraphNode* out, CUgraphEdgeData* data, size_t* count) {
  return dependencies_of(node, out, data, count);
}
SIM(cuGraphNodeGetDependentNodes)(CUgraphNode node, CUgraphNode* out, size_t* count) {
  return dependents_of(node, out, nullptr, count);
}
SIM(cuGraphNodeGetDependentNodes_v2)(CUgraphNode node, CUgraphNode* out, CUgraphEdgeData* data, size_t* count) {
  return dependents_of(node, out, data, count);
}
SIM(cuGraphAddDependencies)(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, size_t count) {
  return change_dependencies(graph, from, to, nullptr, count, true);
}
SIM(cuGraphAddDependencies_v2)
(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData* data, size_t count) {
  return change_dependencies(graph, from, to, data, count, true);
}
SIM(cuGraphRemoveDependencies)(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, size_t count) {
  return change_dependencies(graph, from, to, nullptr, count, false);
}
SIM(cuGraphRemoveDependencies_v2)
(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData*, size_t count) {
  return change_dependencies(graph, from, to, nullptr, count, false);
}
SIM(cuGraphDebugDotPrint)(CUgraph handle, const char* path, unsigned) {
  const std::lock_guard lock(graph_lock());
  const auto graph = graphs().find(handle);
  if (graph == nullptr || path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::FILE* file = std::fopen(path, "w");
  if (file == nullptr) return CUDA_ERROR_OPERATING_SYSTEM;
  std::fputs("digraph dot {\n", file);
  for (const auto& node : graph->nodes) {
    for (const Dependency& dependency : node->dependencies) {
      std::fprintf(file, "\"%p\" -> \"%p\"\n", static_cast<void*>(dependency.node->handle),
                   static_cast<void*>(node->handle));
    }
  }
  std::fputs("}\n", file);
  std::fclose(file);
  return CUDA_SUCCESS;
}
SIM(cuDeviceGraphMemTrim)(CUdevice) { return CUDA_SUCCESS; }
SIM(cuDeviceGetGraphMemAttribute)(CUdevice, CUgraphMem_attribute, void* value) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *static_cast<cuuint64_t*>(value) = 0;
  return CUDA_SUCCESS;
}
