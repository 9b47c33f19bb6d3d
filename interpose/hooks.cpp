#include "interpose/hooks.h"

#include <cstring>

#include "interpose/guard.h"
#include "interpose/loaded_driver.h"
#include "interpose/plumbing.h"
#include "interpose/treat_call.h"

namespace refrain::interpose {
namespace {

template <EntryPoint E, class Function>
struct Hook;

template <EntryPoint E, class... Arguments>
struct Hook<E, CUresult (*)(Arguments...)> {
  static CUresult call(Arguments... arguments) {
    const LoadedDriver* driver = known_driver();
    if (driver == nullptr) [[unlikely]]
      driver = find_driver();
    const auto real = driver != nullptr ? Entry<E>::real(driver->functions) : nullptr;
    if (real == nullptr) [[unlikely]]
      return answer_without(driver, E);
    replay::Engine* const engine = enter();
    if (engine == nullptr) return real(arguments...);
    return leave(treat<E>(*engine, real, arguments...));
  }
};

/// The hook of an entry point, nullptr where it is not hooked.
template <EntryPoint E>
constexpr auto choose_hook() -> typename Entry<E>::Function {
  if constexpr (E == EntryPoint::cuInit) {
    return initialise;
  } else if constexpr (E == EntryPoint::cuGetProcAddress) {
    return resolve;
  } else if constexpr (E == EntryPoint::cuGetProcAddress_v2) {
    return resolve_v2;
  } else if constexpr (is_hooked(E)) {
    return Hook<E, typename Entry<E>::Function>::call;
  } else {
    return nullptr;
  }
}

}  // namespace
}  // namespace refrain::interpose

constinit const refrain::replay::Driver refrain_hooks = {
#define ENTRY(name, group) refrain::interpose::choose_hook<refrain::replay::EntryPoint::name>(),
#include "replay/driver_entry_points.inc"
};

void* refrain::interpose::hook_of(EntryPoint entry) noexcept {
  void* hook = nullptr;
  std::memcpy(&hook, reinterpret_cast<const char*>(&refrain_hooks) + index_of(entry) * sizeof(void*), sizeof hook);
  return hook;
}
