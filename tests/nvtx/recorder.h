// The test injection: the ranges code of the library in a small shared object, with a record of the regions it reports.
//
// NVTX loads it by its path. A test opens the same path and takes the table below from "nvtx_recorder".
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace refrain::tests {

struct RecorderRule {
  const char* range = "*";
  const char* domain = "*";
  const char* path = "*";
};

struct RecordedEvent {
  enum class Kind { opened, closed, closed_unknown };
  Kind kind = Kind::opened;
  unsigned rule = 0;
  pid_t thread = 0;
};

struct Recorder {
  /// Begins a new record and reports regions of these rules.
  bool (*set)(const RecorderRule* rules, std::size_t count);
  void (*clear)();
  /// Moves out up to `capacity` events.
  std::size_t (*take)(RecordedEvent* events, std::size_t capacity);
  /// Regions that were opened and not closed.
  std::size_t (*open_count)();
  /// Called at each event, before it is recorded; nullptr: nobody.
  void (*on_event)(void (*listener)(RecordedEvent::Kind, unsigned rule));
  /// From now on no range is watched, whatever its rule.
  void (*refuse)(bool refused);

  void (*set_chained_injection)(const char* path);
  void (*thread_ends)();
  bool (*rule_was_matched)(unsigned rule);
  std::size_t (*unmatched_name_count)();
  /// Copies the name with an end mark; returns its length.
  std::size_t (*unmatched_name)(std::size_t index, char* out, std::size_t capacity);
  std::uint64_t (*unwatched_ranges)();
  unsigned (*clients_attached)();
  unsigned (*clients_unwatched)();
  std::size_t (*to_utf8)(const wchar_t* text, char* out, std::size_t capacity);
};

}  // namespace refrain::tests

extern "C" [[gnu::visibility("default")]] const refrain::tests::Recorder* nvtx_recorder();
