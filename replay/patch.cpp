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
  const std::uint8_t* const marks = variant.marks_of(segment);
  auto find_next = [&](std::uint32_t from) {
    while (from < segment.count && marks[from] == 0) ++from;
    return from;
  };
  std::uint32_t next = 0;
  for (std::uint32_t number = find_next(0); number < segment.count; number = next) {
    next = find_next(number + 1);
    if (next < segment.count) look_ahead_of_patch(variant, segment.first + next);
    const CUresult result = patch_node(driver, variant, segment, segment.first + number);
    if (result != CUDA_SUCCESS) return result;
    ++patched;
  }
  // A graph that could not be patched is given up: only now do the marks mean nothing any more.
  variant.clear_marks(segment);
  return CUDA_SUCCESS;
}

}  // namespace refrain::replay
