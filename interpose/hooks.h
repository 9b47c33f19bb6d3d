// One hook for every hooked entry point, all of one shape.
//
// Threads: any. A hook takes no lock of its own; the engine's are not held while the program's own call runs.
// Fails:   a hook returns what the program's own call returns.
#pragma once

#include "interpose/entry_points.h"

/// The hooks, in the shape of the table of real functions; nullptr where an entry point is not hooked. Read by
/// exports.S.
extern "C" [[gnu::visibility("hidden")]] const refrain::replay::Driver refrain_hooks;

namespace refrain::interpose {

/// The hook of a hooked entry point as the address that a program is given.
void* hook_of(EntryPoint entry) noexcept;

}  // namespace refrain::interpose
