// Refrain's life in this process: nothing before the first successful cuInit, everything until exit, nothing after it
// and nothing in a forked child.
//
// Owns:    the settings, the log and the engine. They are made once and never freed: other threads may be in a hook
// while
//          the process ends.
// Threads: any.
// Fails:   one line, and Refrain is off.
#pragma once

#include "interpose/loaded_driver.h"
#include "replay/engine.h"

namespace refrain::interpose {

/// After the real cuInit succeeded; the first call makes everything, any other returns at once.
void driver_initialised(const LoadedDriver& driver) noexcept;

/// The engine while the process lives with it; nullptr before cuInit, when Refrain is off and in a forked child.
replay::Engine* running_engine() noexcept;

/// Issues what is held and holds nothing any more.
void stop_holding() noexcept;

/// As refrain_pause and refrain_resume; before cuInit they count for the engine to come.
void pause() noexcept;
void resume() noexcept;

}  // namespace refrain::interpose
