#include "replay/build.h"

#include <mutex>
#include <new>

#include "replay/issue.h"

namespace refrain::replay {

CUresult Builder::build(Variant& variant, Segment& segment) noexcept {
  segment.context = variant.role_contexts[segment.role];
  const CurrentContext current(driver_, segment.context);
  const RelaxedCaptureMode relaxed(driver_);
  const std::lock_guard guard(lock_);
  CUstream stream = nullptr;
  CUresult result = private_stream(variant, segment, stream);
  if (result != CUDA_SUCCESS) return result;
  result = capture(variant, segment, stream);
  if (result == CUDA_SUCCESS) {
    result = driver_.cuGraphInstantiateWithFlags(&segment.exec, segment.graph,
                                                 CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY);
  }
  if (result != CUDA_SUCCESS) {
    if (segment.graph != nullptr) driver_.cuGraphDestroy(segment.graph);
    segment.graph = nullptr;
    segment.exec = nullptr;
    drop(stream);  // its state after a failed capture is not worth trusting
    return result;
  }
  for (std::uint32_t index = segment.first; index < segment.first + segment.count; ++index)
    variant.nodes[index].changed = false;
  segment.changed = 0;
  segment.bytes = estimated_graph_bytes(segment.count);
  segment.state = Segment::State::built;
  return CUDA_SUCCESS;
}

CUresult Builder::capture(Variant& variant, Segment& segment, CUstream stream) noexcept {
  CUresult result = driver_.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  if (result != CUDA_SUCCESS) return result;
  for (std::uint32_t index = segment.first; result == CUDA_SUCCESS && index < segment.first + segment.count; ++index) {
    result = issue(driver_, variant.sequence, variant.sequence.operations[index], stream);
    if (result == CUDA_SUCCESS) result = captured_node(stream, variant.nodes[index].node);
    if (result == CUDA_SUCCESS) result = read_back(variant, index);
  }
  const CUresult ended = driver_.cuStreamEndCapture(stream, &segment.graph);
  return result != CUDA_SUCCESS ? result : ended;
}

// The last captured node is the only thing that the next one would depend on.
CUresult Builder::captured_node(CUstream stream, CUgraphNode& node) noexcept {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
  CUgraph graph = nullptr;
  const CUgraphNode* dependencies = nullptr;
  const CUgraphEdgeData* edges = nullptr;
  std::size_t count = 0;
  const CUresult result =
      driver_.cuStreamGetCaptureInfo_v3 != nullptr
          ? driver_.cuStreamGetCaptureInfo_v3(stream, &status, &id, &graph, &dependencies, &edges, &count)
          : driver_.cuStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &dependencies, &count);
  if (result != CUDA_SUCCESS) return result;
  if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE || count != 1) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  node = dependencies[0];
  return CUDA_SUCCESS;
}

CUresult Builder::read_back(Variant& variant, std::uint32_t operation) noexcept {
  Node& node = variant.nodes[operation];
  CUgraphNodeType type{};
  const CUresult result = driver_.cuGraphNodeGetType(node.node, &type);
  if (result != CUDA_SUCCESS) return result;
  switch (variant.sequence.operations[operation].kind) {
    case capture::OperationKind::kernel: {
      if (type != CU_GRAPH_NODE_TYPE_KERNEL) return CUDA_ERROR_NOT_SUPPORTED;
      CUDA_KERNEL_NODE_PARAMS_v2 parameters{};
      const CUresult got = driver_.cuGraphKernelNodeGetParams_v2(node.node, &parameters);
      node.function = parameters.func;
      node.kernel = parameters.kern;
      node.context = parameters.ctx;
      return got;
    }
    case capture::OperationKind::memset:
      return type == CU_GRAPH_NODE_TYPE_MEMSET ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
    case capture::OperationKind::copy:
      return type == CU_GRAPH_NODE_TYPE_MEMCPY ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult Builder::private_stream(const Variant& variant, const Segment& segment, CUstream& stream) noexcept {
  const int priority = variant.role_priorities[segment.role];
  const bool legacy = variant.role_kinds[segment.role] == StreamKind::legacy;
  const CUstream model = variant.role_streams[segment.role];
  for (const PrivateStream& known : streams_) {
    if (known.context == segment.context && known.priority == priority && known.legacy == legacy) stream = known.stream;
  }
  if (stream == nullptr) {
    const CUresult created = driver_.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, priority);
    if (created != CUDA_SUCCESS) return created;
    try {
      streams_.push_back({segment.context, priority, legacy, stream});
    } catch (const std::bad_alloc&) {
      driver_.cuStreamDestroy_v2(stream);
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
  }
  // Launches inherit some attributes from their stream; the legacy stream has none to give.
  if (!legacy && model != nullptr) return driver_.cuStreamCopyAttributes(stream, model);
  return CUDA_SUCCESS;
}

void Builder::drop(CUstream stream) noexcept {
  std::erase_if(streams_, [&](const PrivateStream& known) { return known.stream == stream; });
  driver_.cuStreamDestroy_v2(stream);
}

void Builder::forget_context(CUcontext context) noexcept {
  const std::lock_guard guard(lock_);
  std::erase_if(streams_, [&](const PrivateStream& known) { return context == nullptr || known.context == context; });
}

}  // namespace refrain::replay
