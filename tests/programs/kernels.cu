// The kernels of the test programs. kernels.ptx.inc is made from this file by make_ptx.sh; kernels.h has their host
// versions for the simulated driver. Integer arithmetic or one rounded operation only, so that both give equal bytes.
#include "kernel_types.h"

using namespace refrain::tests;

#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)
#define STRIDE (gridDim.x * blockDim.x)
#define KERNEL extern "C" __global__ void

KERNEL scale(float* out, const float* in, unsigned n, float factor) {
  for (unsigned i = INDEX; i < n; i += STRIDE) out[i] = in[i] * factor;
}

KERNEL mix(unsigned* out, const unsigned* in, unsigned n, unsigned salt) {
  for (unsigned i = INDEX; i < n; i += STRIDE) out[i] = in[i] * 1664525u + salt + i;
}

KERNEL accumulate(unsigned* sum, const unsigned* in, unsigned n) {
  for (unsigned i = INDEX; i < n; i += STRIDE) sum[i] = sum[i] * 31u + in[i];
}

KERNEL fill(unsigned* out, unsigned n, unsigned value) {
  for (unsigned i = INDEX; i < n; i += STRIDE) out[i] = value + i;
}

KERNEL empty() {}

KERNEL seeded(unsigned long long* log, unsigned* mask, unsigned n, unsigned iteration, Seed seed) {
  if (INDEX == 0) {
    log[2 * iteration] = seed.seed;
    log[2 * iteration + 1] = seed.offset;
  }
  for (unsigned i = INDEX; i < n; i += STRIDE) {
    mask[i] = (unsigned)((seed.seed * 6364136223846793005ull + seed.offset + i) >> 33) & 1u;
  }
}

KERNEL table_update(PointerTable table) {
  for (unsigned entry = 0; entry < table.count; ++entry) {
    for (unsigned i = INDEX; i < table.n; i += STRIDE) {
      table.entries[entry][i] = table.entries[entry][i] * 3u + entry + table.step;
    }
  }
}

KERNEL configuration(unsigned* out, unsigned n) {
  if (INDEX == 0) {
    unsigned shared;
    asm volatile("mov.u32 %0, %%dynamic_smem_size;" : "=r"(shared));
    out[0] = gridDim.x, out[1] = gridDim.y, out[2] = gridDim.z;
    out[3] = blockDim.x, out[4] = blockDim.y, out[5] = blockDim.z;
    out[6] = shared, out[7] = n;
  }
  for (unsigned i = INDEX; i < n; i += STRIDE) out[8 + i] += i + 1;
}

KERNEL count_below(unsigned* count, const unsigned* in, unsigned n, unsigned limit) {
  if (INDEX == 0) {
    unsigned found = 0;
    for (unsigned i = 0; i < n; ++i) found += in[i] < limit;
    *count = found;
  }
}

KERNEL forms(unsigned char a, unsigned short b, unsigned c, unsigned long long d, Three e, Four f, unsigned* out) {
  if (INDEX == 0) {
    out[0] = a, out[1] = b, out[2] = c, out[3] = (unsigned)d, out[4] = (unsigned)(d >> 32);
    out[5] = e.bytes[0], out[6] = e.bytes[1], out[7] = e.bytes[2];
    out[8] = f.x, out[9] = f.y, out[10] = f.z, out[11] = f.w;
  }
}

KERNEL block_4000(Block4000 block, unsigned* out) {
  for (unsigned i = INDEX; i < 1000; i += STRIDE) out[i] = block.words[i];
}

KERNEL block_8192(Block8192 block, unsigned* out) {
  for (unsigned i = INDEX; i < 2048; i += STRIDE) out[i] = block.words[i];
}

KERNEL padded(Padded value, unsigned long long* out) {
  if (INDEX == 0) *out = *out * 3 + (value.negative ? -(unsigned long long)value.number : value.number);
}

KERNEL described(Descriptor descriptor) {
  for (unsigned i = INDEX; i < descriptor.n; i += STRIDE) {
    descriptor.base[i] = descriptor.base[i] + descriptor.add + descriptor.salt[i % 26];
  }
}

KERNEL wait_for(volatile unsigned* flag, unsigned expected, unsigned* out) {
  // About four seconds at 2 GHz: a failing test ends.
  const long long end = clock64() + 8000000000ll;
  while (*flag < expected && clock64() < end) {
  }
  *out = *flag >= expected ? expected : 0xdeadu;
}

KERNEL tell(volatile unsigned* flag, unsigned value) {
  __threadfence_system();
  *flag = value;
  __threadfence_system();
}

KERNEL reverse_blocks(unsigned* out, const unsigned* in, unsigned n) {
  extern __shared__ unsigned tile[];
  const unsigned i = INDEX;
  if (i < n) tile[threadIdx.x] = in[i];
  __syncthreads();
  if (i < n) out[i] = tile[blockDim.x - 1 - threadIdx.x];
}

// One barrier over the grid, launched cooperatively; `arrived` is a multiple of the grid before and after.
KERNEL rotate_grid(unsigned* out, unsigned* between, const unsigned* in, unsigned n, unsigned* arrived) {
  const unsigned i = INDEX;
  if (i < n) between[i] = in[i] + 1;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(arrived, 1);
    while (*(volatile unsigned*)arrived % gridDim.x != 0) {
    }
  }
  __syncthreads();
  if (i < n) out[i] = ((volatile unsigned*)between)[(i + blockDim.x) % n];
}
