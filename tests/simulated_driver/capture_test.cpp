// Stream capture: what is recorded, what is forbidden, how it ends.
#include <thread>

#include "tests/simulated_driver/test_kernels.h"

namespace refrain::tests {
namespace {

constexpr CUstreamCaptureMode global = CU_STREAM_CAPTURE_MODE_GLOBAL;
constexpr CUstreamCaptureMode thread_local_mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
constexpr CUstreamCaptureMode relaxed = CU_STREAM_CAPTURE_MODE_RELAXED;

class SimulatedDriverCapture : public SimulatedDriver {
 protected:
  CUresult begin(CUstreamCaptureMode mode) { return CU(cuStreamBeginCapture)(stream, mode); }
  CUresult end() {
    graph = nullptr;
    return CU(cuStreamEndCapture)(stream, &graph);
  }
  CUstreamCaptureStatus status(CUstream of) {
    CUstreamCaptureStatus now{};
    EXPECT_EQ(CU(cuStreamIsCapturing)(of, &now), CUDA_SUCCESS);
    return now;
  }
  size_t node_count() {
    size_t count = 0;
    EXPECT_EQ(CU(cuGraphGetNodes)(graph, nullptr, &count), CUDA_SUCCESS);
    return count;
  }
  void elsewhere(const std::function<void()>& work) {
    std::thread([&] {
      CU(cuCtxSetCurrent)(context);
      work();
    }).join();
  }
  CUgraph graph = nullptr;
};

TEST_F(SimulatedDriverCapture, work_becomes_nodes_and_does_not_run) {
  OK(begin(relaxed));
  OK(append(buffer, 1, stream));
  OK(CU(cuMemsetD8Async)(buffer + 64, 1, 4, stream));
  OK(CU(cuMemcpyDtoDAsync)(buffer + 128, buffer, 4, stream));
  EXPECT_EQ(status(stream), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  OK(end());
  EXPECT_EQ(status(stream), CU_STREAM_CAPTURE_STATUS_NONE);
  EXPECT_EQ(node_count(), 3u);
  EXPECT_EQ(read(buffer), 0u);
  CUgraphExec exec = nullptr;
  OK(CU(cuGraphInstantiateWithFlags)(&exec, graph, 0));
  OK(CU(cuGraphLaunch)(exec, stream));
  OK(CU(cuStreamSynchronize)(stream));
  EXPECT_EQ(read(buffer + 128), 1u);
}

TEST_F(SimulatedDriverCapture, capture_info_names_the_last_node) {
  OK(begin(relaxed));
  CUstreamCaptureStatus now{};
  cuuint64_t id = 0;
  const CUgraphNode* last = nullptr;
  const CUgraphEdgeData* edges = nullptr;
  size_t count = 9;
  OK(CU(cuStreamGetCaptureInfo)(stream, &now, &id, &graph, &last, &edges, &count));
  EXPECT_EQ(count, 0u);
  OK(append(buffer, 1, stream));
  OK(CU(cuStreamGetCaptureInfo)(stream, &now, &id, &graph, &last, &edges, &count));
  ASSERT_EQ(count, 1u);
  EXPECT_NE(id, 0u);
  CUgraphNode node = nullptr;
  size_t one = 1;
  OK(CU(cuGraphGetNodes)(graph, &node, &one));
  EXPECT_EQ(last[0], node);
  OK(end());
}

TEST_F(SimulatedDriverCapture, streams_fork_and_join_by_events) {
  CUstream side = nullptr;
  CUevent event = nullptr;
  OK(CU(cuStreamCreate)(&side, CU_STREAM_NON_BLOCKING));
  OK(CU(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING));
  OK(begin(relaxed));
  OK(append(buffer, 1, stream));
  OK(CU(cuEventRecord)(event, stream));
  OK(CU(cuStreamWaitEvent)(side, event, 0));
  EXPECT_EQ(status(side), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  OK(append(buffer + 4, 2, side));
  FAILS(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, CU(cuStreamEndCapture)(side, &graph));
  FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, end());
  OK(begin(relaxed));
  OK(append(buffer, 1, stream));
  OK(CU(cuEventRecord)(event, stream));
  OK(CU(cuStreamWaitEvent)(side, event, 0));
  OK(append(buffer + 4, 2, side));
  FAILS(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, end());
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(status(side), CU_STREAM_CAPTURE_STATUS_NONE);
  OK(begin(relaxed));
  OK(append(buffer, 1, stream));
  OK(CU(cuEventRecord)(event, stream));
  OK(CU(cuStreamWaitEvent)(side, event, 0));
  OK(append(buffer + 4, 2, side));
  OK(CU(cuEventRecord)(event, side));
  OK(CU(cuStreamWaitEvent)(stream, event, 0));
  OK(append(buffer, 3, stream));
  OK(end());
  size_t edges = 0;
  OK(CU(cuGraphGetEdges)(graph, nullptr, nullptr, nullptr, &edges));
  EXPECT_EQ(edges, 3u);  // 1 before 2, 1 before 3, 2 before 3
  FAILS(CUDA_ERROR_INVALID_VALUE, CU(cuEventQuery)(event));
  OK(CU(cuStreamDestroy)(side));
  OK(CU(cuEventDestroy)(event));
}

// As driver 580 answered, in every mode.
TEST_F(SimulatedDriverCapture, O7_the_question_for_a_stream_s_flags_ends_its_capture) {
  unsigned flags = 0;
  for (CUstreamCaptureMode mode : {global, thread_local_mode, relaxed}) {
    OK(begin(mode));
    FAILS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, CU(cuStreamGetFlags)(stream, &flags));
    EXPECT_EQ(status(stream), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, end());
  }
}

TEST_F(SimulatedDriverCapture, O6_unsafe_calls_invalidate_a_capture_of_this_thread) {
  CUdeviceptr address = 0;
  for (CUstreamCaptureMode mode : {global, thread_local_mode}) {
    OK(begin(mode));
    FAILS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, CU(cuMemAlloc)(&address, 64));
    EXPECT_EQ(status(stream), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, append(buffer, 1, stream));
    FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, end());
  }
  OK(begin(relaxed));
  FAILS(CUDA_SUCCESS, CU(cuMemAlloc)(&address, 64));
  FAILS(CUDA_SUCCESS, CU(cuMemFree)(address));
  OK(end());
  OK(begin(thread_local_mode));
  CUstreamCaptureMode mode = relaxed;
  OK(CU(cuThreadExchangeStreamCaptureMode)(&mode));
  EXPECT_EQ(mode, global);
  FAILS(CUDA_SUCCESS, CU(cuMemAlloc)(&address, 64));
  FAILS(CUDA_SUCCESS, CU(cuMemFree)(address));
  OK(CU(cuThreadExchangeStreamCaptureMode)(&mode));
  EXPECT_EQ(mode, relaxed);
  OK(end());
}

TEST_F(SimulatedDriverCapture, O7_a_global_capture_forbids_unsafe_calls_of_other_threads) {
  CUdeviceptr address = 0;
  OK(begin(global));
  elsewhere([&] { FAILS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, CU(cuMemAlloc)(&address, 64)); });
  FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, end());
  OK(begin(thread_local_mode));
  elsewhere([&] {
    FAILS(CUDA_SUCCESS, CU(cuMemAlloc)(&address, 64));
    FAILS(CUDA_SUCCESS, CU(cuMemFree)(address));
  });
  OK(end());
  OK(begin(global));
  elsewhere([&] {
    CUstreamCaptureMode mode = thread_local_mode;
    CU(cuThreadExchangeStreamCaptureMode)(&mode);
    FAILS(CUDA_SUCCESS, CU(cuMemAlloc)(&address, 64));
    FAILS(CUDA_SUCCESS, CU(cuMemFree)(address));
  });
  OK(end());
}

TEST_F(SimulatedDriverCapture, waits_and_questions_about_captured_work_are_errors) {
  CUevent event = nullptr, done = nullptr;
  OK(CU(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING));
  OK(CU(cuEventCreate)(&done, CU_EVENT_DISABLE_TIMING));
  OK(CU(cuEventRecord)(done, stream));
  OK(CU(cuEventSynchronize)(done));
  OK(begin(relaxed));
  FAILS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, CU(cuStreamSynchronize)(stream));
  FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, end());
  OK(begin(relaxed));
  FAILS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, driver().cuCtxSynchronize());
  FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, end());
  OK(begin(relaxed));
  OK(CU(cuEventRecord)(event, stream));
  FAILS(CUDA_ERROR_CAPTURED_EVENT, CU(cuEventQuery)(event));
  FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, end());
  OK(begin(relaxed));
  FAILS(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, CU(cuStreamWaitEvent)(stream, done, 0));
  FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, end());
  OK(begin(relaxed));
  FAILS(CUDA_SUCCESS, CU(cuEventQuery)(done));
  FAILS(CUDA_ERROR_INVALID_VALUE, CU(cuLaunchKernel)(nothing, 0, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr));
  FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, end());
  FAILS(CUDA_ERROR_ILLEGAL_STATE, end());
  OK(CU(cuEventDestroy)(event));
  OK(CU(cuEventDestroy)(done));
}

TEST_F(SimulatedDriverCapture, the_legacy_stream_must_not_meet_a_capturing_blocking_stream) {
  CUstream blocking = nullptr;
  CUstreamCaptureStatus now{};
  OK(CU(cuStreamCreate)(&blocking, CU_STREAM_DEFAULT));
  OK(CU(cuStreamBeginCapture)(blocking, relaxed));
  FAILS(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, CU(cuStreamIsCapturing)(nullptr, &now));
  EXPECT_EQ(status(blocking), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  FAILS(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, append(buffer, 1, nullptr));
  FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, CU(cuStreamEndCapture)(blocking, &graph));
  FAILS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, CU(cuStreamBeginCapture)(nullptr, relaxed));
  OK(begin(relaxed));
  FAILS(CUDA_SUCCESS, append(buffer, 1, nullptr));
  OK(end());
  OK(CU(cuStreamDestroy)(blocking));
}

TEST_F(SimulatedDriverCapture, a_capture_ends_on_the_thread_that_began_it) {
  OK(begin(thread_local_mode));
  elsewhere([&] { FAILS(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, end()); });
  EXPECT_EQ(status(stream), CU_STREAM_CAPTURE_STATUS_NONE);
  OK(begin(relaxed));
  elsewhere([&] { FAILS(CUDA_SUCCESS, end()); });
  EXPECT_NE(graph, nullptr);
}

TEST_F(SimulatedDriverCapture, A3_programmatic_serialisation_becomes_an_edge) {
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attribute.value.programmaticStreamSerializationAllowed = 1;
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimX = config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  OK(begin(relaxed));
  OK(launch(nothing, stream, nullptr));
  OK(CU(cuLaunchKernelEx)(&config, nothing, nullptr, nullptr));
  OK(end());
  CUgraphNode from = nullptr, to = nullptr;
  CUgraphEdgeData data{};
  size_t count = 1;
  OK(CU(cuGraphGetEdges)(graph, &from, &to, &data, &count));
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(data.type, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
  EXPECT_EQ(data.from_port, CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC);
}

}  // namespace
}  // namespace refrain::tests
