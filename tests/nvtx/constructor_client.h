// A shared object whose constructor uses NVTX, and so under the dynamic loader's lock.
#pragma once

#include <atomic>

namespace refrain::tests {

struct ConstructorGate {
  std::atomic<bool> inside{false};   ///< the constructor runs
  std::atomic<bool> proceed{false};  ///< the constructor may use NVTX
  int level = -3;                    ///< what its push returned
};

}  // namespace refrain::tests

/// The program's. The object finds it by the loader, as nobody can hand it over before its constructor runs.
extern "C" [[gnu::visibility("default")]] refrain::tests::ConstructorGate* constructor_gate();
