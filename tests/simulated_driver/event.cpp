#include "tests/simulated_driver/event.h"

#include <chrono>

namespace refrain::tests::simulated {

HandleTable<CUevent, Event>& events() {
  static auto* const table = new HandleTable<CUevent, Event>;
  return *table;
}

void Record::finish() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const std::lock_guard lock(mutex_);
  if (reached_) return;
  nanoseconds_ = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  reached_ = true;
  reached_event_.notify_all();
}

void Record::wait() {
  std::unique_lock lock(mutex_);
  reached_event_.wait(lock, [&] { return reached_; });
}

bool Record::reached() const {
  const std::lock_guard lock(mutex_);
  return reached_;
}

int64_t Record::nanoseconds() const {
  const std::lock_guard lock(mutex_);
  return nanoseconds_;
}

}  // namespace refrain::tests::simulated
