// Device memory as a training framework hands it out: slabs from the driver, cut into blocks, of which the free one
// with the lowest address is used next, so that addresses repeat from step to step without being promised to.
//
// Owns:    the slabs. New slabs are zero.
// Threads: one at a time.
// Units:   bytes, blocks in multiples of 512.
// Fails:   a driver error ends the program.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <vector>

namespace refrain::tests::training {

class Memory {
 public:
  Memory() = default;
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  void* allocate(std::size_t bytes);
  void free(void* block, std::size_t bytes);
  /// Every byte that was ever handed out, slab by slab.
  std::vector<unsigned char> contents() const;

 private:
  struct Slab {
    unsigned char* base;
    std::size_t size, used;
  };
  std::vector<Slab> slabs_;
  std::map<std::size_t, std::set<void*>> free_;  // by size
};

/// Blocks that live until the scope ends.
class Scope {
 public:
  explicit Scope(Memory& memory) : memory_(memory) {}
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  float* floats(std::size_t count) { return static_cast<float*>(block(count * sizeof(float))); }
  unsigned* words(std::size_t count) { return static_cast<unsigned*>(block(count * sizeof(unsigned))); }

 private:
  struct Block {
    void* address;
    std::size_t bytes;
  };
  void* block(std::size_t bytes);

  Memory& memory_;
  std::vector<Block> blocks_;
};

/// Host memory that the device can reach.
template <typename T>
class Pinned {
 public:
  explicit Pinned(std::size_t count);
  ~Pinned();
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  T* data() const { return data_; }

 private:
  T* data_ = nullptr;
};

}  // namespace refrain::tests::training
