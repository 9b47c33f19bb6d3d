#include "tests/training/memory.h"

#include <algorithm>

#include "tests/programs/driver_api.h"

namespace refrain::tests::training {
namespace {

constexpr std::size_t slab_bytes = 2u << 20;

std::size_t rounded(std::size_t bytes) { return (bytes + 511) / 512 * 512; }
CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

}  // namespace

Memory::~Memory() {
  for (const Slab& slab : slabs_) check(driver().cuMemFree(address(slab.base)), "cuMemFree");
}

void* Memory::allocate(std::size_t bytes) {
  bytes = rounded(bytes);
  std::set<void*>& blocks = free_[bytes];
  if (!blocks.empty()) return blocks.extract(blocks.begin()).value();
  if (slabs_.empty() || slabs_.back().size - slabs_.back().used < bytes) {
    const std::size_t size = std::max(bytes, slab_bytes);
    CUdeviceptr base = 0;
    check(driver().cuMemAlloc(&base, size), "cuMemAlloc");
    check(driver().cuMemsetD8(base, 0, size), "cuMemsetD8");
    check(driver().cuCtxSynchronize(), "cuCtxSynchronize");
    slabs_.push_back({reinterpret_cast<unsigned char*>(base), size, 0});
  }
  Slab& slab = slabs_.back();
  slab.used += bytes;
  return slab.base + slab.used - bytes;
}

void Memory::free(void* block, std::size_t bytes) { free_[rounded(bytes)].insert(block); }

std::vector<unsigned char> Memory::contents() const {
  std::vector<unsigned char> bytes;
  for (const Slab& slab : slabs_) {
    const std::size_t start = bytes.size();
    bytes.resize(start + slab.used);
    check(driver().cuMemcpyDtoH(bytes.data() + start, address(slab.base), slab.used), "cuMemcpyDtoH");
  }
  return bytes;
}

Scope::~Scope() {
  for (const Block& block : blocks_) memory_.free(block.address, block.bytes);
}

void* Scope::block(std::size_t bytes) {
  blocks_.push_back({memory_.allocate(bytes), bytes});
  return blocks_.back().address;
}

template <typename T>
Pinned<T>::Pinned(std::size_t count) {
  void* data = nullptr;
  check(driver().cuMemHostAlloc(&data, count * sizeof(T), 0), "cuMemHostAlloc");
  data_ = static_cast<T*>(data);
}

template <typename T>
Pinned<T>::~Pinned() {
  check(driver().cuMemFreeHost(data_), "cuMemFreeHost");
}

template class Pinned<float>;
template class Pinned<unsigned>;

}  // namespace refrain::tests::training
