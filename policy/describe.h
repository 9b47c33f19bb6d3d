// Settings as text.
//
// Fails: never by an exception; without memory the text is empty.
#pragma once

#include <string>

#include "policy/settings.h"

namespace refrain::policy {

/// The settings as a whole policy, every key given; the parser reads it back to equal settings. `indent`: spaces a
/// level, or -1 for one line.
std::string to_json(const Settings& settings, int indent = 2) noexcept;

/// The numeric and boolean settings, one a line: key, value, unit, default, bounds, meaning.
std::string settings_table(const Settings& settings) noexcept;

}  // namespace refrain::policy
