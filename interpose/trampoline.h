// Ways in for driver functions that the list does not know: graphics interoperability, and what a newer driver brings.
//
// A trampoline issues everything that is held and jumps to the real function with all argument registers as they were.
//
// Owns:    a fixed number of them, given out once each and never taken back.
// Threads: any; no lock.
#pragma once

namespace refrain::interpose {

/// A way in to `function`, the same one for the same function. When all are given away: `function` itself, and from
/// then on nothing is held, because calls that are not seen could observe it.
void* trampoline_for(void* function) noexcept;

}  // namespace refrain::interpose
