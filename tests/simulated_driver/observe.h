// Tells the program's observer (observer.h), if it has one.
//
// Threads: any; no lock may be held.
#pragma once

#include "tests/simulated_driver/observer.h"
#include "tests/simulated_driver/work.h"

namespace refrain::tests::simulated {

/// The program's observer, or nullptr.
const Observer* observer();

/// `work` of a stream is about to execute.
void observe(const Work& work, const Context& context, unsigned stream_ordinal, bool from_graph);

}  // namespace refrain::tests::simulated
