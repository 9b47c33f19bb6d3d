// The real driver of this process: its functions, their addresses, where its code lies.
//
// Owns:    one table in pages of its own, never freed, and a reference to libcuda so that it is never unloaded.
//          Never loads libcuda: it only finds one that the program loaded.
// Threads: any. Built by whoever needs it first, without a lock: of two builders one publishes, the other discards.
// Fails:   nullptr while the program has not loaded a driver.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "interpose/entry_points.h"

namespace refrain::interpose {

/// A half-open range of addresses.
struct AddressRange {
  std::uintptr_t begin = 0, end = 0;
  bool contains(const void* address) const noexcept {
    const auto value = reinterpret_cast<std::uintptr_t>(address);
    return value >= begin && value < end;
  }
};

/// Constant after it was published.
struct LoadedDriver {
  replay::Driver functions;
  AddressRange code;  ///< the executable pages of the object that holds cuInit

  struct Address {
    std::uintptr_t address = 0;
    EntryPoint entry = unknown_entry_point;
  };
  std::array<Address, entry_point_count> by_address{};  ///< the functions of the list that this driver has
  unsigned size = 0;

  /// The entry point whose real function is at exactly `address`, or unknown_entry_point. Where several share it, one
  /// whose name begins with `name`, then a hooked one, then one for per-thread streams if that is wanted.
  EntryPoint find(const void* address, const char* name, bool per_thread) const noexcept;
  /// The real function of `entry`, nullptr when this driver has none.
  void* real(EntryPoint entry) const noexcept;
};

namespace details {
extern std::atomic<const LoadedDriver*> published_driver;
}

/// The driver if it is known already.
inline const LoadedDriver* known_driver() noexcept { return details::published_driver.load(std::memory_order_acquire); }

/// The driver that the program has loaded: the next definition after ours, else a libcuda.so.1 that is open.
const LoadedDriver* find_driver() noexcept;

/// The driver, learnt from `function` which a look-up of the program found; nullptr when it does not lie in a libcuda.
const LoadedDriver* find_driver_of(const void* function) noexcept;

}  // namespace refrain::interpose
