// Issues one recorded operation by the driver, exactly as the program asked for it.
#pragma once

#include "capture/sequence.h"
#include "replay/driver.h"

namespace refrain::replay {

/// Pointers to each parameter inside a packed parameter block, as kernelParams wants them.
/// Lives on the stack of whoever issues; a kernel with more parameters than fit has no layout and is never held.
struct ParameterPointers {
  static constexpr std::size_t most = 1024;
  void* pointers[most];
  /// Points at the block that starts at `bytes`.
  void point(const capture::Layout& layout, std::byte* bytes) noexcept {
    std::size_t index = 0;
    for (const capture::Parameter& parameter : layout.parameters) pointers[index++] = bytes + parameter.offset;
  }
};

/// Issues `operation` on `stream` with the bytes that `sequence` has for it now. The stream's context must be current.
CUresult issue(const Driver& driver, capture::Sequence& sequence, const capture::Operation& operation,
               CUstream stream) noexcept;

}  // namespace refrain::replay
