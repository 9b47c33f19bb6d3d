// What each hook asks the engine, around the program's own call.
#include "interpose/hooks.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "interpose/guard.h"
#include "interpose/loaded_driver.h"
#include "policy/settings.h"
#include "tests/interpose/recording_engine.h"

namespace refrain::tests {
namespace {

using interpose::entry_point_count;
using interpose::EntryPoint;
using Lines = std::vector<std::string>;

int real_result = 0;
int real_calls = 0;

int any_real_function() {
  ++real_calls;
  recording.calls.push_back("real");
  return real_result;
}

/// A driver of which every function is the one above.
interpose::LoadedDriver make_driver() {
  interpose::LoadedDriver driver;
  for (unsigned i = 0; i < entry_point_count; ++i) {
    void* function = reinterpret_cast<void*>(&any_real_function);
    std::memcpy(reinterpret_cast<char*>(static_cast<void*>(&driver.functions)) + i * sizeof(void*), &function,
                sizeof function);
  }
  return driver;
}

class Hooks : public testing::Test {
 protected:
  void SetUp() override {
    static const interpose::LoadedDriver driver = make_driver();
    static const policy::Settings settings;
    static replay::Engine engine(driver.functions, settings, nullptr);
    interpose::details::published_driver = &driver;
    interpose::details::engine = &engine;
    interpose::details::thread_state = interpose::ThreadState::outside;
    recording = {};
    real_result = real_calls = 0;
  }
  void TearDown() override { interpose::details::engine = nullptr; }
};

CUstream stream(std::uintptr_t value) { return reinterpret_cast<CUstream>(value); }
CUfunction function(std::uintptr_t value) { return reinterpret_cast<CUfunction>(value); }

TEST_F(Hooks, launch_that_is_held_is_not_made) {
  recording.hold = true;
  recording.held_result = CUDA_ERROR_LAUNCH_FAILED;
  void* parameters[1] = {};
  EXPECT_EQ(refrain_hooks.cuLaunchKernel(function(0x50), 1, 2, 3, 4, 5, 6, 7, stream(0x20), parameters, nullptr),
            CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(real_calls, 0);
  EXPECT_EQ(recording.calls,
            Lines{"hold kernel 0x50 on 0x20 grid 1 2 3 block 4 5 6 shared 7 attributes 0 cooperative false "
                  "parameters -"});
}

TEST_F(Hooks, launch_that_is_not_held_is_made_once_and_told) {
  real_result = 701;
  void* extra[1] = {};
  EXPECT_EQ(refrain_hooks.cuLaunchKernel(function(0x50), 1, 2, 3, 4, 5, 6, 7, nullptr, nullptr, extra), 701);
  const std::string call = "kernel 0x50 on 0x0 grid 1 2 3 block 4 5 6 shared 7 attributes 0 cooperative false - extra";
  EXPECT_EQ(recording.calls, (Lines{"hold " + call, "real", "passed " + call + " = 701"}));
}

TEST_F(Hooks, an_error_of_a_held_call_is_told_once_by_the_next_call_that_gives_asks_or_waits) {
  const std::vector<int (*)()> telling = {
      [] { return int{refrain_hooks.cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr)}; },
      [] { return int{refrain_hooks.cuEventRecord(nullptr, nullptr)}; },
      [] { return int{refrain_hooks.cuStreamSynchronize(nullptr)}; },
      [] { return int{refrain_hooks.cuCtxSynchronize()}; },
      [] { return int{refrain_hooks.cuStreamQuery(nullptr)}; },
  };
  for (std::size_t index = 0; index < telling.size(); ++index) {
    keep_error(CUDA_ERROR_LAUNCH_FAILED);
    EXPECT_EQ(telling[index](), CUDA_ERROR_LAUNCH_FAILED) << index;
    EXPECT_EQ(telling[index](), CUDA_SUCCESS) << index;
    keep_error(CUDA_ERROR_LAUNCH_FAILED);
    real_result = CUDA_ERROR_INVALID_VALUE;
    EXPECT_EQ(telling[index](), CUDA_ERROR_INVALID_VALUE) << "its own error comes first: " << index;
    real_result = CUDA_SUCCESS;
    EXPECT_EQ(telling[index](), CUDA_ERROR_LAUNCH_FAILED) << index;
  }
  // What these made or took away would be made or taken away although they failed.
  keep_error(CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(refrain_hooks.cuMemFree_v2(0), CUDA_SUCCESS);
  EXPECT_EQ(refrain_hooks.cuMemAlloc_v2(nullptr, 1), CUDA_SUCCESS);
  EXPECT_EQ(refrain_hooks.cuMemAllocAsync(nullptr, 1, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(refrain_hooks.cuStreamSynchronize(nullptr), CUDA_ERROR_LAUNCH_FAILED);
}

TEST_F(Hooks, null_stream_of_a_per_thread_name_is_the_threads_own) {
  recording.hold = true;
  refrain_hooks.cuLaunchKernel_ptsz(function(0x50), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
  refrain_hooks.cuLaunchKernel_ptsz(function(0x50), 1, 1, 1, 1, 1, 1, 0, CU_STREAM_LEGACY, nullptr, nullptr);
  refrain_hooks.cuMemcpyDtoDAsync_v2_ptsz(8, 9, 10, nullptr);
  refrain_hooks.cuEventRecord_ptsz(nullptr, nullptr);
  refrain_hooks.cuEventRecord(nullptr, nullptr);
  ASSERT_EQ(recording.calls.size(), 7u);
  EXPECT_NE(recording.calls[0].find("on 0x2 "), std::string::npos) << recording.calls[0];
  EXPECT_NE(recording.calls[1].find("on 0x1 "), std::string::npos) << recording.calls[1];
  EXPECT_EQ(recording.calls[2], "hold copy 0x8 0x9 10 on 0x2");
  EXPECT_EQ(recording.calls[3], "order_stream 0x2 cuEventRecord_ptsz");
  EXPECT_EQ(recording.calls[5], "order_stream 0x0 cuEventRecord");
}

TEST_F(Hooks, extended_and_cooperative_launches_are_described) {
  recording.hold = true;
  CUlaunchAttribute attributes[2] = {};
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 2;
  config.blockDimX = config.blockDimY = config.blockDimZ = 3;
  config.sharedMemBytes = 4;
  config.hStream = stream(0x30);
  config.attrs = attributes;
  config.numAttrs = 2;
  refrain_hooks.cuLaunchKernelEx(&config, function(0x51), nullptr, nullptr);
  refrain_hooks.cuLaunchCooperativeKernel(function(0x52), 1, 1, 1, 1, 1, 1, 0, stream(0x31), nullptr);
  EXPECT_EQ(recording.calls,
            (Lines{"hold kernel 0x51 on 0x30 grid 2 2 2 block 3 3 3 shared 4 attributes 2 cooperative false - -",
                   "hold kernel 0x52 on 0x31 grid 1 1 1 block 1 1 1 shared 0 attributes 0 cooperative true - -"}));
}

TEST_F(Hooks, X5_launch_configuration_that_cannot_be_read_is_left_to_the_driver) {
  recording.hold = true;
  real_result = CUDA_ERROR_INVALID_VALUE;
  EXPECT_EQ(refrain_hooks.cuLaunchKernelEx(nullptr, function(0x51), nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  CUlaunchConfig config{};
  config.numAttrs = 1;
  EXPECT_EQ(refrain_hooks.cuLaunchKernelEx(&config, function(0x51), nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(recording.calls, (Lines{"order_all cuLaunchKernelEx", "real", "order_all cuLaunchKernelEx", "real"}));
}

TEST_F(Hooks, memsets_are_described_by_their_element) {
  recording.hold = true;
  refrain_hooks.cuMemsetD8Async(0x100, 7, 50, stream(0x20));
  refrain_hooks.cuMemsetD16Async_ptsz(0x100, 700, 50, nullptr);
  refrain_hooks.cuMemsetD32Async(0x100, 70000, 50, nullptr);
  refrain_hooks.cuMemsetD2D8Async(0x100, 64, 7, 50, 3, stream(0x20));
  refrain_hooks.cuMemsetD2D16Async(0x100, 64, 700, 20, 3, stream(0x20));
  refrain_hooks.cuMemsetD2D32Async(0x100, 64, 70000, 10, 3, stream(0x20));
  EXPECT_EQ(recording.calls, (Lines{"hold memset 0x100 pitch 0 value 7 size 1 50x1 on 0x20",
                                    "hold memset 0x100 pitch 0 value 700 size 2 50x1 on 0x2",
                                    "hold memset 0x100 pitch 0 value 70000 size 4 50x1 on 0x0",
                                    "hold memset 0x100 pitch 64 value 7 size 1 50x3 on 0x20",
                                    "hold memset 0x100 pitch 64 value 700 size 2 20x3 on 0x20",
                                    "hold memset 0x100 pitch 64 value 70000 size 4 10x3 on 0x20"}));
}

TEST_F(Hooks, waits_are_safe_points_only_when_they_succeeded) {
  refrain_hooks.cuStreamSynchronize(stream(0x20));
  EXPECT_EQ(recording.calls, (Lines{"order_all cuStreamSynchronize", "real", "safe_point"}));
  recording.calls.clear();
  real_result = CUDA_ERROR_NOT_READY;
  EXPECT_EQ(refrain_hooks.cuEventQuery(nullptr), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(recording.calls, (Lines{"order_all cuEventQuery", "real"}));
  recording.calls.clear();
  real_result = 0;
  refrain_hooks.cuEventElapsedTime(nullptr, nullptr, nullptr);
  refrain_hooks.cuMemcpyDtoH_v2(nullptr, 0, 0);
  EXPECT_EQ(recording.calls,
            (Lines{"order_all cuEventElapsedTime", "real", "order_all cuMemcpyDtoH_v2", "real", "safe_point"}));
}

TEST_F(Hooks, ends_are_told_before_they_happen) {
  refrain_hooks.cuModuleUnload(reinterpret_cast<CUmodule>(0x60));
  refrain_hooks.cuLibraryUnload(reinterpret_cast<CUlibrary>(0x61));
  refrain_hooks.cuCtxDestroy_v2(reinterpret_cast<CUcontext>(0x62));
  refrain_hooks.cuDevicePrimaryCtxReset_v2(0);
  refrain_hooks.cuGreenCtxDestroy(reinterpret_cast<CUgreenCtx>(0x63));
  refrain_hooks.cuStreamDestroy_v2(stream(0x64));
  refrain_hooks.cuMemUnmap(0, 0);
  refrain_hooks.cuFuncSetAttribute(nullptr, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 0);
  refrain_hooks.cuMemFreeAsync(0, stream(0x65));
  EXPECT_EQ(recording.calls, (Lines{"code_unloads 0x60",
                                    "real",
                                    "code_unloads 0x61",
                                    "real",
                                    "context_ends 0x62",
                                    "real",
                                    "context_ends 0x0",
                                    "real",
                                    "context_ends 0x0",
                                    "real",
                                    "stream_ends 0x64",
                                    "real",
                                    "memory_ends",
                                    "real",
                                    "function_state_changes 0x0 8 0 cuFuncSetAttribute",
                                    "real",
                                    "function_state_changed 8 0",
                                    "memory_ends",
                                    "order_stream 0x65 cuMemFreeAsync",
                                    "real"}));
}

TEST_F(Hooks, O6_capture_of_the_program_is_told_before_and_after) {
  real_result = 5;
  refrain_hooks.cuStreamBeginCapture_v2_ptsz(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL);
  refrain_hooks.cuStreamEndCapture(stream(0x20), nullptr);
  EXPECT_EQ(recording.calls,
            (Lines{"capture_begins 0x2", "real", "capture_began 0x2 = 5", "real", "capture_ended 0x20"}));
}

TEST_F(Hooks, streams_are_found_among_the_arguments) {
  refrain_hooks.cuStreamWaitEvent(stream(0x21), nullptr, 0);
  refrain_hooks.cuMemcpyHtoDAsync_v2(0, nullptr, 0, stream(0x22));
  refrain_hooks.cuMemcpyBatchAsync_v2(nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0, stream(0x23));
  refrain_hooks.cuGraphLaunch(nullptr, stream(0x24));
  refrain_hooks.cuStreamWriteValue32_v2(stream(0x25), 0, 0, 0);
  refrain_hooks.cuGraphInstantiateWithParams(nullptr, nullptr, nullptr);
  EXPECT_EQ(
      recording.calls,
      (Lines{"order_stream 0x21 cuStreamWaitEvent", "real", "order_stream 0x22 cuMemcpyHtoDAsync_v2", "real",
             "order_stream 0x23 cuMemcpyBatchAsync_v2", "real", "order_stream 0x24 cuGraphLaunch", "real",
             "order_stream 0x25 cuStreamWriteValue32_v2", "real", "order_all cuGraphInstantiateWithParams", "real"}));
}

TEST_F(Hooks, X14_call_from_inside_a_call_passes) {
  interpose::details::thread_state = interpose::ThreadState::inside;
  real_result = 9;
  EXPECT_EQ(refrain_hooks.cuStreamSynchronize(nullptr), 9);
  EXPECT_EQ(refrain_hooks.cuMemsetD8Async(0, 0, 0, nullptr), 9);
  EXPECT_EQ(recording.calls, (Lines{"real", "real"}));
  EXPECT_EQ(interpose::details::thread_state, interpose::ThreadState::inside);
}

TEST_F(Hooks, without_an_engine_every_hook_makes_its_call_and_nothing_else) {
  interpose::details::engine = nullptr;
  int hooked = 0;
  for (unsigned i = 0; i < entry_point_count; ++i) {
    const auto entry = static_cast<EntryPoint>(i);
    if (!interpose::is_hooked(entry) || interpose::group_of(entry) == interpose::Group::plumbing) continue;
    using AnyFunction = int (*)(long, long, long, long, long, long, long, long, long, long, long, long);
    real_result = static_cast<int>(1000 + i);
    EXPECT_EQ(reinterpret_cast<AnyFunction>(interpose::hook_of(entry))(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), real_result)
        << interpose::name_of(entry);
    ++hooked;
  }
  EXPECT_EQ(real_calls, hooked);
  EXPECT_EQ(recording.calls.size(), static_cast<std::size_t>(hooked));
}

TEST_F(Hooks, function_that_the_driver_lacks_is_not_supported) {
  static interpose::LoadedDriver bare = make_driver();
  bare.functions.cuMemBatchDecompressAsync = nullptr;
  interpose::details::published_driver = &bare;
  EXPECT_EQ(refrain_hooks.cuMemBatchDecompressAsync(nullptr, 0, 0, nullptr, nullptr), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_TRUE(recording.calls.empty());
}

TEST(LoadedDriver, X1_address_is_found_exactly_and_shared_ones_by_family) {
  interpose::LoadedDriver driver;
  driver.by_address[0] = {0x1000, EntryPoint::cuMemAlloc_v2};
  driver.by_address[1] = {0x2000, EntryPoint::cuStreamSynchronize};
  driver.by_address[2] = {0x2000, EntryPoint::cuStreamSynchronize_ptsz};
  driver.by_address[3] = {0x2000, EntryPoint::cuStreamQuery};
  driver.size = 4;
  auto find = [&](std::uintptr_t address, const char* name, bool per_thread) {
    return driver.find(reinterpret_cast<void*>(address), name, per_thread);
  };
  EXPECT_EQ(find(0x1000, "cuMemAlloc", false), EntryPoint::cuMemAlloc_v2);
  EXPECT_EQ(find(0x1001, "cuMemAlloc", false), interpose::unknown_entry_point);
  EXPECT_EQ(find(0x3000, "cuMemAlloc", false), interpose::unknown_entry_point);
  EXPECT_EQ(find(0x2000, "cuStreamSynchronize", true), EntryPoint::cuStreamSynchronize_ptsz);
  EXPECT_EQ(find(0x2000, "cuStreamSynchronize", false), EntryPoint::cuStreamSynchronize);
  EXPECT_EQ(find(0x2000, "cuStreamQuery", true), EntryPoint::cuStreamQuery);
}

}  // namespace
}  // namespace refrain::tests
