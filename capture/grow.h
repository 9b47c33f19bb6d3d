// Room in a vector before anything changes: what follows cannot fail.
//
// Threads: pure.
// Fails:   may throw std::bad_alloc, and has changed nothing then.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace refrain::capture {

/// Makes room for `more` elements. Grows by doubling, which std::vector::reserve() does not: called for each element it
/// would copy all of them each time.
template <typename Element>
void make_room(std::vector<Element>& elements, std::size_t more) {
  constexpr std::size_t least = 16;
  const std::size_t wanted = elements.size() + more;
  if (wanted > elements.capacity()) elements.reserve(std::max({wanted, 2 * elements.capacity(), least}));
}

}  // namespace refrain::capture
