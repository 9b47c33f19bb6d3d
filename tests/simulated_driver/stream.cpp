#include "tests/simulated_driver/stream.h"

#include <algorithm>

#include "tests/simulated_driver/capture.h"
#include "tests/simulated_driver/context.h"
#include "tests/simulated_driver/process.h"

namespace refrain::tests::simulated {
namespace {

/// The places that work on `stream` must come behind, other than its own. The submission lock is held.
void add_ordering(Context& context, const Stream& stream, std::vector<Point>* after) {
  const auto add = [&](const Stream& other) {
    const Point last{other.queue, other.queue->last()};
    if (!last.reached()) after->push_back(last);
  };
  if (stream.kind == Stream::Kind::legacy) {
    for (const auto& other : context.streams) {
      if (other->blocking && other.get() != &stream) add(*other);
    }
  } else if (stream.blocking && context.legacy != nullptr) {
    add(*context.legacy);
  }
}

CUresult special_stream(const std::shared_ptr<Context>& context, bool per_thread, std::shared_ptr<Stream>* stream) {
  if (!per_thread) {
    const std::lock_guard lock(context->submission);
    if (context->legacy == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    *stream = context->legacy;
    return CUDA_SUCCESS;
  }
  auto& own = this_thread().default_streams[context->id];
  if (own == nullptr || own->retired) own = create_stream(context, Stream::Kind::per_thread, CU_STREAM_DEFAULT, 0);
  *stream = own;
  return CUDA_SUCCESS;
}

}  // namespace

HandleTable<CUstream, Stream>& streams() {
  static auto* const table = new HandleTable<CUstream, Stream>;
  return *table;
}

std::shared_ptr<Stream> create_stream(const std::shared_ptr<Context>& context, Stream::Kind kind, unsigned flags,
                                      int priority) {
  static std::atomic<uint64_t> next{1};
  auto stream = std::make_shared<Stream>();
  stream->kind = kind;
  stream->flags = flags;
  stream->blocking = (flags & CU_STREAM_NON_BLOCKING) == 0;
  stream->priority = priority;
  stream->id = next.fetch_add(1);
  stream->context = context;
  if (kind == Stream::Kind::legacy) stream->handle = CU_STREAM_LEGACY;
  if (kind == Stream::Kind::per_thread) stream->handle = CU_STREAM_PER_THREAD;
  if (kind == Stream::Kind::created && streams().add(stream) == nullptr) return nullptr;
  const std::lock_guard lock(context->submission);
  std::erase_if(context->streams, [](const auto& other) { return other->retired && other->queue->idle(); });
  context->streams.push_back(stream);
  return stream;
}

void retire_default_stream(const std::shared_ptr<Stream>& stream) {
  {
    const std::lock_guard lock(stream->context->submission);
    stream->retired = true;
  }
  stream->queue->close();
}

CUresult find_stream_even_failed(CUstream handle, std::shared_ptr<Stream>* stream) {
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context_even_failed(&context); result != CUDA_SUCCESS) {
    // Seen on driver 580: a created stream has its context, no current one is needed.
    *stream = result == CUDA_ERROR_INVALID_CONTEXT ? streams().find(handle) : nullptr;
    return *stream != nullptr ? CUDA_SUCCESS : result;
  }
  if (handle == nullptr) return special_stream(context, this_thread().per_thread_default_stream, stream);
  if (handle == CU_STREAM_LEGACY) return special_stream(context, false, stream);
  if (handle == CU_STREAM_PER_THREAD) return special_stream(context, true, stream);
  *stream = streams().find(handle);
  return *stream != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult find_stream(CUstream handle, std::shared_ptr<Stream>* stream) {
  const CUresult result = find_stream_even_failed(handle, stream);
  return result == CUDA_SUCCESS ? (*stream)->context->error.load() : result;
}

CUresult submit(Stream& stream, Work work, Point* place, std::vector<Point> after) {
  Context& context = *stream.context;
  stream.queue->wait_for_room();
  const std::lock_guard lock(context.submission);
  if (context.destroyed.load()) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  add_ordering(context, stream, &after);
  if (stream.trace_ordinal == 0 && stream.kind != Stream::Kind::legacy)
    stream.trace_ordinal = context.next_stream_ordinal++;
  const uint64_t number = stream.queue->push({std::move(work), std::move(after), stream.context, stream.trace_ordinal});
  if (place != nullptr) *place = {stream.queue, number};
  return CUDA_SUCCESS;
}

CUresult issue(const std::shared_ptr<Stream>& stream, Work work, Point* place) {
  if (stream->capturing.load(std::memory_order_acquire)) return capture_work(stream, std::move(work), nullptr);
  if (const CUresult result = check_legacy_use(*stream); result != CUDA_SUCCESS) return result;
  return submit(*stream, std::move(work), place);
}

std::vector<Point> pending(Stream& stream) {
  Context& context = *stream.context;
  const std::lock_guard lock(context.submission);
  std::vector<Point> places{{stream.queue, stream.queue->last()}};
  // Only the legacy stream stands for others: a blocking stream is not busy because the legacy one is.
  if (stream.kind == Stream::Kind::legacy) add_ordering(context, stream, &places);
  return places;
}

}  // namespace refrain::tests::simulated
