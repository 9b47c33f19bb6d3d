#include "replay/segment_lengths.h"

#include <algorithm>

namespace refrain::replay {
namespace {

// A graph of four kernels costs the host less than half of what four launches do, and holds them for hardly longer.
constexpr std::uint32_t shortest = 4;

}  // namespace

std::vector<std::uint32_t> segment_lengths(std::uint32_t count, std::uint32_t least, std::uint32_t most, Waits waits) {
  std::vector<std::uint32_t> lengths;
  if (!waits.before && !waits.after) {
    const std::uint32_t segments = (count + most - 1) / most;
    for (std::uint32_t done = 0; done < segments; ++done)
      lengths.push_back(count / segments + (done < count % segments ? 1 : 0));
    return lengths;
  }
  const std::uint32_t first = std::min(std::max(shortest, least), most);
  std::uint32_t front = waits.before ? first : most, back = waits.after ? first : most, rest = count;
  std::vector<std::uint32_t> from_back;
  auto take = [&](std::vector<std::uint32_t>& from, std::uint32_t& length) {
    const std::uint32_t taken = std::min(length, rest);
    rest -= taken;
    length = std::min(length * 2, most);
    // What is left over in the midst is no segment of its own when it is too short.
    if (taken >= first || from.empty() || from.back() + taken > most) {
      if (taken != 0) from.push_back(taken);
    } else {
      from.back() += taken;
    }
  };
  while (rest != 0) {
    take(waits.before ? lengths : from_back, waits.before ? front : back);
    take(waits.before ? from_back : lengths, waits.before ? back : front);
  }
  lengths.insert(lengths.end(), from_back.rbegin(), from_back.rend());
  return lengths;
}

}  // namespace refrain::replay
