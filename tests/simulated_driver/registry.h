// The host versions of kernels that programs registered (kernels.h).
#pragma once

#include "tests/simulated_driver/kernels.h"

namespace refrain::tests::simulated {

/// The body registered under `name`, or null. Looks the program and the libraries of REFRAIN_SIM_KERNELS up at the
/// first call, and the program again when a name is missing, since it may have loaded a library meanwhile.
KernelBody find_kernel_body(const char* name);

}  // namespace refrain::tests::simulated
