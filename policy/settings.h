// The user's wishes as one immutable value.
//
// Owns:    plain values. Made by policy/parser.h from JSON text, or built in; never changes after that.
// Threads: shared by all threads once published.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace refrain::policy {

/// What a whole process does. REFRAIN_MODE overrides the policy's "mode".
enum class Mode : std::uint8_t {
  off,      ///< nothing is watched
  observe,  ///< ranges and launches are recorded and logged; every call passes
  replay,   ///< record, build, replay; fall back to eager without a word to the program
  strict,   ///< as replay, and a fallback of a region makes the process report failure at its end, for CI
};

/// What is done with the operations of a range.
enum class Action : std::uint8_t { graph, eager, observe };

/// Whose operations belong to a range.
enum class Scope : std::uint8_t {
  thread,   ///< those of the thread that opened it
  process,  ///< those of every thread while it is open
};

/// A rule that selects NVTX ranges. The first rule that matches decides. All patterns are anchored globs
/// (`*` any text, `?` one character, `[abc]`, `\` takes the next character as it is).
struct RegionRule {
  std::string name;          ///< region's name in logs; the range pattern when the policy gives none
  std::string range;         ///< matches the range's message
  std::string domain = "*";  ///< matches the NVTX domain's name; the default domain's name is empty
  std::string path = "*";    ///< matches the open ranges of thread and domain, outermost first, joined by `/`
  Action action = Action::graph;
  Scope scope = Scope::thread;
  bool strict_configuration = false;  ///< grid, block and shared memory must be equal
  bool strict_parameters = false;     ///< every parameter byte must be equal
};

/// A rule for kernels by name, mangled or readable.
struct OperationRule {
  std::string kernel;  ///< anchored glob
  Action action = Action::eager;
};

struct Settings {
  Mode mode = Mode::replay;
  bool automatic = false;  ///< repeated operations outside of selected ranges are found and replayed as well
  std::vector<RegionRule> regions;
  std::vector<OperationRule> operations;
// One row a setting: SETTING(type, member, "section.key", default, minimum, maximum, "unit", "help").
#define SETTING(type, member, key, initial, low, high, unit, help) type member = initial;
#include "policy/settings.inc"
  std::string log_path;  ///< folder or file name pattern; empty: no log is written
  std::string source;    ///< path of the policy file, or "built-in"
};

}  // namespace refrain::policy
