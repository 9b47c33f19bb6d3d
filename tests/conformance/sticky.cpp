// Faults of kernels: the error stays, in each call that asks, until the process ends. Each in a program of its own.
#include "tests/conformance/program.h"

namespace refrain::tests::conformance {
namespace {

constexpr CUdeviceptr nowhere = 0x10;  // mapped in no context

void fault(Program& p, CUstream stream) {
  launch(p.kernel("fill"), {1, 32}, stream, nowhere, 32u, 1u);
  TELL(cuStreamSynchronize, stream);
}

}  // namespace

PROGRAM_ONCE(sticky_error_in_later_calls) {
  const CUstream stream = p.stream();
  const CUfunction empty = p.kernel("empty");
  CUdeviceptr memory = 0;
  fault(p, stream);
  TELL(cuStreamSynchronize, stream);
  TELL(cuStreamQuery, stream);
  TELL(cuCtxSynchronize);
  TELL(cuMemAlloc, &memory, 64);
  launch(empty, {1, 1}, stream);
}

PROGRAM_ONCE(sticky_error_of_events) {
  const CUstream stream = p.stream();
  const CUevent event = p.event(), before = p.event();
  TELL(cuEventRecord, before, stream);
  TELL(cuEventSynchronize, before);
  const Words out = p.words(1, 0);
  const Flag go = p.flag();
  launch(p.kernel("wait_for"), {1, 1}, stream, go.device, 1u, out.address);  // the record comes before the fault
  launch(p.kernel("fill"), {1, 32}, stream, nowhere, 32u, 1u);
  TELL(cuEventRecord, event, stream);
  go.set(1);
  TELL(cuEventSynchronize, event);
  TELL(cuEventQuery, event);
}

PROGRAM_ONCE(sticky_error_of_copies) {
  const CUstream stream = p.stream();
  const Words data = p.words(16, 1);
  unsigned value = 0;
  fault(p, stream);
  TELL(cuMemcpyDtoH, &value, data.address, 4);
  TELL(cuMemsetD32Async, data.address, 1, 4, stream);
}

PROGRAM_ONCE(sticky_error_and_questions) {
  const CUstream stream = p.stream();
  CUcontext context = nullptr;
  int value = 0;
  unsigned flags = 0;
  fault(p, stream);
  TELL(cuCtxGetCurrent, &context);
  TELL(cuDeviceGetAttribute, &value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, p.device());
  TELL(cuStreamGetFlags, stream, &flags);
}

PROGRAM_ONCE(sticky_error_and_destruction) {
  CUstream stream = nullptr;
  CUevent event = nullptr;
  MUST(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  MUST(cuEventCreate, &event, CU_EVENT_DISABLE_TIMING);
  fault(p, p.stream());
  TELL(cuStreamDestroy, stream);
  TELL(cuEventDestroy, event);
}

PROGRAM_ONCE(sticky_error_in_a_graph) {
  const CUstream stream = p.stream();
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  MUST(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  launch(p.kernel("fill"), {1, 32}, stream, nowhere, 32u, 1u);
  MUST(cuStreamEndCapture, stream, &graph);
  MUST(cuGraphInstantiate, &exec, graph, 0);
  TELL(cuGraphLaunch, exec, stream);
  TELL(cuStreamSynchronize, stream);
  TELL(cuGraphLaunch, exec, stream);
}

}  // namespace refrain::tests::conformance
