// A table of fixed size from opaque handles to texts, for look-ups without a lock.
//
// Threads: find() from any thread at any time; insert() and remove() under the owner's lock.
// Fails:   insert() returns nullptr when there is no place near where the handle belongs.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace refrain::interpose {

struct HandleEntry {
  static constexpr std::uintptr_t unused = 0, removed = UINTPTR_MAX;

  std::atomic<std::uintptr_t> handle{unused};
  std::atomic<const std::string_view*> text{nullptr};  ///< never freed: a reader may hold it after remove()
  std::atomic<std::uint64_t> serial{0};
  // Read and written under the owner's lock only.
  unsigned uses = 0;
  HandleEntry* next = nullptr;  ///< in a domain: its first string; in a string: the next one of the same domain
};

template <std::size_t Size>
class HandleTable {
 public:
  HandleEntry* find(std::uintptr_t handle) noexcept {
    if (handle == HandleEntry::unused || handle == HandleEntry::removed) return nullptr;
    for (std::size_t i = 0, at = home(handle); i < longest_probe; ++i, at = after(at)) {
      const std::uintptr_t found = entries_[at].handle.load(std::memory_order_acquire);
      if (found == handle) return &entries_[at];
      if (found == HandleEntry::unused) return nullptr;
    }
    return nullptr;
  }

  /// A place for a handle that is not in the table. Fill it, then publish().
  HandleEntry* insert(std::uintptr_t handle) noexcept {
    if (handle == HandleEntry::unused || handle == HandleEntry::removed) return nullptr;
    for (std::size_t i = 0, at = home(handle); i < longest_probe; ++i, at = after(at)) {
      const std::uintptr_t found = entries_[at].handle.load(std::memory_order_relaxed);
      if (found == HandleEntry::unused || found == HandleEntry::removed) return &entries_[at];
    }
    return nullptr;
  }
  static void publish(HandleEntry& entry, std::uintptr_t handle) noexcept {
    entry.handle.store(handle, std::memory_order_release);
  }

  /// The place can be used again; until then a look-up steps over it, longest_probe steps in all.
  static void remove(HandleEntry& entry) noexcept {
    entry.handle.store(HandleEntry::removed, std::memory_order_release);
  }

 private:
  static_assert((Size & (Size - 1)) == 0);
  static constexpr std::size_t longest_probe = 64;

  static std::size_t home(std::uintptr_t handle) noexcept {
    return static_cast<std::size_t>((handle * 0x9E3779B97F4A7C15u) >> 32) % Size;
  }
  static std::size_t after(std::size_t at) noexcept { return (at + 1) % Size; }

  HandleEntry entries_[Size]{};
};

}  // namespace refrain::interpose
