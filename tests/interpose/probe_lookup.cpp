// dlsym, in all the ways in which it is used.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/interpose/probe.h"

namespace refrain::tests {
namespace {

constexpr const char* all_names[] = {
#define ENTRY(name, group) #name,
#include "replay/driver_entry_points.inc"
};

void print_lookup(const char* what, void* handle, const char* name) {
  void* found = dlsym(handle, name);
  const char* error = dlerror();
  std::printf("%s %s: %s, %s\n", what, name, found != nullptr ? "found" : "none",
              error != nullptr ? "error" : "no error");
}

void print_scopes(const char* when) {
  std::printf("-- %s\n", when);
  for (const char* name : {"cuInit", "cuDeviceGet", "cuNoSuchFunction", "strlen"}) {
    print_lookup("default", RTLD_DEFAULT, name);
    print_lookup("next", RTLD_NEXT, name);
    print_lookup("program", dlopen(nullptr, RTLD_NOW), name);
  }
}

using AskDefault = void* (*)(const char*);

/// A library of its own scope asks for `name`: its own dependency has it, and nobody else.
void print_local(const char* library, int flags) {
  void* handle = dlopen(library, RTLD_NOW | flags);
  if (handle == nullptr) {
    std::printf("%s: %s\n", library, dlerror());
    std::exit(7);
  }
  auto by_default = reinterpret_cast<AskDefault>(dlsym(handle, "local_default"));
  auto by_next = reinterpret_cast<AskDefault>(dlsym(handle, "local_next"));
  for (const char* name :
       {"local_only_in_dependency", "local_in_both", "cuCtxSynchronize", "cuNoSuchFunction", "strlen"}) {
    void* found = by_default(name);
    void* next = by_next(name);
    std::printf("local %s: %s %s", name, found != nullptr ? "found" : "none", next != nullptr ? "found" : "none");
    const bool is_ours = std::strncmp(name, "local_", 6) == 0;
    if (is_ours && found != nullptr) std::printf(" %d", reinterpret_cast<int (*)()>(found)());
    if (is_ours && next != nullptr) std::printf(" %d", reinterpret_cast<int (*)()>(next)());
    std::printf("\n");
  }
}

}  // namespace

/// The scopes before the driver is loaded, with it loaded for its user alone, and for all.
int look_up_scopes() {
  print_scopes("no driver");
  print_local("libprobe_local.so", RTLD_LOCAL);
  open_driver();
  print_scopes("driver loaded for its user alone");
  print_local("libprobe_local.so", RTLD_LOCAL);
  dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  print_scopes("driver loaded for all");
  std::printf("%d %d\n", call_with_zeros(dlsym(RTLD_DEFAULT, "cuCtxSynchronize")),
              call_with_zeros(dlsym(RTLD_DEFAULT, "cuMemFree_v2")));
  return 0;
}

/// What dlerror says after look-ups of every kind, and that it says it once.
int look_up_errors() {
  void* driver = open_driver();
  auto state = [](const char* when) {
    const char* error = dlerror();
    // The path before the colon is that of the program or of a library, and both are the same in both runs.
    std::printf("%s: %s\n", when, error != nullptr ? error : "no error");
  };
  state("at first");
  dlsym(driver, "cuMemAlloc_v2");
  state("first driver function");
  dlsym(driver, "cuNoSuchFunction");
  state("no such function");
  state("again");
  dlsym(driver, "cuNoSuchFunction");
  dlsym(driver, "cuMemAlloc_v2");
  state("error, then success");
  dlsym(driver, "cuFutureSum");
  state("unknown function");
  dlsym(driver, "no_such_name");
  dlsym(RTLD_DEFAULT, "strlen");
  state("error, then another success");
  dlsym(RTLD_DEFAULT, "cuNoSuchFunction");
  state("not in the program");
  dlvsym(driver, "cuMemAlloc_v2", "NO_SUCH_VERSION");
  state("by version");
  return 0;
}

/// Every name of the list by dlsym: which function is reached.
int look_up_all() {
  call_with_zeros(find("cuInit"));
  for (const char* name : all_names) {
    void* function = find(name);
    std::printf("%s: %d\n", name, function != nullptr ? call_with_zeros(function) : -1);
    std::fprintf(stderr, "%s %s\n", name, kind_of(function));
  }
  std::printf("the same again: %d\n", find("cuMemFree_v2") == find("cuMemFree_v2"));
  std::printf("by version: %s\n", kind_of(dlvsym(open_driver(), "cuMemFree_v2", "none")));
  return 0;
}

/// Functions that the list does not know get all their arguments, in registers and on the stack.
int look_up_unknown() {
  using Sum = int (*)(long, long, long, long, long, long, double, float, long, double);
  using Variable = int (*)(int, ...);
  call_with_zeros(find("cuInit"));
  auto sum = find_as<Sum>("cuFutureSum");
  std::printf("sum %d\n", sum(1, 20, 300, 4000, 50000, 600000, 7.5, 8.25F, 9000000, 0.5));
  auto variable = find_as<Variable>("cuFutureVariable");
  std::printf("variable %d\n", variable(9, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0));
  void* resolved = nullptr;
  find_as<ResolverWithStatus>("cuGetProcAddress_v2")("cuFutureSum", &resolved, 13000, 0, nullptr);
  std::printf("same %d\n", resolved == reinterpret_cast<void*>(sum));
  std::printf("resolved %d\n", reinterpret_cast<Sum>(resolved)(1, 1, 1, 1, 1, 1, 1, 1, 1, 1));
  std::fprintf(stderr, "%s %s %s %s\n", kind_of(reinterpret_cast<void*>(sum)),
               kind_of(reinterpret_cast<void*>(variable)), kind_of(resolved), kind_of(find("cudbgFutureDebug")));
  return 0;
}

/// A library that is bound deeply sees the C library's dlsym; nothing breaks, nothing is held.
int look_up_deeply_bound() {
  void* handle = dlopen("libprobe_local.so", RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (handle == nullptr) return 7;
  auto look_up = reinterpret_cast<void* (*)(void*, const char*)>(dlsym(handle, "local_look_up"));
  void* driver = open_driver();
  std::printf("%s %s\n", kind_of(look_up(driver, "cuInit")), kind_of(look_up(driver, "cuLaunchKernel")));
  std::printf("init %d\n", call_with_zeros(look_up(driver, "cuInit")));
  std::printf("launch %d\n", call_with_zeros(look_up(driver, "cuLaunchKernel")));
  return 0;
}

}  // namespace refrain::tests
