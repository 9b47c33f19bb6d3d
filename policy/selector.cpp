#include "policy/selector.h"

#include <algorithm>
#include <cstddef>

#include "policy/glob.h"

namespace refrain::policy {

Selector::Selector(const Settings& settings) noexcept
    : settings_(&settings),
      depends_on_path_(std::any_of(settings.regions.begin(), settings.regions.end(),
                                   [](const RegionRule& rule) { return !matches_everything(rule.path); })) {}

int Selector::region_rule(std::string_view domain, std::string_view path, std::string_view range) const noexcept {
  for (std::size_t i = 0; i < settings_->regions.size(); ++i) {
    const RegionRule& rule = settings_->regions[i];
    if (matches(rule.range, range) && matches(rule.domain, domain) && matches(rule.path, path)) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

bool Selector::depends_on_path() const noexcept { return depends_on_path_; }

const OperationRule* Selector::operation_rule(std::string_view mangled, std::string_view readable) const noexcept {
  for (const OperationRule& rule : settings_->operations) {
    if (matches(rule.kernel, mangled) || matches(rule.kernel, readable)) return &rule;
  }
  return nullptr;
}

}  // namespace refrain::policy
