#include "tests/simulated_driver/capture.h"

#include <algorithm>
#include <atomic>
#include <set>

#include "tests/simulated_driver/context.h"
#include "tests/simulated_driver/graph.h"
#include "tests/simulated_driver/process.h"

namespace refrain::tests::simulated {
namespace {

std::atomic<int> captures_under_way{0};

/// Guarded by capture_lock().
std::vector<std::shared_ptr<Capture>>& all_captures() {
  static auto* const list = new std::vector<std::shared_ptr<Capture>>;
  return *list;
}

void invalidate(Capture& capture) { capture.status = CU_STREAM_CAPTURE_STATUS_INVALIDATED; }

/// A stream becomes part of a capture. The lock is held.
void join(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Capture>& capture,
          std::vector<Dependency> dependencies) {
  capture->streams.push_back(stream);
  stream->capture = capture;
  stream->capture_dependencies = std::move(dependencies);
  if (stream->blocking) stream->context->captures.fetch_add(1);
  stream->capturing.store(true, std::memory_order_release);
}

/// All streams leave the capture. The lock is held.
void dissolve(const std::shared_ptr<Capture>& capture) {
  for (const auto& stream : capture->streams) {
    stream->capture = nullptr;
    stream->capture_dependencies.clear();
    if (stream->blocking) stream->context->captures.fetch_sub(1);
    stream->capturing.store(false, std::memory_order_release);
  }
  capture->streams.clear();
  std::erase(all_captures(), capture);
  captures_under_way.fetch_sub(1);
}

/// Whether all work of the other streams is behind the origin's last work. The lock is held.
bool joined(const Capture& capture) {
  std::set<const Node*> behind;
  std::vector<const Node*> open;
  for (const Dependency& last : capture.origin->capture_dependencies) open.push_back(last.node.get());
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    if (!behind.insert(node).second) continue;
    for (const Dependency& before : node->dependencies) open.push_back(before.node.get());
  }
  for (const auto& stream : capture.streams) {
    for (const Dependency& last : stream->capture_dependencies) {
      if (!behind.contains(last.node.get())) return false;
    }
  }
  return true;
}

void add_dependencies(std::vector<Dependency>* to, const std::vector<Dependency>& more) {
  for (const Dependency& one : more) {
    const auto same = [&](const Dependency& other) { return other.node == one.node; };
    if (std::none_of(to->begin(), to->end(), same)) to->push_back(one);
  }
}

/// Programmatic serialisation is an edge's property in a graph.
void make_programmatic(KernelLaunch& launch, std::vector<Dependency>* dependencies) {
  const auto serializes = [](const CUlaunchAttribute& attribute) {
    return attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  };
  const auto found = std::find_if(launch.attributes.begin(), launch.attributes.end(), serializes);
  if (found == launch.attributes.end()) return;
  const bool wanted = found->value.programmaticStreamSerializationAllowed != 0;
  launch.attributes.erase(found);
  if (!wanted || dependencies->size() != 1 || !std::holds_alternative<KernelLaunch>(dependencies->front().node->work))
    return;
  dependencies->front().data.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
  dependencies->front().data.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
}

}  // namespace

std::mutex& capture_lock() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}

CUresult begin_capture(const std::shared_ptr<Stream>& stream, CUstreamCaptureMode mode, const CaptureTarget& target) {
  static uint64_t next = 1;
  if (mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  if (stream->kind == Stream::Kind::legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  const std::lock_guard lock(capture_lock());
  if (stream->capture != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  auto capture = std::make_shared<Capture>();
  capture->id = next++;
  capture->mode = mode;
  capture->thread = this_thread().id;
  capture->graph_is_programs = target.graph != nullptr;
  capture->graph = target.graph != nullptr ? target.graph : create_graph();
  capture->origin = stream.get();
  all_captures().push_back(capture);
  captures_under_way.fetch_add(1);
  join(stream, capture, target.dependencies);
  return CUDA_SUCCESS;
}

CUresult end_capture(const std::shared_ptr<Stream>& stream, std::shared_ptr<Graph>* graph) {
  const std::lock_guard lock(capture_lock());
  const std::shared_ptr<Capture> capture = stream->capture;
  if (capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (capture->origin != stream.get()) {
    invalidate(*capture);
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  }
  CUresult result = CUDA_SUCCESS;
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != this_thread().id) {
    result = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  } else if (capture->status == CU_STREAM_CAPTURE_STATUS_INVALIDATED) {
    result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  } else if (!joined(*capture)) {
    result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  }
  dissolve(capture);
  if (result == CUDA_SUCCESS) {
    *graph = capture->graph;
  } else if (!capture->graph_is_programs) {
    destroy_graph(capture->graph);
  }
  return result;
}

void abandon_capture(Stream& stream) {
  if (!stream.capturing.load()) return;
  const std::lock_guard lock(capture_lock());
  const std::shared_ptr<Capture> capture = stream.capture;
  if (capture == nullptr) return;
  invalidate(*capture);
  if (capture->origin == &stream) {
    dissolve(capture);
    if (!capture->graph_is_programs) destroy_graph(capture->graph);
  }
}

CUresult capture_work(const std::shared_ptr<Stream>& stream, Work work, std::shared_ptr<Node>* made) {
  const std::lock_guard lock(capture_lock());
  if (stream->capture == nullptr) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  Capture& capture = *stream->capture;
  if (capture.status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  std::vector<Dependency> dependencies = stream->capture_dependencies;
  if (auto* launch = std::get_if<KernelLaunch>(&work); launch != nullptr) make_programmatic(*launch, &dependencies);
  const auto node = add_node(capture.graph, std::move(dependencies), std::move(work), stream->context);
  stream->capture_dependencies = {{node, {}}};
  if (made != nullptr) *made = node;
  return CUDA_SUCCESS;
}

CUresult capture_record(Stream& stream, Event& event) {
  const std::lock_guard lock(capture_lock());
  if (stream.capture == nullptr || stream.capture->status != CU_STREAM_CAPTURE_STATUS_ACTIVE) {
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  }
  event.captured = true;
  event.capture = stream.capture;
  event.capture_dependencies = stream.capture_dependencies;
  return CUDA_SUCCESS;
}

CUresult capture_wait(const std::shared_ptr<Stream>& stream, Event& event) {
  const std::lock_guard lock(capture_lock());
  const std::shared_ptr<Capture> of_event = event.captured ? event.capture.lock() : nullptr;
  if (stream->capture == nullptr) {
    if (of_event == nullptr || of_event->streams.empty()) return CUDA_ERROR_INVALID_VALUE;  // that capture is over
    if (of_event->status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (stream->kind == Stream::Kind::legacy) {
      invalidate(*of_event);
      return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    join(stream, of_event, event.capture_dependencies);
    return CUDA_SUCCESS;
  }
  Capture& capture = *stream->capture;
  if (capture.status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (of_event == stream->capture) {
    add_dependencies(&stream->capture_dependencies, event.capture_dependencies);
    return CUDA_SUCCESS;
  }
  if (!event.captured) {
    if (event.newest() == nullptr) return CUDA_SUCCESS;  // never recorded: nothing to wait for
    invalidate(capture);
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  invalidate(capture);
  if (of_event != nullptr) invalidate(*of_event);
  return CUDA_ERROR_STREAM_CAPTURE_MERGE;
}

bool event_is_captured(Event& event) {
  const std::lock_guard lock(capture_lock());
  return event.captured;
}

void forget_capture(Event& event) {
  const std::lock_guard lock(capture_lock());
  event.captured = false;
  event.capture.reset();
  event.capture_dependencies.clear();
}

CUresult forbid_unsafe_call() {
  if (captures_under_way.load(std::memory_order_acquire) == 0) return CUDA_SUCCESS;
  const Thread& thread = this_thread();
  if (thread.capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
  const std::lock_guard lock(capture_lock());
  CUresult result = CUDA_SUCCESS;
  for (const auto& capture : all_captures()) {
    const bool own = capture->thread == thread.id && capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    const bool global =
        thread.capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL && capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (!own && !global) continue;
    invalidate(*capture);
    result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return result;
}

CUresult forbid_during_capture(Context& context) {
  if (captures_under_way.load(std::memory_order_acquire) == 0) return CUDA_SUCCESS;
  const std::lock_guard lock(capture_lock());
  CUresult result = CUDA_SUCCESS;
  for (const auto& capture : all_captures()) {
    const auto in_context = [&](const auto& stream) { return stream->context.get() == &context; };
    if (std::none_of(capture->streams.begin(), capture->streams.end(), in_context)) continue;
    invalidate(*capture);
    result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return result;
}

CUresult check_legacy_use(Stream& stream) {
  if (stream.kind != Stream::Kind::legacy || stream.context->captures.load(std::memory_order_acquire) == 0)
    return CUDA_SUCCESS;
  const std::lock_guard lock(capture_lock());
  for (const auto& capture : all_captures()) {
    for (const auto& other : capture->streams) {
      if (other->blocking && other->context == stream.context) invalidate(*capture);
    }
  }
  return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

CUresult refuse_in_capture(Stream& stream) {
  const std::lock_guard lock(capture_lock());
  if (stream.capture != nullptr) invalidate(*stream.capture);
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult refuse_captured_event(Event& event, bool invalidates) {
  const std::lock_guard lock(capture_lock());
  const auto capture = event.capture.lock();
  if (capture == nullptr || capture->streams.empty()) return CUDA_ERROR_INVALID_VALUE;  // that capture is over
  if (invalidates) invalidate(*capture);
  return CUDA_ERROR_CAPTURED_EVENT;
}

void invalidate_capture(Stream& stream) {
  if (!stream.capturing.load()) return;
  const std::lock_guard lock(capture_lock());
  if (stream.capture != nullptr) invalidate(*stream.capture);
}

}  // namespace refrain::tests::simulated
