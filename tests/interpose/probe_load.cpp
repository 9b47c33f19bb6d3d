// The driver is loaded late, again, twice, elsewhere; many threads use it first; a call is cancelled.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "tests/interpose/probe.h"

namespace refrain::tests {
namespace {

using Launch = int (*)(long, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, long, long, long);
using Initialise = int (*)(unsigned);

template <typename Function>
Function in(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

void use(void* library) {
  if (library == nullptr) {
    std::printf("not loaded: %s\n", dlerror());
    return;
  }
  const int begun = in<Initialise>(library, "cuInit")(0);
  int version = 0;
  in<int (*)(int*)>(library, "cuDriverGetVersion")(&version);
  void* found = nullptr;
  const int resolved = in<Resolver>(library, "cuGetProcAddress")("cuLaunchKernel", &found, 12000, 0);
  std::printf("init %d version %d launch %d resolved %d %d\n", begun, version,
              in<Launch>(library, "cuLaunchKernel")(1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0), resolved,
              reinterpret_cast<Launch>(found)(2, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0));
}

/// Something else takes the place where the library was, so that it comes back elsewhere.
void take_place_of(void* address) {
  constexpr std::size_t size = std::size_t{4} << 20;
  mmap(address, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

}  // namespace

/// Loaded and unloaded, before and after the first use.
int close_and_open() {
  for (const int flags : {RTLD_NOW, RTLD_LAZY | RTLD_LOCAL, RTLD_NOW | RTLD_GLOBAL}) {
    void* library = dlopen("libcuda.so.1", flags);
    Dl_info object{};
    void* const inside = dlsym(library, "cudbgFutureDebug");
    dladdr(inside, &object);
    use(library);
    dlclose(library);
    // Refrain keeps the driver that it knows; that it is gone in a bare run shows what is tried here.
    std::fprintf(stderr, "%s\n", dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) == nullptr ? "gone" : "there");
    if (inside != nullptr) take_place_of(object.dli_fbase);
  }
  use(dlopen("libcuda.so.1", RTLD_NOW));
  return 0;
}

/// In a name space of its own, before and beside the usual one.
int other_namespace() {
  void* other = dlmopen(LM_ID_NEWLM, "libcuda.so.1", RTLD_NOW);
  use(other);
  use(dlopen("libcuda.so.1", RTLD_NOW));
  use(other);
  return 0;
}

/// Many times, with every flag.
int open_often() {
  for (int i = 0; i < 50; ++i) {
    constexpr int flags[] = {RTLD_NOW, RTLD_LAZY, RTLD_NOW | RTLD_GLOBAL, RTLD_NOW | RTLD_DEEPBIND,
                             RTLD_LAZY | RTLD_NODELETE};
    void* library = dlopen("libcuda.so.1", flags[i % 5]);
    if (i % 7 == 0) use(library);
    if (i % 2 == 0) dlclose(library);
  }
  use(open_driver());
  return 0;
}

/// Sixteen threads look up, initialise and launch at the same moment.
int first_use_by_many() {
  constexpr int count = 16;
  std::atomic<int> waiting{count};
  std::atomic<long> sum{0}, failures{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      waiting.fetch_sub(1);
      while (waiting.load() > 0) {
      }
      void* library = dlopen("libcuda.so.1", RTLD_NOW);
      failures += in<Initialise>(library, "cuInit")(0);
      auto launch = in<Launch>(library, "cuLaunchKernel");
      for (int j = 0; j < 1000; ++j) sum += launch(i, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("failures %ld sum %ld\n", failures.load(), sum.load());
  return 0;
}

/// Refrain itself, where the test gives its path, comes by dlopen: before the driver, after it, after cuInit.
int late_library() {
  const char* late = std::getenv("LATE_LIBRARY");
  const auto load = [&] {
    if (late != nullptr && dlopen(late, RTLD_NOW | RTLD_GLOBAL) == nullptr) std::printf("%s\n", dlerror());
  };
  const char* moment = std::getenv("LATE_MOMENT");
  const int when = moment != nullptr ? std::atoi(moment) : 0;
  if (when == 0) load();
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (when == 1) load();
  use(library);
  if (when == 2) load();
  use(library);
  use(dlopen("libcuda.so.1", RTLD_NOW));
  return 0;
}

/// A thread is cancelled in a driver call that waits; its other destructors still call the driver.
int cancel_in_a_call() {
  use(open_driver());
  static pthread_key_t key;
  pthread_key_create(&key, [](void*) {
    std::printf("destructor launch %d\n", find_as<Launch>("cuLaunchKernel")(7, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0));
  });
  for (int i = 0; i < 3; ++i) {
    pthread_t thread{};
    pthread_create(
        &thread, nullptr,
        [](void*) -> void* {
          pthread_setspecific(key, &key);
          find_as<Launch>("cuLaunchKernel")(1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0);
          call_with_zeros(find("cuCtxSynchronize"));
          return nullptr;
        },
        nullptr);
    usleep(20000);
    pthread_cancel(thread);
    void* result = nullptr;
    pthread_join(thread, &result);
    std::printf("cancelled %d\n", result == PTHREAD_CANCELED);
  }
  use(open_driver());
  return 0;
}

}  // namespace refrain::tests
