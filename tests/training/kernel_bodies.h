// The kernels of the training program, written once for device and host: kernels.cu compiles them for the GPU, the
// simulated driver runs the same text. Before inclusion, KERNEL is what stands before a kernel, INDEX the number of the
// thread in the whole grid, and Floats, ConstFloats, Words, ConstWords and Table are the types of device memory. No
// thread depends on another of its launch, so that the results are the same in any order.
//
// Units: rows are tokens, a slot is one of a token's two choices of an expert.

KERNEL embed(Floats out, ConstFloats table, ConstWords tokens, unsigned rows, unsigned width) {
  const unsigned i = INDEX;
  if (i < rows * width) out[i] = table[tokens[i / width] * width + i % width];
}

KERNEL embed_backward(Floats d_table, ConstFloats d_out, ConstWords tokens, unsigned rows, unsigned width,
                      unsigned vocabulary) {
  const unsigned i = INDEX;
  if (i >= vocabulary * width) return;
  float sum = 0;
  for (unsigned row = 0; row < rows; ++row) {
    if (tokens[row] == i / width) sum += d_out[row * width + i % width];
  }
  d_table[i] += sum;
}

KERNEL rms_norm(Floats out, Floats inverse, ConstFloats in, ConstFloats gain, unsigned rows, unsigned width) {
  const unsigned row = INDEX;
  if (row >= rows) return;
  float squares = 0;
  for (unsigned c = 0; c < width; ++c) squares += in[row * width + c] * in[row * width + c];
  const float r = 1.0f / sqrtf(squares / (float)width + 1e-5f);
  inverse[row] = r;
  for (unsigned c = 0; c < width; ++c) out[row * width + c] = in[row * width + c] * r * gain[c];
}

KERNEL rms_norm_backward(Floats d_in, ConstFloats d_out, ConstFloats in, ConstFloats inverse, ConstFloats gain,
                         unsigned rows, unsigned width) {
  const unsigned row = INDEX;
  if (row >= rows) return;
  const float r = inverse[row];
  float dot = 0;
  for (unsigned c = 0; c < width; ++c) dot += d_out[row * width + c] * gain[c] * in[row * width + c];
  dot *= r * r / (float)width;
  for (unsigned c = 0; c < width; ++c) {
    d_in[row * width + c] += r * (d_out[row * width + c] * gain[c] - in[row * width + c] * dot);
  }
}

KERNEL gain_gradient(Floats d_gain, ConstFloats d_out, ConstFloats in, ConstFloats inverse, unsigned rows,
                     unsigned width) {
  const unsigned c = INDEX;
  if (c >= width) return;
  float sum = 0;
  for (unsigned row = 0; row < rows; ++row) sum += d_out[row * width + c] * in[row * width + c] * inverse[row];
  d_gain[c] += sum;
}

KERNEL multiply(Floats out, ConstFloats left, ConstFloats right, Product product) {
  const unsigned i = INDEX;
  if (i >= product.rows * product.columns) return;
  const ConstFloats l = left + i / product.columns * product.left_row;
  const ConstFloats r = right + i % product.columns * product.right_column;
  float sum = 0;
  for (unsigned k = 0; k < product.inner; ++k) sum += l[k * product.left_inner] * r[k * product.right_inner];
  out[i] = sum * product.scale + (product.accumulate ? out[i] : 0.0f);
}

KERNEL add_bias(Floats values, ConstFloats bias, unsigned rows, unsigned width) {
  const unsigned i = INDEX;
  if (i < rows * width) values[i] += bias[i % width];
}

KERNEL column_sums(Floats sums, ConstFloats values, unsigned rows, unsigned width) {
  const unsigned c = INDEX;
  if (c >= width) return;
  float sum = 0;
  for (unsigned row = 0; row < rows; ++row) sum += values[row * width + c];
  sums[c] += sum;
}

KERNEL softmax(Floats values, unsigned rows, unsigned width, unsigned causal) {
  const unsigned row = INDEX;
  if (row >= rows) return;
  const Floats v = values + row * width;
  const unsigned visible = causal ? row + 1 : width;
  float peak = v[0], sum = 0;
  for (unsigned c = 1; c < visible; ++c) peak = v[c] > peak ? v[c] : peak;
  for (unsigned c = 0; c < visible; ++c) sum += v[c] = expf(v[c] - peak);
  for (unsigned c = 0; c < width; ++c) v[c] = c < visible ? v[c] / sum : 0.0f;
}

KERNEL softmax_backward(Floats d, ConstFloats probabilities, unsigned rows, unsigned width) {
  const unsigned row = INDEX;
  if (row >= rows) return;
  float dot = 0;
  for (unsigned c = 0; c < width; ++c) dot += d[row * width + c] * probabilities[row * width + c];
  for (unsigned c = 0; c < width; ++c) {
    d[row * width + c] = (d[row * width + c] - dot) * probabilities[row * width + c];
  }
}

// Its own backward, with the same seed.
KERNEL dropout(Floats out, ConstFloats in, unsigned count, float keep, Seed seed) {
  const unsigned i = INDEX;
  if (i >= count) return;
  unsigned long long x = (seed.seed ^ (seed.offset + i)) * 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9ull;
  const float uniform = (float)(unsigned)(x >> 40) * (1.0f / 16777216.0f);
  out[i] = uniform < keep ? in[i] / keep : 0.0f;
}

KERNEL jitter(Floats values, unsigned count, float amplitude, Seed seed) {
  const unsigned i = INDEX;
  if (i >= count) return;
  unsigned long long x = (seed.seed + seed.offset + i) * 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 31)) * 0x94d049bb133111ebull;
  values[i] += amplitude * ((float)(unsigned)(x >> 40) * (1.0f / 16777216.0f) - 0.5f);
}

KERNEL add(Floats out, ConstFloats left, ConstFloats right, unsigned count) {
  const unsigned i = INDEX;
  if (i < count) out[i] = left[i] + right[i];
}

KERNEL activate(Floats out, ConstFloats in, unsigned count) {
  const unsigned i = INDEX;
  if (i < count) out[i] = in[i] / (1.0f + expf(-in[i]));
}

KERNEL activate_backward(Floats d, ConstFloats in, unsigned count) {
  const unsigned i = INDEX;
  if (i >= count) return;
  const float s = 1.0f / (1.0f + expf(-in[i]));
  d[i] *= s * (1.0f + in[i] * (1.0f - s));
}

KERNEL scale(Floats out, ConstFloats in, Scaling scaling) {
  const unsigned i = INDEX;
  if (i < scaling.count) out[i] = scaling.enabled ? (float)(in[i] * scaling.factor) : in[i];
}

KERNEL center(Floats logits, unsigned rows, unsigned experts) {
  const unsigned row = INDEX;
  if (row >= rows) return;
  float sum = 0;
  for (unsigned e = 0; e < experts; ++e) sum += logits[row * experts + e];
  for (unsigned e = 0; e < experts; ++e) logits[row * experts + e] -= sum / (float)experts;
}

// The two likeliest experts of each token.
KERNEL choose(Words choice, Floats gate, ConstFloats probabilities, unsigned rows, unsigned experts) {
  const unsigned row = INDEX;
  if (row >= rows) return;
  const ConstFloats p = probabilities + row * experts;
  unsigned first = 0, second = experts;
  for (unsigned e = 1; e < experts; ++e) first = p[e] > p[first] ? e : first;
  for (unsigned e = 0; e < experts; ++e) {
    if (e != first && (second == experts || p[e] > p[second])) second = e;
  }
  choice[2 * row] = first, choice[2 * row + 1] = second;
  gate[2 * row] = p[first] / (p[first] + p[second]);
  gate[2 * row + 1] = p[second] / (p[first] + p[second]);
}

KERNEL choose_backward(Floats d_probabilities, ConstFloats d_gate, ConstFloats probabilities, ConstWords choice,
                       unsigned rows, unsigned experts) {
  const unsigned row = INDEX;
  if (row >= rows) return;
  const unsigned first = choice[2 * row], second = choice[2 * row + 1];
  const float p = probabilities[row * experts + first], q = probabilities[row * experts + second];
  const float slope = (d_gate[2 * row] - d_gate[2 * row + 1]) / ((p + q) * (p + q));
  for (unsigned e = 0; e < experts; ++e) {
    d_probabilities[row * experts + e] = e == first ? slope * q : e == second ? -slope * p : 0.0f;
  }
}

KERNEL count_slots(Words counts, Words usage, ConstWords choice, unsigned slots, unsigned experts) {
  const unsigned e = INDEX;
  if (e >= experts) return;
  unsigned count = 0;
  for (unsigned s = 0; s < slots; ++s) count += choice[s] == e;
  counts[e] = count;
  usage[e] += count;
}

KERNEL first_slots(Words offsets, ConstWords counts, unsigned experts) {
  if (INDEX != 0) return;
  unsigned offset = 0;
  for (unsigned e = 0; e < experts; ++e) {
    offsets[e] = offset;
    offset += counts[e];
  }
}

// Sorts the slots by expert: order[place] is a slot, position[slot] its place.
KERNEL place(Words order, Words position, ConstWords choice, ConstWords offsets, unsigned slots, unsigned experts) {
  const unsigned e = INDEX;
  if (e >= experts) return;
  unsigned next = offsets[e];
  for (unsigned s = 0; s < slots; ++s) {
    if (choice[s] != e) continue;
    order[next] = s;
    position[s] = next++;
  }
}

KERNEL gather(Floats out, ConstFloats in, ConstWords order, unsigned slots, unsigned width) {
  const unsigned i = INDEX;
  if (i < slots * width) out[i] = in[order[i / width] / 2 * width + i % width];
}

KERNEL gather_backward(Floats d_in, ConstFloats d_out, ConstWords position, unsigned rows, unsigned width) {
  const unsigned i = INDEX;
  if (i >= rows * width) return;
  const unsigned row = i / width, c = i % width;
  d_in[i] += d_out[position[2 * row] * width + c] + d_out[position[2 * row + 1] * width + c];
}

KERNEL row_peaks(Floats peaks, ConstFloats in, unsigned rows, unsigned width) {
  const unsigned row = INDEX;
  if (row >= rows) return;
  float peak = 1e-6f;
  for (unsigned c = 0; c < width; ++c) peak = fabsf(in[row * width + c]) > peak ? fabsf(in[row * width + c]) : peak;
  peaks[row] = peak;
}

// Rounds to 255 steps a row, as a low-precision dispatch does.
KERNEL quantise(Floats values, ConstFloats peaks, unsigned rows, unsigned width) {
  const unsigned i = INDEX;
  if (i >= rows * width) return;
  const float peak = peaks[i / width];
  values[i] = floorf(values[i] / peak * 127.0f + 0.5f) * peak / 127.0f;
}

KERNEL combine(Floats out, ConstFloats residual, ConstFloats expert_out, ConstWords position, ConstFloats gate,
               unsigned rows, unsigned width) {
  const unsigned i = INDEX;
  if (i >= rows * width) return;
  const unsigned row = i / width, c = i % width;
  out[i] = residual[i] + gate[2 * row] * expert_out[position[2 * row] * width + c] +
           gate[2 * row + 1] * expert_out[position[2 * row + 1] * width + c];
}

KERNEL combine_backward(Floats d_expert, ConstFloats d_out, ConstWords order, ConstFloats gate, unsigned slots,
                        unsigned width) {
  const unsigned i = INDEX;
  if (i >= slots * width) return;
  const unsigned slot = order[i / width];
  d_expert[i] = gate[slot] * d_out[slot / 2 * width + i % width];
}

KERNEL gate_backward(Floats d_gate, ConstFloats d_out, ConstFloats expert_out, ConstWords position, unsigned slots,
                     unsigned width) {
  const unsigned slot = INDEX;
  if (slot >= slots) return;
  float dot = 0;
  for (unsigned c = 0; c < width; ++c) dot += d_out[slot / 2 * width + c] * expert_out[position[slot] * width + c];
  d_gate[slot] = dot;
}

KERNEL cross_entropy(Floats losses, Floats d_logits, ConstFloats logits, ConstWords targets, unsigned rows,
                     unsigned vocabulary) {
  const unsigned row = INDEX;
  if (row >= rows) return;
  const ConstFloats v = logits + row * vocabulary;
  float peak = v[0], sum = 0;
  for (unsigned c = 1; c < vocabulary; ++c) peak = v[c] > peak ? v[c] : peak;
  for (unsigned c = 0; c < vocabulary; ++c) sum += expf(v[c] - peak);
  losses[row] = logf(sum) + peak - v[targets[row]];
  for (unsigned c = 0; c < vocabulary; ++c) {
    d_logits[row * vocabulary + c] = (expf(v[c] - peak) / sum - (c == targets[row] ? 1.0f : 0.0f)) / (float)rows;
  }
}

KERNEL mean(Floats out, ConstFloats in, unsigned count) {
  if (INDEX != 0) return;
  float sum = 0;
  for (unsigned i = 0; i < count; ++i) sum += in[i];
  out[0] = sum / (float)count;
}

KERNEL square_sums(Floats sums, Table table) {
  const unsigned t = INDEX;
  if (t >= table.tensors) return;
  float sum = 0;
  for (unsigned i = 0; i < table.counts[t]; ++i) sum += table.gradients[t][i] * table.gradients[t][i];
  sums[t] = sum;
}

KERNEL clip_factor(Floats factor, ConstFloats sums, unsigned tensors, float limit) {
  if (INDEX != 0) return;
  float sum = 0;
  for (unsigned t = 0; t < tensors; ++t) sum += sums[t];
  const float length = sqrtf(sum);
  factor[0] = length > limit ? limit / length : 1.0f;
}

KERNEL adam(ConstFloats factor, Table table, Rates rates) {
  const unsigned i = INDEX;
  for (unsigned t = 0; t < table.tensors; ++t) {
    if (i >= table.counts[t]) continue;
    const float g = table.gradients[t][i] * factor[0];
    const float m = table.first[t][i] = rates.first_decay * table.first[t][i] + (1.0f - rates.first_decay) * g;
    const float v = table.second[t][i] = rates.second_decay * table.second[t][i] + (1.0f - rates.second_decay) * g * g;
    const float update = m / rates.first_correction / (sqrtf(v / rates.second_correction) + 1e-8f);
    table.values[t][i] -= rates.rate * (update + rates.weight_decay * table.values[t][i]);
  }
}
