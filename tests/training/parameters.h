// The trained tensors: values, gradients and the optimizer's two moments, each a block of its own.
//
// Owns:  their device memory.
// Fails: a driver error ends the program.
#pragma once

#include <vector>

#include "tests/training/device.h"
#include "tests/training/kernel_types.h"
#include "tests/training/memory.h"

namespace refrain::tests::training {

struct Weight {
  float* value = nullptr;
  float* gradient = nullptr;
};

class Parameters {
 public:
  Parameters(const Device& device, Memory& memory) : device_(device), scope_(memory) {}
  /// A tensor of `count` values drawn from +-`spread`, or all 1 where `spread` is 0.
  Weight add(unsigned count, float spread);
  /// As many tables as it takes to hold all tensors; made after the last add().
  const std::vector<TensorTable>& tables() const { return tables_; }

 private:
  const Device& device_;
  Scope scope_;
  unsigned random_ = 12345;
  std::vector<TensorTable> tables_;
};

}  // namespace refrain::tests::training
