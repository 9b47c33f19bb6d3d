// What the variables of a process say.
//
//   REFRAIN_POLICY   path of a policy file, or "built-in"
//   REFRAIN_MODE     off, observe, replay or strict: overrides the policy's "mode"; alone, it asks for the built-in
//   policy REFRAIN_LOG      overrides the policy's log.path; empty: no log REFRAIN_DISABLE  1 or true: off, whatever
//   the others say; 0 or false: nothing
//
// Any error makes the mode off: a job runs without Refrain rather than with another policy than the one that was meant.
//
// Threads: reads through `lookup` only, and the policy file.
// Fails:   never by an exception; without memory the mode is off.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "policy/settings.h"

namespace refrain::policy {

/// The value of a variable, nullptr when it is not set. std::getenv fits.
using Lookup = std::function<const char*(const char* name)>;

struct Environment {
  Settings settings;                ///< mode off when nothing is wanted, when disabled and on any error
  bool wanted = false;              ///< REFRAIN_POLICY or REFRAIN_MODE is set; without a wish nothing is said or done
  bool disabled = false;            ///< by REFRAIN_DISABLE, or by a value of it that is not understood
  std::vector<std::string> errors;  ///< lines to print, one a faulty variable or policy file, without an end of line
};

Environment read_environment(const Lookup& lookup) noexcept;

}  // namespace refrain::policy
