// Where the dlsym hook of dlsym.S goes on: to the C library's dlsym, or to a look-up whose answer may be one of our
// hooks.
//
// A library that was opened with RTLD_DEEPBIND and needs the C library itself does not come here. It gets the driver's
// own functions; a program of which every part does so never reaches our cuInit, and nothing is ever held in it.
//
// Threads: any, also before any constructor ran. No lock and no allocation of ours.
// Fails:   the answers, NULL included, and the state of dlerror are those of a process without this library.
#include <dlfcn.h>

#include <cstdint>

#include "interpose/caller.h"
#include "interpose/exports.h"
#include "interpose/hooks.h"
#include "interpose/loaded_driver.h"
#include "interpose/name_table.h"
#include "interpose/real_dlsym.h"
#include "interpose/trampoline.h"
#include "interpose/wish.h"

namespace refrain::interpose {
namespace {

/// A look-up that fails as it would fail without us: the C library knows no driver function.
void* look_up_nothing(void*, const char* name) {
  static constinit std::atomic<void*> c_library{nullptr};
  void* handle = c_library.load(std::memory_order_relaxed);
  if (handle == nullptr)
    c_library.store(handle = dlopen("libc.so.6", RTLD_NOLOAD | RTLD_LAZY), std::memory_order_relaxed);
  return real_dlsym()(handle, name);
}

/// Without our exports, would `caller` find the driver function `name` in the global scope or in its own?
bool is_visible(const char* name, const void* caller) noexcept {
  void* first = real_dlsym()(RTLD_DEFAULT, name);  // of the program itself, or of who was loaded before us, or ours
  if ((first != nullptr && !is_export(first)) || real_dlsym()(RTLD_NEXT, name) != nullptr) return true;
  dlerror();
  Dl_info object{};
  if (caller == nullptr || dladdr(caller, &object) == 0 || object.dli_fname == nullptr) return false;
  void* handle = dlopen(object.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
  void* found = handle != nullptr ? real_dlsym()(handle, name) : nullptr;
  if (handle != nullptr) dlclose(handle);
  dlerror();
  return found != nullptr && !is_export(found);
}

/// For a driver function and the handle of an object: the real look-up, then perhaps a hook in the place of its answer.
void* look_up_driver_function(void* handle, const char* name) {
  void* found = real_dlsym()(handle, name);
  if (found == nullptr) return nullptr;
  if (is_export(found)) return is_visible(name, nullptr) ? found : look_up_nothing(handle, name);
  if (!is_wanted()) return found;
  const LoadedDriver* driver = find_driver_of(found);
  if (driver == nullptr) return found;
  const EntryPoint entry = find_entry_point(name);
  if (entry == unknown_entry_point) return trampoline_for(found);
  return is_hooked(entry) && driver->real(entry) == found ? hook_of(entry) : found;
}

using Target = void* (*)(void*, const char*);

}  // namespace
}  // namespace refrain::interpose

extern "C" [[gnu::visibility("hidden")]] refrain::interpose::Target refrain_dlsym_target(void* handle, const char* name,
                                                                                         const void* caller) noexcept;

/// Which function the hook jumps to, called with the arguments of dlsym and its return address.
refrain::interpose::Target refrain_dlsym_target(void* handle, const char* name, const void* caller) noexcept {
  using namespace refrain::interpose;
  if (!looks_like_driver_name(name)) return real_dlsym();
  if (handle == RTLD_DEFAULT || handle == RTLD_NEXT) {
    const EntryPoint entry = find_entry_point(name);
    const bool exported = entry != unknown_entry_point && is_hooked(entry);
    return !exported || is_visible(name, caller) ? real_dlsym() : look_up_nothing;
  }
  return is_exempt_caller(caller) ? real_dlsym() : look_up_driver_function;
}
