// Failures on demand and the count of calls.
//
// REFRAIN_SIM_FAIL = "NAME:WHICH:ERROR[:forever]", several separated by commas. NAME is an exported entry point, WHICH
// the number of the call that fails, from 1, or * for each; ERROR the CUresult; `forever` lets every later call fail
// too. The failing call has no effect.
//
// Before NAME may stand `program/`: of the program's own calls (program_call.h), where WHICH counts all that it made,
// also those that never arrived; or `library/`: of the calls that something between it and the driver made.
//
// Threads: any. Fails: a malformed item ends the process with one line, since a test would prove nothing without it.
#pragma once

#include "replay/driver.h"
#include "tests/simulated_driver/program_call.h"

namespace refrain::tests::simulated {

/// Counts a call of `entry`; the error that was asked for, or CUDA_SUCCESS.
CUresult count_call(replay::EntryPoint entry, const ArgumentWords& arguments);

/// Writes the counts to the file that REFRAIN_SIM_CALLS names: one line "NAME COUNT" for each that was called, and one
/// "library/NAME COUNT" for those that the program did not make; then "failed COUNT", how many calls were made to fail.
void write_call_counts();

/// Name of an entry point as exported.
const char* name_of(replay::EntryPoint entry);

}  // namespace refrain::tests::simulated
