// The process' and the threads' part of the driver's state: initialised or not, current contexts, capture mode.
//
// Owns:    the current-context stack of each thread, and its default stream of each context.
// Threads: any; a thread's own state is touched by that thread alone.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "replay/driver.h"

namespace refrain::tests::simulated {

struct Context;
struct Stream;

/// State of one thread.
struct Thread {
  unsigned id = 0;                              ///< from 1, in the order of first calls
  std::vector<std::shared_ptr<Context>> stack;  ///< last: the current one; entries may be null
  std::unordered_map<uint64_t, std::shared_ptr<Stream>> default_streams;  ///< by context id
  CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  bool per_thread_default_stream = false;  ///< the running entry point is a _ptsz or _ptds one
  bool in_host_function = false;           ///< a host function runs on this thread: no driver call is permitted
};

/// State of the calling thread. Never destroyed on the main thread, so that exit handlers may still call.
Thread& this_thread();

/// Whether the driver may be called now: CUDA_SUCCESS, NOT_INITIALIZED (also in a forked child) or DEINITIALIZED.
CUresult process_state();

/// cuInit: from now on process_state() is CUDA_SUCCESS. Registers the exit handler, the first time.
CUresult initialize_process();

/// True from the moment that the exit handler ran: workers start nothing more.
bool stopping();

/// Counts operations that run, so that the exit handler can wait for them.
class Running {
 public:
  Running();
  ~Running();
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
};

}  // namespace refrain::tests::simulated
