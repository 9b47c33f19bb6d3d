// The operations of one pass of a region, with the bytes and attributes they came with.
//
// Owns:    its operations, their bytes (the shadow), attributes, and a share of every function they use.
// Threads: none of its own; the variant that holds it says who may touch it.
// Fails:   append() may throw std::bad_alloc; callers turn that into "not recorded".
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "capture/log_record.h"
#include "capture/operation.h"

namespace refrain::capture {

/// Where a sequence is cut, before operation `before`, and why.
struct Break {
  std::uint32_t before = 0;
  const char* cause = "";  ///< static text: a driver function or a reason word
};

class Sequence {
 public:
  std::vector<Operation> operations;
  std::vector<std::byte> bytes;  ///< the shadow: what the last call of each operation asked for
  std::vector<Attribute> attributes;
  std::vector<Break> breaks;
  std::vector<std::shared_ptr<const Function>> functions;

  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(operations.size()); }
  std::byte* bytes_of(const Operation& operation) noexcept { return bytes.data() + operation.first_byte; }
  const std::byte* bytes_of(const Operation& operation) const noexcept { return bytes.data() + operation.first_byte; }
  std::span<const Attribute> attributes_of(const Operation& operation) const noexcept {
    return {attributes.data() + operation.first_attribute, operation.attribute_count};
  }

  /// Appends `operation` with its bytes and attributes; fills in the operation's positions.
  /// Kernel bytes are aligned to 16, so that every parameter keeps the alignment of its offset.
  void append(Operation operation, std::span<const std::byte> operation_bytes,
              std::span<const Attribute> operation_attributes);
  /// Notes a cut before the next operation. Cuts at the same place keep the first cause.
  void add_break(const char* cause);
  /// A copy of the first `count` operations, as they are now.
  Sequence prefix(std::uint32_t count) const;
  /// Gives back the room for more operations.
  void trim() noexcept;
  /// Host memory in bytes.
  std::size_t memory() const noexcept;
  /// Hash of the structure (kind, function, attributes, stream role) of the first `count` operations: sequences that
  /// can be told apart by structure before `count` differ. Bytes and configuration do not count: they are patched.
  std::uint64_t structure(std::uint32_t count) const noexcept { return count != 0 ? structure_[count - 1] : seed; }

 private:
  // An empty sequence owns no memory: passes are made and emptied where nothing may be thrown.
  std::vector<std::uint64_t> structure_;
  static constexpr std::uint64_t seed = 0xcbf29ce484222325;
};

/// The log's view of a sequence.
SequenceRecord describe(const Sequence& sequence, std::string region, std::uint32_t variant, std::uint64_t pass);

}  // namespace refrain::capture
