// Events: records, waits, queries, times.
#include "tests/conformance/program.h"

namespace refrain::tests::conformance {

PROGRAM(event_create_flags) {
  for (unsigned flags : {0u, 1u, 2u, 3u, 4u, 6u, 7u}) {
    CUevent event = nullptr;
    note("flags %u", flags);
    if (TELL(cuEventCreate, &event, flags) == CUDA_SUCCESS) TELL(cuEventDestroy, event);
  }
}

PROGRAM(event_create_unknown_flags) {
  CUevent event = nullptr;
  TELL(cuEventCreate, &event, 0x100u);
  TELL(cuEventCreate, nullptr, 0u);
}

PROGRAM(event_never_recorded) {
  CUevent event = nullptr;
  MUST(cuEventCreate, &event, CU_EVENT_DISABLE_TIMING);
  TELL(cuEventQuery, event);
  TELL(cuEventSynchronize, event);
  TELL(cuStreamWaitEvent, p.stream(), event, 0);
  TELL(cuStreamSynchronize, p.stream());
  TELL(cuEventDestroy, event);
}

PROGRAM(event_query_before_and_after) {
  const Words out = p.words(1, 0);
  const Flag go = p.flag();
  const CUstream stream = p.stream();
  const CUevent event = p.event();
  launch(p.kernel("wait_for"), {1, 1}, stream, go.device, 1u, out.address);
  TELL(cuEventRecord, event, stream);
  TELL(cuEventQuery, event);
  go.set(1);
  TELL(cuEventSynchronize, event);
  TELL(cuEventQuery, event);
  TELL(cuStreamSynchronize, stream);
}

PROGRAM(event_orders_two_streams) {
  const Words data = p.words(64, 3), out = p.words(1, 0);
  const Flag go = p.flag();
  const CUstream first = p.stream(), second = p.stream();
  const CUevent event = p.event();
  launch(p.kernel("wait_for"), {1, 1}, first, go.device, 1u, out.address);
  launch(p.kernel("mix"), {1, 64}, first, data.address, data.address, 64u, 1u);
  TELL(cuEventRecord, event, first);
  TELL(cuStreamWaitEvent, second, event, 0);
  launch(p.kernel("mix"), {1, 64}, second, data.address, data.address, 64u, 2u);
  TELL(cuStreamQuery, second);
  go.set(1);
  TELL(cuStreamSynchronize, second);
  note_hash("data", data);
}

PROGRAM(event_wait_takes_the_record_of_the_call) {
  // A record after the wait does not count for it.
  const Words first_out = p.words(1, 0), second_out = p.words(1, 0), data = p.words(64, 3);
  const Flag first_go = p.flag(), second_go = p.flag();
  const CUstream a = p.stream(), b = p.stream();
  const CUevent event = p.event();
  launch(p.kernel("wait_for"), {1, 1}, a, first_go.device, 1u, first_out.address);
  TELL(cuEventRecord, event, a);
  TELL(cuStreamWaitEvent, b, event, 0);
  launch(p.kernel("wait_for"), {1, 1}, a, second_go.device, 1u, second_out.address);
  TELL(cuEventRecord, event, a);
  launch(p.kernel("mix"), {1, 64}, b, data.address, data.address, 64u, 2u);
  first_go.set(1);
  TELL(cuStreamSynchronize, b);
  TELL(cuEventQuery, event);
  second_go.set(1);
  TELL(cuEventSynchronize, event);
  note_hash("data", data);
}

PROGRAM(event_recorded_again_on_another_stream) {
  const Words out = p.words(1, 0);
  const Flag go = p.flag();
  const CUstream held = p.stream(), idle = p.stream();
  const CUevent event = p.event();
  launch(p.kernel("wait_for"), {1, 1}, held, go.device, 1u, out.address);
  TELL(cuEventRecord, event, held);
  TELL(cuEventQuery, event);
  TELL(cuEventRecord, event, idle);
  TELL(cuEventSynchronize, event);
  TELL(cuEventQuery, event);
  go.set(1);
  TELL(cuStreamSynchronize, held);
}

PROGRAM(event_elapsed_time) {
  const Words data = p.words(64, 1);
  const CUstream stream = p.stream();
  const CUevent start = p.event(CU_EVENT_DEFAULT), end = p.event(CU_EVENT_DEFAULT);
  float milliseconds = -1;
  TELL(cuEventRecord, start, stream);
  launch(p.kernel("mix"), {1, 64}, stream, data.address, data.address, 64u, 2u);
  TELL(cuEventRecord, end, stream);
  TELL(cuEventSynchronize, end);
  TELL(cuEventElapsedTime, &milliseconds, start, end);
  note("not negative %d", milliseconds >= 0);
  TELL(cuEventElapsedTime, &milliseconds, start, start);
  note("zero %d", milliseconds == 0);
}

PROGRAM(event_elapsed_time_not_ready) {
  const Words out = p.words(1, 0);
  const Flag go = p.flag();
  const CUstream stream = p.stream();
  const CUevent start = p.event(CU_EVENT_DEFAULT), end = p.event(CU_EVENT_DEFAULT);
  float milliseconds = -1;
  TELL(cuEventRecord, start, stream);
  launch(p.kernel("wait_for"), {1, 1}, stream, go.device, 1u, out.address);
  TELL(cuEventRecord, end, stream);
  TELL(cuEventElapsedTime, &milliseconds, start, end);
  go.set(1);
  TELL(cuStreamSynchronize, stream);
  TELL(cuEventElapsedTime, &milliseconds, start, end);
}

PROGRAM(event_elapsed_time_without_timing) {
  const CUstream stream = p.stream();
  const CUevent start = p.event(CU_EVENT_DEFAULT), end = p.event(CU_EVENT_DISABLE_TIMING);
  float milliseconds = -1;
  TELL(cuEventRecord, start, stream);
  TELL(cuEventRecord, end, stream);
  TELL(cuStreamSynchronize, stream);
  TELL(cuEventElapsedTime, &milliseconds, start, end);
}

PROGRAM(event_elapsed_time_never_recorded) {
  CUevent start = nullptr, end = nullptr;
  float milliseconds = -1;
  MUST(cuEventCreate, &start, CU_EVENT_DEFAULT);
  MUST(cuEventCreate, &end, CU_EVENT_DEFAULT);
  TELL(cuEventElapsedTime, &milliseconds, start, end);
  TELL(cuEventDestroy, start);
  TELL(cuEventDestroy, end);
}

PROGRAM(event_null_handles) {
  TELL(cuEventRecord, nullptr, p.stream());
  TELL(cuEventQuery, nullptr);
  TELL(cuEventDestroy, nullptr);
  TELL(cuStreamWaitEvent, p.stream(), nullptr, 0);
}

PROGRAM(event_record_flags) {
  const CUstream stream = p.stream();
  const CUevent event = p.event();
  TELL(cuEventRecordWithFlags, event, stream, CU_EVENT_RECORD_DEFAULT);
  TELL(cuEventRecordWithFlags, event, stream, 8u);
  TELL(cuStreamWaitEvent, stream, event, 8u);
}

PROGRAM(event_record_external_outside_of_a_capture) {
  TELL(cuEventRecordWithFlags, p.event(), p.stream(), CU_EVENT_RECORD_EXTERNAL);
}

PROGRAM(event_wait_external_outside_of_a_capture) {
  const CUevent event = p.event();
  TELL(cuEventRecord, event, p.stream());
  TELL(cuStreamWaitEvent, p.stream(), event, CU_EVENT_WAIT_EXTERNAL);
}

PROGRAM(event_destroy_before_it_happened) {
  const Words out = p.words(1, 0);
  const Flag go = p.flag();
  const CUstream stream = p.stream();
  CUevent event = nullptr;
  MUST(cuEventCreate, &event, CU_EVENT_DISABLE_TIMING);
  launch(p.kernel("wait_for"), {1, 1}, stream, go.device, 1u, out.address);
  TELL(cuEventRecord, event, stream);
  TELL(cuEventDestroy, event);
  go.set(1);
  TELL(cuStreamSynchronize, stream);
}

PROGRAM(event_waits_of_another_thread) {
  const Words out = p.words(1, 0);
  const Flag go = p.flag(), arrived = p.flag();
  const CUstream stream = p.stream();
  const CUevent event = p.event(CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING);
  launch(p.kernel("wait_for"), {1, 1}, stream, go.device, 1u, out.address);
  TELL(cuEventRecord, event, stream);
  Worker worker([&] {
    TELL(cuCtxSetCurrent, p.context());
    arrived.set(1);
    TELL(cuEventSynchronize, event);
    TELL(cuEventQuery, event);
  });
  note("the other thread is there %d", arrived.wait(1));
  go.set(1);
  worker.join();
  note_words("out", out, 0, 1);
}

}  // namespace refrain::tests::conformance
