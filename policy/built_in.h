// The policy that is used when the user gives none: configs/default.json, which the build puts into the library.
#pragma once

#include <string_view>

#include "policy/settings.h"

namespace refrain::policy {

/// The text of configs/default.json.
std::string_view built_in_text() noexcept;

/// Its settings.
Settings built_in_settings() noexcept;

}  // namespace refrain::policy
