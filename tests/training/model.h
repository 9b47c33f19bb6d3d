// A small mixture-of-experts transformer: forward on the calling thread, backward on whichever thread asks for it.
//
// Owns:    weights, and the activations of the step in hand.
// Threads: one at a time; each must have made the device's context current.
// Units:   rows are tokens; a slot is one of a token's two choices of an expert.
// Fails:   a driver error ends the program.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "tests/training/kernels.h"
#include "tests/training/parameters.h"

namespace refrain::tests::training {

inline constexpr unsigned rows = 64, width = 32, hidden = 64, experts = 4, vocabulary = 32;
inline constexpr unsigned slots = 2 * rows, elements = rows * width;
/// Rows that one launch of an expert's kernels takes: their number of launches follows the data.
inline constexpr unsigned chunk = 8;

struct Layer {
  Weight attention_gain, query, key, value, query_bias, key_bias, value_bias, output;
  Weight router_gain, router, router_bias;
  std::array<Weight, experts> up, down;
};

/// What one layer's forward leaves for its backward.
struct Activations {
  explicit Activations(Memory& memory) : scope(memory) {}
  Scope scope;
  float *in, *normed, *inverse, *query, *key, *value, *scores, *dropped, *mixed, *between;
  float *router_in, *router_inverse, *probabilities, *gate;
  unsigned *choice, *counts, *order, *position;
  float *gathered, *expert_hidden, *expert_active, *expert_out, *out;
  Seed score_seed, output_seed;
  std::array<unsigned, experts> host_counts;
};

class Model {
 public:
  Model(const Device& device, Memory& memory, unsigned layers);

  /// Forward through the first `layers` layers; the mean loss stays on the device. `training` keeps the activations
  /// and drops and jitters.
  void forward(const std::vector<unsigned>& tokens, const std::vector<unsigned>& targets, unsigned layers,
               bool training);
  /// Backward through the layers of the last training forward().
  void backward();
  /// Waits for the device.
  float loss() const;

  const Parameters& parameters() const { return parameters_; }
  const Kernels& kernels() const { return kernels_; }

 private:
  static void reserve(Activations& a);
  void attention(const Layer& layer, Activations& a, const float* in, bool training);
  void router(const Layer& layer, Activations& a, bool training);
  void preprocess(Activations& a);
  void run_experts(const Layer& layer, Activations& a);
  void head();
  void head_backward(float* d_out);
  void experts_backward(const Layer& layer, Activations& a, const float* d_out, float* d_gate, float* d_gathered);
  void router_backward(const Layer& layer, Activations& a, const float* d_out, const float* d_gate, float* d_gathered,
                       float* d_between);
  void attention_backward(const Layer& layer, Activations& a, const float* d_between, float* d_in);
  Seed next_seed(unsigned draws);
  /// A scratch block that moves from call to call.
  unsigned* moving_scratch() { return scratch_[turn_++ % scratch_.size()]; }

  const Device& device_;
  Memory& memory_;
  Kernels kernels_;
  Parameters parameters_;
  Scope fixed_;
  Weight embedding_, head_gain_, head_;
  std::vector<Layer> layers_;
  std::vector<std::unique_ptr<Activations>> activations_;
  std::array<unsigned*, 3> scratch_;
  unsigned turn_ = 0;
  unsigned long long offset_ = 0;
  const float* last_ = nullptr;  // output of the last layer
  unsigned *tokens_, *targets_, *usage_, *history_;
  float *embedded_, *normed_, *inverse_, *logits_, *d_logits_, *losses_, *loss_;
  Pinned<float> host_loss_{1};
  Pinned<unsigned> host_counts_{experts};
};

}  // namespace refrain::tests::training
