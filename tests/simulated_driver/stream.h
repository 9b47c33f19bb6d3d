// Streams, and how work gets into them.
//
// Threads: any; the capture members are guarded by the lock of capture.h.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <vector>

#include "tests/simulated_driver/handle_table.h"
#include "tests/simulated_driver/queue.h"

namespace refrain::tests::simulated {

struct Capture;
struct Node;

/// An edge to come: the node it leaves, and the edge's data.
struct Dependency {
  std::shared_ptr<Node> node;
  CUgraphEdgeData data{};
};

struct Stream : std::enable_shared_from_this<Stream> {
  enum class Kind { legacy, per_thread, created };

  CUstream handle = nullptr;
  Kind kind = Kind::created;
  bool blocking = true;  ///< ordered against the legacy stream
  unsigned flags = 0;
  int priority = 0;
  uint64_t id = 0;
  std::shared_ptr<Context> context;
  std::shared_ptr<Queue> queue = std::make_shared<Queue>();
  unsigned trace_ordinal = 0;        ///< given by the first work; 0 is the legacy stream
  std::atomic<bool> retired{false};  ///< destroyed by the program; leaves the context's list once it is idle
  std::map<CUstreamAttrID, CUstreamAttrValue> attributes;

  std::atomic<bool> capturing{false};
  std::shared_ptr<Capture> capture;
  std::vector<Dependency> capture_dependencies;
  /// Arrays that the last answer about the capture points to.
  struct {
    std::vector<CUgraphNode> nodes;
    std::vector<CUgraphEdgeData> edges;
  } capture_answer;
};

HandleTable<CUstream, Stream>& streams();

std::shared_ptr<Stream> create_stream(const std::shared_ptr<Context>& context, Stream::Kind kind, unsigned flags,
                                      int priority);

/// The stream that a handle names for this call: NULL and the two special values mean the current context's; a created
/// stream needs no current one.
CUresult find_stream(CUstream handle, std::shared_ptr<Stream>* stream);
/// As find_stream, but a sticky error of the context does not count.
CUresult find_stream_even_failed(CUstream handle, std::shared_ptr<Stream>* stream);

/// Submits `work` behind everything that the stream's ordering rules put before it; where it stands, if asked for.
/// The stream must not capture.
CUresult submit(Stream& stream, Work work, Point* place = nullptr, std::vector<Point> after = {});

/// submit(), or a node of the capture when the stream captures.
CUresult issue(const std::shared_ptr<Stream>& stream, Work work, Point* place = nullptr);

/// Ends the default stream of a thread that ends.
void retire_default_stream(const std::shared_ptr<Stream>& stream);

/// The places that must be reached for all work that a wait on this stream covers.
std::vector<Point> pending(Stream& stream);

}  // namespace refrain::tests::simulated
