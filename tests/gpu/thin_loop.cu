// A training loop with next to no host code: what is left of a step when launching is nearly all the host does.
//
//   thin_loop [--mode train|queue] [--steps N] [--block-steps N] [--skip N] [--warm-up N] [--stream] [--exact] [--bare]
//             [--bound] --out FILE
//
// Mode train: 24 layers of 256x512 activations, bfloat16 cuBLAS products, small kernels between, Adam. Mode queue:
// short kernels that follow each other in a full queue, timed by events. Blocks of steps run eagerly and under replay,
// with --bound with dropped launches as well, in turn; FILE gets one line of JSON, the raw measurement of
// perf_statistics.py. With --exact: only --steps steps and the checksum.
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "thin_loop.h"

namespace {

using bf16 = __nv_bfloat16;

constexpr int layers = 24;
constexpr int rows = 256;
constexpr int width = 512;
constexpr int threads = 256;
constexpr float rate = 1e-4f;

void check(cudaError_t error, int line) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "thin_loop.cu:%d: %s\n", line, cudaGetErrorString(error));
  std::exit(1);
}
void check(cublasStatus_t status, int line) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  std::fprintf(stderr, "thin_loop.cu:%d: cuBLAS status %d\n", line, static_cast<int>(status));
  std::exit(1);
}
#define CHECK(call) check((call), __LINE__)

/// tanh form of GELU.
__device__ float gelu(float x) { return 0.5f * x * (1 + tanhf(0.79788456f * (x + 0.044715f * x * x * x))); }
__device__ float gelu_slope(float x) {
  const float t = tanhf(0.79788456f * (x + 0.044715f * x * x * x));
  return 0.5f * (1 + t) + 0.5f * x * (1 - t * t) * 0.79788456f * (1 + 3 * 0.044715f * x * x);
}

/// z += bias; y = x + gelu(z)
__global__ void activate(bf16* z, const float* bias, const bf16* x, bf16* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float sum = __bfloat162float(z[i]) + bias[i % width];
  z[i] = __float2bfloat16(sum);
  y[i] = __float2bfloat16(__bfloat162float(x[i]) + gelu(sum));
}

/// dy = 2 (y - target) / n
__global__ void loss_gradient(const bf16* y, const bf16* target, bf16* dy) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  dy[i] = __float2bfloat16((__bfloat162float(y[i]) - __bfloat162float(target[i])) * 2 / width);
}

/// dz = dy gelu'(z)
__global__ void activate_backward(const bf16* dy, const bf16* z, bf16* dz) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  dz[i] = __float2bfloat16(__bfloat162float(dy[i]) * gelu_slope(__bfloat162float(z[i])));
}

/// Column sums in a fixed order; 32 x 32 threads for 32 columns.
__global__ void sum_columns(const bf16* dz, float* db) {
  __shared__ float part[32][33];
  const int column = blockIdx.x * 32 + threadIdx.x;
  float sum = 0;
  for (int row = threadIdx.y; row < rows; row += 32) sum += __bfloat162float(dz[row * width + column]);
  part[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0) return;
  for (int i = 1; i < 32; ++i) sum += part[i][threadIdx.x];
  db[column] = sum;
}

template <class Gradient>
__global__ void adam(float* p, bf16* copy, const Gradient* gradient, float* first, float* second, float scale,
                     int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const float g = static_cast<float>(gradient[i]);
  const float m = first[i] = 0.9f * first[i] + 0.1f * g;
  const float v = second[i] = 0.999f * second[i] + 0.001f * g * g;
  p[i] -= scale * m / (sqrtf(v) + 1e-8f);
  if (copy != nullptr) copy[i] = __float2bfloat16(p[i]);
}

/// Loads, keeps a block busy until so many clock cycles are over, then stores: `values[index]` tells how often it ran.
/// The load lies within the cycles, so that the kernel's own work is known: what comes on top is the gap.
__global__ void spin(unsigned* values, int index, long long cycles) {
  const long long began = clock64();
  const bool counts = blockIdx.x == 0 && threadIdx.x == 0;
  const unsigned before = counts ? *static_cast<volatile unsigned*>(values + index) : 0;
  while (clock64() - began < cycles) {
  }
  if (counts) values[index] = before * 3 + index + 1;
}

template <class T>
T* on_device(size_t count) {
  T* memory = nullptr;
  CHECK(cudaMalloc(&memory, count * sizeof(T)));
  CHECK(cudaMemset(memory, 0, count * sizeof(T)));
  return memory;
}

/// Uniform in [-1, 1), the same in every run.
class Random {
 public:
  float next() {
    state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<float>(static_cast<double>(state_ >> 40) / (1 << 23) - 1);
  }

 private:
  uint64_t state_ = 1;
};

struct Layer {
  float *weight, *bias;  // masters
  bf16* narrow;          // the weight as the products take it
  bf16* weight_gradient;
  float* bias_gradient;
  float *weight_first, *weight_second, *bias_first, *bias_second;
  bf16 *z, *y;
};

/// The training job. Owns its device memory until the process ends.
class Train : public Job {
 public:
  explicit Train(cudaStream_t stream) : stream_(stream) {
    CHECK(cublasCreate(&blas_));
    CHECK(cublasSetStream(blas_, stream));
    CHECK(cublasSetWorkspace(blas_, on_device<char>(32 << 20), 32 << 20));
    Random random;
    for (Layer& layer : layer_) make(layer, random);
    for (int i = 0; i < batches; ++i) {
      x_[i] = random_matrix(random, rows * width, 1);
      target_[i] = random_matrix(random, rows * width, 1);
    }
    dy_ = on_device<bf16>(rows * width);
    dz_ = on_device<bf16>(rows * width);
  }

  void step() override {
    const int batch = steps_ % batches;
    const bf16* x = x_[batch];
    for (Layer& layer : layer_) {
      product(CUBLAS_OP_N, CUBLAS_OP_N, width, rows, width, layer.narrow, x, layer.z, 0);
      activate<<<blocks, threads, 0, stream_>>>(layer.z, layer.bias, x, layer.y);
      x = layer.y;
    }
    loss_gradient<<<blocks, threads, 0, stream_>>>(x, target_[batch], dy_);
    for (int i = layers - 1; i >= 0; --i) {
      Layer& layer = layer_[i];
      const bf16* input = i > 0 ? layer_[i - 1].y : x_[batch];
      activate_backward<<<blocks, threads, 0, stream_>>>(dy_, layer.z, dz_);
      sum_columns<<<width / 32, dim3(32, 32), 0, stream_>>>(dz_, layer.bias_gradient);
      product(CUBLAS_OP_N, CUBLAS_OP_T, width, width, rows, dz_, input, layer.weight_gradient, 0);
      if (i > 0) product(CUBLAS_OP_T, CUBLAS_OP_N, width, rows, width, layer.narrow, dz_, dy_, 1);
    }
    ++steps_;
    const float scale = rate * (steps_ < 100 ? static_cast<float>(steps_) / 100 : 1);
    for (Layer& layer : layer_) {
      adam<<<width * width / threads, threads, 0, stream_>>>(layer.weight, layer.narrow, layer.weight_gradient,
                                                             layer.weight_first, layer.weight_second, scale,
                                                             width * width);
      adam<<<width / threads, threads, 0, stream_>>>(layer.bias, static_cast<bf16*>(nullptr), layer.bias_gradient,
                                                     layer.bias_first, layer.bias_second, scale, width);
    }
    CHECK(cudaGetLastError());
  }

  void wait() override { CHECK(cudaStreamSynchronize(stream_)); }

  uint64_t checksum() override {
    wait();
    uint64_t sum = checksum_start;
    std::vector<float> host(width * width);
    for (Layer& layer : layer_) {
      CHECK(cudaMemcpy(host.data(), layer.weight, host.size() * sizeof(float), cudaMemcpyDeviceToHost));
      sum = add_bytes(sum, host.data(), host.size() * sizeof(float));
      CHECK(cudaMemcpy(host.data(), layer.bias, width * sizeof(float), cudaMemcpyDeviceToHost));
      sum = add_bytes(sum, host.data(), width * sizeof(float));
      // Only numbers make equal checksums mean something.
      if (!(host[0] > -1e3f && host[0] < 1e3f)) std::fprintf(stderr, "thin_loop: a bias is %g\n", host[0]);
    }
    return sum;
  }

 private:
  static constexpr int batches = 4;
  static constexpr int blocks = rows * width / threads;

  static bf16* random_matrix(Random& random, size_t count, float size, float* wide = nullptr) {
    std::vector<bf16> narrow(count);
    std::vector<float> host(count);
    for (size_t i = 0; i < count; ++i) narrow[i] = __float2bfloat16(host[i] = random.next() * size);
    bf16* memory = on_device<bf16>(count);
    CHECK(cudaMemcpy(memory, narrow.data(), count * sizeof(bf16), cudaMemcpyHostToDevice));
    if (wide != nullptr) CHECK(cudaMemcpy(wide, host.data(), count * sizeof(float), cudaMemcpyHostToDevice));
    return memory;
  }

  static void make(Layer& layer, Random& random) {
    const size_t square = width * width;
    layer.weight = on_device<float>(square);
    layer.narrow = random_matrix(random, square, 0.04f, layer.weight);
    layer.weight_gradient = on_device<bf16>(square);
    layer.weight_first = on_device<float>(square);
    layer.weight_second = on_device<float>(square);
    layer.bias = on_device<float>(width);
    layer.bias_gradient = on_device<float>(width);
    layer.bias_first = on_device<float>(width);
    layer.bias_second = on_device<float>(width);
    layer.z = on_device<bf16>(rows * width);
    layer.y = on_device<bf16>(rows * width);
  }

  /// c = a b + beta c, by columns: m x n, with k between; matrices by rows are their own transposes here.
  void product(cublasOperation_t of_a, cublasOperation_t of_b, int m, int n, int k, const bf16* a, const bf16* b,
               bf16* c, float beta) {
    const float one = 1;
    CHECK(cublasGemmEx(blas_, of_a, of_b, m, n, k, &one, a, CUDA_R_16BF, width, b, CUDA_R_16BF, width, &beta, c,
                       CUDA_R_16BF, width, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  }

  cudaStream_t stream_;
  cublasHandle_t blas_ = nullptr;
  Layer layer_[layers];
  bf16 *x_[batches], *target_[batches], *dy_, *dz_;
  int steps_ = 0;
};

/// Short kernels, one after the other. The time of a block is the GPU's own, by events.
class Queue : public Job {
 public:
  explicit Queue(cudaStream_t stream) : stream_(stream), values_(on_device<unsigned>(kernels)) {
    CHECK(cudaEventCreate(&began_));
    CHECK(cudaEventCreate(&ended_));
    launch(100'000'000);                                            // the clock goes up
    const double many = timed(20'000'000), few = timed(2'000'000);  // their difference is without the launch itself
    us_per_cycle_ = (many - few) * 1e3 / 18'000'000;
    cycles_ = static_cast<long long>(5 / us_per_cycle_);
  }

  void step() override {
    for (int i = 0; i < kernels; ++i) spin<<<4, 128, 0, stream_>>>(values_, i, cycles_);
  }

  void wait() override { CHECK(cudaStreamSynchronize(stream_)); }

  /// A long kernel first, so that the queue is full when the timed ones begin.
  void begin_block() override {
    launch(static_cast<long long>(2000 / us_per_cycle_));
    CHECK(cudaEventRecord(began_, stream_));
  }
  double end_block() override {
    CHECK(cudaEventRecord(ended_, stream_));
    CHECK(cudaEventSynchronize(ended_));
    float ms = 0;
    CHECK(cudaEventElapsedTime(&ms, began_, ended_));
    return ms;
  }

  uint64_t checksum() override {
    wait();
    unsigned host[kernels];
    CHECK(cudaMemcpy(host, values_, sizeof host, cudaMemcpyDeviceToHost));
    return add_bytes(checksum_start, host, sizeof host);
  }

  std::string about() override {
    return "\"spin_us\": " + std::to_string(static_cast<double>(cycles_) * us_per_cycle_) +
           ", \"kernels_per_step\": " + std::to_string(kernels) + ", ";
  }

 private:
  static constexpr int kernels = 64;

  // Counts in a place of its own: how often depends on nothing that is compared.
  void launch(long long cycles) { spin<<<1, 1, 0, stream_>>>(spare_, 0, cycles); }
  double timed(long long cycles) {
    CHECK(cudaEventRecord(began_, stream_));
    launch(cycles);
    return end_block();
  }

  cudaStream_t stream_;
  unsigned* values_;
  unsigned* spare_ = on_device<unsigned>(1);
  cudaEvent_t began_ = nullptr, ended_ = nullptr;
  double us_per_cycle_ = 0;
  long long cycles_ = 0;
};

}  // namespace

int main(int count, char** words) {
  const Options options = parse(count, words);
  cudaStream_t stream = nullptr;
  if (options.own_stream) CHECK(cudaStreamCreate(&stream));
  if (options.queue) {
    Queue job(stream);
    return run(job, options);
  }
  Train job(stream);
  return run(job, options);
}
