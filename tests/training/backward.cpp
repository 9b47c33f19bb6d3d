#include "tests/training/model.h"
#include "tests/training/products.h"
#include "tests/training/range.h"

namespace refrain::tests::training {

void Model::experts_backward(const Layer& layer, Activations& a, const float* d_out, float* d_gate, float* d_gathered) {
  const Range range("experts");
  Scope scratch(memory_);
  float* d_expert = scratch.floats(slots * width);
  float* d_active = scratch.floats(slots * hidden);
  kernels_.combine_backward(slots * width, d_expert, d_out, a.order, a.gate, slots, width);
  kernels_.gate_backward(slots, d_gate, d_out, a.expert_out, a.position, slots, width);
  unsigned first = 0;
  for (unsigned e = 0; e < experts; ++e) {
    const unsigned end = first + a.host_counts[e];
    for (; first < end; first += chunk) {
      const unsigned n = end - first < chunk ? end - first : chunk;
      float* d = d_active + first * hidden;
      kernels_.multiply(n * hidden, d, d_expert + first * width, layer.down[e].value,
                        product_right_transposed(n, hidden, width));
      kernels_.multiply(hidden * width, layer.down[e].gradient, a.expert_active + first * hidden,
                        d_expert + first * width, product_left_transposed(hidden, width, n, true));
      kernels_.activate_backward(n * hidden, d, a.expert_hidden + first * hidden, n * hidden);
      kernels_.multiply(width * hidden, layer.up[e].gradient, a.gathered + first * width, d,
                        product_left_transposed(width, hidden, n, true));
      kernels_.multiply(n * width, d_gathered + first * width, d, layer.up[e].value,
                        product_right_transposed(n, width, hidden));
    }
    first = end;
  }
}

void Model::router_backward(const Layer& layer, Activations& a, const float* d_out, const float* d_gate,
                            float* d_gathered, float* d_between) {
  const Range range("router.backward");
  Scope scratch(memory_);
  float* d_in = scratch.floats(elements);
  float* d_logits = scratch.floats(rows * experts);
  const Scaling scaling{true, 0.75, slots * width};
  device_.copy(d_between, d_out, elements * sizeof(float));
  device_.fill(d_in, 0, elements * sizeof(float));
  kernels_.scale(slots * width, d_gathered, d_gathered, scaling);
  kernels_.gather_backward(elements, d_in, d_gathered, a.position, rows, width);
  kernels_.choose_backward(rows, d_logits, d_gate, a.probabilities, a.choice, rows, experts);
  kernels_.softmax_backward(rows, d_logits, a.probabilities, rows, experts);
  kernels_.center(rows, d_logits, rows, experts);
  kernels_.column_sums(experts, layer.router_bias.gradient, d_logits, rows, experts);
  kernels_.multiply(width * experts, layer.router.gradient, a.router_in, d_logits,
                    product_left_transposed(width, experts, rows, true));
  kernels_.multiply(elements, d_in, d_logits, layer.router.value, product_right_transposed(rows, width, experts, true));
  kernels_.gain_gradient(width, layer.router_gain.gradient, d_in, a.between, a.router_inverse, rows, width);
  kernels_.rms_norm_backward(rows, d_between, d_in, a.between, a.router_inverse, layer.router_gain.value, rows, width);
}

void Model::attention_backward(const Layer& layer, Activations& a, const float* d_between, float* d_in) {
  const Range range("attention.backward");
  constexpr float score_scale = 0.17677669f;  // 1 / sqrt(width), as in the forward pass
  Scope scratch(memory_);
  float *d_projected = scratch.floats(elements), *d_mixed = scratch.floats(elements);
  float *d_query = scratch.floats(elements), *d_key = scratch.floats(elements), *d_value = scratch.floats(elements);
  float *d_scores = scratch.floats(rows * rows), *d_normed = scratch.floats(elements);
  const Scaling scaling{true, 0.5, elements};
  device_.copy(d_in, d_between, elements * sizeof(float));
  kernels_.dropout(elements, d_projected, d_between, elements, 0.9f, a.output_seed);
  kernels_.scale(elements, d_projected, d_projected, scaling);
  kernels_.multiply(width * width, layer.output.gradient, a.mixed, d_projected,
                    product_left_transposed(width, width, rows, true));
  kernels_.multiply(elements, d_mixed, d_projected, layer.output.value, product_right_transposed(rows, width, width));
  kernels_.multiply(elements, d_value, a.dropped, d_mixed, product_left_transposed(rows, width, rows));
  kernels_.multiply(rows * rows, d_scores, d_mixed, a.value, product_right_transposed(rows, rows, width));
  kernels_.dropout(rows * rows, d_scores, d_scores, rows * rows, 0.9f, a.score_seed);
  kernels_.softmax_backward(rows, d_scores, a.scores, rows, rows);
  kernels_.multiply(elements, d_query, d_scores, a.key, scaled(product(rows, width, rows), score_scale));
  kernels_.multiply(elements, d_key, d_scores, a.query,
                    scaled(product_left_transposed(rows, width, rows), score_scale));
  const struct {
    const Weight &weight, &bias;
    float* d;
    bool accumulate;
  } projections[] = {{layer.query, layer.query_bias, d_query, false},
                     {layer.key, layer.key_bias, d_key, true},
                     {layer.value, layer.value_bias, d_value, true}};
  for (const auto& p : projections) {
    kernels_.multiply(width * width, p.weight.gradient, a.normed, p.d,
                      product_left_transposed(width, width, rows, true));
    kernels_.column_sums(width, p.bias.gradient, p.d, rows, width);
    kernels_.multiply(elements, d_normed, p.d, p.weight.value,
                      product_right_transposed(rows, width, width, p.accumulate));
  }
  kernels_.gain_gradient(width, layer.attention_gain.gradient, d_normed, a.in, a.inverse, rows, width);
  kernels_.rms_norm_backward(rows, d_in, d_normed, a.in, a.inverse, layer.attention_gain.value, rows, width);
}

void Model::head_backward(float* d_out) {
  Scope scratch(memory_);
  float* d_normed = scratch.floats(elements);
  kernels_.multiply(width * vocabulary, head_.gradient, normed_, d_logits_,
                    product_left_transposed(width, vocabulary, rows, true));
  kernels_.multiply(elements, d_normed, d_logits_, head_.value, product_right_transposed(rows, width, vocabulary));
  device_.fill(d_out, 0, elements * sizeof(float));
  kernels_.gain_gradient(width, head_gain_.gradient, d_normed, last_, inverse_, rows, width);
  kernels_.rms_norm_backward(rows, d_out, d_normed, last_, inverse_, head_gain_.value, rows, width);
}

void Model::backward() {
  Scope gradients(memory_);
  float *d = gradients.floats(elements), *d_between = gradients.floats(elements);
  float *d_gate = gradients.floats(slots), *d_gathered = gradients.floats(slots * width);
  head_backward(d);
  for (std::size_t l = activations_.size(); l-- > 0;) {
    const Layer& layer = layers_[l];
    experts_backward(layer, *activations_[l], d, d_gate, d_gathered);
    router_backward(layer, *activations_[l], d, d_gate, d_gathered, d_between);
    attention_backward(layer, *activations_[l], d_between, d);
    activations_.pop_back();
  }
  kernels_.embed_backward(vocabulary * width, embedding_.gradient, d, tokens_, rows, width, vocabulary);
}

}  // namespace refrain::tests::training
