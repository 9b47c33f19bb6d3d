#include "tests/simulated_driver/memory.h"

#include <sys/mman.h>

#include <array>
#include <atomic>

#include "tests/simulated_driver/context.h"
#include "tests/simulated_driver/options.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#if defined(__SANITIZE_THREAD__)
#define ANY_ADDRESS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ANY_ADDRESS 1
#endif
#endif

namespace refrain::tests::simulated {
namespace {

// Below everything that the loader places, on every run. The thread sanitizer allows no address there.
#ifdef ANY_ADDRESS
constexpr uint64_t device_base = 0, host_base = 0;
#else
constexpr uint64_t device_base = 0x400000000000, host_base = 0x410000000000;
#endif

constexpr uint64_t round_up(uint64_t value, uint64_t step) { return (value + step - 1) / step * step; }

uint64_t reserve(uint64_t wanted, uint64_t size) {
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* const place = reinterpret_cast<void*>(wanted);
  void* memory = mmap(place, size, PROT_NONE, flags | (wanted != 0 ? MAP_FIXED_NOREPLACE : 0), -1, 0);
  if (memory == MAP_FAILED) memory = mmap(nullptr, size, PROT_NONE, flags, -1, 0);
  return memory == MAP_FAILED ? 0 : reinterpret_cast<uint64_t>(memory);
}

std::array<std::atomic<uint64_t>, max_devices> in_use{};

}  // namespace

Region::Region(uint64_t wanted_base, uint64_t size, bool hidden) {
  base_ = reserve(wanted_base, size);
  backing_ = hidden ? reserve(0, size) : base_;
  if (base_ == 0 || backing_ == 0) return;
  size_ = size;
  free_[base_] = size;
}

std::optional<uint64_t> Region::take(uint64_t size, uint64_t alignment, uint64_t wanted) {
  size = round_up(size, page);
  if (size == 0 || size > size_) return std::nullopt;
  const std::lock_guard lock(mutex_);
  for (auto range = free_.begin(); range != free_.end(); ++range) {
    const uint64_t begin = range->first;
    const uint64_t end = begin + range->second;
    const uint64_t place = wanted != 0 ? wanted : round_up(begin, alignment);
    if (place < begin || place >= end || end - place < size) continue;
    free_.erase(range);
    if (place > begin) free_[begin] = place - begin;
    if (place + size < end) free_[place + size] = end - place - size;
    if (mprotect(backing(place), size, PROT_READ | PROT_WRITE) != 0) return std::nullopt;
    return place;
  }
  return std::nullopt;
}

// The bytes stay readable: a kernel of another context may still be at work on them, and must not crash the process.
void Region::give_back(uint64_t base, uint64_t size) {
  size = round_up(size, page);
  madvise(backing(base), size, MADV_DONTNEED);
  const std::lock_guard lock(mutex_);
  auto next = free_.lower_bound(base);
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == base) {
      base = before->first;
      size += before->second;
      free_.erase(before);
    }
  }
  if (next != free_.end() && base + size == next->first) {
    size += next->second;
    free_.erase(next);
  }
  free_[base] = size;
}

Region& device_region() {
  static Region* const region = new Region(device_base, uint64_t{512} << 30, true);
  return *region;
}

Region& host_region() {
  static Region* const region = new Region(host_base, uint64_t{64} << 30, false);
  return *region;
}

std::byte* backing(uint64_t address) {
  return device_region().contains(address) ? device_region().backing(address) : reinterpret_cast<std::byte*>(address);
}

void MemoryView::insert(const std::shared_ptr<Allocation>& allocation) {
  const std::unique_lock lock(mutex_);
  if (allocation->range_size == 0) {
    allocation->range_base = allocation->base;
    allocation->range_size = allocation->size;
  }
  by_base_[allocation->base] = allocation;
}

void MemoryView::erase(const std::shared_ptr<Allocation>& allocation) {
  const std::unique_lock lock(mutex_);
  const auto found = by_base_.find(allocation->base);
  if (found != by_base_.end() && found->second == allocation) by_base_.erase(found);
}

std::shared_ptr<Allocation> MemoryView::find(uint64_t address) const {
  const std::shared_lock lock(mutex_);
  auto after = by_base_.upper_bound(address);
  if (after == by_base_.begin()) return nullptr;
  const auto& candidate = std::prev(after)->second;
  return candidate->contains(address) ? candidate : nullptr;
}

std::vector<std::shared_ptr<Allocation>> MemoryView::overlapping(uint64_t base, uint64_t size) const {
  const std::shared_lock lock(mutex_);
  std::vector<std::shared_ptr<Allocation>> found;
  auto position = by_base_.upper_bound(base);
  if (position != by_base_.begin()) --position;
  for (; position != by_base_.end() && position->first < base + size; ++position) {
    if (position->first + position->second->size > base) found.push_back(position->second);
  }
  return found;
}

std::vector<std::shared_ptr<Allocation>> MemoryView::all() const {
  const std::shared_lock lock(mutex_);
  std::vector<std::shared_ptr<Allocation>> list;
  for (const auto& [base, allocation] : by_base_) list.push_back(allocation);
  return list;
}

MemoryView& host_view() {
  static MemoryView* const view = new MemoryView;
  return *view;
}

MemoryView& device_view() {
  static MemoryView* const view = new MemoryView;
  return *view;
}

unsigned next_allocation_ordinal() {
  static std::atomic<unsigned> next{1};
  return next.fetch_add(1);
}

bool charge(int device, uint64_t bytes) {
  auto& used = in_use[static_cast<size_t>(device)];
  uint64_t before = used.load();
  do {
    if (bytes > options().memory_bytes - before) return false;
  } while (!used.compare_exchange_weak(before, before + bytes));
  return true;
}

void refund(int device, uint64_t bytes) { in_use[static_cast<size_t>(device)].fetch_sub(bytes); }

uint64_t memory_in_use(int device) { return in_use[static_cast<size_t>(device)].load(); }

std::shared_ptr<Allocation> allocate(MemoryKind kind, uint64_t size, const std::shared_ptr<Context>& context,
                                     unsigned flags) {
  const bool on_device = kind == MemoryKind::device;
  const uint64_t capacity = round_up(size, page);
  if (capacity < size) return nullptr;
  if (on_device && !charge(context->device, capacity)) return nullptr;
  Region& region = on_device ? device_region() : host_region();
  const auto base = region.take(capacity, page);
  if (!base) {
    if (on_device) refund(context->device, capacity);
    return nullptr;
  }
  auto allocation = std::make_shared<Allocation>();
  allocation->base = *base;
  allocation->size = size;
  allocation->capacity = capacity;
  allocation->kind = kind;
  allocation->device = context->device;
  allocation->context = context;
  allocation->flags = flags;
  allocation->ordinal = next_allocation_ordinal();
  host_view().insert(allocation);
  device_view().insert(allocation);
  return allocation;
}

void recycle(const Allocation& allocation) {
  switch (allocation.kind) {
    case MemoryKind::device:
    case MemoryKind::pool:
      device_region().give_back(allocation.base, allocation.capacity);
      refund(allocation.device, allocation.capacity);
      break;
    case MemoryKind::managed:
    case MemoryKind::pinned: host_region().give_back(allocation.base, allocation.capacity); break;
    case MemoryKind::registered:
    case MemoryKind::mapped: break;
  }
}

void release(const std::shared_ptr<Allocation>& allocation) {
  host_view().erase(allocation);
  device_view().erase(allocation);
  recycle(*allocation);
}

std::byte* accessible(const Context& context, uint64_t address, uint64_t size) {
  if (size == 0) return backing(address);
  uint64_t position = address;
  const uint64_t end = address + size;
  if (end < address) return nullptr;
  while (position < end) {
    const auto allocation = device_view().find(position);
    if (allocation == nullptr) return nullptr;
    if (allocation->kind == MemoryKind::mapped) {
      if (allocation->access[static_cast<size_t>(context.device)].load() == CU_MEM_ACCESS_FLAGS_PROT_NONE)
        return nullptr;
    } else if (allocation->base + allocation->size < end) {
      return nullptr;
    } else if (allocation->kind == MemoryKind::device || allocation->kind == MemoryKind::pool) {
      if (allocation->device != context.device && !context.has_peer(allocation->device)) return nullptr;
    }
    position = allocation->base + allocation->size;
  }
  return backing(address);
}

bool known_to_calls(uint64_t address, uint64_t size) {
  if (size == 0) size = 1;
  uint64_t position = address;
  const uint64_t end = address + size;
  while (position < end) {
    const auto allocation = host_view().find(position);
    if (allocation == nullptr || !allocation->accessible_at_all()) return false;
    position = allocation->base + allocation->size;
    if (position < end && allocation->kind != MemoryKind::mapped) return false;
  }
  return true;
}

}  // namespace refrain::tests::simulated
