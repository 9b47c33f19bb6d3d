// A program that would use the driver if somebody loaded it: weak references, and no libcuda anywhere.
#include <cstdio>

extern "C" {
[[gnu::weak]] int cuInit(unsigned);
[[gnu::weak]] int cuMemFree_v2(long);
}

int main() {
  if (cuInit == nullptr || cuMemFree_v2 == nullptr) {
    std::puts("no driver");
    return 0;
  }
  std::printf("%d %d\n", cuInit(0), cuMemFree_v2(0));
  return 0;
}
