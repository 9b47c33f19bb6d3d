// A process that runs programs, each in a child of its own: with or without Refrain, as it was started.
//
// Owns:    Server: the process, its pipes.
// Threads: one.
// Fails:   a child that crashes, ends early or takes too long is an outcome with a fault that says so.
#pragma once

#include <string>
#include <vector>

#include "tests/simulate/execute.h"

namespace refrain::tests::simulate {

/// What the servers need to know.
struct Place {
  std::string program;        ///< this very program
  std::string library;        ///< librefrain.so
  std::string driver_folder;  ///< of the simulated libcuda.so.1
};

class Server {
 public:
  Server(const Place& place, bool with_refrain, int core);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  Outcome run(const Program& program, bool keep_trace = false);

 private:
  int to_ = -1, from_ = -1;
  int process_ = -1;
};

/// The server's own main: requests come on descriptor 3, outcomes go to 4.
int serve(int core);

}  // namespace refrain::tests::simulate
