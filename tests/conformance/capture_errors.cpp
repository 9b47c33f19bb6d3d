// Captures: calls that are not permitted, and what becomes of the capture.
#include "tests/conformance/capturing.h"

namespace refrain::tests::conformance {

PROGRAM(capture_synchronize_stream) {
  const CUstream stream = p.stream();
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  TELL(cuStreamSynchronize, stream);
  note_capture(stream);
  end_capture(stream);
  note_capture(stream);
}

PROGRAM(capture_query_stream) {
  const CUstream stream = p.stream();
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  TELL(cuStreamQuery, stream);
  note_capture(stream);
  end_capture(stream);
}

PROGRAM(capture_synchronize_context) {
  const CUstream stream = p.stream();
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  TELL(cuCtxSynchronize);
  note_capture(stream);
  end_capture(stream);
}

PROGRAM(capture_thread_local_synchronize_context) {
  const CUstream stream = p.stream();
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  TELL(cuCtxSynchronize);
  note_capture(stream);
  end_capture(stream);
}

PROGRAM(capture_synchronize_another_stream) {
  const CUstream stream = p.stream(), other = p.stream();
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  TELL(cuStreamSynchronize, other);
  TELL(cuStreamQuery, other);
  note_capture(stream);
  end_capture(stream);
}

PROGRAM(capture_global_synchronize_another_stream) {
  const CUstream stream = p.stream(), other = p.stream();
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  TELL(cuStreamSynchronize, other);
  note_capture(stream);
  end_capture(stream);
}

PROGRAM(capture_query_captured_event) {
  const CUstream stream = p.stream();
  const CUevent event = p.event();
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  TELL(cuEventRecord, event, stream);
  TELL(cuEventQuery, event);
  note_capture(stream);
  end_capture(stream);
}

PROGRAM(capture_synchronize_captured_event) {
  const CUstream stream = p.stream();
  const CUevent event = p.event();
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  TELL(cuEventRecord, event, stream);
  TELL(cuEventSynchronize, event);
  note_capture(stream);
  end_capture(stream);
}

PROGRAM(capture_flags_of_the_stream) {
  const CUstream stream = p.stream();
  unsigned flags = 0;
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  TELL(cuStreamGetFlags, stream, &flags);
  note_capture(stream);
  end_capture(stream);
}

PROGRAM(capture_priority_of_the_stream) {
  const CUstream stream = p.stream();
  int priority = 9;
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  TELL(cuStreamGetPriority, stream, &priority);
  note("priority %d", priority);
  note_capture(stream);
  end_capture(stream);
}

PROGRAM(capture_id_of_the_stream) {
  const CUstream stream = p.stream();
  unsigned long long id = 0;
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  TELL(cuStreamGetId, stream, &id);
  note_capture(stream);
  end_capture(stream);
}

PROGRAM(capture_refused_launch) {
  const Words data = p.words(64, 1);
  const CUstream stream = p.stream();
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  launch(p.kernel("mix"), {0, 64}, stream, data.address, data.address, 64u, 1u);
  note_capture(stream);
  end_capture(stream);
}

PROGRAM(capture_invalidated_stays_invalid) {
  const Words data = p.words(64, 1);
  const CUstream stream = p.stream();
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  TELL(cuStreamSynchronize, stream);
  launch(p.kernel("mix"), {1, 64}, stream, data.address, data.address, 64u, 1u);
  TELL(cuMemsetD32Async, data.address, 0, 4, stream);
  end_capture(stream);
  launch(p.kernel("mix"), {1, 64}, stream, data.address, data.address, 64u, 1u);
  TELL(cuStreamSynchronize, stream);
  note_words("data", data);
}

PROGRAM(capture_legacy_stream_while_a_blocking_one_captures) {
  const Words data = p.words(64, 1);
  const CUstream stream = p.stream(CU_STREAM_DEFAULT);
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  launch(p.kernel("mix"), {1, 64}, nullptr, data.address, data.address, 64u, 1u);
  note_capture(stream);
  end_capture(stream);
}

PROGRAM(capture_legacy_stream_while_a_non_blocking_one_captures) {
  const Words data = p.words(64, 1);
  const CUstream stream = p.stream();
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  launch(p.kernel("mix"), {1, 64}, nullptr, data.address, data.address, 64u, 1u);
  TELL(cuStreamSynchronize, nullptr);
  note_capture(stream);
  end_capture(stream);
  note_words("data", data);
}

PROGRAM(capture_status_of_the_legacy_stream) {
  const CUstream stream = p.stream(CU_STREAM_DEFAULT);
  note_capture(nullptr);
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  note_capture(nullptr);
  note_capture(stream);
  end_capture(stream);
}

PROGRAM(capture_stream_destroyed) {
  CUstream stream = nullptr;
  MUST(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  TELL(cuStreamDestroy, stream);
}

PROGRAM(capture_upload) {
  const CUstream stream = p.stream();
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  MUST(cuGraphCreate, &graph, 0);
  MUST(cuGraphInstantiate, &exec, graph, 0);
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  TELL(cuGraphUpload, exec, stream);
  note_capture(stream);
  end_capture(stream);
  MUST(cuGraphExecDestroy, exec);
  MUST(cuGraphDestroy, graph);
}

PROGRAM(capture_graph_launch) {
  const CUstream stream = p.stream();
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec exec = nullptr;
  MUST(cuGraphCreate, &graph, 0);
  MUST(cuGraphAddEmptyNode, &node, graph, nullptr, 0);
  MUST(cuGraphInstantiate, &exec, graph, 0);
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  TELL(cuGraphLaunch, exec, stream);
  CUgraph captured = nullptr;
  note_capture(stream);
  if (TELL(cuStreamEndCapture, stream, &captured) == CUDA_SUCCESS) {
    note_kinds(captured);
    MUST(cuGraphDestroy, captured);
  }
  MUST(cuGraphExecDestroy, exec);
  MUST(cuGraphDestroy, graph);
}

PROGRAM(capture_add_callback) {
  const CUstream stream = p.stream();
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  TELL(
      cuStreamAddCallback, stream, [](CUstream, CUresult, void*) {}, nullptr, 0);
  note_capture(stream);
  end_capture(stream);
}

PROGRAM(capture_synchronous_copy) {
  const Words data = p.words(16, 1);
  const CUstream stream = p.stream();
  unsigned value = 0;
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  TELL(cuMemcpyDtoH, &value, data.address, 4);
  note("value %u", value);
  note_capture(stream);
  end_capture(stream);
}

PROGRAM(capture_global_synchronous_copy) {
  const Words data = p.words(16, 1);
  const CUstream stream = p.stream();
  unsigned value = 0;
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  TELL(cuMemcpyDtoH, &value, data.address, 4);
  note_capture(stream);
  end_capture(stream);
}

PROGRAM(capture_global_instantiate) {
  const CUstream stream = p.stream();
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  MUST(cuGraphCreate, &graph, 0);
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  TELL(cuGraphInstantiate, &exec, graph, 0);
  note_capture(stream);
  end_capture(stream);
  if (exec != nullptr) MUST(cuGraphExecDestroy, exec);
  MUST(cuGraphDestroy, graph);
}

}  // namespace refrain::tests::conformance
