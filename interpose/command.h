// The command line, `refrain`: its verbs and their options.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace refrain::interpose {

/// `refrain run`: what was asked for. Options that were not given leave the environment as it is.
struct RunOptions {
  std::optional<std::string> policy;  ///< path or "built-in"
  std::optional<std::string> mode;
  std::optional<std::string> log;    ///< folder, file or pattern; empty: none
  std::string library;               ///< path of librefrain.so; empty: beside this program
  std::vector<std::string> program;  ///< with its arguments
};

/// Runs the program under Refrain and returns its exit code, 128 + signal when a signal ended it. 2: it was not
/// started, because an option or the policy is wrong. 3: strict mode, the program itself succeeded, and regions fell
/// back.
int run_program(const RunOptions& options);

/// `refrain` with the arguments of main(); returns the exit code.
int run_command(int count, char** arguments);

}  // namespace refrain::interpose
