// A thread that looks in even intervals for what nobody else may ever look at again. One keeps the promise of
// max_hold_us: it issues what a lane has held for too long, also when the program makes no further CUDA call. Another
// launches complete segments while the program goes on.
//
// Owns:    one detached thread, started when it is first needed; it ends with the process and is never joined.
// Threads: hold_begins() from any thread; it is a load and, only when the timer sleeps deeply, one system call.
// Units:   ns on CLOCK_MONOTONIC.
#pragma once

#include <atomic>
#include <cstdint>

namespace refrain::replay {

std::int64_t now_ns() noexcept;

class Timer {
 public:
  /// `expire(argument, deadline)` issues everything that has been there since before `deadline`, the time one interval
  /// ago; it returns false when there is nothing at all.
  using Expire = bool (*)(void* argument, std::int64_t deadline) noexcept;

  Timer(const char* name, Expire expire, void* argument, std::int64_t interval_ns) noexcept
      : name_(name), expire_(expire), argument_(argument), interval_ns_(interval_ns) {}

  /// Starts the thread, at the first call. False when the system has none to give: then nothing may be held.
  bool start() noexcept {
    const State state = state_.load(std::memory_order_acquire);
    return state == State::runs || (state == State::none && start_thread());
  }
  /// There is something to look for; that is already visible.
  void work_begins() noexcept {
    if (sleeps_.load(std::memory_order_seq_cst) != 0) wake();
  }

 private:
  enum class State : std::uint8_t { none, starting, runs, failed };
  bool start_thread() noexcept;
  static void* run(void* self) noexcept;
  void loop() noexcept;
  void wake() noexcept;

  const char* const name_;
  const Expire expire_;
  void* const argument_;
  const std::int64_t interval_ns_;
  std::atomic<State> state_{State::none};
  std::atomic<std::uint32_t> sleeps_{0};
};

}  // namespace refrain::replay
