#include "replay/timer.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>

namespace refrain::replay {

std::int64_t now_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

bool Timer::start_thread() noexcept {
  State none = State::none;
  if (!state_.compare_exchange_strong(none, State::starting)) return none == State::runs;
  // The host's signal handlers must never run on a thread that it does not know.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread{};
  const int result = pthread_create(&thread, &attributes, &Timer::run, this);
  if (result == 0) pthread_setname_np(thread, name_);
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  state_.store(result == 0 ? State::runs : State::failed, std::memory_order_release);
  return result == 0;
}

void* Timer::run(void* self) noexcept {
  static_cast<Timer*>(self)->loop();
  return nullptr;
}

// After a while without anything to do the thread sleeps until something comes.
void Timer::loop() noexcept {
  constexpr int idle_rounds_before_sleep = 64;
  const std::int64_t period = std::max<std::int64_t>(interval_ns_, 1000);
  int idle = 0;
  for (;;) {
    timespec pause{};
    pause.tv_sec = period / 1'000'000'000;
    pause.tv_nsec = period % 1'000'000'000;
    nanosleep(&pause, nullptr);
    idle = expire_(argument_, now_ns() - period) ? 0 : idle + 1;
    if (idle < idle_rounds_before_sleep) continue;
    sleeps_.store(1, std::memory_order_seq_cst);
    // What began before it could see `sleeps_` is seen here.
    if (!expire_(argument_, now_ns() - period))
      syscall(SYS_futex, &sleeps_, FUTEX_WAIT_PRIVATE, 1, nullptr, nullptr, 0);
    sleeps_.store(0, std::memory_order_seq_cst);
    idle = 0;
  }
}

void Timer::wake() noexcept {
  if (sleeps_.exchange(0, std::memory_order_seq_cst) == 0) return;
  syscall(SYS_futex, &sleeps_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace refrain::replay
