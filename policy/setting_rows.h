// The rows of settings.inc as a table that can be walked.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "policy/settings.h"

namespace refrain::policy {

/// One numeric or boolean setting. A boolean's values are 0 and 1.
struct SettingRow {
  std::string_view key;  ///< "section.name", as in a policy file
  bool boolean;
  std::uint64_t initial, low, high;
  std::string_view unit, help;
  std::uint64_t (*get)(const Settings&) noexcept;
  void (*set)(Settings&, std::uint64_t) noexcept;

  constexpr std::string_view section() const noexcept { return key.substr(0, key.find('.')); }
  constexpr std::string_view name() const noexcept { return key.substr(key.find('.') + 1); }
};

/// All settings in the order of settings.inc; those of one section stand together.
std::span<const SettingRow> setting_rows() noexcept;

}  // namespace refrain::policy
