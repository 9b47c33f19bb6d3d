#include <cstring>

#include "replay/build.h"
#include "replay/issue.h"

namespace refrain::replay {
namespace {

CUresult patch_kernel(const Driver& driver, capture::Sequence& sequence, const capture::Operation& operation,
                      const Node& node, CUgraphExec exec) noexcept {
  ParameterPointers parameters;
  parameters.point(operation.function->layout, sequence.bytes_of(operation));
  CUDA_KERNEL_NODE_PARAMS_v2 values{};
  values.func = node.function;
  values.kern = node.kernel;
  values.ctx = node.context;
  values.gridDimX = operation.grid.x;
  values.gridDimY = operation.grid.y;
  values.gridDimZ = operation.grid.z;
  values.blockDimX = operation.block.x;
  values.blockDimY = operation.block.y;
  values.blockDimZ = operation.block.z;
  values.sharedMemBytes = operation.shared;
  values.kernelParams = parameters.pointers;
  return driver.cuGraphExecKernelNodeSetParams_v2(exec, node.node, &values);
}

CUresult patch_memset(const Driver& driver, const std::byte* bytes, const Node& node, const Segment& segment) noexcept {
  capture::MemsetBytes memset;
  std::memcpy(&memset, bytes, sizeof memset);
  CUDA_MEMSET_NODE_PARAMS values{};
  values.dst = memset.destination;
  values.pitch = memset.pitch;
  values.value = memset.value;
  values.elementSize = memset.element_size;
  values.width = memset.width;
  values.height = memset.height;
  return driver.cuGraphExecMemsetNodeSetParams(segment.exec, node.node, &values, segment.context);
}

CUresult patch_copy(const Driver& driver, const std::byte* bytes, const Node& node, const Segment& segment) noexcept {
  capture::CopyBytes copy;
  std::memcpy(&copy, bytes, sizeof copy);
  CUDA_MEMCPY3D values{};
  values.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  values.srcDevice = copy.source;
  values.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  values.dstDevice = copy.destination;
  values.WidthInBytes = copy.bytes;
  values.Height = 1;
  values.Depth = 1;
  return driver.cuGraphExecMemcpyNodeSetParams(segment.exec, node.node, &values, segment.context);
}

}  // namespace

CUresult patch(const Driver& driver, Variant& variant, Segment& segment, std::uint64_t& patched) noexcept {
  for (std::uint32_t index = segment.first; segment.changed != 0 && index < segment.first + segment.count; ++index) {
    Node& node = variant.nodes[index];
    if (!node.changed) continue;
    const capture::Operation& operation = variant.sequence.operations[index];
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    switch (operation.kind) {
      case capture::OperationKind::kernel:
        result = patch_kernel(driver, variant.sequence, operation, node, segment.exec);
        break;
      case capture::OperationKind::memset:
        result = patch_memset(driver, variant.sequence.bytes_of(operation), node, segment);
        break;
      case capture::OperationKind::copy:
        result = patch_copy(driver, variant.sequence.bytes_of(operation), node, segment);
        break;
    }
    if (result != CUDA_SUCCESS) return result;
    node.changed = false;
    --segment.changed;
    ++patched;
  }
  return CUDA_SUCCESS;
}

}  // namespace refrain::replay
