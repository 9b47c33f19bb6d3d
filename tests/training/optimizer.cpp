#include "tests/training/optimizer.h"

#include <algorithm>
#include <cmath>

#include "tests/training/range.h"

namespace refrain::tests::training {

Optimizer::Optimizer(const Device& device, Memory& memory, const Kernels& kernels, const Parameters& parameters)
    : device_(device), kernels_(kernels), parameters_(parameters), fixed_(memory) {
  for (const TensorTable& table : parameters.tables()) {
    tensors_ += table.tensors;
    largest_ = std::max(largest_, *std::max_element(table.counts, table.counts + table.tensors));
  }
  sums_ = fixed_.floats(tensors_);
  factor_ = fixed_.floats(1);
}

void Optimizer::step(unsigned step) {
  const Range range("optimizer");
  constexpr float first = 0.9f, second = 0.99f;
  const float n = static_cast<float>(step);
  const Rates rates{0.01f * std::min(1.0f, n / 5.0f) / (1.0f + 0.01f * n),
                    first,
                    second,
                    1.0f - std::pow(first, n),
                    1.0f - std::pow(second, n),
                    0.01f};
  float* sums = sums_;
  for (const TensorTable& table : parameters_.tables()) {
    kernels_.square_sums(table.tensors, sums, table);
    sums += table.tensors;
  }
  kernels_.clip_factor(1, factor_, sums_, tensors_, 1.0f);
  for (const TensorTable& table : parameters_.tables()) kernels_.adam(largest_, factor_, table, rates);
  for (const TensorTable& table : parameters_.tables()) {
    for (unsigned t = 0; t < table.tensors; ++t) device_.fill(table.gradients[t], 0, table.counts[t] * sizeof(float));
  }
}

}  // namespace refrain::tests::training
