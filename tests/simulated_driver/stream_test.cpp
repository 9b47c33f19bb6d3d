// Streams, events and their order.
#include <chrono>
#include <thread>

#include "tests/simulated_driver/test_kernels.h"

namespace refrain::tests {
namespace {

using namespace std::chrono_literals;

/// Long enough for a worker to do what it can.
void let_work() { std::this_thread::sleep_for(20ms); }

class SimulatedDriverStreams : public SimulatedDriver {
 protected:
  void SetUp() override {
    SimulatedDriver::SetUp();
    OK(CU(cuStreamCreate)(&blocking, CU_STREAM_DEFAULT));
    OK(CU(cuStreamCreate)(&other_blocking, CU_STREAM_DEFAULT));
    OK(CU(cuStreamCreate)(&other, CU_STREAM_NON_BLOCKING));
  }
  void TearDown() override {
    go();
    driver().cuCtxSynchronize();
    for (CUstream one : {blocking, other_blocking, other}) CU(cuStreamDestroy)(one);
    SimulatedDriver::TearDown();
  }

  /// Whether work on `second` waits for work on `first` that came before it.
  bool waits_for(CUstream first, CUstream second) {
    EXPECT_EQ(driver().cuCtxSynchronize(), CUDA_SUCCESS);
    unsigned* const mark = flag + 32;
    __atomic_store_n(mark, 0u, __ATOMIC_SEQ_CST);
    EXPECT_EQ(spin(first), CUDA_SUCCESS);
    const auto set = [](void* word) { __atomic_store_n(static_cast<unsigned*>(word), 1u, __ATOMIC_SEQ_CST); };
    EXPECT_EQ(CU(cuLaunchHostFunc)(second, set, mark), CUDA_SUCCESS);
    let_work();
    const bool waited = __atomic_load_n(mark, __ATOMIC_SEQ_CST) == 0;
    go();
    EXPECT_EQ(driver().cuCtxSynchronize(), CUDA_SUCCESS);
    return waited;
  }

  CUstream blocking = nullptr, other_blocking = nullptr, other = nullptr;
};

TEST_F(SimulatedDriverStreams, O5_the_legacy_stream_and_blocking_streams_wait_for_each_other) {
  EXPECT_TRUE(waits_for(CU_STREAM_LEGACY, blocking));
  EXPECT_TRUE(waits_for(blocking, CU_STREAM_LEGACY));
  EXPECT_TRUE(waits_for(nullptr, CU_STREAM_PER_THREAD));
  EXPECT_TRUE(waits_for(CU_STREAM_PER_THREAD, nullptr));
}

TEST_F(SimulatedDriverStreams, O5_other_streams_do_not_wait_for_each_other) {
  EXPECT_FALSE(waits_for(blocking, other_blocking));
  EXPECT_FALSE(waits_for(CU_STREAM_PER_THREAD, blocking));
  EXPECT_FALSE(waits_for(CU_STREAM_LEGACY, stream));
  EXPECT_FALSE(waits_for(stream, CU_STREAM_LEGACY));
  EXPECT_FALSE(waits_for(stream, other));
}

TEST_F(SimulatedDriverStreams, O5_a_wait_of_the_legacy_stream_orders_even_for_a_reached_event) {
  CUevent event = nullptr;
  OK(CU(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING));
  OK(CU(cuEventRecord)(event, other));
  OK(CU(cuEventSynchronize)(event));
  OK(spin(blocking));
  OK(store(buffer, 6, other_blocking));
  OK(CU(cuStreamSynchronize)(other_blocking));
  OK(CU(cuStreamWaitEvent)(nullptr, event, 0));
  OK(store(buffer, 7, other_blocking));
  let_work();
  FAILS(CUDA_ERROR_NOT_READY, CU(cuStreamQuery)(other_blocking));
  go();
  OK(CU(cuStreamSynchronize)(other_blocking));
  EXPECT_EQ(read(buffer), 7u);
  OK(CU(cuEventDestroy)(event));
}

TEST_F(SimulatedDriverStreams, per_thread_names_mean_another_default_stream) {
  using Launch = decltype(&cuLaunchKernel);
  void* function = nullptr;
  OK(driver().cuGetProcAddress("cuLaunchKernel", &function, CUDA_VERSION, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
                               nullptr));
  OK(spin(stream));
  OK(CU(cuStreamSynchronize)(CU_STREAM_PER_THREAD));
  CUdeviceptr address = reinterpret_cast<CUdeviceptr>(flag);
  void* parameters[] = {&address};
  OK(CU(cuStreamSynchronize)(nullptr));
  go();
  OK(CU(cuStreamSynchronize)(stream));
  __atomic_store_n(flag, 0u, __ATOMIC_SEQ_CST);
  OK(reinterpret_cast<Launch>(function)(spin_kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr));
  FAILS(CUDA_ERROR_NOT_READY, CU(cuStreamQuery)(CU_STREAM_PER_THREAD));
  std::thread([&] {
    CU(cuCtxSetCurrent)(context);
    FAILS(CUDA_SUCCESS, CU(cuStreamQuery)(CU_STREAM_PER_THREAD));
  }).join();
  go();
  OK(CU(cuStreamSynchronize)(CU_STREAM_PER_THREAD));
}

TEST_F(SimulatedDriverStreams, launches_return_before_their_work_is_done) {
  OK(spin(stream));
  FAILS(CUDA_ERROR_NOT_READY, CU(cuStreamQuery)(stream));
  OK(store(buffer, 7, stream));
  go();
  OK(CU(cuStreamSynchronize)(stream));
  FAILS(CUDA_SUCCESS, CU(cuStreamQuery)(stream));
  EXPECT_EQ(read(buffer), 7u);
}

TEST_F(SimulatedDriverStreams, a_blocking_stream_is_not_busy_because_the_legacy_stream_is) {
  OK(spin(nullptr));
  FAILS(CUDA_SUCCESS, CU(cuStreamQuery)(blocking));
  FAILS(CUDA_ERROR_NOT_READY, CU(cuStreamQuery)(nullptr));
  go();
  OK(driver().cuCtxSynchronize());
  OK(spin(blocking));
  FAILS(CUDA_ERROR_NOT_READY, CU(cuStreamQuery)(nullptr));
  go();
}

TEST_F(SimulatedDriverStreams, one_stream_executes_in_the_order_of_calls) {
  for (unsigned i = 1; i <= 9; ++i) OK(append(buffer, i, stream));
  OK(CU(cuStreamSynchronize)(stream));
  EXPECT_EQ(read(buffer), 123456789u);
}

TEST_F(SimulatedDriverStreams, O4_a_wait_covers_the_record_before_it_and_not_a_later_one) {
  CUevent event = nullptr;
  OK(CU(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING));
  OK(CU(cuEventRecord)(event, stream));
  OK(CU(cuStreamSynchronize)(stream));
  OK(spin(stream));
  OK(CU(cuStreamWaitEvent)(other, event, 0));
  OK(CU(cuEventRecord)(event, stream));
  FAILS(CUDA_SUCCESS, CU(cuStreamSynchronize)(other));
  FAILS(CUDA_ERROR_NOT_READY, CU(cuEventQuery)(event));
  OK(CU(cuStreamWaitEvent)(other, event, 0));
  OK(append(buffer, 3, other));
  let_work();
  FAILS(CUDA_ERROR_NOT_READY, CU(cuStreamQuery)(other));
  go();
  OK(CU(cuEventSynchronize)(event));
  OK(CU(cuStreamSynchronize)(other));
  EXPECT_EQ(read(buffer), 3u);
  OK(CU(cuEventDestroy)(event));
  FAILS(CUDA_ERROR_INVALID_HANDLE, CU(cuEventRecord)(nullptr, stream));
}

TEST_F(SimulatedDriverStreams, events_measure_time_between_records) {
  CUevent start = nullptr, end = nullptr, untimed = nullptr;
  float milliseconds = -1;
  OK(CU(cuEventCreate)(&start, CU_EVENT_DEFAULT));
  OK(CU(cuEventCreate)(&end, CU_EVENT_DEFAULT));
  OK(CU(cuEventCreate)(&untimed, CU_EVENT_DISABLE_TIMING));
  FAILS(CUDA_SUCCESS, CU(cuEventQuery)(start));
  FAILS(CUDA_ERROR_INVALID_HANDLE, CU(cuEventElapsedTime)(&milliseconds, start, end));
  OK(CU(cuEventRecord)(start, stream));
  OK(spin(stream));
  OK(CU(cuEventRecord)(end, stream));
  OK(CU(cuEventRecord)(untimed, stream));
  FAILS(CUDA_ERROR_NOT_READY, CU(cuEventElapsedTime)(&milliseconds, start, end));
  let_work();
  go();
  OK(CU(cuEventSynchronize)(end));
  OK(CU(cuEventElapsedTime)(&milliseconds, start, end));
  EXPECT_GE(milliseconds, 15.0f);
  FAILS(CUDA_ERROR_INVALID_HANDLE, CU(cuEventElapsedTime)(&milliseconds, start, untimed));
  for (CUevent event : {start, end, untimed}) OK(CU(cuEventDestroy)(event));
}

TEST_F(SimulatedDriverStreams, A8_host_functions_run_in_order_and_may_not_call_the_driver) {
  static CUresult inside = CUDA_SUCCESS;
  static unsigned* seen = nullptr;
  seen = flag + 64;
  *seen = 0;
  CUdeviceptr word = reinterpret_cast<CUdeviceptr>(seen);
  OK(append(word, 4, stream));
  OK(CU(cuLaunchHostFunc)(
      stream,
      [](void*) {
        *seen = *seen * 10 + 5;
        CUdeviceptr address = 0;
        inside = CU(cuMemAlloc)(&address, 64);
      },
      nullptr));
  OK(append(word, 6, stream));
  OK(CU(cuStreamSynchronize)(stream));
  EXPECT_EQ(*seen, 456u);
  FAILS(CUDA_ERROR_NOT_PERMITTED, inside);
  FAILS(CUDA_ERROR_INVALID_VALUE, CU(cuLaunchHostFunc)(stream, nullptr, nullptr));
}

TEST_F(SimulatedDriverStreams, value_waits_hold_a_stream_until_the_value_is_there) {
  CUdeviceptr word = reinterpret_cast<CUdeviceptr>(flag + 16);
  flag[16] = 0;
  OK(CU(cuStreamWaitValue32)(stream, word, 3, CU_STREAM_WAIT_VALUE_GEQ));
  OK(append(buffer, 1, stream));
  let_work();
  FAILS(CUDA_ERROR_NOT_READY, CU(cuStreamQuery)(stream));
  OK(CU(cuStreamWriteValue32)(other, word, 2, 0));
  let_work();
  FAILS(CUDA_ERROR_NOT_READY, CU(cuStreamQuery)(stream));
  OK(CU(cuStreamWriteValue32)(other, word, 3, 0));
  OK(CU(cuStreamSynchronize)(stream));
  EXPECT_EQ(read(buffer), 1u);
  FAILS(CUDA_ERROR_INVALID_VALUE, CU(cuStreamWriteValue32)(stream, word + 2, 1, 0));
}

TEST_F(SimulatedDriverStreams, O2_a_full_queue_blocks_the_caller_until_the_device_goes_on) {
  OK(spin(stream));
  std::atomic<int> launched{0};
  std::thread thread([&] {
    CU(cuCtxSetCurrent)(context);
    for (int i = 0; i < 3000; ++i) {
      EXPECT_EQ(launch(nothing, stream, nullptr), CUDA_SUCCESS);
      launched.fetch_add(1);
    }
  });
  // On a busy machine the thread begins late.
  for (int waited = 0; waited < 2000 && launched.load() <= 500; ++waited) std::this_thread::sleep_for(10ms);
  for (int before = -1; before != launched.load();) {
    before = launched.load();
    std::this_thread::sleep_for(50ms);
  }
  EXPECT_GT(launched.load(), 500);
  EXPECT_LT(launched.load(), 2000);
  go();
  thread.join();
  OK(CU(cuStreamSynchronize)(stream));
}

TEST_F(SimulatedDriverStreams, a_destroyed_stream_finishes_its_work) {
  CUstream gone = nullptr;
  OK(CU(cuStreamCreate)(&gone, CU_STREAM_NON_BLOCKING));
  OK(spin(gone));
  OK(append(buffer, 8, gone));
  OK(CU(cuStreamDestroy)(gone));
  go();
  OK(driver().cuCtxSynchronize());
  EXPECT_EQ(read(buffer), 8u);
}

}  // namespace
}  // namespace refrain::tests
