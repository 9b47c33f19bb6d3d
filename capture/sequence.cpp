#include "capture/sequence.h"

#include <cstring>
#include <utility>

#include "capture/grow.h"

namespace refrain::capture {
namespace {

constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t value) noexcept {
  hash ^= value + 0x9e3779b97f4a7c15 + (hash << 6) + (hash >> 2);
  hash *= 0xff51afd7ed558ccd;
  return hash ^ (hash >> 33);
}

std::uint64_t structure_of(std::uint64_t hash, const Operation& operation,
                           std::span<const Attribute> attributes) noexcept {
  hash = mix(hash, static_cast<std::uint64_t>(operation.kind) << 32 | operation.role);
  hash = mix(hash, operation.function != nullptr ? operation.function->handle : 0);
  for (const Attribute& attribute : attributes) {
    hash = mix(hash, attribute.id);
    for (std::size_t at = 0; at < attribute.value.size(); at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, attribute.value.data() + at, sizeof word);
      hash = mix(hash, word);
    }
  }
  return hash;
}

}  // namespace

void Sequence::append(Operation operation, std::span<const std::byte> operation_bytes,
                      std::span<const Attribute> operation_attributes) {
  constexpr std::size_t alignment = 16;
  const std::size_t first = (bytes.size() + alignment - 1) / alignment * alignment;
  operation.first_byte = static_cast<std::uint32_t>(first);
  operation.byte_count = static_cast<std::uint32_t>(operation_bytes.size());
  operation.first_attribute = static_cast<std::uint32_t>(attributes.size());
  operation.attribute_count = static_cast<std::uint8_t>(operation_attributes.size());
  // Room is made before anything changes, so that a failed allocation leaves the sequence as it was.
  make_room(operations, 1);
  make_room(structure_, 1);
  if (!operation_attributes.empty()) make_room(attributes, operation_attributes.size());
  bytes.resize(first + operation_bytes.size());
  if (!operation_bytes.empty()) std::memcpy(bytes.data() + first, operation_bytes.data(), operation_bytes.size());
  attributes.insert(attributes.end(), operation_attributes.begin(), operation_attributes.end());
  structure_.push_back(structure_of(structure(size()), operation, operation_attributes));
  operations.push_back(operation);
}

void Sequence::add_break(const char* cause) {
  if (!breaks.empty() && breaks.back().before == size()) return;
  breaks.push_back({size(), cause});
}

Sequence Sequence::prefix(std::uint32_t count) const {
  Sequence copy;
  copy.functions = functions;
  copy.operations.reserve(count);
  copy.structure_.reserve(count);
  for (std::uint32_t index = 0; index < count; ++index) {
    const Operation& operation = operations[index];
    copy.append(operation, {bytes_of(operation), operation.byte_count}, attributes_of(operation));
  }
  for (const Break& cut : breaks) {
    if (cut.before <= count) copy.breaks.push_back(cut);
  }
  return copy;
}

void Sequence::trim() noexcept {
  operations.shrink_to_fit();  // which takes a failed allocation as a reason to leave it
  bytes.shrink_to_fit();
  attributes.shrink_to_fit();
  functions.shrink_to_fit();
  structure_.shrink_to_fit();
}

std::size_t Sequence::memory() const noexcept {
  return sizeof *this + operations.capacity() * sizeof(Operation) + bytes.capacity() +
         attributes.capacity() * sizeof(Attribute) + breaks.capacity() * sizeof(Break) +
         functions.capacity() * sizeof(functions[0]) + structure_.capacity() * sizeof(std::uint64_t);
}

SequenceRecord describe(const Sequence& sequence, std::string region, std::uint32_t variant, std::uint64_t pass) {
  SequenceRecord record;
  record.region = std::move(region);
  record.variant = variant;
  record.pass = pass;
  record.operations.reserve(sequence.size());
  for (const Operation& operation : sequence.operations) {
    OperationRecord& out = record.operations.emplace_back();
    out.kind = operation.kind;
    out.grid = operation.grid;
    out.block = operation.block;
    out.shared = operation.shared;
    out.role = operation.role;
    if (operation.function != nullptr) {
      out.name = operation.function->name;
      for (const Parameter& parameter : operation.function->layout.parameters)
        out.parameter_sizes.push_back(parameter.size);
    }
    for (const Attribute& attribute : sequence.attributes_of(operation)) out.attributes.push_back(attribute.id);
  }
  for (const Break& cut : sequence.breaks) record.breaks.push_back({cut.before, cut.cause});
  return record;
}

}  // namespace refrain::capture
