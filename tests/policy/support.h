// What the policy tests share: files of the source tree, parsing in one word, comparison of settings field by field.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "policy/parser.h"

namespace refrain::tests {

inline std::filesystem::path source_root() { return SOURCE_ROOT; }

inline std::string file_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The policies of configs/, without the schemas.
inline std::vector<std::filesystem::path> shipped_policies() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(source_root() / "configs")) {
    const std::string name = entry.path().filename();
    if (name.ends_with(".json") && !name.ends_with(".schema.json")) paths.push_back(entry.path());
  }
  EXPECT_GE(paths.size(), 6u);
  return paths;
}

inline policy::ParseResult parse(std::string_view text) { return policy::parse_policy(text, "p.json"); }

/// The first error as the job prints it; empty when there is none.
inline std::string first_error(const policy::ParseResult& result) {
  return result.errors.empty() ? "" : policy::to_string(result.errors.front());
}
inline std::string first_error(std::string_view text) { return first_error(parse(text)); }

/// Compares every field but the source, independently of how settings are described.
inline testing::AssertionResult equal(const policy::Settings& a, const policy::Settings& b) {
  const auto differ = [](const char* what) { return testing::AssertionFailure() << what << " differs"; };
  if (a.mode != b.mode) return differ("mode");
  if (a.automatic != b.automatic) return differ("auto");
  if (a.log_path != b.log_path) return differ("log.path");
  if (a.regions.size() != b.regions.size()) return differ("number of regions");
  for (std::size_t i = 0; i < a.regions.size(); ++i) {
    const policy::RegionRule& x = a.regions[i];
    const policy::RegionRule& y = b.regions[i];
    if (x.name != y.name || x.range != y.range || x.domain != y.domain || x.path != y.path || x.action != y.action ||
        x.scope != y.scope || x.strict_configuration != y.strict_configuration ||
        x.strict_parameters != y.strict_parameters) {
      return differ("a region rule");
    }
  }
  if (a.operations.size() != b.operations.size()) return differ("number of operations");
  for (std::size_t i = 0; i < a.operations.size(); ++i) {
    const policy::OperationRule& x = a.operations[i];
    const policy::OperationRule& y = b.operations[i];
    if (x.kernel != y.kernel || x.action != y.action) return differ("an operation rule");
  }
#define SETTING(type, member, key, initial, low, high, unit, help) \
  if (a.member != b.member) return differ(key);
#include "policy/settings.inc"
  return testing::AssertionSuccess();
}

}  // namespace refrain::tests
