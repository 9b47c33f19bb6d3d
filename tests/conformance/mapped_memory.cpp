// Virtual memory management: ranges of addresses, physical memory, access.
#include "tests/conformance/program.h"

namespace refrain::tests::conformance {
namespace {

constexpr std::size_t size = 2u << 20;

CUmemAllocationProp properties(const Program& p) {
  CUmemAllocationProp wanted{};
  wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  wanted.location.id = p.device();
  return wanted;
}

CUmemAccessDesc access(const Program& p, CUmemAccess_flags flags) {
  CUmemAccessDesc wanted{};
  wanted.location = properties(p).location;
  wanted.flags = flags;
  return wanted;
}

}  // namespace

PROGRAM(mapped_granularity) {
  std::size_t granularity = 0;
  const CUmemAllocationProp wanted = properties(p);
  TELL(cuMemGetAllocationGranularity, &granularity, &wanted, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  note("granularity %zu", granularity);
}

PROGRAM(mapped_whole_life) {
  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle memory = 0;
  const CUmemAllocationProp wanted = properties(p);
  const CUmemAccessDesc both = access(p, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  unsigned long long flags = 0;
  TELL(cuMemAddressReserve, &address, size, 0, 0, 0);
  TELL(cuMemCreate, &memory, size, &wanted, 0);
  TELL(cuMemMap, address, size, 0, memory, 0);
  TELL(cuMemSetAccess, address, size, &both, 1);
  TELL(cuMemGetAccess, &flags, &wanted.location, address);
  note("flags %llu", flags);
  const CUstream stream = p.stream();
  launch(p.kernel("fill"), {}, stream, address, 1024u, 7u);
  TELL(cuStreamSynchronize, stream);
  unsigned value = 0;
  TELL(cuMemcpyDtoH, &value, address + 40, 4);
  note("value %u", value);
  TELL(cuMemUnmap, address, size);
  TELL(cuMemRelease, memory);
  TELL(cuMemAddressFree, address, size);
}

PROGRAM(mapped_released_while_mapped) {
  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle memory = 0;
  const CUmemAllocationProp wanted = properties(p);
  const CUmemAccessDesc both = access(p, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  MUST(cuMemAddressReserve, &address, size, 0, 0, 0);
  MUST(cuMemCreate, &memory, size, &wanted, 0);
  MUST(cuMemMap, address, size, 0, memory, 0);
  MUST(cuMemSetAccess, address, size, &both, 1);
  TELL(cuMemRelease, memory);
  TELL(cuMemsetD32, address, 5, 4);
  unsigned value = 0;
  TELL(cuMemcpyDtoH, &value, address, 4);
  note("value %u", value);
  TELL(cuMemUnmap, address, size);
  TELL(cuMemAddressFree, address, size);
}

PROGRAM(mapped_at_two_addresses) {
  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle memory = 0;
  const CUmemAllocationProp wanted = properties(p);
  const CUmemAccessDesc both = access(p, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  MUST(cuMemAddressReserve, &address, 2 * size, 0, 0, 0);
  MUST(cuMemCreate, &memory, size, &wanted, 0);
  TELL(cuMemMap, address, size, 0, memory, 0);
  TELL(cuMemMap, address + size, size, 0, memory, 0);
  TELL(cuMemSetAccess, address, 2 * size, &both, 1);
  TELL(cuMemsetD32, address, 5, 4);
  unsigned value = 0;
  TELL(cuMemcpyDtoH, &value, address + size, 4);
  note("value %u", value);
  TELL(cuMemUnmap, address, 2 * size);
  TELL(cuMemRelease, memory);
  TELL(cuMemAddressFree, address, 2 * size);
}

PROGRAM(mapped_copy_without_access) {
  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle memory = 0;
  const CUmemAllocationProp wanted = properties(p);
  MUST(cuMemAddressReserve, &address, size, 0, 0, 0);
  MUST(cuMemCreate, &memory, size, &wanted, 0);
  MUST(cuMemMap, address, size, 0, memory, 0);
  TELL(cuMemsetD32, address, 5, 4);
  MUST(cuMemUnmap, address, size);
  MUST(cuMemRelease, memory);
  MUST(cuMemAddressFree, address, size);
}

PROGRAM(mapped_twice_at_one_address) {
  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle memory = 0;
  const CUmemAllocationProp wanted = properties(p);
  MUST(cuMemAddressReserve, &address, size, 0, 0, 0);
  MUST(cuMemCreate, &memory, size, &wanted, 0);
  TELL(cuMemMap, address, size, 0, memory, 0);
  TELL(cuMemMap, address, size, 0, memory, 0);
  MUST(cuMemUnmap, address, size);
  MUST(cuMemRelease, memory);
  MUST(cuMemAddressFree, address, size);
}

PROGRAM(mapped_odd_sizes) {
  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle memory = 0;
  const CUmemAllocationProp wanted = properties(p);
  TELL(cuMemCreate, &memory, 1000, &wanted, 0);
  TELL(cuMemAddressReserve, &address, 0, 0, 0, 0);
  TELL(cuMemAddressReserve, nullptr, size, 0, 0, 0);
}

PROGRAM(mapped_address_free_wrong_size) {
  CUdeviceptr address = 0;
  MUST(cuMemAddressReserve, &address, 2 * size, 0, 0, 0);
  TELL(cuMemAddressFree, address, size);
  TELL(cuMemAddressFree, address, 2 * size);
}

PROGRAM(mapped_range_of_addresses) {
  CUdeviceptr address = 0, base = 0;
  std::size_t bytes = 0;
  CUmemGenericAllocationHandle memory = 0;
  const CUmemAllocationProp wanted = properties(p);
  MUST(cuMemAddressReserve, &address, 2 * size, 0, 0, 0);
  MUST(cuMemCreate, &memory, size, &wanted, 0);
  MUST(cuMemMap, address, size, 0, memory, 0);
  TELL(cuMemGetAddressRange, &base, &bytes, address + 100);
  note("base %d bytes %zu", base == address, bytes);
  MUST(cuMemUnmap, address, size);
  MUST(cuMemRelease, memory);
  MUST(cuMemAddressFree, address, 2 * size);
}

PROGRAM(mapped_memory_is_not_freed_by_free) {
  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle memory = 0;
  const CUmemAllocationProp wanted = properties(p);
  MUST(cuMemAddressReserve, &address, size, 0, 0, 0);
  MUST(cuMemCreate, &memory, size, &wanted, 0);
  MUST(cuMemMap, address, size, 0, memory, 0);
  TELL(cuMemFree, address);
  MUST(cuMemUnmap, address, size);
  MUST(cuMemRelease, memory);
  MUST(cuMemAddressFree, address, size);
}

PROGRAM(mapped_retain_handle) {
  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle memory = 0, again = 0;
  const CUmemAllocationProp wanted = properties(p);
  MUST(cuMemAddressReserve, &address, size, 0, 0, 0);
  MUST(cuMemCreate, &memory, size, &wanted, 0);
  MUST(cuMemMap, address, size, 0, memory, 0);
  TELL(cuMemRetainAllocationHandle, &again, reinterpret_cast<void*>(address));
  note("same %d", again == memory);
  TELL(cuMemRelease, again);
  TELL(cuMemRelease, memory);
  MUST(cuMemUnmap, address, size);
  MUST(cuMemAddressFree, address, size);
}

}  // namespace refrain::tests::conformance
