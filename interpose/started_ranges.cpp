#include "interpose/started_ranges.h"

#include <atomic>
#include <mutex>

#include "replay/lock.h"

namespace refrain::interpose {

namespace {

struct Started {
  const void* domain = nullptr;
  std::uint64_t id = 0;
  OpenToken region;
};

constexpr unsigned max_started = 1024;
constinit replay::Lock started_lock;
constinit Started started[max_started]{};
// Written under the lock; read without it, as most ends are of ranges that are no regions while no region is open.
constinit std::atomic<unsigned> started_count{0};

template <typename Fits>
OpenToken take(Fits fits) noexcept {
  if (started_count.load(std::memory_order_acquire) == 0) return {};
  const std::scoped_lock guard(started_lock);
  const unsigned count = started_count.load(std::memory_order_relaxed);
  for (unsigned i = 0; i < count; ++i) {
    if (!fits(started[i])) continue;
    const OpenToken region = started[i].region;
    started[i] = started[count - 1];
    started_count.store(count - 1, std::memory_order_release);
    return region;
  }
  return {};
}

}  // namespace

bool keep_started(const void* domain, std::uint64_t id, OpenToken region) noexcept {
  const std::scoped_lock guard(started_lock);
  const unsigned count = started_count.load(std::memory_order_relaxed);
  if (count == max_started) return false;
  for (unsigned i = 0; i < count; ++i) {
    if (started[i].domain == domain && started[i].id == id) return false;
  }
  started[count] = {domain, id, region};
  started_count.store(count + 1, std::memory_order_release);
  return true;
}

OpenToken take_started(const void* domain, std::uint64_t id) noexcept {
  return take([&](const Started& range) { return range.domain == domain && range.id == id; });
}

OpenToken take_started(const void* domain) noexcept {
  return take([&](const Started& range) { return range.domain == domain; });
}

void forget_started() noexcept {
  const std::scoped_lock guard(started_lock);
  started_count.store(0, std::memory_order_release);
}

}  // namespace refrain::interpose
