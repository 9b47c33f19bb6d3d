#include "tests/simulated_driver/context.h"

#include "tests/simulated_driver/capture.h"
#include "tests/simulated_driver/event.h"
#include "tests/simulated_driver/memory.h"
#include "tests/simulated_driver/module.h"
#include "tests/simulated_driver/process.h"
#include "tests/simulated_driver/stream.h"

namespace refrain::tests::simulated {

HandleTable<CUcontext, Context>& contexts() {
  static auto* const table = new HandleTable<CUcontext, Context>;
  return *table;
}

bool Context::has_peer(int other_device) const {
  const std::lock_guard lock(settings);
  return peers.contains(other_device);
}

void Context::fail(CUresult result) {
  CUresult none = CUDA_SUCCESS;
  error.compare_exchange_strong(none, result);
}

CUresult current_context_even_failed(std::shared_ptr<Context>* context) {
  const Thread& thread = this_thread();
  if (thread.stack.empty() || thread.stack.back() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (thread.stack.back()->destroyed.load()) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  *context = thread.stack.back();
  return CUDA_SUCCESS;
}

CUresult current_context(std::shared_ptr<Context>* context) {
  const CUresult result = current_context_even_failed(context);
  return result == CUDA_SUCCESS ? (*context)->error.load() : result;
}

CUresult context_or_current(CUcontext handle, std::shared_ptr<Context>* context) {
  if (handle == nullptr) return current_context(context);
  *context = contexts().find(handle);
  if (*context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return (*context)->error.load();
}

std::shared_ptr<Context> create_context(int device, unsigned flags, bool primary) {
  static std::atomic<uint64_t> next{0};
  auto context = std::make_shared<Context>();
  const uint64_t number = next.fetch_add(1);
  context->id = number + 1;
  context->ordinal = static_cast<unsigned>(number);
  context->device = device;
  context->flags = flags;
  context->primary = primary;
  revive_context(context);
  contexts().add(context);
  return context;
}

void revive_context(const std::shared_ptr<Context>& context) {
  context->limits = {{CU_LIMIT_STACK_SIZE, 1024},
                     {CU_LIMIT_PRINTF_FIFO_SIZE, 8650752},
                     {CU_LIMIT_MALLOC_HEAP_SIZE, size_t{8} << 20},
                     {CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 2048},
                     {CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 64},
                     {CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 11796480},
                     {CU_LIMIT_SHMEM_SIZE, 232448},
                     {CU_LIMIT_CIG_ENABLED, 0}};
  context->destroyed = false;
  const auto legacy = create_stream(context, Stream::Kind::legacy, CU_STREAM_DEFAULT, 0);
  const std::lock_guard lock(context->submission);
  context->legacy = legacy;
}

CUresult synchronize(Context& context) {
  std::vector<Point> places;
  {
    const std::lock_guard lock(context.submission);
    for (const auto& stream : context.streams) places.push_back({stream->queue, stream->queue->last()});
  }
  for (const Point& place : places) place.wait();
  return context.error.load();
}

void destroy_context(const std::shared_ptr<Context>& context) {
  synchronize(*context);
  context->destroyed = true;
  if (!context->primary) contexts().remove(context->handle);
  drop_modules(context);
  for (const auto& event : events().all()) {
    if (event->context == context) events().remove(event->handle);
  }
  for (const auto& allocation : host_view().all()) {
    if (allocation->context.lock() == context && allocation->kind != MemoryKind::pool &&
        allocation->kind != MemoryKind::mapped) {
      release(allocation);
    }
  }
  std::vector<std::shared_ptr<Stream>> ended;
  {
    const std::lock_guard lock(context->submission);
    ended.swap(context->streams);
    context->legacy = nullptr;
  }
  for (const auto& stream : ended) {
    abandon_capture(*stream);
    if (stream->kind == Stream::Kind::created) streams().remove(stream->handle);
    stream->retired = true;
    stream->queue->close();
  }
}

}  // namespace refrain::tests::simulated
