#include "interpose/trampoline.h"

#include <atomic>
#include <cstddef>

#include "interpose/entry_points.h"
#include "interpose/guard.h"
#include "interpose/message.h"
#include "interpose/process.h"
#include "interpose/trampoline_count.h"

extern "C" {
// Shared with trampoline.S: the functions that the trampolines jump to, and the code of the first trampoline.
extern std::atomic<void*> refrain_trampoline_targets[REFRAIN_TRAMPOLINES];
constinit std::atomic<void*> refrain_trampoline_targets[REFRAIN_TRAMPOLINES] = {};
extern const char refrain_trampolines[];
void refrain_before_unknown() noexcept;
}

namespace refrain::interpose {

void* trampoline_for(void* function) noexcept {
  for (unsigned i = 0; i < REFRAIN_TRAMPOLINES; ++i) {
    void* taken = refrain_trampoline_targets[i].load(std::memory_order_acquire);
    if (taken == nullptr && refrain_trampoline_targets[i].compare_exchange_strong(taken, function)) taken = function;
    if (taken == function) return const_cast<char*>(refrain_trampolines) + std::size_t{i} * REFRAIN_TRAMPOLINE_BYTES;
  }
  say(Message::pool, "more than %d driver functions are unknown to this version; nothing is held from here on",
      REFRAIN_TRAMPOLINES);
  stop_holding();
  return function;
}

}  // namespace refrain::interpose

void refrain_before_unknown() noexcept {
  namespace interpose = refrain::interpose;
  refrain::replay::Engine* engine = interpose::enter();
  if (engine == nullptr) return;
  engine->order_all(interpose::unknown_entry_point);
  interpose::leave();
}
