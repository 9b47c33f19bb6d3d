// The exported functions: one small jump for each name of the list, to a typed function that does what all entry points
// have in common and then calls the implementation (entry.h).
#include <array>
#include <new>
#include <string_view>

#include "tests/simulated_driver/entry.h"
#include "tests/simulated_driver/exports.h"
#include "tests/simulated_driver/faults.h"
#include "tests/simulated_driver/observe.h"
#include "tests/simulated_driver/process.h"

namespace refrain::tests::simulated {
namespace {

using replay::EntryPoint;
using Untyped = void (*)();

constexpr std::string_view names[] = {
#define ENTRY(name, group) #name,
#include "replay/driver_entry_points.inc"
};

constexpr bool per_thread(unsigned index) { return names[index].ends_with("_ptsz") || names[index].ends_with("_ptds"); }

/// The entry point whose implementation serves `index`: for a per-thread name the plain one.
constexpr unsigned plain(unsigned index) {
  if (!per_thread(index)) return index;
  const std::string_view name = names[index].substr(0, names[index].size() - 5);
  for (unsigned i = 0; i < replay::entry_point_count; ++i) {
    if (names[i] == name) return i;
  }
  return index;
}

Untyped implementation(unsigned index) {
  static const Untyped table[] = {
#define ENTRY(name, group) reinterpret_cast<Untyped>(&sim_##name),
#include "replay/driver_entry_points.inc"
  };
  return table[index];
}

/// Those that answer before cuInit and after exit.
constexpr bool always_available(unsigned index) {
  for (std::string_view name : {"cuInit", "cuDriverGetVersion", "cuGetProcAddress", "cuGetProcAddress_v2",
                                "cuGetErrorName", "cuGetErrorString", "cuGetExportTable"}) {
    if (names[index] == name) return true;
  }
  return false;
}

template <unsigned index, class Signature>
struct Entry;

template <unsigned index, class... Arguments>
struct Entry<index, CUresult(Arguments...)> {
  static CUresult call(Arguments... arguments) noexcept {
    if (observer() != nullptr) observer()->entered(names[index].data());
    const CUresult wanted = count_call(static_cast<EntryPoint>(index), ArgumentWords::of(arguments...));
    if (wanted != CUDA_SUCCESS) return wanted;
    if constexpr (!always_available(index)) {
      if (const CUresult state = process_state(); state != CUDA_SUCCESS) return state;
    }
    Thread& thread = this_thread();
    if (!always_available(index) && thread.in_host_function) return CUDA_ERROR_NOT_PERMITTED;
    static constexpr unsigned implemented = plain(index);
    const auto function = reinterpret_cast<CUresult (*)(Arguments...)>(implementation(implemented));
    if (function == nullptr) return CUDA_ERROR_NOT_SUPPORTED;
    const bool outer = thread.per_thread_default_stream;
    thread.per_thread_default_stream = per_thread(index);
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
    try {
      result = function(arguments...);
    } catch (const std::bad_alloc&) {
      result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    thread.per_thread_default_stream = outer;
    return result;
  }
};

}  // namespace
}  // namespace refrain::tests::simulated

// The address that each exported jump goes to.
#define ENTRY(name, group)                                                                        \
  extern "C" __attribute__((visibility("hidden"))) decltype(&::name) const sim_entry_##name;      \
  decltype(&::name) const sim_entry_##name =                                                      \
      &refrain::tests::simulated::Entry<static_cast<unsigned>(refrain::replay::EntryPoint::name), \
                                        decltype(::name)>::call;
#include "replay/driver_entry_points.inc"

#if defined(__x86_64__)
#define JUMP(name) "jmp *sim_entry_" #name "(%rip)\n"
#elif defined(__aarch64__)
#define JUMP(name) "adrp x16, sim_entry_" #name "\nldr x16, [x16, :lo12:sim_entry_" #name "]\nbr x16\n"
#else
#error "no jump for this processor"
#endif
// Two names for one address: the exported one, which another library may stand before, and a local one that always
// means this library's own.
#define ENTRY(name, group)                                                                                         \
  asm(".text\n.balign 16\n.globl " #name "\n.type " #name ", %function\n.globl sim_export_" #name                  \
      "\n.hidden sim_export_" #name "\n" #name ":\nsim_export_" #name ":\n" JUMP(name) ".size " #name ", .-" #name \
                                                                                       "\n");                      \
  extern "C" __attribute__((visibility("hidden"))) void sim_export_##name();
#include "replay/driver_entry_points.inc"

namespace refrain::tests::simulated {

void* exported_address(unsigned index) {
  static void* const table[] = {
#define ENTRY(name, group) reinterpret_cast<void*>(&::sim_export_##name),
#include "replay/driver_entry_points.inc"
  };
  return table[index];
}

bool has_implementation(unsigned index) { return implementation(plain(index)) != nullptr; }

}  // namespace refrain::tests::simulated
