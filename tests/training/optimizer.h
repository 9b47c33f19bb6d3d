// AdamW over all tensors: clipping by the global norm, one launch a table with the tensors' addresses by value, scalars
// that move with the step, and the gradients set to zero for the next step.
//
// Fails: a driver error ends the program.
#pragma once

#include "tests/training/kernels.h"
#include "tests/training/parameters.h"

namespace refrain::tests::training {

class Optimizer {
 public:
  Optimizer(const Device& device, Memory& memory, const Kernels& kernels, const Parameters& parameters);
  /// `step` counts from 1.
  void step(unsigned step);

 private:
  const Device& device_;
  const Kernels& kernels_;
  const Parameters& parameters_;
  Scope fixed_;
  unsigned tensors_ = 0, largest_ = 0;
  float *sums_, *factor_;
};

}  // namespace refrain::tests::training
