#include "tests/simulated_driver/pool.h"

#include <algorithm>
#include <atomic>

#include "tests/simulated_driver/context.h"
#include "tests/simulated_driver/stream.h"

namespace refrain::tests::simulated {
namespace {

struct DevicePools {
  std::mutex mutex;
  std::shared_ptr<Pool> standard, current;
};

DevicePools& pools_of(int device) {
  static auto* const list = new std::array<DevicePools, max_devices>;
  return (*list)[static_cast<size_t>(device)];
}

std::atomic<bool> any_block{false};

constexpr uint64_t block_unit = 4096;

}  // namespace

HandleTable<CUmemoryPool, Pool>& pools() {
  static auto* const table = new HandleTable<CUmemoryPool, Pool>;
  return *table;
}

std::shared_ptr<Pool> create_pool(int device) {
  auto pool = std::make_shared<Pool>();
  pool->device = device;
  pool->access[static_cast<size_t>(device)] = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  pools().add(pool);
  return pool;
}

std::shared_ptr<Pool> default_pool(int device) {
  DevicePools& of = pools_of(device);
  const std::lock_guard lock(of.mutex);
  if (of.standard == nullptr) of.standard = create_pool(device);
  return of.standard;
}

std::shared_ptr<Pool> current_pool(int device) {
  {
    DevicePools& of = pools_of(device);
    const std::lock_guard lock(of.mutex);
    if (of.current != nullptr && !of.current->destroyed) return of.current;
  }
  return default_pool(device);
}

void set_current_pool(int device, const std::shared_ptr<Pool>& pool) {
  DevicePools& of = pools_of(device);
  const std::lock_guard lock(of.mutex);
  of.current = pool;
}

std::shared_ptr<Allocation> Pool::take(uint64_t size, const Stream& stream) {
  const uint64_t capacity = (size + block_unit - 1) / block_unit * block_unit;
  auto allocation = std::make_shared<Allocation>();
  {
    const std::lock_guard lock(mutex);
    const auto fits = [&](const Block& block) { return block.stream_id == stream.id && block.capacity == capacity; };
    const auto found = std::find_if(blocks.begin(), blocks.end(), fits);
    if (found != blocks.end()) {
      allocation->base = found->base;
      blocks.erase(found);
    }
  }
  if (allocation->base == 0) {
    if (!charge(device, capacity)) {
      trim(0);
      if (!charge(device, capacity)) return nullptr;
    }
    const auto base = device_region().take(capacity, block_unit);
    if (!base) {
      refund(device, capacity);
      return nullptr;
    }
    allocation->base = *base;
    const std::lock_guard lock(mutex);
    reserved += capacity;
    reserved_high = std::max(reserved_high, reserved);
  }
  allocation->size = size;
  allocation->capacity = capacity;
  allocation->kind = MemoryKind::pool;
  allocation->device = device;
  allocation->context = stream.context;
  allocation->ordinal = next_allocation_ordinal();
  allocation->pool = shared_from_this();
  const std::lock_guard lock(mutex);
  used += capacity;
  used_high = std::max(used_high, used);
  return allocation;
}

void Pool::put(const Allocation& allocation, uint64_t stream_id, const Point& freed) {
  const std::lock_guard lock(mutex);
  blocks.push_back({allocation.base, allocation.capacity, stream_id, freed});
  used -= allocation.capacity;
  any_block.store(true);
}

void Pool::adopt(const Allocation& allocation, const Point& freed) {
  const std::lock_guard lock(mutex);
  blocks.push_back({allocation.base, allocation.capacity, 0, freed});
  reserved += allocation.capacity;
  any_block.store(true);
}

void Pool::trim(uint64_t keep) {
  const std::lock_guard lock(mutex);
  for (auto block = blocks.begin(); block != blocks.end() && reserved > keep;) {
    if (!block->freed.reached()) {
      ++block;
      continue;
    }
    device_region().give_back(block->base, block->capacity);
    refund(device, block->capacity);
    reserved -= block->capacity;
    block = blocks.erase(block);
  }
}

void trim_pools() {
  if (!any_block.load(std::memory_order_relaxed)) return;
  for (const auto& pool : pools().all()) pool->trim(pool->release_threshold);
}

}  // namespace refrain::tests::simulated
