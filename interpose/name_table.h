// From a name to its entry point, for the dlsym hook.
//
// Owns:    one constant table. No allocation, no lock, valid before any constructor ran.
#pragma once

#include "interpose/entry_points.h"

namespace refrain::interpose {

/// The entry point of exactly this name, or unknown_entry_point. nullptr is no name.
EntryPoint find_entry_point(const char* name) noexcept;

/// Looks like a function of the driver (`cuLaunchFoo`, not `cudaFoo` or `cublasFoo`), in the list or not.
constexpr bool looks_like_driver_name(const char* name) noexcept {
  return name != nullptr && name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' && name[2] <= 'Z';
}

}  // namespace refrain::interpose
