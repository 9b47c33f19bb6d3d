// What a program may watch of the simulated driver, and where it may let another thread go first: it defines
// `refrain_sim_observer` and exports it (link with -rdynamic). Without one, nothing of this happens.
//
// Owns:    nothing.
// Threads: called on the thread that makes the call, and on the worker of the stream; no lock of the driver is held.
#pragma once

#include <cstddef>

namespace refrain::tests::simulated {

/// One operation that is about to execute.
struct Executed {
  const char* kind;  ///< kernel, fill, copy, host, alloc, free
  const char* name;  ///< of a kernel, else ""
  unsigned context;  ///< ordinals, as in trace.h
  unsigned stream;
  bool from_graph;
  unsigned grid[3], block[3];
  unsigned shared;
  const std::byte*
      bytes;  ///< a kernel's parameters without the padding between them; what else an operation is made of
  std::size_t size;
};

struct Observer {
  /// A call of the program, or of a library in it, enters the driver.
  void (*entered)(const char* name);
  void (*executing)(const Executed& operation);
};

}  // namespace refrain::tests::simulated
