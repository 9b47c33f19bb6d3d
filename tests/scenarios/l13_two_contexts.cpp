// L13: the same range name and the same kernels in two contexts of one device, in turn.
#include "tests/programs/scenario.h"

namespace refrain::tests {
namespace {

struct Side {
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUstream stream = nullptr;
  CUfunction mix = nullptr, accumulate = nullptr;
  CUdeviceptr data = 0, sum = 0;
};

constexpr unsigned n = 256;

Side make_side(CUcontext context, unsigned seed) {
  Side side;
  side.context = context;
  CALL(cuCtxSetCurrent, context);
  CALL(cuModuleLoadData, &side.module, kernel_text());
  CALL(cuModuleGetFunction, &side.mix, side.module, "mix");
  CALL(cuModuleGetFunction, &side.accumulate, side.module, "accumulate");
  CALL(cuStreamCreate, &side.stream, CU_STREAM_NON_BLOCKING);
  CALL(cuMemAlloc, &side.data, n * 4);
  CALL(cuMemAlloc, &side.sum, n * 4);
  CALL(cuMemsetD32Async, side.data, seed, n, side.stream);
  CALL(cuMemsetD32Async, side.sum, seed + 1, n, side.stream);
  return side;
}

void pass(const Side& side, unsigned salt, bool null_stream) {
  CALL(cuCtxSetCurrent, side.context);
  const CUstream stream = null_stream ? nullptr : side.stream;
  const Range range("region context");
  launch(side.mix, {}, stream, side.data, side.sum, n, salt);
  launch(side.accumulate, {}, stream, side.sum, side.data, n);
  launch(side.mix, {}, stream, side.data, side.data, n, 2u);
  launch(side.accumulate, {}, stream, side.sum, side.data, n);
}

void read(const Side& side) {
  CALL(cuCtxSetCurrent, side.context);
  CALL(cuCtxSynchronize);
  CALL(cuStreamSynchronize, side.stream);  // where the context could not be set, the other one was waited for
  std::vector<unsigned> contents(2 * n);
  CALL(cuMemcpyDtoH, contents.data(), side.data, n * 4);
  CALL(cuMemcpyDtoH, contents.data() + n, side.sum, n * 4);
  note("output %016llx", static_cast<unsigned long long>(hash_bytes(contents.data(), contents.size() * 4)));
}

}  // namespace

SCENARIO(l13_two_contexts) {
  CUcontext second = nullptr;
  CALL(cuCtxCreate, &second, nullptr, 0, scenario.device());
  const Side sides[2] = {make_side(scenario.context(), 3), make_side(second, 70)};
  for (int i = 0; i < scenario.iterations(); ++i) {
    const bool null_stream = i % 16 >= 12;
    if (i % 16 == 0 || i % 16 == 12) {
      for (const Side& side : sides) {
        CALL(cuCtxSetCurrent, side.context);
        CALL(cuCtxSynchronize);
      }
    }
    for (const Side& side : sides) pass(side, static_cast<unsigned>(i) / 8, null_stream);
    if (scenario.wait_each() || i + 1 == scenario.iterations()) {
      for (const Side& side : sides) read(side);
    }
  }
  // The second context ends with the last pass's calls possibly held.
  pass(sides[1], 1, false);
  // One that could not be destroyed is waited for: what it gets done until the process ends is a matter of time.
  if (CALL(cuCtxDestroy, second) != CUDA_SUCCESS) read(sides[1]);
  CALL(cuCtxSetCurrent, scenario.context());
  pass(sides[0], 1, false);
  read(sides[0]);
}

}  // namespace refrain::tests
