// Builds the graph of a segment by capturing its recorded operations on a private stream.
//
// Capture makes the driver itself translate launches with every attribute into nodes; what it made is read back for
// patching. The private streams are non-blocking and captured in relaxed mode, so no other thread notices.
//
// Owns:    one private stream for each (context, priority, legacy or not), until the context ends.
// Threads: one build at a time (the lock is for the private streams; no program call waits for it on its launch path).
// Fails:   returns the driver's error; the segment is left without a graph, nothing of a half-built one remains.
#pragma once

#include <vector>

#include "replay/driver.h"
#include "replay/lock.h"
#include "replay/variant.h"

namespace refrain::replay {

/// While it lives, calls of this thread are not forbidden by another thread's capture, and do not break one.
class RelaxedCaptureMode {
 public:
  explicit RelaxedCaptureMode(const Driver& driver) noexcept : driver_(driver) {
    changed_ = driver_.cuThreadExchangeStreamCaptureMode(&mode_) == CUDA_SUCCESS;
  }
  ~RelaxedCaptureMode() {
    if (changed_) driver_.cuThreadExchangeStreamCaptureMode(&mode_);
  }
  RelaxedCaptureMode(const RelaxedCaptureMode&) = delete;
  RelaxedCaptureMode& operator=(const RelaxedCaptureMode&) = delete;

 private:
  const Driver& driver_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
  bool changed_ = false;
};

/// While it lives, `context` is the thread's current context.
class CurrentContext {
 public:
  CurrentContext(const Driver& driver, CUcontext context) noexcept : driver_(driver) {
    CUcontext current = nullptr;
    if (driver_.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == context) return;
    pushed_ = driver_.cuCtxPushCurrent_v2(context) == CUDA_SUCCESS;
  }
  ~CurrentContext() {
    CUcontext popped = nullptr;
    if (pushed_) driver_.cuCtxPopCurrent_v2(&popped);
  }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  const Driver& driver_;
  bool pushed_ = false;
};

class Builder {
 public:
  explicit Builder(const Driver& driver) noexcept : driver_(driver) {}

  /// Builds `segment` of `variant`, which the caller has for itself. On success the segment is built and unchanged.
  CUresult build(Variant& variant, Segment& segment) noexcept;
  /// The private streams of `context` (or all) are gone with it, or are about to be.
  void forget_context(CUcontext context) noexcept;

 private:
  struct PrivateStream {
    CUcontext context;
    int priority;
    bool legacy;
    CUstream stream;
  };
  CUresult private_stream(const Variant& variant, const Segment& segment, CUstream& stream) noexcept;
  CUresult capture(Variant& variant, Segment& segment, CUstream stream) noexcept;
  CUresult captured_node(CUstream stream, CUgraphNode& node) noexcept;
  CUresult read_back(Variant& variant, std::uint32_t operation) noexcept;
  void drop(CUstream stream) noexcept;

  const Driver& driver_;
  Lock lock_;
  std::vector<PrivateStream> streams_;
};

/// Patches every changed node of `segment` and marks it unchanged. On an error the rest stays marked.
CUresult patch(const Driver& driver, Variant& variant, Segment& segment, std::uint64_t& patched) noexcept;

/// Device memory that the driver takes for a graph of `nodes` nodes, in bytes: an estimate from public measurements
/// (about 10 KiB a kernel node and 64 KiB a graph), used for the cap.
constexpr std::uint64_t estimated_graph_bytes(std::uint32_t nodes) noexcept {
  return 65536 + std::uint64_t{10240} * nodes;
}

}  // namespace refrain::replay
