// V10: a structure by value whose padding holds other garbage at every launch. It must not cost the replay.
#include <cstddef>

#include "tests/programs/kernel_types.h"
#include "tests/programs/scenario.h"

namespace refrain::tests {

SCENARIO(v10_padding_garbage) {
  const Buffer out(2, 1), data(100, 2);
  const CUfunction padded = scenario.kernel("padded"), mix = scenario.kernel("mix");
  const CUstream stream = scenario.stream();
  Ledger ledger(scenario, {&out, &data});
  Numbers numbers(3);
  for (int i = 0; i < scenario.iterations(); ++i) {
    {
      const Range range("region padding");
      for (unsigned part = 0; part < 3; ++part) {
        alignas(Padded) unsigned char bytes[sizeof(Padded)];
        for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(numbers.next());
        bytes[offsetof(Padded, negative)] = part == 1;
        const long long number = 1000 + part;
        std::memcpy(bytes + offsetof(Padded, number), &number, sizeof number);
        CUdeviceptr to = out.address();
        void* parameters[] = {bytes, &to};
        CALL(cuLaunchKernel, padded, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr);
      }
      launch(mix, {}, stream, data.address(), data.address(), 100u, 1u);
    }
    ledger.take(stream);
  }
  ledger.close();
}

}  // namespace refrain::tests
