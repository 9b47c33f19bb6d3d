// A7: the same kernel by a module's function, by a library's kernel handle and by the function of that kernel.
#include "tests/programs/scenario.h"

namespace refrain::tests {

SCENARIO(a7_two_handle_kinds) {
  constexpr unsigned n = 256;
  const Buffer data(n, 1), sum(n, 2);
  const CUfunction mix = scenario.kernel("mix");
  const CUstream stream = scenario.stream();
  CUlibrary library = nullptr;
  CUkernel mix_kernel = nullptr, accumulate_kernel = nullptr;
  CUfunction accumulate = nullptr;
  CALL(cuLibraryLoadData, &library, kernel_text(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  CALL(cuLibraryGetKernel, &mix_kernel, library, "mix");
  CALL(cuLibraryGetKernel, &accumulate_kernel, library, "accumulate");
  CALL(cuKernelGetFunction, &accumulate, accumulate_kernel);
  Ledger ledger(scenario, {&data, &sum});
  for (int i = 0; i < scenario.iterations(); ++i) {
    {
      const Range range("region handles");
      const auto salt = static_cast<unsigned>(i) / 6;
      launch(mix, {}, stream, data.address(), data.address(), n, salt);
      launch(reinterpret_cast<CUfunction>(mix_kernel), {}, stream, data.address(), data.address(), n, salt + 1);
      launch(reinterpret_cast<CUfunction>(accumulate_kernel), {}, stream, sum.address(), data.address(), n);
      launch(accumulate, {}, stream, sum.address(), data.address(), n);
      // In turn by one or the other handle: another sequence each time, with the same result.
      launch(i % 2 == 0 ? mix : reinterpret_cast<CUfunction>(mix_kernel), {}, stream, data.address(), sum.address(), n,
             3u);
    }
    ledger.take(stream);
  }
  ledger.close();
  CALL(cuStreamSynchronize, stream);
  CALL(cuLibraryUnload, library);
}

}  // namespace refrain::tests
