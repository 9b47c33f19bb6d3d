// Graphs of one node, and the parameters of nodes.
#pragma once

#include "tests/conformance/capturing.h"

namespace refrain::tests::conformance {

/// The parameters of `mix` in place, and the pointers to them.
struct Mix {
  CUdeviceptr out, in;
  unsigned n, salt;
  void* pointers[4] = {&out, &in, &n, &salt};
  Mix(const Words& to, const Words& from, unsigned its_salt)
      : out(to.address), in(from.address), n(static_cast<unsigned>(to.count)), salt(its_salt) {}
  Mix(const Words& both, unsigned its_salt) : Mix(both, both, its_salt) {}
  Mix(const Mix&) = delete;
  Mix& operator=(const Mix&) = delete;
};

/// A graph with one node, and its executable form.
struct Single {
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec exec = nullptr;
  Single() { MUST(cuGraphCreate, &graph, 0); }
  ~Single() {
    if (exec != nullptr) MUST(cuGraphExecDestroy, exec);
    MUST(cuGraphDestroy, graph);
  }
  Single(const Single&) = delete;
  Single& operator=(const Single&) = delete;
  void instantiate() { MUST(cuGraphInstantiate, &exec, graph, 0); }
  void kernel(const CUDA_KERNEL_NODE_PARAMS& params) {
    MUST(cuGraphAddKernelNode, &node, graph, nullptr, 0, &params);
    instantiate();
  }
  void launch(CUstream stream) const {
    TELL(cuGraphLaunch, exec, stream);
    TELL(cuStreamSynchronize, stream);
  }
};

inline CUDA_MEMSET_NODE_PARAMS fill_of(const Words& words, unsigned value) {
  CUDA_MEMSET_NODE_PARAMS fill{};
  fill.dst = words.address;
  fill.value = value;
  fill.elementSize = 4;
  fill.width = words.count;
  fill.height = 1;
  return fill;
}

inline CUDA_MEMCPY3D copy_of(const Words& to, const Words& from) {
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from.address;
  copy.dstDevice = to.address;
  copy.WidthInBytes = to.bytes();
  copy.Height = copy.Depth = 1;
  return copy;
}

}  // namespace refrain::tests::conformance
