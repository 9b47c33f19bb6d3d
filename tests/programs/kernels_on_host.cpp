// The host versions of kernels.cu for the simulated driver: the same bytes out for the same bytes in.
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "tests/programs/kernel_types.h"
#include "tests/simulated_driver/kernels.h"

namespace refrain::tests {
namespace {

using Kernel = simulated::KernelContext;
using Words = std::span<unsigned>;

/// The elements of the array at parameter `index`.
Words words(const Kernel& kernel, std::size_t index, std::size_t count) {
  return kernel.span<unsigned>(kernel.parameter<std::uint64_t>(index), count);
}

/// Elements that a kernel without a loop reaches: one a thread, `n` at most.
unsigned reached(const Kernel& kernel, unsigned n) {
  return static_cast<unsigned>(std::min<std::uint64_t>(n, kernel.thread_count()));
}

void scale(const Kernel& kernel) {
  const auto n = kernel.parameter<unsigned>(2);
  const auto factor = kernel.parameter<float>(3);
  const auto out = kernel.span<float>(kernel.parameter<std::uint64_t>(0), n);
  const auto in = kernel.span<const float>(kernel.parameter<std::uint64_t>(1), n);
  for (unsigned i = 0; i < n; ++i) out[i] = in[i] * factor;
}

void mix(const Kernel& kernel) {
  const auto n = kernel.parameter<unsigned>(2), salt = kernel.parameter<unsigned>(3);
  const Words out = words(kernel, 0, n), in = words(kernel, 1, n);
  for (unsigned i = 0; i < n; ++i) out[i] = in[i] * 1664525u + salt + i;
}

void accumulate(const Kernel& kernel) {
  const auto n = kernel.parameter<unsigned>(2);
  const Words sum = words(kernel, 0, n), in = words(kernel, 1, n);
  for (unsigned i = 0; i < n; ++i) sum[i] = sum[i] * 31u + in[i];
}

void fill(const Kernel& kernel) {
  const auto n = kernel.parameter<unsigned>(1), value = kernel.parameter<unsigned>(2);
  const Words out = words(kernel, 0, n);
  for (unsigned i = 0; i < n; ++i) out[i] = value + i;
}

void empty(const Kernel&) {}

void seeded(const Kernel& kernel) {
  const auto n = kernel.parameter<unsigned>(2), iteration = kernel.parameter<unsigned>(3);
  const Seed seed = kernel.parameter<Seed>(4);
  const std::uint64_t entry = kernel.parameter<std::uint64_t>(0) + 16ull * iteration;
  kernel.store(entry, seed.seed);
  kernel.store(entry + 8, seed.offset);
  const Words mask = words(kernel, 1, n);
  for (unsigned i = 0; i < n; ++i) {
    mask[i] = static_cast<unsigned>((seed.seed * 6364136223846793005ull + seed.offset + i) >> 33) & 1u;
  }
}

void table_update(const Kernel& kernel) {
  const auto table = kernel.parameter<PointerTable>(0);
  for (unsigned entry = 0; entry < std::min(table.count, 500u); ++entry) {
    const auto values = kernel.span<unsigned>(reinterpret_cast<std::uint64_t>(table.entries[entry]), table.n);
    for (unsigned& value : values) value = value * 3u + entry + table.step;
  }
}

void configuration(const Kernel& kernel) {
  const auto n = kernel.parameter<unsigned>(1);
  const Words out = words(kernel, 0, 8 + n);
  const unsigned head[] = {kernel.grid.x,
                           kernel.grid.y,
                           kernel.grid.z,
                           kernel.block.x,
                           kernel.block.y,
                           kernel.block.z,
                           kernel.dynamic_shared_bytes,
                           n};
  std::copy(std::begin(head), std::end(head), out.begin());
  for (unsigned i = 0; i < n; ++i) out[8 + i] += i + 1;
}

void count_below(const Kernel& kernel) {
  const auto n = kernel.parameter<unsigned>(2), limit = kernel.parameter<unsigned>(3);
  const Words in = words(kernel, 1, n);
  words(kernel, 0, 1)[0] =
      static_cast<unsigned>(std::count_if(in.begin(), in.end(), [&](unsigned value) { return value < limit; }));
}

void forms(const Kernel& kernel) {
  const Words out = words(kernel, 6, 12);
  const auto d = kernel.parameter<std::uint64_t>(3);
  const Three e = kernel.parameter<Three>(4);
  const Four f = kernel.parameter<Four>(5);
  const unsigned values[] = {kernel.parameter<unsigned char>(0),
                             kernel.parameter<unsigned short>(1),
                             kernel.parameter<unsigned>(2),
                             static_cast<unsigned>(d),
                             static_cast<unsigned>(d >> 32),
                             e.bytes[0],
                             e.bytes[1],
                             e.bytes[2],
                             f.x,
                             f.y,
                             f.z,
                             f.w};
  std::copy(std::begin(values), std::end(values), out.begin());
}

template <typename Block>
void block(const Kernel& kernel) {
  const auto value = kernel.parameter<Block>(0);
  const Words out = words(kernel, 1, std::size(value.words));
  std::copy(std::begin(value.words), std::end(value.words), out.begin());
}

void padded(const Kernel& kernel) {
  const auto value = kernel.parameter<Padded>(0);
  const auto out = kernel.parameter<std::uint64_t>(1);
  const auto number = static_cast<unsigned long long>(value.number);
  kernel.store(out, kernel.load<unsigned long long>(out) * 3 + (value.negative ? -number : number));
}

void described(const Kernel& kernel) {
  const auto descriptor = kernel.parameter<Descriptor>(0);
  const auto base = kernel.span<unsigned>(reinterpret_cast<std::uint64_t>(descriptor.base), descriptor.n);
  for (unsigned i = 0; i < descriptor.n; ++i) base[i] = base[i] + descriptor.add + descriptor.salt[i % 26];
}

void wait_for(const Kernel& kernel) {
  unsigned* flag = words(kernel, 0, 1).data();
  const auto expected = kernel.parameter<unsigned>(1);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(4);
  auto arrived = [&] { return __atomic_load_n(flag, __ATOMIC_ACQUIRE) >= expected; };
  while (!arrived() && std::chrono::steady_clock::now() < end) sched_yield();
  words(kernel, 2, 1)[0] = arrived() ? expected : 0xdeadu;
}

void tell(const Kernel& kernel) {
  __atomic_store_n(words(kernel, 0, 1).data(), kernel.parameter<unsigned>(1), __ATOMIC_RELEASE);
}

void reverse_blocks(const Kernel& kernel) {
  const auto n = kernel.parameter<unsigned>(2);
  const Words out = words(kernel, 0, n), in = words(kernel, 1, n);
  const unsigned size = kernel.block.x;
  if (kernel.dynamic_shared_bytes < size * 4) return kernel.fault(kernel.memory, CUDA_ERROR_ILLEGAL_ADDRESS);
  const std::vector<unsigned> before(in.begin(), in.end());
  for (unsigned i = 0; i < reached(kernel, n); ++i) out[i] = before[i / size * size + size - 1 - i % size];
}

void rotate_grid(const Kernel& kernel) {
  const auto* cooperative = kernel.attribute(CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
  // On a device, a barrier over a grid that was not launched for it can hang.
  if (cooperative == nullptr || cooperative->cooperative == 0) {
    return kernel.fault(kernel.memory, CUDA_ERROR_LAUNCH_FAILED);
  }
  const auto n = kernel.parameter<unsigned>(3);
  const Words out = words(kernel, 0, n), between = words(kernel, 1, n), in = words(kernel, 2, n);
  const unsigned count = reached(kernel, n);
  for (unsigned i = 0; i < count; ++i) between[i] = in[i] + 1;
  words(kernel, 4, 1)[0] += kernel.grid.x;
  for (unsigned i = 0; i < count; ++i) out[i] = between[(i + kernel.block.x) % n];
}

}  // namespace
}  // namespace refrain::tests

/// Called by the simulated driver; a real driver does not know it.
extern "C" __attribute__((visibility("default"))) void refrain_sim_register(
    refrain::tests::simulated::Registry* registry);

void refrain_sim_register(refrain::tests::simulated::Registry* registry) {
  using namespace refrain::tests;
  const struct {
    const char* name;
    simulated::KernelBody body;
  } all[] = {{"scale", scale},
             {"mix", mix},
             {"accumulate", accumulate},
             {"fill", fill},
             {"empty", empty},
             {"seeded", seeded},
             {"table_update", table_update},
             {"configuration", configuration},
             {"count_below", count_below},
             {"forms", forms},
             {"block_4000", block<Block4000>},
             {"block_8192", block<Block8192>},
             {"padded", padded},
             {"described", described},
             {"wait_for", wait_for},
             {"tell", tell},
             {"reverse_blocks", reverse_blocks},
             {"rotate_grid", rotate_grid}};
  for (const auto& [name, body] : all) registry->register_kernel(name, body);
}
