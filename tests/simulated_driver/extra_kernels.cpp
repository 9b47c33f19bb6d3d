// A library of kernels for REFRAIN_SIM_KERNELS: a host version that the test program itself does not have.
#include "tests/simulated_driver/kernels.h"

extern "C" __attribute__((visibility("default"))) void refrain_sim_register(
    refrain::tests::simulated::Registry* registry);

void refrain_sim_register(refrain::tests::simulated::Registry* registry) {
  registry->register_kernel("unheard_of", [](const refrain::tests::simulated::KernelContext& kernel) {
    kernel.store(kernel.parameter<uint64_t>(0), 4711u);
  });
}
