// Graphs and executable graphs.
//
// Owns:    a graph its nodes, a node what it depends on; an executable graph a copy of the work, made at instantiation.
// Threads: any; one lock guards all graphs and executable graphs. Nothing executes under it.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "tests/simulated_driver/handle_table.h"
#include "tests/simulated_driver/queue.h"
#include "tests/simulated_driver/stream.h"
#include "tests/simulated_driver/work.h"

namespace refrain::tests::simulated {

struct Node {
  CUgraphNode handle = nullptr;
  std::weak_ptr<Graph> graph;
  std::shared_ptr<Context> context;
  Work work;
  std::vector<Dependency> dependencies;
  // What the getter of parameters handed out.
  std::vector<void*> parameter_pointers;
  std::array<void*, 5> extra{};
  size_t packed_size = 0;
};

struct Graph {
  CUgraph handle = nullptr;
  std::vector<std::shared_ptr<Node>> nodes;  ///< in the order of creation
  std::weak_ptr<Graph> clone_of;
  std::map<CUgraphNode, CUgraphNode> from_original;  ///< of a clone
  bool child = false;                                ///< owned by a node
};

HandleTable<CUgraph, Graph>& graphs();
HandleTable<CUgraphNode, Node>& nodes();

std::recursive_mutex& graph_lock();

std::shared_ptr<Graph> create_graph();
std::shared_ptr<Node> add_node(const std::shared_ptr<Graph>& graph, std::vector<Dependency> dependencies, Work work,
                               const std::shared_ptr<Context>& context);
void destroy_graph(const std::shared_ptr<Graph>& graph);
std::shared_ptr<Graph> clone_graph(const Graph& graph, bool child);
void destroy_node(const std::shared_ptr<Node>& node);

CUgraphNodeType type_of(const Work& work);

/// The nodes so that each comes behind what it depends on, else in the order of creation. Empty when there is a cycle.
std::vector<std::shared_ptr<Node>> topological_order(const Graph& graph);

/// Node `handle` of `graph`, else null.
std::shared_ptr<Node> node_in(CUgraphNode handle, const std::shared_ptr<Graph>& graph);

/// Handles into dependencies of `graph`; INVALID_VALUE when one is no node of it.
CUresult read_dependencies(const std::shared_ptr<Graph>& graph, const CUgraphNode* handles,
                           const CUgraphEdgeData* edges, size_t count, std::vector<Dependency>* dependencies);

struct GraphExec {
  struct Slot {
    CUgraphNode node = nullptr;
    std::weak_ptr<Node> source;
    std::shared_ptr<Context> context;
    std::shared_ptr<const Work> work;
    std::vector<size_t> dependencies;  ///< slots
    bool enabled = true;
  };

  CUgraphExec handle = nullptr;
  std::vector<Slot> slots;  ///< in the order of execution, child graphs in their node's place
  uint64_t flags = 0;
  int device = 0;
  uint64_t memory = 0;  ///< charged to the device
  Point last_launch;
  ~GraphExec();
};

HandleTable<CUgraphExec, GraphExec>& graph_execs();

struct InstantiateResult {
  CUgraphInstantiateResult result = CUDA_GRAPH_INSTANTIATE_ERROR;
  CUgraphNode node = nullptr;
};
CUresult instantiate(CUgraph graph, uint64_t flags, CUgraphExec* out, InstantiateResult* details);

/// The slot of a node; null unless the node still exists and was part of the graph.
GraphExec::Slot* slot_of(GraphExec& exec, CUgraphNode node);

}  // namespace refrain::tests::simulated
