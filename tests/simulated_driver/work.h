// What a stream executes: the kinds of work, as values that hold everything the execution needs.
//
// Owns:    copies of parameters and references of the objects that the work uses, so that all of them may be destroyed
//          while it waits.
// Threads: a value; constant once it is submitted.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <variant>
#include <vector>

#include "replay/driver.h"

namespace refrain::tests::simulated {

struct Allocation;
struct Code;
struct Context;
struct Event;
struct Graph;
struct Pool;

struct Extent {
  unsigned x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t{x} * y * z; }
  bool operator==(const Extent&) const = default;
};

struct KernelLaunch {
  std::shared_ptr<const Code> code;
  CUfunction function = nullptr;  ///< as the program gave it, which may be a CUkernel
  Extent grid, block;
  unsigned dynamic_shared = 0;
  std::vector<std::byte> parameters;  ///< by the code's layout
  bool packed = false;                ///< they came as one buffer (`extra`)
  std::vector<CUlaunchAttribute> attributes;
};

struct Fill {
  CUdeviceptr destination = 0;
  size_t pitch = 0;
  unsigned value = 0;
  unsigned element = 1;
  size_t width = 0;  ///< elements
  size_t height = 1;
};

/// One side of a copy. `array` memory is not modelled.
struct CopySide {
  uint64_t address = 0;  ///< of the first byte, the offsets of the descriptor added
  size_t pitch = 0;
  size_t slice = 0;
  bool pageable = false;  ///< host memory that the driver does not know
};

struct Copy {
  CopySide source, destination;
  size_t width = 0, height = 1, depth = 1;
  std::vector<std::byte> staged;  ///< the source's bytes, when they were read at call time
  CUDA_MEMCPY3D descriptor{};     ///< as the program gave it, for graph nodes
};

struct HostCall {
  CUhostFn function = nullptr;
  void* data = nullptr;
};

struct StreamCallback {
  CUstreamCallback function = nullptr;
  CUstream stream = nullptr;
  void* data = nullptr;
};

/// The completion of one cuEventRecord.
class Record {
 public:
  void finish();
  void wait();
  bool reached() const;
  int64_t nanoseconds() const;  ///< of the monotonic clock, once reached

 private:
  mutable std::mutex mutex_;
  std::condition_variable reached_event_;
  bool reached_ = false;
  int64_t nanoseconds_ = 0;
};

struct EventRecord {
  std::shared_ptr<Event> event;
  std::shared_ptr<Record> record;  ///< in a graph's node: null, each launch makes one
};

struct EventWait {
  std::shared_ptr<Event> event;
  std::shared_ptr<Record> record;  ///< in a graph's node: null, each launch takes the newest
};

/// cuStreamWriteValue, cuStreamWaitValue and the batch of them.
struct ValueOperations {
  std::vector<CUstreamBatchMemOpParams> operations;
};

/// The moment in a stream at which memory becomes valid, or is no longer.
struct MemoryBegin {
  std::shared_ptr<Allocation> allocation;
};
struct MemoryEnd {
  std::shared_ptr<Allocation> allocation;
};

/// Nothing: an empty node, or a point that only orders.
struct Nothing {};

struct ChildGraph {
  std::shared_ptr<Graph> graph;
};

/// One launch of an executable graph: its work in a topological order.
struct GraphRun;

using Work = std::variant<Nothing, KernelLaunch, Fill, Copy, HostCall, StreamCallback, EventRecord, EventWait,
                          ValueOperations, MemoryBegin, MemoryEnd, ChildGraph, std::shared_ptr<const GraphRun>>;

struct GraphRun {
  std::vector<std::shared_ptr<const Work>> steps;
};

}  // namespace refrain::tests::simulated
