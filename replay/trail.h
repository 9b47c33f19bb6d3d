// What an automatic region remembers of its lane: the last operations, and where operations have come in the same order
// before. A place is named by its context: the operation that comes and the few before it.
//
// Owns:    one word an operation for the last few, and a table of contexts of bounded size.
// Threads: guarded by the lock of the region's pass; the lists of variants by the region's lock as well.
// Fails:   without memory for the table nothing is found, and everything stays eager.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "replay/engine.h"

namespace refrain::replay {

class Variant;

/// One word for what must be equal of an operation: kind, function, attributes. Never 0.
std::uint64_t token_of(const KernelCall& call) noexcept;
std::uint64_t token_of(const MemsetCall& call) noexcept;
std::uint64_t token_of(const CopyCall& call) noexcept;

/// What is known of a context.
struct Place {
  std::uint64_t context = 0;  ///< 0: the place is free
  std::uint32_t seen = 0;     ///< how often an operation that passed came here
  std::uint16_t unfit = 0;    ///< recordings that began here and were too short to replay
  Variant* variants =
      nullptr;  ///< those that begin here, chained by `same_place`, or by `same_first` after no matter what
};

class Trail {
 public:
  /// How many operations make a context.
  static constexpr unsigned context_length = 6;

  /// The context of an operation that comes now, or after those that were `followed` and are not pushed yet.
  std::uint64_t context(std::uint64_t token, std::span<const std::uint64_t> followed = {}) const noexcept;
  /// The operation has come.
  void push(std::uint64_t token) noexcept;
  /// The name of the place where an operation comes after no matter what.
  static std::uint64_t first_only(std::uint64_t token) noexcept;
  /// The place of a context, known or made; nullptr when there is no room for it.
  Place* at(std::uint64_t context) noexcept;
  /// The place of a context if it is known.
  Place* find(std::uint64_t context) noexcept;
  /// Puts a variant into the lists of the two places where it begins, and takes it out.
  void add(Variant& variant) noexcept;
  void forget(const Variant& variant) noexcept;
  std::size_t memory() const noexcept { return sizeof *this + capacity_ * sizeof(Place); }

 private:
  static constexpr std::size_t first_capacity = 1 << 10, last_capacity = 1 << 15;

  Place* slot(std::uint64_t context) noexcept;
  bool resize(std::size_t capacity) noexcept;

  std::array<std::uint64_t, context_length - 1> last_{};
  unsigned next_ = 0;
  std::unique_ptr<Place[]> places_;
  std::size_t capacity_ = 0, used_ = 0;
};

}  // namespace refrain::replay
