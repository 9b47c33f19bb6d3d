// Copies: each direction, pageable and pinned memory, rows and boxes, zero sizes, bad places.
#include <array>
#include <numeric>

#include "tests/conformance/program.h"

namespace refrain::tests::conformance {

PROGRAM(copy_host_to_device_and_back) {
  const Words data = p.words(16, 1);
  std::array<unsigned, 16> from{}, to{};
  std::iota(from.begin(), from.end(), 100u);
  TELL(cuMemcpyHtoD, data.address, from.data(), 64);
  TELL(cuMemcpyDtoH, to.data(), data.address, 64);
  note("equal %d", from == to);
}

PROGRAM(copy_unified) {
  const Words data = p.words(16, 1);
  std::array<unsigned, 16> to{};
  TELL(cuMemcpy, reinterpret_cast<CUdeviceptr>(to.data()), data.address, 64);
  note("to %u %u", to[0], to[15]);
}

PROGRAM(copy_unified_async) {
  const Words from = p.words(16, 1), to = p.words(16, 900);
  const CUstream stream = p.stream();
  TELL(cuMemcpyAsync, to.address, from.address, 32, stream);
  TELL(cuStreamSynchronize, stream);
  note_words("to", to, 6, 4);
}

PROGRAM(copy_device_to_device) {
  const Words from = p.words(64, 1), to = p.words(64, 900);
  const CUstream stream = p.stream();
  TELL(cuMemcpyDtoD, to.address, from.address, 16);
  TELL(cuCtxSynchronize);
  TELL(cuMemcpyDtoDAsync, to.at(32), from.address, 64, stream);
  TELL(cuStreamSynchronize, stream);
  note_hash("to", to);
}

PROGRAM(copy_pageable_source_may_be_reused) {
  const Words data = p.words(16, 1);
  const CUstream stream = p.stream();
  std::array<unsigned, 16> from{};
  for (unsigned i = 0; i < 3; ++i) {
    from.fill(i + 40);
    TELL(cuMemcpyHtoDAsync, data.address + i * 16, from.data(), 16, stream);
    from.fill(0);
  }
  TELL(cuStreamSynchronize, stream);
  note_words("data", data, 0, 13);
}

PROGRAM(copy_pageable_destination_is_written_at_return) {
  const Words data = p.words(16, 1);
  const CUstream stream = p.stream();
  std::array<unsigned, 16> to{};
  launch(p.kernel("mix"), {1, 16}, stream, data.address, data.address, 16u, 3u);
  TELL(cuMemcpyDtoHAsync, to.data(), data.address, 64, stream);
  note("to %u %u", to[0], to[15]);
  TELL(cuStreamSynchronize, stream);
}

PROGRAM(copy_pinned_waits_for_nothing) {
  const Words out = p.words(1, 0), data = p.words(16, 1);
  const Flag go = p.flag(), host = p.flag();
  const CUstream stream = p.stream();
  launch(p.kernel("wait_for"), {1, 1}, stream, go.device, 1u, out.address);
  TELL(cuMemcpyDtoHAsync, host.host, data.address, 64, stream);
  TELL(cuStreamQuery, stream);
  note("before %u", host.get());
  go.set(1);
  TELL(cuStreamSynchronize, stream);
  note("after %u %u", host.host[0], host.host[15]);
}

PROGRAM(copy_pinned_source_is_read_when_it_runs) {
  const Words out = p.words(1, 0), data = p.words(16, 1);
  const Flag go = p.flag(), host = p.flag();
  const CUstream stream = p.stream();
  host.set(5);
  launch(p.kernel("wait_for"), {1, 1}, stream, go.device, 1u, out.address);
  TELL(cuMemcpyHtoDAsync, data.address, host.host, 64, stream);
  host.set(6);
  go.set(1);
  TELL(cuStreamSynchronize, stream);
  note_words("data", data, 0, 1);
}

PROGRAM(copy_of_registered_memory) {
  static std::array<unsigned, 2048> memory;
  memory.fill(77);
  const Words data = p.words(16, 1);
  const CUstream stream = p.stream();
  TELL(cuMemHostRegister, memory.data(), sizeof memory, CU_MEMHOSTREGISTER_DEVICEMAP);
  TELL(cuMemcpyHtoDAsync, data.address, memory.data(), 64, stream);
  TELL(cuStreamSynchronize, stream);
  TELL(cuMemHostUnregister, memory.data());
  note_words("data", data);
}

PROGRAM(copy_of_nothing) {
  const Words from = p.words(16, 1), to = p.words(16, 900);
  const CUstream stream = p.stream();
  unsigned value = 0;
  TELL(cuMemcpyDtoDAsync, to.address, from.address, 0, stream);
  TELL(cuMemcpyHtoD, to.address, &value, 0);
  TELL(cuMemcpyDtoH, &value, to.address, 0);
  TELL(cuStreamSynchronize, stream);
  note_words("to", to);
}

PROGRAM(copy_rows) {
  const Words from = p.words(256, 1), to = p.words(256, 900);
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from.address;
  copy.srcPitch = 64;
  copy.srcXInBytes = 8;
  copy.srcY = 1;
  copy.dstDevice = to.address;
  copy.dstPitch = 128;
  copy.dstXInBytes = 4;
  copy.WidthInBytes = 20;
  copy.Height = 3;
  const CUstream stream = p.stream();
  TELL(cuMemcpy2DAsync, &copy, stream);
  TELL(cuStreamSynchronize, stream);
  note_words("first row", to, 0, 7);
  note_hash("to", to);
}

PROGRAM(copy_rows_to_the_host) {
  const Words from = p.words(256, 1);
  std::array<unsigned, 24> to{};
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from.address;
  copy.srcPitch = 64;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = to.data();
  copy.dstPitch = 32;
  copy.WidthInBytes = 12;
  copy.Height = 3;
  TELL(cuMemcpy2D, &copy);
  note("to %u %u %u %u / %u %u", to[0], to[1], to[2], to[3], to[8], to[16]);
  TELL(cuMemcpy2DUnaligned, &copy);
}

PROGRAM(copy_rows_pitch_too_small) {
  const Words from = p.words(256, 1), to = p.words(256, 900);
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from.address;
  copy.srcPitch = 8;
  copy.dstDevice = to.address;
  copy.dstPitch = 64;
  copy.WidthInBytes = 16;
  copy.Height = 3;
  TELL(cuMemcpy2DAsync, &copy, p.stream());
}

PROGRAM(copy_box) {
  const Words from = p.words(512, 1), to = p.words(512, 9000);
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from.address;
  copy.srcPitch = 64;
  copy.srcHeight = 8;
  copy.srcZ = 1;
  copy.dstDevice = to.address;
  copy.dstPitch = 32;
  copy.dstHeight = 4;
  copy.WidthInBytes = 16;
  copy.Height = 3;
  copy.Depth = 2;
  const CUstream stream = p.stream();
  TELL(cuMemcpy3DAsync, &copy, stream);
  TELL(cuStreamSynchronize, stream);
  note_words("first row", to, 0, 5);
  note_hash("to", to);
}

PROGRAM(copy_descriptions_missing) {
  TELL(cuMemcpy2D, nullptr);
  TELL(cuMemcpy3D, nullptr);
}

PROGRAM(copy_bad_memory_type) {
  const Words from = p.words(64, 1), to = p.words(64, 900);
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = static_cast<CUmemorytype>(9);
  copy.srcDevice = from.address;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = to.address;
  copy.srcPitch = copy.dstPitch = 16;
  copy.WidthInBytes = 4;
  copy.Height = 1;
  TELL(cuMemcpy2DAsync, &copy, p.stream());
}

PROGRAM(copy_from_freed_memory) {
  const Words to = p.words(16, 900);
  CUdeviceptr memory = 0;
  MUST(cuMemAlloc, &memory, 8 << 20);
  MUST(cuMemFree, memory);
  TELL(cuMemcpyDtoDAsync, to.address, memory, 64, p.stream());
}

PROGRAM(copy_from_null) {
  const Words to = p.words(16, 900);
  TELL(cuMemcpyDtoDAsync, to.address, 0, 64, p.stream());
}

PROGRAM(copy_over_the_end) {
  // Large, so that nothing else can lie behind it.
  CUdeviceptr memory = 0;
  const Words from = p.words(16, 1);
  constexpr std::size_t size = 64 << 20;
  MUST(cuMemAlloc, &memory, size);
  TELL(cuMemcpyDtoDAsync, memory + size - 32, from.address, 64, p.stream());
  MUST(cuMemFree, memory);
}

PROGRAM(copy_from_host_null) {
  const Words to = p.words(16, 900);
  TELL(cuMemcpyHtoD, to.address, nullptr, 16);
}

PROGRAM(copy_within_one_buffer) {
  const Words data = p.words(64, 1);
  const CUstream stream = p.stream();
  TELL(cuMemcpyDtoDAsync, data.at(32), data.address, 128, stream);
  TELL(cuStreamSynchronize, stream);
  note_words("data", data, 30, 5);
}

PROGRAM(copy_to_itself) {
  const Words data = p.words(64, 1);
  const CUstream stream = p.stream();
  TELL(cuMemcpyDtoDAsync, data.address, data.address, 64, stream);
  TELL(cuStreamSynchronize, stream);
  note_words("data", data);
}

PROGRAM(copy_between_peers_of_one_device) {
  const Words from = p.words(64, 1), to = p.words(64, 900);
  const CUstream stream = p.stream();
  TELL(cuMemcpyPeerAsync, to.address, p.context(), from.address, p.context(), 64, stream);
  TELL(cuStreamSynchronize, stream);
  note_words("to", to, 14, 4);
}

PROGRAM(copy_odd_bytes) {
  const Words from = p.words(16, 0x01020304), to = p.words(16, 0);
  const CUstream stream = p.stream();
  TELL(cuMemcpyDtoDAsync, to.address + 1, from.address + 2, 7, stream);
  TELL(cuStreamSynchronize, stream);
  note_words("to", to);
}

}  // namespace refrain::tests::conformance
