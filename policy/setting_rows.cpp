#include "policy/setting_rows.h"

#include <array>
#include <limits>
#include <type_traits>

namespace refrain::policy {

namespace {

constexpr std::array rows{
#define SETTING(type, member, key, initial, low, high, unit, help)                               \
  SettingRow{key,                                                                                \
             std::is_same_v<type, bool>,                                                         \
             initial,                                                                            \
             low,                                                                                \
             high,                                                                               \
             unit,                                                                               \
             help,                                                                               \
             [](const Settings& settings) noexcept -> std::uint64_t { return settings.member; }, \
             [](Settings& settings, std::uint64_t value) noexcept { settings.member = static_cast<type>(value); }},
#include "policy/settings.inc"
};

#define SETTING(type, member, key, initial, low, high, unit, help)                             \
  static_assert(low <= initial && initial <= high && high <= std::numeric_limits<type>::max(), \
                key ": default and bounds must fit each other and the type");
#include "policy/settings.inc"

}  // namespace

std::span<const SettingRow> setting_rows() noexcept { return rows; }

}  // namespace refrain::policy
