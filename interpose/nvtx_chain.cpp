#include "interpose/nvtx_chain.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace refrain::interpose {

namespace {

constinit std::atomic<const char*> chained_path{nullptr};
constinit std::atomic<void*> chained_library{nullptr};
char no_library;  // its address stands for "looked for and not found"

constexpr unsigned max_attaching = 64;
constinit std::atomic<const void*> attaching[max_attaching]{};

bool is_own_library(void* library) noexcept {
  void* entry = dlsym(library, "InitializeInjectionNvtx2");
  Dl_info theirs{}, ours{};
  return entry != nullptr && dladdr(entry, &theirs) != 0 && dladdr(&no_library, &ours) != 0 &&
         theirs.dli_fbase == ours.dli_fbase;
}

/// Two threads may both open the library: it is then the same one, counted twice, and the later gives it back. Neither
/// waits for the other, as one of them may hold the loader's lock.
void* open_chained_library() noexcept {
  void* known = chained_library.load(std::memory_order_acquire);
  if (known == nullptr) {
    const char* path = chained_path.load(std::memory_order_acquire);
    if (path == nullptr) path = std::getenv(chained_injection_variable);
    if (path == nullptr || *path == '\0') return nullptr;
    void* opened = dlopen(path, RTLD_LAZY);
    if (opened != nullptr && is_own_library(opened)) {
      dlclose(opened);
      opened = nullptr;
    }
    void* found = opened != nullptr ? opened : &no_library;
    if (chained_library.compare_exchange_strong(known, found, std::memory_order_acq_rel)) {
      known = found;
    } else if (opened != nullptr) {
      dlclose(opened);
    }
  }
  return known == &no_library ? nullptr : known;
}

}  // namespace

constinit ClientKinds<NextFunctions> next_functions;

void set_chained_injection(const char* path) noexcept {
  if (path == nullptr || *path == '\0' || chained_path.load(std::memory_order_relaxed) != nullptr) return;
  char* copy = strdup(path);  // kept for the life of the process
  const char* expected = nullptr;
  if (!chained_path.compare_exchange_strong(expected, copy, std::memory_order_acq_rel)) std::free(copy);
}

ToolAnswer attach_tool(const char* initialiser, void* argument) noexcept {
  void* library = open_chained_library();
  if (library == nullptr) return ToolAnswer::no_tool;
  const auto initialise = reinterpret_cast<int (*)(void*)>(dlsym(library, initialiser));
  if (initialise == nullptr) return ToolAnswer::no_initialiser;
  return initialise(argument) != 0 ? ToolAnswer::attached : ToolAnswer::declined;
}

ToolAnswer attach_tool(const char* initialiser, NvtxGetExportTableFunc_t get_export_table) noexcept {
  return attach_tool(initialiser, reinterpret_cast<void*>(get_export_table));
}

Attaching::Attaching(const void* client) noexcept {
  for (auto& entry : attaching) {
    if (entry.load(std::memory_order_acquire) == client) return;
  }
  for (auto& entry : attaching) {
    const void* expected = nullptr;
    if (!entry.compare_exchange_strong(expected, client, std::memory_order_acq_rel)) continue;
    entry_ = &entry;
    return;
  }
}

Attaching::~Attaching() {
  if (entry_ != nullptr) entry_->store(nullptr, std::memory_order_release);
}

}  // namespace refrain::interpose
