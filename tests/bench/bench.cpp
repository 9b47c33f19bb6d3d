// Measures what a call costs the host, bare or under Refrain: the same binary, run by scripts/bench.
//
//   bench [rounds]           prints one line a measurement: name, then nanoseconds a call (median over rounds)
//   bench rounds passes      only what passes through: refused launches and a query
//
// Held calls are timed without the one that launches their graph: the policy of scripts/bench makes segments as long as
// the range. `refused` is a launch that the driver refuses at once (grid 0), so that the hook's own cost can be seen.
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tests/programs/driver_api.h"
#include "tests/simulated_driver/kernels.h"

namespace {

constexpr int parameter_counts[] = {1, 8, 20, 60};
constexpr int launches = 256;

std::string kernel_name(int parameters) { return "nothing_" + std::to_string(parameters); }

std::string ptx() {
  std::string text = ".version 7.0\n.target sm_70\n.address_size 64\n";
  for (int count : parameter_counts) {
    text += ".visible .entry " + kernel_name(count) + "(\n";
    for (int index = 0; index < count; ++index) {
      text += "  .param .u64 p" + std::to_string(index) + (index + 1 < count ? ",\n" : "\n");
    }
    text += ")\n{\n  ret;\n}\n";
  }
  return text;
}

double now_ns() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

struct Launch {
  CUfunction function = nullptr;
  std::vector<std::uint64_t> values;
  std::vector<void*> pointers;

  explicit Launch(CUmodule module, int parameters) : values(parameters) {
    check(driver().cuModuleGetFunction(&function, module, kernel_name(parameters).c_str()), "cuModuleGetFunction");
    for (std::uint64_t& value : values) pointers.push_back(&value);
  }
  CUresult operator()(unsigned grid) {
    return driver().cuLaunchKernel(function, grid, 1, 1, 32, 1, 1, 0, nullptr, pointers.data(), nullptr);
  }
};

void print(const char* name, int parameters, const std::vector<double>& values) {
  std::printf("%s %d %.2f\n", name, parameters, median(values));
}

// One range of `launches` launches; all but the last timed. `changed`: how many of a launch's words move each round.
void measure_range(const char* name, Launch& launch, int rounds, int changed) {
  std::vector<double> each, whole;
  for (int round = 0; round < rounds; ++round) {
    for (int word = 0; word < changed; ++word) ++launch.values[static_cast<std::size_t>(word)];
    const std::string range = name;
    nvtxRangePushA(range.c_str());
    const double start = now_ns();
    for (int index = 0; index + 1 < launches; ++index) launch(1);
    const double held = now_ns();
    launch(1);
    const double end = now_ns();
    nvtxRangePop();
    each.push_back((held - start) / (launches - 1));
    whole.push_back((end - start) / launches);
    check(driver().cuCtxSynchronize(), "cuCtxSynchronize");
  }
  const int parameters = static_cast<int>(launch.values.size());
  print((std::string(name) + ".call").c_str(), parameters, each);
  print((std::string(name) + ".with_launch").c_str(), parameters, whole);
}

// A training step without ranges: a sequence of kernels in an order that repeats only from step to step, then a wait.
// Each launch has addresses of its own; they are the same in each `period`-th step, 0: never.
void measure_automatic(const char* name, std::vector<Launch>& kernels, int rounds, std::uint64_t period) {
  constexpr std::uint64_t steps_before = 32, operations = 768, base = 0x7f0000000000;
  constexpr std::uint64_t large = 0x100000;
  std::vector<double> each;
  for (std::uint64_t step = 0; step < steps_before + static_cast<std::uint64_t>(rounds); ++step) {
    const std::uint64_t place = period != 0 ? step % period : step;
    std::uint64_t order = 1;
    const double start = now_ns();
    for (std::uint64_t index = 0; index < operations; ++index) {
      order = order * 6364136223846793005u + 1442695040888963407u;
      Launch& launch = kernels[order >> 62];
      launch.values[0] = base + (place * operations + index) * large;
      launch.values.back() = launch.values[0] + large / 2;
      launch(1);
    }
    if (step >= steps_before) each.push_back((now_ns() - start) / operations);
    check(driver().cuCtxSynchronize(), "cuCtxSynchronize");
  }
  print(name, static_cast<int>(period), each);
}

void measure_refused(Launch& launch, int rounds) {
  std::vector<double> each;
  for (int round = 0; round < rounds; ++round) {
    const double start = now_ns();
    for (int index = 0; index < launches; ++index) launch(0);
    each.push_back((now_ns() - start) / launches);
  }
  print("refused", static_cast<int>(launch.values.size()), each);
}

void measure_query(int rounds) {
  std::vector<double> each;
  CUstreamCaptureStatus status{};
  for (int round = 0; round < rounds; ++round) {
    const double start = now_ns();
    for (int index = 0; index < launches; ++index) driver().cuStreamIsCapturing(nullptr, &status);
    each.push_back((now_ns() - start) / launches);
  }
  print("query", 0, each);
}

void measure_passes(CUmodule module, int rounds) {
  for (int parameters : parameter_counts) {
    Launch launch(module, parameters);
    launch(1);
    check(driver().cuCtxSynchronize(), "cuCtxSynchronize");
    measure_refused(launch, rounds);
  }
  measure_query(rounds);
}

void measure_nvtx(const char* range, int rounds) {
  std::vector<double> each;
  for (int round = 0; round < rounds; ++round) {
    const double start = now_ns();
    for (int index = 0; index < launches; ++index) {
      nvtxRangePushA(range);
      nvtxRangePop();
    }
    each.push_back((now_ns() - start) / launches);
  }
  print(range, 0, each);
}

void nothing(const refrain::tests::simulated::KernelContext&) {}

}  // namespace

extern "C" __attribute__((visibility("default"))) void refrain_sim_register(
    refrain::tests::simulated::Registry* registry);
extern "C" void refrain_sim_register(refrain::tests::simulated::Registry* registry) {
  for (int count : parameter_counts) registry->register_kernel(kernel_name(count).c_str(), nothing);
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(8, std::atoi(argv[1])) : 200;
  const DriverApi& cuda = driver();
  check(cuda.cuInit(0), "cuInit");
  CUdevice device = 0;
  CUcontext context = nullptr;
  check(cuda.cuDeviceGet(&device, 0), "cuDeviceGet");
  check(cuda.cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  check(cuda.cuCtxSetCurrent(context), "cuCtxSetCurrent");
  CUmodule module = nullptr;
  const std::string text = ptx();
  check(cuda.cuModuleLoadData(&module, text.c_str()), "cuModuleLoadData");
  if (argc > 2 && std::strcmp(argv[2], "passes") == 0) {
    measure_passes(module, rounds);
    return 0;
  }
  for (int parameters : parameter_counts) {
    Launch launch(module, parameters);
    launch(1);
    check(cuda.cuCtxSynchronize(), "cuCtxSynchronize");
    measure_range("eager", launch, rounds, 0);    // the policy keeps this range eager
    measure_range("observe", launch, rounds, 0);  // recorded once, then compared and passed
    const std::string held = "hold_" + std::to_string(parameters);
    measure_range(held.c_str(), launch, rounds, 0);
    const std::string patched = "patch_" + std::to_string(parameters);
    measure_range(patched.c_str(), launch, rounds, 1);
    const std::string segments = "segments_" + std::to_string(parameters);
    measure_range(segments.c_str(), launch, rounds, 0);
  }
  // The library of the bound begins to drop launches here (drop.cpp).
  if (void* function = dlsym(RTLD_DEFAULT, "refrain_drop")) reinterpret_cast<void (*)(int)>(function)(1);
  std::vector<Launch> kernels;
  kernels.reserve(4);
  for (int parameters : {1, 8, 8, 20}) kernels.emplace_back(module, parameters);
  measure_automatic("automatic", kernels, rounds, 1);
  measure_automatic("automatic", kernels, rounds, 2);
  measure_automatic("automatic", kernels, rounds, 0);
  measure_nvtx("unmatched", rounds);
  measure_nvtx("hold_empty", rounds);
  return 0;
}
