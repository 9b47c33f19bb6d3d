// Who is told of regions at this time.
//
// Owns:    one small object for each time that events were set, never freed: open ranges point to it.
// Threads: any.
#pragma once

#include "interpose/ranges.h"

namespace refrain::interpose {

struct RangeWatch {
  RangeEvents* events = nullptr;
  const policy::Selector* selector = nullptr;
  bool by_path = false;     ///< a rule needs the path, so names alone decide nothing
  unsigned generation = 0;  ///< from 1
  RangeWatch* previous = nullptr;
};

/// The watch that is set, or nullptr.
const RangeWatch* range_watch() noexcept;
/// True after the events were withdrawn, until they are set again: names need not be kept.
bool ranges_only_nest() noexcept;

/// A region that is open: what opened() returned, and who must hear of its end.
struct OpenToken {
  void* token = nullptr;
  const RangeWatch* watch = nullptr;

  /// Tells the end, unless whoever opened it was withdrawn or replaced since.
  void close() const noexcept {
    if (token != nullptr && watch == range_watch()) watch->events->closed(token);
  }
};

}  // namespace refrain::interpose
