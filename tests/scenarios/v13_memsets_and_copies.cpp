// V13: every form of memset and of device copy between kernels, with values, lengths and offsets that change. Those of
// one row can be patched into a graph; others are exact in whatever way.
#include "tests/programs/scenario.h"

namespace refrain::tests {

SCENARIO(v13_rows) {
  constexpr unsigned n = 1024;
  const Buffer first(n, 1), second(n, 2);
  const CUfunction mix = scenario.kernel("mix"), accumulate = scenario.kernel("accumulate");
  const CUstream stream = scenario.stream();
  Ledger ledger(scenario, {&first, &second});
  const unsigned values[] = {0, 1, 7};
  for (int i = 0; i < scenario.iterations(); ++i) {
    const auto iteration = static_cast<unsigned>(i);
    const unsigned value = values[iteration % 3], offset = iteration % 5 * 64, length = 64 + iteration % 4 * 32;
    {
      const Range range("region rows");
      launch(mix, {}, stream, first.address(), second.address(), n, 1u);
      CALL(cuMemsetD8Async, first.address() + offset, static_cast<unsigned char>(value), length, stream);
      CALL(cuMemsetD16Async, second.address() + offset, static_cast<unsigned short>(value * 257), length, stream);
      launch(accumulate, {}, stream, second.address(), first.address(), n);
      CALL(cuMemsetD32Async, second.address() + 2048, value * 65537, length, stream);
      CALL(cuMemcpyDtoDAsync, first.address() + 1024 + offset, second.address() + offset, length, stream);
      launch(accumulate, {}, stream, second.address(), first.address(), n);
      CALL(cuMemcpyAsync, first.address() + offset, second.address() + 2048, length, stream);
      launch(accumulate, {}, stream, second.address(), first.address(), n);
    }
    ledger.take(stream);
  }
  ledger.close();
}

SCENARIO(v13_all_forms) {
  constexpr unsigned n = 1024;
  const Buffer first(n, 1), second(n, 2), image(n, 3);
  const CUfunction mix = scenario.kernel("mix"), accumulate = scenario.kernel("accumulate");
  const CUstream stream = scenario.stream();
  Ledger ledger(scenario, {&first, &second, &image});
  const unsigned values[] = {0, 1, 7};
  for (int i = 0; i < scenario.iterations(); ++i) {
    const auto iteration = static_cast<unsigned>(i);
    const unsigned value = values[iteration % 3], offset = iteration % 5 * 64, length = 64 + iteration % 4 * 32;
    {
      const Range range("region memory");
      launch(mix, {}, stream, first.address(), image.address(), n, 1u);
      CALL(cuMemsetD8Async, first.address() + offset, static_cast<unsigned char>(value), length, stream);
      CALL(cuMemsetD16Async, second.address() + offset, static_cast<unsigned short>(value * 257), length, stream);
      CALL(cuMemsetD32Async, second.address() + 2048, value * 65537, length, stream);
      launch(accumulate, {}, stream, second.address(), first.address(), n);
      CALL(cuMemsetD2D8Async, image.address() + offset, 128, static_cast<unsigned char>(value), 32, 4, stream);
      CALL(cuMemsetD2D32Async, image.address() + 2048, 256, iteration, 8, 1 + iteration % 3, stream);
      CALL(cuMemcpyDtoDAsync, image.address() + 1024 + offset, second.address() + offset, length, stream);
      CALL(cuMemcpyAsync, first.address() + offset, image.address() + 2048, length, stream);
      CALL(cuMemsetD8Async, first.address() + 4000, 9, 0, stream);
      CALL(cuMemcpyDtoDAsync, first.address() + 4000, second.address(), 0, stream);
      launch(accumulate, {}, stream, image.address(), first.address(), n);
    }
    ledger.take(stream);
  }
  ledger.close();
}

}  // namespace refrain::tests
