#include <cstring>

#include "tests/training/model.h"
#include "tests/training/products.h"
#include "tests/training/range.h"

namespace refrain::tests::training {
namespace {

constexpr float score_scale = 0.17677669f;  // 1 / sqrt(width)

/// A structure whose padding holds something else each time, as structures on a stack do.
Scaling scaling_with_rubbish(double factor, unsigned count) {
  static unsigned char rubbish = 0;
  Scaling scaling;
  std::memset(static_cast<void*>(&scaling), ++rubbish, sizeof scaling);
  scaling.enabled = true;
  scaling.factor = factor;
  scaling.count = count;
  return scaling;
}

}  // namespace

void Model::attention(const Layer& layer, Activations& a, const float* in, bool training) {
  const Range range("attention");
  Scope scratch(memory_);
  float* projected = scratch.floats(elements);
  device_.copy(a.in, in, elements * sizeof(float));
  kernels_.rms_norm(rows, a.normed, a.inverse, a.in, layer.attention_gain.value, rows, width);
  kernels_.multiply(elements, a.query, a.normed, layer.query.value, product(rows, width, width));
  kernels_.multiply(elements, a.key, a.normed, layer.key.value, product(rows, width, width));
  kernels_.multiply(elements, a.value, a.normed, layer.value.value, product(rows, width, width));
  kernels_.add_bias(elements, a.query, layer.query_bias.value, rows, width);
  kernels_.add_bias(elements, a.key, layer.key_bias.value, rows, width);
  kernels_.add_bias(elements, a.value, layer.value_bias.value, rows, width);
  kernels_.multiply(rows * rows, a.scores, a.query, a.key,
                    scaled(product_right_transposed(rows, rows, width), score_scale));
  kernels_.softmax(rows, a.scores, rows, rows, 1);
  const float* weights = a.scores;
  if (training) {
    a.score_seed = next_seed(rows * rows);
    kernels_.dropout(rows * rows, a.dropped, a.scores, rows * rows, 0.9f, a.score_seed);
    weights = a.dropped;
  }
  kernels_.multiply(elements, a.mixed, weights, a.value, product(rows, width, rows));
  kernels_.multiply(elements, projected, a.mixed, layer.output.value, product(rows, width, width));
  const Scaling scaling = scaling_with_rubbish(0.5, elements);
  kernels_.scale(elements, projected, projected, scaling);
  if (training) {
    a.output_seed = next_seed(elements);
    kernels_.dropout(elements, projected, projected, elements, 0.9f, a.output_seed);
  }
  kernels_.add(elements, a.between, a.in, projected, elements);
}

void Model::router(const Layer& layer, Activations& a, bool training) {
  const Range range("router");
  kernels_.rms_norm(rows, a.router_in, a.router_inverse, a.between, layer.router_gain.value, rows, width);
  device_.fill(moving_scratch(), 0, slots * sizeof(unsigned));
  kernels_.multiply(rows * experts, a.probabilities, a.router_in, layer.router.value, product(rows, experts, width));
  kernels_.add_bias(rows * experts, a.probabilities, layer.router_bias.value, rows, experts);
  if (training) kernels_.jitter(rows * experts, a.probabilities, rows * experts, 0.02f, next_seed(rows * experts));
  kernels_.center(rows, a.probabilities, rows, experts);
  kernels_.softmax(rows, a.probabilities, rows, experts, 0);
  kernels_.choose(rows, a.choice, a.gate, a.probabilities, rows, experts);
  device_.fill_words(a.counts, 0, experts);
  kernels_.count_slots(experts, a.counts, usage_, a.choice, slots, experts);
}

void Model::preprocess(Activations& a) {
  const Range range("preprocess");
  Scope scratch(memory_);
  unsigned* offsets = scratch.words(experts);
  float* peaks = scratch.floats(slots);
  device_.fill(a.order, 0xff, slots * sizeof(unsigned));
  device_.fill_words(moving_scratch(), 0xffffffffu, slots);
  kernels_.first_slots(1, offsets, a.counts, experts);
  kernels_.place(experts, a.order, a.position, a.choice, offsets, slots, experts);
  kernels_.gather(slots * width, a.gathered, a.router_in, a.order, slots, width);
  kernels_.row_peaks(slots, peaks, a.gathered, slots, width);
  kernels_.quantise(slots * width, a.gathered, peaks, slots, width);
  const Scaling scaling = scaling_with_rubbish(0.75, slots * width);
  kernels_.scale(slots * width, a.gathered, a.gathered, scaling);
  device_.fill(a.expert_out, 0, slots * width * sizeof(float));
  device_.copy(history_, a.counts, experts * sizeof(unsigned));
}

void Model::run_experts(const Layer& layer, Activations& a) {
  const Range range("experts");
  device_.copy_out(host_counts_.data(), a.counts, experts * sizeof(unsigned));
  unsigned first = 0;
  for (unsigned e = 0; e < experts; ++e) {
    const unsigned end = first + (a.host_counts[e] = host_counts_.data()[e]);
    for (; first < end; first += chunk) {
      const unsigned n = end - first < chunk ? end - first : chunk;
      kernels_.multiply(n * hidden, a.expert_hidden + first * hidden, a.gathered + first * width, layer.up[e].value,
                        product(n, hidden, width));
      kernels_.activate(n * hidden, a.expert_active + first * hidden, a.expert_hidden + first * hidden, n * hidden);
      kernels_.multiply(n * width, a.expert_out + first * width, a.expert_active + first * hidden, layer.down[e].value,
                        product(n, width, hidden));
    }
    first = end;
  }
  kernels_.combine(elements, a.out, a.between, a.expert_out, a.position, a.gate, rows, width);
}

void Model::head() {
  kernels_.multiply(rows * vocabulary, logits_, normed_, head_.value, product(rows, vocabulary, width));
  kernels_.cross_entropy(rows, losses_, d_logits_, logits_, targets_, rows, vocabulary);
  kernels_.mean(1, loss_, losses_, rows);
}

void Model::forward(const std::vector<unsigned>& tokens, const std::vector<unsigned>& targets, unsigned layers,
                    bool training) {
  device_.copy_in(tokens_, tokens.data(), rows * sizeof(unsigned));
  device_.copy_in(targets_, targets.data(), rows * sizeof(unsigned));
  kernels_.embed(elements, embedded_, embedding_.value, tokens_, rows, width);
  const float* x = embedded_;
  for (unsigned l = 0; l < layers; ++l) {
    const Layer& layer = layers_[l];
    Activations& a = *activations_.emplace_back(std::make_unique<Activations>(memory_));
    reserve(a);
    attention(layer, a, x, training);
    router(layer, a, training);
    preprocess(a);
    run_experts(layer, a);
    x = a.out;
  }
  last_ = x;
  kernels_.rms_norm(rows, normed_, inverse_, x, head_gain_.value, rows, width);
  head();
  if (!training) activations_.clear();
}

}  // namespace refrain::tests::training
