// Which words of an operation's bytes may be addresses, how many of them moved, and a hash of all of them.
//
// Owns:    nothing.
// Threads: pure.
// Units:   bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "capture/sequence.h"

namespace refrain::replay {

/// A word that may be an address: device and mapped host memory lie above 4 GiB and below 2^57. Counts, small scalars,
/// most random numbers and garbage in padding do not look like that, and must not hide the addresses around them.
constexpr bool may_be_address(std::uint64_t word) noexcept { return word >> 32 != 0 && word >> 57 == 0; }

struct Addresses {
  std::uint32_t all = 0, equal = 0;
};

/// One word for an address and its place among the bytes of a sequence; 0 for what is none. The hash of a sequence is
/// the exclusive or of all of them, so that an address that moves changes it by two words.
constexpr std::uint64_t address_word(std::uint64_t word, std::uint64_t place) noexcept {
  if (!may_be_address(word)) return 0;
  word = word * 0x9e3779b97f4a7c15 + place * 0xbf58476d1ce4e5b9;
  word = (word ^ (word >> 29)) * 0x94d049bb133111eb;
  return word ^ (word >> 32);
}

/// Compares the words of two values that may be addresses in either one, and returns what the hash changes by when
/// `value` comes into the place of `old`.
inline std::uint64_t compare_addresses(const std::byte* old, const void* value, std::uint32_t size, std::uint64_t place,
                                       Addresses& out) noexcept {
  std::uint64_t change = 0;
  for (std::uint32_t at = 0; at + 8 <= size; at += 8) {
    std::uint64_t a, b;
    std::memcpy(&a, old + at, 8);
    std::memcpy(&b, static_cast<const std::byte*>(value) + at, 8);
    if (!may_be_address(a) && !may_be_address(b)) continue;
    out.all += 8;
    if (a == b) {
      out.equal += 8;
    } else {
      change ^= address_word(a, place + at) ^ address_word(b, place + at);
    }
  }
  return change;
}

/// A memset and a copy begin with their addresses.
constexpr std::uint32_t address_bytes_of(const capture::MemsetBytes&) noexcept { return 8; }
constexpr std::uint32_t address_bytes_of(const capture::CopyBytes&) noexcept { return 16; }

inline Addresses addresses(const capture::MemsetBytes& one, const capture::MemsetBytes& other) noexcept {
  return {8, one.destination == other.destination ? 8u : 0u};
}
inline Addresses addresses(const capture::CopyBytes& one, const capture::CopyBytes& other) noexcept {
  return {16, (one.destination == other.destination ? 8u : 0u) + (one.source == other.source ? 8u : 0u)};
}

/// The bytes of a memset or copy.
template <typename Bytes>
Bytes value_of(const capture::Sequence& sequence, std::uint32_t operation) noexcept {
  Bytes bytes;
  std::memcpy(&bytes, sequence.bytes_of(sequence.operations[operation]), sizeof bytes);
  return bytes;
}

/// How many bytes of addresses differ between the operations of two sequences of one structure, of `all` that there
/// are.
std::uint32_t moved_address_bytes(const capture::Sequence& one, const capture::Sequence& other, std::uint32_t operation,
                                  std::uint32_t& all) noexcept;

/// The hash of all addresses of a sequence.
std::uint64_t address_hash(const capture::Sequence& sequence) noexcept;

}  // namespace refrain::replay
