// NVTX by injection: every shared object that uses NVTX calls one of these exported functions once, at its first NVTX
// call.
//
// Threads: any, also under the dynamic loader's lock and before the library's constructor ran.
// Fails:   0, as an injection that declines; the object's NVTX functions then do nothing. A client whose tables cannot
// be
//          read, or whose next functions are of a kind for which there is no place, is left to the chained tool.
#pragma once

#include "interpose/nvtx_tables.h"

extern "C" {
/// NVTX 2 and 3. 1 when the client is attached.
[[gnu::visibility("default")]] int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table) noexcept;
/// NVTX 1, whose tables are handed out in another way: passed on to the chained tool. Clients of NVTX 2 ask for the
/// name above first.
[[gnu::visibility("default")]] int InitializeInjectionNvtx(void* get_export_table) noexcept;
/// Extensions of NVTX 3. Payloads: 1, and their ranges are seen; others are passed on to the chained tool.
[[gnu::visibility("default")]] int InitializeInjectionNvtxExtension(void* module) noexcept;  // in nvtx_extension.cpp
}

namespace refrain::interpose {

struct NvtxClients {
  unsigned attached = 0;   ///< shared objects whose ranges are seen
  unsigned unwatched = 0;  ///< shared objects that were left to the chained tool
};

/// How many clients came so far.
NvtxClients nvtx_clients() noexcept;

}  // namespace refrain::interpose
