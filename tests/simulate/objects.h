// The driver objects of a running program.
//
// Owns:    handles; nothing is destroyed at the end, since the process ends.
// Threads: a strand's objects belong to whichever of its threads has the turn.
// Fails:   a setup call that fails ends the process with a line (driver_api.h).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/programs/driver_api.h"
#include "tests/simulate/program.h"

namespace refrain::tests::simulate {

/// Kernels that programs launch, by name.
using Functions = std::map<std::string, CUfunction>;

struct Memory {
  CUdeviceptr address = 0;
  int generation = 0;  ///< steps when it is other memory
};

struct ProgramGraph {
  CUgraphExec exec = nullptr;
  int generations[2] = {0, 0};          ///< of x and y when it was captured
  int key = -1;                         ///< x, y and salt
  std::vector<std::string> operations;  ///< what one launch executes
};

/// What all strands share.
struct World {
  CUdevice device = 0;
  CUcontext contexts[2] = {nullptr, nullptr};
  Functions functions[2];  ///< of the shared module of each context
  CUdeviceptr marker[2] = {0, 0};
};

struct StrandObjects {
  const Strand* plan = nullptr;
  int number = 0;
  int first_stream = 0;  ///< number of stream 0 over all strands
  std::vector<CUstream> streams;
  std::vector<CUevent> events;  ///< one a stream
  std::vector<Memory> buffers;  ///< as expand.h counts them
  Functions functions[2];       ///< of own code
  CUmodule modules[2] = {nullptr, nullptr};
  CUlibrary library = nullptr;
  unsigned* flags = nullptr;  ///< mapped, one a stream
  CUdeviceptr flags_device = 0;
  std::vector<unsigned> told;
  unsigned* host = nullptr;                            ///< pinned: contents to upload, then room for a download
  std::map<std::pair<int, int>, ProgramGraph> graphs;  ///< by slot and stream

  const StreamPlan& stream_plan(int stream) const { return plan->streams[static_cast<std::size_t>(stream)]; }
  CUstream& stream(int number_of) { return streams[static_cast<std::size_t>(number_of)]; }
};

constexpr unsigned buffer_words = 64;

World make_world();
/// Everything but the markers of per-thread streams, which only the strand's own thread can make.
StrandObjects make_strand(const World& world, const Strand& plan, int number, int first_stream);
/// Lets the driver's record know which stream this is.
void make_marker(const World& world, StrandObjects& strand, int stream);
void load_code(const World& world, StrandObjects& strand, int context);
void unload_code(StrandObjects& strand, int context);

}  // namespace refrain::tests::simulate
