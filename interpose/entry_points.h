// The driver's entry points as types, and what a hook of each one does.
//
// Owns:    nothing; everything here is known at compile time, from replay/driver_entry_points.inc.
#pragma once

#include <array>
#include <string_view>
#include <type_traits>

#include "replay/driver.h"

namespace refrain::interpose {

using replay::entry_point_count;
using replay::EntryPoint;
using replay::Group;

/// In place of an entry point: a name that is not in the list.
inline constexpr EntryPoint unknown_entry_point = static_cast<EntryPoint>(entry_point_count);

inline constexpr std::array<const char*, entry_point_count> entry_point_names = {
#define ENTRY(name, group) #name,
#include "replay/driver_entry_points.inc"
};

inline constexpr std::array<Group, entry_point_count> entry_point_groups = {
#define ENTRY(name, group) Group::group,
#include "replay/driver_entry_points.inc"
};

constexpr unsigned index_of(EntryPoint entry) noexcept { return static_cast<unsigned>(entry); }
constexpr const char* name_of(EntryPoint entry) noexcept { return entry_point_names[index_of(entry)]; }
constexpr Group group_of(EntryPoint entry) noexcept { return entry_point_groups[index_of(entry)]; }

/// The type of each real function and its place in the table of real functions.
template <EntryPoint>
struct Entry;
#define ENTRY(name, group)                                                              \
  template <>                                                                           \
  struct Entry<EntryPoint::name> {                                                      \
    using Function = decltype(&::name);                                                 \
    static Function real(const replay::Driver& driver) noexcept { return driver.name; } \
  };
#include "replay/driver_entry_points.inc"

/// What the hook of an entry point does around the program's own call.
enum class Treatment : unsigned {
  none,                ///< not hooked: the program gets the driver's own pointer
  initialise,          ///< cuInit
  resolve,             ///< cuGetProcAddress, cuGetProcAddress_v2
  hold,                ///< can be held
  order_stream,        ///< issue what must come before it on its stream
  order_all,           ///< issue everything
  wait,                ///< issue everything; when it succeeded, the program has waited for the device
  ask,                 ///< issue everything; it does not wait
  state_changes,       ///< issue everything, drop what depends on the state
  function_state,      ///< the same for the state of one function, unless it has that value already
  memory_ends,         ///< issue everything: memory goes away
  stream_memory_ends,  ///< the same, in the order of a stream
  code_ends,           ///< a module or a library is unloaded
  context_ends,
  context_released,  ///< a primary context loses one of its holders, perhaps the last one
  stream_ends,
  capture_begins,
  capture_ends,
};

namespace details {
/// True for the arguments `CUstream`, alone or among others.
template <class Function>
struct TakesStream;
template <class... Arguments>
struct TakesStream<CUresult (*)(Arguments...)> {
  static constexpr bool value = (std::is_same_v<Arguments, CUstream> || ...);
};
inline constexpr std::array<bool, entry_point_count> takes_stream = {
#define ENTRY(name, group) TakesStream<decltype(&::name)>::value,
#include "replay/driver_entry_points.inc"
};
constexpr bool begins(EntryPoint entry, std::string_view prefix) noexcept {
  return std::string_view(name_of(entry)).starts_with(prefix);
}
constexpr bool is_holdable_copy(EntryPoint entry) noexcept {
  return entry == EntryPoint::cuMemcpyDtoDAsync_v2 || entry == EntryPoint::cuMemcpyDtoDAsync_v2_ptsz;
}
constexpr Treatment in_order(EntryPoint entry) noexcept {
  return takes_stream[index_of(entry)] ? Treatment::order_stream : Treatment::order_all;
}
constexpr Treatment of_plumbing(EntryPoint entry) noexcept {
  if (entry == EntryPoint::cuInit) return Treatment::initialise;
  return begins(entry, "cuGetProcAddress") ? Treatment::resolve : Treatment::none;
}
constexpr Treatment of_stream_node(EntryPoint entry) noexcept {
  return begins(entry, "cuMemset") || is_holdable_copy(entry) ? Treatment::hold : Treatment::order_stream;
}
constexpr Treatment of_stream_work(EntryPoint entry) noexcept {
  // cuMemMapArrayAsync takes tiles away as well as it gives them.
  const bool ends = begins(entry, "cuMemFreeAsync") || begins(entry, "cuMemMapArrayAsync");
  return ends ? Treatment::stream_memory_ends : in_order(entry);
}
constexpr Treatment of_mutable_state(EntryPoint entry) noexcept {
  if (begins(entry, "cuFuncSet") || begins(entry, "cuKernelSet")) return Treatment::function_state;
  // Properties of memory: copies and memsets are given their addresses anew, kernels read nothing of it at launch.
  const bool of_memory = begins(entry, "cuMem") || begins(entry, "cuMulticast") || begins(entry, "cuPointerSet") ||
                         begins(entry, "cuDeviceSetMemPool") || begins(entry, "cuDeviceGraphMemTrim") ||
                         begins(entry, "cuDeviceSetGraphMem") || begins(entry, "cuCtxEnablePeer");
  return of_memory ? Treatment::memory_ends : Treatment::state_changes;
}
constexpr Treatment of_code(EntryPoint entry) noexcept {
  const bool ends = entry == EntryPoint::cuModuleUnload || entry == EntryPoint::cuLibraryUnload;
  return ends ? Treatment::code_ends : Treatment::none;
}
constexpr Treatment of_context(EntryPoint entry) noexcept {
  if (begins(entry, "cuDevicePrimaryCtxRelease")) return Treatment::context_released;
  const bool ends = begins(entry, "cuCtxDestroy") || begins(entry, "cuCtxDetach") ||
                    begins(entry, "cuDevicePrimaryCtxReset") || begins(entry, "cuGreenCtxDestroy");
  return ends ? Treatment::context_ends : Treatment::none;
}
constexpr Treatment of_capture(EntryPoint entry) noexcept {
  if (begins(entry, "cuStreamBeginCapture")) return Treatment::capture_begins;
  return begins(entry, "cuStreamEndCapture") ? Treatment::capture_ends : Treatment::none;
}
}  // namespace details

/// The treatment of every entry point; the list's groups decide, single names only where a group says so.
constexpr Treatment treatment_of(EntryPoint entry) noexcept {
  using enum Treatment;
  switch (group_of(entry)) {
    case Group::plumbing: return details::of_plumbing(entry);
    case Group::launch: return hold;
    // The launches of the old interface read state that other calls set: everything goes first.
    case Group::launch_other: return details::begins(entry, "cuLaunchGrid") ? order_all : details::in_order(entry);
    case Group::launch_legacy: return order_all;
    case Group::stream_node: return details::of_stream_node(entry);
    case Group::stream_work: return details::of_stream_work(entry);
    case Group::wait: return details::begins(entry, "cuEventElapsedTime") ? ask : wait;
    case Group::cross_stream: return details::in_order(entry);
    case Group::blocking_copy: return wait;
    case Group::mutable_state: return details::of_mutable_state(entry);
    // A profiler that starts sees what was launched before it; replay goes on under it, as graph launches.
    case Group::observer: return order_all;
    case Group::code: return details::of_code(entry);
    case Group::context: return details::of_context(entry);
    case Group::current_context: return none;
    case Group::stream_event: return details::begins(entry, "cuStreamDestroy") ? stream_ends : none;
    case Group::memory_release: return memory_ends;
    case Group::memory_obtain: return order_all;
    case Group::capture: return details::of_capture(entry);
    case Group::program_graph: return details::begins(entry, "cuGraphInstantiateWithParams") ? order_all : none;
    case Group::query: return none;
  }
  return none;
}

constexpr bool is_hooked(EntryPoint entry) noexcept { return treatment_of(entry) != Treatment::none; }

/// A name whose NULL stream is the calling thread's own default stream.
constexpr bool is_per_thread(EntryPoint entry) noexcept {
  const std::string_view name = name_of(entry);
  return name.ends_with("_ptsz") || name.ends_with("_ptds");
}

inline constexpr unsigned hooked_count = [] {
  unsigned count = 0;
  for (unsigned i = 0; i < entry_point_count; ++i) count += is_hooked(static_cast<EntryPoint>(i)) ? 1 : 0;
  return count;
}();

}  // namespace refrain::interpose
