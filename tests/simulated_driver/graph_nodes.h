// What the entry points for graph nodes share.
#pragma once

#include "tests/simulated_driver/context.h"
#include "tests/simulated_driver/graph.h"
#include "tests/simulated_driver/launch.h"

namespace refrain::tests::simulated {

/// The older and newer layouts of kernel node parameters in the one that is used here.
CUDA_KERNEL_NODE_PARAMS to_v2(const CUDA_KERNEL_NODE_PARAMS_v1& v1);
CUDA_KERNEL_NODE_PARAMS to_v2(const CUDA_KERNEL_NODE_PARAMS_v3& v3);

/// The launch that node parameters describe, and the context in which it runs. `attributes` are those of the node so
/// far.
CUresult read_kernel(const CUDA_KERNEL_NODE_PARAMS& parameters, const std::vector<CUlaunchAttribute>& attributes,
                     KernelLaunch* launch, std::shared_ptr<Context>* context);

/// The work of a node, if it is of that kind; the graph lock is held.
template <class Kind>
Kind* work_of(CUgraphNode handle, std::shared_ptr<Node>* node) {
  *node = nodes().find(handle);
  return *node != nullptr ? std::get_if<Kind>(&(*node)->work) : nullptr;
}

/// The slot of a node in an executable graph, if its work is of that kind; the graph lock is held.
template <class Kind>
CUresult find_slot(CUgraphExec exec_handle, CUgraphNode node, GraphExec::Slot** slot, const Kind** work,
                   std::shared_ptr<GraphExec>* exec) {
  *exec = graph_execs().find(exec_handle);
  if (*exec == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *slot = slot_of(**exec, node);
  if (*slot == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *work = std::get_if<Kind>((*slot)->work.get());
  return *work != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace refrain::tests::simulated
