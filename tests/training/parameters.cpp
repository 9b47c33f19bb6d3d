#include "tests/training/parameters.h"

namespace refrain::tests::training {

Weight Parameters::add(unsigned count, float spread) {
  std::vector<float> initial(count, 1.0f);
  if (spread != 0) {
    for (float& value : initial) {
      random_ = random_ * 1664525u + 1013904223u;
      value = spread * (static_cast<float>(random_ >> 8) / 8388608.0f - 1.0f);
    }
  }
  if (tables_.empty() || tables_.back().tensors == TensorTable::capacity) tables_.push_back({});
  TensorTable& table = tables_.back();
  const unsigned t = table.tensors++;
  table.values[t] = scope_.floats(count);
  table.gradients[t] = scope_.floats(count);
  table.first[t] = scope_.floats(count);
  table.second[t] = scope_.floats(count);
  table.counts[t] = count;
  device_.copy_in(table.values[t], initial.data(), count * sizeof(float));
  return {table.values[t], table.gradients[t]};
}

}  // namespace refrain::tests::training
