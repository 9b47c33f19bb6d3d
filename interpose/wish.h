// Does the user want Refrain in this process? A glance at the environment, before anything else is done.
//
// Threads: any, also before any constructor ran.
#pragma once

namespace refrain::interpose {

/// REFRAIN_POLICY or REFRAIN_MODE is set, and neither REFRAIN_DISABLE nor REFRAIN_MODE=off says no. Decided at the
/// first question and kept: pointers that the program was given cannot be taken back. policy/environment.h reads the
/// rest.
bool is_wanted() noexcept;

}  // namespace refrain::interpose
