#include "tests/simulated_driver/graph.h"

#include <algorithm>
#include <set>

#include "tests/simulated_driver/context.h"

namespace refrain::tests::simulated {

HandleTable<CUgraph, Graph>& graphs() {
  static auto* const table = new HandleTable<CUgraph, Graph>;
  return *table;
}

HandleTable<CUgraphNode, Node>& nodes() {
  static auto* const table = new HandleTable<CUgraphNode, Node>;
  return *table;
}

std::recursive_mutex& graph_lock() {
  static auto* const mutex = new std::recursive_mutex;
  return *mutex;
}

std::shared_ptr<Graph> create_graph() {
  auto graph = std::make_shared<Graph>();
  graphs().add(graph);
  return graph;
}

std::shared_ptr<Node> add_node(const std::shared_ptr<Graph>& graph, std::vector<Dependency> dependencies, Work work,
                               const std::shared_ptr<Context>& context) {
  const std::lock_guard lock(graph_lock());
  auto node = std::make_shared<Node>();
  node->graph = graph;
  node->context = context;
  node->work = std::move(work);
  node->dependencies = std::move(dependencies);
  nodes().add(node);
  graph->nodes.push_back(node);
  return node;
}

void destroy_graph(const std::shared_ptr<Graph>& graph) {
  const std::lock_guard lock(graph_lock());
  graphs().remove(graph->handle);
  for (const auto& node : graph->nodes) {
    nodes().remove(node->handle);
    if (const auto* child = std::get_if<ChildGraph>(&node->work); child != nullptr) destroy_graph(child->graph);
  }
  // Nodes refer to nodes: released one by one, a long chain would be released by recursion.
  for (const auto& node : graph->nodes) node->dependencies.clear();
  graph->nodes.clear();
}

void destroy_node(const std::shared_ptr<Node>& node) {
  const std::lock_guard lock(graph_lock());
  const auto graph = node->graph.lock();
  nodes().remove(node->handle);
  if (const auto* child = std::get_if<ChildGraph>(&node->work); child != nullptr) destroy_graph(child->graph);
  if (graph == nullptr) return;
  std::erase(graph->nodes, node);
  for (const auto& other : graph->nodes) {
    std::erase_if(other->dependencies, [&](const Dependency& dependency) { return dependency.node == node; });
  }
}

std::shared_ptr<Graph> clone_graph(const Graph& graph, bool child) {
  const std::lock_guard lock(graph_lock());
  auto clone = create_graph();
  clone->child = child;
  std::map<const Node*, std::shared_ptr<Node>> copies;
  for (const auto& node : graph.nodes) {
    Work work = node->work;
    if (auto* inner = std::get_if<ChildGraph>(&work); inner != nullptr) inner->graph = clone_graph(*inner->graph, true);
    const auto copy = add_node(clone, {}, std::move(work), node->context);
    copies[node.get()] = copy;
    clone->from_original[node->handle] = copy->handle;
  }
  for (const auto& node : graph.nodes) {
    for (const Dependency& dependency : node->dependencies) {
      copies[node.get()]->dependencies.push_back({copies[dependency.node.get()], dependency.data});
    }
  }
  return clone;
}

CUgraphNodeType type_of(const Work& work) {
  struct Visitor {
    CUgraphNodeType operator()(const Nothing&) const { return CU_GRAPH_NODE_TYPE_EMPTY; }
    CUgraphNodeType operator()(const KernelLaunch&) const { return CU_GRAPH_NODE_TYPE_KERNEL; }
    CUgraphNodeType operator()(const Fill&) const { return CU_GRAPH_NODE_TYPE_MEMSET; }
    CUgraphNodeType operator()(const Copy&) const { return CU_GRAPH_NODE_TYPE_MEMCPY; }
    CUgraphNodeType operator()(const HostCall&) const { return CU_GRAPH_NODE_TYPE_HOST; }
    CUgraphNodeType operator()(const StreamCallback&) const { return CU_GRAPH_NODE_TYPE_HOST; }
    CUgraphNodeType operator()(const EventRecord&) const { return CU_GRAPH_NODE_TYPE_EVENT_RECORD; }
    CUgraphNodeType operator()(const EventWait&) const { return CU_GRAPH_NODE_TYPE_WAIT_EVENT; }
    CUgraphNodeType operator()(const ValueOperations&) const { return CU_GRAPH_NODE_TYPE_BATCH_MEM_OP; }
    CUgraphNodeType operator()(const MemoryBegin&) const { return CU_GRAPH_NODE_TYPE_MEM_ALLOC; }
    CUgraphNodeType operator()(const MemoryEnd&) const { return CU_GRAPH_NODE_TYPE_MEM_FREE; }
    CUgraphNodeType operator()(const ChildGraph&) const { return CU_GRAPH_NODE_TYPE_GRAPH; }
    CUgraphNodeType operator()(const std::shared_ptr<const GraphRun>&) const { return CU_GRAPH_NODE_TYPE_GRAPH; }
  };
  return std::visit(Visitor{}, work);
}

std::vector<std::shared_ptr<Node>> topological_order(const Graph& graph) {
  std::vector<std::shared_ptr<Node>> order;
  std::set<const Node*> placed;
  const auto ready = [&](const Node& node) {
    return std::all_of(node.dependencies.begin(), node.dependencies.end(),
                       [&](const Dependency& dependency) { return placed.contains(dependency.node.get()); });
  };
  std::vector<std::shared_ptr<Node>> waiting = graph.nodes;
  while (!waiting.empty()) {
    const size_t before = waiting.size();
    std::erase_if(waiting, [&](const std::shared_ptr<Node>& node) {
      if (!ready(*node)) return false;
      placed.insert(node.get());
      order.push_back(node);
      return true;
    });
    if (waiting.size() == before) return {};
  }
  return order;
}

std::shared_ptr<Node> node_in(CUgraphNode handle, const std::shared_ptr<Graph>& graph) {
  auto node = nodes().find(handle);
  return node != nullptr && node->graph.lock() == graph ? node : nullptr;
}

CUresult read_dependencies(const std::shared_ptr<Graph>& graph, const CUgraphNode* handles,
                           const CUgraphEdgeData* edges, size_t count, std::vector<Dependency>* dependencies) {
  if (count != 0 && handles == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::set<CUgraphNode> seen;
  for (size_t i = 0; i < count; ++i) {
    const auto node = node_in(handles[i], graph);
    if (node == nullptr || !seen.insert(handles[i]).second) return CUDA_ERROR_INVALID_VALUE;
    dependencies->push_back({node, edges != nullptr ? edges[i] : CUgraphEdgeData{}});
  }
  return CUDA_SUCCESS;
}

}  // namespace refrain::tests::simulated
