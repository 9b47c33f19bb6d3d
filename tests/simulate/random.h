// Numbers that a seed determines (splitmix64).
#pragma once

#include <cstdint>

namespace refrain::tests::simulate {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  unsigned below(unsigned limit) { return static_cast<unsigned>((next() >> 32) * limit >> 32); }
  int between(int least, int greatest) {
    return least + static_cast<int>(below(static_cast<unsigned>(greatest - least + 1)));
  }
  /// True `of` times in `all`.
  bool chance(unsigned of, unsigned all) { return below(all) < of; }

 private:
  std::uint64_t state_;
};

}  // namespace refrain::tests::simulate
