// Nodes other than kernels: reading and writing what they do, in a graph and in an executable graph.
#include "tests/simulated_driver/context.h"
#include "tests/simulated_driver/copy.h"
#include "tests/simulated_driver/entry.h"
#include "tests/simulated_driver/event.h"
#include "tests/simulated_driver/graph.h"
#include "tests/simulated_driver/graph_nodes.h"

using namespace refrain::tests::simulated;

namespace {

CUresult update_copy(CUgraphExec exec_handle, CUgraphNode node, const CUDA_MEMCPY3D* p, CUcontext handle) {
  const HostCost cost(options().node_update_cost_ns);
  const std::lock_guard lock(graph_lock());
  GraphExec::Slot* slot = nullptr;
  const Copy* before = nullptr;
  std::shared_ptr<GraphExec> exec;
  std::shared_ptr<Context> context;
  Copy copy;
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = find_slot(exec_handle, node, &slot, &before, &exec); result != CUDA_SUCCESS)
    return result;
  if (const CUresult result = context_or_current(handle, &context); result != CUDA_SUCCESS) return result;
  if (const CUresult result = prepare_copy(*p, &copy); result != CUDA_SUCCESS) return result;
  if (copy.width == 0) return CUDA_ERROR_INVALID_VALUE;
  const auto straight = [](const Copy& c) { return c.height <= 1 && c.depth <= 1; };
  if (context != slot->context || !straight(*before) || !straight(copy)) return CUDA_ERROR_INVALID_VALUE;
  if (copy.descriptor.srcMemoryType != before->descriptor.srcMemoryType ||
      copy.descriptor.dstMemoryType != before->descriptor.dstMemoryType) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  slot->work = std::make_shared<const Work>(std::move(copy));
  return CUDA_SUCCESS;
}

CUresult update_fill(CUgraphExec exec_handle, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* p, CUcontext handle) {
  const HostCost cost(options().node_update_cost_ns);
  const std::lock_guard lock(graph_lock());
  GraphExec::Slot* slot = nullptr;
  const Fill* before = nullptr;
  std::shared_ptr<GraphExec> exec;
  std::shared_ptr<Context> context;
  Fill fill;
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = find_slot(exec_handle, node, &slot, &before, &exec); result != CUDA_SUCCESS)
    return result;
  if (const CUresult result = context_or_current(handle, &context); result != CUDA_SUCCESS) return result;
  if (const CUresult result = prepare_fill(*p, false, &fill); result != CUDA_SUCCESS) return result;
  if (fill.width == 0 || fill.height == 0) return CUDA_ERROR_INVALID_VALUE;
  if (context != slot->context || before->height > 1 || fill.height > 1) return CUDA_ERROR_INVALID_VALUE;
  slot->work = std::make_shared<const Work>(fill);
  return CUDA_SUCCESS;
}

CUresult update_host(CUgraphExec exec_handle, CUgraphNode node, CUhostFn function, void* data) {
  const std::lock_guard lock(graph_lock());
  GraphExec::Slot* slot = nullptr;
  const HostCall* before = nullptr;
  std::shared_ptr<GraphExec> exec;
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = find_slot(exec_handle, node, &slot, &before, &exec); result != CUDA_SUCCESS)
    return result;
  slot->work = std::make_shared<const Work>(HostCall{function, data});
  return CUDA_SUCCESS;
}

template <class Kind>
CUresult update_event(CUgraphExec exec_handle, CUgraphNode node, CUevent event_handle) {
  const std::lock_guard lock(graph_lock());
  GraphExec::Slot* slot = nullptr;
  const Kind* before = nullptr;
  std::shared_ptr<GraphExec> exec;
  if (const CUresult result = find_slot(exec_handle, node, &slot, &before, &exec); result != CUDA_SUCCESS)
    return result;
  const auto event = events().find(event_handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  slot->work = std::make_shared<const Work>(Kind{event, nullptr});
  return CUDA_SUCCESS;
}

template <class Kind>
CUresult get_event(CUgraphNode handle, CUevent* out) {
  const std::lock_guard lock(graph_lock());
  std::shared_ptr<Node> node;
  const auto* work = work_of<Kind>(handle, &node);
  if (work == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = work->event->handle;
  return CUDA_SUCCESS;
}

template <class Kind>
CUresult set_event(CUgraphNode handle, CUevent event_handle) {
  const std::lock_guard lock(graph_lock());
  std::shared_ptr<Node> node;
  auto* work = work_of<Kind>(handle, &node);
  if (work == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto event = events().find(event_handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  work->event = event;
  return CUDA_SUCCESS;
}

CUresult update_any(CUgraphExec exec, CUgraphNode node, const CUgraphNodeParams* p) {
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (static_cast<int>(p->type)) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      const CUDA_KERNEL_NODE_PARAMS kernel = to_v2(p->kernel);
      return sim_cuGraphExecKernelNodeSetParams_v2(exec, node, &kernel);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY: return update_copy(exec, node, &p->memcpy.copyParams, p->memcpy.copyCtx);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      const CUDA_MEMSET_NODE_PARAMS_v2& m = p->memset;
      const CUDA_MEMSET_NODE_PARAMS fill{m.dst, m.pitch, m.value, m.elementSize, m.width, m.height};
      return update_fill(exec, node, &fill, m.ctx);
    }
    case CU_GRAPH_NODE_TYPE_HOST: return update_host(exec, node, p->host.fn, p->host.userData);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return update_event<EventWait>(exec, node, p->eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return update_event<EventRecord>(exec, node, p->eventRecord.event);
    default: return CUDA_ERROR_NOT_SUPPORTED;
  }
}

}  // namespace

SIM(cuGraphMemcpyNodeGetParams)(CUgraphNode handle, CUDA_MEMCPY3D* out) {
  const std::lock_guard lock(graph_lock());
  std::shared_ptr<Node> node;
  const auto* copy = work_of<Copy>(handle, &node);
  if (copy == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = copy->descriptor;
  return CUDA_SUCCESS;
}
SIM(cuGraphMemcpyNodeSetParams)(CUgraphNode handle, const CUDA_MEMCPY3D* p) {
  const std::lock_guard lock(graph_lock());
  std::shared_ptr<Node> node;
  auto* copy = work_of<Copy>(handle, &node);
  Copy fresh;
  if (copy == nullptr || p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = prepare_copy(*p, &fresh); result != CUDA_SUCCESS) return result;
  *copy = std::move(fresh);
  return CUDA_SUCCESS;
}
SIM(cuGraphExecMemcpyNodeSetParams)(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D* p, CUcontext context) {
  return update_copy(exec, node, p, context);
}
SIM(cuGraphMemsetNodeGetParams)(CUgraphNode handle, CUDA_MEMSET_NODE_PARAMS* out) {
  const std::lock_guard lock(graph_lock());
  std::shared_ptr<Node> node;
  const auto* fill = work_of<Fill>(handle, &node);
  if (fill == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = {fill->destination, fill->pitch, fill->value, fill->element, fill->width, fill->height};
  return CUDA_SUCCESS;
}
SIM(cuGraphMemsetNodeSetParams)(CUgraphNode handle, const CUDA_MEMSET_NODE_PARAMS* p) {
  const std::lock_guard lock(graph_lock());
  std::shared_ptr<Node> node;
  auto* fill = work_of<Fill>(handle, &node);
  return fill != nullptr && p != nullptr ? prepare_fill(*p, false, fill) : CUDA_ERROR_INVALID_VALUE;
}
SIM(cuGraphExecMemsetNodeSetParams)
(CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* p, CUcontext context) {
  return update_fill(exec, node, p, context);
}
SIM(cuGraphHostNodeGetParams)(CUgraphNode handle, CUDA_HOST_NODE_PARAMS* out) {
  const std::lock_guard lock(graph_lock());
  std::shared_ptr<Node> node;
  const auto* host = work_of<HostCall>(handle, &node);
  if (host == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = {host->function, host->data};
  return CUDA_SUCCESS;
}
SIM(cuGraphHostNodeSetParams)(CUgraphNode handle, const CUDA_HOST_NODE_PARAMS* p) {
  const std::lock_guard lock(graph_lock());
  std::shared_ptr<Node> node;
  auto* host = work_of<HostCall>(handle, &node);
  if (host == nullptr || p == nullptr || p->fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *host = {p->fn, p->userData};
  return CUDA_SUCCESS;
}
SIM(cuGraphExecHostNodeSetParams)(CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS* p) {
  return p != nullptr ? update_host(exec, node, p->fn, p->userData) : CUDA_ERROR_INVALID_VALUE;
}
SIM(cuGraphEventRecordNodeGetEvent)(CUgraphNode node, CUevent* event) { return get_event<EventRecord>(node, event); }
SIM(cuGraphEventRecordNodeSetEvent)(CUgraphNode node, CUevent event) { return set_event<EventRecord>(node, event); }
SIM(cuGraphEventWaitNodeGetEvent)(CUgraphNode node, CUevent* event) { return get_event<EventWait>(node, event); }
SIM(cuGraphEventWaitNodeSetEvent)(CUgraphNode node, CUevent event) { return set_event<EventWait>(node, event); }
SIM(cuGraphExecEventRecordNodeSetEvent)(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return update_event<EventRecord>(exec, node, event);
}
SIM(cuGraphExecEventWaitNodeSetEvent)(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return update_event<EventWait>(exec, node, event);
}
SIM(cuGraphExecNodeSetParams)(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams* p) {
  return update_any(exec, node, p);
}
SIM(cuGraphNodeSetEnabled)(CUgraphExec exec_handle, CUgraphNode handle, unsigned enabled) {
  const std::lock_guard lock(graph_lock());
  const auto exec = graph_execs().find(exec_handle);
  auto* slot = exec != nullptr ? slot_of(*exec, handle) : nullptr;
  if (slot == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUgraphNodeType type = type_of(*slot->work);
  if (type != CU_GRAPH_NODE_TYPE_KERNEL && type != CU_GRAPH_NODE_TYPE_MEMSET && type != CU_GRAPH_NODE_TYPE_MEMCPY) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  slot->enabled = enabled != 0;
  return CUDA_SUCCESS;
}
SIM(cuGraphNodeGetEnabled)(CUgraphExec exec_handle, CUgraphNode handle, unsigned* enabled) {
  const std::lock_guard lock(graph_lock());
  const auto exec = graph_execs().find(exec_handle);
  const auto* slot = exec != nullptr ? slot_of(*exec, handle) : nullptr;
  if (slot == nullptr || enabled == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *enabled = slot->enabled;
  return CUDA_SUCCESS;
}
