// Memory: allocation, freeing, what the driver says about addresses, host memory.
#include <array>
#include <cstdlib>

#include "tests/conformance/program.h"

namespace refrain::tests::conformance {
namespace {

void note_range(CUdeviceptr asked, CUdeviceptr expected) {
  CUdeviceptr base = 0;
  std::size_t size = 0;
  if (TELL(cuMemGetAddressRange, &base, &size, asked) == CUDA_SUCCESS) {
    note("base %d size %zu", base == expected, size);
  }
}

}  // namespace

PROGRAM(memory_alloc_and_free) {
  CUdeviceptr memory = 0;
  TELL(cuMemAlloc, &memory, 1000);
  note("aligned to 256 %d", memory % 256 == 0);
  TELL(cuMemFree, memory);
}

PROGRAM(memory_alloc_bad_arguments) {
  CUdeviceptr memory = 0;
  TELL(cuMemAlloc, &memory, 0);
  TELL(cuMemAlloc, nullptr, 64);
}

PROGRAM(memory_alloc_too_much) {
  CUdeviceptr memory = 0;
  TELL(cuMemAlloc, &memory, std::size_t{1} << 46);
  TELL(cuMemAlloc, &memory, 64);
  TELL(cuMemFree, memory);
}

PROGRAM(memory_free_null) { TELL(cuMemFree, 0); }

PROGRAM(memory_free_twice) {
  CUdeviceptr memory = 0;
  TELL(cuMemAlloc, &memory, 64);
  TELL(cuMemFree, memory);
  TELL(cuMemFree, memory);
}

PROGRAM(memory_free_inside) {
  CUdeviceptr memory = 0;
  TELL(cuMemAlloc, &memory, 1024);
  TELL(cuMemFree, memory + 256);
  TELL(cuMemFree, memory);
}

PROGRAM(memory_free_waits) {
  const Words out = p.words(1, 0);
  const Flag go = p.flag();
  const CUstream stream = p.stream();
  CUdeviceptr memory = 0;
  MUST(cuMemAlloc, &memory, 64 << 20);
  launch(p.kernel("fill"), {}, stream, memory, 1024u, 5u);
  launch(p.kernel("tell"), {1, 1}, stream, go.device, 1u);
  TELL(cuMemFree, memory);
  note("done %u", go.get());
  (void)out;
}

PROGRAM(memory_address_range) {
  CUdeviceptr memory = 0;
  MUST(cuMemAlloc, &memory, 1000);
  note_range(memory, memory);
  note_range(memory + 999, memory);
  MUST(cuMemFree, memory);
  note_range(memory, memory);
}

PROGRAM(memory_address_range_of_nothing) {
  note_range(0, 0);
  note_range(0x1234, 0);
}

PROGRAM(memory_pitch) {
  CUdeviceptr memory = 0;
  std::size_t pitch = 0;
  TELL(cuMemAllocPitch, &memory, &pitch, 100, 7, 4);
  note("pitch %zu", pitch);
  TELL(cuMemFree, memory);
  TELL(cuMemAllocPitch, &memory, &pitch, 100, 7, 3);
}

PROGRAM(memory_kind_of_pointer) {
  const Words data = p.words(16, 1);
  const Flag host = p.flag();
  for (CUdeviceptr address : {data.address, data.at(3), reinterpret_cast<CUdeviceptr>(host.host), host.device}) {
    CUmemorytype type{};
    TELL(cuPointerGetAttribute, &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
    note("type %d", static_cast<int>(type));
  }
}

PROGRAM(memory_pointer_attributes) {
  const Words data = p.words(16, 1);
  CUcontext context = nullptr;
  CUdeviceptr address = 0;
  int ordinal = 9;
  unsigned managed = 9;
  std::size_t size = 0;
  TELL(cuPointerGetAttribute, &context, CU_POINTER_ATTRIBUTE_CONTEXT, data.address);
  note("context %d", context == p.context());
  TELL(cuPointerGetAttribute, &address, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, data.at(3));
  note("same %d", address == data.at(3));
  TELL(cuPointerGetAttribute, &ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, data.address);
  note("device %d", ordinal);
  TELL(cuPointerGetAttribute, &managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, data.address);
  note("managed %u", managed & 0xff);
  TELL(cuPointerGetAttribute, &address, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, data.at(3));
  note("start %d", address == data.address);
  TELL(cuPointerGetAttribute, &size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, data.at(3));
  note("size %zu", size);
}

PROGRAM(memory_host_pointer_of_device_memory) {
  const Words data = p.words(16, 1);
  void* host = nullptr;
  TELL(cuPointerGetAttribute, &host, CU_POINTER_ATTRIBUTE_HOST_POINTER, data.address);
}

PROGRAM(memory_unknown_pointer) {
  unsigned value = 0;
  CUmemorytype type{};
  TELL(cuPointerGetAttribute, &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(&value));
  TELL(cuPointerGetAttribute, &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 0);
}

PROGRAM(memory_unknown_pointer_many_attributes) {
  unsigned value = 0;
  CUmemorytype type = CU_MEMORYTYPE_ARRAY;
  int ordinal = 9;
  std::array<CUpointer_attribute, 2> attributes{CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  std::array<void*, 2> answers{&type, &ordinal};
  TELL(cuPointerGetAttributes, 2, attributes.data(), answers.data(), reinterpret_cast<CUdeviceptr>(&value));
  note("type %d device %d", static_cast<int>(type), ordinal);
}

PROGRAM(memory_pointer_after_free) {
  CUdeviceptr memory = 0;
  CUmemorytype type{};
  MUST(cuMemAlloc, &memory, 8 << 20);
  MUST(cuMemFree, memory);
  TELL(cuPointerGetAttribute, &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory);
}

PROGRAM(memory_buffer_ids_differ) {
  const Words a = p.words(16, 1), b = p.words(16, 1);
  unsigned long long first = 0, second = 0;
  TELL(cuPointerGetAttribute, &first, CU_POINTER_ATTRIBUTE_BUFFER_ID, a.address);
  TELL(cuPointerGetAttribute, &second, CU_POINTER_ATTRIBUTE_BUFFER_ID, b.address);
  note("differ %d", first != second);
}

PROGRAM(memory_host_alloc) {
  void* memory = nullptr;
  CUdeviceptr device = 0;
  TELL(cuMemHostAlloc, &memory, 100, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
  TELL(cuMemHostGetDevicePointer, &device, memory, 0);
  note("same address %d", device == reinterpret_cast<CUdeviceptr>(memory));
  TELL(cuMemFreeHost, memory);
}

PROGRAM(memory_host_flags) {
  for (unsigned given : {0u, 1u, 2u, 3u, 4u}) {
    void* memory = nullptr;
    unsigned flags = 99;
    note("given %u", given);
    TELL(cuMemHostAlloc, &memory, 4096, given);
    TELL(cuMemHostGetFlags, &flags, memory);
    note("flags %u", flags);
    MUST(cuMemFreeHost, memory);
  }
}

PROGRAM(memory_host_alloc_bad_arguments) {
  void* memory = nullptr;
  TELL(cuMemHostAlloc, nullptr, 64, 0);
  TELL(cuMemHostAlloc, &memory, 64, 0x100);
}

PROGRAM(memory_host_alloc_of_nothing) {
  void* memory = &memory;
  TELL(cuMemHostAlloc, &memory, 0, 0);
  note("null %d", memory == nullptr);
}

PROGRAM(memory_host_alloc_old_form) {
  void* memory = nullptr;
  TELL(cuMemAllocHost, &memory, 100);
  TELL(cuMemFreeHost, memory);
}

PROGRAM(memory_host_free_twice) {
  void* memory = nullptr;
  MUST(cuMemHostAlloc, &memory, 4096, 0);
  TELL(cuMemFreeHost, memory);
  TELL(cuMemFreeHost, memory);
}

PROGRAM(memory_host_free_null) { TELL(cuMemFreeHost, nullptr); }

PROGRAM(memory_free_of_host_memory) {
  const Flag host = p.flag();
  TELL(cuMemFree, host.device);
}

PROGRAM(memory_register) {
  void* memory = std::aligned_alloc(4096, 8192);
  CUdeviceptr device = 0;
  unsigned flags = 99;
  TELL(cuMemHostRegister, memory, 8192, CU_MEMHOSTREGISTER_PORTABLE);
  TELL(cuMemHostGetDevicePointer, &device, memory, 0);
  note("same address %d", device == reinterpret_cast<CUdeviceptr>(memory));
  TELL(cuMemHostGetFlags, &flags, memory);
  TELL(cuMemHostUnregister, memory);
  std::free(memory);
}

PROGRAM(memory_register_twice) {
  void* memory = std::aligned_alloc(4096, 8192);
  TELL(cuMemHostRegister, memory, 8192, 0);
  TELL(cuMemHostRegister, memory, 8192, 0);
  TELL(cuMemHostUnregister, memory);
  TELL(cuMemHostUnregister, memory);
  std::free(memory);
}

PROGRAM(memory_register_bad_arguments) {
  TELL(cuMemHostRegister, nullptr, 4096, 0);
  void* memory = std::aligned_alloc(4096, 8192);
  TELL(cuMemHostRegister, memory, 0, 0);
  std::free(memory);
}

PROGRAM(memory_unregister_what_is_allocated) {
  const Flag host = p.flag();
  TELL(cuMemHostUnregister, host.host);
}

PROGRAM(memory_free_host_of_registered) {
  void* memory = std::aligned_alloc(4096, 8192);
  MUST(cuMemHostRegister, memory, 8192, 0);
  TELL(cuMemFreeHost, memory);
  TELL(cuMemHostUnregister, memory);
  std::free(memory);
}

PROGRAM(memory_info) {
  std::size_t free_bytes = 0, total = 0;
  TELL(cuMemGetInfo, &free_bytes, &total);
  note("sensible %d", free_bytes > 0 && free_bytes <= total);
}

PROGRAM(memory_reused_address_has_new_contents) {
  CUdeviceptr memory = 0;
  unsigned value = 0;
  const CUstream stream = p.stream();
  for (unsigned i = 0; i < 3; ++i) {
    MUST(cuMemAlloc, &memory, 4 << 20);
    TELL(cuMemsetD32Async, memory, i + 5, 16, stream);
    TELL(cuStreamSynchronize, stream);
    MUST(cuMemcpyDtoH, &value, memory, 4);
    note("value %u", value);
    MUST(cuMemFree, memory);
  }
}

}  // namespace refrain::tests::conformance
