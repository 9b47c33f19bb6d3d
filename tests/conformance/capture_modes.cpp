// Captures: what each mode allows, who may end one, what the stream says about it.
#include <algorithm>

#include "tests/conformance/capturing.h"

namespace refrain::tests::conformance {

void note_kinds(CUgraph graph) {
  std::size_t count = 0;
  MUST(cuGraphGetNodes, graph, nullptr, &count);
  std::vector<CUgraphNode> nodes(count);
  if (count != 0) MUST(cuGraphGetNodes, graph, nodes.data(), &count);
  std::vector<int> kinds;
  for (CUgraphNode node : nodes) {
    CUgraphNodeType kind{};
    MUST(cuGraphNodeGetType, node, &kind);
    kinds.push_back(static_cast<int>(kind));
  }
  std::sort(kinds.begin(), kinds.end());
  std::string line = "kinds";
  for (int kind : kinds) line += " " + std::to_string(kind);
  note("%s", line.c_str());
}

void run_graph(CUgraph graph, CUstream stream) {
  CUgraphExec exec = nullptr;
  if (TELL(cuGraphInstantiate, &exec, graph, 0) != CUDA_SUCCESS) return;
  TELL(cuGraphLaunch, exec, stream);
  TELL(cuStreamSynchronize, stream);
  TELL(cuGraphExecDestroy, exec);
}

PROGRAM(capture_each_mode) {
  const Words data = p.words(64, 1);
  const CUstream stream = p.stream();
  for (CUstreamCaptureMode mode :
       {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_RELAXED}) {
    CUgraph graph = nullptr;
    TELL(cuStreamBeginCapture, stream, mode);
    launch(p.kernel("mix"), {1, 64}, stream, data.address, data.address, 64u, 1u);
    launch(p.kernel("mix"), {1, 64}, stream, data.address, data.address, 64u, 2u);
    TELL(cuStreamEndCapture, stream, &graph);
    note_shape(graph);
    run_graph(graph, stream);
    MUST(cuGraphDestroy, graph);
  }
  note_hash("data", data);
}

PROGRAM(capture_bad_mode) { TELL(cuStreamBeginCapture, p.stream(), static_cast<CUstreamCaptureMode>(7)); }

PROGRAM(capture_of_nothing) {
  const CUstream stream = p.stream();
  CUgraph graph = nullptr;
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  TELL(cuStreamEndCapture, stream, &graph);
  note_shape(graph);
  run_graph(graph, stream);
  MUST(cuGraphDestroy, graph);
}

PROGRAM(capture_does_not_execute) {
  const Words data = p.words(64, 1);
  const CUstream stream = p.stream();
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  launch(p.kernel("mix"), {1, 64}, stream, data.address, data.address, 64u, 1u);
  end_capture(stream);
  note_words("data", data);
}

PROGRAM(capture_of_the_legacy_stream) {
  TELL(cuStreamBeginCapture, nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL);
  TELL(cuStreamBeginCapture, CU_STREAM_LEGACY, CU_STREAM_CAPTURE_MODE_RELAXED);
  CUgraph graph = nullptr;
  TELL(cuStreamEndCapture, nullptr, &graph);
}

PROGRAM(capture_of_the_per_thread_stream) {
  const Words data = p.words(64, 1);
  CUgraph graph = nullptr;
  TELL(cuStreamBeginCapture, CU_STREAM_PER_THREAD, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  launch(p.kernel("mix"), {1, 64}, CU_STREAM_PER_THREAD, data.address, data.address, 64u, 1u);
  TELL(cuStreamEndCapture, CU_STREAM_PER_THREAD, &graph);
  note_shape(graph);
  run_graph(graph, CU_STREAM_PER_THREAD);
  MUST(cuGraphDestroy, graph);
  note_hash("data", data);
}

PROGRAM(capture_begun_twice) {
  const CUstream stream = p.stream();
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  note_capture(stream);
  end_capture(stream);
}

PROGRAM(capture_ended_without_a_begin) { end_capture(p.stream()); }

PROGRAM(capture_end_without_a_place_for_the_graph) {
  const CUstream stream = p.stream();
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  TELL(cuStreamEndCapture, stream, nullptr);
  note_capture(stream);
  end_capture(stream);
}

PROGRAM(capture_status_of_streams) {
  const CUstream stream = p.stream(), other = p.stream();
  note_capture(stream);
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  note_capture(stream);
  note_capture(other);
  end_capture(stream);
  note_capture(stream);
}

PROGRAM(capture_info) {
  const Words data = p.words(64, 1);
  const CUstream stream = p.stream();
  CUstreamCaptureStatus status{};
  cuuint64_t id = 0, later = 0;
  CUgraph graph = nullptr;
  const CUgraphNode* after = nullptr;
  const CUgraphEdgeData* edges = nullptr;
  std::size_t count = 99;
  TELL(cuStreamGetCaptureInfo, stream, &status, &id, &graph, &after, &edges, &count);
  note("status %d", static_cast<int>(status));
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  TELL(cuStreamGetCaptureInfo, stream, &status, &id, &graph, &after, &edges, &count);
  note("status %d graph %d dependencies %zu", static_cast<int>(status), graph != nullptr, count);
  launch(p.kernel("mix"), {1, 64}, stream, data.address, data.address, 64u, 1u);
  TELL(cuStreamGetCaptureInfo, stream, &status, &later, &graph, &after, &edges, &count);
  note("status %d same id %d dependencies %zu", static_cast<int>(status), id == later, count);
  CUgraphNodeType kind{};
  if (count == 1) TELL(cuGraphNodeGetType, after[0], &kind);
  note("kind %d", static_cast<int>(kind));
  end_capture(stream);
}

PROGRAM(capture_ids_differ) {
  const CUstream stream = p.stream();
  cuuint64_t ids[2] = {};
  for (cuuint64_t& id : ids) {
    CUstreamCaptureStatus status{};
    TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    TELL(cuStreamGetCaptureInfo, stream, &status, &id, nullptr, nullptr, nullptr, nullptr);
    end_capture(stream);
  }
  note("differ %d", ids[0] != ids[1]);
}

PROGRAM(capture_ended_by_another_thread) {
  const CUstream stream = p.stream();
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  Worker worker([&] {
    TELL(cuCtxSetCurrent, p.context());
    end_capture(stream);
  });
  worker.join();
  note_capture(stream);
}

PROGRAM(capture_relaxed_ended_by_another_thread) {
  const Words data = p.words(64, 1);
  const CUstream stream = p.stream();
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  launch(p.kernel("mix"), {1, 64}, stream, data.address, data.address, 64u, 1u);
  Worker worker([&] {
    TELL(cuCtxSetCurrent, p.context());
    end_capture(stream);
  });
  worker.join();
  note_capture(stream);
}

PROGRAM(capture_work_of_another_thread) {
  const Words data = p.words(64, 1);
  const CUstream stream = p.stream();
  CUgraph graph = nullptr;
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  Worker worker([&] {
    TELL(cuCtxSetCurrent, p.context());
    launch(p.kernel("mix"), {1, 64}, stream, data.address, data.address, 64u, 1u);
  });
  worker.join();
  TELL(cuStreamEndCapture, stream, &graph);
  note_shape(graph);
  MUST(cuGraphDestroy, graph);
}

PROGRAM(capture_exchange_mode) {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  TELL(cuThreadExchangeStreamCaptureMode, &mode);
  note("was %d", static_cast<int>(mode));
  TELL(cuThreadExchangeStreamCaptureMode, &mode);
  note("was %d", static_cast<int>(mode));
  mode = static_cast<CUstreamCaptureMode>(9);
  TELL(cuThreadExchangeStreamCaptureMode, &mode);
  mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  MUST(cuThreadExchangeStreamCaptureMode, &mode);
}

// An allocation is a call that might not be safe during a capture.
static void allocate(Program& p, CUstream stream, CUstreamCaptureMode mode) {
  CUdeviceptr memory = 0;
  note("mode %d", static_cast<int>(mode));
  TELL(cuStreamBeginCapture, stream, mode);
  if (TELL(cuMemAlloc, &memory, 64) == CUDA_SUCCESS) note("allocated %d", memory != 0);
  note_capture(stream);
  end_capture(stream);
  if (memory != 0) MUST(cuMemFree, memory);
  (void)p;
}

PROGRAM(capture_global_forbids_allocation) { allocate(p, p.stream(), CU_STREAM_CAPTURE_MODE_GLOBAL); }
PROGRAM(capture_thread_local_forbids_allocation) { allocate(p, p.stream(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL); }
PROGRAM(capture_relaxed_allows_allocation) { allocate(p, p.stream(), CU_STREAM_CAPTURE_MODE_RELAXED); }

static void allocate_elsewhere(Program& p, CUstream stream, CUstreamCaptureMode mode) {
  TELL(cuStreamBeginCapture, stream, mode);
  Worker worker([&] {
    CUdeviceptr memory = 0;
    TELL(cuCtxSetCurrent, p.context());
    if (TELL(cuMemAlloc, &memory, 64) == CUDA_SUCCESS) MUST(cuMemFree, memory);
  });
  worker.join();
  note_capture(stream);
  end_capture(stream);
}

PROGRAM(capture_global_forbids_other_threads) { allocate_elsewhere(p, p.stream(), CU_STREAM_CAPTURE_MODE_GLOBAL); }
PROGRAM(capture_thread_local_allows_other_threads) {
  allocate_elsewhere(p, p.stream(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
}

PROGRAM(capture_global_with_a_relaxed_thread) {
  const CUstream stream = p.stream();
  CUdeviceptr memory = 0;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  TELL(cuThreadExchangeStreamCaptureMode, &mode);
  TELL(cuMemAlloc, &memory, 64);
  TELL(cuThreadExchangeStreamCaptureMode, &mode);
  note_capture(stream);
  end_capture(stream);
  if (memory != 0) MUST(cuMemFree, memory);
}

}  // namespace refrain::tests::conformance
