// The structures that the kernels of the training program take by value; the same for device and host.
#pragma once

namespace refrain::tests::training {

/// How a matrix product reads its operands: element (r, k) of the left one is at r * left_row + k * left_inner.
struct Product {
  unsigned rows, columns, inner;
  unsigned left_row, left_inner, right_inner, right_column;
  float scale;
  unsigned accumulate;  ///< 1: add to the output
};

/// The state of a random generator, as frameworks pass it: the offset changes with every launch.
struct Seed {
  unsigned long long seed, offset;
};

/// Seven bytes of padding in the middle and four at the end, which the program leaves as they are.
struct Scaling {
  bool enabled;
  double factor;
  unsigned count;
};

/// The tensors of one optimizer launch, as fused optimizers pass them: 4040 bytes by value.
template <typename Floats>
struct TensorTableOf {
  static constexpr unsigned capacity = 112;
  Floats values[capacity];
  Floats gradients[capacity];
  Floats first[capacity];
  Floats second[capacity];
  unsigned counts[capacity];
  unsigned tensors;
  unsigned reserved;
};
using TensorTable = TensorTableOf<float*>;
static_assert(sizeof(TensorTable) == 4040);

/// The scalars of an optimizer step; each of them moves from step to step.
struct Rates {
  float rate, first_decay, second_decay, first_correction, second_correction, weight_decay;
};

}  // namespace refrain::tests::training
