// Ways in which a process or a thread ends.
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <vector>

#include "tests/interpose/life_held.h"

namespace refrain::tests {
namespace {

// ---- ends of the process

void at_exit_calls_the_driver() {
  job().half(3);
  job().read();
}

struct StaticObject {
  bool armed = false;
  ~StaticObject() {
    if (armed) at_exit_calls_the_driver();
  }
} static_object;

struct ThreadObject {
  bool armed = false;
  ~ThreadObject() {
    if (!armed) return;
    job().half(3);
    nvtxRangePop();
    CALL(cuStreamSynchronize, job().stream);
  }
};
thread_local ThreadObject thread_object;

int end_return() { return 24; }
int end_exit() { std::exit(21); }
int end_now() { _exit(22); }
int end_quick() {
  std::at_quick_exit([] { at_exit_calls_the_driver(); });
  std::quick_exit(23);
}
int end_abort() { std::abort(); }
int end_terminated() { return std::raise(SIGTERM); }
int end_killed() { return std::raise(SIGKILL); }
int end_segment_fault() { return std::raise(SIGSEGV); }
int end_uncaught() { throw std::runtime_error("nobody catches it"); }
int end_exit_handler() {
  std::atexit([] { at_exit_calls_the_driver(); });
  std::exit(26);
}
int end_static_destructor() {
  static_object.armed = true;
  std::exit(27);
}
int end_exit_of_a_thread() {
  std::thread([] { std::exit(28); }).join();
  return 1;
}
int end_exit_while_a_thread_launches() {
  (new Launcher)->detach();
  std::exit(29);
}
int end_main_thread_only() {
  std::thread([] {
    usleep(50000);
    CALL(cuCtxSetCurrent, job().scenario.context());
    job().read();
    std::fputs(transcript.c_str(), stdout);
    std::exit(30);
  }).detach();
  pthread_exit(nullptr);
}

// ---- ends of a thread

/// `end` runs in a thread with half a pass held; then the main thread reads.
int end_of_thread(void (*end)()) {
  std::thread([end] {
    in_worker = true;
    CALL(cuCtxSetCurrent, job().scenario.context());
    begin_pass();
    end();
  }).join();
  job().read();
  return 0;
}
int thread_returns() {
  return end_of_thread([] {});
}
int thread_exits() {
  return end_of_thread([] { pthread_exit(nullptr); });
}
int thread_destroys() {
  return end_of_thread([] { thread_object.armed = true; });
}
int thread_throws_inside() {
  return end_of_thread([] {
    try {
      const Range range("region inside");
      throw std::runtime_error("caught");
    } catch (const std::runtime_error&) {
    }
  });
}
int thread_cancelled() {
  pthread_t thread{};
  static std::atomic<bool> ready{false};
  pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        in_worker = true;
        CALL(cuCtxSetCurrent, job().scenario.context());
        begin_pass();
        ready = true;
        for (;;) pause();
      },
      nullptr);
  while (!ready) usleep(100);
  pthread_cancel(thread);
  void* result = nullptr;
  pthread_join(thread, &result);
  note("cancelled %d", result == PTHREAD_CANCELED);
  job().read();
  return 0;
}
int many_threads_end() {
  for (int i = 0; i < 50; ++i) {
    std::thread([] {
      in_worker = true;
      CALL(cuCtxSetCurrent, job().scenario.context());
      begin_pass();
      job().half(3);
      nvtxRangePop();
    }).join();
  }
  job().read();
  return 0;
}

}  // namespace

const Ways ends = {
    {"return", {end_return, true}},
    {"exit", {end_exit, true}},
    {"_exit", {end_now, true}},
    {"quick_exit", {end_quick, true}},
    {"abort", {end_abort, true}},
    {"terminated", {end_terminated, true}},
    {"killed", {end_killed, true}},
    {"segment-fault", {end_segment_fault, true}},
    {"uncaught-exception", {end_uncaught, true}},
    {"exit-handler", {end_exit_handler, true}},
    {"static-destructor", {end_static_destructor, true}},
    {"exit-of-a-thread", {end_exit_of_a_thread, true}},
    {"exit-while-a-thread-launches", {end_exit_while_a_thread_launches, true}},
    {"main-thread-only", {end_main_thread_only, true}},
    {"thread-returns", {thread_returns, false}},
    {"thread-exits", {thread_exits, false}},
    {"thread-destroys", {thread_destroys, false}},
    {"thread-throws-inside", {thread_throws_inside, false}},
    {"thread-cancelled", {thread_cancelled, false}},
    {"many-threads-end", {many_threads_end, false}},
};

}  // namespace refrain::tests
