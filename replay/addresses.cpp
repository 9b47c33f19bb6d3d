#include "replay/addresses.h"

namespace refrain::replay {
namespace {

using capture::Operation;
using capture::OperationKind;

std::uint64_t address_words(const std::byte* value, std::uint32_t size, std::uint64_t place) noexcept {
  std::uint64_t sum = 0;
  for (std::uint32_t at = 0; at + 8 <= size; at += 8) {
    std::uint64_t word;
    std::memcpy(&word, value + at, 8);
    sum ^= address_word(word, place + at);
  }
  return sum;
}

}  // namespace

std::uint32_t moved_address_bytes(const capture::Sequence& one, const capture::Sequence& other, std::uint32_t index,
                                  std::uint32_t& all) noexcept {
  const Operation& a = one.operations[index];
  const Operation& b = other.operations[index];
  Addresses found;
  switch (a.kind) {
    case OperationKind::kernel: compare_addresses(one.bytes_of(a), other.bytes_of(b), a.byte_count, 0, found); break;
    case OperationKind::memset:
      found = addresses(value_of<capture::MemsetBytes>(one, index), value_of<capture::MemsetBytes>(other, index));
      break;
    case OperationKind::copy:
      found = addresses(value_of<capture::CopyBytes>(one, index), value_of<capture::CopyBytes>(other, index));
      break;
  }
  all = found.all;
  return found.all - found.equal;
}

std::uint64_t address_hash(const capture::Sequence& sequence) noexcept {
  std::uint64_t hash = 0;
  for (const Operation& operation : sequence.operations) {
    const std::byte* const bytes = sequence.bytes_of(operation);
    const std::uint64_t place = operation.first_byte;
    switch (operation.kind) {
      case OperationKind::kernel:
        for (const capture::Parameter& parameter : operation.function->layout.parameters)
          hash ^= address_words(bytes + parameter.offset, parameter.size, place + parameter.offset);
        break;
      case OperationKind::memset: hash ^= address_words(bytes, address_bytes_of(capture::MemsetBytes{}), place); break;
      case OperationKind::copy: hash ^= address_words(bytes, address_bytes_of(capture::CopyBytes{}), place); break;
    }
  }
  return hash;
}

}  // namespace refrain::replay
