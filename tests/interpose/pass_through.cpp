// What a hook costs a call that it does not look at, and one that it orders: nanoseconds a call, printed.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace {

using Launch = int (*)(long, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, long, long, long);
using Free = int (*)(long);

template <typename Call>
double nanoseconds(Call call) {
  constexpr int rounds = 9, calls = 1'000'000;
  double best = 1e9;
  for (int round = 0; round < rounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) call();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count() / calls);
  }
  return best;
}

template <typename Function>
Function real(void* driver, const char* name) {
  auto address = reinterpret_cast<void* (*)(const char*)>(dlsym(driver, "fake_address"));  // past every hook
  return reinterpret_cast<Function>(address(name));
}

}  // namespace

int main() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) return 2;
  auto launch = reinterpret_cast<Launch>(dlsym(driver, "cuLaunchKernel"));
  auto release = reinterpret_cast<Free>(dlsym(driver, "cuMemFree_v2"));
  auto real_launch = real<Launch>(driver, "cuLaunchKernel");
  auto real_release = real<Free>(driver, "cuMemFree_v2");
  auto begin = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
  volatile int sink = 0;
  auto measure = [&](const char* when) {
    const double bare = nanoseconds([&] { sink = real_launch(1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0); });
    const double hooked = nanoseconds([&] { sink = launch(1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0); });
    const double bare_free = nanoseconds([&] { sink = real_release(0); });
    const double hooked_free = nanoseconds([&] { sink = release(0); });
    std::printf("%-14s launch %5.1f ns bare, %5.1f ns hooked (+%.1f); free %5.1f ns bare, %5.1f ns hooked (+%.1f)\n",
                when, bare, hooked, hooked - bare, bare_free, hooked_free, hooked_free - bare_free);
  };
  measure("before cuInit:");
  if (begin(0) != 0) return 3;
  measure("after cuInit:");
  return 0;
}
