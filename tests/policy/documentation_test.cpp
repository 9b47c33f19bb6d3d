// docs/policy.md tells what settings.inc says. ACCEPT=1 rewrites the generated part.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "policy/setting_rows.h"
#include "tests/policy/support.h"

namespace refrain::tests {

namespace {

constexpr std::string_view begin_mark =
    "<!-- settings: begin (made from policy/settings.inc by the test documentation) -->\n";
constexpr std::string_view end_mark = "<!-- settings: end -->\n";

std::string value_text(const policy::SettingRow& row, std::uint64_t value) {
  if (row.boolean) return value != 0 ? "true" : "false";
  return std::to_string(value);
}

std::string generated_table() {
  std::string text = "| key | default | least | greatest | unit | meaning |\n|---|---|---|---|---|---|\n";
  for (const policy::SettingRow& row : policy::setting_rows()) {
    const bool bounded = !row.boolean;
    text += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", row.key, value_text(row, row.initial),
                        bounded ? value_text(row, row.low) : "", bounded ? value_text(row, row.high) : "", row.unit,
                        row.help);
  }
  return text;
}

std::filesystem::path page() { return source_root() / "docs" / "policy.md"; }

}  // namespace

TEST(Documentation, table_of_settings_is_the_list) {
  const std::string text = file_text(page());
  const std::size_t begin = text.find(begin_mark);
  const std::size_t end = text.find(end_mark);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const std::string before = text.substr(0, begin + begin_mark.size());
  const std::string wanted = before + generated_table() + text.substr(end);
  const char* accept = std::getenv("ACCEPT");
  if (accept != nullptr && std::string_view(accept) == "1") std::ofstream(page(), std::ios::binary) << wanted;
  EXPECT_EQ(file_text(page()), wanted) << "run the test with ACCEPT=1 to rewrite the table";
}

TEST(Documentation, every_other_key_and_word_is_mentioned) {
  const std::string text = file_text(page());
  const nlohmann::json schema = nlohmann::json::parse(file_text(source_root() / "configs" / "policy.schema.json"));
  const auto expect_keys = [&](const nlohmann::json& properties) {
    for (const auto& [key, entry] : properties.items()) {
      EXPECT_NE(text.find(fmt::format("`{}`", key)), std::string::npos) << key;
      for (const auto& word : entry.value("enum", nlohmann::json::array())) {
        EXPECT_NE(text.find(fmt::format("`{}`", word.get<std::string>())), std::string::npos) << word;
      }
    }
  };
  expect_keys(schema.at("properties"));
  expect_keys(schema.at("$defs").at("region").at("properties"));
  expect_keys(schema.at("$defs").at("operation").at("properties"));
  EXPECT_NE(text.find("`log.path`"), std::string::npos);
  for (const char* variable : {"REFRAIN_POLICY", "REFRAIN_MODE", "REFRAIN_LOG", "REFRAIN_DISABLE"}) {
    EXPECT_NE(text.find(fmt::format("`{}`", variable)), std::string::npos) << variable;
  }
  for (const auto& path : shipped_policies()) {
    EXPECT_NE(text.find(fmt::format("`{}`", path.filename().string())), std::string::npos) << path;
  }
}

}  // namespace refrain::tests
