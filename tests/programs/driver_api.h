// How the test programs reach the driver: as the CUDA runtime does, by dlopen, dlsym("cuGetProcAddress_v2") and
// look-ups through that pointer. The same binary runs on the simulated and on the real driver, bare and under Refrain.
//
// Use:   const DriverApi& cuda = driver(); check(cuda.cuInit(0), "cuInit");
// Fails: a missing library or function ends the program with exit code 2 and one line on stderr.
#pragma once

#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "tests/programs/program_function.h"

// FUNCTION(name): the newest interface of `name` in CUDA 13.0. FUNCTION_AT: an older one.
// clang-format off
#define DRIVER_FUNCTIONS \
  FUNCTION(cuInit) \
  FUNCTION(cuDriverGetVersion) \
  FUNCTION(cuDeviceGet) \
  FUNCTION(cuDeviceGetCount) \
  FUNCTION(cuDeviceGetAttribute) \
  FUNCTION(cuDeviceGetName) \
  FUNCTION(cuDevicePrimaryCtxRetain) \
  FUNCTION(cuDevicePrimaryCtxRelease) \
  FUNCTION(cuCtxCreate) \
  FUNCTION(cuCtxDestroy) \
  FUNCTION(cuCtxSetCurrent) \
  FUNCTION(cuCtxGetCurrent) \
  FUNCTION(cuCtxPushCurrent) \
  FUNCTION(cuCtxPopCurrent) \
  FUNCTION(cuCtxSetLimit) \
  FUNCTION_AT(cuCtxSynchronize, 2000) \
  FUNCTION(cuModuleLoadData) \
  FUNCTION(cuModuleUnload) \
  FUNCTION(cuModuleGetFunction) \
  FUNCTION(cuModuleGetGlobal) \
  FUNCTION(cuLibraryLoadData) \
  FUNCTION(cuLibraryUnload) \
  FUNCTION(cuLibraryGetKernel) \
  FUNCTION(cuKernelGetFunction) \
  FUNCTION(cuFuncGetAttribute) \
  FUNCTION(cuFuncSetAttribute) \
  FUNCTION(cuFuncGetParamInfo) \
  FUNCTION(cuKernelGetParamInfo) \
  FUNCTION(cuFuncGetName) \
  FUNCTION(cuKernelGetName) \
  FUNCTION(cuMemAlloc) \
  FUNCTION(cuMemFree) \
  FUNCTION(cuDeviceGetDefaultMemPool) \
  FUNCTION(cuMemPoolGetAttribute) \
  FUNCTION(cuMemAllocAsync) \
  FUNCTION(cuMemFreeAsync) \
  FUNCTION(cuMemHostAlloc) \
  FUNCTION(cuMemFreeHost) \
  FUNCTION(cuMemHostRegister) \
  FUNCTION(cuMemHostUnregister) \
  FUNCTION(cuMemHostGetDevicePointer) \
  FUNCTION(cuMemGetInfo) \
  FUNCTION(cuMemcpyHtoD) \
  FUNCTION(cuMemcpyDtoH) \
  FUNCTION(cuMemcpyDtoD) \
  FUNCTION(cuMemcpyHtoDAsync) \
  FUNCTION(cuMemcpyDtoHAsync) \
  FUNCTION(cuMemcpyDtoDAsync) \
  FUNCTION(cuMemcpyAsync) \
  FUNCTION(cuMemsetD8) \
  FUNCTION(cuMemsetD8Async) \
  FUNCTION(cuMemsetD16Async) \
  FUNCTION(cuMemsetD32Async) \
  FUNCTION(cuMemsetD2D8Async) \
  FUNCTION(cuMemsetD2D32Async) \
  FUNCTION(cuMemAddressReserve) \
  FUNCTION(cuMemAddressFree) \
  FUNCTION(cuMemCreate) \
  FUNCTION(cuMemRelease) \
  FUNCTION(cuMemMap) \
  FUNCTION(cuMemUnmap) \
  FUNCTION(cuMemSetAccess) \
  FUNCTION(cuStreamCreate) \
  FUNCTION(cuStreamCreateWithPriority) \
  FUNCTION(cuStreamDestroy) \
  FUNCTION(cuStreamSynchronize) \
  FUNCTION(cuStreamQuery) \
  FUNCTION(cuStreamWaitEvent) \
  FUNCTION(cuStreamBeginCapture) \
  FUNCTION(cuStreamEndCapture) \
  FUNCTION(cuStreamIsCapturing) \
  FUNCTION(cuStreamGetFlags) \
  FUNCTION(cuStreamGetCaptureInfo) \
  FUNCTION(cuStreamSetAttribute) \
  FUNCTION(cuStreamGetAttribute) \
  FUNCTION(cuThreadExchangeStreamCaptureMode) \
  FUNCTION(cuStreamWaitValue32) \
  FUNCTION(cuStreamWriteValue32) \
  FUNCTION(cuEventCreate) \
  FUNCTION(cuEventDestroy) \
  FUNCTION(cuEventRecord) \
  FUNCTION(cuEventSynchronize) \
  FUNCTION(cuEventQuery) \
  FUNCTION(cuEventElapsedTime) \
  FUNCTION(cuLaunchKernel) \
  FUNCTION(cuLaunchKernelEx) \
  FUNCTION(cuLaunchCooperativeKernel) \
  FUNCTION(cuLaunchHostFunc) \
  FUNCTION(cuGraphCreate) \
  FUNCTION(cuGraphDestroy) \
  FUNCTION(cuGraphAddKernelNode) \
  FUNCTION(cuGraphAddMemsetNode) \
  FUNCTION(cuGraphAddMemcpyNode) \
  FUNCTION(cuGraphGetNodes) \
  FUNCTION(cuGraphGetEdges) \
  FUNCTION(cuGraphNodeGetType) \
  FUNCTION(cuGraphInstantiateWithFlags) \
  FUNCTION(cuGraphLaunch) \
  FUNCTION(cuGraphUpload) \
  FUNCTION(cuGraphExecDestroy) \
  FUNCTION(cuGraphKernelNodeGetParams) \
  FUNCTION(cuGraphKernelNodeSetParams) \
  FUNCTION(cuGraphKernelNodeGetAttribute) \
  FUNCTION(cuGraphExecKernelNodeSetParams) \
  FUNCTION(cuGraphExecMemsetNodeSetParams) \
  FUNCTION(cuGraphExecMemcpyNodeSetParams) \
  FUNCTION(cuGetErrorName) \
  FUNCTION(cuGetErrorString)
// clang-format on

/// The functions, each a member of its own name (`api.cuMemAlloc(...)`).
struct DriverApi {
  refrain::tests::ProgramFunction<decltype(&::cuGetProcAddress)> cuGetProcAddress;
#define FUNCTION(name) refrain::tests::ProgramFunction<decltype(&::name)> name;
#define FUNCTION_AT(name, version) FUNCTION(name)
  DRIVER_FUNCTIONS
#undef FUNCTION
};

/// The driver, looked up at the first call.
inline const DriverApi& driver() {
  static const DriverApi api = [] {
    DriverApi a;
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr) {
      std::fprintf(stderr, "no driver: %s\n", dlerror());
      std::exit(2);
    }
    refrain::tests::state_call(library);
    a.cuGetProcAddress.name = "cuGetProcAddress";
    a.cuGetProcAddress.pointer =
        reinterpret_cast<decltype(a.cuGetProcAddress.pointer)>(dlsym(library, "cuGetProcAddress_v2"));
    auto find = [&](const char* name, int version, auto& function) {
      void* found = nullptr;
      CUdriverProcAddressQueryResult status{};
      if (a.cuGetProcAddress(name, &found, version, CU_GET_PROC_ADDRESS_DEFAULT, &status) != CUDA_SUCCESS ||
          found == nullptr) {
        std::fprintf(stderr, "the driver has no %s for %d\n", name, version);
        std::exit(2);
      }
      function.name = name;
      function.pointer = reinterpret_cast<decltype(function.pointer)>(found);
    };
#undef FUNCTION_AT
#define FUNCTION(name) find(#name, CUDA_VERSION, a.name);
#define FUNCTION_AT(name, version) find(#name, version, a.name);
    DRIVER_FUNCTIONS
#undef FUNCTION
#undef FUNCTION_AT
    return a;
  }();
  return api;
}

/// Ends the program with exit code 3 when `result` is an error.
inline void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  const char* name = nullptr;
  driver().cuGetErrorName(result, &name);
  std::fprintf(stderr, "%s: %s (%d)\n", what, name != nullptr ? name : "unknown error", static_cast<int>(result));
  std::exit(3);
}
