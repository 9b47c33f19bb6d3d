// Handles: values that name objects, and the objects that live under them.
//
// Owns:    one reference of each live object.
// Threads: any.
// A value looks like an address but points to memory that nobody can read, so that a program which follows one crashes
// as it should. Values of destroyed objects come back only when REFRAIN_SIM_REUSE_HANDLES asks for it, last one first.
#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "tests/simulated_driver/options.h"

namespace refrain::tests::simulated {

/// Objects of one type; `Handle` is the CUDA type that names them, T::handle the member that keeps the value.
template <class Handle, class T>
class HandleTable {
 public:
  /// Gives `object` a handle. Null when there are none left.
  Handle add(const std::shared_ptr<T>& object) {
    const std::unique_lock lock(mutex_);
    uintptr_t index = slots_.size();
    if (options().reuse_handles && !free_.empty()) {
      index = free_.back();
      free_.pop_back();
      slots_[index] = object;
    } else {
      if ((index + 1) * stride >= reserved) return Handle{};
      slots_.push_back(object);
    }
    object->handle = to_handle(base() + (index + 1) * stride);
    return object->handle;
  }

  std::shared_ptr<T> find(Handle handle) const {
    const std::shared_lock lock(mutex_);
    const uintptr_t index = index_of(handle);
    return index < slots_.size() ? slots_[index] : nullptr;
  }

  /// Takes the object out: the handle is invalid from now on.
  std::shared_ptr<T> remove(Handle handle) {
    const std::unique_lock lock(mutex_);
    const uintptr_t index = index_of(handle);
    if (index >= slots_.size() || slots_[index] == nullptr) return nullptr;
    std::shared_ptr<T> object = std::move(slots_[index]);
    slots_[index] = nullptr;
    if (options().reuse_handles) free_.push_back(index);
    return object;
  }

  /// The live objects, oldest first.
  std::vector<std::shared_ptr<T>> all() const {
    const std::shared_lock lock(mutex_);
    std::vector<std::shared_ptr<T>> live;
    for (const auto& object : slots_) {
      if (object != nullptr) live.push_back(object);
    }
    return live;
  }

 private:
  static constexpr uintptr_t stride = 16;
  static constexpr uintptr_t reserved = uintptr_t{1} << 30;

  static Handle to_handle(uintptr_t value) {
    if constexpr (std::is_pointer_v<Handle>) {
      return reinterpret_cast<Handle>(value);
    } else {
      return static_cast<Handle>(value);
    }
  }

  static uintptr_t base() {
    static const uintptr_t start = [] {
      void* memory = mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      return memory == MAP_FAILED ? uintptr_t{1} << 40 : reinterpret_cast<uintptr_t>(memory);
    }();
    return start;
  }

  static uintptr_t index_of(Handle handle) {
    uintptr_t value = 0;
    if constexpr (std::is_pointer_v<Handle>) {
      value = reinterpret_cast<uintptr_t>(handle);
    } else {
      value = static_cast<uintptr_t>(handle);
    }
    const uintptr_t offset = value - base();  // wraps for a value below
    if (offset >= reserved || offset % stride != 0 || offset == 0) return UINTPTR_MAX;
    return offset / stride - 1;
  }

  mutable std::shared_mutex mutex_;
  std::deque<std::shared_ptr<T>> slots_;
  std::vector<uintptr_t> free_;
};

}  // namespace refrain::tests::simulated
