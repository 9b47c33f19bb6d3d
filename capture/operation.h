// What one call asked the device to do, as plain values without any CUDA type.
//
// Owns:  an Operation refers to the Function and to bytes and attributes that its Sequence owns.
// Units: bytes for sizes and offsets; handles and addresses are 64-bit values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace refrain::capture {

enum class OperationKind : std::uint8_t { kernel, memset, copy };

/// The word for a kind in logs and tables.
constexpr const char* to_string(OperationKind kind) noexcept {
  switch (kind) {
    case OperationKind::kernel: return "kernel";
    case OperationKind::memset: return "memset";
    case OperationKind::copy: return "copy";
  }
  return "unknown";
}

struct Dimensions {
  std::uint32_t x = 1, y = 1, z = 1;
  friend constexpr bool operator==(const Dimensions&, const Dimensions&) = default;
};

/// Where one kernel parameter lies in the packed parameter block, as the driver tells it.
struct Parameter {
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
};

/// The packed parameter block of a kernel.
struct Layout {
  std::vector<Parameter> parameters;
  std::uint32_t bytes = 0;  ///< offset + size of the last parameter: tail padding is not part of the block
};

/// One launch attribute, its value cut to the attribute's own size and the rest zero.
struct Attribute {
  std::uint32_t id = 0;
  std::uint32_t size = 0;
  std::array<std::byte, 64> value{};
};

/// A kernel function as the program's handle names it. Constant once published, until its code is unloaded.
struct Function {
  std::uint64_t handle = 0;       ///< CUfunction, or CUkernel cast to it
  std::uint64_t owner = 0;        ///< module or library that holds the code; 0 when unknown
  bool is_kernel_handle = false;  ///< the handle is a CUkernel
  bool layout_known = false;
  bool eager = false;                    ///< a policy rule keeps it eager
  std::uint32_t max_threads = 0;         ///< per block; 0 when unknown
  std::uint32_t max_dynamic_shared = 0;  ///< bytes that a launch may ask for
  Layout layout;
  std::string name;  ///< mangled, as the driver gives it; empty when unknown
};

/// The shadow bytes of a memset: what the last call asked for.
struct MemsetBytes {
  std::uint64_t destination = 0;
  std::uint64_t pitch = 0;   ///< bytes between rows; 0 for one row
  std::uint64_t width = 0;   ///< elements in a row
  std::uint64_t height = 0;  ///< rows
  std::uint32_t value = 0;
  std::uint32_t element_size = 0;  ///< 1, 2 or 4 bytes
  friend constexpr bool operator==(const MemsetBytes&, const MemsetBytes&) = default;
};

/// The shadow bytes of a device-to-device copy of one row.
struct CopyBytes {
  std::uint64_t destination = 0;
  std::uint64_t source = 0;
  std::uint64_t bytes = 0;
  friend constexpr bool operator==(const CopyBytes&, const CopyBytes&) = default;
};

/// One recorded operation. Its bytes are at `sequence.bytes[first_byte]`, its attributes at
/// `sequence.attributes[first_attribute]`.
struct Operation {
  OperationKind kind = OperationKind::kernel;
  std::uint8_t attribute_count = 0;
  std::uint16_t role = 0;    ///< which of the sequence's streams it came on: 0 is the first one seen
  std::uint32_t shared = 0;  ///< dynamic shared memory in bytes
  Dimensions grid, block;
  const Function* function = nullptr;  ///< kernels only
  std::uint32_t first_byte = 0;
  std::uint32_t byte_count = 0;
  std::uint32_t first_attribute = 0;
};

}  // namespace refrain::capture
