// Memory pools: stream-ordered allocation.
//
// Owns:    blocks that were freed and may be handed out again, to the stream that freed them at once, and to nobody
// else
//          before a synchronisation gives them back to the device (as far as the pool's threshold asks for).
// Threads: any.
#pragma once

#include <array>
#include <list>
#include <memory>
#include <mutex>

#include "tests/simulated_driver/handle_table.h"
#include "tests/simulated_driver/memory.h"
#include "tests/simulated_driver/queue.h"

namespace refrain::tests::simulated {

struct Stream;

struct Pool : std::enable_shared_from_this<Pool> {
  CUmemoryPool handle = nullptr;
  int device = 0;
  std::mutex mutex;
  bool destroyed = false;
  uint64_t release_threshold = 0;
  int reuse_follow_events = 1, reuse_opportunistic = 1, reuse_internal = 1;
  uint64_t reserved = 0, reserved_high = 0;  ///< bytes taken from the device
  uint64_t used = 0, used_high = 0;          ///< bytes of live allocations
  std::array<CUmemAccess_flags, max_devices> access{};

  struct Block {
    uint64_t base, capacity;
    uint64_t stream_id;  ///< that freed it
    Point freed;         ///< reached: the free has executed
  };
  std::list<Block> blocks;

  /// An allocation that begins at its place in `stream`; null without memory. Not yet submitted.
  std::shared_ptr<Allocation> take(uint64_t size, const Stream& stream);
  /// `allocation` ended at `freed` in the stream.
  void put(const Allocation& allocation, uint64_t stream_id, const Point& freed);
  /// Memory of cuMemAlloc that was freed in a stream: goes back to the device at the next trim.
  void adopt(const Allocation& allocation, const Point& freed);
  /// Gives blocks whose free has executed back to the device until no more than `keep` bytes are reserved.
  void trim(uint64_t keep);
};

HandleTable<CUmemoryPool, Pool>& pools();
std::shared_ptr<Pool> create_pool(int device);
std::shared_ptr<Pool> default_pool(int device);
std::shared_ptr<Pool> current_pool(int device);
void set_current_pool(int device, const std::shared_ptr<Pool>& pool);

/// What every synchronisation does: pools keep no more than their threshold.
void trim_pools();

}  // namespace refrain::tests::simulated
