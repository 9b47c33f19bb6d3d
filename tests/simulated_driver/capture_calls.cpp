// cuStreamBeginCapture, cuStreamEndCapture, cuStreamGetCaptureInfo and their relatives.
#include <algorithm>

#include "tests/simulated_driver/capture.h"
#include "tests/simulated_driver/context.h"
#include "tests/simulated_driver/entry.h"
#include "tests/simulated_driver/graph.h"
#include "tests/simulated_driver/process.h"

using namespace refrain::tests::simulated;

namespace {

CUresult begin(CUstream handle, CUstreamCaptureMode mode) {
  std::shared_ptr<Stream> stream;
  if (const CUresult result = find_stream(handle, &stream); result != CUDA_SUCCESS) return result;
  if (const CUresult result = check_legacy_use(*stream); result != CUDA_SUCCESS) return result;
  return begin_capture(stream, mode, {});
}

/// A question about the legacy stream has no answer while a blocking stream of its context captures.
bool implicit(const Stream& stream) {
  return stream.kind == Stream::Kind::legacy && stream.context->captures.load() != 0;
}

struct InfoRequest {
  CUstreamCaptureStatus* status;
  cuuint64_t* id = nullptr;
  CUgraph* graph = nullptr;
  const CUgraphNode** dependencies = nullptr;
  const CUgraphEdgeData** edges = nullptr;
  size_t* count = nullptr;
  bool takes_edges = false;
};

CUresult info(CUstream handle, const InfoRequest& request) {
  std::shared_ptr<Stream> stream;
  if (request.status == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = find_stream(handle, &stream); result != CUDA_SUCCESS) return result;
  if (implicit(*stream)) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  *request.status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (!stream->capturing.load()) return CUDA_SUCCESS;
  const std::lock_guard lock(capture_lock());
  const auto& capture = stream->capture;
  if (capture == nullptr) return CUDA_SUCCESS;
  *request.status = capture->status;
  if (capture->status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CUDA_SUCCESS;
  auto& answer = stream->capture_answer;
  answer = {};
  bool plain = true;
  for (const Dependency& dependency : stream->capture_dependencies) {
    answer.nodes.push_back(dependency.node->handle);
    answer.edges.push_back(dependency.data);
    plain = plain && dependency.data.type == 0 && dependency.data.from_port == 0;
  }
  if (!plain && !request.takes_edges && request.dependencies != nullptr) return CUDA_ERROR_LOSSY_QUERY;
  if (request.id != nullptr) *request.id = capture->id;
  if (request.graph != nullptr) *request.graph = capture->graph->handle;
  if (request.dependencies != nullptr) *request.dependencies = answer.nodes.data();
  if (request.edges != nullptr) *request.edges = answer.edges.data();
  if (request.count != nullptr) *request.count = answer.nodes.size();
  return CUDA_SUCCESS;
}

CUresult update_dependencies(CUstream handle, const CUgraphNode* nodes_given, const CUgraphEdgeData* edges,
                             size_t count, unsigned flags) {
  std::shared_ptr<Stream> stream;
  if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = find_stream(handle, &stream); result != CUDA_SUCCESS) return result;
  const std::lock_guard lock(capture_lock());
  if (stream->capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (stream->capture->status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  std::vector<Dependency> dependencies;
  if (const CUresult result = read_dependencies(stream->capture->graph, nodes_given, edges, count, &dependencies);
      result != CUDA_SUCCESS) {
    return result;
  }
  if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) stream->capture_dependencies.clear();
  for (const Dependency& dependency : dependencies) {
    const auto same = [&](const Dependency& other) { return other.node == dependency.node; };
    auto& all = stream->capture_dependencies;
    if (std::none_of(all.begin(), all.end(), same)) all.push_back(dependency);
  }
  return CUDA_SUCCESS;
}

}  // namespace

SIM(cuStreamBeginCapture)(CUstream stream) { return begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL); }
SIM(cuStreamBeginCapture_v2)(CUstream stream, CUstreamCaptureMode mode) { return begin(stream, mode); }
SIM(cuStreamBeginCaptureToGraph)
(CUstream handle, CUgraph graph_handle, const CUgraphNode* after, const CUgraphEdgeData* edges, size_t count,
 CUstreamCaptureMode mode) {
  std::shared_ptr<Stream> stream;
  if (const CUresult result = find_stream(handle, &stream); result != CUDA_SUCCESS) return result;
  CaptureTarget target;
  target.graph = graphs().find(graph_handle);
  if (target.graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = read_dependencies(target.graph, after, edges, count, &target.dependencies);
      result != CUDA_SUCCESS) {
    return result;
  }
  return begin_capture(stream, mode, target);
}
SIM(cuStreamEndCapture)(CUstream handle, CUgraph* out) {
  std::shared_ptr<Stream> stream;
  if (const CUresult result = find_stream(handle, &stream); result != CUDA_SUCCESS) return result;
  std::shared_ptr<Graph> graph;
  const CUresult result = end_capture(stream, &graph);
  // Seen on driver 580: without a place for it, the graph is lost and the capture ends all the same.
  if (out != nullptr) *out = graph != nullptr ? graph->handle : nullptr;
  return result;
}
SIM(cuStreamIsCapturing)(CUstream handle, CUstreamCaptureStatus* status) { return info(handle, {status}); }
SIM(cuStreamGetCaptureInfo)(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id) {
  return info(handle, {status, id});
}
SIM(cuStreamGetCaptureInfo_v2)
(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph, const CUgraphNode** dependencies,
 size_t* count) {
  return info(handle, {status, id, graph, dependencies, nullptr, count, false});
}
SIM(cuStreamGetCaptureInfo_v3)
(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph, const CUgraphNode** dependencies,
 const CUgraphEdgeData** edges, size_t* count) {
  return info(handle, {status, id, graph, dependencies, edges, count, edges != nullptr});
}
SIM(cuStreamUpdateCaptureDependencies)(CUstream stream, CUgraphNode* nodes_given, size_t count, unsigned flags) {
  return update_dependencies(stream, nodes_given, nullptr, count, flags);
}
SIM(cuStreamUpdateCaptureDependencies_v2)
(CUstream stream, CUgraphNode* nodes_given, const CUgraphEdgeData* edges, size_t count, unsigned flags) {
  return update_dependencies(stream, nodes_given, edges, count, flags);
}
SIM(cuThreadExchangeStreamCaptureMode)(CUstreamCaptureMode* mode) {
  if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;  // any mode is taken: seen on driver 580
  std::swap(*mode, this_thread().capture_mode);
  return CUDA_SUCCESS;
}
