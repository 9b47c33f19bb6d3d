// cuMemAddressReserve, cuMemCreate, cuMemMap and their relatives.
//
// Physical memory lies in one anonymous file, so that it can be mapped at several addresses.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include <map>
#include <mutex>

#include "tests/simulated_driver/context.h"
#include "tests/simulated_driver/entry.h"
#include "tests/simulated_driver/handle_table.h"
#include "tests/simulated_driver/memory.h"

using namespace refrain::tests::simulated;

namespace {

constexpr uint64_t granularity = uint64_t{2} << 20;

/// Physical memory. Lives until it is released and mapped nowhere.
struct Physical {
  CUmemGenericAllocationHandle handle = 0;
  CUmemAllocationProp properties{};
  uint64_t size = 0;
  uint64_t offset = 0;  ///< in the file
  unsigned references = 1;
  ~Physical();
};

struct VirtualMemory {
  std::mutex mutex;
  int file = memfd_create("simulated device memory", MFD_CLOEXEC);
  uint64_t file_end = 0;
  std::map<uint64_t, uint64_t> reservations;                      ///< base -> size
  std::map<uint64_t, std::shared_ptr<Physical>> mapped_physical;  ///< base of a mapping -> what is there
};

VirtualMemory& virtual_memory() {
  static auto* const state = new VirtualMemory;
  return *state;
}

HandleTable<CUmemGenericAllocationHandle, Physical>& physicals() {
  static auto* const table = new HandleTable<CUmemGenericAllocationHandle, Physical>;
  return *table;
}

Physical::~Physical() {
  fallocate(virtual_memory().file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
            static_cast<off_t>(size));
  refund(properties.location.id, size);
}

bool aligned(uint64_t value) { return value % granularity == 0; }

/// The reservation that holds the whole range, else the end.
auto reservation_of(const VirtualMemory& state, uint64_t base, uint64_t size) {
  const auto after = state.reservations.upper_bound(base);
  if (after == state.reservations.begin()) return state.reservations.end();
  const auto before = std::prev(after);
  const uint64_t offset = base - before->first;
  return offset <= before->second && before->second - offset >= size ? before : state.reservations.end();
}

}  // namespace

SIM(cuMemGetAllocationGranularity)
(size_t* out, const CUmemAllocationProp* properties, CUmemAllocationGranularity_flags) {
  if (out == nullptr || properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = granularity;
  return CUDA_SUCCESS;
}

SIM(cuMemAddressReserve)
(CUdeviceptr* out, size_t size, size_t alignment, CUdeviceptr wanted, unsigned long long flags) {
  if (out == nullptr || size == 0 || !aligned(size) || flags != 0 || (alignment & (alignment - 1)) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  auto base = wanted != 0 && aligned(wanted) ? device_region().take(size, granularity, wanted) : std::nullopt;
  if (!base) base = device_region().take(size, std::max<uint64_t>(alignment, granularity));
  if (!base) return CUDA_ERROR_OUT_OF_MEMORY;
  VirtualMemory& state = virtual_memory();
  const std::lock_guard lock(state.mutex);
  state.reservations[*base] = size;
  *out = *base;
  return CUDA_SUCCESS;
}

SIM(cuMemAddressFree)(CUdeviceptr base, size_t size) {
  VirtualMemory& state = virtual_memory();
  const std::lock_guard lock(state.mutex);
  const auto found = state.reservations.find(base);
  if (found == state.reservations.end() || found->second != size) return CUDA_ERROR_INVALID_VALUE;
  if (!host_view().overlapping(base, size).empty()) return CUDA_ERROR_INVALID_VALUE;
  state.reservations.erase(found);
  device_region().give_back(base, size);
  return CUDA_SUCCESS;
}

SIM(cuMemCreate)
(CUmemGenericAllocationHandle* out, size_t size, const CUmemAllocationProp* properties, unsigned long long flags) {
  if (out == nullptr || properties == nullptr || flags != 0 || size == 0 || !aligned(size))
    return CUDA_ERROR_INVALID_VALUE;
  if (properties->type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  if (properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
  if (!valid_device(properties->location.id)) return CUDA_ERROR_INVALID_DEVICE;
  if (!charge(properties->location.id, size)) return CUDA_ERROR_OUT_OF_MEMORY;
  VirtualMemory& state = virtual_memory();
  auto physical = std::make_shared<Physical>();
  physical->properties = *properties;
  physical->size = size;
  {
    const std::lock_guard lock(state.mutex);
    physical->offset = state.file_end;
    state.file_end += size;
    if (ftruncate(state.file, static_cast<off_t>(state.file_end)) != 0) return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *out = physicals().add(physical);
  return CUDA_SUCCESS;
}

SIM(cuMemRelease)(CUmemGenericAllocationHandle handle) {
  const auto physical = physicals().find(handle);
  if (physical == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(virtual_memory().mutex);
  if (--physical->references == 0) physicals().remove(handle);
  return CUDA_SUCCESS;
}

SIM(cuMemMap)
(CUdeviceptr base, size_t size, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags) {
  const auto physical = physicals().find(handle);
  if (physical == nullptr || flags != 0 || offset != 0 || !aligned(base) || size == 0 || size != physical->size) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  VirtualMemory& state = virtual_memory();
  const std::lock_guard lock(state.mutex);
  const auto reservation = reservation_of(state, base, size);
  if (reservation == state.reservations.end() || !host_view().overlapping(base, size).empty())
    return CUDA_ERROR_INVALID_VALUE;
  void* const place = mmap(backing(base), size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, state.file,
                           static_cast<off_t>(physical->offset));
  if (place == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  auto allocation = std::make_shared<Allocation>();
  allocation->base = base;
  allocation->size = allocation->capacity = size;
  allocation->range_base = reservation->first;
  allocation->range_size = reservation->second;
  allocation->kind = MemoryKind::mapped;
  allocation->device = physical->properties.location.id;
  allocation->ordinal = next_allocation_ordinal();
  allocation->physical = handle;
  state.mapped_physical[base] = physical;
  host_view().insert(allocation);
  device_view().insert(allocation);
  return CUDA_SUCCESS;
}

// Does not wait: work that still uses the range faults, as on a device. Holes in the range are no error.
SIM(cuMemUnmap)(CUdeviceptr base, size_t size) {
  VirtualMemory& state = virtual_memory();
  const std::lock_guard lock(state.mutex);
  if (size == 0 || reservation_of(state, base, size) == state.reservations.end()) return CUDA_ERROR_INVALID_VALUE;
  const auto parts = host_view().overlapping(base, size);
  for (const auto& part : parts) {
    if (part->base < base || part->base + part->size > base + size) return CUDA_ERROR_INVALID_VALUE;
  }
  for (const auto& part : parts) {
    host_view().erase(part);
    device_view().erase(part);
    state.mapped_physical.erase(part->base);
  }
  // A kernel that is at work there writes to memory that nobody reads.
  mmap(backing(base), size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  return CUDA_SUCCESS;
}

SIM(cuMemSetAccess)(CUdeviceptr base, size_t size, const CUmemAccessDesc* accesses, size_t count) {
  if (accesses == nullptr || count == 0 || size == 0) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(virtual_memory().mutex);
  const auto parts = host_view().overlapping(base, size);
  uint64_t covered = 0;
  for (const auto& part : parts) {
    if (part->kind != MemoryKind::mapped) return CUDA_ERROR_INVALID_VALUE;
    covered += part->size;
  }
  if (covered < size) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i) {
    if (accesses[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
    if (!valid_device(accesses[i].location.id)) return CUDA_ERROR_INVALID_DEVICE;
    for (const auto& part : parts) part->access[static_cast<size_t>(accesses[i].location.id)].store(accesses[i].flags);
  }
  return CUDA_SUCCESS;
}

SIM(cuMemGetAccess)(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr address) {
  if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (location->type != CU_MEM_LOCATION_TYPE_DEVICE || !valid_device(location->id)) return CUDA_ERROR_INVALID_VALUE;
  const auto allocation = host_view().find(address);
  if (allocation == nullptr || allocation->kind != MemoryKind::mapped) return CUDA_ERROR_INVALID_VALUE;
  *flags = allocation->access[static_cast<size_t>(location->id)].load();
  return CUDA_SUCCESS;
}

SIM(cuMemGetAllocationPropertiesFromHandle)(CUmemAllocationProp* properties, CUmemGenericAllocationHandle handle) {
  const auto physical = physicals().find(handle);
  if (properties == nullptr || physical == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *properties = physical->properties;
  return CUDA_SUCCESS;
}

SIM(cuMemRetainAllocationHandle)(CUmemGenericAllocationHandle* out, void* address) {
  const auto allocation = host_view().find(reinterpret_cast<uint64_t>(address));
  if (out == nullptr || allocation == nullptr || allocation->kind != MemoryKind::mapped)
    return CUDA_ERROR_INVALID_VALUE;
  VirtualMemory& state = virtual_memory();
  const std::lock_guard lock(state.mutex);
  const auto physical = state.mapped_physical[allocation->base];
  if (physicals().find(physical->handle) == nullptr) {
    physical->references = 0;
    physicals().add(physical);
  }
  ++physical->references;
  *out = physical->handle;
  return CUDA_SUCCESS;
}
