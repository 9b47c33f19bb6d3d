// Versions, errors, devices, and the look-up of functions.
#include "tests/conformance/program.h"

namespace refrain::tests::conformance {
namespace {

void look_up(const char* name, int version, cuuint64_t flags) {
  void* found = nullptr;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
  tell("cuGetProcAddress", driver().cuGetProcAddress(name, &found, version, flags, &status));
  note("found %d status %d", found != nullptr, static_cast<int>(status));
}

}  // namespace

PROGRAM(resolver_known_name) { look_up("cuLaunchKernel", 4000, CU_GET_PROC_ADDRESS_DEFAULT); }
PROGRAM(resolver_unknown_name) { look_up("cuNoSuchFunction", CUDA_VERSION, CU_GET_PROC_ADDRESS_DEFAULT); }
PROGRAM(resolver_version_too_small) { look_up("cuLaunchKernelEx", 11000, CU_GET_PROC_ADDRESS_DEFAULT); }
PROGRAM(resolver_version_of_the_future) { look_up("cuLaunchKernel", 99000, CU_GET_PROC_ADDRESS_DEFAULT); }
PROGRAM(resolver_unknown_flags) { look_up("cuLaunchKernel", CUDA_VERSION, 1 << 7); }
PROGRAM(resolver_suffixed_name) { look_up("cuMemAlloc_v2", CUDA_VERSION, CU_GET_PROC_ADDRESS_DEFAULT); }

// The status may be null; driver 580 is ended by a null among the other arguments.
PROGRAM(resolver_without_a_status) {
  void* found = nullptr;
  tell("cuGetProcAddress", driver().cuGetProcAddress("cuInit", &found, CUDA_VERSION, 0, nullptr));
  note("found %d", found != nullptr);
}

PROGRAM(resolver_interfaces_differ) {
  void* legacy = nullptr;
  void* per_thread = nullptr;
  void* standard = nullptr;
  CUdriverProcAddressQueryResult status{};
  const auto find = [&](const char* name, cuuint64_t flags, void** found) {
    tell("cuGetProcAddress", driver().cuGetProcAddress(name, found, CUDA_VERSION, flags, &status));
  };
  find("cuLaunchKernel", CU_GET_PROC_ADDRESS_LEGACY_STREAM, &legacy);
  find("cuLaunchKernel", CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &per_thread);
  find("cuLaunchKernel", CU_GET_PROC_ADDRESS_DEFAULT, &standard);
  note("legacy is the default %d per-thread differs %d", legacy == standard, legacy != per_thread);
  find("cuMemAlloc", CU_GET_PROC_ADDRESS_LEGACY_STREAM, &legacy);
  find("cuMemAlloc", CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &per_thread);
  note("cuMemAlloc has one interface %d", legacy == per_thread);
}

PROGRAM(resolver_itself) {
  void* found = nullptr;
  CUdriverProcAddressQueryResult status{};
  tell("cuGetProcAddress", driver().cuGetProcAddress("cuGetProcAddress", &found, CUDA_VERSION, 0, &status));
  note("found %d", found != nullptr);
  if (found == nullptr) return;
  const auto again = reinterpret_cast<decltype(&cuGetProcAddress)>(found);
  void* init = nullptr;
  tell("cuGetProcAddress", again("cuInit", &init, CUDA_VERSION, 0, &status));
  note("found %d", init != nullptr);
}

PROGRAM(resolver_same_as_dlsym) {
  void* found = nullptr;
  CUdriverProcAddressQueryResult status{};
  for (auto [name, symbol] : {std::pair{"cuMemAlloc", "cuMemAlloc_v2"}, std::pair{"cuLaunchKernel", "cuLaunchKernel"},
                              std::pair{"cuCtxSynchronize", "cuCtxSynchronize_v2"}}) {
    MUST(cuGetProcAddress, name, &found, CUDA_VERSION, 0, &status);
    note("%s same %d", name, found == find_function(symbol));
  }
}

PROGRAM(version_of_the_driver) {
  int version = 0;
  TELL(cuDriverGetVersion, &version);
  note("13.0 or later %d", version >= 13000);
  TELL(cuDriverGetVersion, nullptr);
}

PROGRAM(init_again) {
  TELL(cuInit, 0);
  TELL(cuInit, 1);
}

PROGRAM(error_names) {
  for (int code : {0, 1, 2, 3, 200, 201, 400, 401, 500, 600, 700, 701, 719, 900, 901, 904, 907, 908, 910, 999}) {
    const char* name = nullptr;
    const char* text = nullptr;
    QUIET(cuGetErrorName, static_cast<CUresult>(code), &name);
    QUIET(cuGetErrorString, static_cast<CUresult>(code), &text);
    note("%d %s: %s", code, name, text);
  }
}

PROGRAM(error_name_of_none) {
  const char* name = "before";
  TELL(cuGetErrorName, static_cast<CUresult>(12345), &name);
  note("null %d", name == nullptr);
}

PROGRAM(device_basics) {
  CUdevice device = 9;
  TELL(cuDeviceGet, &device, 0);
  note("device %d", device);
  TELL(cuDeviceGet, &device, 99);
  TELL(cuDeviceGet, &device, -1);
  TELL(cuDeviceGet, nullptr, 0);
}

PROGRAM(device_attributes) {
  for (CUdevice_attribute attribute :
       {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z,
        CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK,
        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, CU_DEVICE_ATTRIBUTE_WARP_SIZE,
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
        CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH,
        CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY,
        CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH}) {
    int value = -1;
    QUIET(cuDeviceGetAttribute, &value, attribute, p.device());
    note("attribute %d is %d", static_cast<int>(attribute), value);
  }
}

PROGRAM(device_attribute_unknown) {
  int value = 0;
  TELL(cuDeviceGetAttribute, &value, static_cast<CUdevice_attribute>(5000), p.device());
  TELL(cuDeviceGetAttribute, nullptr, CU_DEVICE_ATTRIBUTE_WARP_SIZE, p.device());
  TELL(cuDeviceGetAttribute, &value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 99);
}

}  // namespace refrain::tests::conformance
