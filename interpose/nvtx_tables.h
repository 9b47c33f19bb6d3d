// The NVTX functions that Refrain replaces, and how a client of NVTX hands out the slots that hold them.
//
// Every shared object that uses NVTX has its own tables. A slot holds the function that the object calls; a tool puts
// its own function there. Only the functions below are replaced. Whatever else a client offers (marks, categories,
// thread names, resources, and the modules for CUDA, OpenCL and synchronisation) stays as the chained tool left it.
#pragma once

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>
#undef NVTX_NO_IMPL

// ROW(module, name): the slot is NVTX_CBID_<module>_<name>, its type nvtx<name>_impl_fntype.
// Version 14 of clang-format moves the continuations at each run.
// clang-format off
#define NVTX_REPLACED_FUNCTIONS(ROW) \
  ROW(CORE, RangeStartEx) \
  ROW(CORE, RangeStartA) \
  ROW(CORE, RangeStartW) \
  ROW(CORE, RangeEnd) \
  ROW(CORE, RangePushEx) \
  ROW(CORE, RangePushA) \
  ROW(CORE, RangePushW) \
  ROW(CORE, RangePop) \
  ROW(CORE2, DomainRangeStartEx) \
  ROW(CORE2, DomainRangeEnd) \
  ROW(CORE2, DomainRangePushEx) \
  ROW(CORE2, DomainRangePop) \
  ROW(CORE2, DomainRegisterStringA) \
  ROW(CORE2, DomainRegisterStringW) \
  ROW(CORE2, DomainCreateA) \
  ROW(CORE2, DomainCreateW) \
  ROW(CORE2, DomainDestroy)
// clang-format on

namespace refrain::interpose {

/// The slots of one module of one client.
struct SlotTable {
  NvtxFunctionTable slots = nullptr;
  unsigned size = 0;  ///< number of entries, the unused entry 0 included

  /// The slot with this number, or nullptr when the client is older than the function.
  NvtxFunctionPointer* slot(unsigned id) const noexcept { return id < size ? slots[id] : nullptr; }
};

/// All modules of one client.
struct ClientTables {
  SlotTable modules[NVTX_CB_MODULE_SIZE];
};

}  // namespace refrain::interpose
