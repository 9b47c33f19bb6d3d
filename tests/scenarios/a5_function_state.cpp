// A5: a function's limit of dynamic shared memory is lowered and raised between passes. A launch that is refused then
// is refused at the same call as without Refrain.
#include "tests/programs/scenario.h"

namespace refrain::tests {

SCENARIO(a5_function_attribute_changed) {
  constexpr unsigned n = 512;
  const Buffer data(n, 1), reversed(n, 2);
  const CUfunction reverse = scenario.kernel("reverse_blocks"), mix = scenario.kernel("mix");
  const CUstream stream = scenario.stream();
  Ledger ledger(scenario, {&data, &reversed});
  constexpr CUfunction_attribute limit = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  CALL(cuFuncSetAttribute, reverse, limit, 60000);
  for (int i = 0; i < scenario.iterations(); ++i) {
    if (i == 24) CALL(cuFuncSetAttribute, reverse, limit, 1024);
    if (i == 40) CALL(cuFuncSetAttribute, reverse, limit, 50000);
    if (i % 8 == 0) CALL(cuCtxSetLimit, CU_LIMIT_STACK_SIZE, 2048 + static_cast<std::size_t>(i) * 16);
    {
      const Range range("region limits");
      launch(mix, {}, stream, data.address(), data.address(), n, 1u);
      launch(mix, {}, stream, data.address(), data.address(), n, 2u);
      launch(reverse, {8, 64, 50000}, stream, reversed.address(), data.address(), n);
      launch(mix, {}, stream, data.address(), reversed.address(), n, 3u);
      launch(mix, {}, stream, data.address(), data.address(), n, 4u);
    }
    int now = 0;
    CALL(cuFuncGetAttribute, &now, limit, reverse);
    note("limit %d", now);
    ledger.take(stream);
  }
  ledger.close();
}

}  // namespace refrain::tests
