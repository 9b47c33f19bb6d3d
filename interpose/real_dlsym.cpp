#include "interpose/real_dlsym.h"

#include <dlfcn.h>

#include <atomic>

namespace refrain::interpose {
namespace {

// The oldest version of dlsym on each architecture: it exists before and after libdl was merged into the C library.
#if defined(__x86_64__)
constexpr const char* dlsym_version = "GLIBC_2.2.5";
#elif defined(__aarch64__)
constexpr const char* dlsym_version = "GLIBC_2.17";
#else
#error "no dlsym version is known for this architecture"
#endif

constinit std::atomic<Dlsym> found{nullptr};

}  // namespace

Dlsym real_dlsym() noexcept {
  Dlsym function = found.load(std::memory_order_acquire);
  if (function == nullptr) {  // two threads may both look: they find the same
    function = reinterpret_cast<Dlsym>(dlvsym(RTLD_NEXT, "dlsym", dlsym_version));
    found.store(function, std::memory_order_release);
  }
  return function;
}

}  // namespace refrain::interpose
