// Memory of the simulated devices: where it lies, what is allocated, and whether a device may touch it.
//
// Device addresses belong to a region that nobody can read on the host: a program that follows a device pointer
// crashes, as it would on a machine with a GPU. The bytes are in a second region of the same size. Pinned and managed
// memory lies in a third one and has the same address on both sides. The regions lie at fixed places when these are
// free, so that addresses are the same from run to run.
//
// Two views of what is allocated: the *host view* is what calls see; the *device view* is what work sees when it
// executes. They differ only while stream-ordered allocations and frees wait in a stream.
//
// Threads: any.
// Fails:   nullptr or nullopt.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "tests/simulated_driver/work.h"

namespace refrain::tests::simulated {

constexpr int max_devices = 8;
constexpr uint64_t page = 4096;

enum class MemoryKind { device, managed, pinned, registered, pool, mapped };

struct Allocation {
  uint64_t base = 0;
  uint64_t size = 0;
  uint64_t capacity = 0;                    ///< bytes taken from the region
  uint64_t range_base = 0, range_size = 0;  ///< of mapped memory: its reservation; else as base and size
  MemoryKind kind = MemoryKind::device;
  int device = 0;
  std::weak_ptr<Context> context;
  unsigned flags = 0;
  unsigned ordinal = 0;        ///< from 1, in the order of allocation
  std::shared_ptr<Pool> pool;  ///< of pool memory
  uint64_t physical = 0;       ///< of mapped memory: its CUmemGenericAllocationHandle
  std::array<std::atomic<CUmemAccess_flags>, max_devices> access{};  ///< of mapped memory
  bool contains(uint64_t address) const { return address >= base && address - base < size; }
  /// False for mapped memory that no device was given access to.
  bool accessible_at_all() const {
    if (kind != MemoryKind::mapped) return true;
    for (const auto& flags : access) {
      if (flags.load() != CU_MEM_ACCESS_FLAGS_PROT_NONE) return true;
    }
    return false;
  }
  bool on_host() const { return kind == MemoryKind::pinned || kind == MemoryKind::registered; }
};

/// A range of addresses that is handed out in pages, lowest first.
class Region {
 public:
  Region(uint64_t wanted_base, uint64_t size, bool hidden);
  std::optional<uint64_t> take(uint64_t size, uint64_t alignment, uint64_t wanted = 0);
  void give_back(uint64_t base, uint64_t size);
  bool contains(uint64_t address) const { return address - base_ < size_; }
  uint64_t offset(uint64_t address) const { return address - base_; }
  /// The bytes behind an address of this region.
  std::byte* backing(uint64_t address) const { return reinterpret_cast<std::byte*>(address - base_ + backing_); }

 private:
  uint64_t base_ = 0;
  uint64_t backing_ = 0;
  uint64_t size_ = 0;
  std::map<uint64_t, uint64_t> free_;  ///< base -> size
  std::mutex mutex_;
};

Region& device_region();
Region& host_region();

/// Where the bytes of an address lie on the host, whether or not anything is allocated there.
std::byte* backing(uint64_t address);

class MemoryView {
 public:
  void insert(const std::shared_ptr<Allocation>& allocation);
  /// Takes `allocation` out, unless another one took its place since.
  void erase(const std::shared_ptr<Allocation>& allocation);
  std::shared_ptr<Allocation> find(uint64_t address) const;
  std::vector<std::shared_ptr<Allocation>> overlapping(uint64_t base, uint64_t size) const;
  std::vector<std::shared_ptr<Allocation>> all() const;

 private:
  mutable std::shared_mutex mutex_;
  std::map<uint64_t, std::shared_ptr<Allocation>> by_base_;
};

MemoryView& host_view();
MemoryView& device_view();

unsigned next_allocation_ordinal();

/// Takes from the memory that a device has; false when there is not enough.
bool charge(int device, uint64_t bytes);
void refund(int device, uint64_t bytes);
uint64_t memory_in_use(int device);

/// New memory, in both views. For device memory the device is charged.
std::shared_ptr<Allocation> allocate(MemoryKind kind, uint64_t size, const std::shared_ptr<Context>& context,
                                     unsigned flags);
/// Ends it, in both views.
void release(const std::shared_ptr<Allocation>& allocation);
/// Gives address and memory back; for an allocation that is in no view any more.
void recycle(const Allocation& allocation);

/// The bytes at a device address, when work of `context` may touch `size` of them now; else nullptr.
std::byte* accessible(const Context& context, uint64_t address, uint64_t size);

/// Whether calls may name `size` bytes from `address` on: inside one allocation, or adjacent mappings.
bool known_to_calls(uint64_t address, uint64_t size);

}  // namespace refrain::tests::simulated
