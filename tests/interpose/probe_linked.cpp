// A program that the loader binds to libcuda, as Triton's launchers and many C++ programs are.
#include <dlfcn.h>

#include <cstdio>

#include "interpose/refrain.h"

extern "C" {
int cuInit(unsigned);
int cuLaunchKernel(long, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, long, long, long);
int cuMemFree_v2(long);
int cuDeviceGet(int*, int);
}

int main() {
  int device = 7;
  std::printf("%d %d\n", cuDeviceGet(&device, 0), device);
  std::printf("%d\n", cuInit(0));
  std::printf("%d %d\n", cuDeviceGet(&device, 3), device);
  std::printf("%d %d\n", cuLaunchKernel(1000, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10), cuMemFree_v2(0));
  std::printf("%d\n", reinterpret_cast<int (*)(long)>(dlsym(RTLD_DEFAULT, "cuMemFree_v2"))(0));
  refrain_statistics statistics{};
  statistics.size = sizeof statistics;
  auto read = reinterpret_cast<decltype(&refrain_stats)>(dlsym(RTLD_DEFAULT, "refrain_stats"));
  if (read != nullptr && read(&statistics) == 0) {
    std::fprintf(stderr, "seen %lu\n", static_cast<unsigned long>(statistics.launches_seen));
  }
  return 0;
}
