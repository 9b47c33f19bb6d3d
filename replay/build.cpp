#include "replay/build.h"

#include <algorithm>
#include <cstring>

#include "replay/attributes.h"

namespace refrain::replay {
namespace {

// What a launch takes from its stream unless it says otherwise itself (cuda.h, CUlaunchAttributeID).
constexpr CUlaunchAttributeID inherited[] = {CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, CU_LAUNCH_ATTRIBUTE_PRIORITY,
                                             CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP,
                                             CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN};

// A value that a launch has anyhow.
bool is_default(CUlaunchAttributeID id, const CUlaunchAttributeValue& value) noexcept {
  if (id == CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW) return value.accessPolicyWindow.num_bytes == 0;
  if (id == CU_LAUNCH_ATTRIBUTE_PRIORITY) return value.priority == 0;
  if (id == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN) return value.memSyncDomain == CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT;
  return value.memSyncDomainMap.default_ == 0 && value.memSyncDomainMap.remote == 1;
}

CUresult inherit(const Driver& driver, CUgraphNode node, CUstream stream) noexcept {
  if (driver.cuStreamGetAttribute == nullptr) return CUDA_SUCCESS;
  for (const CUlaunchAttributeID id : inherited) {
    CUlaunchAttributeValue value{};
    // A stream that does not know the attribute has none to give.
    if (driver.cuStreamGetAttribute(stream, id, &value) != CUDA_SUCCESS || is_default(id, value)) continue;
    const CUresult result = driver.cuGraphKernelNodeSetAttribute(node, id, &value);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

CUresult set_attributes(const Driver& driver, const Variant& variant, const capture::Operation& operation,
                        CUgraphNode node) noexcept {
  const CUstream stream = variant.role_streams[operation.role];
  CUresult result = stream != nullptr && stream != ended_stream ? inherit(driver, node, stream) : CUDA_SUCCESS;
  for (const capture::Attribute& attribute : variant.sequence.attributes_of(operation)) {
    if (result != CUDA_SUCCESS) break;
    const auto id = static_cast<CUlaunchAttributeID>(attribute.id);
    // In a graph it is a property of the edge to the node.
    if (id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) continue;
    CUlaunchAttributeValue value{};
    std::memcpy(&value, attribute.value.data(), attribute.size);
    result = driver.cuGraphKernelNodeSetAttribute(node, id, &value);
  }
  return result;
}

// The kernel may begin before the kernel before it has ended: in a graph, as in a capture of both launches, that is an
// edge of another type. Where a driver refuses such edges, a full one is always right.
bool may_begin_early(const Variant& variant, const Segment& segment, std::uint32_t index) noexcept {
  const capture::Sequence& sequence = variant.sequence;
  if (index == segment.first || sequence.operations[index].kind != capture::OperationKind::kernel) return false;
  if (sequence.operations[index - 1].kind != capture::OperationKind::kernel) return false;
  const auto attributes = sequence.attributes_of(sequence.operations[index]);
  return std::any_of(attributes.begin(), attributes.end(), [](const capture::Attribute& attribute) {
    return attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  });
}

CUresult add_early_edge(const Driver& driver, CUgraph graph, const CUgraphNode& from, const CUgraphNode& to) noexcept {
  CUgraphEdgeData edge{};
  edge.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
  edge.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  const CUresult result = driver.cuGraphAddDependencies_v2(graph, &from, &to, &edge, 1);
  return result == CUDA_SUCCESS ? result : driver.cuGraphAddDependencies_v2(graph, &from, &to, nullptr, 1);
}

CUresult add_node(const Driver& driver, Variant& variant, Segment& segment, std::uint32_t index) noexcept {
  const capture::Operation& operation = variant.sequence.operations[index];
  CUgraphNode* node = &variant.nodes[index].node;
  const bool early = driver.cuGraphAddDependencies_v2 != nullptr && may_begin_early(variant, segment, index);
  const CUgraphNode* before = index != segment.first && !early ? &variant.nodes[index - 1].node : nullptr;
  const std::size_t count = before != nullptr ? 1 : 0;
  switch (operation.kind) {
    case capture::OperationKind::kernel: {
      ParameterPointers parameters;
      const CUDA_KERNEL_NODE_PARAMS values = kernel_values(variant.sequence, operation, segment.context, parameters);
      CUresult result = driver.cuGraphAddKernelNode_v2(node, segment.graph, before, count, &values);
      if (result == CUDA_SUCCESS && early)
        result = add_early_edge(driver, segment.graph, variant.nodes[index - 1].node, *node);
      return result == CUDA_SUCCESS ? set_attributes(driver, variant, operation, *node) : result;
    }
    case capture::OperationKind::memset: {
      const CUDA_MEMSET_NODE_PARAMS values = memset_values(variant.sequence, operation);
      return driver.cuGraphAddMemsetNode(node, segment.graph, before, count, &values, segment.context);
    }
    case capture::OperationKind::copy: {
      const CUDA_MEMCPY3D values = copy_values(variant.sequence, operation);
      return driver.cuGraphAddMemcpyNode(node, segment.graph, before, count, &values, segment.context);
    }
  }
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace

CUDA_KERNEL_NODE_PARAMS kernel_values(capture::Sequence& sequence, const capture::Operation& operation,
                                      CUcontext context, ParameterPointers& parameters) noexcept {
  parameters.point(operation.function->layout, sequence.bytes_of(operation));
  CUDA_KERNEL_NODE_PARAMS values{};
  // A kernel needs its context beside it; a function has one.
  if (operation.function->is_kernel_handle) {
    values.kern = reinterpret_cast<CUkernel>(operation.function->handle);
    values.ctx = context;
  } else {
    values.func = reinterpret_cast<CUfunction>(operation.function->handle);
  }
  values.gridDimX = operation.grid.x;
  values.gridDimY = operation.grid.y;
  values.gridDimZ = operation.grid.z;
  values.blockDimX = operation.block.x;
  values.blockDimY = operation.block.y;
  values.blockDimZ = operation.block.z;
  values.sharedMemBytes = operation.shared;
  values.kernelParams = parameters.pointers;
  return values;
}

CUDA_MEMSET_NODE_PARAMS memset_values(const capture::Sequence& sequence, const capture::Operation& operation) noexcept {
  capture::MemsetBytes memset;
  std::memcpy(&memset, sequence.bytes_of(operation), sizeof memset);
  CUDA_MEMSET_NODE_PARAMS values{};
  values.dst = memset.destination;
  values.pitch = memset.pitch;
  values.value = memset.value;
  values.elementSize = memset.element_size;
  values.width = memset.width;
  values.height = memset.height;
  return values;
}

CUDA_MEMCPY3D copy_values(const capture::Sequence& sequence, const capture::Operation& operation) noexcept {
  capture::CopyBytes copy;
  std::memcpy(&copy, sequence.bytes_of(operation), sizeof copy);
  CUDA_MEMCPY3D values{};
  values.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  values.srcDevice = copy.source;
  values.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  values.dstDevice = copy.destination;
  values.WidthInBytes = copy.bytes;
  values.Height = 1;
  values.Depth = 1;
  return values;
}

CUresult build_graph(const Driver& driver, Variant& variant, Segment& segment) noexcept {
  segment.context = variant.role_contexts[segment.role];
  const CurrentContext current(driver, segment.context);
  const RelaxedCaptureMode relaxed(driver);
  CUresult result = driver.cuGraphCreate(&segment.graph, 0);
  if (result != CUDA_SUCCESS) {
    segment.graph = nullptr;
    return result;
  }
  for (std::uint32_t index = segment.first; result == CUDA_SUCCESS && index < segment.first + segment.count; ++index) {
    result = add_node(driver, variant, segment, index);
  }
  if (result == CUDA_SUCCESS) {
    result =
        driver.cuGraphInstantiateWithFlags(&segment.exec, segment.graph, CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY);
  }
  if (result != CUDA_SUCCESS) {
    driver.cuGraphDestroy(segment.graph);
    segment.graph = nullptr;
    segment.exec = nullptr;
    return result;
  }
  variant.clear_marks(segment);
  segment.bytes = estimated_graph_bytes(variant.sequence, segment);
  segment.state = Segment::State::built;
  return CUDA_SUCCESS;
}

std::uint64_t estimated_graph_bytes(const capture::Sequence& sequence, const Segment& segment) noexcept {
  constexpr std::uint64_t graph = 112 << 10, node = 2304, small = 1024;  // parameters that a node has room for
  std::uint64_t bytes = graph;
  for (std::uint32_t index = segment.first; index < segment.first + segment.count; ++index) {
    const std::uint64_t parameters = sequence.operations[index].byte_count;
    bytes += node + (parameters > small ? (parameters - small) * 9 / 4 : 0);
  }
  return bytes;
}

}  // namespace refrain::replay
