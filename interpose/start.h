// Making what a process runs with: settings from the environment, the log, the engine.
#pragma once

#include <memory>

#include "capture/log_writer.h"
#include "interpose/loaded_driver.h"
#include "policy/environment.h"
#include "policy/selector.h"
#include "replay/engine.h"

namespace refrain::interpose {

/// What lives from cuInit to the end of the process.
struct Running {
  policy::Environment environment;
  std::unique_ptr<capture::LogWriter> log;  ///< nullptr: no log is wanted
  std::unique_ptr<policy::Selector> selector;
  std::unique_ptr<replay::Engine> engine;
};

/// nullptr when Refrain is not wanted or cannot work here; the reason is printed where the user should know it.
std::unique_ptr<Running> start(const LoadedDriver& driver) noexcept;

}  // namespace refrain::interpose
