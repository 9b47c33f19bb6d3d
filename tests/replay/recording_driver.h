// A driver made of a few functions that note what is asked of them: enough for the engine's own tests, without streams
// that run and without memory. What executes is a list of launches, in the order in which the driver got them.
//
// Threads: the driver's functions from any; what tests read and set, one at a time, but for executed_count. It is one
// object for the process, because driver functions carry no state of their own.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "replay/driver.h"

namespace refrain::tests {

/// One operation as the device would run it.
struct Executed {
  std::uint64_t function = 0;       ///< 0 for memsets and copies
  std::vector<std::uint8_t> bytes;  ///< parameter bytes, padding left out
  unsigned grid = 0, block = 0, shared = 0;
  CUstream stream = nullptr;
  bool by_graph = false;
  CUcontext context = nullptr;  ///< current when the driver got it
  unsigned attributes = 0;      ///< how many the launch had
  bool operator==(const Executed& other) const {
    return function == other.function && bytes == other.bytes && grid == other.grid && block == other.block &&
           shared == other.shared && stream == other.stream && context == other.context &&
           attributes == other.attributes;
  }
};

class RecordingDriver {
 public:
  /// Forgets everything and starts over; returns the table.
  static const replay::Driver& start();

  static std::vector<Executed> executed;
  static std::atomic<std::size_t> executed_count;    ///< its size, for a thread that waits for another one's work
  static std::atomic<int> launches_begun;            ///< of graphs, by any thread
  static std::map<std::string, int> calls;           ///< how often each function was called
  static std::map<std::string, CUresult> fails;      ///< functions that fail with this error
  static std::map<std::string, std::int64_t> takes;  ///< ns that a function keeps the host busy
  static CUcontext context;                          ///< the current one, of every thread
  static std::map<CUstream, unsigned> flags;         ///< of streams; others are non-blocking when their number is even
  static std::set<CUstream> captured;                ///< streams that the program captures
  static std::vector<CUstream> events, queries;      ///< where events were recorded, and what was asked

  /// Sizes of the parameters of the function with this handle; offsets follow natural alignment.
  static void add_function(std::uint64_t handle, std::vector<unsigned> sizes, bool layout_known = true,
                           const char* name = nullptr);
};

}  // namespace refrain::tests
