// Streams: creation, flags, priorities, and which streams wait for which.
#include <chrono>
#include <thread>

#include "tests/conformance/program.h"

namespace refrain::tests::conformance {

PROGRAM(stream_create_and_destroy) {
  CUstream stream = nullptr;
  TELL(cuStreamCreate, &stream, CU_STREAM_DEFAULT);
  TELL(cuStreamQuery, stream);
  TELL(cuStreamSynchronize, stream);
  TELL(cuStreamDestroy, stream);
}

PROGRAM(stream_create_bad_arguments) {
  CUstream stream = nullptr;
  TELL(cuStreamCreate, nullptr, CU_STREAM_DEFAULT);
  TELL(cuStreamCreate, &stream, 0x80u);
  note("created %d", stream != nullptr);
}

PROGRAM(stream_flags) {
  for (unsigned flags : {unsigned{CU_STREAM_DEFAULT}, unsigned{CU_STREAM_NON_BLOCKING}}) {
    CUstream stream = nullptr;
    unsigned answer = 99;
    MUST(cuStreamCreate, &stream, flags);
    TELL(cuStreamGetFlags, stream, &answer);
    note("flags %u", answer);
    MUST(cuStreamDestroy, stream);
  }
}

PROGRAM(stream_flags_of_special_streams) {
  for (CUstream stream : {static_cast<CUstream>(nullptr), CU_STREAM_LEGACY, CU_STREAM_PER_THREAD}) {
    unsigned answer = 99;
    TELL(cuStreamGetFlags, stream, &answer);
    note("flags %u", answer);
  }
}

PROGRAM(stream_priority_range) {
  int least = 99, greatest = 99;
  TELL(cuCtxGetStreamPriorityRange, &least, &greatest);
  note("least %d greatest %d", least, greatest);
}

PROGRAM(stream_priorities_are_clamped) {
  for (int priority : {0, -1, -3, -5, -100, 7}) {
    CUstream stream = nullptr;
    int answer = 99;
    TELL(cuStreamCreateWithPriority, &stream, CU_STREAM_NON_BLOCKING, priority);
    TELL(cuStreamGetPriority, stream, &answer);
    note("asked %d got %d", priority, answer);
    MUST(cuStreamDestroy, stream);
  }
}

PROGRAM(stream_context_and_device) {
  CUcontext context = nullptr;
  CUdevice device = 99;
  TELL(cuStreamGetCtx, p.stream(), &context);
  note("same context %d", context == p.context());
  TELL(cuStreamGetCtx, nullptr, &context);
  note("same context %d", context == p.context());
  TELL(cuStreamGetDevice, p.stream(), &device);
  note("device %d", device);
}

PROGRAM(stream_ids_differ) {
  unsigned long long first = 0, second = 0, again = 0;
  const CUstream a = p.stream(), b = p.stream();
  TELL(cuStreamGetId, a, &first);
  TELL(cuStreamGetId, b, &second);
  TELL(cuStreamGetId, a, &again);
  note("differ %d same again %d", first != second, first == again);
}

PROGRAM(stream_order_within) {
  const Words data = p.words(256, 1);
  const CUstream stream = p.stream();
  for (unsigned i = 0; i < 10; ++i) launch(p.kernel("mix"), {}, stream, data.address, data.address, 256u, i);
  TELL(cuStreamSynchronize, stream);
  note_hash("data", data);
}

PROGRAM(stream_query_of_held_work) {
  const Words out = p.words(1, 0);
  const Flag go = p.flag();
  const CUstream stream = p.stream();
  launch(p.kernel("wait_for"), {1, 1}, stream, go.device, 1u, out.address);
  TELL(cuStreamQuery, stream);
  go.set(1);
  TELL(cuStreamSynchronize, stream);
  TELL(cuStreamQuery, stream);
  note_words("out", out, 0, 1);
}

PROGRAM(stream_query_of_another_stream) {
  const Words out = p.words(1, 0);
  const Flag go = p.flag();
  const CUstream held = p.stream(), idle = p.stream();
  launch(p.kernel("wait_for"), {1, 1}, held, go.device, 1u, out.address);
  TELL(cuStreamQuery, idle);
  TELL(cuStreamSynchronize, idle);
  TELL(cuStreamQuery, held);
  go.set(1);
  TELL(cuStreamSynchronize, held);
}

PROGRAM(legacy_stream_waits_for_blocking) {
  const Words out = p.words(1, 0);
  const Flag go = p.flag();
  const CUstream blocking = p.stream(CU_STREAM_DEFAULT);
  launch(p.kernel("wait_for"), {1, 1}, blocking, go.device, 1u, out.address);
  launch(p.kernel("mix"), {1, 1}, nullptr, out.address, out.address, 1u, 5u);
  TELL(cuStreamQuery, nullptr);
  go.set(1);
  TELL(cuStreamSynchronize, nullptr);
  note_words("out", out, 0, 1);
}

PROGRAM(blocking_waits_for_legacy_stream) {
  const Words out = p.words(1, 0);
  const Flag go = p.flag();
  const CUstream blocking = p.stream(CU_STREAM_DEFAULT);
  launch(p.kernel("wait_for"), {1, 1}, nullptr, go.device, 1u, out.address);
  launch(p.kernel("mix"), {1, 1}, blocking, out.address, out.address, 1u, 5u);
  TELL(cuStreamQuery, blocking);
  go.set(1);
  TELL(cuStreamSynchronize, blocking);
  note_words("out", out, 0, 1);
}

// A wait for an event is work of the legacy stream like any other: it comes behind what blocking streams have, and what
// they get later comes behind it.
static void wait_on_the_legacy_stream(Program& p, bool reached) {
  const Words data = p.words(1, 3), out = p.words(2, 0);
  const Flag go = p.flag(), record_go = p.flag();
  const CUstream held = p.stream(CU_STREAM_DEFAULT), later = p.stream(CU_STREAM_DEFAULT), recorder = p.stream();
  const CUevent event = p.event();
  launch(p.kernel("wait_for"), {1, 1}, held, go.device, 1u, out.address);
  if (reached) record_go.set(1);
  launch(p.kernel("wait_for"), {1, 1}, recorder, record_go.device, 1u, out.at(1));
  TELL(cuEventRecord, event, recorder);
  if (reached) TELL(cuEventSynchronize, event);
  TELL(cuStreamWaitEvent, nullptr, event, 0);
  launch(p.kernel("mix"), {1, 1}, later, data.address, data.address, 1u, 5u);
  record_go.set(1);
  TELL(cuStreamSynchronize, recorder);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // enough for work that waits for nothing
  TELL(cuStreamQuery, later);
  go.set(1);
  TELL(cuStreamSynchronize, later);
  note_words("data", data, 0, 1);
}

PROGRAM(legacy_stream_wait_for_an_event_orders) { wait_on_the_legacy_stream(p, false); }
PROGRAM(legacy_stream_wait_for_a_reached_event_orders) { wait_on_the_legacy_stream(p, true); }

PROGRAM(non_blocking_ignores_legacy_stream) {
  const Words out = p.words(1, 0), other = p.words(1, 3);
  const Flag go = p.flag();
  const CUstream stream = p.stream();
  launch(p.kernel("wait_for"), {1, 1}, nullptr, go.device, 1u, out.address);
  launch(p.kernel("mix"), {1, 1}, stream, other.address, other.address, 1u, 5u);
  TELL(cuStreamSynchronize, stream);
  TELL(cuStreamQuery, nullptr);
  go.set(1);
  TELL(cuStreamSynchronize, nullptr);
  note_words("out", out, 0, 1);
  note_words("other", other, 0, 1);
}

PROGRAM(legacy_query_sees_blocking_work) {
  const Words out = p.words(1, 0);
  const Flag go = p.flag();
  const CUstream blocking = p.stream(CU_STREAM_DEFAULT);
  launch(p.kernel("wait_for"), {1, 1}, blocking, go.device, 1u, out.address);
  TELL(cuStreamQuery, nullptr);
  go.set(1);
  TELL(cuStreamSynchronize, blocking);
  TELL(cuStreamQuery, nullptr);
}

PROGRAM(per_thread_stream_orders_itself) {
  const Words data = p.words(64, 9);
  for (unsigned i = 0; i < 4; ++i) {
    launch(p.kernel("mix"), {1, 64}, CU_STREAM_PER_THREAD, data.address, data.address, 64u, i);
  }
  TELL(cuStreamSynchronize, CU_STREAM_PER_THREAD);
  TELL(cuStreamQuery, CU_STREAM_PER_THREAD);
  note_hash("data", data);
}

PROGRAM(per_thread_stream_waits_for_legacy) {
  const Words out = p.words(1, 0);
  const Flag go = p.flag();
  launch(p.kernel("wait_for"), {1, 1}, CU_STREAM_LEGACY, go.device, 1u, out.address);
  launch(p.kernel("mix"), {1, 1}, CU_STREAM_PER_THREAD, out.address, out.address, 1u, 5u);
  TELL(cuStreamQuery, CU_STREAM_PER_THREAD);
  go.set(1);
  TELL(cuStreamSynchronize, CU_STREAM_PER_THREAD);
  note_words("out", out, 0, 1);
}

PROGRAM(per_thread_streams_of_two_threads) {
  const Words out = p.words(1, 0), other = p.words(64, 4);
  const Flag go = p.flag();
  launch(p.kernel("wait_for"), {1, 1}, CU_STREAM_PER_THREAD, go.device, 1u, out.address);
  Worker worker([&] {
    TELL(cuCtxSetCurrent, p.context());
    launch(p.kernel("mix"), {1, 64}, CU_STREAM_PER_THREAD, other.address, other.address, 64u, 2u);
    TELL(cuStreamSynchronize, CU_STREAM_PER_THREAD);
  });
  worker.join();
  TELL(cuStreamQuery, CU_STREAM_PER_THREAD);
  go.set(1);
  TELL(cuStreamSynchronize, CU_STREAM_PER_THREAD);
  note_hash("other", other);
}

PROGRAM(stream_destroy_with_work) {
  const Words out = p.words(1, 0);
  const Flag go = p.flag();
  CUstream stream = nullptr;
  MUST(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  launch(p.kernel("wait_for"), {1, 1}, stream, go.device, 1u, out.address);
  launch(p.kernel("mix"), {1, 1}, stream, out.address, out.address, 1u, 5u);
  TELL(cuStreamDestroy, stream);
  go.set(1);
  TELL(cuCtxSynchronize);
  note_words("out", out, 0, 1);
}

PROGRAM(stream_attributes) {
  const CUstream stream = p.stream();
  CUstreamAttrValue value{};
  TELL(cuStreamGetAttribute, stream, CU_STREAM_ATTRIBUTE_PRIORITY, &value);
  note("priority %d", value.priority);
  TELL(cuStreamGetAttribute, stream, CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN, &value);
  note("domain %d", static_cast<int>(value.memSyncDomain));
  value = {};
  value.syncPolicy = CU_SYNC_POLICY_YIELD;
  TELL(cuStreamSetAttribute, stream, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value);
  value = {};
  TELL(cuStreamGetAttribute, stream, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value);
  note("policy %d", static_cast<int>(value.syncPolicy));
}

PROGRAM(stream_attribute_unknown) {
  CUstreamAttrValue value{};
  TELL(cuStreamGetAttribute, p.stream(), static_cast<CUstreamAttrID>(200), &value);
  TELL(cuStreamSetAttribute, p.stream(), CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value);
}

PROGRAM(stream_copy_attributes) {
  const CUstream from = p.stream(), to = p.stream();
  CUstreamAttrValue value{};
  value.syncPolicy = CU_SYNC_POLICY_SPIN;
  TELL(cuStreamSetAttribute, from, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value);
  TELL(cuStreamCopyAttributes, to, from);
  value = {};
  TELL(cuStreamGetAttribute, to, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value);
  note("policy %d", static_cast<int>(value.syncPolicy));
}

PROGRAM(context_synchronize_waits_for_all) {
  const Words a = p.words(64, 1), b = p.words(64, 2);
  const CUstream first = p.stream(), second = p.stream();
  for (unsigned i = 0; i < 6; ++i) {
    launch(p.kernel("mix"), {1, 64}, first, a.address, a.address, 64u, i);
    launch(p.kernel("mix"), {1, 64}, second, b.address, b.address, 64u, i + 9);
  }
  TELL(cuCtxSynchronize);
  TELL(cuStreamQuery, first);
  TELL(cuStreamQuery, second);
  note_hash("a", a);
  note_hash("b", b);
}

}  // namespace refrain::tests::conformance
