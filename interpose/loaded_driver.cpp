#include "interpose/loaded_driver.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <string_view>
#include <type_traits>

#include "interpose/real_dlsym.h"

namespace refrain::interpose {

constinit std::atomic<const LoadedDriver*> details::published_driver{nullptr};

namespace {

static_assert(sizeof(replay::Driver) == entry_point_count * sizeof(void*));
static_assert(std::is_trivially_copyable_v<LoadedDriver>);

constexpr const char* driver_library = "libcuda.so.1";

bool is_driver_library(const char* path) noexcept {
  if (path == nullptr) return false;
  const char* slash = std::strrchr(path, '/');
  return std::string_view(slash != nullptr ? slash + 1 : path).starts_with("libcuda.so");
}

/// The executable segment around an address.
struct CodeSearch {
  std::uintptr_t address;
  AddressRange range;
};

int search_object(dl_phdr_info* object, std::size_t, void* data) {
  auto& search = *static_cast<CodeSearch*>(data);
  for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    const std::uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
    if (search.address < begin || search.address >= begin + segment.p_memsz) continue;
    search.range = {begin, begin + segment.p_memsz};
    return 1;
  }
  return 0;
}

void fill(LoadedDriver& driver, void* handle) noexcept {
  const Dlsym look_up = real_dlsym();
  std::array<void*, entry_point_count> functions;
  for (unsigned i = 0; i < entry_point_count; ++i) functions[i] = look_up(handle, entry_point_names[i]);
  std::memcpy(static_cast<void*>(&driver.functions), functions.data(), sizeof functions);
  for (unsigned i = 0; i < entry_point_count; ++i) {
    if (functions[i] == nullptr) continue;
    driver.by_address[driver.size++] = {reinterpret_cast<std::uintptr_t>(functions[i]), static_cast<EntryPoint>(i)};
  }
  std::sort(driver.by_address.begin(), driver.by_address.begin() + driver.size,
            [](const auto& a, const auto& b) { return a.address < b.address; });
  CodeSearch search{reinterpret_cast<std::uintptr_t>(driver.functions.cuInit), {}};
  dl_iterate_phdr(search_object, &search);
  driver.code = search.range;
}

/// Fills a table through `handle` and publishes it, unless another thread was faster.
const LoadedDriver* publish(void* handle) noexcept {
  void* pages = mmap(nullptr, sizeof(LoadedDriver), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  auto* driver = new (pages) LoadedDriver;
  fill(*driver, handle);
  dlerror();  // look-ups of names that this driver lacks leave an error that is none of the program's
  const LoadedDriver* expected = nullptr;
  if (driver->functions.cuInit != nullptr) {
    mprotect(pages, sizeof(LoadedDriver), PROT_READ);
    if (details::published_driver.compare_exchange_strong(expected, driver, std::memory_order_acq_rel)) return driver;
  }
  munmap(pages, sizeof(LoadedDriver));
  return expected;
}

}  // namespace

void* LoadedDriver::real(EntryPoint entry) const noexcept {
  void* function = nullptr;
  std::memcpy(&function, reinterpret_cast<const char*>(&functions) + index_of(entry) * sizeof(void*), sizeof function);
  return function;
}

EntryPoint LoadedDriver::find(const void* address, const char* name, bool per_thread) const noexcept {
  const auto value = reinterpret_cast<std::uintptr_t>(address);
  const auto* end = by_address.data() + size;
  const auto* at = std::lower_bound(by_address.data(), end, value,
                                    [](const Address& a, std::uintptr_t wanted) { return a.address < wanted; });
  EntryPoint best = unknown_entry_point;
  int best_rank = -1;
  for (; at != end && at->address == value; ++at) {
    const bool same_family = name != nullptr && std::string_view(name_of(at->entry)).starts_with(name);
    const int rank =
        (same_family ? 4 : 0) + (is_hooked(at->entry) ? 2 : 0) + (is_per_thread(at->entry) == per_thread ? 1 : 0);
    if (rank > best_rank) {
      best = at->entry;
      best_rank = rank;
    }
  }
  return best;
}

const LoadedDriver* find_driver_of(const void* function) noexcept {
  if (const LoadedDriver* driver = known_driver()) return driver->code.contains(function) ? driver : nullptr;
  Dl_info object{};
  if (dladdr(function, &object) == 0 || !is_driver_library(object.dli_fname)) return nullptr;
  void* handle = dlopen(object.dli_fname, RTLD_NOLOAD | RTLD_LAZY);  // the reference is kept
  return handle != nullptr ? publish(handle) : nullptr;
}

const LoadedDriver* find_driver() noexcept {
  if (const LoadedDriver* driver = known_driver()) return driver;
  // The next definition may be the driver's, or that of another interposer, which then goes before the driver.
  if (void* next = real_dlsym()(RTLD_NEXT, "cuInit")) {
    if (const LoadedDriver* driver = find_driver_of(next)) return driver;
    return publish(RTLD_NEXT);
  }
  void* handle = dlopen(driver_library, RTLD_NOLOAD | RTLD_LAZY);
  if (handle == nullptr) {
    dlerror();
    return nullptr;
  }
  return publish(handle);
}

}  // namespace refrain::interpose
