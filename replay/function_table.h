// What the driver tells about kernel functions, asked once for each handle.
//
// Owns:    one Function for each handle until its code is unloaded; recorded sequences keep their share longer.
// Threads: any; one lock, never held while the driver is asked.
// Fails:   a function whose layout the driver does not tell has layout_known == false and stays eager.
#pragma once

#include <memory>
#include <unordered_map>

#include "capture/operation.h"
#include "policy/selector.h"
#include "replay/driver.h"
#include "replay/lock.h"

namespace refrain::replay {

using FunctionPointer = std::shared_ptr<const capture::Function>;

/// Which code a handle stands for, as the driver tells it.
struct Code {
  std::uint64_t handle = 0;
  std::uint64_t owner = 0;        ///< module or library; 0 when unknown
  bool is_kernel_handle = false;  ///< the handle is a CUkernel
  const char* name = nullptr;     ///< the driver's, nullptr when unknown

  /// False when `function` is certainly other code. A CUkernel and the CUfunctions that come from it count as one by
  /// their name: which module lies inside a library depends on the context. Two handles of one kind are the same code
  /// in one module or library only: kernels that are compiled at run time are often called alike.
  bool may_be(const capture::Function& function) const noexcept;
};

class FunctionTable {
 public:
  FunctionTable(const Driver& driver, const policy::Selector& selector) noexcept
      : driver_(driver), selector_(selector) {}

  /// The function behind `handle`, asking the driver at the first sight. Only for a handle that the driver has just
  /// accepted in a launch: its code is loaded, and the questions load nothing. nullptr when memory ran out.
  FunctionPointer learn(CUfunction handle) noexcept;
  /// The function, when it was learnt before. Never asks the driver.
  FunctionPointer find(CUfunction handle) noexcept;
  /// Forgets every function that `owner` (a module or library handle) holds, and those whose owner is unknown; with
  /// `all_modules` also every function that is known by a module handle.
  void forget(std::uint64_t owner, bool all_modules) noexcept;
  void forget_all() noexcept;
  /// Asks the driver. A handle of neither kind gets no name.
  Code code_of(CUfunction handle) const noexcept;

 private:
  FunctionPointer ask(CUfunction handle) const;

  const Driver& driver_;
  const policy::Selector& selector_;
  Lock lock_;
  std::unordered_map<CUfunction, FunctionPointer> functions_;
};

/// The values that the program set for functions and kernels: setting one again changes nothing.
///
/// Threads: any; one lock.
class FunctionStates {
 public:
  bool has(const void* function, int which, int value) noexcept;
  void set(const void* function, int which, int value) noexcept;
  void clear() noexcept;

 private:
  struct Key {
    const void* function;
    int which;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept {
      return std::hash<const void*>{}(key.function) * 31 + static_cast<std::size_t>(key.which);
    }
  };
  Lock lock_;
  std::unordered_map<Key, int, KeyHash> values_;
};

}  // namespace refrain::replay
