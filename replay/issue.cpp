#include "replay/issue.h"

#include <cstring>

#include "replay/attributes.h"

namespace refrain::replay {
namespace {

CUresult issue_kernel(const Driver& driver, capture::Sequence& sequence, const capture::Operation& operation,
                      CUstream stream) noexcept {
  ParameterPointers parameters;
  parameters.point(operation.function->layout, sequence.bytes_of(operation));
  const auto function = reinterpret_cast<CUfunction>(operation.function->handle);
  if (operation.attribute_count == 0) {
    return driver.cuLaunchKernel(function, operation.grid.x, operation.grid.y, operation.grid.z, operation.block.x,
                                 operation.block.y, operation.block.z, operation.shared, stream, parameters.pointers,
                                 nullptr);
  }
  CUlaunchAttribute attributes[most_attributes]{};
  CUlaunchConfig config{};
  config.gridDimX = operation.grid.x;
  config.gridDimY = operation.grid.y;
  config.gridDimZ = operation.grid.z;
  config.blockDimX = operation.block.x;
  config.blockDimY = operation.block.y;
  config.blockDimZ = operation.block.z;
  config.sharedMemBytes = operation.shared;
  config.hStream = stream;
  config.attrs = attributes;
  for (const capture::Attribute& attribute : sequence.attributes_of(operation)) {
    CUlaunchAttribute& out = attributes[config.numAttrs++];
    out.id = static_cast<CUlaunchAttributeID>(attribute.id);
    std::memcpy(&out.value, attribute.value.data(), attribute.size);
  }
  return driver.cuLaunchKernelEx(&config, function, parameters.pointers, nullptr);
}

CUresult issue_memset(const Driver& driver, const capture::MemsetBytes& memset, CUstream stream) noexcept {
  const bool is_2d = memset.pitch != 0;
  switch (memset.element_size) {
    case 1: {
      const auto value = static_cast<unsigned char>(memset.value);
      return is_2d ? driver.cuMemsetD2D8Async(memset.destination, memset.pitch, value, memset.width, memset.height,
                                              stream)
                   : driver.cuMemsetD8Async(memset.destination, value, memset.width, stream);
    }
    case 2: {
      const auto value = static_cast<unsigned short>(memset.value);
      return is_2d ? driver.cuMemsetD2D16Async(memset.destination, memset.pitch, value, memset.width, memset.height,
                                               stream)
                   : driver.cuMemsetD16Async(memset.destination, value, memset.width, stream);
    }
    default:
      return is_2d ? driver.cuMemsetD2D32Async(memset.destination, memset.pitch, memset.value, memset.width,
                                               memset.height, stream)
                   : driver.cuMemsetD32Async(memset.destination, memset.value, memset.width, stream);
  }
}

}  // namespace

CUresult issue(const Driver& driver, capture::Sequence& sequence, const capture::Operation& operation,
               CUstream stream) noexcept {
  switch (operation.kind) {
    case capture::OperationKind::kernel: return issue_kernel(driver, sequence, operation, stream);
    case capture::OperationKind::memset: {
      capture::MemsetBytes memset;
      std::memcpy(&memset, sequence.bytes_of(operation), sizeof memset);
      return issue_memset(driver, memset, stream);
    }
    case capture::OperationKind::copy: {
      capture::CopyBytes copy;
      std::memcpy(&copy, sequence.bytes_of(operation), sizeof copy);
      return driver.cuMemcpyDtoDAsync_v2(copy.destination, copy.source, copy.bytes, stream);
    }
  }
  return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace refrain::replay
