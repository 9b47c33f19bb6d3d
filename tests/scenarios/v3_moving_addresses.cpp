// V3: the same sequence on buffers that rotate over two, then seven, then come at random, and a fused optimizer's 4 KB
// table of pointers of which three move each time.
#include "tests/programs/kernel_types.h"
#include "tests/programs/scenario.h"

namespace refrain::tests {

SCENARIO_OF(v3_moving_addresses, 192) {
  constexpr unsigned n = 256, chunks = 32;
  const Buffer pool(n * chunks, 1), fixed(n, 2), entries(n * 64, 3);
  const CUfunction mix = scenario.kernel("mix"), accumulate = scenario.kernel("accumulate"),
                   update = scenario.kernel("table_update");
  const CUstream stream = scenario.stream();
  Ledger ledger(scenario, {&pool, &fixed, &entries});
  PointerTable table{};
  table.count = 40, table.n = 16;
  auto entry = [&](unsigned index) { return reinterpret_cast<unsigned*>(entries.address() + index * n * 4); };
  for (unsigned e = 0; e < table.count; ++e) table.entries[e] = entry(e);
  Numbers numbers(7);
  for (int i = 0; i < scenario.iterations(); ++i) {
    const auto iteration = static_cast<unsigned>(i);
    unsigned chunk = iteration % 2;
    if (i >= 48) chunk = iteration % 7;
    if (i >= 96) chunk = numbers.below(chunks);
    const CUdeviceptr moving = pool.address() + chunk * n * 4;
    for (unsigned e : {3u, 17u, 39u}) table.entries[e] = entry(numbers.below(64));
    table.step = iteration / 8;
    {
      const Range range("region fsdp");
      launch(mix, {}, stream, moving, fixed.address(), n, 17u);
      launch(accumulate, {}, stream, fixed.address(), moving, n);
      launch(update, {}, stream, table);
      launch(mix, {}, stream, moving, fixed.address(), n, 5u);
    }
    ledger.take(stream);
  }
  ledger.close();
}

}  // namespace refrain::tests
