#include "tests/simulated_driver/process.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "tests/simulated_driver/context.h"
#include "tests/simulated_driver/faults.h"
#include "tests/simulated_driver/options.h"
#include "tests/simulated_driver/stream.h"
#include "tests/simulated_driver/trace.h"

namespace refrain::tests::simulated {
namespace {

enum class State { fresh, ready, ended };

std::atomic<State> state{State::fresh};
std::atomic<int> running{0};

// Set by a handler in the child: asking getpid each time would be a system call a call.
std::atomic<bool> forked{false};

void at_exit() {
  if (forked.load()) return;  // the records are the parent's
  state.store(State::ended);
  // Kernels and host functions that run now may use what the program's own destructors are about to take away.
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (running.load() != 0 && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
  finish_trace();
  write_call_counts();
}

// Calls may come from other destructors of an ending thread, before or after this one: it is a thread without a context
// then.
thread_local Thread* cached_thread = nullptr;

pthread_key_t thread_key() {
  static const pthread_key_t key = [] {
    pthread_key_t made{};
    pthread_key_create(&made, [](void* ended) {
      const std::unique_ptr<Thread> thread(static_cast<Thread*>(ended));
      cached_thread = nullptr;
      for (const auto& [context, stream] : thread->default_streams) retire_default_stream(stream);
    });
    return made;
  }();
  return key;
}

}  // namespace

Thread& this_thread() {
  static std::atomic<unsigned> next{1};
  if (cached_thread == nullptr) {
    cached_thread = new Thread;
    cached_thread->id = next.fetch_add(1);
    pthread_setspecific(thread_key(), cached_thread);
  }
  return *cached_thread;
}

CUresult process_state() {
  if (forked.load(std::memory_order_relaxed)) return CUDA_ERROR_NOT_INITIALIZED;
  switch (state.load(std::memory_order_acquire)) {
    case State::fresh: return CUDA_ERROR_NOT_INITIALIZED;
    case State::ended: return CUDA_ERROR_DEINITIALIZED;
    case State::ready: return CUDA_SUCCESS;
  }
  return CUDA_ERROR_UNKNOWN;
}

CUresult initialize_process() {
  if (forked.load()) return CUDA_ERROR_NOT_INITIALIZED;
  static std::mutex once;
  const std::lock_guard lock(once);
  if (state.load() == State::ended) return CUDA_ERROR_DEINITIALIZED;
  if (state.load() == State::ready) return CUDA_SUCCESS;
  if (options().devices == 0) return CUDA_ERROR_NO_DEVICE;
  pthread_atfork(nullptr, nullptr, [] { forked.store(true); });
  std::atexit(at_exit);
  state.store(State::ready, std::memory_order_release);
  return CUDA_SUCCESS;
}

bool stopping() { return state.load(std::memory_order_acquire) == State::ended; }

Running::Running() {
  running.fetch_add(1);
  if (stopping()) {
    // Too late to begin: this worker stays here until the process is gone.
    running.fetch_sub(1);
    while (true) pause();
  }
}

Running::~Running() { running.fetch_sub(1); }

}  // namespace refrain::tests::simulated
