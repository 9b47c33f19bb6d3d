// A hash of short texts, eight bytes at a time.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace refrain::interpose {

/// Equal texts and seeds give equal values; who uses it compares the texts as well.
inline std::uint64_t text_hash(std::string_view text, std::uint64_t seed) noexcept {
  constexpr std::uint64_t factor = 0x9E3779B97F4A7C15u;
  std::uint64_t hash = seed ^ (text.size() * factor);
  const char* at = text.data();
  std::size_t left = text.size();
  const auto mix = [&hash](std::uint64_t word) {
    hash = (hash ^ word) * factor;
    hash ^= hash >> 32;
  };
  for (; left >= 8; left -= 8, at += 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    mix(word);
  }
  if (left != 0) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, left);
    mix(word);
  }
  mix(0);
  return hash;
}

}  // namespace refrain::interpose
