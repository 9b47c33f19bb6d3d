// Contexts and devices.
#include <thread>

#include "tests/simulated_driver/test_kernels.h"

namespace refrain::tests {
namespace {

class SimulatedDriverContexts : public SimulatedDriver {
 protected:
  CUcontext current() {
    CUcontext now = nullptr;
    EXPECT_EQ(CU(cuCtxGetCurrent)(&now), CUDA_SUCCESS);
    return now;
  }
};

TEST_F(SimulatedDriverContexts, each_thread_has_its_own_stack_of_current_contexts) {
  CUcontext other = nullptr, popped = nullptr;
  OK(CU(cuCtxCreate)(&other, nullptr, 0, 0));
  EXPECT_EQ(current(), other);
  OK(CU(cuCtxPushCurrent)(context));
  EXPECT_EQ(current(), context);
  std::thread([&] { EXPECT_EQ(current(), nullptr); }).join();
  OK(CU(cuCtxPopCurrent)(&popped));
  EXPECT_EQ(popped, context);
  EXPECT_EQ(current(), other);
  unsigned long long first = 0, second = 0;
  OK(CU(cuCtxGetId)(context, &first));
  OK(CU(cuCtxGetId)(other, &second));
  EXPECT_NE(first, second);
  OK(CU(cuCtxDestroy)(other));
  EXPECT_NE(current(), other);
  OK(CU(cuCtxSetCurrent)(context));
}

TEST_F(SimulatedDriverContexts, functions_belong_to_a_context_and_kernels_go_with_the_stream) {
  CUcontext other = nullptr;
  CUstream elsewhere = nullptr;
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  OK(CU(cuLibraryLoadData)(&library, test_ptx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  OK(CU(cuLibraryGetKernel)(&kernel, library, "nothing"));
  OK(CU(cuCtxCreate)(&other, nullptr, 0, 0));
  OK(CU(cuStreamCreate)(&elsewhere, CU_STREAM_NON_BLOCKING));
  FAILS(CUDA_ERROR_INVALID_HANDLE, launch(nothing, nullptr, nullptr));
  OK(CU(cuCtxSetCurrent)(context));
  FAILS(CUDA_ERROR_INVALID_HANDLE, launch(nothing, elsewhere, nullptr));
  FAILS(CUDA_SUCCESS, launch(reinterpret_cast<CUfunction>(kernel), elsewhere, nullptr));
  CUcontext of = nullptr;
  OK(CU_AT(cuStreamGetCtx, 9020)(elsewhere, &of));
  EXPECT_EQ(of, other);
  OK(CU(cuStreamSynchronize)(elsewhere));
  OK(CU(cuCtxDestroy)(other));
  OK(CU(cuLibraryUnload)(library));
}

TEST_F(SimulatedDriverContexts, the_primary_context_is_counted) {
  CUcontext again = nullptr;
  unsigned flags = 0;
  int active = 0;
  OK(CU(cuDevicePrimaryCtxRetain)(&again, 0));
  EXPECT_EQ(again, context);
  FAILS(CUDA_ERROR_INVALID_CONTEXT, CU(cuCtxDestroy)(context));
  OK(CU(cuDevicePrimaryCtxRelease)(0));
  OK(CU(cuDevicePrimaryCtxGetState)(0, &flags, &active));
  EXPECT_EQ(active, 1);
  OK(driver().cuCtxSynchronize());
  FAILS(CUDA_ERROR_INVALID_DEVICE, CU(cuDevicePrimaryCtxRetain)(&again, 99));
}

TEST_F(SimulatedDriverContexts, L10_a_destroyed_context_takes_its_objects_along) {
  if (!on_simulation()) GTEST_SKIP() << "undefined on a real driver";
  CUcontext other = nullptr;
  CUstream inside = nullptr;
  CUdeviceptr memory = 0;
  OK(CU(cuCtxCreate)(&other, nullptr, 0, 0));
  OK(CU(cuStreamCreate)(&inside, CU_STREAM_NON_BLOCKING));
  OK(CU(cuMemAlloc)(&memory, 64));
  OK(CU(cuMemsetD8Async)(memory, 1, 64, inside));
  std::thread([&] {
    CU(cuCtxSetCurrent)(other);
    std::thread([&] { EXPECT_EQ(CU(cuCtxDestroy)(other), CUDA_SUCCESS); }).join();
    FAILS(CUDA_ERROR_CONTEXT_IS_DESTROYED, driver().cuCtxSynchronize());
  }).join();
  OK(CU(cuCtxSetCurrent)(context));
  FAILS(CUDA_ERROR_INVALID_HANDLE, CU(cuStreamSynchronize)(inside));
  FAILS(CUDA_ERROR_INVALID_VALUE, CU(cuMemsetD8)(memory, 1, 64));
}

TEST_F(SimulatedDriverContexts, limits_and_device_attributes_are_those_of_the_device) {
  size_t stack = 0;
  int major = 0, multiprocessors = 0, least = 9, greatest = 9;
  OK(CU(cuCtxSetLimit)(CU_LIMIT_STACK_SIZE, 2048));
  OK(CU(cuCtxGetLimit)(&stack, CU_LIMIT_STACK_SIZE));
  EXPECT_EQ(stack, 2048u);
  FAILS(CUDA_ERROR_UNSUPPORTED_LIMIT, CU(cuCtxGetLimit)(&stack, CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH));
  OK(CU(cuDeviceGetAttribute)(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
  OK(CU(cuDeviceGetAttribute)(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
  EXPECT_EQ(major, 9);
  EXPECT_EQ(multiprocessors, 132);
  OK(CU(cuCtxGetStreamPriorityRange)(&least, &greatest));
  EXPECT_EQ(least, 0);
  EXPECT_EQ(greatest, -5);
}

TEST_F(SimulatedDriverContexts, two_devices_keep_their_memory_apart) {
  if (!on_simulation()) GTEST_SKIP() << "needs two devices";
  if (!run_by_another()) {
    EXPECT_EQ(run_again("SimulatedDriverContexts.two_devices_keep_their_memory_apart", {{"REFRAIN_SIM_DEVICES", "2"}}),
              0);
    return;
  }
  int count = 0;
  OK(CU(cuDeviceGetCount)(&count));
  ASSERT_EQ(count, 2);
  CUcontext second = nullptr;
  OK(CU(cuDevicePrimaryCtxRetain)(&second, 1));
  OK(CU(cuCtxSetCurrent)(second));
  CUdeviceptr memory = 0;
  OK(CU(cuMemAlloc)(&memory, 64));
  OK(CU(cuCtxSetCurrent)(context));
  OK(CU(cuCtxEnablePeerAccess)(second, 0));
  FAILS(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, CU(cuCtxEnablePeerAccess)(second, 0));
  OK(store(memory, 5, stream));
  OK(CU(cuStreamSynchronize)(stream));
  EXPECT_EQ(read(memory), 5u);
  OK(CU(cuCtxDisablePeerAccess)(second));
  OK(store(memory, 6, stream));
  FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, CU(cuStreamSynchronize)(stream));
  OK(CU(cuCtxSetCurrent)(second));
  FAILS(CUDA_SUCCESS, driver().cuCtxSynchronize());
  OK(CU(cuCtxSetCurrent)(context));
}

}  // namespace
}  // namespace refrain::tests
