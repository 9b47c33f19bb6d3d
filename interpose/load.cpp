// What happens when the library is loaded: nearly nothing. No driver, no thread, no output, no file.
#include <dlfcn.h>

#include <climits>
#include <cstdlib>
#include <cstring>

#include "interpose/message.h"
#include "interpose/nvtx_chain.h"
#include "interpose/wish.h"

namespace refrain::interpose {
namespace {

constexpr const char* injection_variable = "NVTX_INJECTION64_PATH";
/// Where `refrain run` keeps the injection library that was configured before it set the variable.
constexpr const char* saved_variable = "REFRAIN_NVTX_CHAIN";

/// The absolute path of this library, in `path`.
bool find_own_path(char (&path)[PATH_MAX]) noexcept {
  Dl_info object{};
  if (dladdr(reinterpret_cast<void*>(&find_own_path), &object) == 0 || object.dli_fname == nullptr) return false;
  if (object.dli_fname[0] == '/') {
    const std::size_t length = std::strlen(object.dli_fname);
    if (length >= sizeof path) return false;
    std::memcpy(path, object.dli_fname, length + 1);
    return true;
  }
  return realpath(object.dli_fname, path) != nullptr;
}

/// NVTX loads the library that the variable names at the first range of each object. With ours there, ranges come to
/// us; the library that was there before is called by ours.
void place_injection() noexcept {
  char own[PATH_MAX];
  if (!find_own_path(own)) return;
  const char* configured = std::getenv(injection_variable);
  if (configured != nullptr && std::strcmp(configured, own) == 0)
    configured = std::getenv(saved_variable);
  else if (configured != nullptr)
    setenv(saved_variable, configured, 1);  // for the programs that this one starts
  if (configured != nullptr && *configured != 0 && std::strcmp(configured, own) != 0) set_chained_injection(configured);
  setenv(injection_variable, own, 1);
}

[[gnu::constructor]] void load() noexcept {
  open_messages();
  if (is_wanted()) place_injection();
}

}  // namespace
}  // namespace refrain::interpose
