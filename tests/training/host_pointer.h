// A pointer into simulated device memory, for kernels that run on the host: every element is checked by the simulated
// driver before its first use, in steps of the 512 bytes in which the program hands out memory.
//
// Owns:    nothing; the Window must outlive the pointers into it.
// Threads: one.
// Fails:   the simulated driver makes the launch fail; see its kernels.h.
#pragma once

#include "tests/simulated_driver/kernels.h"

namespace refrain::tests::training {

/// What a kernel has reached so far of the memory behind one of its parameters.
template <typename T>
class Window {
 public:
  Window() = default;
  Window(const simulated::KernelContext& kernel, std::uint64_t address) : kernel_(&kernel), address_(address) {}

  T& at(std::size_t index) {
    if (index >= count_) [[unlikely]]
      grow(index);
    return elements_[index];
  }

 private:
  void grow(std::size_t index) {
    constexpr std::uint64_t step = 512;
    const std::uint64_t end = (address_ + (index + 1) * sizeof(T) + step - 1) / step * step;
    count_ = (end - address_) / sizeof(T);
    elements_ = static_cast<T*>(kernel_->access(kernel_->memory, address_, count_ * sizeof(T), alignof(T)));
  }

  const simulated::KernelContext* kernel_ = nullptr;
  std::uint64_t address_ = 0;
  T* elements_ = nullptr;
  std::size_t count_ = 0;
};

template <typename T>
class Pointer {
 public:
  Pointer() = default;
  explicit Pointer(Window<T>& window, std::size_t offset = 0) : window_(&window), offset_(offset) {}
  T& operator[](std::size_t index) const { return window_->at(offset_ + index); }
  Pointer operator+(std::size_t elements) const { return Pointer(*window_, offset_ + elements); }

 private:
  Window<T>* window_ = nullptr;
  std::size_t offset_ = 0;
};

}  // namespace refrain::tests::training
