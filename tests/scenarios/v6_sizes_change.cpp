// V6: the pointers stay, while the count, the grid, the block and the dynamic shared memory change.
#include "tests/programs/scenario.h"

namespace refrain::tests {

SCENARIO(v6_sizes_change) {
  constexpr unsigned n = 2048;
  const Buffer seen(n + 8, 1), reversed(n, 2), input(n, 3), mixed(n, 4);
  const CUfunction configuration = scenario.kernel("configuration"), reverse = scenario.kernel("reverse_blocks"),
                   mix = scenario.kernel("mix");
  const CUstream stream = scenario.stream();
  Ledger ledger(scenario, {&seen, &reversed, &mixed});
  const unsigned grids[] = {8, 12, 9}, blocks[] = {64, 128};
  for (int i = 0; i < scenario.iterations(); ++i) {
    const auto iteration = static_cast<unsigned>(i);
    const unsigned grid = grids[iteration % 3], block = blocks[iteration / 3 % 2];
    {
      const Range range("region sizes");
      launch(mix, {grid, block}, stream, mixed.address(), input.address(), grid * block, iteration / 4);
      launch(configuration, {grid, block, 16 * (iteration % 5)}, stream, seen.address(), grid * block);
      launch(reverse, {grid, block, block * 4}, stream, reversed.address(), mixed.address(), grid * block);
      launch(mix, {4, 64}, stream, input.address(), reversed.address(), 200u, 1u);
    }
    ledger.take(stream);
  }
  ledger.close();
}

}  // namespace refrain::tests
