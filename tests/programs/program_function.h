// A driver function as the test programs call it: the simulated driver is told which calls are the program's own, when
// it counts calls or lets some fail (tests/simulated_driver/program_call.h). Elsewhere a call is one branch more.
#pragma once

#include <cuda.h>
#include <dlfcn.h>

#include <cstdlib>

#include "tests/simulated_driver/program_call.h"

namespace refrain::tests {

using StateCall = decltype(&refrain_sim_program_call);

/// How to tell it, or nullptr when nobody asks. Constant after the first call.
inline StateCall state_call(void* library = nullptr) {
  static const auto function = std::getenv("REFRAIN_SIM_CALLS") != nullptr || std::getenv("REFRAIN_SIM_FAIL") != nullptr
                                   ? reinterpret_cast<StateCall>(dlsym(library, "refrain_sim_program_call"))
                                   : nullptr;
  return function;
}

template <class Pointer>
class ProgramFunction;

template <class... Arguments>
class ProgramFunction<CUresult (*)(Arguments...)> {
 public:
  using Pointer = CUresult (*)(Arguments...);

  CUresult operator()(Arguments... arguments) const {
    const StateCall state = state_call();
    if (state == nullptr) return pointer(arguments...);
    ProgramCall call{name, __atomic_add_fetch(&calls_, 1, __ATOMIC_RELAXED), ArgumentWords::of(arguments...)};
    ProgramCall* const outer = state(&call);
    const CUresult result = pointer(arguments...);
    state(outer);
    return result;
  }

  Pointer pointer = nullptr;
  const char* name = "";

 private:
  mutable std::uint64_t calls_ = 0;
};

}  // namespace refrain::tests
