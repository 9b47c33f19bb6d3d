// Builds the graph of a segment: one node for each recorded operation, each after the one before.
//
// The nodes are added by hand rather than captured from a stream: while any stream of a context is being captured,
// other threads may not synchronise that context (error 900), and Refrain must not be noticed.
//
// Threads: any; a build touches nothing but its own variant.
// Fails:   returns the driver's error; the segment is left without a graph, nothing of a half-built one remains.
#pragma once

#include "replay/driver.h"
#include "replay/issue.h"
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

/// While it lives, `context` is the thread's current context, unless the driver refuses that.
class CurrentContext {
 public:
  CurrentContext(const Driver& driver, CUcontext context) noexcept : driver_(driver) {
    known_ = driver_.cuCtxGetCurrent(&before_) == CUDA_SUCCESS;
    if (known_ && before_ == context) return;
    pushed_ = driver_.cuCtxPushCurrent_v2(context) == CUDA_SUCCESS;
    if (pushed_) return;
    exchanged_ = known_ && driver_.cuCtxSetCurrent(context) == CUDA_SUCCESS;
    refused_ = !exchanged_;
  }
  ~CurrentContext() {
    CUcontext popped = nullptr;
    // The thread must not go on in our context, whatever becomes of the stack.
    if (pushed_ && driver_.cuCtxPopCurrent_v2(&popped) != CUDA_SUCCESS) exchanged_ = known_;
    if (exchanged_) driver_.cuCtxSetCurrent(before_);
  }
  bool refused() const noexcept { return refused_; }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  const Driver& driver_;
  CUcontext before_ = nullptr;
  bool known_ = false, pushed_ = false, exchanged_ = false, refused_ = false;
};

/// Builds `segment` of `variant`, which the caller has for itself. On success the segment is built and unchanged.
CUresult build_graph(const Driver& driver, Variant& variant, Segment& segment) noexcept;

/// The driver's own form of a recorded operation, for adding and for patching a node.
CUDA_KERNEL_NODE_PARAMS kernel_values(capture::Sequence& sequence, const capture::Operation& operation,
                                      CUcontext context, ParameterPointers& parameters) noexcept;
CUDA_MEMSET_NODE_PARAMS memset_values(const capture::Sequence& sequence, const capture::Operation& operation) noexcept;
CUDA_MEMCPY3D copy_values(const capture::Sequence& sequence, const capture::Operation& operation) noexcept;

/// Patches every changed node of `segment` and marks it unchanged. On an error the rest stays marked.
CUresult patch(const Driver& driver, Variant& variant, Segment& segment, std::uint64_t& patched) noexcept;

/// Device memory that the driver takes for the graph of `segment`, in bytes: an estimate used for the cap, from
/// cuMemGetInfo on driver 580 (docs/measurements.md). It is never below what was seen there.
std::uint64_t estimated_graph_bytes(const capture::Sequence& sequence, const Segment& segment) noexcept;

}  // namespace refrain::replay
