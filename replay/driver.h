// The CUDA driver as a table of functions.
//
// Owns:    nothing; the functions belong to libcuda.so.1.
// Threads: filled once, before it is shared; constant after that.
// Fails:   an entry point that this driver does not have is nullptr.
#pragma once

// The raw names of every interface version, instead of the macros that rename one to another.
#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL
#endif
#include <cuda.h>
#include <cudaProfiler.h>

namespace refrain::replay {

/// The real functions, typed by cuda.h, one member for each exported name (`cuMemFree`, `cuMemFree_v2`, …).
struct Driver {
#define ENTRY(name, group) decltype(&::name) name = nullptr;
#include "replay/driver_entry_points.inc"
};

/// Index of an entry point in the list; `entry_point_count` is one past the last.
enum class EntryPoint : unsigned {
#define ENTRY(name, group) name,
#include "replay/driver_entry_points.inc"
};
inline constexpr unsigned entry_point_count = 0
#define ENTRY(name, group) +1
#include "replay/driver_entry_points.inc"
    ;

/// What Refrain does with an entry point; the list says what each group means.
enum class Group : unsigned {
#define GROUP(group, meaning) group,
#include "replay/driver_entry_points.inc"
};

}  // namespace refrain::replay
