#include "tests/interpose/probe.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace refrain::tests {

void* open_driver() {
  static void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) {
    std::fprintf(stderr, "no driver: %s\n", dlerror());
    std::exit(9);
  }
  return driver;
}

void* find(const char* name) { return dlsym(open_driver(), name); }

int call_with_zeros(void* function) {
  return reinterpret_cast<AnyFunction>(function)(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
}

const char* kind_of(const void* function) {
  if (function == nullptr) return "none";
  Dl_info object{};
  if (dladdr(function, &object) == 0) return "nowhere";
  return std::strstr(object.dli_fname, "libcuda.so") != nullptr ? "driver" : "hook";
}

namespace {

struct Way {
  const char* name;
  int (*run)();
};

constexpr Way ways[] = {
    {"resolve-itself", resolve_itself},
    {"resolve-table", resolve_table},
    {"resolve-edges", resolve_edges},
    {"look-up-scopes", look_up_scopes},
    {"look-up-errors", look_up_errors},
    {"look-up-all", look_up_all},
    {"look-up-unknown", look_up_unknown},
    {"look-up-deeply-bound", look_up_deeply_bound},
    {"before-initialisation", before_initialisation},
    {"arguments-arrive", arguments_arrive},
    {"fork-child", fork_child},
    {"threads-end", threads_end},
    {"load-twice", load_twice},
    {"exhaust-trampolines", exhaust_trampolines},
    {"statistics", statistics},
    {"pauses", pauses},
    {"close-and-open", close_and_open},
    {"other-namespace", other_namespace},
    {"open-often", open_often},
    {"first-use-by-many", first_use_by_many},
    {"late-library", late_library},
    {"cancel-in-a-call", cancel_in_a_call},
};

}  // namespace
}  // namespace refrain::tests

int main(int count, char** arguments) {
  using namespace refrain::tests;
  if (count == 3 && std::string_view(arguments[1]) == "end-by") return end_by(arguments[2]);
  for (const Way& way : ways) {
    if (count == 2 && std::string_view(arguments[1]) == way.name) return way.run();
  }
  std::fputs("usage: probe WAY, or probe end-by exit|_exit|quick_exit|abort|return|signal\n", stderr);
  return 8;
}
