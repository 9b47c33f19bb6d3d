#include "interpose/caller.h"

#include <link.h>

#include <cstring>
#include <string_view>

#include "interpose/loaded_driver.h"

namespace refrain::interpose {
namespace {

/// The code of the object that asked last on this thread and is not exempt: one look-up follows the other hundreds of
/// times when a CUDA runtime starts.
[[gnu::tls_model("initial-exec")]] constinit thread_local AddressRange last_plain;

struct CallerSearch {
  const void* address;
  AddressRange code;
  bool exempt = false;
};

bool is_exempt_object(const char* path) noexcept {
  const char* slash = std::strrchr(path, '/');
  const std::string_view name = slash != nullptr ? slash + 1 : path;
  constexpr std::string_view tools[] = {"libcuda.so",
                                        "libcupti.so",
                                        "libnvperf_",
                                        "libToolsInjection",
                                        "libcudadebugger",
                                        "libsanitizer-",
                                        "libInterceptorInjection",
                                        "libNsight"};
  for (const std::string_view tool : tools) {
    if (name.starts_with(tool)) return true;
  }
  return false;
}

int search_object(dl_phdr_info* object, std::size_t, void* data) {
  auto& search = *static_cast<CallerSearch*>(data);
  for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    const std::uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
    const AddressRange code{begin, begin + segment.p_memsz};
    if (!code.contains(search.address)) continue;
    search.code = code;
    search.exempt = is_exempt_object(object->dlpi_name) || code.contains(reinterpret_cast<void*>(&search_object));
    return 1;
  }
  return 0;
}

}  // namespace

bool is_exempt_caller(const void* address) noexcept {
  if (last_plain.contains(address)) return false;
  CallerSearch search{address, {}};
  dl_iterate_phdr(search_object, &search);
  if (!search.exempt) last_plain = search.code;
  return search.exempt;
}

}  // namespace refrain::interpose
