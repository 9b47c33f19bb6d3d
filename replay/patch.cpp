#include "replay/build.h"
#include "replay/look_ahead.h"

namespace refrain::replay {
namespace {

CUresult patch_node(const Driver& driver, Variant& variant, const Segment& segment, std::uint32_t index) noexcept {
  const capture::Operation& operation = variant.sequence.operations[index];
  const CUgraphNode node = variant.nodes[index].node;
  switch (operation.kind) {
    case capture::OperationKind::kernel: {
      ParameterPointers parameters;
      const CUDA_KERNEL_NODE_PARAMS values = kernel_values(variant.sequence, operation, segment.context, parameters);
      return driver.cuGraphExecKernelNodeSetParams_v2(segment.exec, node, &values);
    }
    case capture::OperationKind::memset: {
      const CUDA_MEMSET_NODE_PARAMS values = memset_values(variant.sequence, operation);
      return driver.cuGraphExecMemsetNodeSetParams(segment.exec, node, &values, segment.context);
    }
    case capture::OperationKind::copy: {
      const CUDA_MEMCPY3D values = copy_values(variant.sequence, operation);
      return driver.cuGraphExecMemcpyNodeSetParams(segment.exec, node, &values, segment.context);
    }
  }
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace

CUresult patch(const Driver& driver, Variant& variant, Segment& segment, std::uint64_t& patched) noexcept {
  const std::uint32_t end = segment.first + segment.count;
  auto find_next = [&](std::uint32_t from) {
    while (from < end && variant.changed[from] == 0) ++from;
    return from;
  };
  std::uint32_t next = 0;
  for (std::uint32_t index = find_next(segment.first); index < end && segment.changed != 0; index = next) {
    next = find_next(index + 1);
    if (next < end) look_ahead_of_patch(variant, next);
    const CUresult result = patch_node(driver, variant, segment, index);
    if (result != CUDA_SUCCESS) return result;
    variant.changed[index] = 0;
    --segment.changed;
    ++patched;
  }
  return CUDA_SUCCESS;
}

}  // namespace refrain::replay
