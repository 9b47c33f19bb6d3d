// E2: a kernel of the region faults in the 41st pass. The next wait tells the same error as without Refrain, and so
// does everything after it. Which launch call is the first to know is a matter of time, so those are not noted.
#include "tests/programs/scenario.h"

namespace refrain::tests {

SCENARIO(e2_kernel_faults) {
  constexpr unsigned n = 256;
  const Buffer data(n, 1), sum(n, 2);
  const CUfunction mix = scenario.kernel("mix"), accumulate = scenario.kernel("accumulate");
  const CUstream stream = scenario.stream();
  for (int i = 0; i < scenario.iterations(); ++i) {
    const std::string before = transcript;
    {
      const Range range("region faulty");
      launch(mix, {}, stream, data.address(), sum.address(), n, 1u);
      launch(accumulate, {}, stream, sum.address(), data.address(), n);
      launch(mix, {}, stream, i == 40 ? CUdeviceptr{64} : data.address(), sum.address(), n, 3u);
      launch(accumulate, {}, stream, sum.address(), data.address(), n);
    }
    if (i >= 40) transcript = before;
    CALL(cuStreamSynchronize, stream);
    const std::vector<unsigned> contents = sum.read();
    if (i < 40) note("output %016llx", static_cast<unsigned long long>(hash_bytes(contents.data(), sum.bytes())));
  }
}

}  // namespace refrain::tests
