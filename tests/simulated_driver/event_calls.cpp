// cuEvent*.
#include "tests/simulated_driver/capture.h"
#include "tests/simulated_driver/context.h"
#include "tests/simulated_driver/entry.h"
#include "tests/simulated_driver/event.h"
#include "tests/simulated_driver/pool.h"

using namespace refrain::tests::simulated;

namespace {

constexpr unsigned known_flags = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;

CUresult record(CUevent handle, CUstream stream_handle, unsigned flags) {
  if (flags > CU_EVENT_RECORD_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Stream> stream;
  if (const CUresult result = find_stream(stream_handle, &stream); result != CUDA_SUCCESS) return result;
  const auto event = events().find(handle);
  if (event == nullptr || event->context != stream->context) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capturing.load()) {
    if (flags == CU_EVENT_RECORD_EXTERNAL) return issue(stream, EventRecord{event, nullptr});
    return capture_record(*stream, *event);
  }
  if (flags == CU_EVENT_RECORD_EXTERNAL) return CUDA_ERROR_ILLEGAL_STATE;
  if (const CUresult result = check_legacy_use(*stream); result != CUDA_SUCCESS) return result;
  forget_capture(*event);
  // The place in the stream and the event's newest record change together, else two threads that record would disagree.
  const std::lock_guard lock(event->recording);
  const auto made = event->begin_record();
  return submit(*stream, EventRecord{event, made});
}

/// What every call that asks for an event's progress checks first.
CUresult find_for_progress(CUevent handle, std::shared_ptr<Event>* event) {
  std::shared_ptr<Context> context;
  const CUresult current = current_context_even_failed(&context);
  if (current == CUDA_ERROR_CONTEXT_IS_DESTROYED) return current;
  // Seen on driver 580: an event has its context, no current one is needed.
  *event = events().find(handle);
  if (*event == nullptr) return current != CUDA_SUCCESS ? current : CUDA_ERROR_INVALID_HANDLE;
  if (event_is_captured(**event)) return refuse_captured_event(**event, true);
  return forbid_unsafe_call();
}

CUresult elapsed(float* milliseconds, CUevent start_handle, CUevent end_handle) {
  const auto start = events().find(start_handle);
  const auto end = events().find(end_handle);
  if (start == nullptr || end == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (milliseconds == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  for (const auto& event : {start, end}) {
    if (event_is_captured(*event)) return refuse_captured_event(*event, false);
  }
  if (((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING) != 0) return CUDA_ERROR_INVALID_HANDLE;
  const auto from = start->newest();
  const auto to = end->newest();
  if (from == nullptr || to == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (!from->reached() || !to->reached()) return CUDA_ERROR_NOT_READY;
  if (const CUresult error = start->context->error.load(); error != CUDA_SUCCESS) return error;
  *milliseconds = static_cast<float>(static_cast<double>(to->nanoseconds() - from->nanoseconds()) / 1e6);
  return CUDA_SUCCESS;
}

CUresult destroy(CUevent handle) {
  const auto event = events().remove(handle);
  return event != nullptr ? event->context->error.load() : CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace

SIM(cuEventCreate)(CUevent* out, unsigned flags) {
  std::shared_ptr<Context> context;
  if (out == nullptr || (flags & ~known_flags) != 0) return CUDA_ERROR_INVALID_VALUE;
  if ((flags & CU_EVENT_INTERPROCESS) != 0 && (flags & CU_EVENT_DISABLE_TIMING) == 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = current_context(&context); result != CUDA_SUCCESS) return result;
  auto event = std::make_shared<Event>();
  event->flags = flags;
  event->context = context;
  *out = events().add(event);
  return *out != nullptr ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
SIM(cuEventDestroy_v2)(CUevent event) { return destroy(event); }
SIM(cuEventDestroy)(CUevent event) { return destroy(event); }
SIM(cuEventRecord)(CUevent event, CUstream stream) { return record(event, stream, CU_EVENT_RECORD_DEFAULT); }
SIM(cuEventRecordWithFlags)(CUevent event, CUstream stream, unsigned flags) { return record(event, stream, flags); }
SIM(cuEventQuery)(CUevent handle) {
  std::shared_ptr<Event> event;
  if (const CUresult result = find_for_progress(handle, &event); result != CUDA_SUCCESS) return result;
  const auto record = event->newest();
  if (record != nullptr && !record->reached()) return CUDA_ERROR_NOT_READY;
  return event->context->error.load();
}
SIM(cuEventSynchronize)(CUevent handle) {
  std::shared_ptr<Event> event;
  if (const CUresult result = find_for_progress(handle, &event); result != CUDA_SUCCESS) return result;
  if (const auto record = event->newest(); record != nullptr) record->wait();
  trim_pools();
  return event->context->error.load();
}
SIM(cuEventElapsedTime)(float* milliseconds, CUevent start, CUevent end) { return elapsed(milliseconds, start, end); }
SIM(cuEventElapsedTime_v2)(float* milliseconds, CUevent start, CUevent end) {
  return elapsed(milliseconds, start, end);
}
