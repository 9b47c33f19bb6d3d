// The library of the bound: steps in its three arms, and what the device was made to do in each. Exit code 0: eager and
// replayed steps launch everything, steps of the bound nothing, and only replayed ones are counted as such.
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>

#include <cstdio>

#include "interpose/refrain.h"
#include "tests/programs/driver_api.h"
#include "tests/simulated_driver/kernels.h"

namespace {

constexpr unsigned launches = 24, steps = 3;
constexpr char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry count_up(.param .u64 counter)\n{\n"
    "  .reg .b64 %rd<3>;\n  ld.param.u64 %rd1, [counter];\n  cvta.to.global.u64 %rd2, %rd1;\n"
    "  red.global.add.u64 [%rd2], 1;\n  ret;\n}\n";

template <class Function>
Function of_library(const char* name) {
  void* const function = dlsym(RTLD_DEFAULT, name);
  if (function == nullptr) {
    std::fprintf(stderr, "bound_arms: no %s; preload librefrain_bound.so\n", name);
    std::exit(2);
  }
  return reinterpret_cast<Function>(function);
}

struct Job {
  CUfunction function = nullptr;
  CUdeviceptr counter = 0;

  Job() {
    CUmodule module = nullptr;
    check(driver().cuModuleLoadData(&module, ptx), "cuModuleLoadData");
    check(driver().cuModuleGetFunction(&function, module, "count_up"), "cuModuleGetFunction");
    check(driver().cuMemAlloc(&counter, 8), "cuMemAlloc");
    const unsigned long long zero = 0;
    check(driver().cuMemcpyHtoD(counter, &zero, 8), "cuMemcpyHtoD");
  }
  void run() const {
    for (unsigned step = 0; step < steps; ++step) {
      nvtxRangePushA("step");
      for (unsigned launch = 0; launch < launches; ++launch) {
        CUdeviceptr argument = counter;
        void* parameters[] = {&argument};
        check(driver().cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), "cuLaunchKernel");
      }
      nvtxRangePop();
      check(driver().cuCtxSynchronize(), "cuCtxSynchronize");
    }
  }
  unsigned long long count() const {
    unsigned long long value = 0;
    check(driver().cuMemcpyDtoH(&value, counter, 8), "cuMemcpyDtoH");
    return value;
  }
};

}  // namespace

extern "C" __attribute__((visibility("default"))) void refrain_sim_register(
    refrain::tests::simulated::Registry* registry);

extern "C" void refrain_sim_register(refrain::tests::simulated::Registry* registry) {
  registry->register_kernel("count_up", [](const refrain::tests::simulated::KernelContext& kernel) {
    ++kernel.span<unsigned long long>(kernel.parameter<std::uint64_t>(0), 1)[0];
  });
}

int main() {
  const auto pause = of_library<void (*)()>("refrain_pause"), resume = of_library<void (*)()>("refrain_resume");
  const auto drop = of_library<void (*)(int)>("refrain_drop");
  const auto statistics = of_library<int (*)(refrain_statistics*)>("refrain_stats");
  check(driver().cuInit(0), "cuInit");
  CUdevice device = 0;
  CUcontext context = nullptr;
  check(driver().cuDeviceGet(&device, 0), "cuDeviceGet");
  check(driver().cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  check(driver().cuCtxSetCurrent(context), "cuCtxSetCurrent");
  const Job job;
  job.run();

  int failed = 0;
  for (const char* arm : {"eager", "replay", "bound", "replay", "eager", "bound", "bound", "replay"}) {
    const bool replays = arm[0] == 'r', drops = arm[0] == 'b';
    refrain_statistics before{}, after{};
    before.size = after.size = sizeof before;
    const unsigned long long counted = job.count();
    pause();
    drop(drops ? 1 : 0);
    if (replays || drops) resume();
    statistics(&before);
    job.run();
    statistics(&after);
    if (!replays && !drops) resume();
    pause();
    drop(0);
    resume();
    const unsigned long long did = job.count() - counted, replayed = after.replayed - before.replayed;
    const bool right = did == (drops ? 0 : steps * launches) && (drops || replayed == (replays ? steps * launches : 0));
    std::printf("%s: %llu launches, %llu replayed%s\n", arm, did, replayed, right ? "" : ": WRONG");
    failed += !right;
  }
  return failed == 0 ? 0 : 1;
}
