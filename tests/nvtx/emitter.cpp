#define NVTX_EMITTER_IMPLEMENTATION
#include "tests/nvtx/emitter.h"

const refrain::tests::Emitter* nvtx_emitter() {
  static constexpr refrain::tests::Emitter table{
#define ROW(name) .name = &nvtx##name,
      EMITTED_FUNCTIONS(ROW)
#undef ROW
  };
  return &table;
}
