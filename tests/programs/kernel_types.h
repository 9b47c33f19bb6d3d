// The structures that the test kernels take by value; shared by kernels.cu and the host versions.
#pragma once

namespace refrain::tests {

/// As random generators pass their state.
struct Seed {
  unsigned long long seed, offset;
};

/// As fused optimizers pass their tensors: 4 KB by value.
struct PointerTable {
  unsigned* entries[500];
  unsigned count, n, step;
};

struct Three {
  unsigned char bytes[3];
};

struct alignas(16) Four {
  unsigned x, y, z, w;
};

struct Block4000 {
  unsigned words[1000];
};

struct Block8192 {
  unsigned words[2048];
};

/// Seven bytes of padding between its members.
struct Padded {
  bool negative;
  long long number;
};

/// The size of a tensor map.
struct Descriptor {
  unsigned* base;
  unsigned n, add;
  unsigned salt[28];
};
static_assert(sizeof(Descriptor) == 128);

}  // namespace refrain::tests
