#include "replay/region.h"

#include <algorithm>
#include <mutex>
#include <new>

namespace refrain::replay {

bool Region::note(capture::Reason reason, std::uint32_t variant, std::uint32_t operation) noexcept try {
  constexpr std::size_t most_noted = 256;
  const std::lock_guard guard(lock);
  ++causes[static_cast<std::size_t>(reason)];
  const Noted place{reason, variant, operation};
  if (noted.size() >= most_noted || std::find(noted.begin(), noted.end(), place) != noted.end()) return false;
  noted.push_back(place);
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

Variant* Region::left_behind() const noexcept {
  Variant* oldest = nullptr;
  std::uint64_t longest = long_unused();
  for (const std::unique_ptr<Variant>& variant : variants) {
    const std::uint64_t unused = passes - variant->last_use;
    if (unused <= longest || variant->in_use() || !variant->is_built()) continue;
    longest = unused;
    oldest = variant.get();
  }
  return oldest;
}

}  // namespace refrain::replay
