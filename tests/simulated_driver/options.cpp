#include "tests/simulated_driver/options.h"

#include <algorithm>
#include <cstdlib>

namespace refrain::tests::simulated {
namespace {

std::string text(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

uint64_t number(const char* name, uint64_t otherwise) {
  const std::string value = text(name);
  return value.empty() ? otherwise : std::strtoull(value.c_str(), nullptr, 10);
}

void read_costs(Options& options) {
  std::string value = text("REFRAIN_SIM_HOST_COST_NS");
  if (value == "measured") value = "2800:1250:190";
  const char* position = value.c_str();
  for (uint64_t* cost : {&options.launch_cost_ns, &options.graph_launch_cost_ns, &options.node_update_cost_ns}) {
    char* end = nullptr;
    *cost = std::strtoull(position, &end, 10);
    if (*end != ':') break;
    position = end + 1;
  }
}

Options read() {
  Options options;
  options.driver_version = static_cast<int>(number("REFRAIN_SIM_DRIVER_VERSION", 13000));
  options.devices = std::clamp(static_cast<int>(number("REFRAIN_SIM_DEVICES", 1)), 0, 8);
  options.memory_bytes = number("REFRAIN_SIM_MEMORY_MIB", options.memory_bytes >> 20) << 20;
  options.graph_node_bytes = number("REFRAIN_SIM_GRAPH_NODE_BYTES", options.graph_node_bytes);
  options.reuse_handles = number("REFRAIN_SIM_REUSE_HANDLES", 0) != 0;
  options.verbose = number("REFRAIN_SIM_VERBOSE", 0) != 0;
  options.kernels = text("REFRAIN_SIM_KERNELS");
  options.trace = text("REFRAIN_SIM_TRACE");
  options.calls = text("REFRAIN_SIM_CALLS");
  options.fail = text("REFRAIN_SIM_FAIL");
  read_costs(options);
  return options;
}

}  // namespace

const Options& options() {
  static const Options* const read_once = new Options(read());
  return *read_once;
}

}  // namespace refrain::tests::simulated
