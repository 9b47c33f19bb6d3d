// Whether a call that came through a hook is looked at: one load of a thread's word and one of a process' word.
//
// Threads: any. One word of initial-exec thread-local storage: reading it never allocates.
// Fails:   re-entry on a thread passes straight through, it never waits.
#pragma once

#include <atomic>

#include "replay/engine.h"

namespace refrain::interpose {

enum class ThreadState : int {
  fresh,    ///< no call of this thread was looked at yet
  outside,  ///< known: it will be told to the engine when the thread ends
  inside,   ///< in a call that is looked at, or in the engine
};

namespace details {
/// The engine while calls are looked at; nullptr before cuInit, when Refrain is off, after exit and in a forked child.
extern std::atomic<replay::Engine*> engine;
[[gnu::tls_model("initial-exec")]] extern constinit thread_local ThreadState thread_state;
/// Arranges that the engine hears of the end of the calling thread.
void adopt_thread() noexcept;
}  // namespace details

/// The engine, to a call that it shall look at; then leave() must follow. nullptr: the call passes.
inline replay::Engine* enter() noexcept {
  if (details::thread_state == ThreadState::inside) return nullptr;
  replay::Engine* engine = details::engine.load(std::memory_order_acquire);
  if (engine == nullptr) return nullptr;
  if (details::thread_state == ThreadState::fresh) [[unlikely]]
    details::adopt_thread();
  details::thread_state = ThreadState::inside;
  return engine;
}

inline void leave() noexcept { details::thread_state = ThreadState::outside; }

/// Ends what enter() began; hands `result` through.
inline CUresult leave(CUresult result) noexcept {
  leave();
  return result;
}

/// Makes the ends of threads known to the engine from here on; false when the system has no more keys.
bool watch_thread_ends() noexcept;

}  // namespace refrain::interpose
