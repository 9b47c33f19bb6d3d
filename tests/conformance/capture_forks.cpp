// Captures: several streams, events across the border, work given to a graph.
#include "tests/conformance/capturing.h"

namespace refrain::tests::conformance {

PROGRAM(capture_fork_and_join) {
  const Words a = p.words(64, 1), b = p.words(64, 2);
  const CUstream stream = p.stream(), side = p.stream();
  const CUevent fork = p.event(), join = p.event();
  CUgraph graph = nullptr;
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  launch(p.kernel("mix"), {1, 64}, stream, a.address, a.address, 64u, 1u);
  TELL(cuEventRecord, fork, stream);
  TELL(cuStreamWaitEvent, side, fork, 0);
  note_capture(side);
  launch(p.kernel("mix"), {1, 64}, side, b.address, a.address, 64u, 2u);
  launch(p.kernel("mix"), {1, 64}, stream, a.address, a.address, 64u, 3u);
  TELL(cuEventRecord, join, side);
  TELL(cuStreamWaitEvent, stream, join, 0);
  launch(p.kernel("accumulate"), {1, 64}, stream, a.address, b.address, 64u);
  TELL(cuStreamEndCapture, stream, &graph);
  note_capture(side);
  note_shape(graph);
  run_graph(graph, stream);
  MUST(cuGraphDestroy, graph);
}

PROGRAM(capture_unjoined) {
  const Words a = p.words(64, 1), b = p.words(64, 2);
  const CUstream stream = p.stream(), side = p.stream();
  const CUevent fork = p.event();
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  launch(p.kernel("mix"), {1, 64}, stream, a.address, a.address, 64u, 1u);
  TELL(cuEventRecord, fork, stream);
  TELL(cuStreamWaitEvent, side, fork, 0);
  launch(p.kernel("mix"), {1, 64}, side, b.address, a.address, 64u, 2u);
  end_capture(stream);
  note_capture(stream);
  note_capture(side);
}

PROGRAM(capture_ended_on_the_side_stream) {
  const Words a = p.words(64, 1);
  const CUstream stream = p.stream(), side = p.stream();
  const CUevent fork = p.event();
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  launch(p.kernel("mix"), {1, 64}, stream, a.address, a.address, 64u, 1u);
  TELL(cuEventRecord, fork, stream);
  TELL(cuStreamWaitEvent, side, fork, 0);
  end_capture(side);
  note_capture(stream);
  end_capture(stream);
  note_capture(side);
}

PROGRAM(capture_begun_on_a_side_stream) {
  const CUstream stream = p.stream(), side = p.stream();
  const CUevent fork = p.event();
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  TELL(cuEventRecord, fork, stream);
  TELL(cuStreamWaitEvent, side, fork, 0);
  TELL(cuStreamBeginCapture, side, CU_STREAM_CAPTURE_MODE_RELAXED);
  end_capture(stream);
}

PROGRAM(capture_waits_for_an_event_from_outside) {
  const CUstream stream = p.stream(), other = p.stream();
  const CUevent event = p.event();
  const Words data = p.words(64, 1);
  launch(p.kernel("mix"), {1, 64}, other, data.address, data.address, 64u, 1u);
  TELL(cuEventRecord, event, other);
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  TELL(cuStreamWaitEvent, stream, event, 0);
  note_capture(stream);
  end_capture(stream);
}

PROGRAM(capture_waits_for_an_event_never_recorded) {
  const CUstream stream = p.stream();
  CUevent event = nullptr;
  MUST(cuEventCreate, &event, CU_EVENT_DISABLE_TIMING);
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  TELL(cuStreamWaitEvent, stream, event, 0);
  note_capture(stream);
  end_capture(stream);
  MUST(cuEventDestroy, event);
}

PROGRAM(capture_merge_of_two) {
  const CUstream a = p.stream(), b = p.stream();
  const CUevent event = p.event();
  TELL(cuStreamBeginCapture, a, CU_STREAM_CAPTURE_MODE_RELAXED);
  TELL(cuStreamBeginCapture, b, CU_STREAM_CAPTURE_MODE_RELAXED);
  TELL(cuEventRecord, event, a);
  TELL(cuStreamWaitEvent, b, event, 0);
  note_capture(a);
  note_capture(b);
  end_capture(a);
  end_capture(b);
}

PROGRAM(capture_event_after_its_capture) {
  const CUstream stream = p.stream();
  CUevent event = nullptr;
  MUST(cuEventCreate, &event, CU_EVENT_DISABLE_TIMING);
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  TELL(cuEventRecord, event, stream);
  end_capture(stream);
  TELL(cuEventQuery, event);
  TELL(cuEventDestroy, event);
}

PROGRAM(capture_event_recorded_anew_after_its_capture) {
  const CUstream stream = p.stream();
  const CUevent event = p.event();
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  TELL(cuEventRecord, event, stream);
  end_capture(stream);
  TELL(cuEventRecord, event, stream);
  TELL(cuEventSynchronize, event);
  TELL(cuEventQuery, event);
}

PROGRAM(capture_external_event) {
  const Words data = p.words(64, 1);
  const CUstream stream = p.stream();
  const CUevent event = p.event();
  CUgraph graph = nullptr;
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  launch(p.kernel("mix"), {1, 64}, stream, data.address, data.address, 64u, 1u);
  TELL(cuEventRecordWithFlags, event, stream, CU_EVENT_RECORD_EXTERNAL);
  TELL(cuStreamEndCapture, stream, &graph);
  note_kinds(graph);
  run_graph(graph, stream);
  TELL(cuEventQuery, event);
  MUST(cuGraphDestroy, graph);
}

PROGRAM(capture_of_all_kinds_of_work) {
  static unsigned called;
  called = 0;
  const Words a = p.words(64, 1), b = p.words(64, 2);
  const CUstream stream = p.stream();
  CUgraph graph = nullptr;
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  launch(p.kernel("mix"), {1, 64}, stream, a.address, a.address, 64u, 1u);
  TELL(cuMemsetD32Async, b.address, 7, 32, stream);
  TELL(cuMemcpyDtoDAsync, b.at(32), a.address, 128, stream);
  TELL(
      cuLaunchHostFunc, stream, [](void* count) { ++*static_cast<unsigned*>(count); }, &called);
  TELL(cuStreamEndCapture, stream, &graph);
  note_kinds(graph);
  note_shape(graph);
  run_graph(graph, stream);
  note_hash("b", b);
  note("called %u", called);
  MUST(cuGraphDestroy, graph);
}

PROGRAM(capture_of_zero_sizes) {
  const Words a = p.words(64, 1);
  const CUstream stream = p.stream();
  CUgraph graph = nullptr;
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  TELL(cuMemsetD32Async, a.address, 7, 0, stream);
  TELL(cuMemcpyDtoDAsync, a.at(32), a.address, 0, stream);
  TELL(cuStreamEndCapture, stream, &graph);
  note_shape(graph);
  MUST(cuGraphDestroy, graph);
}

PROGRAM(capture_to_a_graph) {
  const Words data = p.words(64, 1);
  const CUstream stream = p.stream();
  CUgraph graph = nullptr, given = nullptr;
  CUgraphNode first = nullptr;
  MUST(cuGraphCreate, &graph, 0);
  MUST(cuGraphAddEmptyNode, &first, graph, nullptr, 0);
  TELL(cuStreamBeginCaptureToGraph, stream, graph, &first, nullptr, 1, CU_STREAM_CAPTURE_MODE_RELAXED);
  launch(p.kernel("mix"), {1, 64}, stream, data.address, data.address, 64u, 1u);
  TELL(cuStreamEndCapture, stream, &given);
  note("same graph %d", given == graph);
  note_shape(graph);
  run_graph(graph, stream);
  note_hash("data", data);
  MUST(cuGraphDestroy, graph);
}

PROGRAM(capture_update_dependencies) {
  const Words data = p.words(64, 1);
  const CUstream stream = p.stream();
  CUgraph graph = nullptr;
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  launch(p.kernel("mix"), {1, 64}, stream, data.address, data.address, 64u, 1u);
  TELL(cuStreamUpdateCaptureDependencies, stream, nullptr, nullptr, 0, CU_STREAM_SET_CAPTURE_DEPENDENCIES);
  launch(p.kernel("mix"), {1, 64}, stream, data.address, data.address, 64u, 1u);
  TELL(cuStreamEndCapture, stream, &graph);
  note("graph %d", graph != nullptr);
  if (graph == nullptr) return;
  note_shape(graph);
  MUST(cuGraphDestroy, graph);
}

PROGRAM(capture_programmatic_edge) {
  const Words data = p.words(64, 1);
  const CUstream stream = p.stream();
  CUgraph graph = nullptr;
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  launch(p.kernel("mix"), {1, 64}, stream, data.address, data.address, 64u, 1u);
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attribute.value.programmaticStreamSerializationAllowed = 1;
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.blockDimX = 64;
  config.hStream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  TELL(cuLaunchKernelEx, &config, p.kernel("empty"), nullptr, nullptr);
  TELL(cuStreamEndCapture, stream, &graph);
  std::size_t count = 1;
  CUgraphNode from{}, to{};
  CUgraphEdgeData edge{};
  TELL(cuGraphGetEdges, graph, &from, &to, &edge, &count);
  note("edges %zu ports %d %d type %d", count, edge.from_port, edge.to_port, edge.type);
  MUST(cuGraphDestroy, graph);
}

}  // namespace refrain::tests::conformance
