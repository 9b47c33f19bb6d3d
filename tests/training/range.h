// An NVTX range that ends with its scope.
#pragma once

#include <nvtx3/nvToolsExt.h>

namespace refrain::tests::training {

class Range {
 public:
  explicit Range(const char* name) { nvtxRangePushA(name); }
  ~Range() { nvtxRangePop(); }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
};

}  // namespace refrain::tests::training
