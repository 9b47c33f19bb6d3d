// The tool that was configured before us: NVTX has one place for an injection, and we took it.
//
// Owns:    the tool's library, opened at most once and never closed; what the tool put into each client's slots.
// Threads: any. No lock is held while the tool's library is opened or its code runs: either may wait for the dynamic
//          loader, whose lock another thread may hold while it waits for us.
// Fails:   a library that cannot be opened, or that declines, is no tool.
#pragma once

#include <atomic>

#include "interpose/nvtx_tables.h"

namespace refrain::interpose {

/// The functions that come after ours for one kind of client. nullptr: the tool left the slot alone, so nothing comes.
struct NextFunctions {
#define ROW(module, name) nvtx##name##_impl_fntype name = nullptr;
  NVTX_REPLACED_FUNCTIONS(ROW)
#undef ROW
  // Whose values the program gets. Ours only where the tool never sees them again.
  bool own_domains = true;
  bool own_strings = true;
  bool own_ids = true;

  bool operator==(const NextFunctions&) const noexcept = default;
};

/// Clients of one process nearly always have the same next functions. Our functions exist once for each kind, as a slot
/// says nothing of its client; a client of a further kind is left to the tool alone.
inline constexpr unsigned client_kinds = 4;

/// The kinds that were met. A kind never changes once it is there.
template <typename Next>
class ClientKinds {
 public:
  constexpr ClientKinds() noexcept = default;
  const Next& operator[](unsigned kind) const noexcept { return next_[kind]; }

  /// The index of `next`, taken if it is new; -1 when there is no place. Nobody waits: while a place is being filled by
  /// another thread the next one is used, at worst for the same functions.
  int kind(const Next& next) noexcept {
    for (unsigned i = 0; i < client_kinds; ++i) {
      State state = states_[i].load(std::memory_order_acquire);
      if (state == State::filled && next_[i] == next) return static_cast<int>(i);
      if (state != State::unused ||
          !states_[i].compare_exchange_strong(state, State::filling, std::memory_order_acquire)) {
        continue;
      }
      next_[i] = next;
      states_[i].store(State::filled, std::memory_order_release);
      return static_cast<int>(i);
    }
    return -1;
  }

 private:
  enum class State : unsigned char { unused, filling, filled };
  Next next_[client_kinds]{};
  std::atomic<State> states_[client_kinds]{};
};

extern ClientKinds<NextFunctions> next_functions;

/// Where the tool's path is kept for programs that are started with NVTX_INJECTION64_PATH set to us already. It is read
/// when nobody named the tool: the constructors of other libraries may use NVTX before ours runs.
inline constexpr const char* chained_injection_variable = "REFRAIN_NVTX_CHAIN";

/// Names the tool that was configured before us: the value that NVTX_INJECTION64_PATH had. nullptr or "": none known.
/// Our own library is recognised and counts as none. Once a tool was looked for, later calls change nothing.
void set_chained_injection(const char* path) noexcept;

enum class ToolAnswer : unsigned char {
  no_tool,         ///< none was configured
  no_initialiser,  ///< it has no function of that name
  declined,        ///< its function returned 0
  attached,
};

/// Calls the chained tool's initialiser of that name.
ToolAnswer attach_tool(const char* initialiser, NvtxGetExportTableFunc_t get_export_table) noexcept;
ToolAnswer attach_tool(const char* initialiser, void* argument) noexcept;

/// Marks a client as being attached, as long as it lives. A chained tool may itself look for an injection in the
/// variable that names us, and so come back for the client that it was asked to attach to.
class Attaching {
 public:
  explicit Attaching(const void* client) noexcept;
  ~Attaching();
  Attaching(const Attaching&) = delete;
  Attaching& operator=(const Attaching&) = delete;
  /// False: it is being attached already, further up this thread's calls.
  bool is_first() const noexcept { return entry_ != nullptr; }

 private:
  std::atomic<const void*>* entry_ = nullptr;
};

}  // namespace refrain::interpose
