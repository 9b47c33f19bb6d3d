// A lane: the held operations of one stream of one context.
//
// Owns:    nothing but its state. What is held are operations of a variant, in order, as (first, count); before them
//          come the segments that were handed over to the issue thread and are not launched yet.
// Threads: `lock` guards the held state and is kept while held operations are issued or their graph is launched: that
//          is what keeps the stream's order. `issue_lock`, which may be taken after it, is kept while what was handed
//          over is launched. No other lock is kept across a driver call, and only work of this very stream waits for
//          them, as eager work of that stream would wait inside the driver.
//          Lanes are never freed: a stale pointer leads to a lane that holds nothing of the old stream.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "replay/driver.h"
#include "replay/lock.h"

namespace refrain::replay {

struct OpenRegion;
struct Region;
class Variant;

/// How a stream orders against others (cuda.h: "legacy default stream").
enum class StreamKind : std::uint8_t {
  legacy,  ///< orders with every blocking stream of the context, both ways
  blocking,
  non_blocking,
};

/// What lanes of one context share.
struct LaneContext {
  CUcontext context = nullptr;
  std::atomic<int> blocking_holding{0};  ///< blocking lanes that hold something
  std::atomic<int> legacy_holding{0};
};

/// A complete segment that waits to be launched.
struct HandedSegment {
  Variant* variant = nullptr;
  Region* region = nullptr;
  std::uint32_t first = 0;  ///< operation
  std::int64_t since = 0;   ///< when its first operation was held: CLOCK_MONOTONIC, ns
};

// The order is that of who writes it. NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
struct alignas(64) Lane {
  // The first cache line is all that each held call needs. What is held is guarded by `lock`; `held_count` and
  // `held_since` are read without it by whoever looks for work.
  Lock lock;
  StreamKind kind = StreamKind::non_blocking;
  int priority = 0;
  LaneContext* shared = nullptr;
  std::atomic<OpenRegion*> automatic{nullptr};  ///< the pass of its automatic region; for ever, once there is one
  std::atomic<std::uint32_t> held_count{0};
  std::uint32_t held_first = 0;
  Variant* held_variant = nullptr;
  OpenRegion* holder = nullptr;

  alignas(64) CUcontext context = nullptr;
  CUstream stream = nullptr;                ///< nullptr: the legacy stream of `context`
  std::atomic<std::int64_t> held_since{0};  ///< CLOCK_MONOTONIC, ns
  std::atomic<bool> issuing{false};         ///< see Issuing

  // What the timer saw when it last looked; of its thread alone.
  std::int64_t looked_at_since = 0;
  std::uint32_t looked_at_count = 0;

  // What was handed over, the oldest first: a ring. `given` is moved under `lock`, `taken` under `issue_lock` once the
  // segment is launched; the ring lies between what either thread writes.
  static constexpr std::uint32_t most_handed = 8;
  std::atomic<std::uint32_t> given{0};
  std::array<HandedSegment, most_handed> handed;
  alignas(64) std::atomic<std::uint32_t> taken{0};
  Lock issue_lock;

  bool has_handed() const noexcept {
    return taken.load(std::memory_order_acquire) != given.load(std::memory_order_seq_cst);
  }
  HandedSegment& oldest_handed() noexcept { return handed[taken.load(std::memory_order_relaxed) % most_handed]; }
  /// True while something is on its way that eager would have issued already.
  bool holds() const noexcept { return held_count.load(std::memory_order_acquire) != 0 || has_handed(); }
};

/// All lanes. A lane is made at the first sight of a stream.
class LaneTable {
 public:
  explicit LaneTable(const Driver& driver) noexcept : driver_(driver) {}

  /// The lane of `stream` when it is a stream that can be held on with `current` as the thread's current context, else
  /// nullptr: per-thread default streams, streams of another context, streams that the driver does not know.
  Lane* find(CUstream stream, CUcontext current) noexcept;
  /// The lane of `stream` if there is one; asks the driver nothing. `current` matters for the legacy stream only.
  Lane* known(CUstream stream, CUcontext current) noexcept;
  /// Forgets the lane of a stream that is about to be destroyed. It must hold nothing.
  void forget(CUstream stream) noexcept;
  /// Forgets every lane of `context`, or all.
  void forget_context(CUcontext context) noexcept;
  /// Calls `visit(Lane&)` for every lane that holds something, without the table's lock.
  template <typename Visit>
  void for_each_holding(Visit visit) noexcept {
    for_each([](const Lane& lane) { return lane.holds(); }, visit);
  }
  /// The same for every lane of which `wanted(lane)` is true.
  template <typename Wanted, typename Visit>
  void for_each(Wanted wanted, Visit visit) noexcept {
    constexpr std::size_t most = 256;  // at a time
    Lane* found[most];
    std::size_t looked_at = 0, count = most;
    while (count == most) {
      count = 0;
      lock_.lock();
      for (; looked_at < lanes_.size() && count < most; ++looked_at) {
        if (wanted(*lanes_[looked_at])) found[count++] = lanes_[looked_at];
      }
      lock_.unlock();
      for (std::size_t index = 0; index < count; ++index) visit(*found[index]);
    }
  }

 private:
  struct Key {
    CUcontext context;  // of the legacy stream only: other handles are unique in the process
    CUstream stream;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept {
      return std::hash<const void*>{}(key.stream) * 31 + std::hash<const void*>{}(key.context);
    }
  };
  Lane* make(CUstream stream, CUcontext current);

  const Driver& driver_;
  Lock lock_;
  std::unordered_map<Key, Lane*, KeyHash> by_stream_;
  std::unordered_map<CUcontext, std::unique_ptr<LaneContext>> contexts_;
  std::vector<Lane*> lanes_, retired_;
};

/// While it lives, the thread is inside the driver with the lane's lock or its issue_lock.
class Issuing {
 public:
  explicit Issuing(Lane& lane) noexcept : lane_(lane) { lane_.issuing.store(true, std::memory_order_relaxed); }
  ~Issuing() { lane_.issuing.store(false, std::memory_order_relaxed); }
  Issuing(const Issuing&) = delete;
  Issuing& operator=(const Issuing&) = delete;

 private:
  Lane& lane_;
};

/// True for the two names of the legacy stream.
inline bool is_legacy(CUstream stream) noexcept { return stream == nullptr || stream == CU_STREAM_LEGACY; }

}  // namespace refrain::replay
