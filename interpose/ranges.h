// The NVTX ranges that are open, and which of them are regions.
//
// Push and pop make one stack for each thread and domain. Start and end pair by domain and identifier, on any threads.
// A range whose rule the policy has is reported as it opens and closes; all others only nest.
//
// Owns:    one block a thread with its stacks, freed at the thread's end; a bounded table of started ranges.
// Threads: any. Push and pop of ordinary names take no lock.
// Limits:  1024 nested ranges a domain, 64 domains with open ranges a thread, 1024 started ranges that are regions at
// the
//          same time. Beyond them nesting levels stay right, and ranges are no regions; unwatched_ranges() counts them.
// Fails:   never; without memory a range is not watched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "interpose/range_message.h"
#include "policy/selector.h"

namespace refrain::interpose {

/// What opens and closes regions.
struct RangeEvents {
  /// A range that `rule` selects opened on the calling thread. nullptr: not watched, and closed() will not come.
  virtual void* opened(unsigned rule) noexcept = 0;
  /// The range ended. On the thread that opened it, except for started ranges.
  virtual void closed(void* token) noexcept = 0;

 protected:
  ~RangeEvents() = default;
};

/// From here on ranges are matched and reported. Both objects must live as long as the process: another thread may be
/// about to use them even after they were replaced or withdrawn. Ranges that are open already stay unmatched.
/// False: no memory, nothing changed.
bool set_range_events(RangeEvents* events, const policy::Selector* selector) noexcept;

/// Withdraws the events, at exit and in a forked child: from here on ranges only nest, and no lock is waited for.
/// Regions that are open are not closed.
void clear_range_events() noexcept;

/// Levels that are no nesting level. NVTX wants a negative value for an error, and -2 for "not tracked".
inline constexpr int no_open_range = -1;
inline constexpr int not_tracked = -2;

// ---- what the NVTX functions report; a domain of nullptr is the default domain
/// Level of the range that was opened, from 0.
int range_pushed(const void* domain, RangeMessage message) noexcept;
/// Level of the range that was closed; no_open_range for a pop too many.
int range_popped(const void* domain) noexcept;
/// An identifier of 0, or one that is in use, cannot be told apart: such a range is not watched.
void range_started(const void* domain, RangeMessage message, std::uint64_t id) noexcept;
/// An identifier that is not open is ignored.
void range_ended(const void* domain, std::uint64_t id) noexcept;
/// The domain is gone: closes its ranges of this thread, and those started. Other threads' ranges close at their pop.
void ranges_domain_ends(const void* domain) noexcept;
/// Closes the open ranges of the calling thread, innermost first. Called at every thread's end; may be called earlier.
void ranges_thread_ends() noexcept;

// ---- what was seen, for the report at exit
/// True when the rule selected a range since the events were set.
bool rule_was_matched(unsigned rule) noexcept;
/// Names of ranges that no rule selected: the first 64 different ones, of each at most 63 bytes.
std::size_t unmatched_name_count() noexcept;
std::string_view unmatched_name(std::size_t index) noexcept;
/// Ranges that could not be told apart or were beyond a limit.
std::uint64_t unwatched_ranges() noexcept;

}  // namespace refrain::interpose
