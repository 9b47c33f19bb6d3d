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

CUresult resolve(const char* name, void** function, int version, cuuint64_t flags,
                 CUdriverProcAddressQueryResult* status) {
  constexpr cuuint64_t known = CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  if (name == nullptr || function == nullptr || (flags & ~known) != 0 || flags == known)
    return CUDA_ERROR_INVALID_VALUE;
  if (version > options().driver_version) return CUDA_ERROR_INVALID_VALUE;
  *function = nullptr;
  const auto found = families().find(name);
  if (found == families().end()) {
    if (status != nullptr) *status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return CUDA_ERROR_NOT_FOUND;
  }
  const Family& family = found->second;
  const bool per_thread = flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM && !family.per_thread.empty();
  void* const symbol = newest(per_thread ? family.per_thread : family.plain, version);
  if (status != nullptr) {
    *status = symbol != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
  }
  // A name that exists, but only in newer versions, is no error: the status tells.
  *function = symbol;
  return CUDA_SUCCESS;
}

}  // namespace

SIM(cuGetProcAddress_v2)
(const char* name, void** function, int version, cuuint64_t flags, CUdriverProcAddressQueryResult* status) {
  return resolve(name, function, version, flags, status);
}

SIM(cuGetProcAddress)(const char* name, void** function, int version, cuuint64_t flags) {
  return resolve(name, function, version, flags, nullptr);
}

SIM(cuGetExportTable)(const void** table, const CUuuid* id) {
  if (table == nullptr || id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *table = nullptr;
  return CUDA_ERROR_INVALID_VALUE;
}
