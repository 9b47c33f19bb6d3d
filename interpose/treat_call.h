// What a hook does around the program's own call, by the entry point's treatment.
#pragma once

#include <type_traits>

#include "interpose/describe_call.h"
#include "interpose/entry_points.h"
#include "interpose/loaded_driver.h"
#include "replay/engine.h"

namespace refrain::interpose {

/// The stream that the program means: NULL in a name for per-thread streams is the thread's own default stream.
template <EntryPoint E>
CUstream meant_stream(CUstream stream) noexcept {
  constexpr bool per_thread = is_per_thread(E);
  return per_thread && stream == nullptr ? CU_STREAM_PER_THREAD : stream;
}

/// The first stream among the arguments.
template <EntryPoint E, class First, class... Rest>
CUstream stream_of(First first, Rest... rest) noexcept {
  if constexpr (std::is_same_v<First, CUstream>) {
    return meant_stream<E>(first);
  } else {
    return stream_of<E>(rest...);
  }
}

/// The context that ends, or nullptr for any: a device's or a green context's.
template <class First>
CUcontext context_of(First first) noexcept {
  if constexpr (std::is_same_v<First, CUcontext>) {
    return first;
  } else {
    return nullptr;
  }
}

/// A module or a library, as what owns code.
template <class Handle>
std::uint64_t owner_of(Handle handle) noexcept {
  return reinterpret_cast<std::uint64_t>(handle);
}

/// False when the last holder has given the device's primary context back, or when that cannot be told.
inline bool primary_context_lives(CUdevice device) noexcept {
  const LoadedDriver* driver = known_driver();
  unsigned flags = 0;
  int lives = 0;
  return driver != nullptr && driver->functions.cuDevicePrimaryCtxGetState != nullptr &&
         driver->functions.cuDevicePrimaryCtxGetState(device, &flags, &lives) == CUDA_SUCCESS && lives != 0;
}

/// Which state of a function a call sets: an attribute, or one of the two settings that have a call of their own.
struct FunctionState {
  const void* function;
  int which;
  int value;
};
inline constexpr int cache_config = -1, shared_memory_config = -2;

inline FunctionState function_state(CUfunction function, CUfunction_attribute attribute, int value) noexcept {
  return {function, static_cast<int>(attribute), value};
}
inline FunctionState function_state(CUfunction function, CUfunc_cache config) noexcept {
  return {function, cache_config, static_cast<int>(config)};
}
inline FunctionState function_state(CUfunction function, CUsharedconfig config) noexcept {
  return {function, shared_memory_config, static_cast<int>(config)};
}
/// A kernel has each state once a device.
inline FunctionState function_state(CUfunction_attribute attribute, int value, CUkernel kernel,
                                    CUdevice device) noexcept {
  constexpr int most_attributes = 256;
  return {kernel, static_cast<int>(attribute) + most_attributes * (device + 1), value};
}
inline FunctionState function_state(CUkernel kernel, CUfunc_cache config, CUdevice device) noexcept {
  return {kernel, cache_config - 2 * (device + 1), static_cast<int>(config)};
}

/// The engine's value for a call that can be held.
template <EntryPoint E>
using CallOf = std::conditional_t<group_of(E) == Group::launch, KernelCall,
                                  std::conditional_t<details::is_holdable_copy(E), CopyCall, MemsetCall>>;

template <EntryPoint E, class Function, class... Arguments>
CUresult hold_or_pass(replay::Engine& engine, Function real, Arguments... arguments) {
  if (engine.passes(group_of(E) == Group::launch)) return real(arguments...);
  CallOf<E> call;
  if (!describe(call, arguments...)) {
    engine.order_all(E);
    return real(arguments...);
  }
  call.stream = meant_stream<E>(call.stream);
  CUresult result = CUDA_SUCCESS;
  const replay::Decision decision = engine.hold(call, result);
  if (decision == replay::Decision::held) return result;
  result = real(arguments...);
  if (decision == replay::Decision::report) engine.passed(call, result);
  return result != CUDA_SUCCESS ? result : engine.take_error();
}

template <EntryPoint E, class... Arguments>
void before(replay::Engine& engine, Arguments... arguments) noexcept {
  constexpr Treatment treatment = treatment_of(E);
  if constexpr (treatment == Treatment::order_stream) engine.order_stream(stream_of<E>(arguments...), E);
  if constexpr (treatment == Treatment::context_released) engine.order_all(E);
  if constexpr (treatment == Treatment::order_all || treatment == Treatment::wait || treatment == Treatment::ask) {
    engine.order_all(E);
  }
  if constexpr (treatment == Treatment::state_changes) engine.state_changes(E);
  if constexpr (treatment == Treatment::function_state) {
    const FunctionState state = function_state(arguments...);
    engine.function_state_changes(state.function, state.which, state.value, E);
  }
  if constexpr (treatment == Treatment::memory_ends) engine.memory_ends();
  if constexpr (treatment == Treatment::stream_memory_ends) {
    engine.memory_ends();
    engine.order_stream(stream_of<E>(arguments...), E);
  }
  if constexpr (treatment == Treatment::code_ends) engine.code_unloads(owner_of(arguments...));
  if constexpr (treatment == Treatment::context_ends) engine.context_ends(context_of(arguments...));
  if constexpr (treatment == Treatment::stream_ends) engine.stream_ends(arguments...);
  if constexpr (treatment == Treatment::capture_begins) engine.capture_begins(stream_of<E>(arguments...));
}

template <EntryPoint E, class... Arguments>
void after(replay::Engine& engine, CUresult result, Arguments... arguments) noexcept {
  constexpr Treatment treatment = treatment_of(E);
  if constexpr (treatment == Treatment::wait) {
    if (result == CUDA_SUCCESS) engine.safe_point();
  }
  if constexpr (treatment == Treatment::context_released) {
    if (!primary_context_lives(arguments...)) engine.context_ends(nullptr);
  }
  if constexpr (treatment == Treatment::function_state) {
    const FunctionState state = function_state(arguments...);
    if (result == CUDA_SUCCESS) engine.function_state_changed(state.function, state.which, state.value);
  }
  if constexpr (treatment == Treatment::capture_begins) engine.capture_began(stream_of<E>(arguments...), result);
  if constexpr (treatment == Treatment::capture_ends) engine.capture_ended(stream_of<E>(arguments...));
}

/// Calls that may tell of earlier work: those that give the device work, wait for it or ask for it. One that makes or
/// takes away something must not seem to have failed.
template <EntryPoint E, class... Arguments>
constexpr bool tells_errors() noexcept {
  constexpr Treatment treatment = treatment_of(E);
  constexpr bool obtains = group_of(E) == Group::memory_obtain || (std::is_same_v<Arguments, CUdeviceptr*> || ...);
  return !obtains &&
         (treatment == Treatment::order_stream || treatment == Treatment::wait || treatment == Treatment::ask);
}

template <EntryPoint E, class Function, class... Arguments>
CUresult treat(replay::Engine& engine, Function real, Arguments... arguments) {
  if constexpr (treatment_of(E) == Treatment::hold) {
    return hold_or_pass<E>(engine, real, arguments...);
  } else {
    before<E>(engine, arguments...);
    const CUresult result = real(arguments...);
    after<E>(engine, result, arguments...);
    if constexpr (tells_errors<E, Arguments...>()) return result != CUDA_SUCCESS ? result : engine.take_error();
    return result;
  }
}

}  // namespace refrain::interpose
