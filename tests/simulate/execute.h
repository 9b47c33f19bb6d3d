// Runs a program in this process, once, under its schedule.
#pragma once

#include <cstdint>
#include <string>

#include "tests/simulate/program.h"

namespace refrain::tests::simulate {

/// What a run showed.
struct Outcome {
  std::string answers;  ///< results of calls and contents of buffers: the same in every run of the program
  std::string faults;   ///< what no run may show; empty when all is well
  std::string trace;    ///< of the schedule, if asked for
  std::uint64_t schedule_hash = 0, decisions = 0;
  std::uint64_t executed = 0;                                                 ///< operations of the device
  std::uint64_t calls = 0, held = 0, replayed = 0, flushed = 0, patched = 0;  ///< by Refrain, if it is there
};

/// `stuck` is called when the schedule finds no way on; it must not return.
Outcome execute(const Program& program, bool keep_trace, void (*stuck)(const std::string& state));

}  // namespace refrain::tests::simulate
