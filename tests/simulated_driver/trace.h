// The record of executed operations, for comparing two runs of one program (compare_traces.py).
//
// One line for each operation, in the order of execution of its stream:
//
//   SEQUENCE CONTEXT STREAM KIND NAME GRID BLOCK SHARED DETAIL HASH ROUTE
//
// SEQUENCE counts the operations of the stream from 0. CONTEXT and STREAM are ordinals; the legacy stream is 0, the
// others are numbered by their first work. KIND is kernel, fill, copy, host, value, alloc or free; NAME the kernel's,
// else -. DETAIL says what a fill or copy does, with addresses as ALLOCATION+OFFSET, so that they compare across runs.
// HASH is over a kernel's parameter bytes without the padding between them, and over the bytes that a copy read from
// pageable memory. ROUTE is eager or graph, and no part of the comparison.
//
// Threads: any. Nothing happens unless REFRAIN_SIM_TRACE names a file.
#pragma once

#include "tests/simulated_driver/work.h"

namespace refrain::tests::simulated {

/// Notes `work`, which is about to execute.
void trace(const Work& work, const Context& context, unsigned stream_ordinal, bool from_graph);

/// Writes what is not written yet.
void finish_trace();

}  // namespace refrain::tests::simulated
