// Copies and fills: from the program's description to the value that executes.
#pragma once

#include "tests/simulated_driver/stream.h"
#include "tests/simulated_driver/work.h"

namespace refrain::tests::simulated {

/// The value of a descriptor. Array memory is CUDA_ERROR_NOT_SUPPORTED, memory that the driver does not know
/// INVALID_VALUE.
CUresult prepare_copy(const CUDA_MEMCPY3D& descriptor, Copy* copy);

/// The descriptor of a straight copy between addresses of known kinds.
CUDA_MEMCPY3D linear_copy(CUmemorytype to, uint64_t destination, CUmemorytype from, uint64_t source, size_t bytes);

/// Reads the source now, when it is pageable memory.
void stage(Copy* copy);

/// The value of a fill. `captured`: addresses are not looked at.
CUresult prepare_fill(const CUDA_MEMSET_NODE_PARAMS& parameters, bool captured, Fill* fill);

/// Issues a copy on a stream. `waits`: a call without "Async", which returns when the copy is done if either side is
/// host memory.
CUresult issue_copy(CUstream stream, const CUDA_MEMCPY3D& descriptor, bool waits);
CUresult issue_fill(CUstream stream, const CUDA_MEMSET_NODE_PARAMS& parameters, bool waits);

}  // namespace refrain::tests::simulated
