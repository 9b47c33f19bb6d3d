// From before cuInit to the end of the process.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "interpose/refrain.h"
#include "tests/interpose/probe.h"

namespace refrain::tests {
namespace {

using Launch = int (*)(long, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, long, long, long);

void initialise() { std::printf("init %d\n", call_with_zeros(find("cuInit"))); }

int launch(long function) { return find_as<Launch>("cuLaunchKernel")(function, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10); }

/// The statistics by the way that refrain.h tells; false when Refrain is not loaded or off.
bool read_statistics(refrain_statistics& statistics) {
  auto read = reinterpret_cast<decltype(&refrain_stats)>(dlsym(RTLD_DEFAULT, "refrain_stats"));
  statistics.size = sizeof statistics;
  return read != nullptr && read(&statistics) == 0;
}

}  // namespace

/// Calls before cuInit and without a context answer as the driver does.
int before_initialisation() {
  std::printf("synchronize %d\n", call_with_zeros(find("cuCtxSynchronize")));
  std::printf("launch %d\n", launch(1));
  std::printf("free %d\n", call_with_zeros(find("cuMemFree_v2")));
  initialise();
  std::printf("synchronize %d\n", call_with_zeros(find("cuCtxSynchronize")));
  std::printf("launch %d\n", launch(1));
  return 0;
}

/// Arguments in registers and on the stack, and out-parameters, go through; NULL out-parameters stay untouched.
int arguments_arrive() {
  initialise();
  std::printf("launch %d\n", launch(1000));
  using Create = int (*)(void**, void*, unsigned, int);
  void* context = nullptr;
  std::printf("create %d", find_as<Create>("cuCtxCreate_v4")(&context, &context, 4, 2));
  std::printf(" %p\n", context);
  std::printf("create %d\n", find_as<Create>("cuCtxCreate_v4")(nullptr, nullptr, 0, 0));
  using Elapsed = int (*)(float*, void*, void*);
  float milliseconds = 0;
  std::printf("elapsed %d", find_as<Elapsed>("cuEventElapsedTime")(&milliseconds, nullptr, nullptr));
  std::printf(" %.1f\n", static_cast<double>(milliseconds));
  std::printf("elapsed %d\n", find_as<Elapsed>("cuEventElapsedTime")(nullptr, nullptr, nullptr));
  std::printf("calls back %d\n", call_with_zeros(find("cuEventSynchronize")));
  return 0;
}

/// The process ends in a given way, with calls made before.
int end_by(const char* how) {
  initialise();
  launch(1);
  std::fflush(stdout);
  const std::string way = how;
  if (way == "exit") std::exit(21);
  if (way == "_exit") _exit(22);
  if (way == "quick_exit") std::quick_exit(23);
  if (way == "abort") std::abort();
  if (way == "signal") std::raise(SIGTERM);
  if (way == "thread") {
    // Threads are inside a hook or about to be while the process ends.
    for (int i = 0; i < 4; ++i) {
      std::thread([] {
        for (;;) launch(1);
      }).detach();
    }
    usleep(20000);
    std::exit(25);
  }
  return 24;
}

/// The child of a fork calls the driver and ends by exit; so does its parent.
int fork_child() {
  initialise();
  launch(1);
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    refrain_statistics statistics{};
    std::printf("child launch %d active %d\n", launch(2), read_statistics(statistics));
    std::exit(31);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("child ended with %d, parent launch %d\n", WEXITSTATUS(status), launch(3));
  return 0;
}

/// Threads that used the driver end, also while other destructors of theirs use it.
int threads_end() {
  initialise();
  static pthread_key_t key;
  pthread_key_create(&key, [](void* value) { launch(reinterpret_cast<long>(value)); });
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([i] {
      pthread_setspecific(key, reinterpret_cast<void*>(static_cast<long>(i + 1)));
      for (int j = 0; j < 100; ++j) launch(j);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("ended\n");
  refrain_statistics statistics{};
  if (read_statistics(statistics))
    std::fprintf(stderr, "seen %lu\n", static_cast<unsigned long>(statistics.launches_seen));
  return 0;
}

/// The library is opened again by the path that NVTX gets: it must be the one that is loaded already.
int load_twice() {
  initialise();
  const char* path = std::getenv("NVTX_INJECTION64_PATH");
  if (path == nullptr) return 6;
  void* again = dlopen(path, RTLD_LAZY);
  std::printf("opened %d initialiser %d\n", again != nullptr, dlsym(again, "InitializeInjectionNvtx2") != nullptr);
  std::set<std::string> files;
  std::ifstream maps("/proc/self/maps");
  int code = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("librefrain") != std::string::npos && line.find("r-xp") != std::string::npos) ++code;
  }
  std::printf("loaded %d, statistics by it %d\n", code,
              dlsym(again, "refrain_stats") == dlsym(RTLD_DEFAULT, "refrain_stats"));
  return 0;
}

/// More unknown functions than there are places: the rest gets the driver's pointer, and every call still works.
int exhaust_trampolines() {
  initialise();
  int right = 0, hooks = 0;
  for (int i = 100; i < 400; ++i) {
    void* function = find(("cuFuture" + std::to_string(i)).c_str());
    right += call_with_zeros(function) == 30000 + i ? 1 : 0;
    hooks += std::string(kind_of(function)) == "hook" ? 1 : 0;
  }
  std::printf("right %d\n", right);
  std::fprintf(stderr, "hooks %d\n", hooks);
  return 0;
}

/// Launches are counted from cuInit on, whoever makes them.
int statistics() {
  refrain_statistics before{}, after{};
  std::printf("before cuInit %d\n", read_statistics(before));
  initialise();
  const bool active = read_statistics(before);
  for (int i = 0; i < 10; ++i) launch(i);
  if (active && read_statistics(after)) {
    std::printf("active, launches %lu, calls add up %d\n",
                static_cast<unsigned long>(after.launches_seen - before.launches_seen),
                after.calls == after.held + after.passed);
    refrain_statistics small{};
    auto read = reinterpret_cast<decltype(&refrain_stats)>(dlsym(RTLD_DEFAULT, "refrain_stats"));
    small.size = 4;
    std::printf("too small %d none %d", read(&small), read(nullptr));
    small.size = 16;
    const int result = read(&small);
    std::printf(" a part %d %zu %lu %lu\n", result, small.size,
                static_cast<unsigned long>(small.launches_seen - after.launches_seen),
                static_cast<unsigned long>(small.calls));
  } else {
    std::printf("not active\n");
  }
  return 0;
}

/// Pauses nest, begin before cuInit, and a resume too many is ignored.
int pauses() {
  auto pause = reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "refrain_pause"));
  auto resume = reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "refrain_resume"));
  if (pause == nullptr || resume == nullptr) return 5;
  resume();
  pause();
  initialise();
  std::printf("%d ", launch(1));
  pause();
  std::printf("%d ", launch(1));
  resume();
  resume();
  resume();
  std::printf("%d\n", launch(1));
  return 0;
}

}  // namespace refrain::tests
