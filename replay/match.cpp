#include "replay/match.h"

#include <cstring>

#include "replay/addresses.h"
#include "replay/attributes.h"
#include "replay/planted_bug.h"

namespace refrain::replay {
namespace {

using capture::Dimensions;
using capture::Operation;
using capture::OperationKind;
using capture::Reason;

constexpr std::uint64_t threads(const Dimensions& block) noexcept { return std::uint64_t{block.x} * block.y * block.z; }

// The driver's own limits of a grid (CUDA programming guide, compute capability 3.0 and later).
constexpr bool is_launchable(const Dimensions& grid) noexcept {
  return grid.x >= 1 && grid.x <= 0x7fffffff && grid.y >= 1 && grid.y <= 65535 && grid.z >= 1 && grid.z <= 65535;
}

// A changed configuration is held only when the driver surely accepts it: no larger block or shared memory than it has
// accepted for this operation, and a grid within its limits. What else a launch depends on is in the attributes, and a
// launch with cluster or cooperative ones has rules of its own.
bool configuration_fits(const KernelCall& call, const Operation& operation, const Node& node) noexcept {
  if (operation.attribute_count != 0 || !is_launchable(call.grid)) return false;
  const bool same_block = call.block == operation.block;
  if (!same_block && !(call.block.x >= 1 && call.block.x <= node.accepted_block.x && call.block.y >= 1 &&
                       call.block.y <= node.accepted_block.y && call.block.z >= 1 &&
                       call.block.z <= node.accepted_block.z && threads(call.block) <= node.accepted_threads)) {
    return false;
  }
  return call.shared <= node.accepted_shared;
}

// Where the call keeps the value of each parameter. find_source() false: nowhere, let the driver judge.
struct Source {
  void* const* pointers = nullptr;
  const std::byte* block = nullptr;
  const void* at(std::size_t index, const capture::Parameter& parameter) const noexcept {
    return pointers != nullptr ? pointers[index] : block + parameter.offset;
  }
};

bool find_source(const KernelCall& call, const capture::Layout& layout, Source& source) noexcept {
  if (call.parameters != nullptr) {
    source.pointers = call.parameters;
    return call.extra == nullptr;
  }
  if (call.extra == nullptr) return layout.parameters.empty();
  std::size_t bytes = 0;
  // A larger block is refused by the driver (error 701), a smaller one leaves bytes that nobody passed.
  return packed_block(call.extra, source.block, bytes) && bytes == layout.bytes;
}

// Most parameters are pointers and 4-byte scalars: those are compared as words.
bool equal_value(const std::byte* shadow, const void* value, std::uint32_t size) noexcept {
  if (size == 8) {
    std::uint64_t a, b;
    std::memcpy(&a, shadow, 8);
    std::memcpy(&b, value, 8);
    return a == b;
  }
  if (size == 4) {
    std::uint32_t a, b;
    std::memcpy(&a, shadow, 4);
    std::memcpy(&b, value, 4);
    return a == b;
  }
  return std::memcmp(shadow, value, size) == 0;
}

// The first parameter from `number` on that lacks a value or has another one than the shadow; their count when all are
// equal. `value_of(number)` tells where the call keeps one.
template <typename ValueOf>
std::size_t first_changed(const capture::Layout& layout, std::size_t number, const std::byte* shadow,
                          ValueOf value_of) noexcept {
  const capture::Parameter* const parameters = layout.parameters.data();
  const std::size_t count = layout.parameters.size();
  for (; number < count; ++number) {
    const void* const value = value_of(number);
    const capture::Parameter& parameter = parameters[number];
    if (value == nullptr || !equal_value(shadow + parameter.offset, value, parameter.size)) break;
  }
  return number;
}

std::size_t first_changed(const Source& source, const capture::Layout& layout, std::size_t number,
                          const std::byte* shadow) noexcept {
  void* const* const pointers = source.pointers;
  if (pointers != nullptr) return first_changed(layout, number, shadow, [=](std::size_t at) { return pointers[at]; });
  return first_changed(layout, number, shadow, [&](std::size_t at) { return source.at(at, layout.parameters[at]); });
}

template <typename Bytes>
bool same_value(const Bytes& bytes, const Variant& variant, std::uint32_t operation) noexcept {
  Bytes shadow;
  std::memcpy(&shadow, variant.sequence.bytes_of(variant.sequence.operations[operation]), sizeof shadow);
  return shadow == bytes;
}

template <typename Bytes>
void absorb_value(const Bytes& bytes, Variant& variant, std::uint32_t index) noexcept {
  if (same_value(bytes, variant, index)) return;
  const Operation& operation = variant.sequence.operations[index];
  std::byte* const shadow = variant.sequence.bytes_of(operation);
  Addresses moved;
  variant.addresses ^= compare_addresses(shadow, &bytes, address_bytes_of(bytes), operation.first_byte, moved);
  std::memcpy(shadow, &bytes, sizeof bytes);
  variant.mark_changed(index);
}

template <typename Bytes>
void describe_value(const Bytes& bytes, OperationKind kind, Operation& operation, std::vector<std::byte>& out) {
  operation = {};
  operation.kind = kind;
  out.resize(sizeof bytes);
  std::memcpy(out.data(), &bytes, sizeof bytes);
}

}  // namespace

bool packed_block(void* const* extra, const std::byte*& block, std::size_t& bytes) noexcept {
  constexpr int most_entries = 16;
  bool has_block = false, has_size = false;
  for (int entry = 0; entry < most_entries; entry += 2) {
    if (extra[entry] == CU_LAUNCH_PARAM_END) return has_block && has_size;
    if (extra[entry] == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      block = static_cast<const std::byte*>(extra[entry + 1]);
      has_block = block != nullptr;
    } else if (extra[entry] == CU_LAUNCH_PARAM_BUFFER_SIZE) {
      if (extra[entry + 1] == nullptr) return false;
      bytes = *static_cast<const std::size_t*>(extra[entry + 1]);
      has_size = true;
    } else {
      return false;
    }
  }
  return false;
}

Verdict compare(const KernelCall& call, const Variant& variant, std::uint32_t index,
                const policy::RegionRule& rule) noexcept {
  const Operation& operation = variant.sequence.operations[index];
  if (operation.kind != OperationKind::kernel) return Verdict::differs(Reason::different_kind);
  if (operation.function->handle != reinterpret_cast<std::uint64_t>(call.function)) {
    return Verdict::differs(Reason::different_function);
  }
  const bool has_attributes = call.attribute_count != 0 || call.cooperative || operation.attribute_count != 0;
  if (has_attributes && !same_attributes(call, variant.sequence.attributes.data() + operation.first_attribute,
                                         operation.attribute_count)) {
    return Verdict::differs(Reason::different_attributes);
  }
  const bool same = call.grid == operation.grid && call.block == operation.block && call.shared == operation.shared;
  if (!same && (rule.strict_configuration || !configuration_fits(call, operation, variant.nodes[index]))) {
    return Verdict::differs(Reason::different_configuration);
  }
  Source source;
  if (!find_source(call, operation.function->layout, source)) return Verdict::differs(Reason::unholdable_operation);
  if (rule.strict_parameters && !same_bytes(call, variant, index))
    return Verdict::differs(Reason::different_parameters);
  return {};
}

Verdict compare(const MemsetCall& call, const Variant& variant, std::uint32_t index,
                const policy::RegionRule& rule) noexcept {
  const Operation& operation = variant.sequence.operations[index];
  if (operation.kind != OperationKind::memset) return Verdict::differs(Reason::different_kind);
  capture::MemsetBytes shadow;
  std::memcpy(&shadow, variant.sequence.bytes_of(operation), sizeof shadow);
  // An executable graph accepts other rows for a one-dimensional memset only (cuGraphExecMemsetNodeSetParams).
  const bool is_row = call.bytes.pitch == 0 && shadow.pitch == 0 && call.bytes.element_size == shadow.element_size;
  const bool same_shape = call.bytes.width == shadow.width && call.bytes.height == shadow.height &&
                          call.bytes.pitch == shadow.pitch && call.bytes.element_size == shadow.element_size;
  if (!same_shape && (!is_row || rule.strict_configuration || call.bytes.width == 0)) {
    return Verdict::differs(Reason::different_configuration);
  }
  // Nor does it accept another address for several rows.
  const bool must_equal = rule.strict_parameters || shadow.pitch != 0;
  if (must_equal && !(shadow == call.bytes)) return Verdict::differs(Reason::different_parameters);
  return {};
}

Verdict compare(const CopyCall& call, const Variant& variant, std::uint32_t index,
                const policy::RegionRule& rule) noexcept {
  const Operation& operation = variant.sequence.operations[index];
  if (operation.kind != OperationKind::copy) return Verdict::differs(Reason::different_kind);
  capture::CopyBytes shadow;
  std::memcpy(&shadow, variant.sequence.bytes_of(operation), sizeof shadow);
  if (call.bytes.bytes != shadow.bytes && (rule.strict_configuration || call.bytes.bytes == 0)) {
    return Verdict::differs(Reason::different_configuration);
  }
  if (rule.strict_parameters && !(shadow == call.bytes)) return Verdict::differs(Reason::different_parameters);
  return {};
}

bool same_bytes(const KernelCall& call, const Variant& variant, std::uint32_t index) noexcept {
  const Operation& operation = variant.sequence.operations[index];
  const capture::Layout& layout = operation.function->layout;
  Source source;
  if (!find_source(call, layout, source)) return false;
  return first_changed(source, layout, 0, variant.sequence.bytes_of(operation)) == layout.parameters.size();
}

bool same_bytes(const MemsetCall& call, const Variant& variant, std::uint32_t index) noexcept {
  return same_value(call.bytes, variant, index);
}

bool same_bytes(const CopyCall& call, const Variant& variant, std::uint32_t index) noexcept {
  return same_value(call.bytes, variant, index);
}

unsigned likeness(const KernelCall& call, const Variant& variant, std::uint32_t index) noexcept {
  const Operation& operation = variant.sequence.operations[index];
  const capture::Layout& layout = operation.function->layout;
  Source source;
  if (!find_source(call, layout, source)) return 0;
  const std::byte* shadow = variant.sequence.bytes_of(operation);
  std::size_t number = 0;
  Addresses found;
  std::uint64_t equal = 0;
  for (const capture::Parameter& parameter : layout.parameters) {
    const void* value = source.at(number++, parameter);
    if (value == nullptr) return 0;
    compare_addresses(shadow + parameter.offset, value, parameter.size, 0, found);
    if (equal_value(shadow + parameter.offset, value, parameter.size)) equal += parameter.size;
  }
  if (found.all != 0) return 100 * found.equal / found.all;
  return layout.bytes == 0 ? 100 : static_cast<unsigned>(100 * equal / layout.bytes);
}

unsigned likeness(const MemsetCall& call, const Variant& variant, std::uint32_t index) noexcept {
  return 100 * addresses(value_of<capture::MemsetBytes>(variant.sequence, index), call.bytes).equal / 8;
}

unsigned likeness(const CopyCall& call, const Variant& variant, std::uint32_t index) noexcept {
  return 100 * addresses(value_of<capture::CopyBytes>(variant.sequence, index), call.bytes).equal / 16;
}

bool absorb(const KernelCall& call, Variant& variant, std::uint32_t index, std::uint32_t& moved) noexcept {
  Operation& operation = variant.sequence.operations[index];
  const capture::Layout& layout = operation.function->layout;
  Source source;
  if (!find_source(call, layout, source)) return false;
  bool changed = false;
  if (!(call.grid == operation.grid && call.block == operation.block && call.shared == operation.shared)) {
    operation.grid = call.grid;
    operation.block = call.block;
    operation.shared = call.shared;
    changed = true;
  }
  Addresses addresses;
  std::byte* const shadow = variant.sequence.bytes_of(operation);
  bool complete = true;
  for (std::size_t number = 0;; ++number) {
    number = first_changed(source, layout, number, shadow);
    if (number == layout.parameters.size()) break;
    const capture::Parameter& parameter = layout.parameters[number];
    const void* const value = source.at(number, parameter);
    complete = value != nullptr;
    if (!complete) break;
    if (planted_bug == PlantedBug::skipped_word && number == 3) continue;
    const std::uint64_t place = operation.first_byte + parameter.offset;
    variant.addresses ^= compare_addresses(shadow + parameter.offset, value, parameter.size, place, addresses);
    std::memcpy(shadow + parameter.offset, value, parameter.size);
    changed = true;
  }
  if (changed) variant.mark_changed(index);
  moved = addresses.all - addresses.equal;
  return complete;
}

bool absorb(const MemsetCall& call, Variant& variant, std::uint32_t index, std::uint32_t& moved) noexcept {
  const Addresses before = addresses(value_of<capture::MemsetBytes>(variant.sequence, index), call.bytes);
  absorb_value(call.bytes, variant, index);
  moved = before.all - before.equal;
  return true;
}

bool absorb(const CopyCall& call, Variant& variant, std::uint32_t index, std::uint32_t& moved) noexcept {
  const Addresses before = addresses(value_of<capture::CopyBytes>(variant.sequence, index), call.bytes);
  absorb_value(call.bytes, variant, index);
  moved = before.all - before.equal;
  return true;
}

bool describe(const KernelCall& call, const capture::Function* function, Operation& operation,
              std::vector<std::byte>& bytes, std::vector<capture::Attribute>& attributes, Reason& reason) {
  Source source;
  reason = Reason::unknown_layout;
  if (function == nullptr || !function->layout_known) return false;
  reason = Reason::eager_operation;
  if (function->eager) return false;
  reason = Reason::unknown_attribute;
  if (!canonical_attributes(call, attributes)) return false;
  reason = Reason::unholdable_operation;
  if (!find_source(call, function->layout, source)) return false;
  operation = {};
  operation.function = function;
  operation.grid = call.grid;
  operation.block = call.block;
  operation.shared = call.shared;
  bytes.assign(function->layout.bytes, std::byte{0});
  std::size_t number = 0;
  for (const capture::Parameter& parameter : function->layout.parameters) {
    const void* value = source.at(number++, parameter);
    if (value == nullptr) return false;
    std::memcpy(bytes.data() + parameter.offset, value, parameter.size);
  }
  return true;
}

bool describe(const MemsetCall& call, const capture::Function*, Operation& operation, std::vector<std::byte>& bytes,
              std::vector<capture::Attribute>& attributes, Reason& reason) {
  attributes.clear();
  reason = Reason::unholdable_operation;
  describe_value(call.bytes, OperationKind::memset, operation, bytes);
  return call.bytes.width != 0 && call.bytes.height != 0;
}

bool describe(const CopyCall& call, const capture::Function*, Operation& operation, std::vector<std::byte>& bytes,
              std::vector<capture::Attribute>& attributes, Reason& reason) {
  attributes.clear();
  reason = Reason::unholdable_operation;
  describe_value(call.bytes, OperationKind::copy, operation, bytes);
  return call.bytes.bytes != 0;
}

}  // namespace refrain::replay
