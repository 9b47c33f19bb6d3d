// Kernel launches: checks what the driver checks at the call, and copies the parameters.
#pragma once

#include <chrono>

#include "tests/simulated_driver/module.h"
#include "tests/simulated_driver/work.h"

namespace refrain::tests::simulated {

/// A launch as the program describes it.
struct LaunchRequest {
  CUfunction function = nullptr;
  Extent grid, block;
  unsigned shared = 0;
  const CUlaunchAttribute* attributes = nullptr;
  unsigned attribute_count = 0;
  void** parameters = nullptr;
  void** extra = nullptr;
};

/// The value that executes, or the error that the call must return. `for_node`: a graph's node, which takes other
/// attributes.
CUresult prepare_launch(const LaunchRequest& request, const std::shared_ptr<Context>& context, bool for_node,
                        KernelLaunch* launch);

/// Checks sizes, cluster and cooperation, without looking at parameters.
CUresult check_configuration(const Callee& callee, const Context& context, const KernelLaunch& launch);

/// Copies parameters by the layout, from either form.
CUresult copy_parameters(const Code& code, void** parameters, void** extra, std::vector<std::byte>* bytes);

/// Spends host time until `nanoseconds` since its construction have passed.
class HostCost {
 public:
  explicit HostCost(uint64_t nanoseconds) : nanoseconds_(nanoseconds) {
    if (nanoseconds_ != 0) begin_ = std::chrono::steady_clock::now();
  }
  ~HostCost() {
    if (nanoseconds_ == 0) return;
    const auto end = begin_ + std::chrono::nanoseconds(nanoseconds_);
    while (std::chrono::steady_clock::now() < end) {
    }
  }
  HostCost(const HostCost&) = delete;
  HostCost& operator=(const HostCost&) = delete;

 private:
  uint64_t nanoseconds_;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace refrain::tests::simulated
