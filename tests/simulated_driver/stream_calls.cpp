// cuStream* without capture and copies.
#include <algorithm>

#include "tests/simulated_driver/capture.h"
#include "tests/simulated_driver/context.h"
#include "tests/simulated_driver/entry.h"
#include "tests/simulated_driver/event.h"
#include "tests/simulated_driver/memory.h"
#include "tests/simulated_driver/pool.h"
#include "tests/simulated_driver/stream.h"

using namespace refrain::tests::simulated;

namespace {

CUresult create(CUstream* out, unsigned flags, int priority) {
  std::shared_ptr<Context> context;
  if (out == nullptr || (flags & ~unsigned{CU_STREAM_NON_BLOCKING}) != 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = current_context(&context); result != CUDA_SUCCESS) return result;
  const auto stream = create_stream(context, Stream::Kind::created, flags, std::clamp(priority, -5, 0));
  if (stream == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = stream->handle;
  return CUDA_SUCCESS;
}

CUresult destroy(CUstream handle) {
  if (handle == nullptr || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD)
    return CUDA_ERROR_INVALID_HANDLE;
  const auto stream = streams().remove(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  abandon_capture(*stream);
  {
    const std::lock_guard lock(stream->context->submission);
    stream->retired = true;  // stays in the list while it has work, so that waits for the context see it
  }
  stream->queue->close();
  return stream->context->error.load();
}

CUresult wait(CUstream handle) {
  std::shared_ptr<Stream> stream;
  if (const CUresult result = find_stream(handle, &stream); result != CUDA_SUCCESS) return result;
  if (stream->capturing.load()) return refuse_in_capture(*stream);
  if (const CUresult result = forbid_unsafe_call(); result != CUDA_SUCCESS) return result;
  if (const CUresult result = check_legacy_use(*stream); result != CUDA_SUCCESS) return result;
  for (const Point& place : pending(*stream)) place.wait();
  trim_pools();
  return stream->context->error.load();
}

CUresult query(CUstream handle) {
  std::shared_ptr<Stream> stream;
  if (const CUresult result = find_stream(handle, &stream); result != CUDA_SUCCESS) return result;
  if (stream->capturing.load()) return refuse_in_capture(*stream);
  if (const CUresult result = forbid_unsafe_call(); result != CUDA_SUCCESS) return result;
  if (const CUresult result = check_legacy_use(*stream); result != CUDA_SUCCESS) return result;
  for (const Point& place : pending(*stream)) {
    if (!place.reached()) return CUDA_ERROR_NOT_READY;
  }
  return stream->context->error.load();
}

bool stream_attribute(CUstreamAttrID id) {
  switch (static_cast<int>(id)) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN: return true;
    default: return false;
  }
}

CUresult context_of(CUstream handle, CUcontext* out) {
  std::shared_ptr<Stream> stream;
  if (const CUresult result = find_stream_even_failed(handle, &stream); result != CUDA_SUCCESS) return result;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = stream->context->handle;
  return CUDA_SUCCESS;
}

CUresult value_operation(CUstream handle, CUstreamBatchMemOpType operation, CUdeviceptr address, uint64_t value,
                         unsigned flags) {
  CUstreamBatchMemOpParams one{};
  const bool wide = operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 || operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
  const bool waits = operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 || operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
  one.operation = operation;
  if (waits) {
    one.waitValue = {operation, address, {0}, flags, 0};
    one.waitValue.value64 = value;
  } else {
    one.writeValue = {operation, address, {0}, flags, 0};
    one.writeValue.value64 = value;
  }
  std::shared_ptr<Stream> stream;
  if (const CUresult result = find_stream(handle, &stream); result != CUDA_SUCCESS) return result;
  const uint64_t size = wide ? 8 : 4;
  constexpr unsigned wait_flags = 3u | CU_STREAM_WAIT_VALUE_FLUSH;
  if ((flags & ~(waits ? wait_flags : unsigned{CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER})) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (address % size != 0 || !known_to_calls(address, size)) return CUDA_ERROR_INVALID_VALUE;
  return issue(stream, ValueOperations{{one}});
}

CUresult batch(CUstream handle, unsigned count, const CUstreamBatchMemOpParams* operations) {
  if (count == 0 || count > 256 || operations == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Stream> stream;
  if (const CUresult result = find_stream(handle, &stream); result != CUDA_SUCCESS) return result;
  return issue(stream, ValueOperations{{operations, operations + count}});
}

}  // namespace

SIM(cuStreamCreate)(CUstream* stream, unsigned flags) { return create(stream, flags, 0); }
SIM(cuStreamCreateWithPriority)(CUstream* stream, unsigned flags, int priority) {
  return create(stream, flags, priority);
}
SIM(cuStreamDestroy_v2)(CUstream stream) { return destroy(stream); }
SIM(cuStreamDestroy)(CUstream stream) { return destroy(stream); }
SIM(cuStreamSynchronize)(CUstream stream) { return wait(stream); }
SIM(cuStreamQuery)(CUstream stream) { return query(stream); }

SIM(cuStreamWaitEvent)(CUstream handle, CUevent event_handle, unsigned flags) {
  if (flags > CU_EVENT_WAIT_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Stream> stream;
  if (const CUresult result = find_stream(handle, &stream); result != CUDA_SUCCESS) return result;
  const auto event = events().find(event_handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (flags == CU_EVENT_WAIT_EXTERNAL) {
    if (!stream->capturing.load()) return CUDA_ERROR_ILLEGAL_STATE;
    return issue(stream, EventWait{event, nullptr});
  }
  if (stream->capturing.load() || event_is_captured(*event)) return capture_wait(stream, *event);
  const auto record = event->newest();
  // Nothing to wait for; but any wait of the legacy stream orders it with the blocking ones, as its other work does.
  if (record == nullptr || (record->reached() && stream->kind != Stream::Kind::legacy)) return CUDA_SUCCESS;
  return issue(stream, EventWait{event, record});
}

SIM(cuStreamGetFlags)(CUstream handle, unsigned* flags) {
  std::shared_ptr<Stream> stream;
  if (const CUresult result = find_stream(handle, &stream); result != CUDA_SUCCESS) return result;
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  // Seen on driver 580: of all questions about a stream, this one ends a capture.
  if (stream->capturing.load()) return refuse_in_capture(*stream);
  *flags = stream->flags;
  return CUDA_SUCCESS;
}
SIM(cuStreamGetPriority)(CUstream handle, int* priority) {
  std::shared_ptr<Stream> stream;
  if (const CUresult result = find_stream(handle, &stream); result != CUDA_SUCCESS) return result;
  if (priority == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *priority = stream->priority;
  return CUDA_SUCCESS;
}
SIM(cuStreamGetId)(CUstream handle, unsigned long long* id) {
  std::shared_ptr<Stream> stream;
  if (const CUresult result = find_stream(handle, &stream); result != CUDA_SUCCESS) return result;
  if (stream->capturing.load()) return refuse_in_capture(*stream);
  if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *id = stream->id;
  return CUDA_SUCCESS;
}
SIM(cuStreamGetCtx)(CUstream stream, CUcontext* context) { return context_of(stream, context); }
SIM(cuStreamGetCtx_v2)(CUstream stream, CUcontext* context, CUgreenCtx* green) {
  if (green != nullptr) *green = nullptr;
  return context_of(stream, context);
}
SIM(cuStreamGetDevice)(CUstream handle, CUdevice* device) {
  std::shared_ptr<Stream> stream;
  if (const CUresult result = find_stream_even_failed(handle, &stream); result != CUDA_SUCCESS) return result;
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *device = stream->context->device;
  return CUDA_SUCCESS;
}

SIM(cuStreamSetAttribute)(CUstream handle, CUstreamAttrID attribute, const CUstreamAttrValue* value) {
  std::shared_ptr<Stream> stream;
  if (const CUresult result = find_stream(handle, &stream); result != CUDA_SUCCESS) return result;
  if (value == nullptr || !stream_attribute(attribute)) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(stream->context->submission);
  stream->attributes[attribute] = *value;
  if (attribute == CU_LAUNCH_ATTRIBUTE_PRIORITY) stream->priority = value->priority;
  return CUDA_SUCCESS;
}
SIM(cuStreamGetAttribute)(CUstream handle, CUstreamAttrID attribute, CUstreamAttrValue* value) {
  std::shared_ptr<Stream> stream;
  if (const CUresult result = find_stream(handle, &stream); result != CUDA_SUCCESS) return result;
  if (value == nullptr || !stream_attribute(attribute)) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(stream->context->submission);
  const auto found = stream->attributes.find(attribute);
  *value = found != stream->attributes.end() ? found->second : CUstreamAttrValue{};
  if (found == stream->attributes.end()) {
    if (attribute == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY)
      value->syncPolicy = static_cast<CUsynchronizationPolicy>(-1);
    if (attribute == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP) value->memSyncDomainMap = {0, 1};
    if (attribute == CU_LAUNCH_ATTRIBUTE_PRIORITY) value->priority = stream->priority;
  }
  return CUDA_SUCCESS;
}
SIM(cuStreamCopyAttributes)(CUstream destination, CUstream source) {
  std::shared_ptr<Stream> to, from;
  if (const CUresult result = find_stream(destination, &to); result != CUDA_SUCCESS) return result;
  if (const CUresult result = find_stream(source, &from); result != CUDA_SUCCESS) return result;
  if (to->context != from->context) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(to->context->submission);
  to->attributes = from->attributes;
  return CUDA_SUCCESS;
}
SIM(cuStreamAttachMemAsync)(CUstream handle, CUdeviceptr address, size_t, unsigned) {
  std::shared_ptr<Stream> stream;
  if (const CUresult result = find_stream(handle, &stream); result != CUDA_SUCCESS) return result;
  return known_to_calls(address, 1) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// The first versions of these are not modelled: the driver refuses them too unless it is loaded with an option.
SIM(cuStreamWriteValue32_v2)(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
  return value_operation(stream, CU_STREAM_MEM_OP_WRITE_VALUE_32, address, value, flags);
}
SIM(cuStreamWriteValue64_v2)(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
  return value_operation(stream, CU_STREAM_MEM_OP_WRITE_VALUE_64, address, value, flags);
}
SIM(cuStreamWaitValue32_v2)(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
  return value_operation(stream, CU_STREAM_MEM_OP_WAIT_VALUE_32, address, value, flags);
}
SIM(cuStreamWaitValue64_v2)(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
  return value_operation(stream, CU_STREAM_MEM_OP_WAIT_VALUE_64, address, value, flags);
}
SIM(cuStreamBatchMemOp_v2)(CUstream stream, unsigned count, CUstreamBatchMemOpParams* operations, unsigned) {
  return batch(stream, count, operations);
}
