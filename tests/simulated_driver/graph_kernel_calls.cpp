// Kernel nodes: reading and writing what they do and their attributes, in a graph and in an executable graph.
#include <algorithm>
#include <cstring>

#include "tests/simulated_driver/entry.h"
#include "tests/simulated_driver/graph_nodes.h"

namespace refrain::tests::simulated {

CUDA_KERNEL_NODE_PARAMS to_v2(const CUDA_KERNEL_NODE_PARAMS_v1& old) {
  CUDA_KERNEL_NODE_PARAMS p{};
  std::memcpy(&p, &old, sizeof old);
  return p;
}

CUDA_KERNEL_NODE_PARAMS to_v2(const CUDA_KERNEL_NODE_PARAMS_v3& v3) {
  CUDA_KERNEL_NODE_PARAMS p{};
  std::memcpy(&p, &v3, std::min(sizeof p, sizeof v3));
  return p;
}

CUresult read_kernel(const CUDA_KERNEL_NODE_PARAMS& p, const std::vector<CUlaunchAttribute>& attributes,
                     KernelLaunch* launch, std::shared_ptr<Context>* context) {
  // Unlike a launch, a node takes a kernel by its own member only.
  const CUfunction function = p.func != nullptr ? p.func : reinterpret_cast<CUfunction>(p.kern);
  if (p.func != nullptr) {
    const auto found = functions().find(p.func);
    if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    *context = found->context;
  } else {
    if (kernels().find(p.kern) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (const CUresult result = context_or_current(p.ctx, context); result != CUDA_SUCCESS) return result;
  }
  return prepare_launch({function,
                         {p.gridDimX, p.gridDimY, p.gridDimZ},
                         {p.blockDimX, p.blockDimY, p.blockDimZ},
                         p.sharedMemBytes,
                         attributes.data(),
                         static_cast<unsigned>(attributes.size()),
                         p.kernelParams,
                         p.extra},
                        *context, true, launch);
}

}  // namespace refrain::tests::simulated

using namespace refrain::tests::simulated;

namespace {

/// Function and, if the node was made with one, kernel.
CUresult name_function(const KernelLaunch& launch, const std::shared_ptr<Context>& context,
                       CUDA_KERNEL_NODE_PARAMS* p) {
  const auto kernel = kernels().find(reinterpret_cast<CUkernel>(launch.function));
  p->func = launch.function;
  if (kernel == nullptr) return CUDA_SUCCESS;
  const auto library = kernel->library.lock();
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  std::shared_ptr<Module> module;
  if (const CUresult result = module_of_library(library, context, &module); result != CUDA_SUCCESS) return result;
  p->kern = kernel->handle;
  p->func = module->functions.at(kernel->code->entry.name)->handle;
  return CUDA_SUCCESS;
}

CUresult get_kernel(CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS* p) {
  const std::lock_guard lock(graph_lock());
  std::shared_ptr<Node> node;
  auto* launch = work_of<KernelLaunch>(handle, &node);
  if (launch == nullptr || p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  node->parameter_pointers.clear();
  for (const ParameterPlace& place : launch->code->entry.parameters) {
    node->parameter_pointers.push_back(launch->parameters.data() + place.offset);
  }
  *p = {};
  if (const CUresult result = name_function(*launch, node->context, p); result != CUDA_SUCCESS) return result;
  p->ctx = node->context->handle;
  p->gridDimX = launch->grid.x;
  p->gridDimY = launch->grid.y;
  p->gridDimZ = launch->grid.z;
  p->blockDimX = launch->block.x;
  p->blockDimY = launch->block.y;
  p->blockDimZ = launch->block.z;
  p->sharedMemBytes = launch->dynamic_shared;
  // The node remembers in which form its parameters came.
  if (launch->packed) {
    node->packed_size = launch->code->entry.parameter_bytes;
    node->extra = {CU_LAUNCH_PARAM_BUFFER_POINTER, launch->parameters.data(), CU_LAUNCH_PARAM_BUFFER_SIZE,
                   &node->packed_size, CU_LAUNCH_PARAM_END};
    p->extra = node->extra.data();
  } else if (!node->parameter_pointers.empty()) {
    p->kernelParams = node->parameter_pointers.data();
  }
  return CUDA_SUCCESS;
}

CUresult set_kernel(CUgraphNode handle, const CUDA_KERNEL_NODE_PARAMS& p) {
  const std::lock_guard lock(graph_lock());
  std::shared_ptr<Node> node;
  const auto* before = work_of<KernelLaunch>(handle, &node);
  if (before == nullptr) return CUDA_ERROR_INVALID_VALUE;
  KernelLaunch launch;
  std::shared_ptr<Context> context;
  if (const CUresult result = read_kernel(p, before->attributes, &launch, &context); result != CUDA_SUCCESS)
    return result;
  if (context != node->context) return CUDA_ERROR_INVALID_VALUE;
  node->work = std::move(launch);
  return CUDA_SUCCESS;
}

CUresult update_kernel(CUgraphExec exec_handle, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS& p) {
  const HostCost cost(options().node_update_cost_ns);
  const std::lock_guard lock(graph_lock());
  GraphExec::Slot* slot = nullptr;
  const KernelLaunch* before = nullptr;
  std::shared_ptr<GraphExec> exec;
  if (const CUresult result = find_slot(exec_handle, node, &slot, &before, &exec); result != CUDA_SUCCESS)
    return result;
  KernelLaunch launch;
  std::shared_ptr<Context> context;
  if (const CUresult result = read_kernel(p, before->attributes, &launch, &context); result != CUDA_SUCCESS)
    return result;
  if (context != slot->context) return CUDA_ERROR_INVALID_VALUE;
  slot->work = std::make_shared<const Work>(std::move(launch));
  return CUDA_SUCCESS;
}

bool node_attribute(CUkernelNodeAttrID id) {
  switch (static_cast<int>(id)) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: return true;
    default: return false;
  }
}

}  // namespace

SIM(cuGraphKernelNodeGetParams)(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1* out) {
  CUDA_KERNEL_NODE_PARAMS p{};
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = get_kernel(node, &p); result != CUDA_SUCCESS) return result;
  std::memcpy(out, &p, sizeof *out);
  return CUDA_SUCCESS;
}
SIM(cuGraphKernelNodeGetParams_v2)(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* out) { return get_kernel(node, out); }
SIM(cuGraphKernelNodeSetParams)(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* p) {
  return p != nullptr ? set_kernel(node, to_v2(*p)) : CUDA_ERROR_INVALID_VALUE;
}
SIM(cuGraphKernelNodeSetParams_v2)(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* p) {
  return p != nullptr ? set_kernel(node, *p) : CUDA_ERROR_INVALID_VALUE;
}
SIM(cuGraphExecKernelNodeSetParams)(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* p) {
  return p != nullptr ? update_kernel(exec, node, to_v2(*p)) : CUDA_ERROR_INVALID_VALUE;
}
SIM(cuGraphExecKernelNodeSetParams_v2)(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* p) {
  return p != nullptr ? update_kernel(exec, node, *p) : CUDA_ERROR_INVALID_VALUE;
}
SIM(cuGraphKernelNodeGetAttribute)(CUgraphNode handle, CUkernelNodeAttrID id, CUkernelNodeAttrValue* value) {
  const std::lock_guard lock(graph_lock());
  std::shared_ptr<Node> node;
  const auto* launch = work_of<KernelLaunch>(handle, &node);
  if (launch == nullptr || value == nullptr || !node_attribute(id)) return CUDA_ERROR_INVALID_VALUE;
  *value = {};
  if (id == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP) value->memSyncDomainMap = {0, 1};
  for (const CUlaunchAttribute& attribute : launch->attributes) {
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION &&
        id == CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE) {
      value->clusterSchedulingPolicyPreference =
          CU_CLUSTER_SCHEDULING_POLICY_SPREAD;  // what a launch with clusters gets
    }
  }
  for (const CUlaunchAttribute& attribute : launch->attributes) {
    if (attribute.id == id) *value = attribute.value;
  }
  return CUDA_SUCCESS;
}
SIM(cuGraphKernelNodeSetAttribute)(CUgraphNode handle, CUkernelNodeAttrID id, const CUkernelNodeAttrValue* value) {
  const std::lock_guard lock(graph_lock());
  std::shared_ptr<Node> node;
  auto* launch = work_of<KernelLaunch>(handle, &node);
  if (launch == nullptr || value == nullptr || !node_attribute(id)) return CUDA_ERROR_INVALID_VALUE;
  std::erase_if(launch->attributes, [&](const CUlaunchAttribute& attribute) { return attribute.id == id; });
  CUlaunchAttribute attribute{};
  attribute.id = id;
  attribute.value = *value;
  launch->attributes.push_back(attribute);
  return CUDA_SUCCESS;
}
SIM(cuGraphKernelNodeCopyAttributes)(CUgraphNode to_handle, CUgraphNode from_handle) {
  const std::lock_guard lock(graph_lock());
  std::shared_ptr<Node> to_node, from_node;
  auto* to = work_of<KernelLaunch>(to_handle, &to_node);
  const auto* from = work_of<KernelLaunch>(from_handle, &from_node);
  if (to == nullptr || from == nullptr) return CUDA_ERROR_INVALID_VALUE;
  to->attributes = from->attributes;
  return CUDA_SUCCESS;
}
