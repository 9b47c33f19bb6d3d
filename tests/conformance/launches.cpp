// Launches: what is refused at the call, cooperative launches, launches of library kernels.
#include "tests/conformance/configured.h"

namespace refrain::tests::conformance {
namespace {

struct Box {
  unsigned x, y, z;
};

/// A launch of `empty`, of which only the result matters.
void of_empty(Program& p, Box grid, Box block, unsigned shared = 0) {
  const CUstream stream = p.stream();
  TELL(cuLaunchKernel, p.kernel("empty"), grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, stream, nullptr,
       nullptr);
  TELL(cuStreamSynchronize, stream);
}

}  // namespace

PROGRAM(launch_shape) {
  const Words out = p.words(64, 0);
  const CUstream stream = p.stream();
  CUdeviceptr address = out.address;
  unsigned n = 16;
  void* parameters[] = {&address, &n};
  TELL(cuLaunchKernel, p.kernel("configuration"), 2, 3, 4, 8, 4, 2, 1024, stream, parameters, nullptr);
  TELL(cuStreamSynchronize, stream);
  note_words("shape", out, 0, 8);
}

PROGRAM(launch_grid_of_none) { of_empty(p, {0, 1, 1}, {1, 1, 1}); }
PROGRAM(launch_grid_of_none_in_z) { of_empty(p, {1, 1, 0}, {1, 1, 1}); }
PROGRAM(launch_block_of_none) { of_empty(p, {1, 1, 1}, {32, 0, 1}); }
PROGRAM(launch_block_largest) { of_empty(p, {1, 1, 1}, {1024, 1, 1}); }
PROGRAM(launch_block_too_large) { of_empty(p, {1, 1, 1}, {1025, 1, 1}); }
PROGRAM(launch_block_product_too_large) { of_empty(p, {1, 1, 1}, {64, 32, 1}); }
PROGRAM(launch_block_z_too_large) { of_empty(p, {1, 1, 1}, {1, 1, 65}); }
PROGRAM(launch_grid_y_too_large) { of_empty(p, {1, 65536, 1}, {1, 1, 1}); }
PROGRAM(launch_grid_y_largest) { of_empty(p, {1, 65535, 1}, {1, 1, 1}); }
PROGRAM(launch_grid_x_too_large) { of_empty(p, {0x80000000u, 1, 1}, {1, 1, 1}); }
PROGRAM(launch_shared_48_kib) { of_empty(p, {1, 1, 1}, {32, 1, 1}, 48 << 10); }
PROGRAM(launch_shared_too_large) { of_empty(p, {1, 1, 1}, {32, 1, 1}, (48 << 10) + 1); }

PROGRAM(launch_shared_with_permission) {
  const CUfunction empty = p.kernel("empty");
  TELL(cuFuncSetAttribute, empty, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100 << 10);
  of_empty(p, {1, 1, 1}, {32, 1, 1}, 100 << 10);
  of_empty(p, {1, 1, 1}, {32, 1, 1}, (100 << 10) + 16);
  TELL(cuFuncSetAttribute, empty, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 48 << 10);
}

PROGRAM(launch_shared_permission_too_large) {
  TELL(cuFuncSetAttribute, p.kernel("empty"), CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 300 << 10);
}

PROGRAM(launch_function_null) { TELL(cuLaunchKernel, nullptr, 1, 1, 1, 1, 1, 1, 0, p.stream(), nullptr, nullptr); }

PROGRAM(launch_refused_then_good) {
  const Words data = p.words(64, 1);
  const CUstream stream = p.stream();
  launch(p.kernel("mix"), {1, 64}, stream, data.address, data.address, 64u, 1u);
  launch(p.kernel("mix"), {0, 64}, stream, data.address, data.address, 64u, 2u);
  launch(p.kernel("mix"), {1, 64}, stream, data.address, data.address, 64u, 3u);
  TELL(cuStreamSynchronize, stream);
  note_hash("data", data);
}

PROGRAM(launch_of_a_library_kernel) {
  const Words data = p.words(64, 1);
  const CUstream stream = p.stream();
  const auto function = reinterpret_cast<CUfunction>(p.library_kernel("mix"));
  for (unsigned i = 0; i < 3; ++i) launch(function, {1, 64}, stream, data.address, data.address, 64u, i);
  TELL(cuStreamSynchronize, stream);
  note_hash("data", data);
}

PROGRAM(launch_of_a_library_kernels_function) {
  const Words data = p.words(64, 1);
  const CUstream stream = p.stream();
  CUfunction function = nullptr;
  TELL(cuKernelGetFunction, &function, p.library_kernel("mix"));
  launch(function, {1, 64}, stream, data.address, data.address, 64u, 7u);
  TELL(cuStreamSynchronize, stream);
  note_hash("data", data);
}

PROGRAM(launch_dynamic_shared) {
  const Words out = p.words(128, 0), in = p.words(128, 1);
  const CUstream stream = p.stream();
  launch(p.kernel("reverse_blocks"), {2, 64, 256}, stream, out.address, in.address, 128u);
  TELL(cuStreamSynchronize, stream);
  note_words("out", out, 0, 3);
  note_words("out", out, 64, 3);
}

PROGRAM(launch_cooperative) {
  const Words out = p.words(128, 0), between = p.words(128, 0), in = p.words(128, 1), arrived = p.words(1, 0);
  const CUstream stream = p.stream();
  CUdeviceptr addresses[] = {out.address, between.address, in.address, arrived.address};
  unsigned n = 128;
  void* parameters[] = {&addresses[0], &addresses[1], &addresses[2], &n, &addresses[3]};
  TELL(cuLaunchCooperativeKernel, p.kernel("rotate_grid"), 4, 1, 1, 32, 1, 1, 0, stream, parameters);
  TELL(cuStreamSynchronize, stream);
  note_words("out", out, 0, 3);
  note_words("out", out, 96, 3);
}

PROGRAM(launch_cooperative_too_large) {
  TELL(cuLaunchCooperativeKernel, p.kernel("empty"), 100000, 1, 1, 1024, 1, 1, 0, p.stream(), nullptr);
}

PROGRAM(launch_on_each_kind_of_stream) {
  const Words data = p.words(64, 1);
  const CUstream blocking = p.stream(CU_STREAM_DEFAULT);
  const CUfunction mix = p.kernel("mix");
  for (CUstream stream : {static_cast<CUstream>(nullptr), CU_STREAM_PER_THREAD, CU_STREAM_LEGACY, blocking}) {
    launch(mix, {1, 64}, stream, data.address, data.address, 64u, 4u);
  }
  TELL(cuCtxSynchronize);
  note_hash("data", data);
}

PROGRAM(launch_through_the_per_thread_interface) {
  const Words data = p.words(64, 1);
  void* found = nullptr;
  CUdriverProcAddressQueryResult status{};
  check(driver().cuGetProcAddress("cuLaunchKernel", &found, CUDA_VERSION, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
                                  &status),
        "cuGetProcAddress");
  const auto launch_kernel = reinterpret_cast<decltype(&cuLaunchKernel)>(found);
  CUdeviceptr out = data.address, in = data.address;
  unsigned n = 64, salt = 3;
  void* parameters[] = {&out, &in, &n, &salt};
  for (int i = 0; i < 3; ++i) {
    tell("cuLaunchKernel_ptsz", launch_kernel(p.kernel("mix"), 1, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr));
  }
  TELL(cuStreamSynchronize, CU_STREAM_PER_THREAD);
  note_hash("data", data);
}

PROGRAM(launch_many) {
  const Words data = p.words(64, 1);
  const CUstream stream = p.stream();
  CUdeviceptr out = data.address, in = data.address;
  unsigned n = 64, salt = 0;
  void* parameters[] = {&out, &in, &n, &salt};
  for (; salt < 3000; ++salt) {
    MUST(cuLaunchKernel, p.kernel("mix"), 1, 1, 1, 64, 1, 1, 0, stream, parameters, nullptr);
  }
  TELL(cuStreamSynchronize, stream);
  note_hash("data", data);
}

}  // namespace refrain::tests::conformance
