// An address range whose physical memory a program maps and unmaps (the driver's virtual memory management).
#pragma once

#include "tests/programs/scenario.h"

namespace refrain::tests {

class MappedMemory {
 public:
  using Block = CUmemGenericAllocationHandle;
  explicit MappedMemory(const Scenario& scenario) {
    properties_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties_.location = {CU_MEM_LOCATION_TYPE_DEVICE, {scenario.device()}};
    check(driver().cuMemAddressReserve(&address_, size, 0, 0, 0), "cuMemAddressReserve");
  }
  ~MappedMemory() { CALL(cuMemAddressFree, address_, size); }
  MappedMemory(const MappedMemory&) = delete;
  MappedMemory& operator=(const MappedMemory&) = delete;

  CUdeviceptr address() const { return address_; }
  /// New physical memory at the address.
  Block map() const {
    Block block = 0;
    CALL(cuMemCreate, &block, size, &properties_, 0);
    map(block);
    return block;
  }
  /// Physical memory that exists at the address.
  void map(Block block) const {
    CALL(cuMemMap, address_, size, 0, block, 0);
    CUmemAccessDesc access{};
    access.location = properties_.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CALL(cuMemSetAccess, address_, size, &access, 1);
  }
  /// Takes the physical memory away and releases it.
  void unmap(Block block) const {
    CALL(cuMemUnmap, address_, size);
    CALL(cuMemRelease, block);
  }

  static constexpr std::size_t size = 2u << 20;

 private:
  CUmemAllocationProp properties_{};
  CUdeviceptr address_ = 0;
};

}  // namespace refrain::tests
