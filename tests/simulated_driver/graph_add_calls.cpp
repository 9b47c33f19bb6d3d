// cuGraphAdd*Node.
#include "tests/simulated_driver/context.h"
#include "tests/simulated_driver/copy.h"
#include "tests/simulated_driver/entry.h"
#include "tests/simulated_driver/event.h"
#include "tests/simulated_driver/graph.h"
#include "tests/simulated_driver/graph_nodes.h"

using namespace refrain::tests::simulated;

namespace {

/// Where a node is added.
struct Place {
  CUgraphNode* out;
  CUgraph graph;
  const CUgraphNode* dependencies;
  const CUgraphEdgeData* edges;
  size_t count;
};

CUresult add(const Place& place, Work work, const std::shared_ptr<Context>& context) {
  const std::lock_guard lock(graph_lock());
  const auto graph = graphs().find(place.graph);
  if (graph == nullptr || place.out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<Dependency> dependencies;
  if (const CUresult result = read_dependencies(graph, place.dependencies, place.edges, place.count, &dependencies);
      result != CUDA_SUCCESS) {
    return result;
  }
  *place.out = add_node(graph, std::move(dependencies), std::move(work), context)->handle;
  return CUDA_SUCCESS;
}

CUresult add_kernel(const Place& place, const CUDA_KERNEL_NODE_PARAMS& parameters) {
  KernelLaunch launch;
  std::shared_ptr<Context> context;
  if (const CUresult result = read_kernel(parameters, {}, &launch, &context); result != CUDA_SUCCESS) return result;
  return add(place, std::move(launch), context);
}

CUresult add_copy(const Place& place, const CUDA_MEMCPY3D* parameters, CUcontext handle) {
  Copy copy;
  std::shared_ptr<Context> context;
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = context_or_current(handle, &context); result != CUDA_SUCCESS) return result;
  if (const CUresult result = prepare_copy(*parameters, &copy); result != CUDA_SUCCESS) return result;
  if (copy.width == 0) return CUDA_ERROR_INVALID_VALUE;
  return add(place, std::move(copy), context);
}

CUresult add_fill(const Place& place, const CUDA_MEMSET_NODE_PARAMS* parameters, CUcontext handle) {
  Fill fill;
  std::shared_ptr<Context> context;
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = context_or_current(handle, &context); result != CUDA_SUCCESS) return result;
  if (const CUresult result = prepare_fill(*parameters, false, &fill); result != CUDA_SUCCESS) return result;
  if (fill.width == 0 || fill.height == 0) return CUDA_ERROR_INVALID_VALUE;
  return add(place, fill, context);
}

CUresult add_host(const Place& place, CUhostFn function, void* data) {
  std::shared_ptr<Context> context;
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = current_context(&context); result != CUDA_SUCCESS) return result;
  return add(place, HostCall{function, data}, context);
}

template <class Kind>
CUresult add_event(const Place& place, CUevent handle) {
  const auto event = events().find(handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return add(place, Kind{event, nullptr}, event->context);
}

CUresult add_child(const Place& place, CUgraph handle) {
  std::shared_ptr<Context> context;
  const auto child = graphs().find(handle);
  if (child == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = current_context(&context); result != CUDA_SUCCESS) return result;
  return add(place, ChildGraph{clone_graph(*child, true)}, context);
}

CUresult add_empty(const Place& place) { return add(place, Nothing{}, nullptr); }

CUresult add_any(const Place& place, const CUgraphNodeParams* p) {
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (static_cast<int>(p->type)) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return add_kernel(place, to_v2(p->kernel));
    case CU_GRAPH_NODE_TYPE_MEMCPY: return add_copy(place, &p->memcpy.copyParams, p->memcpy.copyCtx);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      const CUDA_MEMSET_NODE_PARAMS_v2& m = p->memset;
      const CUDA_MEMSET_NODE_PARAMS fill{m.dst, m.pitch, m.value, m.elementSize, m.width, m.height};
      return add_fill(place, &fill, m.ctx);
    }
    case CU_GRAPH_NODE_TYPE_HOST: return add_host(place, p->host.fn, p->host.userData);
    case CU_GRAPH_NODE_TYPE_GRAPH: return add_child(place, p->graph.graph);
    case CU_GRAPH_NODE_TYPE_EMPTY: return add_empty(place);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return add_event<EventWait>(place, p->eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return add_event<EventRecord>(place, p->eventRecord.event);
    default: return CUDA_ERROR_NOT_SUPPORTED;
  }
}

}  // namespace

SIM(cuGraphAddKernelNode)
(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, size_t count, const CUDA_KERNEL_NODE_PARAMS_v1* p) {
  return p != nullptr ? add_kernel({out, graph, after, nullptr, count}, to_v2(*p)) : CUDA_ERROR_INVALID_VALUE;
}
SIM(cuGraphAddKernelNode_v2)
(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, size_t count, const CUDA_KERNEL_NODE_PARAMS* p) {
  return p != nullptr ? add_kernel({out, graph, after, nullptr, count}, *p) : CUDA_ERROR_INVALID_VALUE;
}
SIM(cuGraphAddMemcpyNode)
(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, size_t count, const CUDA_MEMCPY3D* p, CUcontext context) {
  return add_copy({out, graph, after, nullptr, count}, p, context);
}
SIM(cuGraphAddMemsetNode)
(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, size_t count, const CUDA_MEMSET_NODE_PARAMS* p,
 CUcontext context) {
  return add_fill({out, graph, after, nullptr, count}, p, context);
}
SIM(cuGraphAddHostNode)
(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, size_t count, const CUDA_HOST_NODE_PARAMS* p) {
  return p != nullptr ? add_host({out, graph, after, nullptr, count}, p->fn, p->userData) : CUDA_ERROR_INVALID_VALUE;
}
SIM(cuGraphAddChildGraphNode)(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, size_t count, CUgraph child) {
  return add_child({out, graph, after, nullptr, count}, child);
}
SIM(cuGraphAddEmptyNode)(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, size_t count) {
  return add_empty({out, graph, after, nullptr, count});
}
SIM(cuGraphAddEventRecordNode)(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, size_t count, CUevent event) {
  return add_event<EventRecord>({out, graph, after, nullptr, count}, event);
}
SIM(cuGraphAddEventWaitNode)(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, size_t count, CUevent event) {
  return add_event<EventWait>({out, graph, after, nullptr, count}, event);
}
SIM(cuGraphAddNode)(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, size_t count, CUgraphNodeParams* p) {
  return add_any({out, graph, after, nullptr, count}, p);
}
SIM(cuGraphAddNode_v2)
(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, const CUgraphEdgeData* edges, size_t count,
 CUgraphNodeParams* p) {
  return add_any({out, graph, after, edges, count}, p);
}
SIM(cuGraphChildGraphNodeGetGraph)(CUgraphNode handle, CUgraph* out) {
  std::shared_ptr<Node> node;
  const std::lock_guard lock(graph_lock());
  const auto* child = work_of<ChildGraph>(handle, &node);
  if (child == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = child->graph->handle;
  return CUDA_SUCCESS;
}
