// cuMemAlloc, cuMemFree, host memory, managed memory, questions about memory.
#include "tests/simulated_driver/capture.h"
#include "tests/simulated_driver/context.h"
#include "tests/simulated_driver/entry.h"
#include "tests/simulated_driver/memory.h"
#include "tests/simulated_driver/pool.h"
#include "tests/simulated_driver/stream.h"

using namespace refrain::tests::simulated;

namespace {

/// The current context, when a call that must not happen during a capture may happen.
CUresult context_for_unsafe_call(std::shared_ptr<Context>* context) {
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  return forbid_unsafe_call();
}

CUresult allocate_device(CUdeviceptr* out, size_t bytes) {
  std::shared_ptr<Context> context;
  if (const CUresult result = context_for_unsafe_call(&context); result != CUDA_SUCCESS) return result;
  if (out == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  auto allocation = allocate(MemoryKind::device, bytes, context, 0);
  if (allocation == nullptr) {
    synchronize(*context);
    for (const auto& pool : pools().all()) pool->trim(0);
    allocation = allocate(MemoryKind::device, bytes, context, 0);
  }
  if (allocation == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = allocation->base;
  return CUDA_SUCCESS;
}

CUresult free_memory(CUdeviceptr address) {
  std::shared_ptr<Context> context;
  const CUresult current = current_context(&context);
  const bool none_current = current == CUDA_ERROR_INVALID_CONTEXT;
  if (current != CUDA_SUCCESS && !none_current) return current;
  if (none_current && address == 0) return CUDA_SUCCESS;
  if (const CUresult result = forbid_unsafe_call(); result != CUDA_SUCCESS) return result;
  if (address == 0) return CUDA_SUCCESS;
  const auto allocation = host_view().find(address);
  if (allocation == nullptr || allocation->base != address) return none_current ? current : CUDA_ERROR_INVALID_VALUE;
  if (allocation->on_host() || allocation->kind == MemoryKind::mapped) return CUDA_ERROR_INVALID_VALUE;
  // Seen on driver 580: memory has its context, no current one is needed.
  const auto owner = allocation->context.lock();
  CUresult result = none_current ? CUDA_SUCCESS : synchronize(*context);
  if (owner != nullptr && owner != context) result = synchronize(*owner);
  if (result != CUDA_SUCCESS) return result;
  if (allocation->kind == MemoryKind::pool) {
    host_view().erase(allocation);
    device_view().erase(allocation);
    allocation->pool->put(*allocation, 0, {});
    trim_pools();
  } else {
    release(allocation);
  }
  return CUDA_SUCCESS;
}

CUresult allocate_host(void** out, size_t bytes, unsigned flags) {
  constexpr unsigned known = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
  std::shared_ptr<Context> context;
  if (const CUresult result = context_for_unsafe_call(&context); result != CUDA_SUCCESS) return result;
  if (out == nullptr || (flags & ~known) != 0) return CUDA_ERROR_INVALID_VALUE;
  if (bytes == 0) {
    *out = nullptr;
    return CUDA_SUCCESS;
  }
  const auto allocation = allocate(MemoryKind::pinned, bytes, context, flags | CU_MEMHOSTALLOC_DEVICEMAP);
  if (allocation == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = reinterpret_cast<void*>(allocation->base);
  return CUDA_SUCCESS;
}

CUresult register_host(void* memory, size_t bytes, unsigned flags) {
  std::shared_ptr<Context> context;
  if (const CUresult result = context_for_unsafe_call(&context); result != CUDA_SUCCESS) return result;
  if (memory == nullptr || bytes == 0 || flags > 0xf) return CUDA_ERROR_INVALID_VALUE;
  const auto base = reinterpret_cast<uint64_t>(memory);
  if (!host_view().overlapping(base, bytes).empty()) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  auto allocation = std::make_shared<Allocation>();
  allocation->base = base;
  allocation->size = bytes;
  allocation->kind = MemoryKind::registered;
  allocation->device = context->device;
  allocation->context = context;
  allocation->flags = flags;
  allocation->ordinal = next_allocation_ordinal();
  host_view().insert(allocation);
  device_view().insert(allocation);
  return CUDA_SUCCESS;
}

/// Ends host memory of `kind` that begins at `memory`; `missing` when there is none.
CUresult end_host_memory(void* memory, MemoryKind kind, CUresult missing) {
  std::shared_ptr<Context> context;
  if (const CUresult result = context_for_unsafe_call(&context); result != CUDA_SUCCESS) return result;
  const auto base = reinterpret_cast<uint64_t>(memory);
  const auto allocation = host_view().find(base);
  if (allocation == nullptr) return missing;
  if (allocation->kind != kind || allocation->base != base) return CUDA_ERROR_INVALID_VALUE;
  const auto owner = allocation->context.lock();
  if (const CUresult result = synchronize(owner != nullptr ? *owner : *context); result != CUDA_SUCCESS) return result;
  release(allocation);
  return CUDA_SUCCESS;
}

}  // namespace

SIM(cuMemAlloc_v2)(CUdeviceptr* address, size_t bytes) { return allocate_device(address, bytes); }
SIM(cuMemAllocPitch_v2)(CUdeviceptr* address, size_t* pitch, size_t width, size_t height, unsigned element) {
  if (pitch == nullptr || width == 0 || height == 0) return CUDA_ERROR_INVALID_VALUE;
  if (element != 4 && element != 8 && element != 16) return CUDA_ERROR_INVALID_VALUE;
  *pitch = (width + 511) / 512 * 512;
  return allocate_device(address, *pitch * height);
}
SIM(cuMemFree_v2)(CUdeviceptr address) { return free_memory(address); }
SIM(cuMemAllocManaged)(CUdeviceptr* address, size_t bytes, unsigned flags) {
  std::shared_ptr<Context> context;
  if (const CUresult result = context_for_unsafe_call(&context); result != CUDA_SUCCESS) return result;
  if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) return CUDA_ERROR_INVALID_VALUE;
  const auto allocation = allocate(MemoryKind::managed, bytes, context, flags);
  if (allocation == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *address = allocation->base;
  return CUDA_SUCCESS;
}
SIM(cuMemHostAlloc)(void** memory, size_t bytes, unsigned flags) { return allocate_host(memory, bytes, flags); }
SIM(cuMemAllocHost_v2)(void** memory, size_t bytes) { return allocate_host(memory, bytes, 0); }
SIM(cuMemFreeHost)(void* memory) {
  if (memory == nullptr) return CUDA_SUCCESS;
  return end_host_memory(memory, MemoryKind::pinned, CUDA_ERROR_INVALID_VALUE);
}
SIM(cuMemHostRegister_v2)(void* memory, size_t bytes, unsigned flags) { return register_host(memory, bytes, flags); }
SIM(cuMemHostRegister)(void* memory, size_t bytes, unsigned flags) { return register_host(memory, bytes, flags); }
SIM(cuMemHostUnregister)(void* memory) {
  return end_host_memory(memory, MemoryKind::registered, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}
SIM(cuMemHostGetDevicePointer_v2)(CUdeviceptr* address, void* memory, unsigned flags) {
  if (address == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const auto allocation = host_view().find(reinterpret_cast<uint64_t>(memory));
  if (allocation == nullptr || !allocation->on_host()) return CUDA_ERROR_INVALID_VALUE;
  *address = reinterpret_cast<uint64_t>(memory);
  return CUDA_SUCCESS;
}
SIM(cuMemHostGetFlags)(unsigned* flags, void* memory) {
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto allocation = host_view().find(reinterpret_cast<uint64_t>(memory));
  if (allocation == nullptr || !allocation->on_host()) return CUDA_ERROR_INVALID_VALUE;
  *flags = allocation->flags;
  return CUDA_SUCCESS;
}

SIM(cuMemGetInfo_v2)(size_t* free, size_t* total) {
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(&context); result != CUDA_SUCCESS) return result;
  if (free == nullptr || total == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *total = options().memory_bytes;
  *free = options().memory_bytes - memory_in_use(context->device);
  return CUDA_SUCCESS;
}
SIM(cuMemGetAddressRange_v2)(CUdeviceptr* base, size_t* size, CUdeviceptr address) {
  const auto allocation = host_view().find(address);
  if (allocation == nullptr || !allocation->accessible_at_all()) return CUDA_ERROR_NOT_FOUND;
  if (base != nullptr) *base = allocation->base;
  if (size != nullptr) *size = allocation->size;
  return CUDA_SUCCESS;
}
SIM(cuMemAdvise)(CUdeviceptr address, size_t bytes, CUmem_advise, CUdevice) {
  return known_to_calls(address, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
SIM(cuMemAdvise_v2)(CUdeviceptr address, size_t bytes, CUmem_advise, CUmemLocation) {
  return known_to_calls(address, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
SIM(cuMemPrefetchAsync)(CUdeviceptr address, size_t bytes, CUdevice, CUstream handle) {
  std::shared_ptr<Stream> stream;
  if (const CUresult result = find_stream(handle, &stream); result != CUDA_SUCCESS) return result;
  return known_to_calls(address, bytes) ? issue(stream, Nothing{}) : CUDA_ERROR_INVALID_VALUE;
}
SIM(cuMemPrefetchAsync_v2)(CUdeviceptr address, size_t bytes, CUmemLocation, unsigned, CUstream stream) {
  return sim_cuMemPrefetchAsync(address, bytes, 0, stream);
}
