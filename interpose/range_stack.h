// The open ranges of one thread: a stack for each domain.
//
// Owns:    plain heap blocks, given back when the thread ends.
// Threads: the one that it belongs to, only.
// Fails:   without memory a range is counted but not kept, so levels stay right.
#pragma once

#include <cstdint>
#include <string_view>

#include "interpose/range_names.h"
#include "interpose/range_rules.h"
#include "interpose/range_watch.h"

namespace refrain::interpose {

/// A range that is open.
struct OpenRange {
  OpenToken region;               ///< empty: no region
  std::uint64_t order = 0;        ///< of opening, among all domains of the thread
  std::uint32_t path_before = 0;  ///< length of the path without this range
  bool named = false;             ///< its name is in the path
};

/// The open ranges of one thread and domain.
class RangeStack {
 public:
  RangeStack() noexcept = default;
  ~RangeStack();
  RangeStack(const RangeStack&) = delete;
  RangeStack& operator=(const RangeStack&) = delete;

  /// Takes over an empty stack for another domain.
  void assign(const void* handle, const Domain& domain) noexcept;
  const void* handle() const noexcept { return handle_; }
  const Domain& domain() const noexcept { return domain_; }

  int level() const noexcept { return level_; }
  /// Opens a range. False: it is beyond the limit and only counted.
  bool push(std::uint64_t order) noexcept;
  /// Puts the innermost range's name at the end of the path.
  void name(std::string_view name) noexcept;
  /// Makes the range at `level` a region. False: it has been closed meanwhile.
  bool watch(int level, OpenToken region) noexcept;
  /// Closes the innermost range, which must be there. Returns its region for the caller to close.
  OpenToken pop() noexcept;

  /// Names of the open ranges, outermost first, joined by '/'.
  std::string_view path() const noexcept { return {path_, path_size_}; }
  /// False while the name of an open range is missing from the path.
  bool path_is_complete() const noexcept { return nameless_ == 0 && level_ == kept_; }
  /// When the innermost range was opened; 0 when none is kept.
  std::uint64_t innermost_order() const noexcept { return kept_ == 0 ? 0 : ranges_[kept_ - 1].order; }

 private:
  static constexpr int max_kept = 1024;
  static constexpr std::uint32_t max_path = 65536;

  const void* handle_ = nullptr;
  Domain domain_;
  int level_ = 0;     // open ranges
  int kept_ = 0;      // the first so many of them are in ranges_
  int nameless_ = 0;  // kept ranges whose name is not in the path
  int capacity_ = 0;
  OpenRange* ranges_ = nullptr;
  char* path_ = nullptr;
  std::uint32_t path_size_ = 0;
  std::uint32_t path_capacity_ = 0;
};

/// All stacks of a thread.
class ThreadRanges {
 public:
  ThreadRanges() noexcept = default;
  ~ThreadRanges();
  ThreadRanges(const ThreadRanges&) = delete;
  ThreadRanges& operator=(const ThreadRanges&) = delete;

  /// The stack of a domain. nullptr: too many domains have open ranges, or no memory.
  RangeStack* stack_for(const void* handle) noexcept;
  /// The stack of a domain if it has open ranges.
  RangeStack* open_stack(const void* handle) noexcept;
  /// Closes every range of one domain, or of all, innermost first.
  void close(RangeStack& stack) noexcept;
  void close_all() noexcept;

  std::uint64_t next_order() noexcept { return ++last_order_; }
  /// nullptr: no memory.
  RangeRules* rules() noexcept;

 private:
  RangeStack* find(const void* handle, const Domain& domain) noexcept;
  RangeStack* free_stack() noexcept;

  static constexpr unsigned max_stacks = 64;
  RangeStack* stacks_[max_stacks] = {};
  unsigned used_ = 0;  // stacks_ that exist
  unsigned last_ = 0;  // the one that was found last
  std::uint64_t last_order_ = 0;
  RangeRules* rules_ = nullptr;
};

}  // namespace refrain::interpose
