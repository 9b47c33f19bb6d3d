// Which names come closest to a pattern that matched none of them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace refrain::capture {

/// How many characters must be put in, taken out or exchanged so that the glob `pattern` matches `name`; letters of
/// different case are the same. `*`, `?` and `[...]` match for free. Only the first 128 characters of each count.
std::size_t distance(std::string_view pattern, std::string_view name) noexcept;

/// Up to `most` of `names`, the closest first, equally close ones in alphabetical order.
std::vector<std::string> closest(std::string_view pattern, const std::vector<std::string>& names, std::size_t most);

}  // namespace refrain::capture
