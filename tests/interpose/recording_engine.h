// An engine that holds what it is told to and writes down what it is asked, in place of the real one.
#pragma once

#include <string>
#include <vector>

#include "replay/engine.h"

namespace refrain::tests {

struct Recording {
  std::vector<std::string> calls;  ///< in order
  bool hold = false;               ///< whether hold() says yes
  CUresult held_result = CUDA_SUCCESS;
};
extern Recording recording;

/// A held call met `error` when it was issued.
void keep_error(CUresult error);

}  // namespace refrain::tests
