#include "tests/nvtx/constructor_client.h"

#include <nvtx3/nvToolsExt.h>
#include <sched.h>

namespace {

[[gnu::constructor]] void use_nvtx() {
  refrain::tests::ConstructorGate& gate = *constructor_gate();
  gate.inside = true;
  while (!gate.proceed) sched_yield();
  gate.level = nvtxRangePushA("constructed");
  nvtxRangePop();
}

}  // namespace
