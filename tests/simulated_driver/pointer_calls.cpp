// cuPointer*Attribute*.
#include "tests/simulated_driver/context.h"
#include "tests/simulated_driver/entry.h"
#include "tests/simulated_driver/memory.h"
#include "tests/simulated_driver/pool.h"

using namespace refrain::tests::simulated;

namespace {

template <class T>
CUresult give(void* data, T value) {
  *static_cast<T*>(data) = value;
  return CUDA_SUCCESS;
}

CUresult context_attribute(const Allocation& allocation, void* data) {
  const auto context = allocation.context.lock();
  const bool has_context =
      context != nullptr && allocation.kind != MemoryKind::mapped && allocation.kind != MemoryKind::pool;
  return give<CUcontext>(data, has_context ? context->handle : nullptr);
}

CUresult get(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
  const auto allocation = host_view().find(address);
  if (allocation == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const bool managed = allocation->kind == MemoryKind::managed;
  const bool host_readable = managed || allocation->on_host();
  switch (static_cast<int>(attribute)) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: return context_attribute(*allocation, data);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return give<unsigned>(data, allocation->on_host() ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: return give<CUdeviceptr>(data, address);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (!host_readable) return CUDA_ERROR_INVALID_VALUE;
      return give<void*>(data, reinterpret_cast<void*>(address));
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: return give<unsigned>(data, managed);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: return give<unsigned long long>(data, allocation->ordinal);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: return give<unsigned>(data, managed);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: return give<int>(data, allocation->device);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return give<char>(data, allocation->kind == MemoryKind::device);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: return give<CUdeviceptr>(data, allocation->range_base);
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR: return give<CUdeviceptr>(data, allocation->base);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: return give<size_t>(data, allocation->range_size);
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE: return give<size_t>(data, allocation->size);
    case CU_POINTER_ATTRIBUTE_MAPPED: return give<char>(data, 1);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES: return give<unsigned long long>(data, 0);
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      return give<char>(data, allocation->kind == MemoryKind::device);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: return give<unsigned>(data, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return give<CUmemoryPool>(data, allocation->pool != nullptr ? allocation->pool->handle : nullptr);
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID: return give<unsigned long long>(data, allocation->ordinal);
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace

SIM(cuPointerGetAttribute)(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
  if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return get(data, attribute, address);
}

// An address that the driver does not know is no error here: the answers are zero.
SIM(cuPointerGetAttributes)(unsigned count, CUpointer_attribute* attributes, void** data, CUdeviceptr address) {
  if (count == 0 || attributes == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count; ++i) {
    if (get(data[i], attributes[i], address) == CUDA_SUCCESS) continue;
    switch (static_cast<int>(attributes[i])) {
      case CU_POINTER_ATTRIBUTE_CONTEXT:
      case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: give<uint64_t>(data[i], 0); break;
      case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      case CU_POINTER_ATTRIBUTE_IS_MANAGED: give<unsigned>(data[i], 0); break;
      case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: give<int>(data[i], -2); break;
      default: return CUDA_ERROR_INVALID_VALUE;
    }
  }
  return CUDA_SUCCESS;
}

SIM(cuPointerSetAttribute)(const void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  if (value == nullptr || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) return CUDA_ERROR_INVALID_VALUE;
  return host_view().find(address) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
