#include "tests/nvtx/toy_client.h"

#include <cstdlib>

#include "tests/nvtx/nvtx_test.h"

namespace refrain::tests {

namespace {

ToyClient* current = nullptr;

/// In the place of the initialiser that NVTX has in every slot: it must never be called.
void initial_function() { std::abort(); }

int module_table(NvtxCallbackModule module, NvtxFunctionTable* table, unsigned* size) {
  static NvtxFunctionPointer* core[NVTX_CBID_CORE_SIZE];
  static NvtxFunctionPointer* core2[NVTX_CBID_CORE2_SIZE];
  if (current->before_tables != nullptr) current->before_tables();
  if (module == NVTX_CB_MODULE_CORE) {
    for (unsigned i = 1; i < NVTX_CBID_CORE_SIZE; ++i) core[i] = &current->core[i];
    *table = core;
    if (size != nullptr) *size = current->core_size;
    return 1;
  }
  if (module == NVTX_CB_MODULE_CORE2 && current->core2_size != 0) {
    for (unsigned i = 1; i < NVTX_CBID_CORE2_SIZE; ++i) core2[i] = &current->core2[i];
    *table = core2;
    if (size != nullptr) *size = current->core2_size;
    return 1;
  }
  return 0;
}

const void* export_table(std::uint32_t id) {
  static const NvtxExportTableCallbacks callbacks{sizeof callbacks, module_table};
  static const NvtxExportTableVersionInfo version{sizeof version, 2, 0,
                                                  [](std::uint32_t told) { current->told_version = told; }};
  if (id == NVTX_ETID_CALLBACKS) return current->callbacks ? &callbacks : nullptr;
  return id == NVTX_ETID_VERSIONINFO ? &version : nullptr;
}

}  // namespace

ToyClient::ToyClient() {
  for (NvtxFunctionPointer& slot : core) slot = initial_function;
  for (NvtxFunctionPointer& slot : core2) slot = initial_function;
}

int ToyClient::initialise(const char* name) {
  current = this;
  return reinterpret_cast<NvtxInitializeInjectionNvtxFunc_t>(library_function(NVTX_TEST_INJECTION, name))(export_table);
}

bool ToyClient::is_untouched(NvtxFunctionPointer slot) const { return slot == initial_function; }

}  // namespace refrain::tests
