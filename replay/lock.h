// A mutual exclusion lock of four bytes, for sections of a few dozen instructions on the launch path.
//
// Threads: lock() waits in the kernel when another thread holds it; uncontended it is one atomic exchange each way.
// Fails:   never. It must not be used in a forked child whose parent held it: the child abandons everything instead.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace refrain::replay {

class Lock {
 public:
  void lock() noexcept {
    std::uint32_t expected = free;
    if (state_.compare_exchange_strong(expected, held, std::memory_order_acquire)) return;
    while (state_.exchange(contended, std::memory_order_acquire) != free) {
      syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, contended, nullptr, nullptr, 0);
    }
  }
  bool try_lock() noexcept {
    std::uint32_t expected = free;
    return state_.compare_exchange_strong(expected, held, std::memory_order_acquire);
  }
  void unlock() noexcept {
    if (state_.exchange(free, std::memory_order_release) == contended) {
      syscall(SYS_futex, &state_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    }
  }

 private:
  static constexpr std::uint32_t free = 0, held = 1, contended = 2;
  std::atomic<std::uint32_t> state_{free};
};

}  // namespace refrain::replay
