// The simulated driver as a library: what it exports, how names resolve, its life from cuInit to exit.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <set>
#include <sstream>
#include <thread>

#include "tests/simulated_driver/test_kernels.h"

namespace refrain::tests {
namespace {

const std::set<std::string>& listed_names() {
  static const std::set<std::string> names = {
#define ENTRY(name, group) #name,
#include "replay/driver_entry_points.inc"
  };
  return names;
}

void* library() { return dlopen("libcuda.so.1", RTLD_NOW); }

/// The exported address for a name, and through the resolver.
void* resolve(const char* name, int version, cuuint64_t flags, CUdriverProcAddressQueryResult* status,
              CUresult expected = CUDA_SUCCESS) {
  void* function = nullptr;
  EXPECT_EQ(driver().cuGetProcAddress(name, &function, version, flags, status), expected) << name << " at " << version;
  return function;
}

/// The name of the export that a look-up gives.
std::string resolved_name(const char* name, int version, cuuint64_t flags = 0) {
  CUdriverProcAddressQueryResult status{};
  void* function = resolve(name, version, flags, &status);
  for (const std::string& candidate : listed_names()) {
    if (function != nullptr && dlsym(library(), candidate.c_str()) == function) return candidate;
  }
  return function == nullptr ? "" : "not exported";
}

TEST(SimulatedDriverLibrary, exports_every_entry_point_of_the_list) {
  for (const std::string& name : listed_names()) EXPECT_NE(dlsym(library(), name.c_str()), nullptr) << name;
}

TEST(SimulatedDriverLibrary, the_list_is_what_the_toolkits_stub_exports) {
  const char* const stub = "/usr/local/cuda/lib64/stubs/libcuda.so";
  const bool same_version =
      read_text("/usr/local/cuda/include/cuda.h").find("#define CUDA_VERSION 13000") != std::string::npos;
  if (access(stub, R_OK) != 0 || !same_version) GTEST_SKIP() << "no stub library of CUDA 13.0 here";
  std::FILE* pipe = popen((std::string("nm -D --defined-only ") + stub).c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::set<std::string> exported;
  std::array<char, 512> line{};
  while (std::fgets(line.data(), line.size(), pipe) != nullptr) {
    std::istringstream words(line.data());
    std::string address, type, name;
    words >> address >> type >> name;
    if (name.rfind("cu", 0) == 0 && name.rfind("cudbg", 0) != 0) exported.insert(name);  // the debugger's are no API
  }
  pclose(pipe);
  for (const std::string& name : exported) EXPECT_TRUE(listed_names().contains(name)) << name << " is not in the list";
  for (const std::string& name : listed_names()) EXPECT_TRUE(exported.contains(name)) << name << " is not exported";
}

TEST(SimulatedDriverResolver, X2_a_name_means_another_function_at_another_version) {
  EXPECT_EQ(resolved_name("cuCtxSynchronize", 2000), "cuCtxSynchronize");
  EXPECT_EQ(resolved_name("cuCtxSynchronize", 12090), "cuCtxSynchronize");
  EXPECT_EQ(resolved_name("cuCtxSynchronize", 13000), "cuCtxSynchronize_v2");
  EXPECT_EQ(resolved_name("cuMemAlloc", 2000), "cuMemAlloc");
  EXPECT_EQ(resolved_name("cuMemAlloc", 3020), "cuMemAlloc_v2");
  EXPECT_EQ(resolved_name("cuGraphInstantiate", 10000), "cuGraphInstantiate");
  EXPECT_EQ(resolved_name("cuGraphInstantiate", 11000), "cuGraphInstantiate_v2");
  EXPECT_EQ(resolved_name("cuGraphInstantiate", 13000), "cuGraphInstantiate_v2");  // not what cuda.h means by the name
  EXPECT_EQ(resolved_name("cuGraphInstantiateWithFlags", 13000), "cuGraphInstantiateWithFlags");
  EXPECT_EQ(resolved_name("cuCtxCreate", 3020), "cuCtxCreate_v2");
  EXPECT_EQ(resolved_name("cuCtxCreate", 11040), "cuCtxCreate_v3");
  EXPECT_EQ(resolved_name("cuCtxCreate", 13000), "cuCtxCreate_v4");
  EXPECT_EQ(resolved_name("cuStreamGetCaptureInfo", 10010), "cuStreamGetCaptureInfo");
  EXPECT_EQ(resolved_name("cuStreamGetCaptureInfo", 12030), "cuStreamGetCaptureInfo_v3");
  EXPECT_EQ(resolved_name("cuGraphKernelNodeGetParams", 12000), "cuGraphKernelNodeGetParams_v2");
}

TEST(SimulatedDriverResolver, X1_the_resolver_answers_for_itself_by_arity) {
  EXPECT_EQ(resolved_name("cuGetProcAddress", 11030), "cuGetProcAddress");
  EXPECT_EQ(resolved_name("cuGetProcAddress", 12000), "cuGetProcAddress_v2");
  using FirstVersion = CUresult (*)(const char*, void**, int, cuuint64_t);
  const auto first = reinterpret_cast<FirstVersion>(resolve("cuGetProcAddress", 11030, 0, nullptr));
  void* function = nullptr;
  FAILS(CUDA_SUCCESS, first("cuMemAlloc", &function, 13000, 0));
  EXPECT_EQ(function, dlsym(library(), "cuMemAlloc_v2"));
  FAILS(CUDA_ERROR_NOT_FOUND, first("cuNoSuchFunction", &function, 13000, 0));
  FAILS(CUDA_ERROR_NOT_FOUND, first("cuLaunchKernelEx", &function, 4000, 0));
}

TEST(SimulatedDriverResolver, per_thread_flag_falls_back_where_there_is_no_variant) {
  constexpr cuuint64_t per_thread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  EXPECT_EQ(resolved_name("cuLaunchKernel", 13000, per_thread), "cuLaunchKernel_ptsz");
  EXPECT_EQ(resolved_name("cuMemcpyHtoD", 13000, per_thread), "cuMemcpyHtoD_v2_ptds");
  EXPECT_EQ(resolved_name("cuMemcpyHtoD", 4000, per_thread), "");  // there is one, but not yet
  EXPECT_EQ(resolved_name("cuMemAlloc", 13000, per_thread), "cuMemAlloc_v2");
  EXPECT_EQ(resolved_name("cuLaunchKernel", 13000, CU_GET_PROC_ADDRESS_LEGACY_STREAM), "cuLaunchKernel");
}

TEST(SimulatedDriverResolver, X1_unknown_old_and_new_requests) {
  CUdriverProcAddressQueryResult status{};
  EXPECT_EQ(resolve("", 0, 0, nullptr), nullptr);
  EXPECT_EQ(resolve("cuNoSuchFunction", 13000, 0, &status), nullptr);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  EXPECT_EQ(resolve("cuMemAlloc_v2", 13000, 0, &status), nullptr);  // names come without their version
  EXPECT_EQ(resolve("cuLaunchKernelEx", 4000, 0, &status), nullptr);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  resolve("cuMemAlloc", 99000, 0, &status, CUDA_ERROR_INVALID_VALUE);
  resolve("cuMemAlloc", 13000, 8, &status, CUDA_ERROR_INVALID_VALUE);
}

TEST(SimulatedDriverLibrary, refuses_export_tables) {
  const void* table = nullptr;
  const CUuuid unknown{};
  EXPECT_NE(CU(cuGetExportTable)(&table, &unknown), CUDA_SUCCESS);
}

TEST(SimulatedDriverLibrary, X6_calls_before_initialisation) {
  if (!run_by_another()) {
    EXPECT_EQ(run_again("SimulatedDriverLibrary.X6_calls_before_initialisation", {}), 0);
    return;
  }
  int version = 0;
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUdeviceptr address = 0;
  const char* name = nullptr;
  FAILS(CUDA_SUCCESS, CU(cuDriverGetVersion)(&version));
  FAILS(CUDA_SUCCESS, CU(cuGetErrorName)(CUDA_ERROR_NOT_READY, &name));
  EXPECT_STREQ(name, "CUDA_ERROR_NOT_READY");
  FAILS(CUDA_ERROR_NOT_INITIALIZED, CU(cuDeviceGet)(&device, 0));
  FAILS(CUDA_ERROR_NOT_INITIALIZED, CU(cuCtxGetCurrent)(&context));
  FAILS(CUDA_ERROR_NOT_INITIALIZED, CU(cuMemAlloc)(&address, 64));
  FAILS(CUDA_ERROR_NOT_INITIALIZED, CU(cuLaunchKernel)(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  FAILS(CUDA_ERROR_INVALID_VALUE, CU(cuInit)(1));
  FAILS(CUDA_SUCCESS, CU(cuInit)(0));
  FAILS(CUDA_ERROR_INVALID_CONTEXT, CU(cuMemAlloc)(&address, 64));
  FAILS(CUDA_ERROR_INVALID_CONTEXT, driver().cuCtxSynchronize());
}

TEST_F(SimulatedDriver, a_forked_child_is_not_initialised) {
  const pid_t child = fork();
  if (child == 0) {
    CUdeviceptr address = 0;
    const bool right = CU(cuMemAlloc)(&address, 64) == CUDA_ERROR_NOT_INITIALIZED &&
                       driver().cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED &&
                       CU(cuInit)(0) == CUDA_ERROR_NOT_INITIALIZED;
    _exit(right ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  OK(store(buffer, 5, stream));
  OK(CU(cuStreamSynchronize)(stream));
}

TEST(SimulatedDriverLibrary, L10_calls_after_the_exit_handler_are_deinitialised) {
  if (!run_by_another()) {
    EXPECT_EQ(run_again("SimulatedDriverLibrary.L10_calls_after_the_exit_handler_are_deinitialised", {}), 0);
    return;
  }
  // Registered before the driver's own handler, so it runs after that.
  std::atexit([] {
    CUdevice device = 0;
    if (CU(cuDeviceGet)(&device, 0) != CUDA_ERROR_DEINITIALIZED) _exit(1);
    if (driver().cuCtxSynchronize() != CUDA_ERROR_DEINITIALIZED) _exit(1);
  });
  look_up("cuDeviceGet", CUDA_VERSION);
  OK(CU(cuInit)(0));
}

TEST(SimulatedDriverLibrary, an_older_driver_knows_no_newer_names) {
  if (!run_by_another()) {
    const std::map<std::string, std::string> older = {{"REFRAIN_SIM_DRIVER_VERSION", "12030"}};
    if (!on_simulation()) GTEST_SKIP() << "real driver";
    EXPECT_EQ(run_again("SimulatedDriverLibrary.an_older_driver_knows_no_newer_names", older), 0);
    return;
  }
  void* library_handle = library();
  using Resolver = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);
  const auto resolver = reinterpret_cast<Resolver>(dlsym(library_handle, "cuGetProcAddress_v2"));
  void* function = nullptr;
  FAILS(CUDA_ERROR_INVALID_VALUE, resolver("cuMemAlloc", &function, 13000, 0, nullptr));
  FAILS(CUDA_SUCCESS, resolver("cuFuncGetName", &function, 12030, 0, nullptr));
  FAILS(CUDA_SUCCESS, resolver("cuFuncGetParamInfo", &function, 12030, 0, nullptr));
  EXPECT_EQ(function, nullptr);
  FAILS(CUDA_SUCCESS, resolver("cuCtxSynchronize", &function, 12030, 0, nullptr));
  EXPECT_EQ(function, dlsym(library_handle, "cuCtxSynchronize"));
}

}  // namespace
}  // namespace refrain::tests
