// Asks for what the next calls and patches will read. Between two calls the program fills the caches with its own: on
// an H200's host a call took 0.06 us in a loop of launches, and several times as long within a training step.
//
// Threads: as for the variant. It only reads what the variant owns.
// Fails:   never: a prefetch of a wrong address does nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "replay/variant.h"

namespace refrain::replay {

/// Before operation `next` is expected. Each step reads only what a call before has asked for.
inline void look_ahead(const Variant& variant, std::uint32_t next) noexcept {
  constexpr std::uint32_t line = 64, most_bytes = 512;
  const std::uint32_t size = variant.sequence.size();
  const capture::Operation* const operations = variant.sequence.operations.data();
  if (next + 2 < size) {
    __builtin_prefetch(operations + next + 2);
    __builtin_prefetch(variant.nodes.data() + next + 2);
  }
  if (next + 1 < size) {
    const auto* function = reinterpret_cast<const char*>(operations[next + 1].function);
    __builtin_prefetch(function);
    __builtin_prefetch(function + line);
  }
  if (next >= size) return;
  const capture::Operation& operation = operations[next];
  const std::byte* const bytes = variant.sequence.bytes_of(operation);
  for (std::uint32_t at = 0; at < std::min(operation.byte_count, most_bytes); at += line)
    __builtin_prefetch(bytes + at, 1);
  if (operation.function == nullptr) return;
  const auto* parameters = reinterpret_cast<const char*>(operation.function->layout.parameters.data());
  __builtin_prefetch(parameters);
  __builtin_prefetch(parameters + line);
}

/// Before the node of `operation` is patched: its parameters, and what the driver keeps behind the node's handle.
inline void look_ahead_of_patch(const Variant& variant, std::uint32_t operation) noexcept {
  constexpr std::size_t line = 64, lines_of_node = 4;
  constexpr std::uint32_t most_bytes = 512;
  const auto* node = reinterpret_cast<const char*>(variant.nodes[operation].node);
  for (std::size_t number = 0; number < lines_of_node; ++number) __builtin_prefetch(node + number * line);
  const capture::Operation& values = variant.sequence.operations[operation];
  const std::byte* const bytes = variant.sequence.bytes_of(values);
  for (std::size_t at = 0; at < std::min(values.byte_count, most_bytes); at += line) __builtin_prefetch(bytes + at);
}

}  // namespace refrain::replay
