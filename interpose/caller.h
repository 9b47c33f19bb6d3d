// Who asks for a driver function: a part of the program, or one of NVIDIA's own tools, which must get the real
// pointers.
//
// Threads: any. Takes no lock of ours; the loader's for a moment.
#pragma once

namespace refrain::interpose {

/// True when `address` lies in libcuda, in CUPTI, in an injection library of a profiler or a debugger, or in this
/// library.
bool is_exempt_caller(const void* address) noexcept;

}  // namespace refrain::interpose
