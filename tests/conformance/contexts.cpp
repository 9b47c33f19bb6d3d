// Contexts: the current one, the stack, creation and end.
#include <array>

#include "tests/conformance/program.h"

namespace refrain::tests::conformance {

PROGRAM(context_current) {
  CUcontext context = nullptr;
  CUdevice device = 9;
  TELL(cuCtxGetCurrent, &context);
  note("same %d", context == p.context());
  TELL(cuCtxGetDevice, &device);
  note("device %d", device);
}

PROGRAM(context_none_current) {
  CUcontext context = p.context();
  CUdeviceptr memory = 0;
  CUstream stream = nullptr;
  CUdevice device = 9;
  TELL(cuCtxSetCurrent, nullptr);
  TELL(cuCtxGetCurrent, &context);
  note("none %d", context == nullptr);
  TELL(cuMemAlloc, &memory, 64);
  TELL(cuStreamCreate, &stream, 0);
  TELL(cuCtxSynchronize);
  TELL(cuCtxGetDevice, &device);
  TELL(cuStreamSynchronize, nullptr);
  TELL(cuCtxSetCurrent, p.context());
}

PROGRAM(context_none_current_with_handles) {
  // A handle names its context: some calls need no current one.
  const CUstream stream = p.stream();
  const CUevent event = p.event();
  TELL(cuEventRecord, event, stream);
  TELL(cuStreamSynchronize, stream);
  TELL(cuCtxSetCurrent, nullptr);
  TELL(cuStreamQuery, stream);
  TELL(cuCtxSetCurrent, p.context());
}

PROGRAM(context_none_current_event) {
  const CUevent event = p.event();
  TELL(cuEventRecord, event, p.stream());
  TELL(cuEventSynchronize, event);
  TELL(cuCtxSetCurrent, nullptr);
  TELL(cuEventQuery, event);
  TELL(cuCtxSetCurrent, p.context());
}

PROGRAM(context_none_current_launch) {
  const CUstream stream = p.stream();
  const CUfunction empty = p.kernel("empty");
  TELL(cuCtxSetCurrent, nullptr);
  TELL(cuLaunchKernel, empty, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
  TELL(cuCtxSetCurrent, p.context());
  TELL(cuStreamSynchronize, stream);
}

PROGRAM(context_none_current_launch_in_order) {
  const Words data = p.words(64, 3);
  const CUstream stream = p.stream();
  const CUfunction mix = p.kernel("mix");
  for (unsigned i = 0; i < 4; ++i) launch(mix, {1, 64}, stream, data.address, data.address, 64u, i);
  TELL(cuCtxSetCurrent, nullptr);
  launch(mix, {1, 64}, stream, data.address, data.address, 64u, 9u);
  TELL(cuCtxSetCurrent, p.context());
  for (unsigned i = 4; i < 8; ++i) launch(mix, {1, 64}, stream, data.address, data.address, 64u, i);
  TELL(cuStreamSynchronize, stream);
  note_hash("data", data);
}

PROGRAM(context_none_current_free) {
  CUdeviceptr memory = 0;
  MUST(cuMemAlloc, &memory, 4096);
  TELL(cuCtxSetCurrent, nullptr);
  TELL(cuMemFree, memory);
  TELL(cuCtxSetCurrent, p.context());
  TELL(cuMemFree, memory);
}

PROGRAM(context_push_and_pop) {
  CUcontext popped = nullptr, current = nullptr;
  TELL(cuCtxPushCurrent, p.context());
  TELL(cuCtxPopCurrent, &popped);
  note("same %d", popped == p.context());
  TELL(cuCtxGetCurrent, &current);
  note("same %d", current == p.context());
}

PROGRAM(context_pop_too_often) {
  Worker worker([] {
    CUcontext popped = nullptr;
    TELL(cuCtxPopCurrent, &popped);
  });
  worker.join();
}

PROGRAM(context_push_null) {
  CUcontext popped = nullptr;
  if (TELL(cuCtxPushCurrent, nullptr) == CUDA_SUCCESS) MUST(cuCtxPopCurrent, &popped);
}

PROGRAM(context_of_a_new_thread) {
  Worker worker([&] {
    CUcontext current = p.context();
    TELL(cuCtxGetCurrent, &current);
    note("none %d", current == nullptr);
  });
  worker.join();
}

PROGRAM(context_create_and_destroy) {
  CUcontext context = nullptr, current = nullptr;
  TELL(cuCtxCreate, &context, nullptr, 0, p.device());
  TELL(cuCtxGetCurrent, &current);
  note("current %d", current == context);
  CUdeviceptr memory = 0;
  TELL(cuMemAlloc, &memory, 64);
  TELL(cuMemFree, memory);
  TELL(cuCtxDestroy, context);
  TELL(cuCtxGetCurrent, &current);
  note("back %d", current == p.context());
  MUST(cuCtxSetCurrent, p.context());
}

PROGRAM(context_create_bad_arguments) {
  CUcontext context = nullptr;
  TELL(cuCtxCreate, nullptr, nullptr, 0, p.device());
  TELL(cuCtxCreate, &context, nullptr, 0, 99);
  TELL(cuCtxCreate, &context, nullptr, 0x4000, p.device());
}

PROGRAM(context_destroy_null) { TELL(cuCtxDestroy, nullptr); }

PROGRAM(context_destroy_primary) { TELL(cuCtxDestroy, p.context()); }

PROGRAM(context_destroyed_with_a_stream) {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  MUST(cuCtxCreate, &context, nullptr, 0, p.device());
  MUST(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  TELL(cuCtxDestroy, context);
  MUST(cuCtxSetCurrent, p.context());
  TELL(cuCtxSynchronize);
}

PROGRAM(context_two_at_once) {
  const Words data = p.words(64, 1);
  const CUstream stream = p.stream();
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction fill = nullptr;
  CUdeviceptr memory = 0;
  unsigned value = 0;
  launch(p.kernel("mix"), {1, 64}, stream, data.address, data.address, 64u, 3u);
  MUST(cuCtxCreate, &context, nullptr, 0, p.device());
  TELL(cuModuleLoadData, &module, kernel_text());
  TELL(cuModuleGetFunction, &fill, module, "fill");
  TELL(cuMemAlloc, &memory, 256);
  launch(fill, {1, 64}, nullptr, memory, 64u, 8u);
  TELL(cuMemcpyDtoH, &value, memory, 4);
  note("value %u", value);
  TELL(cuCtxDestroy, context);
  MUST(cuCtxSetCurrent, p.context());
  TELL(cuStreamSynchronize, stream);
  note_words("data", data);
}

PROGRAM(context_function_of_another) {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  const CUfunction empty = p.kernel("empty");
  MUST(cuCtxCreate, &context, nullptr, 0, p.device());
  MUST(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  TELL(cuLaunchKernel, empty, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
  MUST(cuCtxDestroy, context);
  MUST(cuCtxSetCurrent, p.context());
}

PROGRAM(context_event_of_another) {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  const CUevent event = p.event();
  MUST(cuCtxCreate, &context, nullptr, 0, p.device());
  MUST(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  TELL(cuEventRecord, event, stream);
  MUST(cuCtxDestroy, context);
  MUST(cuCtxSetCurrent, p.context());
}

PROGRAM(context_wait_for_an_event_of_another) {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  const CUevent event = p.event();
  MUST(cuEventRecord, event, p.stream());
  MUST(cuCtxCreate, &context, nullptr, 0, p.device());
  MUST(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  TELL(cuStreamWaitEvent, stream, event, 0);
  TELL(cuStreamSynchronize, stream);
  MUST(cuCtxDestroy, context);
  MUST(cuCtxSetCurrent, p.context());
}

PROGRAM(context_primary_state) {
  unsigned flags = 99;
  int active = 99;
  TELL(cuDevicePrimaryCtxGetState, p.device(), &flags, &active);
  note("flags %u active %d", flags, active);
}

PROGRAM(context_primary_retained_twice) {
  CUcontext again = nullptr;
  TELL(cuDevicePrimaryCtxRetain, &again, p.device());
  note("same %d", again == p.context());
  TELL(cuDevicePrimaryCtxRelease, p.device());
  TELL(cuCtxSynchronize);
}

PROGRAM_ONCE(context_primary_released) {
  CUdeviceptr memory = 0;
  unsigned flags = 0;
  int active = 99;
  TELL(cuDevicePrimaryCtxRelease, p.device());
  TELL(cuDevicePrimaryCtxGetState, p.device(), &flags, &active);
  note("active %d", active);
  TELL(cuMemAlloc, &memory, 64);
}

PROGRAM_ONCE(context_primary_released_too_often) {
  TELL(cuDevicePrimaryCtxRelease, p.device());
  TELL(cuDevicePrimaryCtxRelease, p.device());
}

PROGRAM_ONCE(context_primary_reset) {
  CUcontext again = nullptr;
  int active = 99;
  unsigned flags = 0;
  TELL(cuDevicePrimaryCtxReset, p.device());
  TELL(cuDevicePrimaryCtxGetState, p.device(), &flags, &active);
  note("active %d", active);
  TELL(cuDevicePrimaryCtxRetain, &again, p.device());
  note("same handle %d", again == p.context());
}

PROGRAM(context_limits) {
  std::size_t value = 0;
  TELL(cuCtxGetLimit, &value, CU_LIMIT_STACK_SIZE);
  note("stack %zu", value);
  TELL(cuCtxGetLimit, &value, CU_LIMIT_PRINTF_FIFO_SIZE);
  note("printf %zu", value);
  TELL(cuCtxGetLimit, &value, CU_LIMIT_MALLOC_HEAP_SIZE);
  note("heap %zu", value);
  TELL(cuCtxGetLimit, &value, static_cast<CUlimit>(99));
}

PROGRAM(context_flags) {
  unsigned flags = 99;
  TELL(cuCtxGetFlags, &flags);
  note("flags %u", flags);
}

PROGRAM(context_ids) {
  unsigned long long id = 0, again = 0;
  TELL(cuCtxGetId, p.context(), &id);
  TELL(cuCtxGetId, nullptr, &again);
  note("same %d", id == again);
}

PROGRAM(context_api_version) {
  unsigned version = 0;
  TELL(cuCtxGetApiVersion, p.context(), &version);
  note("version %u", version);
}

PROGRAM(context_cache_config) {
  CUfunc_cache cache{};
  TELL(cuCtxGetCacheConfig, &cache);
  note("cache %d", static_cast<int>(cache));
}

}  // namespace refrain::tests::conformance
