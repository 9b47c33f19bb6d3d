#include "interpose/guard.h"

#include <pthread.h>

namespace refrain::interpose {

constinit std::atomic<replay::Engine*> details::engine{nullptr};
[[gnu::tls_model("initial-exec")]] constinit thread_local ThreadState details::thread_state = ThreadState::fresh;

namespace {

pthread_key_t thread_key;

/// Runs among the thread's other destructors. A later one may make driver calls: the thread is then fresh again.
void end_thread(void*) noexcept {
  if (replay::Engine* engine = enter()) engine->thread_ends();
  details::thread_state = ThreadState::fresh;
}

}  // namespace

void details::adopt_thread() noexcept {
  thread_state = ThreadState::inside;  // setting the value may allocate, and a program's allocator may do anything
  pthread_setspecific(thread_key, &thread_key);
}

bool watch_thread_ends() noexcept { return pthread_key_create(&thread_key, end_thread) == 0; }

}  // namespace refrain::interpose
