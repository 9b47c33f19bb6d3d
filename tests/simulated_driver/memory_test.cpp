// Memory: addresses, checks, kinds, stream-ordered and virtual memory.
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/simulated_driver/test_kernels.h"

namespace refrain::tests {
namespace {

using namespace std::chrono_literals;

class SimulatedDriverMemory : public SimulatedDriver {};

TEST_F(SimulatedDriverMemory, copies_and_fills_move_the_bytes) {
  std::vector<unsigned> host(1024);
  for (unsigned i = 0; i < host.size(); ++i) host[i] = i;
  OK(CU(cuMemcpyHtoD)(buffer, host.data(), 4096));
  OK(CU(cuMemsetD32Async)(buffer + 400, 77, 4, stream));
  OK(CU(cuMemsetD16Async)(buffer + 800, 0x1234, 2, stream));
  OK(CU(cuMemsetD2D8Async)(buffer + 1000, 20, 0xff, 4, 3, stream));
  OK(CU(cuMemcpyDtoDAsync)(buffer, buffer + 4000, 8, stream));
  OK(CU(cuStreamSynchronize)(stream));
  OK(CU(cuMemcpyDtoH)(host.data(), buffer, 4096));
  EXPECT_EQ(host[0], 1000u);
  EXPECT_EQ(host[1], 1001u);
  EXPECT_EQ(host[2], 2u);
  EXPECT_EQ(host[100], 77u);
  EXPECT_EQ(host[103], 77u);
  EXPECT_EQ(host[104], 104u);
  EXPECT_EQ(host[200], 0x12341234u);
  EXPECT_EQ(host[250], 0xffffffffu);
  EXPECT_EQ(host[251], 251u);
  EXPECT_EQ(host[255], 0xffffffffu);
  EXPECT_EQ(host[260], 0xffffffffu);
  EXPECT_EQ(host[265], 265u);
}

TEST_F(SimulatedDriverMemory, two_dimensional_copies_follow_the_pitches) {
  std::vector<unsigned char> host(64);
  for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<unsigned char>(i);
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = host.data();
  copy.srcPitch = 16;
  copy.srcXInBytes = 1;
  copy.srcY = 1;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = buffer;
  copy.dstPitch = 8;
  copy.WidthInBytes = 4;
  copy.Height = 2;
  OK(CU(cuMemcpy2D)(&copy));
  EXPECT_EQ(read(buffer), 0x14131211u);
  EXPECT_EQ(read(buffer + 8), 0x24232221u);
  copy.dstPitch = 3;
  FAILS(CUDA_ERROR_INVALID_VALUE, CU(cuMemcpy2D)(&copy));
}

TEST_F(SimulatedDriverMemory, A9_pageable_memory_is_read_at_the_call_and_written_before_the_return) {
  std::vector<unsigned> host(16, 5);
  OK(spin(stream));
  OK(CU(cuMemcpyHtoDAsync)(buffer, host.data(), 64, stream));
  host.assign(16, 6);
  go();
  OK(CU(cuMemcpyDtoHAsync)(host.data(), buffer, 64, stream));
  EXPECT_EQ(host[15], 5u);
}

TEST_F(SimulatedDriverMemory, pinned_copies_are_asynchronous_both_ways) {
  unsigned* const pinned = flag + 100;
  pinned[0] = 1;
  OK(spin(stream));
  OK(CU(cuMemcpyHtoDAsync)(buffer, pinned, 4, stream));
  OK(CU(cuMemcpyDtoHAsync)(pinned + 1, buffer, 4, stream));
  pinned[0] = 2;
  pinned[1] = 0;
  go();
  OK(CU(cuStreamSynchronize)(stream));
  EXPECT_EQ(pinned[1], 2u);
}

TEST_F(SimulatedDriverMemory, ranges_outside_of_allocations_are_refused_at_the_call) {
  std::vector<unsigned char> host(8192);
  FAILS(CUDA_ERROR_INVALID_VALUE, CU(cuMemsetD8)(0x10, 0, 4));
  FAILS(CUDA_ERROR_INVALID_VALUE, CU(cuMemcpyHtoD)(0x10, host.data(), 4));
  FAILS(CUDA_ERROR_INVALID_VALUE, CU(cuMemcpyDtoDAsync)(buffer, 0x10, 4, stream));
  CUdeviceptr large = 0;
  OK(CU(cuMemAlloc)(&large, 4 << 20));
  FAILS(CUDA_ERROR_INVALID_VALUE, CU(cuMemsetD8Async)(large, 0, 8 << 20, stream));
  OK(CU(cuMemFree)(large));
  FAILS(CUDA_ERROR_INVALID_VALUE, CU(cuMemsetD8Async)(large, 0, 64, stream));
  FAILS(CUDA_ERROR_INVALID_VALUE, CU(cuMemFree)(large));
  FAILS(CUDA_ERROR_INVALID_VALUE, CU(cuMemFree)(buffer + 4));
  FAILS(CUDA_SUCCESS, CU(cuMemFree)(0));
  FAILS(CUDA_ERROR_INVALID_VALUE, CU(cuMemsetD32)(buffer + 2, 0, 1));
  OK(driver().cuCtxSynchronize());
}

TEST_F(SimulatedDriverMemory, L1_a_kernel_outside_of_live_memory_is_a_sticky_error) {
  if (!run_by_another()) {
    EXPECT_EQ(run_again("SimulatedDriverMemory.L1_a_kernel_outside_of_live_memory_is_a_sticky_error", {}), 0);
    return;
  }
  CUdeviceptr wrong = 0x100;
  OK(store(wrong, 1, stream));
  FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, CU(cuStreamSynchronize)(stream));
  FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, driver().cuCtxSynchronize());
  FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, CU(cuMemAlloc)(&wrong, 4));
  FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, store(buffer, 1, stream));
  FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, CU(cuEventCreate)(reinterpret_cast<CUevent*>(&wrong), 0));
  CUcontext current = nullptr;
  FAILS(CUDA_SUCCESS, CU(cuCtxGetCurrent)(&current));
}

TEST_F(SimulatedDriverMemory, L1_use_after_free_and_past_the_end_are_found) {
  if (!on_simulation()) GTEST_SKIP() << "devices check whole pages only";
  if (!run_by_another()) {
    const std::string name = "SimulatedDriverMemory.L1_use_after_free_and_past_the_end_are_found";
    EXPECT_EQ(run_again(name, {{"CASE", "end"}}), 0);
    EXPECT_EQ(run_again(name, {{"CASE", "freed"}}), 0);
    return;
  }
  CUdeviceptr small = 0;
  OK(CU(cuMemAlloc)(&small, 10));
  const bool freed = std::string(std::getenv("CASE")) == "freed";
  if (freed) {
    OK(CU(cuMemFree)(small));
  }
  OK(store(freed ? small : small + 8, 1, stream));
  FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, CU(cuStreamSynchronize)(stream));
}

TEST_F(SimulatedDriverMemory, the_host_cannot_read_device_memory) {
  if (!run_by_another()) {
    EXPECT_NE(run_again("SimulatedDriverMemory.the_host_cannot_read_device_memory", {}), 0);
    return;
  }
  EXPECT_EQ(*reinterpret_cast<volatile unsigned*>(buffer), 0u);  // passes if it can be read
}

TEST_F(SimulatedDriverMemory, host_memory_has_one_address_on_both_sides) {
  CUdeviceptr address = 0;
  OK(CU(cuMemHostGetDevicePointer)(&address, flag + 3, 0));
  EXPECT_EQ(address, reinterpret_cast<CUdeviceptr>(flag + 3));
  OK(store(address, 99, stream));
  OK(CU(cuStreamSynchronize)(stream));
  EXPECT_EQ(flag[3], 99u);
  void* const memory = std::aligned_alloc(4096, 8192);
  FAILS(CUDA_ERROR_INVALID_VALUE, CU(cuMemHostGetDevicePointer)(&address, memory, 0));
  OK(CU(cuMemHostRegister)(memory, 4096, 0));
  FAILS(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, CU(cuMemHostRegister)(memory, 8192, 0));
  OK(store(reinterpret_cast<CUdeviceptr>(memory), 98, stream));
  OK(CU(cuStreamSynchronize)(stream));
  EXPECT_EQ(*static_cast<unsigned*>(memory), 98u);
  OK(CU(cuMemHostUnregister)(memory));
  FAILS(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, CU(cuMemHostUnregister)(memory));
  std::free(memory);
  CUdeviceptr managed = 0;
  OK(CU(cuMemAllocManaged)(&managed, 64, CU_MEM_ATTACH_GLOBAL));
  OK(store(managed, 97, stream));
  OK(CU(cuStreamSynchronize)(stream));
  EXPECT_EQ(*reinterpret_cast<unsigned*>(managed), 97u);
  OK(CU(cuMemFree)(managed));
}

TEST_F(SimulatedDriverMemory, pointers_tell_what_they_are) {
  unsigned type = 0, managed = 9;
  CUcontext of = nullptr;
  OK(CU(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, buffer + 5));
  EXPECT_EQ(type, unsigned{CU_MEMORYTYPE_DEVICE});
  OK(CU(cuPointerGetAttribute)(&of, CU_POINTER_ATTRIBUTE_CONTEXT, buffer));
  EXPECT_EQ(of, context);
  OK(CU(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(flag)));
  EXPECT_EQ(type, unsigned{CU_MEMORYTYPE_HOST});
  FAILS(CUDA_ERROR_INVALID_VALUE,
        CU(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(&type)));
  CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED};
  void* answers[] = {&type, &managed};
  OK(CU(cuPointerGetAttributes)(2, asked, answers, reinterpret_cast<CUdeviceptr>(&type)));
  EXPECT_EQ(type, 0u);
  EXPECT_EQ(managed, 0u);
  CUdeviceptr base = 0;
  size_t size = 0;
  OK(CU(cuMemGetAddressRange)(&base, &size, buffer + 100));
  EXPECT_EQ(base, buffer);
  EXPECT_EQ(size, 4096u);
}

TEST_F(SimulatedDriverMemory, L3_stream_ordered_memory_is_reused_by_its_stream_and_returned_at_a_wait) {
  size_t before = 0, after = 0, total = 0;
  OK(CU(cuStreamSynchronize)(stream));
  OK(CU(cuMemGetInfo)(&before, &total));
  CUdeviceptr first = 0;
  for (int i = 0; i < 1000; ++i) {
    CUdeviceptr address = 0;
    OK(CU(cuMemAllocAsync)(&address, 100000, stream));
    if (i == 0) first = address;
    EXPECT_EQ(address, first);
    OK(store(address, 1, stream));
    OK(CU(cuMemFreeAsync)(address, stream));
  }
  OK(CU(cuStreamSynchronize)(stream));
  OK(CU(cuMemGetInfo)(&after, &total));
  EXPECT_EQ(before, after);
  FAILS(CUDA_ERROR_INVALID_VALUE, CU(cuMemFreeAsync)(first, stream));
  FAILS(CUDA_ERROR_INVALID_VALUE, CU(cuMemsetD8Async)(first, 0, 4, stream));
}

TEST_F(SimulatedDriverMemory, L5_freeing_waits_for_the_device) {
  CUdeviceptr other = 0;
  OK(CU(cuMemAlloc)(&other, 64));
  OK(spin(stream));
  OK(store(other, 1, stream));
  std::atomic<bool> freed{false};
  std::thread thread([&] {
    CU(cuCtxSetCurrent)(context);
    EXPECT_EQ(CU(cuMemFree)(other), CUDA_SUCCESS);
    freed = true;
  });
  std::this_thread::sleep_for(30ms);
  EXPECT_FALSE(freed);
  go();
  thread.join();
  OK(CU(cuStreamSynchronize)(stream));
}

TEST_F(SimulatedDriverMemory, L12_virtual_memory_maps_physical_memory_at_addresses) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  size_t unit = 0;
  OK(CU(cuMemGetAllocationGranularity)(&unit, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  CUdeviceptr range = 0;
  OK(CU(cuMemAddressReserve)(&range, 3 * unit, 0, 0, 0));
  CUmemGenericAllocationHandle physical = 0;
  OK(CU(cuMemCreate)(&physical, unit, &properties, 0));
  OK(CU(cuMemMap)(range, unit, 0, physical, 0));
  OK(CU(cuMemMap)(range + unit, unit, 0, physical, 0));
  FAILS(CUDA_ERROR_INVALID_VALUE, CU(cuMemMap)(range, unit, 0, physical, 0));
  FAILS(CUDA_ERROR_INVALID_VALUE, CU(cuMemsetD8)(range, 1, 4));
  CUmemAccessDesc access{};
  access.location = properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  OK(CU(cuMemSetAccess)(range, 2 * unit, &access, 1));
  OK(store(range + 8, 1234, stream));
  OK(CU(cuStreamSynchronize)(stream));
  EXPECT_EQ(read(range + unit + 8), 1234u);
  OK(CU(cuMemsetD8)(range + unit - 4, 1, 8));
  OK(driver().cuCtxSynchronize());
  OK(CU(cuMemRelease)(physical));
  FAILS(CUDA_ERROR_INVALID_VALUE, CU(cuMemAddressFree)(range, 3 * unit));
  OK(CU(cuMemUnmap)(range, 2 * unit));
  FAILS(CUDA_ERROR_INVALID_VALUE, CU(cuMemsetD8)(range, 1, 4));
  OK(CU(cuMemAddressFree)(range, 3 * unit));
}

}  // namespace
}  // namespace refrain::tests
