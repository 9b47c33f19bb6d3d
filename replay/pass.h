// One pass through a region, from entering to leaving, and the thread that makes it.
//
// Owns:    the recording of this pass.
// Threads: a pass of thread scope belongs to its thread. A pass of process scope is used by any thread under `lock`.
//          Another thread may only set `closing`, and, under the lane's lock, count what it flushed.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "capture/sequence.h"
#include "replay/engine.h"
#include "replay/lane.h"
#include "replay/pace.h"
#include "replay/recording_pace.h"
#include "replay/region.h"

namespace refrain::replay {

struct Thread;

struct OpenRegion {
  enum class State : std::uint8_t {
    choosing,   ///< no operation yet
    matching,   ///< follows `variant`; `cursor` is the next expected operation
    recording,  ///< passes and records
    eager,      ///< passes until the end of the region
  };
  static constexpr std::size_t most_roles = 8;

  explicit OpenRegion(bool of_process) noexcept : process_scope(of_process) {}

  Region* region = nullptr;
  Thread* owner = nullptr;      ///< the thread that opened it
  OpenRegion* outer = nullptr;  ///< the region around it on the same thread (or of the process)
  const bool process_scope;     ///< for ever: others look at it without a lock
  State state = State::choosing;
  std::atomic<bool> closing{false};    ///< ended by another thread: the owner finishes it at its next call
  std::atomic<bool> build_due{false};  ///< the next call that has let go of `lock` builds
  bool follows_piece = false;          ///< a piece was complete just before this one
  RecordingPace pace;                  ///< of what this pass recorded
  Waits waits;                         ///< around the recording of an automatic region
  std::uint16_t role_count = 0;
  Lock lock;                 ///< process scope only
  std::uint32_t cursor = 0;  ///< the next expected operation
  std::uint32_t moved = 0;   ///< operations that came with other addresses than last time
  std::uint64_t epoch = 0;
  std::uint64_t number = 0;  ///< which pass of the region, from 1

  Variant* variant = nullptr;
  Lane* holding = nullptr;  ///< the lane where this pass holds something, unless a flush took it
  std::array<Lane*, most_roles> roles{};

  capture::Sequence recording;
  std::vector<std::byte> described_bytes;  ///< of the operation that is recorded now
  std::vector<capture::Attribute> described_attributes;
  // Of an automatic region only.
  std::uint64_t context = 0;            ///< where this pass begins, and
  std::uint64_t position = 0;           ///< which operation of its step that is (pace.h)
  std::vector<std::uint64_t> tokens;    ///< of the recording
  std::uint32_t rested = 0;             ///< operations that came while the region rests (rest.h)
  const Thread* last_thread = nullptr;  ///< that launched here, and
  std::uint64_t orders = 0;             ///< how many ordering calls it had made then, and
  std::uint64_t waited = 0;             ///< how often it had waited for the device
  std::unique_ptr<LaneSteps> steps;     ///< of its lane; nullptr when they are not looked for
  CallCounters counters;

  // The lane of the last call: the same stream comes again and again.
  CUstream cached_stream = nullptr;
  CUcontext cached_context = nullptr;
  Lane* cached_lane = nullptr;
};

/// What passed() has to do after hold() asked for a report.
enum class After : std::uint8_t {
  ignored,   ///< in a region, but not an operation that a sequence can have: count
  matched,   ///< the expected operation, passed: step on
  recorded,  ///< append to the recording
  mismatch,  ///< not what was expected: find another variant, or record one
  unplaced,  ///< of an automatic region, at a place where nothing is known to begin
};

/// What the engine knows about one thread.
struct Thread : ThreadGlance {
  OpenRegion* after_pass = nullptr;
  Lane* after_lane = nullptr;
  After after = After::ignored;
  Variant* after_variant =
      nullptr;  ///< what the pass followed then, and where: another thread may move a process's pass
  std::uint32_t after_cursor = 0;
  capture::Reason after_reason{};
  std::uint64_t after_token = 0;
  std::uint64_t orders = 0;         ///< ordering calls of this thread
  std::uint64_t waited = 0;         ///< how often it waited for the device
  OpenRegion* automatic = nullptr;  ///< of the lane where it launched last outside of all ranges
  // The lane of the last call outside of all ranges.
  CUstream cached_stream = nullptr;
  CUcontext cached_context = nullptr;
  Lane* cached_lane = nullptr;
  std::uint64_t cached_epoch = 0;
  OpenRegion* spare = nullptr;  ///< closed regions to use again, chained by `outer`
};

}  // namespace refrain::replay
