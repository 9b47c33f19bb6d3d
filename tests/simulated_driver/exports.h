// The exported functions of the simulated driver, by their index in the list of entry points.
#pragma once

namespace refrain::tests::simulated {

/// Address of the exported function, the same that dlsym gives for its name on this library.
void* exported_address(unsigned index);

/// Whether the simulation models it, or only answers CUDA_ERROR_NOT_SUPPORTED.
bool has_implementation(unsigned index);

}  // namespace refrain::tests::simulated
