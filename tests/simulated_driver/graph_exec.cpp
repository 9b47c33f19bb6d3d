// Instantiation, launch and the update as a whole of executable graphs.
#include <algorithm>

#include "tests/simulated_driver/capture.h"
#include "tests/simulated_driver/context.h"
#include "tests/simulated_driver/entry.h"
#include "tests/simulated_driver/event.h"
#include "tests/simulated_driver/graph.h"
#include "tests/simulated_driver/launch.h"
#include "tests/simulated_driver/memory.h"
#include "tests/simulated_driver/module.h"

namespace refrain::tests::simulated {
namespace {

constexpr uint64_t known_flags = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
                                 CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH |
                                 CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;

/// Appends the nodes of `graph`; the slots of its last nodes go to `ends`.
CUresult flatten(const Graph& graph, const std::vector<size_t>& before, GraphExec* exec, std::vector<size_t>* ends) {
  const auto order = topological_order(graph);
  if (order.size() != graph.nodes.size()) return CUDA_ERROR_INVALID_VALUE;
  std::map<const Node*, std::vector<size_t>> places;  // where a node's work ends
  for (const auto& node : order) {
    std::vector<size_t> after;
    for (const Dependency& dependency : node->dependencies) {
      const auto& of = places[dependency.node.get()];
      after.insert(after.end(), of.begin(), of.end());
    }
    if (node->dependencies.empty()) after = before;
    if (const auto* child = std::get_if<ChildGraph>(&node->work); child != nullptr) {
      std::vector<size_t> inner;
      if (const CUresult result = flatten(*child->graph, after, exec, &inner); result != CUDA_SUCCESS) return result;
      places[node.get()] = inner.empty() ? after : inner;
      continue;
    }
    places[node.get()] = {exec->slots.size()};
    exec->slots.push_back({node->handle, node, node->context, std::make_shared<const Work>(node->work), after, true});
  }
  for (const auto& node : order) {
    const bool last = std::none_of(order.begin(), order.end(), [&](const auto& other) {
      return std::any_of(other->dependencies.begin(), other->dependencies.end(),
                         [&](const Dependency& dependency) { return dependency.node == node; });
    });
    if (!last || ends == nullptr) continue;
    const auto& of = places[node.get()];
    ends->insert(ends->end(), of.begin(), of.end());
  }
  return CUDA_SUCCESS;
}

bool cooperative(const KernelLaunch& launch) {
  return std::any_of(launch.attributes.begin(), launch.attributes.end(), [](const CUlaunchAttribute& attribute) {
    return attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE && attribute.value.cooperative != 0;
  });
}

/// Whether the work of one node may become that of another in an executable graph.
CUgraphExecUpdateResult comparable(const Work& before, const Work& after) {
  if (type_of(before) != type_of(after)) return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
  if (const auto* old_launch = std::get_if<KernelLaunch>(&before); old_launch != nullptr) {
    const auto& launch = std::get<KernelLaunch>(after);
    if (cooperative(launch) != cooperative(*old_launch)) return CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED;
  }
  if (const auto* old_fill = std::get_if<Fill>(&before); old_fill != nullptr) {
    const auto& fill = std::get<Fill>(after);
    if ((old_fill->height > 1) != (fill.height > 1)) return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
  }
  return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

}  // namespace

HandleTable<CUgraphExec, GraphExec>& graph_execs() {
  static auto* const table = new HandleTable<CUgraphExec, GraphExec>;
  return *table;
}

GraphExec::~GraphExec() { refund(device, memory); }

CUresult instantiate(CUgraph handle, uint64_t flags, CUgraphExec* out, InstantiateResult* details) {
  const auto graph = graphs().find(handle);
  if (graph == nullptr || out == nullptr || (flags & ~known_flags) != 0) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(&context); result != CUDA_SUCCESS) return result;
  // The lock of captures comes before that of graphs: a captured call takes both.
  if (const CUresult result = forbid_unsafe_call(); result != CUDA_SUCCESS) return result;
  const std::lock_guard lock(graph_lock());
  auto exec = std::make_shared<GraphExec>();
  exec->flags = flags;
  exec->device = context->device;
  if (const CUresult result = flatten(*graph, {}, exec.get(), nullptr); result != CUDA_SUCCESS) {
    details->result = CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
    return result;
  }
  uint64_t memory = 0;
  for (const GraphExec::Slot& slot : exec->slots) {
    if (const auto* fill = std::get_if<Fill>(slot.work.get());
        fill != nullptr && !known_to_calls(fill->destination, 1)) {
      details->node = slot.node;
      return CUDA_ERROR_INVALID_VALUE;  // captured with an address that is none
    }
    const auto* launch = std::get_if<KernelLaunch>(slot.work.get());
    if (launch == nullptr) continue;
    memory += options().graph_node_bytes;
    if (!launch->code->unloaded->load()) continue;
    details->node = slot.node;
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (!charge(exec->device, memory)) return CUDA_ERROR_OUT_OF_MEMORY;
  exec->memory = memory;
  *out = graph_execs().add(exec);
  details->result = CUDA_GRAPH_INSTANTIATE_SUCCESS;
  return CUDA_SUCCESS;
}

GraphExec::Slot* slot_of(GraphExec& exec, CUgraphNode handle) {
  const auto node = nodes().find(handle);
  if (node == nullptr) return nullptr;
  for (GraphExec::Slot& slot : exec.slots) {
    if (slot.node == handle && slot.source.lock() == node) return &slot;
  }
  return nullptr;
}

}  // namespace refrain::tests::simulated

using namespace refrain::tests::simulated;

namespace {

/// The work of one launch: events get their record of this launch.
std::shared_ptr<const GraphRun> make_run(const GraphExec& exec) {
  auto run = std::make_shared<GraphRun>();
  run->steps.reserve(exec.slots.size());
  for (const GraphExec::Slot& slot : exec.slots) {
    if (!slot.enabled) continue;
    if (const auto* record = std::get_if<EventRecord>(slot.work.get()); record != nullptr) {
      run->steps.push_back(std::make_shared<const Work>(EventRecord{record->event, record->event->begin_record()}));
    } else if (const auto* wait = std::get_if<EventWait>(slot.work.get()); wait != nullptr) {
      run->steps.push_back(std::make_shared<const Work>(EventWait{wait->event, wait->event->newest()}));
    } else {
      run->steps.push_back(slot.work);
    }
  }
  return run;
}

CUresult update(CUgraphExec exec_handle, CUgraph graph_handle, CUgraphExecUpdateResultInfo* info) {
  info->result = CU_GRAPH_EXEC_UPDATE_ERROR;
  const auto exec = graph_execs().find(exec_handle);
  const auto graph = graphs().find(graph_handle);
  if (exec == nullptr || graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUgraphExec fresh_handle = nullptr;
  InstantiateResult details;
  if (const CUresult result = instantiate(graph_handle, exec->flags, &fresh_handle, &details); result != CUDA_SUCCESS)
    return result;
  const std::lock_guard lock(graph_lock());
  const auto fresh = graph_execs().remove(fresh_handle);
  const auto fail = [&](CUgraphExecUpdateResult result, CUgraphNode node) {
    info->result = result;
    info->errorNode = node;
    return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  };
  if (fresh->slots.size() != exec->slots.size()) return fail(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, nullptr);
  for (size_t i = 0; i < exec->slots.size(); ++i) {
    const GraphExec::Slot& after = fresh->slots[i];
    const CUgraphExecUpdateResult same = comparable(*exec->slots[i].work, *after.work);
    if (same != CU_GRAPH_EXEC_UPDATE_SUCCESS) return fail(same, after.node);
    if (after.dependencies != exec->slots[i].dependencies)
      return fail(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, after.node);
    if (after.context != exec->slots[i].context)
      return fail(CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE, after.node);
  }
  for (size_t i = 0; i < exec->slots.size(); ++i) exec->slots[i].work = fresh->slots[i].work;
  info->result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
  return CUDA_SUCCESS;
}

}  // namespace

SIM(cuGraphInstantiateWithFlags)(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
  InstantiateResult details;
  return instantiate(graph, flags, exec, &details);
}
SIM(cuGraphInstantiateWithParams)(CUgraphExec* exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  InstantiateResult details;
  const CUresult result = instantiate(graph, parameters->flags, exec, &details);
  parameters->result_out = details.result;
  parameters->hErrNode_out = details.node;
  return result;
}
SIM(cuGraphInstantiate)(CUgraphExec* exec, CUgraph graph, CUgraphNode* node, char* log, size_t size) {
  InstantiateResult details;
  const CUresult result = instantiate(graph, 0, exec, &details);
  if (node != nullptr) *node = details.node;
  if (log != nullptr && size != 0) *log = 0;
  return result;
}
SIM(cuGraphInstantiate_v2)(CUgraphExec* exec, CUgraph graph, CUgraphNode* node, char* log, size_t size) {
  return sim_cuGraphInstantiate(exec, graph, node, log, size);
}
SIM(cuGraphExecDestroy)(CUgraphExec handle) {
  if (const CUresult result = forbid_unsafe_call(); result != CUDA_SUCCESS) return result;
  return graph_execs().remove(handle) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
SIM(cuGraphExecGetFlags)(CUgraphExec handle, cuuint64_t* flags) {
  const auto exec = graph_execs().find(handle);
  if (exec == nullptr || flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  // The first is documented not to be told, the second was seen not to be on driver 580.
  *flags = exec->flags & ~uint64_t{CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY};
  return CUDA_SUCCESS;
}
SIM(cuGraphUpload)(CUgraphExec handle, CUstream stream_handle) {
  std::shared_ptr<Stream> stream;
  if (const CUresult result = find_stream(stream_handle, &stream); result != CUDA_SUCCESS) return result;
  if (graph_execs().find(handle) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (stream->capturing.load()) return refuse_in_capture(*stream);
  return check_legacy_use(*stream);
}
SIM(cuGraphLaunch)(CUgraphExec handle, CUstream stream_handle) {
  const HostCost cost(options().graph_launch_cost_ns);
  std::shared_ptr<Stream> stream;
  if (const CUresult result = find_stream(stream_handle, &stream); result != CUDA_SUCCESS) return result;
  const auto exec = graph_execs().find(handle);
  if (exec == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (stream->capturing.load()) return refuse_in_capture(*stream);
  if (const CUresult result = check_legacy_use(*stream); result != CUDA_SUCCESS) return result;
  stream->queue->wait_for_room();  // not under the lock
  const std::lock_guard lock(graph_lock());
  std::vector<Point> after;
  if (!exec->last_launch.reached()) after.push_back(exec->last_launch);
  return submit(*stream, make_run(*exec), &exec->last_launch, std::move(after));
}
SIM(cuGraphExecUpdate_v2)(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* info) {
  if (info == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *info = {};
  return update(exec, graph, info);
}
SIM(cuGraphExecUpdate)(CUgraphExec exec, CUgraph graph, CUgraphNode* node, CUgraphExecUpdateResult* result_out) {
  CUgraphExecUpdateResultInfo info{};
  const CUresult result = update(exec, graph, &info);
  if (node != nullptr) *node = info.errorNode;
  if (result_out != nullptr) *result_out = info.result;
  return result;
}
