// The thread that keeps the promise of max_hold_us: it issues what a lane has held for too long, also when the program
// makes no further CUDA call.
//
// Owns:    one detached thread, started with the first held call; it ends with the process and is never joined.
// Threads: hold_begins() from any thread; it is a load and, only when the timer sleeps deeply, one system call.
// Units:   ns on CLOCK_MONOTONIC.
#pragma once

#include <atomic>
#include <cstdint>

namespace refrain::replay {

std::int64_t now_ns() noexcept;

class Timer {
 public:
  /// `expire(argument, deadline)` issues everything that has been held since before `deadline`; it returns false when
  /// nothing is held at all.
  using Expire = bool (*)(void* argument, std::int64_t deadline) noexcept;

  Timer(Expire expire, void* argument, std::int64_t max_hold_ns) noexcept
      : expire_(expire), argument_(argument), max_hold_ns_(max_hold_ns) {}

  /// Starts the thread, at the first call. False when the system has none to give: then nothing may be held.
  bool start() noexcept {
    const State state = state_.load(std::memory_order_acquire);
    return state == State::runs || (state == State::none && start_thread());
  }
  /// A lane began to hold; its count is already visible.
  void hold_begins() noexcept {
    if (sleeps_.load(std::memory_order_seq_cst) != 0) wake();
  }

 private:
  enum class State : std::uint8_t { none, starting, runs, failed };
  bool start_thread() noexcept;
  static void* run(void* self) noexcept;
  void loop() noexcept;
  void wake() noexcept;

  const Expire expire_;
  void* const argument_;
  const std::int64_t max_hold_ns_;
  std::atomic<State> state_{State::none};
  std::atomic<std::uint32_t> sleeps_{0};
};

}  // namespace refrain::replay
