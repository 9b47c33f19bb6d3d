// Executes work on a worker thread, as the device does.
#pragma once

#include "tests/simulated_driver/work.h"

namespace refrain::tests::simulated {

/// Executes `work` in `context`. After a fault the context's sticky error is set and work is dropped; what others wait
/// for (events, callbacks) is completed all the same. `from_graph` only marks the trace.
void execute(const Work& work, Context& context, unsigned stream_ordinal, bool from_graph = false);

}  // namespace refrain::tests::simulated
