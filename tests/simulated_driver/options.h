// What the environment asks of the simulated driver. Read once, at the first call.
//
//   REFRAIN_SIM_DRIVER_VERSION   version to report, and the newest that the resolver answers for (13000)
//   REFRAIN_SIM_DEVICES          number of devices (1)
//   REFRAIN_SIM_MEMORY_MIB       memory of a device (143156, an H200)
//   REFRAIN_SIM_GRAPH_NODE_BYTES device memory of a kernel node in an executable graph (10240; 2300 were measured for
//   small
//                                kernels on an H200, in steps of 2 MiB and kept by the driver after the graph's end)
//   REFRAIN_SIM_KERNELS          libraries, separated by colons, whose refrain_sim_register adds kernels
//   REFRAIN_SIM_REUSE_HANDLES    1: values of destroyed handles come back for new objects
//   REFRAIN_SIM_VERBOSE          1: one line on stderr for each fault that kernels, fills and copies cause
//   REFRAIN_SIM_TRACE            file for the record of executed operations
//   REFRAIN_SIM_CALLS            file for the number of calls of each entry point
//   REFRAIN_SIM_FAIL             failures on demand, see faults.h
//   REFRAIN_SIM_HOST_COST_NS     "launch:graph launch:node update", least host time of these calls (0:0:0);
//                                "measured" stands for 2800:1250:190
#pragma once

#include <cstdint>
#include <string>

namespace refrain::tests::simulated {

struct Options {
  int driver_version = 13000;
  int devices = 1;
  uint64_t memory_bytes = 150109880320;
  uint64_t graph_node_bytes = 10240;
  bool reuse_handles = false;
  bool verbose = false;
  std::string kernels;
  std::string trace;
  std::string calls;
  std::string fail;
  uint64_t launch_cost_ns = 0;
  uint64_t graph_launch_cost_ns = 0;
  uint64_t node_update_cost_ns = 0;
};

const Options& options();

}  // namespace refrain::tests::simulated
