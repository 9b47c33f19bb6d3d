// Stream capture.
//
// Owns:    the graph that a capture builds, until it ends.
// Threads: any; one lock guards all captures. It is taken only when a capture is under way.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "tests/simulated_driver/event.h"
#include "tests/simulated_driver/stream.h"
#include "tests/simulated_driver/work.h"

namespace refrain::tests::simulated {

struct Capture {
  uint64_t id = 0;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  unsigned thread = 0;  ///< that began it
  std::shared_ptr<Graph> graph;
  bool graph_is_programs = false;  ///< begun with cuStreamBeginCaptureToGraph
  Stream* origin = nullptr;
  std::vector<std::shared_ptr<Stream>> streams;
};

/// Guards every Capture and the capture members of streams and events.
std::mutex& capture_lock();

/// The graph, and what the first work depends on, when the program brings its own graph.
struct CaptureTarget {
  std::shared_ptr<Graph> graph;
  std::vector<Dependency> dependencies;
};

CUresult begin_capture(const std::shared_ptr<Stream>& stream, CUstreamCaptureMode mode, const CaptureTarget& target);
CUresult end_capture(const std::shared_ptr<Stream>& stream, std::shared_ptr<Graph>* graph);
/// A capturing stream goes away: its capture is invalid.
void abandon_capture(Stream& stream);

/// Work on a capturing stream: a node of its graph.
CUresult capture_work(const std::shared_ptr<Stream>& stream, Work work, std::shared_ptr<Node>* node);
CUresult capture_record(Stream& stream, Event& event);
CUresult capture_wait(const std::shared_ptr<Stream>& stream, Event& event);

bool event_is_captured(Event& event);
/// The event is recorded outside of captures from now on.
void forget_capture(Event& event);

// Calls that a capture forbids. Each returns CUDA_SUCCESS when the call may go on; else the capture is invalid.

/// A call that may be unsafe: by the capture modes of this thread and of the captures under way.
CUresult forbid_unsafe_call();
/// A wait for all work of a context.
CUresult forbid_during_capture(Context& context);
/// Work on the legacy stream while a blocking stream of its context captures.
CUresult check_legacy_use(Stream& stream);
/// A call that a capturing stream cannot take: always an error.
CUresult refuse_in_capture(Stream& stream);
/// A question about the progress of an event that is part of a capture: always an error.
CUresult refuse_captured_event(Event& event, bool invalidates);
/// Something went wrong on a stream: if it captures, the capture is invalid.
void invalidate_capture(Stream& stream);

}  // namespace refrain::tests::simulated
