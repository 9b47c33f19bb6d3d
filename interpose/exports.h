// The driver's names as this library exports them, for programs that bind to them by the loader.
#pragma once

#include "interpose/loaded_driver.h"

extern "C" {
// The code between which the exported names lie; exports.S, which the build makes from the list.
[[gnu::visibility("hidden")]] extern const char refrain_exports_begin[];
[[gnu::visibility("hidden")]] extern const char refrain_exports_end[];
}

namespace refrain::interpose {

/// True for the address of one of our own exported driver names.
inline bool is_export(const void* address) noexcept {
  return AddressRange{reinterpret_cast<std::uintptr_t>(refrain_exports_begin),
                      reinterpret_cast<std::uintptr_t>(refrain_exports_end)}
      .contains(address);
}

}  // namespace refrain::interpose
