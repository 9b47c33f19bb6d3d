// cuGetProcAddress, as the CUDA runtime uses it.
#include <cstdio>
#include <cstring>
#include <initializer_list>

#include "tests/interpose/probe.h"

namespace refrain::tests {
namespace {

constexpr const char* all_names[] = {
#define ENTRY(name, group) #name,
#include "replay/driver_entry_points.inc"
};

}  // namespace

/// The resolver asked for itself, in both forms, and through what it gave.
int resolve_itself() {
  auto v2 = find_as<ResolverWithStatus>("cuGetProcAddress_v2");
  void* probe = &probe;
  std::printf("probe %d\n", v2("", &probe, 0, 0, nullptr));
  void *old_form = nullptr, *new_form = nullptr;
  int status = 7;
  std::printf("v1 %d", v2("cuGetProcAddress", &old_form, 11030, 0, nullptr));
  std::printf(" v2 %d", v2("cuGetProcAddress", &new_form, 12000, 0, &status));
  std::printf(" status %d different %d\n", status, old_form != new_form);
  void *by_old = nullptr, *by_new = nullptr;
  std::printf("%d", reinterpret_cast<Resolver>(old_form)("cuMemAlloc", &by_old, 3020, 0));
  std::printf(" %d\n", reinterpret_cast<ResolverWithStatus>(new_form)("cuMemAlloc", &by_new, 3020, 0, nullptr));
  std::printf("same %d calls %d\n", by_old == by_new, call_with_zeros(by_old));
  void* again = nullptr;
  std::printf("%d", reinterpret_cast<ResolverWithStatus>(new_form)("cuGetProcAddress", &again, 12000, 0, nullptr));
  std::printf(" again %d\n", again == new_form);
  std::fprintf(stderr, "kinds %s %s %s\n", kind_of(old_form), kind_of(new_form), kind_of(by_new));
  return 0;
}

/// Every name at many versions, plain and for per-thread streams: result, status, and which function it is.
int resolve_table() {
  auto resolve = find_as<ResolverWithStatus>("cuGetProcAddress_v2");
  call_with_zeros(find("cuInit"));
  for (const char* name : all_names) {
    for (const int version : {2000, 3020, 4000, 7000, 10010, 11030, 12000, 12040, 13000, 14000}) {
      for (const std::uint64_t flags : {0, 1, 2}) {
        void* function = nullptr;
        int status = -1;
        const int result = resolve(name, &function, version, flags, &status);
        std::printf("%s %d %d: %d %d %d\n", name, version, static_cast<int>(flags), result, status,
                    function != nullptr ? call_with_zeros(function) : -1);
        std::fprintf(stderr, "%s\n", kind_of(function));
      }
    }
  }
  return 0;
}

/// NULL for what may be NULL, unknown names, a version of the future: nothing is written that was not written before.
int resolve_edges() {
  auto v1 = find_as<Resolver>("cuGetProcAddress");
  auto v2 = find_as<ResolverWithStatus>("cuGetProcAddress_v2");
  void* function = reinterpret_cast<void*>(0x77);
  int status = 77;
  std::printf("%d %d\n", v2("cuInit", nullptr, 12000, 0, &status), status);
  std::printf("%d\n", v2(nullptr, &function, 12000, 0, nullptr));
  std::printf("%d %d %p\n", v2("cuInit", &function, 99000, 0, &status), status, function);
  std::printf("%d", v2("cuNoSuchFunction", &function, 12000, 0, &status));
  std::printf(" %d %p\n", status, function);
  function = reinterpret_cast<void*>(0x77);
  std::printf("%d", v1("cuNoSuchFunction", &function, 12000, 0));
  std::printf(" %p\n", function);
  function = reinterpret_cast<void*>(0x77);
  std::printf("%d", v1("", &function, 12000, 0));
  std::printf(" %p\n", function);
  return 0;
}

}  // namespace refrain::tests
