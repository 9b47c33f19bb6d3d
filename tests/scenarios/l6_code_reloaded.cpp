// L6: the module or library of recorded kernels is unloaded and loaded again; the kernels have the same names, and
// often the same handles.
#include "tests/programs/scenario.h"

namespace refrain::tests {
namespace {

void pass(CUfunction mix, CUfunction accumulate, CUstream stream, const Buffer& data, const Buffer& sum,
          unsigned salt) {
  constexpr unsigned n = 256;
  const Range range("region module");
  launch(mix, {}, stream, data.address(), sum.address(), n, salt);
  launch(accumulate, {}, stream, sum.address(), data.address(), n);
  launch(mix, {}, stream, data.address(), data.address(), n, 2u);
  launch(accumulate, {}, stream, sum.address(), data.address(), n);
}

}  // namespace

SCENARIO(l6_module_reloaded) {
  const Buffer data(256, 1), sum(256, 2);
  const CUstream stream = scenario.stream();
  Ledger ledger(scenario, {&data, &sum});
  CUmodule module = nullptr;
  CUfunction mix = nullptr, accumulate = nullptr;
  for (int i = 0; i < scenario.iterations(); ++i) {
    if (i % 8 == 0) {
      if (module != nullptr) CALL(cuModuleUnload, module);
      CALL(cuModuleLoadData, &module, kernel_text());
      CALL(cuModuleGetFunction, &mix, module, "mix");
      CALL(cuModuleGetFunction, &accumulate, module, "accumulate");
    }
    pass(mix, accumulate, stream, data, sum, static_cast<unsigned>(i) / 16);
    ledger.take(stream);
  }
  ledger.close();
  CALL(cuModuleUnload, module);
}

SCENARIO(l6_library_reloaded) {
  const Buffer data(256, 1), sum(256, 2);
  const CUstream stream = scenario.stream();
  Ledger ledger(scenario, {&data, &sum});
  CUlibrary library = nullptr;
  CUkernel mix = nullptr, accumulate = nullptr;
  for (int i = 0; i < scenario.iterations(); ++i) {
    if (i % 8 == 0) {
      if (library != nullptr) {
        CALL(cuStreamSynchronize, stream);
        CALL(cuLibraryUnload, library);
      }
      CALL(cuLibraryLoadData, &library, kernel_text(), nullptr, nullptr, 0, nullptr, nullptr, 0);
      // In turn, so that a reused handle stands for the other kernel.
      const bool swapped = i % 16 != 0;
      CALL(cuLibraryGetKernel, swapped ? &accumulate : &mix, library, swapped ? "accumulate" : "mix");
      CALL(cuLibraryGetKernel, swapped ? &mix : &accumulate, library, swapped ? "mix" : "accumulate");
    }
    pass(reinterpret_cast<CUfunction>(mix), reinterpret_cast<CUfunction>(accumulate), stream, data, sum,
         static_cast<unsigned>(i) / 16);
    ledger.take(stream);
  }
  ledger.close();
  CALL(cuStreamSynchronize, stream);
  CALL(cuLibraryUnload, library);
}

}  // namespace refrain::tests
