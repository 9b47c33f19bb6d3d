// cuGetProcAddress, cuGetExportTable.
#include <cstring>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tests/simulated_driver/entry.h"
#include "tests/simulated_driver/exports.h"
#include "tests/simulated_driver/options.h"

using namespace refrain::tests::simulated;

namespace {

struct Version {
  int since;
  void* symbol;
};

struct Family {
  std::vector<Version> plain, per_thread;  ///< oldest first
};

using Families = std::unordered_map<std::string_view, Family>;

/// The table, as far as the driver version reaches.
const Families& families() {
  static const Families* const table = [] {
    auto* made = new Families;
    const auto add = [&](const char* name, bool per_thread, int since, refrain::replay::EntryPoint entry) {
      if (since > options().driver_version) return;
      Family& family = (*made)[name];
      auto& versions = per_thread ? family.per_thread : family.plain;
      versions.push_back({since, exported_address(static_cast<unsigned>(entry))});
    };
#define VERSION(name, per_thread, since, symbol) add(#name, per_thread, since, refrain::replay::EntryPoint::symbol);
#include "tests/simulated_driver/resolver_table.inc"
    return made;
  }();
  return *table;
}

void* newest(const std::vector<Version>& versions, int wanted) {
  void* symbol = nullptr;
  for (const Version& version : versions) {
    if (version.since <= wanted) symbol = version.symbol;
  }
  return symbol;
}

/// The symbol for a request, and the status of the search; null is no error here.
CUresult search(const char* name, int version, cuuint64_t flags, void** symbol,
                CUdriverProcAddressQueryResult* status) {
  constexpr cuuint64_t known = CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  if (name == nullptr || (flags & ~known) != 0 || version > options().driver_version) return CUDA_ERROR_INVALID_VALUE;
  *symbol = nullptr;
  *status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  const auto found = families().find(name);
  if (found == families().end()) return CUDA_SUCCESS;
  const Family& family = found->second;
  const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0 && !family.per_thread.empty();
  *symbol = newest(per_thread ? family.per_thread : family.plain, version);
  *status = *symbol != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
  return CUDA_SUCCESS;
}

}  // namespace

// The second version tells by the status alone that there is nothing to give; the first one by its result.
SIM(cuGetProcAddress_v2)
(const char* name, void** function, int version, cuuint64_t flags, CUdriverProcAddressQueryResult* status) {
  CUdriverProcAddressQueryResult outcome{};
  void* symbol = nullptr;
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = search(name, version, flags, &symbol, &outcome); result != CUDA_SUCCESS) return result;
  *function = symbol;
  if (status != nullptr) *status = outcome;
  return CUDA_SUCCESS;
}

SIM(cuGetProcAddress)(const char* name, void** function, int version, cuuint64_t flags) {
  CUdriverProcAddressQueryResult outcome{};
  void* symbol = nullptr;
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = search(name, version, flags, &symbol, &outcome); result != CUDA_SUCCESS) return result;
  if (symbol == nullptr) return CUDA_ERROR_NOT_FOUND;
  *function = symbol;
  return CUDA_SUCCESS;
}

SIM(cuGetExportTable)(const void** table, const CUuuid* id) {
  if (table == nullptr || id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *table = nullptr;
  return CUDA_ERROR_INVALID_VALUE;
}
