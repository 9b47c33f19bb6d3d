// Shared by the programs about captures and graphs.
#pragma once

#include "tests/conformance/program.h"

namespace refrain::tests::conformance {

/// Notes the status of a stream's capture.
inline void note_capture(CUstream stream) {
  CUstreamCaptureStatus status{};
  if (TELL(cuStreamIsCapturing, stream, &status) == CUDA_SUCCESS) note("status %d", static_cast<int>(status));
}

/// Notes how many nodes and edges a graph has.
inline void note_shape(CUgraph graph) {
  std::size_t nodes = 0, edges = 0;
  TELL(cuGraphGetNodes, graph, nullptr, &nodes);
  TELL(cuGraphGetEdges, graph, nullptr, nullptr, nullptr, &edges);
  note("nodes %zu edges %zu", nodes, edges);
}

/// Notes the kinds of a graph's nodes, sorted: their order is the driver's affair.
void note_kinds(CUgraph graph);

/// Ends a capture that is over anyway, and says what came of it.
inline void end_capture(CUstream stream) {
  CUgraph graph = nullptr;
  TELL(cuStreamEndCapture, stream, &graph);
  note("graph %d", graph != nullptr);
  if (graph != nullptr) MUST(cuGraphDestroy, graph);
}

/// Instantiates, launches, waits and destroys.
void run_graph(CUgraph graph, CUstream stream);

}  // namespace refrain::tests::conformance
