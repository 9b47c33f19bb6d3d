// A client of NVTX made by hand: older versions, missing modules, slots that a test can look at.
#pragma once

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

namespace refrain::tests {

/// One client at a time, as the functions that NVTX hands out know nothing of an object.
struct ToyClient {
  unsigned core_size = NVTX_CBID_CORE_SIZE;
  unsigned core2_size = NVTX_CBID_CORE2_SIZE;  ///< 0: the module does not exist
  bool callbacks = true;
  void (*before_tables)() = nullptr;  ///< called when the tables are asked for

  NvtxFunctionPointer core[NVTX_CBID_CORE_SIZE]{};
  NvtxFunctionPointer core2[NVTX_CBID_CORE2_SIZE]{};
  unsigned told_version = 0;

  ToyClient();
  /// Calls the initialiser of this name in the test injection.
  int initialise(const char* name = "InitializeInjectionNvtx2");
  /// True when the slot still holds what NVTX put there.
  bool is_untouched(NvtxFunctionPointer slot) const;

  template <typename Function>
  static Function as(NvtxFunctionPointer slot) {
    return reinterpret_cast<Function>(slot);
  }
};

}  // namespace refrain::tests
