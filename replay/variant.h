// A variant: one recorded sequence of a region, cut into segments, each of which becomes a graph.
//
// Owns:    the sequence with its shadow bytes; the graphs.
// Threads: in use by one open region at a time (`busy`, guarded by the region's lock). What a lane holds of it may also
//          be read, under that lane's lock, by a thread that flushes the lane. A segment that was handed over, and its
//          operations, belong to whoever has the lane's issue_lock until `handed` is false again.
// Units:   ns, bytes.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "capture/sequence.h"
#include "replay/driver.h"
#include "replay/lane.h"
#include "replay/segment_lengths.h"

namespace refrain::replay {

/// A run of operations of one stream that is launched as one graph. In cache lines of its own: the issue thread works
/// on one while the program fills the next.
struct alignas(64) Segment {
  enum class State : std::uint8_t { waits, built, off };
  std::uint32_t first = 0, count = 0;
  State state = State::waits;
  bool handed = false;  ///< waits for the issue thread; see is_handed()
  std::uint16_t role = 0;
  std::uint16_t failures = 0;
  // Where held calls had to be issued before the segment was complete, and how often at that very place: each time adds
  // some, a complete launch takes one away.
  std::uint32_t interrupted_before = 0;
  std::uint32_t interruptions = 0;
  // How often the timer had to issue what was held, with few complete launches in between.
  std::uint32_t expiries = 0;
  std::uint32_t launches = 0;           ///< complete ones since then
  std::uint32_t changed = 0;            ///< operations whose node must be patched before the next launch
  std::uint32_t first_marks = 0;        ///< where their marks begin in the variant's
  std::uint64_t memory_generation = 0;  ///< of the engine, when memset and copy nodes were last known to be good
  CUgraph graph = nullptr;              ///< lives as long as `exec`: patching names its nodes
  CUgraphExec exec = nullptr;
  CUcontext context = nullptr;
  CUstream last_stream = nullptr;  ///< where it was launched last
  std::uint64_t bytes = 0;         ///< estimate of its device memory

  bool is_handed() noexcept { return std::atomic_ref(handed).load(std::memory_order_acquire); }
  void set_handed(bool on) noexcept { std::atomic_ref(handed).store(on, std::memory_order_release); }
};

/// A stream handle that names no stream any more; a role that had it takes whichever stream comes next.
inline const CUstream ended_stream = reinterpret_cast<CUstream>(~std::uintptr_t{0});

class Variant;

/// What patching one operation needs.
struct Node {
  CUgraphNode node = nullptr;
  std::uint32_t segment = 0;
  // The largest block, threads in a block, and shared memory that the driver has accepted for this operation.
  capture::Dimensions accepted_block;
  std::uint64_t accepted_threads = 0;
  std::uint32_t accepted_shared = 0;

  void accept(const capture::Dimensions& block, std::uint32_t shared) noexcept;
};

/// Which variants came after one, the last two times: addresses come back step after step, or in every second one.
struct Followers {
  Variant* last = nullptr;
  Variant* before = nullptr;
  void learn(Variant* variant) noexcept {
    before = last;
    last = variant;
  }
  void forget(const Variant* variant) noexcept {
    if (last == variant) last = nullptr;
    if (before == variant) before = nullptr;
  }
};

class Variant {
 public:
  /// Cuts `sequence` into segments of `segment_min` to `segment_max` operations where it can. May throw std::bad_alloc.
  Variant(capture::Sequence sequence, std::uint32_t id, std::uint32_t segment_min, std::uint32_t segment_max,
          Waits waits = {});

  capture::Sequence sequence;
  std::vector<Segment> segments;
  std::vector<Node> nodes;  ///< one an operation
  /// A byte an operation: the shadow differs from what the graph has. Each segment's begin in a cache line of their
  /// own; see marks_of().
  struct alignas(64) Marks {
    std::array<std::uint8_t, 64> of{};
    static std::uint32_t for_operations(std::uint32_t count) noexcept { return (count + 63) / 64; }
  };
  std::vector<Marks> marks;
  std::vector<CUcontext> role_contexts;  ///< where each stream role was recorded
  std::vector<int> role_priorities;
  std::vector<StreamKind> role_kinds;
  std::vector<CUstream> role_streams;  ///< last seen; nullptr for the legacy stream or after the stream ended

  const std::uint32_t id;
  const std::uint32_t segment_max;
  const Waits waits;
  // Of an automatic region only: where it begins, and one word an operation (trail.h).
  std::uint64_t context = 0;
  std::vector<std::uint64_t> tokens;
  Variant* same_place = nullptr;    ///< the next one that begins there
  Variant* same_first = nullptr;    ///< the next one that begins with this operation, anywhere
  std::uint64_t address_bytes = 0;  ///< that all operations had when it was recorded: what moved ones are compared with
  std::uint64_t addresses = 0;      ///< hash of all the shadow's addresses: absorb() keeps it
  /// Operations of it, from the first one on, that came a second time, or do so for sure. Much of what follows no range
  /// never does, and a graph that is built in vain costs as much as dozens of launches.
  std::uint32_t came_again = 0;
  std::uint32_t needless_ends = 0;  ///< how often in a row the next operation came although nothing ordered between
  std::uint32_t waited_after = 0;   ///< how often of late the program waited for the device after it; up to most_waited
  std::atomic<std::uint32_t> handed{0};  ///< segments that were handed over and are not launched yet
  bool busy = false;
  bool pending = true;   ///< some segment waits to be built
  bool dropped = false;  ///< must not be used again; freed when no longer busy
  bool moves = false;    ///< its first operation came with other bytes each time: do not search by bytes
  std::uint32_t moved = 0;
  bool scratch = false;  ///< patched nearly everywhere last time: the first to be patched for new addresses
  bool is_copy = false;  ///< made for other addresses than its model's, which have not come back yet
  /// It came again while it was handed over, and no twin was free: each time adds some, a complete pass takes one away.
  std::uint32_t waits_for_itself = 0;
  static constexpr std::uint32_t passes_of_a_wait = 16;
  static constexpr std::uint32_t most_waited = 7;
  /// What came after it: a wait for the device, or not. The first steps wait where later ones do not.
  void note_what_follows(bool waited) noexcept {
    waited_after = waited ? std::min(waited_after + 1, most_waited) : waited_after - std::min(waited_after, 1u);
  }
  bool is_before_wait() const noexcept { return 2 * waited_after > most_waited; }
  Followers followers;
  std::uint64_t last_use = 0;  ///< pass number of the region
  std::uint64_t gap = never;   ///< passes between the last two uses
  static constexpr std::uint64_t never = ~std::uint64_t{0};
  /// Passes that began one after the other may end in another order.
  void note_use(std::uint64_t pass) noexcept {
    if (pass == last_use) return;
    gap = pass > last_use ? pass - last_use : last_use - pass;
    last_use = pass;
  }
  std::uint64_t passes = 0;
  std::uint64_t counted_bytes = 0;  ///< of memory(), in the engine's sum

  /// What was held had to be issued before operation `before` came, which lies in the midst of a segment. The lock of
  /// the lane must be held.
  void note_interruption(std::uint32_t before) noexcept;
  /// The timer issued what was held of the segment with operation `held`. True when the segment is too short to be cut
  /// for that. The lock of the lane must be held.
  bool note_expiry(std::uint32_t held) noexcept;
  /// Where the segment should be cut for what was noted of it; 0: nowhere.
  static std::uint32_t wanted_cut(const Segment& segment) noexcept;
  bool wants_cut() const noexcept;
  /// The segment in the midst of which operation `before` lies, or nullptr when a segment begins with it.
  Segment* segment_around(std::uint32_t before) noexcept;
  /// Cuts that segment, whose graph has been given up, before the operation. May throw std::bad_alloc, and has changed
  /// nothing then.
  void cut(std::uint32_t before, std::uint32_t segment_min);

  bool wants_graph(const Segment& segment) const noexcept {
    return segment.state == Segment::State::waits && segment.first + segment.count <= came_again;
  }
  /// Some of it can be replayed.
  bool is_built() const noexcept;
  std::uint64_t structure() const noexcept { return sequence.structure(sequence.size()); }
  /// Its segments must stay as they are: a pass follows it, or some are not launched yet.
  bool in_use() const noexcept { return busy || handed.load(std::memory_order_acquire) != 0; }
  Segment& segment_of(std::uint32_t operation) noexcept { return segments[nodes[operation].segment]; }
  /// One an operation of the segment, 0 or 1.
  std::uint8_t* marks_of(const Segment& segment) noexcept {
    return reinterpret_cast<std::uint8_t*>(marks.data() + segment.first_marks);
  }
  void mark_changed(std::uint32_t operation) noexcept {
    Segment& segment = segment_of(operation);
    if (std::exchange(marks_of(segment)[operation - segment.first], std::uint8_t{1}) == 0) ++segment.changed;
  }
  /// The segment's graph has what the shadow has.
  void clear_marks(Segment& segment) noexcept;
  /// Marks every memset and copy of `segment`: memory was released since its graph last knew its addresses.
  void mark_addresses_changed(Segment& segment) noexcept;
  /// Host memory in bytes.
  std::size_t memory() const noexcept;

 private:
  void add_segments(std::uint32_t first, std::uint32_t end, std::uint32_t least, std::uint32_t most);
};

}  // namespace refrain::replay
