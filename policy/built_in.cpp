#include "policy/built_in.h"

#include <utility>

#include "policy/default_policy.h"
#include "policy/parser.h"
#include "policy/policy_file.h"

namespace refrain::policy {

std::string_view built_in_text() noexcept { return default_policy_text; }

Settings built_in_settings() noexcept {
  ParseResult result = parse_policy(built_in_text(), built_in_name);
  return std::move(result.settings);
}

}  // namespace refrain::policy
