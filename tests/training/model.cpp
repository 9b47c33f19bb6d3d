#include "tests/training/model.h"

namespace refrain::tests::training {

Model::Model(const Device& device, Memory& memory, unsigned layers)
    : device_(device), memory_(memory), kernels_(device), parameters_(device, memory), fixed_(memory) {
  constexpr float narrow = 0.25f, wide = 0.2f;
  embedding_ = parameters_.add(vocabulary * width, 1.0f);
  for (unsigned l = 0; l < layers; ++l) {
    Layer& layer = layers_.emplace_back();
    layer.attention_gain = parameters_.add(width, 0);
    for (Weight* weight : {&layer.query, &layer.key, &layer.value, &layer.output}) {
      *weight = parameters_.add(width * width, narrow);
    }
    for (Weight* bias : {&layer.query_bias, &layer.key_bias, &layer.value_bias}) *bias = parameters_.add(width, 0.1f);
    layer.router_gain = parameters_.add(width, 0);
    layer.router = parameters_.add(width * experts, narrow);
    layer.router_bias = parameters_.add(experts, 0.1f);
    for (unsigned e = 0; e < experts; ++e) {
      layer.up[e] = parameters_.add(width * hidden, wide);
      layer.down[e] = parameters_.add(hidden * width, wide);
    }
  }
  head_gain_ = parameters_.add(width, 0);
  head_ = parameters_.add(width * vocabulary, narrow);
  for (unsigned*& block : scratch_) block = fixed_.words(slots);
  tokens_ = fixed_.words(rows);
  targets_ = fixed_.words(rows);
  usage_ = fixed_.words(experts);
  history_ = fixed_.words(experts);
  embedded_ = fixed_.floats(elements);
  normed_ = fixed_.floats(elements);
  inverse_ = fixed_.floats(rows);
  logits_ = fixed_.floats(rows * vocabulary);
  d_logits_ = fixed_.floats(rows * vocabulary);
  losses_ = fixed_.floats(rows);
  loss_ = fixed_.floats(1);
}

void Model::reserve(Activations& a) {
  for (float** block : {&a.in, &a.normed, &a.query, &a.key, &a.value, &a.mixed, &a.between, &a.router_in, &a.out}) {
    *block = a.scope.floats(elements);
  }
  a.inverse = a.scope.floats(rows);
  a.router_inverse = a.scope.floats(rows);
  a.scores = a.scope.floats(rows * rows);
  a.dropped = a.scope.floats(rows * rows);
  a.probabilities = a.scope.floats(rows * experts);
  a.gate = a.scope.floats(slots);
  for (unsigned** block : {&a.choice, &a.order, &a.position}) *block = a.scope.words(slots);
  a.counts = a.scope.words(experts);
  a.gathered = a.scope.floats(slots * width);
  a.expert_hidden = a.scope.floats(slots * hidden);
  a.expert_active = a.scope.floats(slots * hidden);
  a.expert_out = a.scope.floats(slots * width);
}

Seed Model::next_seed(unsigned draws) {
  const Seed seed{0x5eed, offset_};
  offset_ += draws;
  return seed;
}

float Model::loss() const {
  device_.copy_out(host_loss_.data(), loss_, sizeof(float));
  return *host_loss_.data();
}

}  // namespace refrain::tests::training
