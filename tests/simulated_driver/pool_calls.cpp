// cuMemAllocAsync, cuMemFreeAsync, cuMemPool*.
#include "tests/simulated_driver/capture.h"
#include "tests/simulated_driver/context.h"
#include "tests/simulated_driver/entry.h"
#include "tests/simulated_driver/memory.h"
#include "tests/simulated_driver/pool.h"
#include "tests/simulated_driver/stream.h"

using namespace refrain::tests::simulated;

namespace {

CUresult allocate_from(const std::shared_ptr<Pool>& pool, CUdeviceptr* out, size_t bytes,
                       const std::shared_ptr<Stream>& stream) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (bytes == 0) {
    *out = 0;
    return CUDA_SUCCESS;
  }
  if (!stream->capturing.load()) {
    if (const CUresult result = forbid_unsafe_call(); result != CUDA_SUCCESS) return result;
  }
  const auto allocation = pool->take(bytes, *stream);
  if (allocation == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  host_view().insert(allocation);
  if (const CUresult result = issue(stream, MemoryBegin{allocation}); result != CUDA_SUCCESS) {
    host_view().erase(allocation);
    pool->put(*allocation, stream->id, {});
    return result;
  }
  *out = allocation->base;
  return CUDA_SUCCESS;
}

CUresult pool_of(CUmemoryPool handle, std::shared_ptr<Pool>* pool) {
  *pool = pools().find(handle);
  return *pool != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult give_pool(CUmemoryPool* out, CUdevice device, bool standard) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!valid_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  *out = (standard ? default_pool(device) : current_pool(device))->handle;
  return CUDA_SUCCESS;
}

CUresult give_pool_at(CUmemoryPool* out, const CUmemLocation* location, CUmemAllocationType type, bool standard) {
  if (location == nullptr || type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  if (location->type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
  return give_pool(out, location->id, standard);
}

CUresult use_pool(CUdevice device, CUmemoryPool handle) {
  if (!valid_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  const auto pool = pools().find(handle);
  if (pool == nullptr || pool->device != device) return CUDA_ERROR_INVALID_VALUE;
  set_current_pool(device, pool);
  return CUDA_SUCCESS;
}

}  // namespace

SIM(cuMemAllocAsync)(CUdeviceptr* address, size_t bytes, CUstream handle) {
  std::shared_ptr<Stream> stream;
  if (const CUresult result = find_stream(handle, &stream); result != CUDA_SUCCESS) return result;
  return allocate_from(current_pool(stream->context->device), address, bytes, stream);
}
SIM(cuMemAllocFromPoolAsync)(CUdeviceptr* address, size_t bytes, CUmemoryPool pool_handle, CUstream handle) {
  std::shared_ptr<Stream> stream;
  std::shared_ptr<Pool> pool;
  if (const CUresult result = find_stream(handle, &stream); result != CUDA_SUCCESS) return result;
  if (const CUresult result = pool_of(pool_handle, &pool); result != CUDA_SUCCESS) return result;
  return allocate_from(pool, address, bytes, stream);
}
SIM(cuMemFreeAsync)(CUdeviceptr address, CUstream handle) {
  std::shared_ptr<Stream> stream;
  if (const CUresult result = find_stream(handle, &stream); result != CUDA_SUCCESS) return result;
  if (address == 0) return CUDA_SUCCESS;
  const auto allocation = host_view().find(address);
  if (allocation == nullptr || allocation->base != address) return CUDA_ERROR_INVALID_VALUE;
  if (allocation->kind != MemoryKind::pool && allocation->kind != MemoryKind::device) return CUDA_ERROR_INVALID_VALUE;
  Point freed;
  if (const CUresult result = issue(stream, MemoryEnd{allocation}, &freed); result != CUDA_SUCCESS) return result;
  if (freed.queue == nullptr) return CUDA_SUCCESS;  // a node of a capture: the memory ends when the graph runs
  host_view().erase(allocation);
  if (allocation->pool != nullptr) {
    allocation->pool->put(*allocation, stream->id, freed);
  } else {
    current_pool(allocation->device)->adopt(*allocation, freed);
  }
  return CUDA_SUCCESS;
}

SIM(cuMemPoolCreate)(CUmemoryPool* out, const CUmemPoolProps* properties) {
  if (out == nullptr || properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (properties->allocType != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  if (properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
  if (!valid_device(properties->location.id)) return CUDA_ERROR_INVALID_DEVICE;
  *out = create_pool(properties->location.id)->handle;
  return CUDA_SUCCESS;
}
SIM(cuMemPoolDestroy)(CUmemoryPool handle) {
  const auto pool = pools().find(handle);
  if (pool == nullptr || pool == default_pool(pool->device)) return CUDA_ERROR_INVALID_VALUE;
  pools().remove(handle);
  pool->trim(0);
  const std::lock_guard lock(pool->mutex);
  pool->destroyed = true;
  return CUDA_SUCCESS;
}
SIM(cuMemPoolTrimTo)(CUmemoryPool handle, size_t keep) {
  std::shared_ptr<Pool> pool;
  if (const CUresult result = pool_of(handle, &pool); result != CUDA_SUCCESS) return result;
  if (const CUresult result = forbid_unsafe_call(); result != CUDA_SUCCESS) return result;
  pool->trim(keep);
  return CUDA_SUCCESS;
}
SIM(cuMemPoolSetAttribute)(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  std::shared_ptr<Pool> pool;
  if (const CUresult result = pool_of(handle, &pool); result != CUDA_SUCCESS) return result;
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(pool->mutex);
  switch (static_cast<int>(attribute)) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES: pool->reuse_follow_events = *static_cast<int*>(value); break;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC: pool->reuse_opportunistic = *static_cast<int*>(value); break;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES: pool->reuse_internal = *static_cast<int*>(value); break;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: pool->release_threshold = *static_cast<cuuint64_t*>(value); break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      if (*static_cast<cuuint64_t*>(value) != 0) return CUDA_ERROR_INVALID_VALUE;
      (attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH ? pool->used_high : pool->reserved_high) = 0;
      break;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}
SIM(cuMemPoolGetAttribute)(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  std::shared_ptr<Pool> pool;
  if (const CUresult result = pool_of(handle, &pool); result != CUDA_SUCCESS) return result;
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(pool->mutex);
  switch (static_cast<int>(attribute)) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES: *static_cast<int*>(value) = pool->reuse_follow_events; break;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC: *static_cast<int*>(value) = pool->reuse_opportunistic; break;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES: *static_cast<int*>(value) = pool->reuse_internal; break;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: *static_cast<cuuint64_t*>(value) = pool->release_threshold; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: *static_cast<cuuint64_t*>(value) = pool->reserved; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: *static_cast<cuuint64_t*>(value) = pool->reserved_high; break;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: *static_cast<cuuint64_t*>(value) = pool->used; break;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: *static_cast<cuuint64_t*>(value) = pool->used_high; break;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}
SIM(cuMemPoolSetAccess)(CUmemoryPool handle, const CUmemAccessDesc* accesses, size_t count) {
  std::shared_ptr<Pool> pool;
  if (const CUresult result = pool_of(handle, &pool); result != CUDA_SUCCESS) return result;
  const std::lock_guard lock(pool->mutex);
  for (size_t i = 0; i < count; ++i) {
    if (!valid_device(accesses[i].location.id)) return CUDA_ERROR_INVALID_DEVICE;
    pool->access[static_cast<size_t>(accesses[i].location.id)] = accesses[i].flags;
  }
  return CUDA_SUCCESS;
}
SIM(cuMemPoolGetAccess)(CUmemAccess_flags* flags, CUmemoryPool handle, CUmemLocation* location) {
  std::shared_ptr<Pool> pool;
  if (const CUresult result = pool_of(handle, &pool); result != CUDA_SUCCESS) return result;
  if (flags == nullptr || location == nullptr || !valid_device(location->id)) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(pool->mutex);
  *flags = pool->access[static_cast<size_t>(location->id)];
  return CUDA_SUCCESS;
}
SIM(cuDeviceGetDefaultMemPool)(CUmemoryPool* pool, CUdevice device) { return give_pool(pool, device, true); }
SIM(cuDeviceGetMemPool)(CUmemoryPool* pool, CUdevice device) { return give_pool(pool, device, false); }
SIM(cuDeviceSetMemPool)(CUdevice device, CUmemoryPool pool) { return use_pool(device, pool); }
SIM(cuMemGetDefaultMemPool)(CUmemoryPool* pool, CUmemLocation* location, CUmemAllocationType type) {
  return give_pool_at(pool, location, type, true);
}
SIM(cuMemGetMemPool)(CUmemoryPool* pool, CUmemLocation* location, CUmemAllocationType type) {
  return give_pool_at(pool, location, type, false);
}
SIM(cuMemSetMemPool)(CUmemLocation* location, CUmemAllocationType, CUmemoryPool pool) {
  if (location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return use_pool(location->id, pool);
}
