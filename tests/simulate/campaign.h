// Runs programs bare and with Refrain, and compares.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/simulate/server.h"

namespace refrain::tests::simulate {

/// A pair of servers.
class Pair {
 public:
  Pair(const Place& place, int core) : bare_(place, false, core), refrain_(place, true, core) {}

  struct Result {
    Outcome bare, refrain;
    std::string divergence;      ///< empty when both are as they must be
    bool bare_is_wrong = false;  ///< the program itself, or the simulated driver
  };
  Result compare(const Program& program);
  Outcome with_refrain(const Program& program, bool keep_trace) { return refrain_.run(program, keep_trace); }

 private:
  Server bare_, refrain_;
};

struct Totals {
  std::uint64_t seeds = 0, executed = 0, held = 0, replayed = 0, flushed = 0, patched = 0, decisions = 0;
  std::vector<std::uint64_t> failed;
  double seconds = 0;
};

/// Seeds first, first + 1, ... on `jobs` pairs of servers. Each failure is printed as it is found.
Totals run_seeds(const Place& place, std::uint64_t first, std::uint64_t count, int jobs);

}  // namespace refrain::tests::simulate
